"""Lines -> rows, one line at a time, so that a row is the same whatever came with it.

What is done with a bad line, and counted:

- a cell that is missing (empty, NA, NaN, null, no such key) is NaN, a silent sensor;
- a cell that is no number, infinite, or beyond float32 is NaN too, and counted as unreadable;
- a line with more or fewer cells than the header, that is not UTF-8 where the header is, no JSON object, without a
  single number (a header once more, units), or without a time where the stream has a clock, is skipped; runs of them
  are one event;
- more than `MOST_SKIPPED` skipped lines in a row are refused: the sender has changed what it sends.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rondo.data.recording import Recording
from rondo.data.signal import refuse_lacking, shortened
from rondo.errors import RecordingError
from rondo.formats.clock_column import date_seconds, day_order, is_date, is_day, is_time_of_day, ticks_per_second
from rondo.formats.columns import Kind, choose_columns, has_no_name
from rondo.formats.text_layout import (
    NUMBER,
    WHITESPACE,
    cells_of,
    decoded,
    has_decimal_commas,
    is_missing,
    is_number,
    separator_of,
)
from rondo.wording import counted

MOST_SKIPPED = 1000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NAN = float("nan")


class Row(NamedTuple):
    """One line as numbers: the channels in the model's order, the clock as it was written, unreadable cells."""

    values: list[float]
    time: float | None
    n_unreadable: int = 0


class Writing(NamedTuple):
    """How cells are written."""

    encoding: str = "utf-8"
    has_decimal_comma: bool = False
    day_first: bool = False


_PLAIN = Writing()


@dataclass(frozen=True)
class Table:
    """How the lines of one stream are written: which cell, or which key, is which channel of the model."""

    names: tuple[str, ...]
    keys: tuple[int, ...]  # position in the line of each channel of the model
    clock: int | None
    separator: str | None  # None: JSON lines
    has_header: bool
    notes: tuple[str, ...] = ()
    day: int | None = None  # the position of the dates to which the clock has the times of day
    writing: Writing = _PLAIN

    def row(self, line: bytes) -> Row | str | None:
        """The row in a line, the reason why there is none, or None for a blank line."""
        if self.separator is None:
            return self._json_row(line) if line.strip() else None
        if self.writing.has_decimal_comma:
            line = line.replace(b",", b".")
        if b'"' not in line and b"_" not in line:  # Python alone would read 1_000 as a number
            cells = line.split(self.delimiter)
            if len(cells) == len(self.names):
                try:
                    time = None if self.clock is None else float(cells[self.clock])
                    if time is None or math.isfinite(time):
                        return Row([float(cells[key]) for key in self.keys], time)
                except ValueError:
                    pass  # missing, a date, or no number
        return self._careful_row(line) if line.strip() or len(self.names) == 1 else None

    @cached_property
    def delimiter(self) -> bytes | None:
        """What cuts a line into cells; None: any run of blanks."""
        return None if self.separator is None or self.separator == WHITESPACE else self.separator.encode()

    def _careful_row(self, line: bytes) -> Row | str:
        """Cell by cell: quotes, missing cells, dates, and cells that are no numbers."""
        assert self.separator is not None
        try:
            cells = cells_of(line.decode(self.writing.encoding).rstrip("\r"), self.separator)
        except UnicodeDecodeError:
            return "not UTF-8 text"
        except csv.Error as error:
            return f"cannot be cut into cells ({error})"
        if len(cells) != len(self.names):
            return f"expected {len(self.names)} cells, got {len(cells)}"
        time = None if self.clock is None else self._time(cells, self.clock)
        if time is not None and not math.isfinite(time):
            return f"no time in column '{self.names[self.clock or 0]}'"
        return _row_of([_number_in_text(cells[key]) for key in self.keys], time)

    def _time(self, cells: Sequence[str], clock: int) -> float:
        cell = cells[clock] if self.day is None else f"{cells[self.day]} {cells[clock]}"
        return float(cell) if NUMBER.fullmatch(cell) else date_seconds(cell, day_first=self.writing.day_first)

    def _json_row(self, line: bytes) -> Row | str:
        found = _json_object(line)
        if found is None:
            return "not a JSON object"
        time = None if self.clock is None else _time_in_json(found.get(self.names[self.clock]))
        if time is not None and not math.isfinite(time):
            return f"no time under '{self.names[self.clock or 0]}'"
        return _row_of([_number_in_json(found.get(self.names[key])) for key in self.keys], time)


def _row_of(values: list[float | None], time: float | None) -> Row | str:
    """Numbers, NaN for missing ones, None for unreadable ones; a line of nothing but the last is no row."""
    n_unreadable = values.count(None)
    if n_unreadable == len(values):
        return "no number in it"
    return Row([_NAN if value is None else value for value in values], time, n_unreadable)


def table_of(first: bytes, second: bytes | None, channels: Sequence[str]) -> Table:
    """How a stream is written, from its first line, a header or a JSON object, and a row if one has come.

    Channels go by name; one that the model knows and the stream lacks is refused, others are left out with a note.
    Columns without names go by position if there are as many as the model has channels.
    """
    first = first.removeprefix(_BYTE_ORDER_MARK)
    (text, is_utf8), (row, _) = (decoded(line.rstrip(b"\r")) for line in (first, second or b""))
    if text.lstrip().startswith("{"):
        found = _json_object(first)
        if found is None:
            raise RecordingError("its first line is not a whole JSON object; expected one object per line")
        return _fitted(tuple(found), channels, {}, _PLAIN, separator=None, has_header=False)
    separator = separator_of(text, row or text)
    cells = cells_of(text, separator)
    below = cells_of(row, separator) if row else ()
    commas = separator != "," and has_decimal_commas([below or cells])
    has_header = not all(is_missing(cell) or is_number(cell, commas) or is_date(cell) for cell in cells)
    names = cells if has_header else tuple(f"ch{i}" for i in range(len(cells)))
    if has_header and len(below) == len(names) + 1 and below[-1] == "":  # lines end in a separator, the header does not
        names = (*names, "")
    kinds = {place: kind for place, name in enumerate(names) if (kind := _kind(name, below, place)) is not None}
    writing = Writing("utf-8" if is_utf8 else "cp1252", commas, day_order(below)[0])
    return _fitted(names, channels, kinds, writing, separator=separator, has_header=has_header)


def _kind(name: str, row: Sequence[str], place: int) -> Kind | None:
    """What the first row tells, as for stored recordings; a column without a name is an index, if not a clock."""
    cell = row[place] if place < len(row) else ""
    if not NUMBER.fullmatch(cell) and is_date(cell):
        return "time of day" if is_time_of_day(cell) else "day" if is_day(cell) else "dates"
    if has_no_name(name):
        return "counter" if cell else "empty"
    return None


def _fitted(
    names: tuple[str, ...],
    channels: Sequence[str],
    kinds: Mapping[int, Kind],
    writing: Writing,
    *,
    separator: str | None,
    has_header: bool,
) -> Table:
    columns = choose_columns(names, rate=None, kinds=kinds)
    found = Recording(np.zeros((1, len(columns.channels))), channels=columns.channels, id="the stream")
    place = dict(zip(columns.channels, columns.positions, strict=True))
    if found.is_unnamed and set(found.channels) != set(channels) and found.n_channels == len(channels):
        note = f"channels without names taken by position as {shortened(channels)}"
        return Table(
            names, columns.positions, columns.clock, separator, has_header, (*columns.notes, note), columns.day, writing
        )
    try:
        refuse_lacking(found, channels)
    except RecordingError as error:
        raise RecordingError(str(error).replace("recording 'the stream'", "it")) from None
    extra = [name for name in columns.channels if name not in channels]
    note = f"{counted(len(extra), 'channel')} left out that the model does not know: {shortened(extra)}"
    keys = tuple(place[name] for name in channels)
    notes = columns.notes + ((note,) if extra else ())
    return Table(names, keys, columns.clock, separator, has_header, notes, columns.day, writing)


def clock_divisor(first_time: float, name: str) -> tuple[float, tuple[str, ...]]:
    """What the clock counts per second, told from its first reading as for stored recordings, and a note if not 1.

    >>> clock_divisor(1.7e12, "time")[0], clock_divisor(12.5, "time")[0]
    (1000.0, 1.0)
    """
    return ticks_per_second(first_time, name)


def _json_object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _number_in_text(cell: str) -> float | None:
    """NaN for a missing value, None for one that is no number."""
    if is_missing(cell):
        return _NAN
    return float(cell) if NUMBER.fullmatch(cell) else None


def _number_in_json(value: object) -> float | None:
    if value is None:
        return _NAN
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def _time_in_text(cell: str) -> float:
    return float(cell) if NUMBER.fullmatch(cell) else date_seconds(cell)


def _time_in_json(value: object) -> float:
    if isinstance(value, str):
        return _time_in_text(value)
    number = _number_in_json(value)
    return _NAN if number is None else number
