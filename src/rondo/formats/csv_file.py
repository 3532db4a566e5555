"""Text tables (.csv, .tsv, .txt) read in blocks, so that only the final float32 array is ever held whole.

One pass counts the lines, the array is allocated, and a second pass parses blocks of bytes cut at line ends:
polars does the parsing, and where it stumbles the block is read again cell by cell, which accepts odd
spellings or names the line and column at fault. The frames are the same whatever the block size.
"""

from __future__ import annotations

import codecs
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.formats.cell_rows import Frames, Reading, read_by_cell
from rondo.formats.clock_column import date_seconds, day_order, in_seconds, over_midnight, spread
from rondo.formats.columns import Columns, Kind, choose_columns, without_empty
from rondo.formats.recording_format import RecordingFormat
from rondo.formats.text_layout import (
    LONGEST_LINE,
    WHITESPACE,
    Layout,
    layout_of,
    quoted,
    with_tabs,
)
from rondo.wording import counted

BLOCK_BYTES = 2 << 20
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MISSING_IN_POLARS = [
    "NA",
    "na",
    "null",
    "NULL",
]  # it knows nan; odder spellings are left to the second reading


def read_csv(
    path: Path, *, rate: float | None, label_columns: Sequence[str] = (), block_bytes: int = BLOCK_BYTES
) -> Recording:
    """The recording in a text table; `block_bytes` bounds the memory used beside the result."""
    with _in_utf8(path) as file:
        layout = layout_of(file)
        kinds = layout.kinds()
        columns = choose_columns(layout.names, rate=rate, label_columns=label_columns, kinds=kinds)
        values, times, notes = _read(file, layout, columns, block_bytes)
        if times is not None and kinds.get(columns.clock or 0) == "rising" and not (np.diff(times) > 0).all():
            rest = {position: kind for position, kind in kinds.items() if position != columns.clock}
            columns = choose_columns(layout.names, rate=rate, label_columns=label_columns, kinds=rest)
            values, times, notes = _read(file, layout, columns, block_bytes)
            kinds = rest
    notes = layout.notes + columns.notes + notes
    if columns.clock is not None and times is not None:
        values, times, cut = _without_blank_end(values, times)
        times, more = _told(times, columns, layout, kinds)
        notes += cut + more
    values, channels, empty = without_empty(values, columns.channels)
    if rate is None and times is None and layout.rate is not None:
        rate, times, said = _from_opening(layout, layout.rate, len(values))
        notes += said
    return Recording(values, rate, channels, path.stem, times, notes + empty)


def _from_opening(
    layout: Layout, rate: float, n_frames: int
) -> tuple[float, NDArray[np.float64] | None, tuple[str, ...]]:
    """Rate and times where no column tells them, but the lines above the table do."""
    if layout.began_s is not None:
        return rate, layout.began_s + np.arange(n_frames) / rate, ()
    return rate, None, (f"rate of {rate:g} Hz taken from the lines above the table; give --rate if it is another",)


def _without_blank_end(
    values: NDArray[np.float32], times: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float64], tuple[str, ...]]:
    """Without rows at the end that have neither a time nor a value, as spreadsheets leave them."""
    if not (times.size and np.isnan(times[-1])):
        return values, times, ()
    filled = np.flatnonzero(~np.isnan(times) | ~np.isnan(values).all(axis=1))
    stop = int(filled[-1]) + 1 if filled.size else times.size
    n_blank = times.size - stop
    note = (f"{counted(n_blank, 'row')} without a value at its end left out",) if n_blank else ()
    return values[:stop], times[:stop], note


@contextmanager
def _in_utf8(path: Path) -> Iterator[BinaryIO]:
    """The file; one in UTF-16, as spreadsheets write "Unicode text", is rewritten in UTF-8 beside."""
    with path.open("rb") as file:
        if file.read(2) not in _UTF_16:
            file.seek(0)
            yield file
            return
    with path.open(encoding="utf-16", newline="") as text, tempfile.TemporaryFile() as rewritten:
        try:
            while part := text.read(1 << 20):
                rewritten.write(part.encode("utf-8", "replace"))
        except UnicodeError as error:
            raise RecordingError("it begins as UTF-16 text and goes on otherwise; save it as UTF-8") from error
        rewritten.seek(0)
        yield rewritten


def _read(
    file: BinaryIO, layout: Layout, columns: Columns, block_bytes: int
) -> tuple[NDArray[np.float32], NDArray[np.float64] | None, tuple[str, ...]]:
    """Values, clock readings as they are written (dates in seconds), and notes."""
    dates = [] if columns.clock is None else layout.column(columns.clock if columns.day is None else columns.day)
    day_first, notes = day_order(dates)
    has_dates = columns.clock is not None and _has_dates(layout, columns.clock)
    n_lines = _count_lines(file, layout, block_bytes)
    last_line = layout.first_line + n_lines - 1 if _ends_in_a_line(file, layout) else 0
    reading = Reading(layout, columns, has_dates, day_first, last_line)
    values = np.empty((n_lines, len(columns.positions)), dtype=np.float32)
    times = None if columns.clock is None else np.empty(n_lines)
    n_frames, n_headers, is_torn = 0, 0, False
    for text, first_line in _blocks(file, layout, block_bytes):
        frames = _frames_of(text, first_line, reading)
        rows = slice(n_frames, n_frames + len(frames.values))
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond float32 Recording refuses by name
            values[rows] = frames.values
        if times is not None:
            times[rows] = frames.times
        n_frames, n_headers, is_torn = rows.stop, n_headers + frames.n_headers, frames.is_torn
    n_blank = n_lines - n_frames - n_headers - is_torn
    notes += (f"{counted(n_blank, 'blank line')} skipped",) if n_blank else ()
    notes += (f"{counted(n_headers, 'line')} skipped: the header again",) if n_headers else ()
    notes += ("its last line is torn: left out",) if is_torn else ()
    return values[:n_frames], None if times is None else times[:n_frames], notes


def _told(
    times: NDArray[np.float64], columns: Columns, layout: Layout, kinds: Mapping[int, Kind]
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The clock in seconds, rising through midnight and through readings that repeat, and what was done to it."""
    clock = columns.clock or 0
    name = layout.names[clock] or f"column {clock + 1}"
    notes: tuple[str, ...] = ()
    if kinds.get(clock) == "time of day" and columns.day is None:
        times = over_midnight(times)
        notes = (f"clock '{name}' holds times of day without a date",)
    elif not _has_dates(layout, clock):
        times, notes = in_seconds(times, name, layout.unit(clock))
    times, more = spread(times, name)
    return times, notes + more


def _ends_in_a_line(file: BinaryIO, layout: Layout) -> bool:
    """Whether no line end closes the file, as where its writer was stopped."""
    file.seek(layout.stop)
    return file.read(1) not in (b"\r", b"\n")


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
        if len(rest) > LONGEST_LINE:
            raise RecordingError(f"line {line} does not end; expected columns of numbers in UTF-8 text")
        if block:
            n_lines = _count(block, "\n")
            yield block.replace(b"\r\n", b"\n") if b"\r" in block else block, line
            line += n_lines


def _frames_of(text: bytes, first_line: int, reading: Reading) -> Frames:
    layout = reading.layout
    if layout.separator == WHITESPACE:
        text = with_tabs(text)
    frames = _parsed_by_polars(text, reading) if _is_rectangular(text, layout) else None
    return read_by_cell(text, first_line, reading) if frames is None else frames


def _is_rectangular(text: bytes, layout: Layout) -> bool:
    """Whether every line may have one cell per column; polars alone would fill up short lines with nulls.

    The right number of separators in all leaves only a short line beside a long one, which polars refuses.
    Separators inside quotes would spoil that count, so with quotes the lines are looked at one by one.
    """
    n_between = len(layout.names) - 1
    if b'"' not in text:
        return _count(text, layout.delimiter) == n_between * _count(text, "\n")
    codes = np.frombuffer(text, dtype=np.uint8)
    inside = quoted(codes)
    line_ends = np.flatnonzero(codes == ord("\n"))
    between = np.flatnonzero((codes == ord(layout.delimiter)) & ~inside)
    per_line = np.diff(np.searchsorted(between, line_ends), prepend=0)
    return not inside[line_ends].any() and bool((per_line == n_between).all())


def _parsed_by_polars(text: bytes, reading: Reading) -> Frames | None:
    """The fast reading; None where anything is unusual.

    Columns that are left out are parsed too, as text: when polars skips columns it no longer minds long rows.
    """
    layout, columns = reading.layout, reading.columns
    types: dict[int, pl.DataType] = dict.fromkeys(range(len(layout.names)), pl.String())
    types |= dict.fromkeys(columns.positions, pl.Float32())
    if columns.clock is not None and not reading.has_dates:
        types[columns.clock] = pl.Float64()
    try:
        table = pl.read_csv(
            text,
            has_header=False,
            separator=layout.delimiter,
            schema={str(position): dtype for position, dtype in types.items()},
            # looking for them in every cell takes a fifth of the time
            null_values=_MISSING_IN_POLARS if b"N" in text or b"n" in text else None,
            decimal_comma=layout.has_decimal_comma,
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
    cells = clock.fill_null("").to_list()
    if columns.day is not None:
        days = table[str(columns.day)].fill_null("").to_list()
        cells = [f"{day} {cell}" for day, cell in zip(days, cells, strict=True)]
    times = np.array([date_seconds(cell, day_first=reading.day_first) for cell in cells])
    return None if np.isnan(times).any() else Frames(values, times)


def _has_dates(layout: Layout, clock: int) -> bool:
    cells = layout.column(clock)
    return bool(cells) and not layout.is_number(cells[0])


FORMAT = RecordingFormat(
    name="csv",
    suffixes=(".csv", ".tsv", ".txt"),
    read=read_csv,
    help="one row per frame, perhaps below a header; a `time` column is the clock",
    order=0,
)
