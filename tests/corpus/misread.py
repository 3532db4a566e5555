"""Clocks and tables that are easily misread."""

from __future__ import annotations

import csv
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from tests.corpus.case import BEGAN_S, XYZ, Table, Writer, at, early, frame, rows, seconds, signal, table, text

_BERLIN = ZoneInfo("Europe/Berlin")
_SUMMER_ENDS = datetime(2026, 10, 25, 0, 0, tzinfo=UTC)  # 02:00 in Berlin, an hour before the clock goes back
_EVENING = datetime(2026, 11, 15, 23, 59, 58, tzinfo=UTC)
_NO_VALUE = ("", "NA", "NaN", "NULL", "n/a", "-", "?", ".", "#N/A", "nan", "None", "<NA>", "-nan(ind)", "1.#QNAN")


def _clock(name: str, reading: Callable[[int], str], separator: str = ",") -> Writer:
    """A table with a clock of this name and these readings."""
    return table(separator.join([name, *XYZ]), before=lambda row: reading(row) + separator, separator=separator)


def _written(change: Callable[[pd.DataFrame], pd.DataFrame], **options: object) -> Writer:
    """By pandas, after a change."""

    def write(path: Path, n: int) -> Table:
        change(frame(n)).to_csv(path, **options)  # type: ignore[call-overload]
        return signal(n)

    return write


def _indexed(index: Callable[[int], pd.Index]) -> Writer:
    return _written(lambda made: made.drop(columns="time").set_index(index(len(made))))


def _berlin(row: int) -> datetime:
    return (_SUMMER_ENDS + timedelta(minutes=row)).astimezone(_BERLIN)


def _milliseconds(when: datetime) -> str:
    return f"{when:%H:%M:%S}.{when.microsecond // 1000:03d}"


def _newest_first(path: Path, n: int) -> Table:
    text(path, "time,x,y,z", *reversed(rows(signal(n), lambda row: f"{at(60 * row, 1):%Y-%m-%d %H:%M:%S},")))
    return signal(n)


def _shuffled(path: Path, n: int) -> Table:
    """Packets that overtook one another; rows stay in the order of the file."""
    order = np.arange(n)
    order[[100, 101]] = 101, 100
    cells = rows(signal(n), seconds)
    text(path, "time,x,y,z", *(cells[row] for row in order))
    return signal(n)[order]


def _thousands(n: int) -> Table:
    return np.round(signal(n, digits=2) * 1000 + 5000, 1)


def _thousands_quoted(path: Path, n: int) -> Table:
    text(
        path,
        "time,x,y,z",
        *(seconds(row) + ",".join(f'"{cell:,.1f}"' for cell in line) for row, line in enumerate(_thousands(n))),
    )
    return _thousands(n)


def _thousands_in_german(path: Path, n: int) -> Table:
    cells = (
        ";".join([f"{row / 50:.2f}", *(f"{cell:,.1f}" for cell in line)]) for row, line in enumerate(_thousands(n))
    )
    text(path, "time;x;y;z", *(line.translate(str.maketrans(",.", ".,")) for line in cells))
    return _thousands(n)


def _two_headers(path: Path, n: int) -> Table:
    columns = pd.MultiIndex.from_product([["left", "right"], ["acc", "gyr"]])
    pd.DataFrame(signal(n, 4), columns=columns).to_csv(path)
    return signal(n, 4)


def _two_headers_named(path: Path, n: int) -> Table:
    """The line of pandas' index name stands between header and rows."""
    columns = pd.MultiIndex.from_product([["left", "right"], ["acc", "gyr"]], names=["side", "sensor"])
    pd.DataFrame(signal(n, 4), columns=columns, index=pd.Index(np.arange(n) / 50, name="time")).to_csv(path)
    return signal(n, 4)


def _wide(path: Path, n: int) -> Table:
    frame(n, [f"voxel_{place}" for place in range(2000)], rate=2).to_csv(path, index=False)
    return signal(n, 2000)


def _blanks(path: Path, n: int) -> Table:
    cells = (" " + " ".join(f"{cell:9.3f}" for cell in (row / 50, *line)) for row, line in enumerate(signal(n)))
    text(path, "   time        x        y        z", *cells)
    return signal(n)


def _missing(path: Path, n: int) -> Table:
    values = signal(n)
    cells = rows(values, seconds)
    for row, word in zip(range(20, n, 3), _NO_VALUE, strict=False):
        cells[row] = f"{row / 50:.2f},{word},{values[row, 1]:g},{values[row, 2]:g}"
        values[row, 0] = np.nan
    text(path, "time,x,y,z", *cells)
    return values


def _units_in_cells(path: Path, n: int) -> Table:
    cells = (seconds(row) + ",".join(f"{cell:g} g" for cell in line) for row, line in enumerate(signal(n)))
    text(path, "time,x,y,z", *cells)
    return signal(n)


def _footer(path: Path, n: int) -> Table:
    text(path, "time,x,y,z", *rows(signal(n), seconds), "", "Mean,0.1,0.2,0.3", "End of file")
    return signal(n)


def _ms(row: int) -> str:
    return f"{row * 20},"


def _four(n: int) -> Table:
    return signal(n, 4)


WRITERS: dict[str, Writer] = {
    # clocks
    "past_midnight.csv": _clock("time", lambda row: _milliseconds(_EVENING + timedelta(seconds=0.02 * row))),
    "iso_z.csv": _clock("time", lambda row: at(row, 50).isoformat(timespec="milliseconds").replace("+00:00", "Z")),
    "am_pm.csv": _clock("Date/Time", lambda row: f"{at(60 * row, 1):%m/%d/%Y %I:%M:%S %p}"),
    "day_or_month.csv": _clock("Date", lambda row: f"{early(row, 60):%d/%m/%Y %H:%M}"),
    "months_by_name.csv": _clock("Date", lambda row: f"{at(row, 1):%d-%b-%y %H:%M:%S}".upper()),
    "dotted_time.csv": _clock("Dato", lambda row: f"{at(row, 1):%d-%m-%Y %H.%M.%S}", ";"),
    "compact.csv": _clock("time", lambda row: f"{at(row, 1):%Y%m%dT%H%M%S}"),
    "digits_only.csv": _clock("timestamp", lambda row: f"{at(row, 1):%Y%m%d%H%M%S}"),
    "pandas_index.csv": _indexed(lambda n: pd.date_range(at(0, 1), periods=n, freq="20ms")),
    "pandas_timedeltas.csv": _indexed(lambda n: pd.timedelta_range(0, periods=n, freq="20ms", name="time")),
    "minutes.csv": _clock("Time (min)", lambda row: f"{row / 600:.6f}"),
    "hours.csv": _clock("time_h", lambda row: f"{row / 3600:.8f}"),
    "excel_serial.csv": _clock("Date", lambda row: f"{BEGAN_S / 86400 + 25569 + row / 86400:.9f}"),
    # six digits of a number of ten: all rows of an hour have one time; with ten digits 50 rows share each second
    "lost_precision.csv": _clock("time", lambda row: f"{BEGAN_S + row / 50:.5e}"),
    "rounded.csv": _clock("time", lambda row: f"{BEGAN_S + row // 50:.9e}"),
    "summer_time.csv": _clock("time", lambda row: f"{_berlin(row):%Y-%m-%d %H:%M:%S}"),
    "summer_time_offset.csv": _clock("time", lambda row: _berlin(row).isoformat()),
    "doubled.csv": _clock("time", lambda row: f"{(row - (row % 50 == 49)) / 50:.2f}"),
    "coarse.csv": _clock("time", lambda row: f"{at(row, 50):%Y-%m-%d %H:%M:%S}"),
    "newest_first.csv": _newest_first,
    "shuffled.csv": _shuffled,
    # layouts
    "decimal_commas.csv": _written(
        lambda made: made.rename(columns={"time": "Zeit"}), sep=";", decimal=",", index=False
    ),
    "thousands.csv": _thousands_quoted,
    "tausender.csv": _thousands_in_german,
    "bom.csv": table("time,x,y,z", before=seconds, end="\r\n", encoding="utf-8-sig"),
    "all_quoted.csv": _written(lambda made: made, index=False, quoting=csv.QUOTE_ALL, lineterminator="\r\n"),
    "trailing.csv": table("time,x,y,z,", before=seconds, after=","),
    "trailing_in_rows.csv": table("time,x,y,z", before=seconds, after=","),
    "units.csv": table("time,x,y,z", "ms,g,g,g", before=_ms),
    "two_headers.csv": _two_headers,
    "two_headers_named.csv": _two_headers_named,
    "merged_cells.csv": table(",Left wrist,,Right wrist,", "Time,x,y,x,y", "ms,g,g,g,g", before=_ms, values=_four),
    "booleans.csv": _written(lambda made: made.assign(moving=np.arange(len(made)) // 60 % 2 == 1), index=False),
    "brackets.csv": table("Timestamp [ms],Acc X [m/s²],Temp. (°C),p {hPa}", before=_ms, encoding="cp1252"),
    "wide.csv": _wide,
    "tidy.csv": _written(
        lambda made: made.melt(id_vars="time", var_name="sensor").sort_values(["time", "sensor"]), index=False
    ),
    "tidy_in_blocks.csv": _written(lambda made: made.melt(id_vars="time", var_name="sensor"), index=False),
    "separator_named.csv": table(
        "sep=;", "time;x;y;z", before=lambda row: f"{row / 50:.2f};", separator=";", end="\r\n"
    ),
    "blanks.txt": _blanks,
    "missing_words.csv": _missing,
    "bare_returns.csv": table("time,x,y,z", before=seconds, end="\r"),
    "same_names.csv": table("time,x,y,x,y", before=seconds, values=_four),
    "units_in_cells.csv": _units_in_cells,
    "footer.csv": _footer,
}


def _replaced(old: bytes, new: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(path.read_bytes().replace(old, new)) and None


def _without_footer(path: Path) -> None:
    path.write_text("\n".join(path.read_text().splitlines()[:-3]) + "\n")


MENDS: dict[str, Callable[[Path], Path | None]] = {
    "bare_returns.csv": _replaced(b"\r", b"\n"),
    "same_names.csv": _replaced(b"time,x,y,x,y", b"time,x,y,x.1,y.1"),
    "units_in_cells.csv": _replaced(b" g", b""),
    "footer.csv": _without_footer,
}
