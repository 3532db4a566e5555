"""The rows of a text table in long form as `Reports`: every cell is looked at, since values may be words."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.columns import Columns
from rondo.files.long_form import Reports, is_quality, no_clock_to_pivot, pivoted
from rondo.files.reading import Reading
from rondo.files.text.clock import in_seconds
from rondo.files.text.layout import NO_OBJECT, Layout
from rondo.files.text.lines import TextBlock, decoded
from rondo.files.text.spelling import date_seconds, day_order, is_missing

_DAY_S = 86_400.0


class _Row(NamedTuple):
    line: int
    cells: Sequence[str]


def read_long(
    blocks: Iterable[TextBlock], layout: Layout, columns: Columns, tag: str, id: str, reading: Reading
) -> Recording:
    """The recording in a table in long form, of which the column `tag` names the sensors."""
    if columns.clock is None:
        raise no_clock_to_pivot(tag)
    rows = list(_rows(blocks, layout))
    tags = [row.cells[layout.names.index(tag)] for row in rows]
    when = _cells_of_clock(rows, columns)
    to_seconds = _seconds(layout, columns, [cell for cell, own in zip(when, tags, strict=True) if own == tags[0]])
    times = np.array([to_seconds(cell) for cell in when])
    if np.isnan(times).any():
        wrong = int(np.isnan(times).argmax())
        raise RecordingError(f"line {rows[wrong].line}: {when[wrong]!r} is no time; correct it or delete the line")
    notes = list(layout.notes + columns.notes)
    holds_dates = layout.holds_dates(columns.clock)
    is_time_of_day = holds_dates and columns.day is None and float(np.max(times, initial=0)) < _DAY_S
    if not holds_dates:
        name = layout.names[columns.clock]
        order = np.argsort(times, kind="stable")
        times[order], unit = in_seconds(times[order], name, layout.unit(columns.clock))
        notes += unit
    qualities = next((place for place, name in enumerate(layout.names) if is_quality(name)), None)
    values, words = _numbers(rows, layout, columns.positions)
    reports = Reports(
        times, tags, values, words, columns.channels,
        None if qualities is None else [row.cells[qualities] for row in rows],
        lambda row: f"line {rows[row].line}", is_time_of_day, notes,
    )  # fmt: skip
    wide = pivoted(reports, tag, reading)
    return Recording(wide.values, reading.rate, wide.channels, id, wide.times, wide.notes)


def _rows(blocks: Iterable[TextBlock], layout: Layout) -> Iterator[_Row]:
    """Rows with as many cells as there are columns; a torn last line and the header again are left out."""
    n_columns = len(layout.names)
    for block in blocks:
        lines = layout.delimited(block.text)[0].split(b"\n")[:-1]
        for place, line in enumerate(lines):
            number = block.first_line + place
            if not line.strip():
                continue
            text = decoded(line)[0]
            cells = [cell.strip() for cell in next(csv.reader([text], delimiter=layout.delimiter), [])]
            is_whole = line != NO_OBJECT and len(cells) == n_columns
            if not is_whole and block.is_open and place == len(lines) - 1:
                continue
            if not is_whole:
                raise RecordingError(
                    f"line {number}: it has {len(cells)} cells, expected {n_columns}; correct the line or delete it"
                )
            if not layout.has_header or tuple(cells) != layout.names:
                yield _Row(number, cells)


def _cells_of_clock(rows: Sequence[_Row], columns: Columns) -> list[str]:
    clock, day = columns.clock or 0, columns.day
    return [row.cells[clock] if day is None else f"{row.cells[day]} {row.cells[clock]}" for row in rows]


def _seconds(layout: Layout, columns: Columns, beginning: Sequence[str]) -> Callable[[str], float]:
    """The reading of a clock in seconds, or as it is written where it holds numbers; each spelling is read once."""
    known: dict[str, float] = {}
    holds_dates = layout.holds_dates(columns.clock or 0)
    day_first = holds_dates and day_order(list(dict.fromkeys(beginning))).day_first

    def seconds(cell: str) -> float:
        if cell not in known:
            try:
                number = layout.spelling.plain(cell)
                known[cell] = date_seconds(cell, day_first=day_first) if holds_dates else float(number)
            except ValueError:
                known[cell] = float("nan")
        return known[cell]

    return seconds


def _numbers(
    rows: Sequence[_Row], layout: Layout, positions: Sequence[int]
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], np.ndarray[tuple[int, int], np.dtype[np.bool_]]]:
    """The cells of some columns as numbers, NaN where there is none, and which of those hold a word."""
    values, words = np.empty((len(rows), len(positions))), np.zeros((len(rows), len(positions)), np.bool_)
    for column, position in enumerate(positions):
        cells = [row.cells[position] for row in rows]
        plain = pl.Series([layout.spelling.plain(cell) for cell in cells], dtype=pl.String())
        numbers = plain.cast(pl.Float64(), strict=False)
        values[:, column] = numbers.to_numpy()
        for row in numbers.is_null().arg_true().to_list():
            words[row, column] = not is_missing(cells[row])
    return values, words
