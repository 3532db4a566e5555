"""A stored file of lines read in blocks, so that only the final array is ever held whole.

One pass counts the lines, the array is allocated, and a second pass parses blocks of bytes cut at line ends. The frames
are the same whatever the block size.
"""

from __future__ import annotations

import codecs
import csv
import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from rondo.data.precision import NumberTable
from rondo.data.recording import Recording, checked_times
from rondo.errors import RecordingError
from rondo.files.clock_repair import RowName, frame_name, rising
from rondo.files.columns import Column, Columns, choose_columns, without_empty
from rondo.files.on_change import held_on_change
from rondo.files.reading import Reading, listed
from rondo.files.text.cells import order_in_head, parser_of
from rondo.files.text.clock import Times, in_seconds, over_midnight, rounded_to, spread
from rondo.files.text.layout import SEPARATORS, Layout, cells_of, hold_rows, is_json_text, n_cells_of
from rondo.files.text.lines import HEAD_LINES, HeadLine, Lines, count, decoded, opened_text
from rondo.files.text.long_rows import read_long
from rondo.files.text.order import after_going_back, long_form, oldest_first, refuse_taking_turns, without_events
from rondo.files.text.programs import ACTIWARE_COUNTS, ACTIWARE_SCORES
from rondo.files.text.spelling import PLAIN, day_order, is_date, is_number, may_have_thousands
from rondo.wording import counted

BLOCK_BYTES = 2 << 20
MOST_LINES_ABOVE = 2000
"""Among which the beginning of a table is looked for in a stored file, where the first 64 do not hold it."""
_BYTES_ABOVE = 1 << 20
_ROWS_TO_TELL = 40  # what is left of the first 64 lines tells columns that count rows; fewer may not
_FILLING = ",;\t "
_FEWEST_FILLED = 8  # cells of a line
_DAY_CHARACTERS = 10  # of a date at most; where it is shorter the hour is compared too, which does no harm

LayoutFinder = Callable[[Sequence[HeadLine]], Layout]


def read_open_text(
    file: BinaryIO, layout_of: LayoutFinder, id: str, reading: Reading, block_bytes: int = BLOCK_BYTES,
    numbers: Sequence[int] = (),
) -> Recording:  # fmt: skip
    """The recording in lines of UTF-8; `block_bytes` bounds the memory used beside the result.

    `numbers`: those of the rows in the file that they are a part of.
    """
    layout = read_layout(file, layout_of, block_bytes)
    described = layout.columns()
    scores = [name for name in layout.names if name in layout.scores and not reading.names(name)]
    without_scores = replace(reading, leave_out=(*reading.leave_out, *scores))
    columns = choose_columns(described, without_scores)
    by_clock = replace(without_scores, rate=None)
    timed = columns if reading.rate is None else choose_columns(described, by_clock)
    if (pivot := long_form(layout, timed, reading)) is not None:
        tag, aside = pivot
        columns = choose_columns(described, replace(by_clock, leave_out=(*by_clock.leave_out, *aside)))
        return read_long(_lines_of(file, layout, block_bytes)[0].blocks(), layout, columns, tag, id, reading)
    refuse_taking_turns(layout, columns, reading)
    values, times, notes, lines = _read(file, layout, columns, block_bytes, numbers)
    is_guess = columns.is_finer or (columns.clock is not None and described[columns.clock].kind == "rising")
    if times is not None and is_guess and not (np.diff(times) > 0).all():  # it rose in the first rows alone
        if not columns.is_finer and columns.clock is not None:
            described[columns.clock] = replace(described[columns.clock], kind=None)
        described = [replace(column, rises=True) for column in described]
        columns = choose_columns(described, without_scores)
        values, times, notes, lines = _read(file, layout, columns, block_bytes, numbers)
    scored = tuple(f"column '{name}' left out: it was scored; --keep-column {name!r} keeps it" for name in scores)
    name_of: RowName = lines.name_of
    notes = layout.notes + scored + columns.notes + notes + _doubtful_thousands(layout, columns)
    if columns.clock is not None and times is not None:
        if times.size and np.isnan(times[-1]):  # spreadsheets leave rows at the end with neither a time nor a value
            filled = np.flatnonzero(~np.isnan(times) | ~np.isnan(values).all(axis=1))
            stop = int(filled[-1]) + 1 if filled.size else times.size
            n_blank = times.size - stop
            notes += (f"{counted(n_blank, 'row')} without a value at its end left out",) if n_blank else ()
            values, times = values[:stop], times[:stop]
        read = _clock_in_seconds(values, times, columns, layout, described[columns.clock], lines.name_of)
        values, times, more, name_of = read
        notes += more
    values, channels, empty = without_empty(values, columns.channels)
    if not layout.has_header and columns.clock is None and channels[1:] and not reading.names(channels[0]):
        counter = next((place for place, column in enumerate(described) if column.kind == "counter"), None)
        if counter is not None:
            counted_rows = _read(file, layout, Columns(("",), (counter,)), block_bytes)[0][:, 0]
            changes = np.flatnonzero(np.diff(values[:, 0]))
            if changes.size and np.array_equal(changes, np.flatnonzero(np.diff(counted_rows) < 0)):
                why = f"it changes where the counter '{layout.names[counter]}' starts again, as the number of a"
                back = f"recording does; --split-by {channels[0]!r} makes each one a recording"
                empty += (f"column '{channels[0]}' left out: {why} {back}",)
                values, channels = np.ascontiguousarray(values[:, 1:]), channels[1:]
    rate = reading.rate
    if rate is None and times is None and layout.rate is not None:
        rate = layout.rate
        if layout.began_s is not None:
            times = layout.began_s + np.arange(len(values)) / rate
        else:
            notes += (f"rate of {rate:g} Hz taken from the lines above the table; give --rate if it is another",)
    try:
        if times is not None:
            checked_times(times, len(times), name_of)
        return held_on_change(Recording(values, rate, channels, id, times, notes + empty))
    except RecordingError as error:
        cells_of = partial(_cells_of_column, file, layout, block_bytes)
        advice = "" if times is None or numbers else after_going_back(times, layout, columns, reading, cells_of)
        raise RecordingError(f"{error}{advice}") from error


def _doubtful_thousands(layout: Layout, columns: Columns) -> tuple[str, ...]:
    """A note on each channel that may have points between thousands, and was read with decimal points."""
    notes = []
    for name, position in zip(columns.channels, columns.positions, strict=True):
        cells = layout.column(position)
        if layout.spelling == PLAIN and not layout.is_json and may_have_thousands(cells):
            first = next(cell for cell in cells if "." in cell)
            why = f"'{first}' is {float(first):g}, although other cells are whole numbers"
            notes.append(f"column '{name}' read with decimal points: {why}; take out points between thousands")
    return tuple(notes)


def read_cells(path: Path, layout_of: LayoutFinder) -> tuple[Layout, bytes]:
    """How a file of lines is written, and its rows as cells between the delimiter: what a recording is read from."""
    with opened_utf8(path) as file:
        layout = read_layout(file, layout_of, BLOCK_BYTES)
        file.seek(layout.start)
        return layout, layout.delimited(file.read())[0]


@contextmanager
def opened_utf8(path: Path) -> Iterator[BinaryIO]:
    """What is in the file; text in UTF-16, as spreadsheets write "Unicode text", is rewritten in UTF-8 beside."""
    with opened_text(path) as file:
        if file.read(2) not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            yield file
            return
        file.seek(0)
        with io.TextIOWrapper(file, encoding="utf-16", newline="") as text, tempfile.TemporaryFile() as rewritten:
            try:
                while part := text.read(1 << 20):
                    rewritten.write(part.encode("utf-8", "replace"))
            except UnicodeError as error:
                raise RecordingError(
                    "it starts as UTF-16 text but does not continue as such; save it as UTF-8"
                ) from error
            yield rewritten


def read_layout(file: BinaryIO, layout_of: LayoutFinder, block_bytes: int) -> Layout:
    """How the lines of an open file are written."""
    file.seek(0)
    head = Lines(file.read, block_bytes=block_bytes).head(at_end=True)
    if not head:
        raise RecordingError("it has no rows; expected a header line and one row per frame")
    if len(head) == HEAD_LINES and (below := _below_a_heading(file)):
        layout = layout_of(below)
        said = f"lines 1 to {below[0].number - 1} skipped: the table begins below them"
        layout = replace(layout, notes=(said, *layout.notes))
    else:
        layout = layout_of(head)
    if "actiware" in head[0].text.casefold():
        layout = replace(layout, counts=ACTIWARE_COUNTS, scores=ACTIWARE_SCORES)
    if not layout.rows:
        raise RecordingError(f"it has a header ({len(layout.names)} columns) but no rows; expected one row per frame")
    return layout


def begins_below_a_heading(path: Path) -> bool:
    """Whether the table of a text begins below pages of statistics: it was exported whole, and does not grow."""
    try:
        with opened_utf8(path) as file:
            return bool(_below_a_heading(file))
    except (OSError, RecordingError):  # whoever reads it says what is wrong
        return False


def _below_a_heading(file: BinaryIO) -> list[HeadLine]:
    """The first lines of a table that begins further down: below pages of statistics, as actigraphs write them.

    From there on all lines are alike, but for a separator that may end the header alone. Either it has a heading or the
    legend of its columns right above its header, lines of fewer cells and no numbers; or every line above it has fewer
    cells, as where GENEActiv writes a hundred lines of settings. Rows of a table above are no heading: the line that
    interrupts them is refused by whoever reads the rows.
    """
    file.seek(0)
    beginning = file.read(_BYTES_ABOVE)
    whole = beginning[: beginning.rfind(b"\n") + 1]  # at once: with small blocks, each would look at all lines again
    lines = Lines(io.BytesIO(whole).read, block_bytes=_BYTES_ABOVE).head(MOST_LINES_ABOVE, at_end=True) or []
    if len(lines) <= HEAD_LINES or is_json_text(lines):
        return []
    lines = [line for line in lines if line.text.strip(_FILLING)]
    widths_of: dict[str, list[int]] = {}
    for separator in SEPARATORS:
        with suppress(csv.Error):
            widths_of[separator] = _widths([line.text for line in lines], separator)
            if widths_of[separator][-2] == widths_of[separator][-1] + 1 and lines[-2].text.rstrip().endswith(separator):
                widths_of[separator][-1] += 1  # the last line alone lacks the separator at its end
    begins = {  # from where on all lines have as many cells as the last one
        separator: next((place for place in range(len(widths), 0, -1) if widths[place - 1] != widths[-1]), 0)
        for separator, widths in widths_of.items()
        if widths[-1] > 1
    }
    for separator, start in begins.items():
        widths = widths_of[separator]
        if len(widths) - start <= 2 or start <= HEAD_LINES - _ROWS_TO_TELL or separator not in ("\t", ";", ","):
            continue
        if widths[start - 1] == widths[-1] + 1 and lines[start - 1].text.rstrip().endswith(separator):
            start -= 1
        above, header = (cells_of(lines[place].text, separator) for place in (start - 1, start))
        is_headed = widths[start - 1] < widths[-1] and not any(map(is_number, (*above, *header)))
        is_wider = widths[-1] > max(widths[:start]) and start == min(begins.values())  # else decimal commas are cells
        if (is_headed or is_wider) and not hold_rows(lines[:start], separator, lines[-1]):
            return lines[start : start + HEAD_LINES]
    return []


@dataclass
class _RowLines:
    """The line of each row: of each block its first row, its first line, and the places of its rows in it."""

    blocks: list[tuple[int, int, NDArray[np.int64] | None]] = field(default_factory=list)
    number_of: Callable[[int], int] = int

    def name_of(self, row: int) -> str:
        first, line, places = next(block for block in reversed(self.blocks) if block[0] <= row)
        return f"line {self.number_of(line + (row - first if places is None else int(places[row - first])))}"


def _widths(lines: Sequence[str], separator: str) -> list[int]:
    """How many cells each line has, without those with which a spreadsheet fills all lines up to one width."""
    widths = [n_cells_of(line, separator) for line in lines]
    if len(set(widths)) > 1 or widths[-1] < _FEWEST_FILLED or cells_of(lines[-1], separator)[-1]:
        return widths
    table = (cells_of(line, separator) for line in lines)
    return [max((place + 1 for place, cell in enumerate(cells) if cell), default=0) for cells in table]


def _read(
    file: BinaryIO, layout: Layout, columns: Columns, block_bytes: int, numbers: Sequence[int] = ()
) -> tuple[NDArray[np.float32], Times | None, tuple[str, ...], _RowLines]:
    """Values, clock readings as they are written (dates in seconds), notes, and the lines of the rows."""
    order = order_in_head(layout, columns)
    if order.is_guess and columns.clock is not None:
        order = day_order(_cells_around_midnight(file, layout, columns, block_bytes))
    number_of = (lambda line: numbers[min(max(0, line - layout.first_line), len(numbers) - 1)]) if numbers else int
    parser, notes = parser_of(layout, columns, is_strict=True, order=order, number_of=number_of)
    lines, most_rows = _lines_of(file, layout, block_bytes)
    table = NumberTable(most_rows, len(columns.positions))
    times = None if columns.clock is None else np.empty(most_rows)
    n_frames, n_headers, is_torn, is_open = 0, 0, False, False
    unknown: set[str] = set()
    row_lines = _RowLines(number_of=number_of)
    for block in lines.blocks():
        frames = parser.parse(block)
        row_lines.blocks.append((n_frames, block.first_line, frames.places))
        rows = slice(n_frames, n_frames + len(frames.values))
        table.write(rows, None, frames.values)
        if times is not None:
            times[rows] = frames.times
        n_frames, n_headers, is_torn = rows.stop, n_headers + frames.n_headers, frames.is_torn
        unknown |= frames.unknown
        is_open = block.is_open
    n_blank = lines.number - layout.first_line + 1 + is_open - n_frames - n_headers - is_torn
    notes += (f"{counted(n_blank, 'blank line')} skipped",) if n_blank else ()
    notes += (f"{counted(n_headers, 'line')} skipped: the header again",) if n_headers else ()
    notes += ("its last line is torn: left out",) if is_torn else ()
    notes += (f"{lines.n_zeros} bytes of zeros at its end left out",) if lines.n_zeros else ()
    notes += (
        (f"keys that the first {HEAD_LINES} lines do not have left out: {listed(sorted(unknown))}",) if unknown else ()
    )
    return table.values[:n_frames], None if times is None else times[:n_frames], notes, row_lines


def _cells_of_column(file: BinaryIO, layout: Layout, block_bytes: int, position: int) -> list[str]:
    """All cells of a column."""
    cells = []
    for block in _lines_of(file, layout, block_bytes)[0].blocks():
        text = decoded(layout.delimited(block.text)[0])[0]
        rows = csv.reader(text.splitlines(), delimiter=layout.delimiter)
        cells += [row[position].strip() for row in rows if position < len(row)]
    return cells


def _cells_around_midnight(file: BinaryIO, layout: Layout, columns: Columns, block_bytes: int) -> list[str]:
    """The first dates of the clock, and then the two at each place where the day changes: they tell the order."""
    position = columns.day if columns.day is not None else columns.clock
    assert position is not None
    cells, last = layout.column(position), ""
    for block in _lines_of(file, layout, block_bytes)[0].blocks():
        text = decoded(layout.delimited(block.text)[0])[0]
        for row in csv.reader(text.splitlines(), delimiter=layout.delimiter):
            cell = row[position].strip() if position < len(row) else ""
            if cell[:_DAY_CHARACTERS] != last[:_DAY_CHARACTERS] and is_date(cell) and is_date(last):
                cells += [last, cell]
            last = cell
    return cells


def _lines_of(file: BinaryIO, layout: Layout, block_bytes: int) -> tuple[Lines, int]:
    """The lines from the first row on, and how many rows they can hold.

    What is added while the file is read has no place in the array, and is not read.
    """
    file.seek(layout.start)
    n_bytes, n_lines = 0, 1
    while block := file.read(block_bytes):
        n_bytes += len(block)
        n_lines += count(block, "\n")
    file.seek(layout.start)

    def read(at_most: int) -> bytes:
        nonlocal n_bytes
        block = file.read(min(at_most, n_bytes))
        if n_bytes and not block:
            raise RecordingError("it became shorter while it was read; wait until it is written")
        n_bytes -= len(block)
        return block

    return Lines(read, layout.start, layout.first_line - 1, block_bytes), n_lines


def _clock_in_seconds(
    values: NDArray[np.float32], times: Times, columns: Columns, layout: Layout, described: Column, name_of: RowName
) -> tuple[NDArray[np.float32], Times, tuple[str, ...], RowName]:
    """The clock in seconds, rising through midnight and through readings that repeat, and what was done to it."""
    clock = columns.clock or 0
    name = layout.names[clock] or f"column {clock + 1}"
    notes: tuple[str, ...] = ()
    if described.kind == "time of day" and columns.day is None:
        times = over_midnight(times)
        notes = (f"clock '{name}' holds times of day without a date",)
    elif not layout.holds_dates(clock):
        times, notes = in_seconds(times, name, layout.unit(clock))
    coarse = rounded_to(layout.column(clock)[0]) if layout.column(clock) else ""
    if times.size > 1 and (times == times[0]).all():
        raise RecordingError(
            f"the clock '{name}' reads {layout.column(clock)[0]!r} in every row{coarse and f', which is {coarse}'}; "
            "write it with more digits, or give --rate HZ (rows per second) instead"
        )
    values, times, events = without_events(values, times, name)
    values, times, turned = oldest_first(values, times, name)
    name_of = frame_name if events or turned else name_of
    times, repaired = rising(times, name, name_of)
    times, apart = spread(times, name)
    rounded = (f"clock '{name}' is {coarse}, so that rows share times; write it with more digits",)
    notes += events + turned + repaired + apart + (rounded if apart and coarse else ())
    return values, times, notes, name_of
