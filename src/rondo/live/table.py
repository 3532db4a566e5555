"""Lines -> rows, one line at a time, so that a row is the same whatever came with it.

What is done with a bad line, and counted:

- a cell that is missing (empty, NA, NaN, null, no such key) is NaN, a silent sensor;
- a cell that is no number, infinite, or beyond float32 is NaN too, and counted as unreadable;
- a line with more or fewer cells than the header, that is not UTF-8, no JSON object, without a single number (a
  header once more), or without a time where the stream has a clock, is skipped; runs of them are one event;
- more than `MOST_SKIPPED` skipped lines in a row are refused: the sender has changed what it sends.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rondo.data.columns import choose_columns, in_seconds, iso_seconds
from rondo.data.csv_file import NUMBER, WHITESPACE, cells_of, is_missing, separator_of
from rondo.data.recording import Recording
from rondo.data.signal import refuse_lacking, shortened
from rondo.errors import RecordingError

MOST_SKIPPED = 1000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NAN = float("nan")


class Row(NamedTuple):
    """One line as numbers: the channels in the model's order, the clock as it was written, unreadable cells."""

    values: list[float]
    time: float | None
    n_unreadable: int = 0


@dataclass(frozen=True)
class Table:
    """How the lines of one stream are written: which cell, or which key, is which channel of the model."""

    names: tuple[str, ...]
    keys: tuple[int, ...]  # position in the line of each channel of the model
    clock: int | None
    separator: str | None  # None: JSON lines
    has_header: bool
    notes: tuple[str, ...] = ()

    def row(self, line: bytes) -> Row | str | None:
        """The row in a line, the reason why there is none, or None for a blank line."""
        if self.separator is None:
            return self._json_row(line) if line.strip() else None
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
            cells = cells_of(line.decode("utf-8").rstrip("\r"), self.separator)
        except UnicodeDecodeError:
            return "not UTF-8 text"
        except csv.Error as error:
            return f"cannot be cut into cells ({error})"
        if len(cells) != len(self.names):
            return f"expected {len(self.names)} cells, got {len(cells)}"
        time = None if self.clock is None else _time_in_text(cells[self.clock])
        if time is not None and not math.isfinite(time):
            return f"no time in column '{self.names[self.clock or 0]}'"
        return _row_of([_number_in_text(cells[key]) for key in self.keys], time)

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
    try:
        text, row = first.decode("utf-8").rstrip("\r"), (second or b"").decode("utf-8", "replace").rstrip("\r")
    except UnicodeDecodeError:
        raise RecordingError("its first line is not UTF-8 text; expected a header, or a JSON object") from None
    if text.lstrip().startswith("{"):
        found = _json_object(first)
        if found is None:
            raise RecordingError("its first line is not a whole JSON object; expected one object per line")
        return _fitted(tuple(found), channels, separator=None, has_header=False)
    separator = separator_of(text, row or text)
    cells = cells_of(text, separator)
    has_header = not all(is_missing(cell) or NUMBER.fullmatch(cell) for cell in cells)
    names = cells if has_header else tuple(f"ch{i}" for i in range(len(cells)))
    return _fitted(names, channels, separator=separator, has_header=has_header)


def _fitted(names: tuple[str, ...], channels: Sequence[str], *, separator: str | None, has_header: bool) -> Table:
    columns = choose_columns(names, rate=None)
    found = Recording(np.zeros((1, len(columns.channels))), channels=columns.channels, id="the stream")
    place = dict(zip(columns.channels, columns.positions, strict=True))
    if found.is_unnamed and set(found.channels) != set(channels) and found.n_channels == len(channels):
        note = f"channels without names taken by position as {shortened(channels)}"
        return Table(names, columns.positions, columns.clock, separator, has_header, (*columns.notes, note))
    try:
        refuse_lacking(found, channels)
    except RecordingError as error:
        raise RecordingError(str(error).replace("recording 'the stream'", "it")) from None
    extra = [name for name in columns.channels if name not in channels]
    note = f"{len(extra)} channel(s) left out that the model does not know: {shortened(extra)}"
    keys = tuple(place[name] for name in channels)
    return Table(names, keys, columns.clock, separator, has_header, columns.notes + ((note,) if extra else ()))


def clock_divisor(first_time: float, name: str) -> tuple[float, tuple[str, ...]]:
    """What the clock counts per second, told from its first reading as for stored recordings, and a note if not 1.

    >>> clock_divisor(1.7e12, "time")[0], clock_divisor(12.5, "time")[0]
    (1000.0, 1.0)
    """
    seconds, notes = in_seconds(np.array([first_time]), name)
    return (round(first_time / float(seconds[0])) * 1.0 if notes else 1.0), notes


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
    return float(cell) if NUMBER.fullmatch(cell) else iso_seconds(cell)


def _time_in_json(value: object) -> float:
    if isinstance(value, str):
        return _time_in_text(value)
    number = _number_in_json(value)
    return _NAN if number is None else number
