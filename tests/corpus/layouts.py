"""Tables written in ways that are easily misread."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from tests.corpus.case import XYZ, Case, Table, rows, signal, text

_TIMED = "time,x,y,z"


def _seconds(row: int) -> str:
    return f"{row / 50:.2f},"


def _decimal_commas(path: Path, n: int) -> Table:
    values = signal(n)
    frame = pd.DataFrame(values, columns=list(XYZ))
    frame.insert(0, "Zeit", np.arange(n) / 50)
    frame.to_csv(path, sep=";", decimal=",", index=False)
    return values


def _thousands(path: Path, n: int) -> Table:
    values = np.round(signal(n, digits=2) * 1000 + 5000, 1)
    cells = [f"{row / 50:.2f}," + ",".join(f'"{cell:,.1f}"' for cell in line) for row, line in enumerate(values)]
    text(path, _TIMED, *cells)
    return values


def _thousands_in_german(path: Path, n: int) -> Table:
    values = np.round(signal(n, digits=2) * 1000 + 5000, 1)
    swap = str.maketrans(",.", ".,")
    cells = [
        ";".join([f"{row / 50:.2f}", *(f"{cell:,.1f}" for cell in line)]).translate(swap)
        for row, line in enumerate(values)
    ]
    text(path, "time;x;y;z", *cells)
    return values


def _bom(path: Path, n: int) -> Table:
    values = signal(n)
    text(path, _TIMED, *rows(values, _seconds), end="\r\n", encoding="utf-8-sig")
    return values


def _all_quoted(path: Path, n: int) -> Table:
    values = signal(n)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["time", *XYZ])
        writer.writerows([row / 50, *line] for row, line in enumerate(values.tolist()))
    return values


def _trailing(path: Path, n: int) -> Table:
    values = signal(n)
    text(path, _TIMED + ",", *rows(values, _seconds, after=","))
    return values


def _trailing_in_rows(path: Path, n: int) -> Table:
    values = signal(n)
    text(path, _TIMED, *rows(values, _seconds, after=","))
    return values


def _units(path: Path, n: int) -> Table:
    values = signal(n)
    text(path, _TIMED, "ms,g,g,g", *rows(values, lambda row: f"{row * 20},"))
    return values


def _two_headers(path: Path, n: int) -> Table:
    values = signal(n, 4)
    columns = pd.MultiIndex.from_product([["left", "right"], ["acc", "gyr"]])
    pd.DataFrame(values, columns=columns).to_csv(path)
    return values


def _two_headers_named(path: Path, n: int) -> Table:
    """The line of pandas' index name stands between header and rows."""
    values = signal(n, 4)
    columns = pd.MultiIndex.from_product([["left", "right"], ["acc", "gyr"]], names=["side", "sensor"])
    pd.DataFrame(values, columns=columns, index=pd.Index(np.arange(n) / 50, name="time")).to_csv(path)
    return values


def _merged_cells(path: Path, n: int) -> Table:
    """A spreadsheet with a heading over three columns each, names beneath, then units."""
    values = signal(n, 4)
    text(path, ",Left wrist,,Right wrist,", "Time,x,y,x,y", "ms,g,g,g,g", *rows(values, lambda row: f"{row * 20},"))
    return values


def _booleans(path: Path, n: int) -> Table:
    values = signal(n)
    frame = pd.DataFrame(values, columns=list(XYZ))
    frame.insert(0, "time", np.arange(n) / 50)
    frame["moving"] = np.arange(n) // 60 % 2 == 1
    frame.to_csv(path, index=False)
    return values


def _brackets(path: Path, n: int) -> Table:
    values = signal(n)
    text(
        path,
        "Timestamp [ms],Acc X [m/s²],Temp. (°C),p {hPa}",
        *rows(values, lambda row: f"{row * 20},"),
        encoding="cp1252",
    )
    return values


def _wide(path: Path, n: int) -> Table:
    values = signal(n, 2000)
    frame = pd.DataFrame(values, columns=[f"voxel_{place}" for place in range(2000)])
    frame.insert(0, "time", np.arange(n) / 2)
    frame.to_csv(path, index=False)
    return values


def _tidy(path: Path, n: int) -> Table:
    values = signal(n)
    frame = pd.DataFrame(values, columns=list(XYZ))
    frame.insert(0, "time", np.arange(n) / 50)
    frame.melt(id_vars="time", var_name="sensor").sort_values(["time", "sensor"]).to_csv(path, index=False)
    return values


def _tidy_in_blocks(path: Path, n: int) -> Table:
    values = signal(n)
    frame = pd.DataFrame(values, columns=list(XYZ))
    frame.insert(0, "time", np.arange(n) / 50)
    frame.melt(id_vars="time", var_name="sensor").to_csv(path, index=False)
    return values


def _pivoted(path: Path) -> None:
    pd.read_csv(path).pivot(index="time", columns="sensor", values="value").to_csv(path)


def _separator_named(path: Path, n: int) -> Table:
    values = signal(n)
    text(path, "sep=;", "time;x;y;z", *rows(values, lambda row: f"{row / 50:.2f};", ";"), end="\r\n")
    return values


def _blanks(path: Path, n: int) -> Table:
    values = signal(n)
    text(
        path,
        "   time        x        y        z",
        *(" " + " ".join(f"{cell:9.3f}" for cell in (row / 50, *line)) for row, line in enumerate(values)),
    )
    return values


def _missing(path: Path, n: int) -> Table:
    values = signal(n)
    cells = rows(values, _seconds)
    words = ["", "NA", "NaN", "NULL", "n/a", "-", "?", ".", "#N/A", "nan", "None", "<NA>", "-nan(ind)", "1.#QNAN"]
    for place, word in enumerate(words):
        row = 20 + 3 * place
        cells[row] = f"{row / 50:.2f},{word},{values[row, 1]:g},{values[row, 2]:g}"
        values[row, 0] = np.nan
    text(path, _TIMED, *cells)
    return values


def _bare_returns(path: Path, n: int) -> Table:
    values = signal(n)
    text(path, _TIMED, *rows(values, _seconds), end="\r")
    return values


def _same_names(path: Path, n: int) -> Table:
    values = signal(n, 4)
    text(path, "time,x,y,x,y", *rows(values, _seconds))
    return values


def _numbered(path: Path) -> None:
    path.write_text(path.read_text().replace("time,x,y,x,y", "time,x,y,x.1,y.1"))


def _with_line_feeds(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\r", b"\n"))


def _without_units(path: Path) -> None:
    path.write_text(path.read_text().replace(" g", ""))


def _units_in_cells(path: Path, n: int) -> Table:
    values = signal(n)
    cells = [f"{row / 50:.2f}," + ",".join(f"{cell:g} g" for cell in line) for row, line in enumerate(values)]
    text(path, _TIMED, *cells)
    return values


def _footer(path: Path, n: int) -> Table:
    values = signal(n)
    text(path, _TIMED, *rows(values, _seconds), "", "Mean,0.1,0.2,0.3", "End of file")
    return values


def _without_footer(path: Path) -> None:
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-3]) + "\n")


CASES = (
    Case(
        file="decimal_commas.csv",
        program="German spreadsheet, `;` and decimal commas",
        made="pandas",
        write=_decimal_commas,
        rate=50.0,
    ),
    Case(file="thousands.csv", program='`"1,234.5"`, thousands', made="bytes", write=_thousands, rate=50.0),
    Case(file="tausender.csv", program="`1.234,5`, thousands", made="bytes", write=_thousands_in_german, rate=50.0),
    Case(file="bom.csv", program="Excel, UTF-8 with its mark", made="bytes", write=_bom, rate=50.0),
    Case(file="all_quoted.csv", program="quotes around all cells", made="csv", write=_all_quoted, rate=50.0),
    Case(file="trailing.csv", program="a separator at the end of lines", made="bytes", write=_trailing, rate=50.0),
    Case(
        file="trailing_in_rows.csv",
        program="a separator at the end of rows",
        made="bytes",
        write=_trailing_in_rows,
        rate=50.0,
    ),
    Case(
        file="units.csv",
        program="units in a second line",
        made="bytes",
        write=_units,
        rate=50.0,
        notes=(
            "line 2 skipped: it holds no numbers, but units: ms, g, g, g",
            "clock 'time' read as milliseconds, from its name",
        ),
    ),
    Case(
        file="two_headers.csv",
        program="pandas, two lines of header",
        made="pandas",
        write=_two_headers,
        channels=("left.acc", "left.gyr", "right.acc", "right.gyr"),
        notes=(
            "lines 1 to 2 read as one header: left.acc, left.gyr, right.acc,",
            "column 1, which has no name, left out: it only counts the rows",
        ),
    ),
    Case(
        file="two_headers_named.csv",
        program="pandas, two lines of header with names",
        made="pandas",
        write=_two_headers_named,
        channels=("left.acc", "left.gyr", "right.acc", "right.gyr"),
        rate=50.0,
        notes=("lines 1 to 3 read as one header: time, left.acc, left.gyr,",),
    ),
    Case(
        file="merged_cells.csv",
        program="a spreadsheet, headings over columns",
        made="bytes",
        write=_merged_cells,
        channels=("Left wrist.x", "Left wrist.y", "Right wrist.x", "Right wrist.y"),
        rate=50.0,
        notes=(
            "lines 1 to 2 read as one header: Time, Left wrist.x, Left",
            "line 3 skipped: it holds no numbers, but units: ms, g, g, g, …",
            "clock 'Time' read as milliseconds, from its name",
        ),
    ),
    Case(
        file="booleans.csv",
        program="True and False",
        made="pandas",
        write=_booleans,
        rate=50.0,
        notes=("column 'moving' left out: it holds text",),
    ),
    Case(
        file="brackets.csv",
        program="units in brackets, Windows-1252",
        made="bytes",
        write=_brackets,
        channels=("Acc X [m/s²]", "Temp. (°C)", "p {hPa}"),
        rate=50.0,
        notes=(
            "its text is not UTF-8: read as Windows-1252",
            "clock 'Timestamp [ms]' read as milliseconds, from its name",
        ),
    ),
    Case(
        file="wide.csv",
        program="2,000 columns",
        made="pandas",
        write=_wide,
        channels=tuple(f"voxel_{place}" for place in range(2000)),
        rate=2.0,
    ),
    Case(
        file="tidy.csv",
        program="one row per reading",
        made="pandas",
        write=_tidy,
        rate=50.0,
        refused="pivot",
        mend=_pivoted,
    ),
    Case(
        file="tidy_in_blocks.csv",
        program="one row per reading, by sensor",
        made="pandas",
        write=_tidy_in_blocks,
        rate=50.0,
        refused="pivot",
        mend=_pivoted,
    ),
    Case(
        file="separator_named.csv",
        program="Excel, `sep=;`",
        made="bytes",
        write=_separator_named,
        rate=50.0,
        notes=("line 1 skipped: no part of the table, as it has fewer cells",),
    ),
    Case(file="blanks.txt", program="columns of equal width", made="bytes", write=_blanks, rate=50.0),
    Case(file="missing_words.csv", program="words for no value", made="bytes", write=_missing, rate=50.0),
    Case(
        file="bare_returns.csv",
        program="old Macintosh line ends",
        made="bytes",
        write=_bare_returns,
        rate=50.0,
        refused="save the file with usual line ends",
        mend=_with_line_feeds,
    ),
    Case(
        file="same_names.csv",
        program="two columns of one name",
        made="bytes",
        write=_same_names,
        channels=("x", "y", "x.1", "y.1"),
        rate=50.0,
        refused="rename one of them",
        mend=_numbered,
    ),
    Case(
        file="units_in_cells.csv",
        program="units in cells",
        made="bytes",
        write=_units_in_cells,
        rate=50.0,
        refused="no units in its cells",
        mend=_without_units,
    ),
    Case(
        file="footer.csv",
        program="statistics below the table",
        made="bytes",
        write=_footer,
        rate=50.0,
        refused="delete the line",
        mend=_without_footer,
    ),
)
