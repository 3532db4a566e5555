"""Rows from an iterator: parts come as they become due, the tail with the last, and together they are one Result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.testing as npt
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from rondo.continual.stream import Stream
from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.model.method import relabel
from rondo.model.parts import OpenSegments, StreamPart
from rondo.model.rondo import Rondo
from rondo.run.decisions import COLUMNS as DECISION_COLUMNS
from rondo.run.decisions import decided_segments, decision_table
from tests.cli.running import waves

DAY = waves(1_200, seed=6)
NOVEMBER = 1794774665.25


@pytest.fixture(scope="module")
def model() -> Rondo:
    quick = {"evidence.surrogates": 0}
    return Rondo(window=40, step=20, settings=quick).fit(Recording(waves(900), 50, ("a", "b")))


def joined(parts: list[StreamPart]) -> pl.DataFrame:
    return pl.concat([part.table for part in parts]).sort("level", "start_frame", descending=[True, False])


def in_chunks(n: int) -> Iterator[Any]:
    for start in range(0, len(DAY), n):
        yield DAY[start : start + n]


def kinds() -> dict[str, Any]:
    table = {"a": DAY[:, 0], "b": DAY[:, 1]}
    return {
        "rows": (row for row in DAY.tolist()),
        "mappings": ({"b": b, "a": a} for a, b in DAY.tolist()),
        "rows of pandas": (row for _, row in pd.DataFrame(DAY, columns=["a", "b"]).iterrows()),
        "lists of mappings": ([{"b": b, "a": a} for a, b in chunk.tolist()] for chunk in in_chunks(300)),
        "mappings of columns": ({"b": chunk[:, 1], "a": chunk[:, 0]} for chunk in in_chunks(300)),
        "arrays": in_chunks(7),
        "tables": (pd.DataFrame(chunk, columns=["b", "a"][::-1]) for chunk in in_chunks(500)),
        "an array": DAY,
        "a table": pl.DataFrame(table),
        "a recording": Recording(DAY, 50, ("a", "b")),
    }


@pytest.fixture(scope="module")
def expected(model: Rondo) -> tuple[list[Any], pl.DataFrame]:
    """By hand: everything at once, and the end."""
    stream = model.stream()
    assert isinstance(stream, Stream)
    first, last = stream.feed(DAY), stream.finish()
    decisions = [*first.decisions, *last.decisions]
    parts = list(model.stream([DAY]))
    return decisions, joined(parts)


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds())
def test_parts_are_the_same_in_whatever_pieces_rows_come(
    model: Rondo, expected: tuple[list[Any], pl.DataFrame], kind: str
) -> None:
    parts = list(model.stream(kinds()[kind]))
    decisions = [decision._replace(start_s=None) for part in parts for decision in part.decisions]
    assert decisions == [decision._replace(start_s=None) for decision in expected[0]]  # the tail included
    assert_frame_equal(joined(parts), expected[1])
    assert not hasattr(model, "stream_")  # the model stays as it was


@pytest.mark.parametrize("row", [{"a": 1.0}, {"a": 1.0, "b": "far"}, {"a": [1.0, 2.0], "b": [1.0]}])
def test_a_mapping_that_is_no_row_of_the_model_is_refused(model: Rondo, row: dict[str, Any]) -> None:
    with pytest.raises(RecordingError, match=r"a|b"):
        list(model.stream([DAY[:100], row]))


def test_a_message_with_its_time_and_a_gap_is_the_row_of_a_table(model: Rondo) -> None:
    seconds = NOVEMBER + np.arange(len(DAY)) / 50
    messages = [{"time": second, "b": b, "a": a} for second, (a, b) in zip(seconds, DAY.tolist(), strict=True)]
    messages[40]["a"] = None
    table = pl.DataFrame(messages)
    stream, whole = model.stream(iter(messages)), model.stream([table])
    assert_frame_equal(joined(list(stream)), joined(list(whole)))
    npt.assert_array_equal(stream.result.units, whole.result.units)


def test_segments_come_while_rows_do(model: Rondo) -> None:
    n_rows = 0

    def rows() -> Iterator[np.ndarray]:
        nonlocal n_rows
        for chunk in in_chunks(50):
            n_rows += len(chunk)
            yield chunk

    early = [n_rows < len(DAY) for part in model.stream(rows()) for end in part.segments["end_frame"] if end <= n_rows]
    assert len(early) == len(joined(list(model.stream([DAY])))) > sum(early) > 0


@pytest.mark.parametrize("names", [None, ("a", "b", "c")])
def test_channels_go_by_name_where_one_was_silent_in_the_fit(names: tuple[str, ...] | None) -> None:
    values = np.column_stack([waves(900), waves(900, seed=3)[:, 0]])
    learned_from, rest = values[:400].copy(), values[400:]
    learned_from[:200, 1] = np.nan
    model = Rondo(window=40, step=20, settings={"evidence.surrogates": 0}).fit(Recording(learned_from, 50, names))
    assert len(model.preprocessor_.channels) == 2
    expected = model.stream().feed(rest[:, [0, 2]]).decisions
    given = Recording(rest, 50, names)
    assert model.stream().feed(given).decisions == expected
    chunks: list[Any] = [given, rest] if names is None else [given]
    for chunk in chunks:
        parts = list(model.stream([chunk]))
        assert [decision for part in parts for decision in part.decisions][: len(expected)] == expected
    with pytest.raises(RecordingError, match="expected 50 Hz"):
        model.stream().feed(Recording(rest, 25, names))


def test_all_parts_together_are_a_result(model: Rondo, expected: tuple[list[Any], pl.DataFrame]) -> None:
    stream = model.stream(in_chunks(100))
    parts = [next(stream)]
    so_far = stream.result
    assert so_far.summary.stream is not None and not so_far.summary.stream.finished
    parts += stream
    result = stream.result
    assert (result.kind, len(result.units), result.summary.stream is not None) == ("stream", len(DAY), True)
    by_level = result.run.tables["segments"].sort("level", "start_frame", descending=[True, False])
    assert_frame_equal(by_level, joined(parts), abs_tol=1e-12)
    painted = np.full(len(DAY), -1)
    for decision in expected[0]:
        painted[decision.start_frame : decision.stop_frame] = decision.unit
    npt.assert_array_equal(result.units, painted)
    assert result.run.overviews["stream"].n_frames == len(DAY)
    npt.assert_allclose(result.run.overviews["stream"].values()[..., 0], DAY, atol=1e-3)
    npt.assert_array_equal(relabel(result.model, DAY).units.shape, (len(DAY),))


def test_names_and_merges_of_the_model_are_those_of_the_parts(model: Rondo) -> None:
    quick = {"evidence.surrogates": 0, "encoder.shape_channels": 0, "motifs.method": "none"}
    edited = Rondo(window=40, step=20, settings=quick).fit(Recording(waves(900), 50, ("a", "b")))
    edited.merge("u0", "u2").name("u1", "reach")
    table = joined(list(edited.stream([DAY])))
    assert set(table["id"]) == {0, 1}
    assert set(table.filter((pl.col("level") == "unit") & (pl.col("id") == 1))["name"]) == {"reach"}


labels = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans(), st.integers(-1, 2), st.integers(-1, 1)), max_size=30
)


@given(labels, st.integers(1, 5), st.booleans())
def test_segments_in_parts_are_those_of_the_whole(
    drawn: list[tuple[int, int, bool, int, int]], chunk: int, has_clock: bool
) -> None:
    """Decisions of 0 to 3 frames with gaps in frames and in time, joined as they come and joined at once."""
    made, frame, second = [], 0, 0.0
    for n, gap, jumps, unit, motif in drawn:
        frame, second = frame + gap, second + gap + (5.0 if jumps else 0.0)
        times = (second, second + n) if has_clock else (None, None)
        row = (frame, frame + n, *times, unit, motif, 0.5, 0.25)
        made.append(dict(zip(DECISION_COLUMNS, row, strict=True)))
        frame, second = frame + n, second + n
    open_segments, parts = OpenSegments(), []
    for start in range(0, len(made) + 1, chunk):
        parts.append(open_segments.ended_by(made[start : start + chunk], start + chunk > len(made)))
    found = pl.concat(parts)
    expected = decided_segments(decision_table(made), "stream")
    by_level = ["level", "start_frame"]
    assert_frame_equal(found.sort(by_level), expected.sort(by_level), check_dtypes=False, abs_tol=1e-9)
