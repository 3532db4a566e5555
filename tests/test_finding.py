"""`Result.find`: a table of what is like one marked span, from memory and from a run folder; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import rondo
from rondo.data.recording import Recording
from rondo.edit import teach_run, undo_edit
from rondo.errors import AnnotationError, RecordingError
from rondo.model.finding import COLUMNS
from rondo.result import Result
from rondo.synthetic import PlantedStream, StreamPlan, plant

QUICK = {"evidence.surrogates": 0}
Case = tuple[PlantedStream, list[tuple[int, int]], Result]


@pytest.fixture(scope="module")
def case() -> Case:
    """A stream at 50 Hz, the occurrences of one motif, and what is found."""
    stream = plant(StreamPlan(motifs="own", n_units=16, n_motifs=4), n_frames=12_000, seed=20)
    spans = [(one.start, one.stop) for one in stream.occurrences if one.motif == 1]
    return stream, spans, rondo.discover(stream.recording, settings=QUICK)


def test_a_table_ranks_what_is_like_the_span(case: Case) -> None:
    stream, spans, found = case
    start, end = spans[0]
    table = found.find(0, start, end)
    assert tuple(table.columns) == COLUMNS and table["suggested"].dtype == bool
    assert table.iloc[0][["start_frame", "end_frame", "score", "suggested"]].tolist() == [start, end, 1.0, True]
    assert table["score"].is_monotonic_decreasing and table["score"].between(0, 1).all()
    np.testing.assert_allclose(table["start_s"], table["start_frame"] / 50, atol=1e-3)
    for row in table[table["suggested"]].itertuples():
        assert (stream.motif_truth[row.start_frame : row.end_frame] == 1).mean() > 0.5
    assert table["entry"].str.fullmatch(r"(motif|unit):\d+|").all() and (table["entry"][:3] != "").all()
    for kind in (float, str):
        pd.testing.assert_frame_equal(found.find(stream.recording.id, kind(start / 50), kind(end / 50)), table)
    assert len(found.find(0, start, end, most=1)) == table["suggested"].sum()


def test_what_is_suggested_teaches_as_it_is(case: Case, tmp_path: Any) -> None:
    stream, spans, found = case
    table = found.find(0, *spans[0])
    marks = table[table["suggested"]].assign(name="squat")
    taught = found.teach(marks)
    (entry,) = [one for level, one in taught.entries if level == "motif" and one.name == "squat"]
    for row in marks.itertuples():
        assert (taught[0].motifs[row.start_frame : row.end_frame] == entry.id).all()
    run = found.save(tmp_path / "run")
    teach_run(run, marks, stream.recording)
    undo_edit(run)
    pd.testing.assert_frame_equal(Result.load(run).find(0, *spans[0], data=stream.recording), table)


def test_several_recordings_from_their_files_or_from_others(case: Case, tmp_path: Any) -> None:
    stream, spans, _ = case
    paths = [tmp_path / f"{name}.npz" for name in "ab"]
    for path, values in zip(paths, np.split(stream.recording.values, 2), strict=True):
        np.savez(path, X=values, rate=50.0)
    found = rondo.discover(paths, settings=QUICK)
    table = found.find("a", *spans[0])
    assert set(table["recording"][table["suggested"]]) == {"a", "b"}
    run = found.save(tmp_path / "run")
    pd.testing.assert_frame_equal(Result.load(run).find("a", *spans[0]), table)
    pd.testing.assert_frame_equal(Result.load(run).find("a", *spans[0], data=paths[::-1]), table)
    assert len(found.model.predict(paths[1]).find("b", *(each - 6_000 for each in spans[-1]))) > 1


def test_rows_are_those_of_the_file_where_values_are_missing(case: Case) -> None:
    stream, spans, _ = case
    kept = np.r_[0:2_000, 2_400:12_000]  # eight seconds of rows are not there
    values = stream.recording.values[kept].copy()
    values[3_000:3_400] = np.nan
    found = rondo.discover(Recording(values, timestamps_s=kept / 50, id="holed"), settings=QUICK)
    start, end = spans[-1][0] - 400, spans[-1][1] - 400
    table = found.find(0, start, end)
    assert table["start_frame"][0] == start and table["start_s"][0] == pytest.approx(spans[-1][0] / 50, abs=0.05)
    assert not any(row.start_frame < 2_000 < row.end_frame for row in table.itertuples())
    with pytest.raises(AnnotationError, match="over a gap"):
        found.find(0, 1_990, 2_050)


WRONG: dict[str, tuple[Any, Any, Any]] = {
    "outside": (0, 11_900, 12_400),
    "at least, got 3": (0, 100, 103),
    "ends at 5": (0, 10, 5),
    "no recording 7": (7, 100, 200),
    "no recording 'x'": ("x", 100, 200),
    "number or a date": (0, "soon", "later"),
}


@pytest.mark.parametrize("what", WRONG)
def test_spans_that_cannot_be(case: Case, what: str) -> None:
    with pytest.raises((AnnotationError, RecordingError), match=what):
        case[2].find(*WRONG[what])


def test_without_a_rate_spans_are_frames(case: Case) -> None:
    found = rondo.discover(case[0].recording.values[:6_000], settings=QUICK)
    assert found.find(0, 100, 400)["start_s"].isna().all() and len(found.find(0, "100", "400"))
    with pytest.raises(AnnotationError, match="no rate"):
        found.find(0, 2.0, 8.0)
