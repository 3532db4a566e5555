"""Durations and when: against loops over frames, and what is shown where the clock has dates."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
from hypothesis import given
from hypothesis import strategies as st

from rondo.analysis.shape import N_PLACES, duration_bins, frames_before, when
from rondo.data.labels import runs_of
from rondo.run.summary import ClockKnots, RecordingSummary

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
