"""Dates whose order of day and month is not plain, zones, ticks of Windows, and two clocks beside each other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.read import from_frame
from rondo.files.text.spelling import date_seconds, day_order, is_date
from tests.formats.reading import read_one, write

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


def test_a_data_frame_is_judged_as_a_whole() -> None:
    cells = [(FIRST + timedelta(hours=hour)).strftime("%d/%m/%Y %H:%M") for hour in range(24 * 10)]
    found = from_frame(pl.DataFrame({"time": cells, "x": np.arange(240.0) % 7}))
    assert found.timestamps_s is not None
    assert float(np.ptp(found.timestamps_s)) == 239 * 3600.0


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


@pytest.mark.parametrize("rate", [1e-300, 1e300])
def test_a_rate_that_nobody_has_is_refused(rate: float) -> None:
    with pytest.raises(RecordingError, match="lie between 1e-12 and 1e\\+12 Hz"):
        Recording([[0.0], [1.0]], rate=rate)
