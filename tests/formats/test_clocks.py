"""Clocks as people write them: names, units, dates whose order is not plain, zones, ticks, coarse readings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.files.text.clock import in_seconds, is_clock_name, spread
from rondo.files.text.spelling import date_seconds, day_order, is_date
from tests.formats.reading import from_frame, read_one, write

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


FIRST = datetime(2026, 2, 1, tzinfo=UTC)


def hourly(form: str, n_days: int, first: datetime = FIRST) -> str:
    """A file with a row per hour, which all begin on days up to the twelfth of a month."""
    rows = [first + timedelta(hours=hour) for hour in range(24 * n_days)]
    return "when,x\n" + "".join(f"{moment.strftime(form)},{i % 7}.5\n" for i, moment in enumerate(rows))


@pytest.mark.parametrize(("form", "words"), [("%d/%m/%Y %H:%M", "day, month"), ("%m/%d/%Y %H:%M", "month, day")])
def test_five_days_are_five_days_in_either_order(tmp_path: Path, form: str, words: str) -> None:
    found = read_one(write(tmp_path, "a.csv", hourly(form, 5)))
    assert found.timestamps_s is not None
    assert float(np.ptp(found.timestamps_s)) == 119 * 3600.0
    assert found.timestamps_s[0] == FIRST.timestamp()
    assert any(f"read as {words}" in note for note in found.notes)


def test_a_day_above_twelve_far_below_the_head_tells(tmp_path: Path) -> None:
    found = read_one(write(tmp_path, "a.csv", hourly("%d/%m/%Y %H:%M", 20)))
    assert found.timestamps_s is not None
    assert float(np.ptp(found.timestamps_s)) == (20 * 24 - 1) * 3600.0


def test_iso_dates_beside_tell_the_order(tmp_path: Path) -> None:
    rows = "".join(f"03/04/2026 12:00:{s:02d},2026-04-03T10:00:{s:02d},{s}.5\n" for s in range(40))
    found = read_one(write(tmp_path, "a.csv", "Date,utc_of_server_iso,x\n" + rows))
    assert found.timestamps_s is not None
    assert datetime.fromtimestamp(found.timestamps_s[0], UTC).month == 4
    assert any("dates beside" in note for note in found.notes)


def test_months_that_go_on_through_the_year_are_months() -> None:
    cells = [f"{1 + i % 12:02d}/01/{2024 + i // 12}" for i in range(24)]
    assert not day_order(cells).day_first


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("01 01 2018 00:00", 1514764800.0),
        ("2018-01-01 00:00:00+0100", 1514761200.0),
        ("2018-01-01 00:00:00 +0100", 1514761200.0),
        ("2018-01-01 00:00:00+0100 [Europe/London]", 1514761200.0),
        ("2018-01-01T00:00:00-05:00[America/New_York]", 1514782800.0),
        ("2018-01-01T00:00:00Z", 1514764800.0),
        ("2018-01-01 00:00:00 UTC", 1514764800.0),
        ("01/01/2018 12:00 AM +0100", 1514761200.0),
        ("01-Jan-2018 00:00:30", 1514764830.0),
    ],
)
def test_blanks_zones_and_names_of_months(cell: str, seconds: float) -> None:
    assert date_seconds(cell) == seconds


@pytest.mark.parametrize(
    "cell", ["1 2 3", "01 01", "2018-01-01 00:00 [No/Where]", "20:31:05+0100", "01-Foo-2018", "-5"]
)
def test_what_looks_like_a_zone_or_a_date_and_is_none(cell: str) -> None:
    assert not is_date(cell)


@pytest.mark.parametrize(
    ("name", "before_1970"), [("Timestamp", 2_082_844_800.0), ("time_s", 2_082_844_800.0), ("unixtime", 0.0)]
)
def test_seconds_of_labview(name: str, before_1970: float) -> None:
    """Since 1904: read as seconds since 1970 they lie in 2092. A clock that says so counts from 1970."""
    seconds, notes = in_seconds(np.array([3.87e9, 3.87e9 + 0.5]), name)
    assert seconds.tolist() == [3.87e9 - before_1970, 3.87e9 + 0.5 - before_1970]
    assert any("1904" in note for note in notes) == bool(before_1970)


@pytest.mark.parametrize(
    ("ticks", "of"),
    [
        (lambda s: round((s + 11_644_473_600.0) * 1e7), "FILETIME"),
        (lambda s: round((s + 62_135_596_800.0) * 1e7), ".NET"),
    ],
)
@pytest.mark.parametrize("name", ["timestamp", "stamped"])
def test_ticks_of_windows(tmp_path: Path, ticks: Callable[[float], int], of: str, name: str) -> None:
    seconds = 1.7e9 + np.arange(50) / 50
    rows = "".join(f"{ticks(float(s))},{i % 7}.5\n" for i, s in enumerate(seconds))
    found = read_one(write(tmp_path, "a.csv", f"{name},x\n{rows}"))
    assert found.rate == pytest.approx(50, rel=1e-3)
    assert found.timestamps_s is not None
    np.testing.assert_allclose(found.timestamps_s, seconds, atol=1e-4)
    assert any(of in note for note in found.notes)


class TestTwoClocks:
    ROWS = "".join(f"2019-05-04 10:22:{i // 10:02d},{1556965321 + i / 10:.3f},{i % 7}.5\n" for i in range(100))

    def test_the_finer_one_is_taken(self, tmp_path: Path) -> None:
        found = read_one(write(tmp_path, "a.csv", "Date,Timestamp,x\n" + self.ROWS))
        assert found.rate == pytest.approx(10)
        assert found.channels == ("x",)
        assert any("'Timestamp' is the clock" in note for note in found.notes)

    def test_in_a_data_frame_too(self, tmp_path: Path) -> None:
        table = pl.DataFrame(
            {
                "Date": [datetime(2019, 5, 4, 10, 22, i // 10) for i in range(100)],
                "Timestamp": 1556965321 + np.arange(100) / 10,
                "x": np.arange(100.0) % 7,
            }
        )
        assert from_frame(table).rate == pytest.approx(10)

    def test_seconds_of_the_minute_are_no_finer_clock(self, tmp_path: Path) -> None:
        rows = "".join(f"10:{22 + i // 600}:{i // 10 % 60:02d},{i % 600 / 10:.1f},{i % 7}.5\n" for i in range(1300))
        found = read_one(write(tmp_path, "a.csv", "Time,Seconds,x\n" + rows))
        assert found.rate == pytest.approx(10)
        assert found.channels == ("x",)
