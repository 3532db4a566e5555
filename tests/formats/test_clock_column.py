"""Clocks as people write them: names, units, dates, coarse readings, midnight."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.files.text.clock import in_seconds, is_clock_name, over_midnight, spread
from rondo.files.text.spelling import date_seconds, day_order, is_date

NOVEMBER = 1794774665.25  # 2026-11-15 20:31:05.25 UTC


@pytest.mark.parametrize(
    "cell",
    [
        "2026-11-15T20:31:05.25",
        "2026-11-15 20:31:05,250",
        "2026/11/15 20:31:05.25",
        "15.11.2026 20:31:05,250",
        "15.11.26 20:31:05.25",
        "15/11/2026 20:31:05:250",
        "15-11-2026 8:31:05.250 pm",
        "15.11.2026, 20:31:05.250",
        "2026-11-15T21:31:05.25+01:00",
    ],
)
def test_a_moment_however_it_is_written(cell: str) -> None:
    assert date_seconds(cell, day_first=True) == NOVEMBER
    assert is_date(cell)


def test_the_order_of_day_and_month() -> None:
    assert date_seconds("11/15/2026 8:31:05.25 PM") == NOVEMBER
    assert day_order(["3/4/2026 1:00", "15/4/2026 1:00"]) == (True, (), False)
    assert day_order(["3/4/2026 1:00", "3/15/2026 1:00"]) == (False, (), False)
    assert day_order(["3.4.2026", "2026-04-03", "12:00:00"]) == (False, (), False)
    order = day_order(["3/4/2026"])
    assert not order.day_first
    assert order.is_guess
    assert "'3/4/2026' read as month, day" in order.notes[0]


@pytest.mark.parametrize("cell", ["", "noon", "1.5", "12:30", "31.2.2026", "25:00:00", "15.11.2026 noon", "1.2.3"])
def test_what_is_no_date(cell: str) -> None:
    assert not is_date(cell) or cell == "1.2.3"  # the first of February 2003


@pytest.mark.parametrize(
    ("name", "is_clock"),
    [
        ("Time (s)", True),
        ("timestamp_ns", True),
        ("Datum / Uhrzeit", True),
        ("UNIXTIME", True),
        ("seconds_elapsed", True),
        ("Zeitstempel [ms]", True),
        ("t", True),
        ("T (°C)", False),
        ("temp", False),
        ("timed_force", False),
        ("x", False),
    ],
)
def test_names_of_clocks(name: str, is_clock: bool) -> None:
    assert is_clock_name(name) == is_clock


def test_units_of_clocks() -> None:
    ticks = np.arange(40.0) * 20
    for name in ("Time [ms]", "time_ms", "t (msec)"):
        seconds, notes = in_seconds(ticks, name)
        npt.assert_allclose(seconds, ticks / 1000)
        assert notes == (f"clock '{name}' read as milliseconds, from its name",)
    assert in_seconds(ticks, "time", unit="(ms)")[0][1] == 0.02
    assert in_seconds(ticks, "time_s") == (pytest.approx(ticks), ())
    seconds, notes = in_seconds(2.5e14 + ticks * 1e6, "timestamp")  # Android counts nanoseconds since it was started
    npt.assert_allclose(np.diff(seconds), 0.02, rtol=1e-6)
    assert "since the device" in notes[0]


def test_ticks_without_a_unit_are_told_by_their_uneven_steps() -> None:
    uneven = np.cumsum(np.tile([19.0, 20.0, 21.0], 20))
    seconds, notes = in_seconds(uneven, "time")
    npt.assert_allclose(seconds, uneven / 1000)
    assert "seconds, name it 'time_s'" in notes[0]
    even = np.arange(60.0) * 20
    seconds, notes = in_seconds(even, "time")
    npt.assert_array_equal(seconds, even)
    assert "milliseconds, give --rate 50" in notes[0]
    assert in_seconds(np.cumsum(np.tile([0.9, 1.1], 20)), "time")[1] == ()
    assert in_seconds(np.arange(60.0), "time")[1] == ()


def test_times_of_day_go_on_after_midnight() -> None:
    times = np.array([86398.0, 86399, 0, 1, 86399, 2])
    npt.assert_array_equal(over_midnight(times), [86398, 86399, 86400, 86401, 172799, 172802])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=2, max_size=30))
def test_rows_that_repeat_a_reading_are_spread_before_the_next(runs: list[tuple[int, int]]) -> None:
    readings = np.cumsum([step for _, step in runs]).astype(float)
    times = np.repeat(readings, [rows for rows, _ in runs])
    apart, notes = spread(times, "t")
    assert bool(notes) == (times.size > readings.size)
    assert (np.diff(apart) > 0).all()
    assert (apart >= times - 1e-9).all()
    after = np.append(times[1:], np.inf)
    assert (apart[after > times] < after[after > times]).all()


def test_rows_of_a_coarse_clock_are_not_drawn_out_over_a_gap() -> None:
    times = np.repeat([0.0, 1, 2, 100, 101], 4)
    apart, _ = spread(times, "t")
    npt.assert_allclose(apart, np.repeat([0.0, 1, 2, 100, 101], 4) + np.tile([0, 0.25, 0.5, 0.75], 5))
    falling = np.array([1.0, 1.0, 0.0])
    assert spread(falling, "t") == (pytest.approx(falling), ())
