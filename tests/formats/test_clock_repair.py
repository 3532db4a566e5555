"""A clock that steps back in few rows rises again, with a note; one that steps back in many is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.files.clock_repair import MOST_MISPLACED, rising
from rondo.files.reading import Reading
from tests.formats.reading import from_frame, read_one, refusal

N = 1000
EVEN = 60.0 * np.arange(N) + 1.7e9


@given(st.lists(st.integers(1, N - 1), max_size=5, unique=True), st.floats(1, 1e6))
def test_rows_that_stay_keep_their_times(rows: list[int], back: float) -> None:
    times = EVEN.copy()
    times[rows] -= 60.0 + back
    repaired, notes = rising(times, "t")
    assert (np.diff(repaired) > 0).all()
    assert bool(notes) == bool(rows)
    if back > 60 * 20:  # else rows may change places
        kept = np.setdiff1d(np.arange(N), rows)
        npt.assert_array_equal(repaired[kept], EVEN[kept])


@given(st.integers(0, N - 1), st.floats(1e5, 1e8))
def test_one_row_far_ahead_is_put_back(row: int, ahead: float) -> None:
    times = EVEN.copy()
    times[row] += ahead
    repaired, _ = rising(times, "t")
    npt.assert_allclose(repaired[: N - 1], EVEN[: N - 1], atol=1e-3)


def test_a_clock_that_rises_is_not_touched() -> None:
    for times in (EVEN, np.repeat(EVEN, 2), np.append(EVEN, np.nan)):
        repaired, notes = rising(times, "t")
        assert repaired is times
        assert notes == ()


def test_many_rows_are_refused_with_line_and_date(tmp_path: Path) -> None:
    moments = pd.date_range("2026-01-05", periods=N, freq="min").to_series(index=range(N))
    n_wrong = int(MOST_MISPLACED * N) + 1
    moments[500 : 500 + n_wrong] = moments[500 : 500 + n_wrong] - pd.Timedelta(days=7)
    path = tmp_path / "a.csv"
    pd.DataFrame({"time": moments, "x": np.arange(N) % 7 + 0.5}).to_csv(path, index=False)
    said = refusal(lambda: read_one(path), naming=path)
    assert "line 502 (2025-12-29 08:20:00) is earlier" in said
    assert "(2026-01-05 08:19:00)" in said


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Sydney"])
@pytest.mark.parametrize("step", ["1s", "15min"])
def test_summer_time_is_read_as_standard_time(zone: str, step: str) -> None:
    """A stretch around both changes, on the clock on the wall, lasts as long as it did."""
    began = "2026-03-28" if step == "1s" else "2026-01-01"
    spring = {"Europe/Berlin": "2026-10-24 20:00", "America/New_York": "2026-11-01 01:00"}.get(zone, "2026-04-04 10:00")
    moments = pd.date_range(spring if step == "1s" else began, periods=30_000, freq=step, tz="UTC")
    wall = moments.tz_convert(zone).tz_localize(None)
    repaired, notes = rising((wall - pd.Timestamp(0)).total_seconds().to_numpy(), "t")
    after = np.diff(repaired)
    assert len(notes) == 1
    assert "set back an hour" in notes[0]
    assert np.count_nonzero(after != after[0]) <= 1  # of a year's beginning in summer, one jump ahead is left


def test_frames_are_repaired_as_files_are() -> None:
    times = EVEN.copy()
    times[100:103] = EVEN[97:100]
    recording = from_frame(pl.DataFrame({"time": times, "x": np.arange(N) % 7 + 0.5}), Reading())
    assert recording.n_frames == N
    assert "3 rows repeat times or step back (frame 100, 2023-11-14 23:50:20" in recording.notes[0]
