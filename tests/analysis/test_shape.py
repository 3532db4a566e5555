"""Occurrences over each other, how long they last and when they come, against slow twins."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.testing as npt
from hypothesis import given
from hypothesis import strategies as st

from rondo.analysis.shape import (
    LEAST_SHARE,
    N_PLACES,
    FrameSums,
    duration_bins,
    frames_before,
    mean_and_band,
    occurrence_columns,
    when,
)
from rondo.data.labels import runs_of
from rondo.run.overview import signal_overview
from rondo.run.summary import ClockKnots, RecordingSummary
from tests import naive_alignment as naive

VALUES = st.lists(st.one_of(st.floats(-5, 5), st.just(float("nan"))), min_size=1, max_size=30)


@given(VALUES, st.integers(1, 12))
def test_means_between_equal_the_slow_twin(values: list[float], n_columns: int) -> None:
    edges = np.linspace(0, len(values), n_columns + 1)
    found = FrameSums.of(np.array(values)[:, None]).means_between(edges)[:, 0]
    expected = [naive.column_mean(values, a, b) for a, b in pairwise(edges)]
    npt.assert_allclose(found, expected, atol=1e-9)


@given(st.integers(0, 20), st.integers(1, 40), st.integers(1, 60), st.integers(1, 16))
def test_an_occurrence_equals_the_slow_twin_both_ways(start: int, length: int, width: int, n_columns: int) -> None:
    rng = np.random.default_rng(length)
    signal = rng.normal(size=(80, 3))
    signal[rng.random(80) < 0.1, 1] = np.nan
    overview = signal_overview(signal, "abc")
    rows = np.array([2, 1])
    inside = overview.values()[start : start + length, :, 0]
    cuts = (width, n_columns), (None, n_columns)
    both = occurrence_columns(overview, start, start + length, cuts, rows)
    for (wide, _), found in zip(cuts, both, strict=True):
        expected = [naive.columns(inside[:, row].tolist(), wide, n_columns) for row in rows]
        npt.assert_allclose(found, expected, atol=1e-5)


@given(st.integers(1, 30), st.integers(1, 8), st.floats(0, 0.9))
def test_mean_and_band_equal_the_slow_twin(n: int, n_columns: int, missing: float) -> None:
    rng = np.random.default_rng(n)
    stack = rng.normal(size=(n, 2, n_columns))
    stack[rng.random(stack.shape) < missing] = np.nan
    found = mean_and_band(stack)
    for row in range(2):
        for column in range(n_columns):
            expected = naive.band(stack[:, row, column].tolist(), LEAST_SHARE)
            npt.assert_allclose(found[row, :, column], expected, atol=1e-12)


def test_stretched_occurrences_of_one_shape_have_no_band_where_those_from_the_start_do() -> None:
    """The same wave at other speeds: stretched they lie on each other, from the start they do not."""
    lengths = [40, 60, 80]
    signal = np.concatenate([np.sin(np.linspace(0, 2 * np.pi, n, endpoint=False)) for n in lengths])[:, None]
    overview, row = signal_overview(signal, ["x"]), np.array([0])
    spans = [*zip(np.cumsum(lengths) - lengths, np.cumsum(lengths), strict=True)]
    spreads = []
    for width in (None, 40):
        own = [occurrence_columns(overview, start, end, [(width, 8)], row)[0] for start, end in spans]
        low, _, high = mean_and_band(np.stack(own))[0]
        spreads.append(float(np.nanmax(high - low)))
    assert spreads[0] < 0.1 < 0.8 < spreads[1]


MIDNIGHT = 1_794_700_800.0  # 2026-11-15


def recording(
    n_frames: int, id: str = "r", rate: float | None = 1.0, clock: ClockKnots | None = None
) -> RecordingSummary:
    lasts = None if rate is None else n_frames / rate
    return RecordingSummary(
        id=id, source="", n_frames=n_frames, channels=("x",), rate=rate, duration_s=lasts, notes=(), share_other=0.0,
        clock=clock,
    )  # fmt: skip


def spans_of(track: list[int]) -> tuple[np.ndarray, np.ndarray]:
    runs = runs_of(np.array(track, dtype=np.int32))
    own = runs.ids == 1
    return runs.starts[own].astype(float), runs.stops[own].astype(float)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=40))
def test_frames_before_are_counted(track: list[int]) -> None:
    expected = np.cumsum([0, *track])
    npt.assert_allclose(frames_before(*spans_of(track), np.arange(len(track) + 1.0)), expected)


def test_place_is_the_share_of_each_part_of_the_recordings() -> None:
    track = [1] * N_PLACES + [0] * N_PLACES  # the first half
    found = when({"r": spans_of(track)}, [recording(2 * N_PLACES)])
    assert found["by"] == "place" and found["ends"] == ["0", "96 s"]
    assert found["shares"] == [1.0] * (N_PLACES // 2) + [0.0] * (N_PLACES // 2)
    both = when({"r": spans_of(track)}, [recording(2 * N_PLACES), recording(2 * N_PLACES, "s")])
    assert both["shares"][0] == 0.5 and both["ends"] == ["start", "end"]
    assert both == when({"r": spans_of(track)}, [recording(2 * N_PLACES, "s"), recording(2 * N_PLACES)])


def test_the_hour_of_the_day_where_the_clock_has_dates() -> None:
    """Two days by the minute, from six o'clock on; the entry goes from nine to half past ten."""
    n = 2 * 24 * 60
    clock = ClockKnots(frames=(0, n - 1), seconds=(MIDNIGHT + 6 * 3600, MIDNIGHT + 6 * 3600 + (n - 1) * 60.0))
    minute = (6 * 60 + np.arange(n)) % (24 * 60)
    track = ((minute >= 9 * 60) & (minute < 10 * 60 + 30)).astype(int).tolist()
    found = when({"r": spans_of(track)}, [recording(n, rate=1 / 60, clock=clock)])
    assert found["by"] == "hour"
    npt.assert_allclose(found["shares"], [1.0 if h == 9 else 0.5 if h == 10 else 0.0 for h in range(24)], atol=1e-3)


def test_few_hours_of_a_day_are_shown_by_place_and_hours_without_recording_are_none() -> None:
    short = ClockKnots(frames=(0, 7200), seconds=(MIDNIGHT, MIDNIGHT + 7200.0))
    assert when({}, [recording(7200, clock=short)])["by"] == "place"
    night = ClockKnots(frames=(0, 8 * 3600), seconds=(MIDNIGHT, MIDNIGHT + 8 * 3600.0))
    found = when({}, [recording(8 * 3600, clock=night)])
    assert found["shares"] == [0.0] * 8 + [None] * 16


def test_durations_are_all_counted_and_long_tails_get_bins_that_grow() -> None:
    rng = np.random.default_rng(0)
    lengths = np.exp(rng.normal(size=400) * 1.5)
    found = duration_bins(lengths, in_seconds=True)
    assert sum(found["counts"]) == 400 and found["logarithmic"] and len(found["counts"]) == 16
    assert 0.3 < found["median_at"] < 0.7
    equal = duration_bins([5.0] * 9, in_seconds=False)
    assert equal["counts"] == [9] and equal["ends"] == ["5 frames", "5 frames"] and equal["median_at"] == 0.5
