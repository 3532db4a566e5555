"""Rows of a text table read cell by cell: every spelling of a number, a line that repeats the header, a torn end.

Slow, and so only for blocks at which polars stumbles; what cannot be read is named by its line and column.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError
from rondo.formats.clock_column import date_seconds
from rondo.formats.columns import Columns
from rondo.formats.text_layout import Layout, decoded, is_missing, is_number


class Frames(NamedTuple):
    """Some frames of the table: values (n, n_channels), and their clock readings (n,) if there is a clock."""

    values: NDArray[Any]
    times: NDArray[np.float64] | None
    n_headers: int = 0  # lines left out that repeat the header
    is_torn: bool = False  # whether the last line was left out


class Reading(NamedTuple):
    """What the rows are read by."""

    layout: Layout
    columns: Columns
    has_dates: bool
    day_first: bool
    last_line: int = 0  # where the file ends within a line


def read_by_cell(text: bytes, first_line: int, reading: Reading) -> Frames:
    """The careful reading: every spelling that is a number or missing, or the line and column at fault."""
    layout, columns = reading.layout, reading.columns
    channels = list(zip(columns.positions, columns.channels, strict=True))
    rows: list[list[float]] = []
    times: list[float] = []
    n_headers, is_torn = 0, False
    for number, line in enumerate(text.split(b"\n")[:-1], start=first_line):
        if len(layout.names) > 1 and not line.strip():
            continue  # no frame: a row without a single value still has its separators
        if number == reading.last_line and _n_cells(line, layout) < len(layout.names):
            is_torn = True
            continue
        cells = _cells_of_row(line, number, layout)
        if layout.has_header and (cells[0].removeprefix("\ufeff"), *cells[1:]) == layout.names:
            n_headers += 1
            continue
        rows.append([_number(cells[place], number, name, layout.has_decimal_comma) for place, name in channels])
        if columns.clock is not None:
            times.append(_time(cells, number, reading, columns.clock))
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(columns.positions))
    return Frames(values, None if columns.clock is None else np.array(times), n_headers, is_torn)


def _n_cells(line: bytes, layout: Layout) -> int:
    return len(next(csv.reader([decoded(line)[0]], delimiter=layout.delimiter), []))


def _cells_of_row(line: bytes, number: int, layout: Layout) -> tuple[str, ...]:
    if b"\0" in line:
        raise RecordingError(f"line {number} holds binary data; expected columns of numbers in UTF-8 text")
    try:
        cells = next(csv.reader([decoded(line)[0]], delimiter=layout.delimiter, strict=True), [])
    except csv.Error as error:
        raise RecordingError(
            f"line {number} cannot be cut into cells: {error}; quotes must close on their line"
        ) from error
    cells = cells or [""]
    if len(cells) != len(layout.names):
        raise RecordingError(
            f"line {number} has {len(cells)} cells, but there are {len(layout.names)} columns; "
            "give every row one cell per column"
        )
    return tuple(cell.strip() for cell in cells)


def _number(cell: str, line: int, column: str, has_decimal_comma: bool) -> float:
    if is_missing(cell):
        return float("nan")
    if is_number(cell, has_decimal_comma):
        return float(cell.replace(",", "."))
    comma = " (a decimal comma? write a point)" if is_number(cell, has_decimal_comma=True) else ""
    raise RecordingError(
        f"line {line}, column '{column}': {_shown(cell)} is not a number{comma}; "
        f"correct it, or leave the column out with label_columns=['{column}'] (--label-column {column!r})"
    )


def _time(cells: Sequence[str], line: int, reading: Reading, clock: int) -> float:
    name = reading.layout.names[clock]
    if not reading.has_dates:
        return _number(cells[clock], line, name, reading.layout.has_decimal_comma)
    day = reading.columns.day
    cell = cells[clock] if day is None else f"{cells[day]} {cells[clock]}"
    seconds = date_seconds(cell, day_first=reading.day_first)
    if seconds != seconds and not is_missing(cells[clock]):
        raise RecordingError(
            f"line {line}, column '{name}': {_shown(cell)} is not a date like 2024-05-01 12:00:00.25; correct it"
        )
    return seconds


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:40] + "…")
