"""Labelling: the table of segments says what the frame labels say; whether a model fits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.data.labels import OTHER, are_one_to_one
from rondo.data.windows import WindowGrid
from rondo.errors import ModelError
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.motifs.base import MotifTimeline
from rondo.run.labelling import Labelling, repeat_starts
from rondo.run.segments import COLUMNS, labels_between_ends, to_pandas, with_dates
from rondo.synthetic.streams import plant
from rondo.units.fit_profile import FITS, FITS_IN_PART, QUANTILES, Fit, FitProfile, fit_of
from rondo.units.viterbi import Timeline

FITTED = FitProfile(0.95, (0.2, 0.3, 0.5, 0.7, 1.0))


def labelling(
    units: list[int],
    breaks: Sequence[int] = (),
    times: list[float] | None = None,
    rate: float | None = None,
    begins: Sequence[int] = (),
) -> Labelling:
    """A labelling whose motifs are its units halved; frame i has the score i / n."""
    track = np.array(units, dtype=np.int32)
    scores = np.arange(track.size, dtype=np.float32) / track.size
    motifs = np.where(track == OTHER, OTHER, track // 2).astype(np.int32)
    times_s = None if times is None else np.array(times)
    breaks_at, begins_at = (np.array(frames, dtype=np.int64) for frames in (breaks, begins))
    return Labelling("r", track, motifs, scores, scores, times_s, rate, breaks_at, 1.0, (), begins_at)


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=40), st.data())
def test_segments_are_the_longest_stretches_of_one_label(units: list[int], data: st.DataObject) -> None:
    n = len(units)
    breaks, begins = (
        sorted(data.draw(st.sets(st.integers(1, n - 1)), label=name)) if n > 1 else [] for name in ("breaks", "begins")
    )
    one = labelling(units, breaks, begins=begins)
    for level, track, cuts in (("unit", one.units, breaks), ("motif", one.motifs, breaks + begins)):
        table = one.table.filter(pl.col("level") == level)
        naive = []
        for frame in range(n):
            if track[frame] == OTHER:
                continue
            if frame and track[frame - 1] == track[frame] and frame not in cuts:
                naive[-1][2] = frame + 1
            else:
                naive.append([track[frame], frame, frame + 1])
        assert table.select("id", "start_frame", "end_frame").rows() == [tuple(row) for row in naive]
        expected = [one.unit_scores[start:end].mean() for _, start, end in naive]
        npt.assert_allclose(table["score"].to_numpy(), expected, rtol=1e-5)


@given(st.lists(st.tuples(st.integers(-1, 1), st.booleans()), min_size=1, max_size=25), st.integers(1, 4), st.data())
def test_touching_occurrences_of_a_motif_are_told_apart(
    read: list[tuple[int, bool]], step: int, data: st.DataObject
) -> None:
    """By the windows: each frame looks at its nearest one, where that says what the vote says."""
    length = step * data.draw(st.integers(1, 9), label="overlap")
    ids = np.array([id for id, _ in read], dtype=np.int32)
    begins = np.array([True, *(flag or a != b for (a, _), (b, flag) in pairwise(read))])
    units = np.array(data.draw(st.lists(st.integers(0, 2), min_size=ids.size, max_size=ids.size), label="units"))
    n_frames = length + step * (ids.size - 1)
    grid = WindowGrid(length, step, n_frames, ((0, n_frames),))
    motifs, nearest = grid.project(ids, "vote"), grid.project(np.arange(ids.size), "centre").astype(np.int64)
    kept = np.arange(0, n_frames, data.draw(st.integers(1, 3 * step), label="every"))
    motifs, nearest = motifs[kept], nearest[kept]  # frames may be few and far between: windows are passed over
    found = repeat_starts(motifs, nearest, MotifTimeline(ids, np.ones(ids.size), begins), units.astype(np.int32))
    expected = []
    for frame in range(1, motifs.size):
        here, before = nearest[frame], nearest[frame - 1]
        if (
            any(begins[before + 1 : here + 1])
            and units[here] != units[before]
            and motifs[frame] == motifs[frame - 1] == ids[here] == ids[before] != OTHER
        ):
            expected.append(frame)
    assert found.tolist() == expected


@given(st.lists(st.floats(1e-3, 10.0), min_size=2, max_size=30), st.floats(0.1, 1000.0))
def test_spans_in_seconds_follow_the_clock_and_never_overlap(steps: list[float], rate: float) -> None:
    times = np.cumsum(steps)
    table = labelling([i % 2 for i in range(times.size)], times=times.tolist(), rate=rate).table
    table = table.filter(pl.col("level") == "unit")
    npt.assert_array_equal(table["start_s"], times)
    assert (table["end_s"] > table["start_s"]).all()
    assert (table["end_s"][:-1] <= table["start_s"][1:]).all()
    assert (table["end_s"] <= table["start_s"] + 1.0000001 / rate).all()


@pytest.mark.parametrize("units", [[OTHER, OTHER], [0, 1]], ids=["nothing", "something"])
@pytest.mark.parametrize("rate", [None, 2.0])
def test_the_table_has_the_same_columns_whatever_is_in_it(units: list[int], rate: float | None) -> None:
    times = None if rate is None else [0.0, 0.5]
    table = labelling(units, times=times, rate=rate).table
    assert tuple(table.columns) == COLUMNS
    assert table.dtypes == [
        pl.String, pl.String, pl.Int32, pl.String, pl.Int64, pl.Int64, pl.Float64, pl.Float64,
        pl.Datetime("us"), pl.Datetime("us"), pl.Float64, pl.String,
    ]  # fmt: skip
    assert table["start_s"].null_count() == (table.height if rate is None else 0)


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=40))
def test_motifs_are_units_where_they_are_in_every_frame(drawn: list[tuple[int, int]]) -> None:
    units, motifs = (np.array(track, np.int32) for track in zip(*drawn, strict=True))
    one = replace(labelling([0] * len(drawn)), units=units, motifs=motifs)
    ends = labels_between_ends(one.occurrences("unit"), one.occurrences("motif"))
    assert are_one_to_one(*ends) == are_one_to_one(units, motifs)


def test_dates_stand_where_the_clock_counts_from_1970() -> None:
    seconds = pl.DataFrame(
        {
            "recording": ["r"] * 4, "level": ["unit"] * 4, "id": [0] * 4, "name": [""] * 4, "start_frame": range(4),
            "end_frame": range(1, 5), "start_s": [12.5, 1794774665.25, None, 1e15],
            "end_s": [13.0, 1794774665.75, None, 1e15],
            "score": [0.5] * 4, "units": [""] * 4,
        }
    )  # fmt: skip
    table = to_pandas(with_dates(seconds))
    assert tuple(table.columns) == COLUMNS
    assert table["start_time"].isna().tolist() == [True, False, True, True]
    assert table["start_time"][1] == pd.Timestamp("2026-11-15 20:31:05.25")
    assert table["start_s"].isna().tolist() == [False, False, True, False]


@dataclass(frozen=True)
class OneMotif:
    """Reads every unit run as an occurrence of motif 0."""

    def timeline(self, units: Timeline) -> MotifTimeline:
        begins = np.diff(units.ids, prepend=OTHER) != 0
        return MotifTimeline(np.zeros(units.ids.size, np.int32), units.scores, begins)


@pytest.mark.parametrize("rule", ["aligned", "start"])
def test_a_model_tells_occurrences_apart_where_their_units_begin(rule: str) -> None:
    recording = plant(n_frames=3_000, seed=1).recording
    settings = {"windows.projection": rule, "evidence.surrogates": 0}
    model = Rondo(window=60, step=20, settings=settings).fit(recording)
    model.motif_model_ = OneMotif()  # type: ignore[assignment]
    one = label_one(model, recording)
    units, motifs = (one.table.filter(pl.col("level") == level) for level in ("unit", "motif"))
    assert units.height > 10
    assert motifs["start_frame"].to_list() == units["start_frame"].to_list()
    assert motifs["units"].to_list() == [f"u{id}" for id in units["id"]]
    assert set(one.motifs.tolist()) == {0}
    assert one.fit_profile == FitProfile.from_json(model.provenance_["fit_profile"], Path("m"))


def profile(share: float, median: float) -> FitProfile:
    return FitProfile(share, (0.1, 0.2, median, 2.0, 3.0))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_the_profile_counts_and_sorts(distances: list[float]) -> None:
    found = FitProfile.of(distances)
    assert found.share_accepted == sum(r <= 1 for r in distances) / len(distances)
    npt.assert_allclose(found.distances, [np.quantile(distances, q) for q in QUANTILES], atol=1e-6)
    assert list(found.distances) == sorted(found.distances)
    assert FitProfile.of(distances[::-1]) == found
    assert FitProfile.from_json(json.loads(json.dumps(found.as_json())), Path("m")) == found


@pytest.mark.parametrize(
    ("share", "median", "verdict"),
    [
        (FITS, 0.7, "fits"),
        (FITS - 0.01, 0.4, "fits in part"),
        (0.99, 0.71, "fits in part"),  # inside the radii, yet never close: a random walk
        (FITS_IN_PART, 0.4, "fits in part"),
        (FITS_IN_PART - 0.01, 0.4, "does not fit"),
    ],
)
def test_the_rule(share: float, median: float, verdict: Fit) -> None:
    assert fit_of(profile(share, median), FITTED) == verdict


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 2), st.floats(0, 2))
def test_nearer_never_fits_worse(share: float, more: float, median: float, less: float) -> None:
    order = ("does not fit", "fits in part", "fits")
    worse, better = profile(min(share, more), max(median, less)), profile(max(share, more), min(median, less))
    assert order.index(fit_of(worse, FITTED)) <= order.index(fit_of(better, FITTED))


def test_fitted_windows_fit_and_no_window_does_not() -> None:
    assert fit_of(FITTED, FITTED) == "fits"
    assert FitProfile.of([]) == FitProfile(0.0, ())
    assert fit_of(FitProfile.of([]), FITTED) == "does not fit"
    assert fit_of(FITTED, FitProfile.from_json(None, Path("m"))) == "fits"  # a model that was kept without a profile


@pytest.mark.parametrize(
    "stored", [{}, "x", {"share_accepted": 2.0, "distances": []}, {"share_accepted": 0.5, "distances": [1.0]}]
)
def test_a_damaged_profile_is_said_with_its_folder(stored: Any) -> None:
    with pytest.raises(ModelError, match="models/m: its fit_profile") as refused:
        FitProfile.from_json(stored, Path("models/m"))
    assert "\n" not in str(refused.value)
