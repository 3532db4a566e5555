"""RowParser: lines of a text table -> rows of numbers, for stored files and live sources alike, in blocks of any size.

polars parses a block; where anything is unusual the block is read again cell by cell, which accepts odd spellings. What
is no row either way is refused with its line and column, as a stored file can be corrected (`is_strict`), or skipped
with the reason, as a live source cannot. The rows are the same whatever the block size.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rondo.errors import RecordingError
from rondo.files.columns import Columns
from rondo.files.text.clock import Times
from rondo.files.text.layout import NO_OBJECT, Layout, quoted
from rondo.files.text.lines import TextBlock, count, decoded
from rondo.files.text.spelling import TRUTHS, DayOrder, date_seconds, day_order, is_missing, is_number, zone_notes

_MISSING_IN_POLARS = ["NA", "na", "null", "NULL"]  # it knows nan; odder spellings are left to the second reading
_Matrix = NDArray[np.float64]
_SHORT_BYTES = 1 << 15  # as a device sends them at once: polars takes longer to begin than the other reading to end


class ParsedRows(NamedTuple):
    """The rows of a block: values (n, n_channels), clock readings as written (dates in seconds), and other lines."""

    values: _Matrix
    times: Times | None
    places: NDArray[np.int64] | None = None  # of the rows among the lines of the block; None: every line is a row
    n_unreadable: NDArray[np.int64] | None = None  # cells per row that are no number, and NaN
    faults: tuple[tuple[int, str], ...] = ()  # place of a line without a row, and why
    n_headers: int = 0  # lines left out that repeat the header
    is_torn: bool = False  # whether the last line was left out
    unknown: frozenset[str] = frozenset()  # names of cells that are no column


@dataclass(frozen=True)
class RowParser:
    """Reads the chosen columns of a table of this layout."""

    layout: Layout
    columns: Columns
    has_dates: bool
    day_first: bool
    is_strict: bool
    number_of: Callable[[int], int] = int  # of a line, in the file that holds it

    def parse(self, block: TextBlock) -> ParsedRows:
        """The rows in these lines."""
        text = block.text.replace(b"\r\n", b"\n") if b"\r" in block.text else block.text
        text, unknown = self.layout.delimited(text)
        is_long = self.is_strict or len(text) > _SHORT_BYTES
        may_skip_lines = self.layout.is_json and len(self.layout.names) == 1
        is_usual = is_long and not self.layout.spelling.thousands and not may_skip_lines
        rows = self._by_polars(text) if is_usual and _is_rectangular(text, self.layout) else None
        if rows is None:
            rows = self._by_cell(text, block.first_line, block.is_open)
        return rows._replace(unknown=unknown) if unknown else rows

    def _by_polars(self, text: bytes) -> ParsedRows | None:
        """The fast reading; None where anything is unusual.

        Columns that are left out are parsed too, as text: when polars skips columns it no longer minds long rows.
        """
        columns = self.columns
        types: dict[int, pl.DataType] = dict.fromkeys(range(len(self.layout.names)), pl.String())
        types |= dict.fromkeys(columns.positions, pl.Float64())
        if columns.clock is not None and not self.has_dates:
            types[columns.clock] = pl.Float64()
        try:
            table = pl.read_csv(
                text,
                has_header=False,
                separator=self.layout.delimiter,
                schema={str(position): dtype for position, dtype in types.items()},
                # looking for them in every cell takes a fifth of the time
                null_values=_MISSING_IN_POLARS if b"N" in text or b"n" in text else None,
                decimal_comma=self.layout.spelling.has_decimal_comma,
            )
        except pl.exceptions.PolarsError:
            return None
        if table.height != count(text, "\n"):  # a row lost or added would shift all frames that follow
            return None
        values = table.select(str(position) for position in columns.positions).to_numpy()
        if columns.clock is None:
            return ParsedRows(values, None)
        clock = table[str(columns.clock)]
        if clock.dtype != pl.String:
            times = clock.to_numpy()
        else:
            days = None if columns.day is None else table[str(columns.day)].fill_null("").to_list()
            times = self._dates(clock.fill_null("").to_list(), days)
        is_odd = (self.has_dates or not self.is_strict) and not np.isfinite(times).all()
        return None if is_odd else ParsedRows(values, times)

    def _dates(self, cells: Sequence[str], days: Sequence[str] | None) -> Times:
        if days is not None:
            cells = [f"{day} {cell}" for day, cell in zip(days, cells, strict=True)]
        return np.array([date_seconds(cell, day_first=self.day_first) for cell in cells])

    def _by_cell(self, text: bytes, first_line: int, is_open: bool) -> ParsedRows:
        """The careful reading: every spelling that is a number or missing; other lines are faults.

        Where faults are refused, only lines up to the first of them are cut into cells.
        """
        names, separator = self.layout.names, self.layout.delimiter
        rows: list[tuple[str, ...]] = []
        places: list[int] = []
        faults: list[tuple[int, str]] = []
        n_headers, is_torn = 0, False
        lines = text.split(b"\n")[:-1]
        has_blank_lines = len(names) > 1 or self.layout.is_json
        for place, line in enumerate(lines):
            if has_blank_lines and not line.strip() and separator.encode() not in line:
                continue  # no row: one without a single value still has its separators
            is_cut_off = is_open and place == len(lines) - 1
            fewest = len(names) if is_cut_off else self.columns.last + 1
            cells, fault = _cells_of_line(line, separator, len(names), fewest)
            if fault:
                is_torn = is_cut_off and len(cells) < len(names)
                if self.is_strict:
                    faults += [] if is_torn else [(place, fault)]
                    break
                faults.append((place, f"torn: {fault}" if is_torn else fault))
            elif self.layout.has_header and (cells[0].removeprefix("\ufeff"), *cells[1:]) == names:
                n_headers += 1
                faults += [] if self.is_strict else [(place, "the header again")]
            else:
                rows.append(cells)
                places.append(place)
        values, unreadable = self._numbers(rows, self.columns.positions)
        times, timeless = self._times(rows)
        if self.is_strict:
            wrong = np.flatnonzero(unreadable.any(axis=1) | timeless)
            if wrong.size:
                row = int(wrong[0])
                raise self._no_value(rows[row], unreadable[row], self.number_of(first_line + places[row]))
            for place, fault in faults:
                number = self.number_of(first_line + place)
                raise RecordingError(f"line {number}: {fault}; correct the line or delete it")
        n_unreadable = unreadable.sum(axis=1)
        found = ParsedRows(values, times, np.array(places, np.int64), n_unreadable, tuple(faults), n_headers, is_torn)
        return found if self.is_strict else self._without_useless(found)

    def _numbers(self, rows: Sequence[Sequence[str]], positions: Sequence[int]) -> tuple[_Matrix, NDArray[np.bool_]]:
        """Columns as numbers, rounded as polars does, NaN where a cell is missing or none; which are none."""
        cells = [row[position] for position in positions for row in rows]
        plain = [self.layout.spelling.plain(cell) for cell in cells]
        for place in (place for place, position in enumerate(positions) if position in self.layout.truths):
            own = slice(place * len(rows), (place + 1) * len(rows))
            plain[own] = [TRUTHS.get(cell, cell) for cell in plain[own]]
        texts = pl.Series(plain, dtype=pl.String())
        numbers = texts.cast(pl.Float64(), strict=False)
        unreadable = np.zeros(len(cells), np.bool_)
        for place in numbers.is_null().arg_true().to_list():
            unreadable[place] = not is_missing(cells[place])
        shape = len(positions), len(rows)
        return np.ascontiguousarray(numbers.to_numpy().reshape(shape).T), unreadable.reshape(shape).T

    def _times(self, rows: Sequence[Sequence[str]]) -> tuple[Times | None, NDArray[np.bool_]]:
        """Clock readings, NaN where there is none; and which of those hold something else."""
        clock, day = self.columns.clock, self.columns.day
        if clock is None:
            return None, np.zeros(len(rows), np.bool_)
        if not self.has_dates:
            times, unreadable = self._numbers(rows, [clock])
            return times.ravel(), unreadable.ravel()
        dates = self._dates([row[clock] for row in rows], None if day is None else [row[day] for row in rows])
        is_given = np.array([not is_missing(row[clock]) for row in rows], np.bool_)
        return dates, np.isnan(dates) & is_given

    def _no_value(self, cells: Sequence[str], unreadable: NDArray[np.bool_], line: int) -> RecordingError:
        """The refusal of a row: of its first cell that is no number, else of its time."""
        clock, day = self.columns.clock or 0, self.columns.day
        if unreadable.any() or not self.has_dates:
            position = self.columns.positions[int(unreadable.argmax())] if unreadable.any() else clock
            cell, column = cells[position], self.layout.names[position]
            comma = " (a decimal comma? write a point)" if is_number(cell, has_decimal_comma=True) else ""
            return RecordingError(
                f"line {line}, column '{column}': {_shown(cell)} is not a number{comma}; "
                f"correct it or delete the line, or leave the column out with --label-column {column!r}"
            )
        return RecordingError(
            f"line {line}, column '{self.layout.names[clock]}': "
            f"{_shown(cells[clock] if day is None else f'{cells[day]} {cells[clock]}')} is not a date like "
            "2024-05-01 12:00:00.25; correct it"
        )

    def _without_useless(self, rows: ParsedRows) -> ParsedRows:
        """Without rows that have no time where there is a clock, and those of which no cell can be read."""
        assert rows.places is not None and rows.n_unreadable is not None
        timeless = np.zeros(len(rows.values), np.bool_) if rows.times is None else ~np.isfinite(rows.times)
        numberless = ~timeless & (rows.n_unreadable == rows.values.shape[1])
        kept = ~(timeless | numberless)
        if kept.all():
            return rows
        no_time = f"no time in column '{self.layout.names[self.columns.clock or 0]}'"
        faults = [(place, no_time) for place in rows.places[timeless].tolist()]
        faults += [(place, "no number in it") for place in rows.places[numberless].tolist()]
        return rows._replace(
            values=rows.values[kept],
            times=None if rows.times is None else rows.times[kept],
            places=rows.places[kept],
            n_unreadable=rows.n_unreadable[kept],
            faults=tuple(sorted([*rows.faults, *faults])),
        )


def parser_of(
    layout: Layout, columns: Columns, *, is_strict: bool, order: DayOrder | None = None,
    number_of: Callable[[int], int] = int,
) -> tuple[RowParser, tuple[str, ...]]:  # fmt: skip
    """The parser of these columns, and a note where the order of day and month is a guess, or a zone is named."""
    order = order_in_head(layout, columns) if order is None else order
    has_dates = columns.clock is not None and layout.holds_dates(columns.clock)
    zone = (
        zone_notes(layout.column(columns.clock)[:1], layout.names[columns.clock]) if columns.clock is not None else ()
    )
    return RowParser(layout, columns, has_dates, order.day_first, is_strict, number_of), order.notes + zone


def order_in_head(layout: Layout, columns: Columns) -> DayOrder:
    """Whether the dates of the clock name the day first, by the first rows."""
    if columns.clock is None:
        return DayOrder()
    position = columns.clock if columns.day is None else columns.day
    others = [place for place in range(len(layout.names)) if place != position and layout.holds_dates(place)]
    return day_order(layout.column(position), [layout.column(place) for place in others])


def _is_rectangular(text: bytes, layout: Layout) -> bool:
    """Whether every line may have one cell per column; polars alone would fill up short lines with nulls.

    The right number of separators in all leaves only a short line beside a long one, which polars refuses.
    Separators inside quotes would spoil that count, so with quotes the lines are looked at one by one.
    """
    n_between = len(layout.names) - 1
    if b'"' not in text:
        return count(text, layout.delimiter) == n_between * count(text, "\n")
    codes = np.frombuffer(text, dtype=np.uint8)
    inside = quoted(codes)
    line_ends = np.flatnonzero(codes == ord("\n"))
    between = np.flatnonzero((codes == ord(layout.delimiter)) & ~inside)
    per_line = np.diff(np.searchsorted(between, line_ends), prepend=0)
    return not inside[line_ends].any() and bool((per_line == n_between).all())


def _cells_of_line(line: bytes, separator: str, n_columns: int, fewest: int) -> tuple[tuple[str, ...], str]:
    """The cells, and what is wrong with them, or nothing.

    A line may end after the last column that is read, which takes the `fewest` cells: so Mind Monitor leaves away the
    cell of its events where there is none, and the last line of Actiware and Consensys lacks the separator at its end.
    """
    if line == NO_OBJECT:
        return (), "not a JSON object"
    if b"\0" in line:
        return ("",) * n_columns, "binary data"
    text = decoded(line)[0]
    try:
        cells = next(csv.reader([text], delimiter=separator, strict=True), []) or [""]
    except csv.Error as error:
        cells = text.split(separator)
        return tuple(cells), f"cannot be cut into cells: {error}; quotes must close on their line"
    if fewest <= len(cells) < n_columns:
        cells += [""] * (n_columns - len(cells))
    fault = "" if len(cells) == n_columns else f"expected {n_columns} cells, got {len(cells)}"
    return tuple(cell.strip() for cell in cells), fault


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:40] + "…")
