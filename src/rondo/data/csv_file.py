"""Text tables (.csv, .tsv, .txt) read in blocks, so that only the final float32 array is ever held whole.

One pass counts the lines, the array is allocated, and a second pass parses blocks of bytes cut at line ends:
polars does the parsing, and where it stumbles the block is read again cell by cell, which accepts odd
spellings or names the line and column at fault. The frames are the same whatever the block size.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rondo.data.columns import Columns, choose_columns, in_seconds, iso_seconds
from rondo.data.recording import Recording
from rondo.errors import RecordingError

BLOCK_BYTES = 2 << 20
_LONGEST_LINE = 16 << 20  # a "line" beyond this is no row of a table, and must not be gathered in memory
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
WHITESPACE = " "  # a separator that stands for any run of blanks; such runs are turned into one tab before parsing
_SEPARATORS = ("\t", ";", ",", WHITESPACE)  # ";" before ",": with decimal commas both occur
_MISSING = frozenset({"", "na", "nan", "null"})
_MISSING_IN_POLARS = [
    "NA",
    "na",
    "null",
    "NULL",
]  # it knows nan; odder spellings are left to the second reading
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf(inity)?|nan)", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class Layout:
    """How a text table is written, and where its rows lie: bytes [start, stop), from line `first_line` on."""

    separator: str
    names: tuple[str, ...]
    first_row: tuple[str, ...]
    start: int
    stop: int
    first_line: int
    notes: tuple[str, ...] = ()

    @property
    def delimiter(self) -> str:
        return "\t" if self.separator == WHITESPACE else self.separator


class Line(NamedTuple):
    text: str
    start: int
    stop: int
    number: int


class Frames(NamedTuple):
    """Some frames of the table: values (n, n_channels), and their clock readings (n,) if there is a clock."""

    values: NDArray[Any]
    times: NDArray[np.float64] | None


def read_csv(
    path: Path, *, rate: float | None, label_columns: Sequence[str] = (), block_bytes: int = BLOCK_BYTES
) -> Recording:
    """The recording in a text table; `block_bytes` bounds the memory used beside the result."""
    with path.open("rb") as file:
        layout = _layout_of(file)
        columns = choose_columns(layout.names, rate=rate, label_columns=label_columns)
        n_lines = _count_lines(file, layout, block_bytes)
        values = np.empty((n_lines, len(columns.positions)), dtype=np.float32)
        times = None if columns.clock is None else np.empty(n_lines)
        n_frames = 0
        for text, first_line in _blocks(file, layout, block_bytes):
            frames = _frames_of(text, first_line, layout, columns)
            rows = slice(n_frames, n_frames + len(frames.values))
            with np.errstate(over="ignore"):  # beyond float32 becomes infinite, and Recording refuses that by name
                values[rows] = frames.values
            if times is not None:
                times[rows] = frames.times
            n_frames = rows.stop
    notes = layout.notes + columns.notes
    if n_frames < n_lines:
        notes += (f"{n_lines - n_frames} blank lines skipped",)
    if columns.clock is not None and times is not None:
        times, unit = in_seconds(times[:n_frames], layout.names[columns.clock])
        notes += unit
    return Recording(values[:n_frames], rate, columns.channels, path.stem, times, notes)


def _layout_of(file: BinaryIO) -> Layout:
    stop = _end_of_text(file)
    file.seek(len(_BYTE_ORDER_MARK) if file.read(3) == _BYTE_ORDER_MARK else 0)
    first = _next_line(file, 1)
    if first is None:
        raise RecordingError("it has no rows; expected a header line and one row per frame")
    second = _next_line(file, first.number + 1)
    separator = separator_of(first.text, second.text if second else first.text)
    cells = cells_of(first.text, separator)
    if all(is_missing(cell) or NUMBER.fullmatch(cell) for cell in cells) and not all(map(is_missing, cells)):
        names = tuple(f"ch{i}" for i in range(len(cells)))
        note = f"no header line: the channels are named {names[0]}" + (f" to {names[-1]}" if names[1:] else "")
        return Layout(separator, names, cells, first.start, stop, first.number, (note,))
    if second is None:
        raise RecordingError(f"it has a header ({len(cells)} columns) but no rows; expected one row per frame")
    return Layout(separator, cells, cells_of(second.text, separator), first.stop, stop, first.number + 1)


def _end_of_text(file: BinaryIO, block_bytes: int = 1 << 16) -> int:
    """The length of the file without the line ends that close it."""
    stop = file.seek(0, 2)
    while stop > 0:
        start = max(0, stop - block_bytes)
        file.seek(start)
        tail = file.read(stop - start).rstrip(b"\r\n")
        stop = start + len(tail)
        if tail:
            break
    file.seek(0)
    return stop


def _next_line(file: BinaryIO, number: int) -> Line | None:
    """The next line that is not blank."""
    while True:
        start = file.tell()
        line = file.readline(_LONGEST_LINE)
        if not line:
            return None
        if b"\0" in line or len(line) == _LONGEST_LINE:
            raise RecordingError("it is not a text table (binary data?); expected columns of numbers in UTF-8 text")
        if b"\r" in line.rstrip(b"\r\n"):
            raise RecordingError(f"line {number} holds a bare carriage return; save the file with usual line ends")
        if line.strip():
            return Line(_decoded(line, number).rstrip("\r\n"), start, file.tell(), number)
        number += 1


def _decoded(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RecordingError(
            f"line {number} is not UTF-8 text (byte 0x{line[error.start]:02x}); save the file as UTF-8"
        ) from error


def separator_of(header: str, row: str) -> str:
    """The one that cuts header and row into equally many cells, more than one; else one that cuts the row."""
    counts = [(s, len(cells_of(header, s)), len(cells_of(row, s))) for s in _SEPARATORS]
    fitting = [s for s, in_header, in_row in counts if in_header == in_row > 1]
    cutting = [s for s, _, in_row in counts if in_row > 1]
    return (fitting + cutting + [","])[0]


def cells_of(line: str, separator: str) -> tuple[str, ...]:
    """The cells of one line, without the blanks around them; one empty cell where there is none."""
    if separator == WHITESPACE:
        line, separator = _with_tabs(line.encode() + b"\n").decode()[:-1], "\t"
    cells = next(csv.reader([line], delimiter=separator), [])
    return tuple(cell.strip() for cell in cells) or ("",)


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value: empty, NA, NaN or null in any case."""
    return cell.casefold() in _MISSING


def _count_lines(file: BinaryIO, layout: Layout, block_bytes: int) -> int:
    """Rows end at line feeds, and the last one at the end of the text."""
    file.seek(layout.start)
    left, n_lines = layout.stop - layout.start, 1
    while left > 0:
        block = file.read(min(left, block_bytes))
        if not block:
            raise RecordingError("it became shorter while it was read; wait until it is written")
        n_lines += _count(block, "\n")
        left -= len(block)
    return n_lines


def _count(text: bytes, character: str) -> int:
    """As `bytes.count`, four times faster where there are many."""
    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == ord(character)))


def _blocks(file: BinaryIO, layout: Layout, block_bytes: int) -> Iterator[tuple[bytes, int]]:
    """Whole lines, each ending in one line feed, with the number of the first; about `block_bytes` each."""
    file.seek(layout.start)
    left, line, rest = layout.stop - layout.start, layout.first_line, b""
    while left > 0:
        block = file.read(min(left, block_bytes))
        left -= len(block) if block else left
        block = rest + block + (b"" if left else b"\n")
        cut = block.rfind(b"\n") + 1
        block, rest = block[:cut], block[cut:]
        if len(rest) > _LONGEST_LINE:
            raise RecordingError(f"line {line} does not end; expected columns of numbers in UTF-8 text")
        if block:
            n_lines = _count(block, "\n")
            yield block.replace(b"\r\n", b"\n") if b"\r" in block else block, line
            line += n_lines


def _frames_of(text: bytes, first_line: int, layout: Layout, columns: Columns) -> Frames:
    if layout.separator == WHITESPACE:
        text = _with_tabs(text)
    frames = _parsed_by_polars(text, layout, columns) if _is_rectangular(text, layout) else None
    return _parsed_by_cell(text, first_line, layout, columns) if frames is None else frames


def _with_tabs(text: bytes) -> bytes:
    """Runs of blanks outside quotes become one tab, and vanish at both ends of a line."""
    codes = np.frombuffer(text, dtype=np.uint8)
    blank = ((codes == ord(" ")) | (codes == ord("\t"))) & ~_quoted(codes)
    last_of_run = blank & ~np.append(blank[1:], False)
    tabbed: bytes = np.where(blank, np.uint8(ord("\t")), codes)[~blank | last_of_run].tobytes()
    return tabbed.removeprefix(b"\t").replace(b"\n\t", b"\n").replace(b"\t\n", b"\n")


def _quoted(codes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which bytes lie inside double quotes: those after an odd number of them (uint8 wraps, parity stays)."""
    return (np.cumsum(codes == ord('"'), dtype=np.uint8) & 1).astype(np.bool_)


def _is_rectangular(text: bytes, layout: Layout) -> bool:
    """Whether every line may have one cell per column; polars alone would fill up short lines with nulls.

    The right number of separators in all leaves only a short line beside a long one, which polars refuses.
    Separators inside quotes would spoil that count, so with quotes the lines are looked at one by one.
    """
    n_between = len(layout.names) - 1
    if b'"' not in text:
        return _count(text, layout.delimiter) == n_between * _count(text, "\n")
    codes = np.frombuffer(text, dtype=np.uint8)
    quoted = _quoted(codes)
    line_ends = np.flatnonzero(codes == ord("\n"))
    between = np.flatnonzero((codes == ord(layout.delimiter)) & ~quoted)
    per_line = np.diff(np.searchsorted(between, line_ends), prepend=0)
    return not quoted[line_ends].any() and bool((per_line == n_between).all())


def _parsed_by_polars(text: bytes, layout: Layout, columns: Columns) -> Frames | None:
    """The fast reading; None where anything is unusual.

    Columns that are left out are parsed too, as text: when polars skips columns it no longer minds long rows.
    """
    types: dict[int, pl.DataType] = dict.fromkeys(range(len(layout.names)), pl.String())
    types |= dict.fromkeys(columns.positions, pl.Float32())
    if columns.clock is not None and not _has_dates(layout, columns.clock):
        types[columns.clock] = pl.Float64()
    try:
        table = pl.read_csv(
            text,
            has_header=False,
            separator=layout.delimiter,
            schema={str(position): dtype for position, dtype in types.items()},
            # looking for them in every cell takes a fifth of the time
            null_values=_MISSING_IN_POLARS if b"N" in text or b"n" in text else None,
        )
    except pl.exceptions.PolarsError:
        return None
    if table.height != _count(text, "\n"):  # a row lost or added would shift all frames that follow
        return None
    values = table.select(str(position) for position in columns.positions).to_numpy()
    if columns.clock is None:
        return Frames(values, None)
    clock = table[str(columns.clock)]
    if clock.dtype != pl.String:
        return Frames(values, clock.to_numpy())
    times = np.array([iso_seconds(cell or "") for cell in clock.to_list()])
    return None if np.isnan(times).any() else Frames(values, times)


def _has_dates(layout: Layout, clock: int) -> bool:
    cell = layout.first_row[clock] if clock < len(layout.first_row) else ""
    return not (is_missing(cell) or NUMBER.fullmatch(cell))


def _parsed_by_cell(text: bytes, first_line: int, layout: Layout, columns: Columns) -> Frames:
    """The careful reading: every spelling that is a number or missing, or the line and column at fault."""
    rows: list[list[float]] = []
    times: list[float] = []
    for number, line in enumerate(text.split(b"\n")[:-1], start=first_line):
        if len(layout.names) > 1 and not line.strip():
            continue  # no frame: a row without a single value still has its separators
        cells = _cells_of_row(line, number, layout)
        rows.append(
            [_number(cells[p], number, name) for p, name in zip(columns.positions, columns.channels, strict=True)]
        )
        if columns.clock is not None:
            read = _date if _has_dates(layout, columns.clock) else _number
            times.append(read(cells[columns.clock], number, layout.names[columns.clock]))
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(columns.positions))
    return Frames(values, None if columns.clock is None else np.array(times))


def _cells_of_row(line: bytes, number: int, layout: Layout) -> tuple[str, ...]:
    if b"\0" in line:
        raise RecordingError(f"line {number} holds binary data; expected columns of numbers in UTF-8 text")
    try:
        cells = next(csv.reader([_decoded(line, number)], delimiter=layout.delimiter, strict=True), [])
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


def _number(cell: str, line: int, column: str) -> float:
    if is_missing(cell):
        return float("nan")
    if not NUMBER.fullmatch(cell):
        comma = " (a decimal comma? write a point)" if NUMBER.fullmatch(cell.replace(",", ".", 1)) else ""
        raise RecordingError(
            f"line {line}, column '{column}': {_shown(cell)} is not a number{comma}; "
            f"correct it, or leave the column out with label_columns=['{column}'] (--label-column {column})"
        )
    return float(cell)


def _date(cell: str, line: int, column: str) -> float:
    seconds = iso_seconds(cell)
    if seconds != seconds and not is_missing(cell):
        raise RecordingError(
            f"line {line}, column '{column}': {_shown(cell)} is not an ISO date like 2024-05-01T12:00:00.25; correct it"
        )
    return seconds


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:40] + "…")
