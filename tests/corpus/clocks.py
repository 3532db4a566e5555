"""Clocks that are easily misread."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd

from tests.corpus.case import BEGAN_S, Case, Table, Writer, rows, signal, text

_BEGAN = datetime.fromtimestamp(BEGAN_S, UTC)
_BERLIN = ZoneInfo("Europe/Berlin")
_SUMMER_ENDS = datetime(2026, 10, 25, 0, 0, tzinfo=UTC)  # 02:00 in Berlin, an hour before the clock goes back


def _with(clock: str, reading: Callable[[int], str], separator: str = ",") -> Writer:
    """A table with a clock of this name and these readings."""

    def write(path: Path, n: int) -> Table:
        values = signal(n)
        header = separator.join([clock, "x", "y", "z"])
        text(path, header, *rows(values, lambda row: reading(row) + separator, separator))
        return values

    return write


def _after(row: int, seconds: float, began: datetime = _BEGAN) -> datetime:
    return began + timedelta(seconds=seconds * row)


def _midnight(row: int) -> str:
    when = _after(row, 0.02, datetime(2026, 11, 15, 23, 59, 58, tzinfo=UTC))
    return f"{when:%H:%M:%S}.{when.microsecond // 1000:03d}"


def _pandas_index(path: Path, n: int) -> Table:
    values = signal(n)
    pd.DataFrame(values, columns=["x", "y", "z"], index=pd.date_range(_BEGAN, periods=n, freq="20ms")).to_csv(path)
    return values


def _pandas_timedeltas(path: Path, n: int) -> Table:
    values = signal(n)
    frame = pd.DataFrame(
        values, columns=["x", "y", "z"], index=pd.timedelta_range(0, periods=n, freq="20ms", name="time")
    )
    frame.to_csv(path)
    return values


def _newest_first(path: Path, n: int) -> Table:
    values = signal(n)
    cells = rows(values, lambda row: f"{_after(row, 60):%Y-%m-%d %H:%M:%S},")
    text(path, "time,x,y,z", *reversed(cells))
    return values


def _shuffled(path: Path, n: int) -> Table:
    """Packets that overtook one another."""
    values = signal(n)
    cells = rows(values, lambda row: f"{row / 50:.2f},")
    cells[100], cells[101] = cells[101], cells[100]
    text(path, "time,x,y,z", *cells)
    return values


def _sorted(path: Path) -> None:
    pd.read_csv(path).sort_values("time").to_csv(path, index=False)


def _lost_precision(path: Path, n: int) -> Table:
    """Six digits of a number of ten: all rows of an hour have one time."""
    values = signal(n)
    text(path, "time,x,y,z", *rows(values, lambda row: f"{BEGAN_S + row / 50:.5e},"))
    return values


def _rounded(path: Path, n: int) -> Table:
    """Ten digits: whole seconds, of which each is in 50 rows."""
    values = signal(n)
    text(path, "time,x,y,z", *rows(values, lambda row: f"{BEGAN_S + row // 50:.9e},"))
    return values


def _with_offsets(path: Path) -> None:
    """The zone, as the advice says: +02:00 until the clock goes back, +01:00 from there on."""
    table = pd.read_csv(path)
    later = pd.to_datetime(table["time"]).diff().dt.total_seconds().lt(0).cumsum()
    table["time"] += later.map({0: "+02:00", 1: "+01:00"})
    table.to_csv(path, index=False)


def _serial(row: int) -> str:
    return f"{BEGAN_S / 86400 + 25569 + row / 86400:.9f}"


def _doubled(path: Path, n: int) -> Table:
    """Two rows in a hundred have the time of the row before."""
    values = signal(n)
    text(path, "time,x,y,z", *rows(values, lambda row: f"{(row - (row % 50 == 49)) / 50:.2f},"))
    return values


CASES = (
    Case(
        file="past_midnight.csv",
        program="times of day past midnight",
        made="bytes",
        write=_with("time", _midnight),
        rate=50.0,
        notes=("clock 'time' holds times of day without a date",),
    ),
    Case(
        file="iso_z.csv",
        program="ISO 8601, `T` and `Z`",
        made="bytes",
        write=_with(
            "time", lambda row: f"{_after(row, 0.02).isoformat(timespec='milliseconds').replace('+00:00', 'Z')}"
        ),
        rate=50.0,
        began_s=BEGAN_S,
    ),
    Case(
        file="am_pm.csv",
        program="US spreadsheet, `11/15/2026 8:31 PM`",
        made="bytes",
        write=_with("Date/Time", lambda row: f"{_after(row, 60):%m/%d/%Y %I:%M:%S %p}"),
        rate=1 / 60,
        began_s=BEGAN_S,
    ),
    Case(
        file="day_or_month.csv",
        program="European logger, `03/02/2026`",
        made="bytes",
        write=_with("Date", lambda row: f"{_after(row, 3600, datetime(2026, 2, 3, tzinfo=UTC)):%d/%m/%Y %H:%M}"),
        rate=1 / 3600,
        began_s=datetime(2026, 2, 3, tzinfo=UTC).timestamp(),
        notes=("dates such as '03/02/2026 00:00' read as day, month, year, as",),
    ),
    Case(
        file="months_by_name.csv",
        program="Oracle, `15-NOV-26`",
        made="bytes",
        write=_with("Date", lambda row: f"{_after(row, 1):%d-%b-%y %H:%M:%S}".upper()),
        rate=1.0,
        began_s=BEGAN_S,
    ),
    Case(
        file="dotted_time.csv",
        program="a Danish logger, `15-11-2026 20.31.05`",
        made="bytes",
        write=_with("Dato", lambda row: f"{_after(row, 1):%d-%m-%Y %H.%M.%S}", ";"),
        rate=1.0,
        began_s=BEGAN_S,
        notes=("column 'Dato' is the clock, because it holds dates",),
    ),
    Case(
        file="compact.csv",
        program="compact dates, `20261115T203105`",
        made="bytes",
        write=_with("time", lambda row: f"{_after(row, 1):%Y%m%dT%H%M%S}"),
        rate=1.0,
        began_s=BEGAN_S,
    ),
    Case(
        file="digits_only.csv",
        program="dates as digits, `20261115203105`",
        made="bytes",
        write=_with("timestamp", lambda row: f"{_after(row, 1):%Y%m%d%H%M%S}"),
        rate=1.0,
        began_s=BEGAN_S,
    ),
    Case(
        file="pandas_index.csv",
        program="pandas, dates in an index without a name",
        made="pandas",
        write=_pandas_index,
        rate=50.0,
        began_s=BEGAN_S,
        notes=("column 1 is the clock, because it holds dates",),
    ),
    Case(
        file="pandas_timedeltas.csv", program="pandas, time deltas", made="pandas", write=_pandas_timedeltas, rate=50.0
    ),
    Case(
        file="minutes.csv",
        program="a clock in minutes",
        made="bytes",
        write=_with("Time (min)", lambda row: f"{row / 600:.6f}"),
        rate=10.0,
        notes=("clock 'Time (min)' read as minutes, from its name",),
    ),
    Case(
        file="hours.csv",
        program="a clock in hours",
        made="bytes",
        write=_with("time_h", lambda row: f"{row / 3600:.8f}"),
        rate=1.0,
        notes=("clock 'time_h' read as hours, from its name",),
    ),
    Case(
        file="excel_serial.csv",
        program="days of a spreadsheet",
        made="bytes",
        write=_with("Date", _serial),
        rate=1.0,
        began_s=BEGAN_S,
        notes=("clock 'Date' read as the days that a spreadsheet counts, from",),
    ),
    Case(
        file="lost_precision.csv",
        program="unix time in six digits",
        made="bytes",
        write=_lost_precision,
        rate=50.0,
        refused="rounded to 10,000",
        options={"rate": 50},
        notes=("column 'time' left out: the given rate of 50 Hz is the clock",),
    ),
    Case(
        file="rounded.csv",
        program="unix time in ten digits",
        made="bytes",
        write=_rounded,
        rate=50.0,
        notes=(
            "235 rows repeat the time of the row before in 'time': spread",
            "clock 'time' is rounded to 1, so that rows share times",
        ),
    ),
    Case(
        file="summer_time.csv",
        program="local time as summer time ends",
        made="bytes",
        write=_with("time", lambda row: f"{_after(row, 60, _SUMMER_ENDS).astimezone(_BERLIN):%Y-%m-%d %H:%M:%S}"),
        rate=1 / 60,
        began_s=_SUMMER_ENDS.timestamp(),
        refused="write the zone (+02:00)",
        mend=_with_offsets,
        notes=("clock 'time' names a zone ('2026-10-25 02:00:00+02:00'): times",),
    ),
    Case(
        file="summer_time_offset.csv",
        program="local time with its offset as summer time ends",
        made="bytes",
        write=_with("time", lambda row: _after(row, 60, _SUMMER_ENDS).astimezone(_BERLIN).isoformat()),
        rate=1 / 60,
        began_s=_SUMMER_ENDS.timestamp(),
        notes=("clock 'time' names a zone ('2026-10-25T02:00:00+02:00'): times",),
    ),
    Case(
        file="doubled.csv",
        program="some times twice",
        made="bytes",
        write=_doubled,
        rate=50.0,
        notes=("4 rows repeat the time of the row before in 'time': spread",),
    ),
    Case(
        file="coarse.csv",
        program="whole seconds at 50 Hz",
        made="bytes",
        write=_with("time", lambda row: f"{_after(row, 0.02):%Y-%m-%d %H:%M:%S}"),
        rate=50.0,
        began_s=BEGAN_S,
        notes=("235 rows repeat the time of the row before in 'time': spread",),
    ),
    Case(
        file="newest_first.csv",
        program="a web export, newest first",
        made="bytes",
        write=_newest_first,
        rate=1 / 60,
        began_s=BEGAN_S,
        notes=("clock 'time' falls: its newest row comes first, so rows are",),
    ),
    Case(
        file="shuffled.csv",
        program="packets out of order",
        made="bytes",
        write=_shuffled,
        rate=50.0,
        refused="sort the rows",
        mend=_sorted,
    ),
)
