"""How a text table is written, told from its opening lines: encoding, remarks, separator, header, units, decimal comma.

People's files come from loggers, phones and spreadsheets. What is recognised is noted, so that a wrong guess shows:

    # recorded by ...          remarks before the table, and lines of it that have fewer cells: skipped
    Zeit;Beschl. X;Status      the header; a table without one gets names by position
    s;m/s²;                    a line of units beneath it: skipped, but it says what the clock counts
    0,00;-1,25;OK              numbers with decimal commas
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError
from rondo.formats.clock_column import is_clock_name, is_date, is_day, is_time_of_day
from rondo.formats.columns import Kind, has_no_name, kind_of_numbers
from rondo.formats.known_programs import opening_of, rate_in_words

LONGEST_LINE = 16 << 20  # a "line" beyond this is no row of a table, and must not be gathered in memory
WHITESPACE = " "  # a separator that stands for any run of blanks; such runs are turned into one tab before parsing
_SEPARATORS = ("\t", ";", ",", "|", WHITESPACE)  # ";" before ",": with decimal commas both occur
_MISSING = frozenset({
    "", "na", "nan", "null", "n/a", "none", "-", "--",
    "#n/a", "#div/0!", "#value!", "#num!", "#name?", "#null!", "#ref!",
})  # fmt: skip
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf(inity)?|nan)", re.IGNORECASE | re.ASCII)
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f]")  # in no text
REMARK = re.compile(r"\s*(#|%|//)[\s#%/]*")
_LINES_LOOKED_AT = 64
_FIRST_BY_DEFAULT = ("Var1", "V1")  # what MATLAB and R call a first column without a name
_FEWEST_OF_A_TABLE = 3  # lines with equally many cells, before those above them are taken for remarks


@dataclass(frozen=True)
class Layout:
    """How a text table is written, and where its rows lie: bytes [start, stop), from line `first_line` on."""

    separator: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # the first ones, as cells
    start: int
    stop: int
    first_line: int
    notes: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    has_decimal_comma: bool = False
    has_header: bool = True
    rate: float | None = None  # that its opening speaks of
    began_s: float | None = None  # likewise, since 1970

    @property
    def delimiter(self) -> str:
        return "\t" if self.separator == WHITESPACE else self.separator

    def unit(self, column: int) -> str:
        return self.units[column] if column < len(self.units) else ""

    def column(self, position: int) -> list[str]:
        """Its first cells, those that are not missing."""
        return [row[position] for row in self.rows if position < len(row) and not is_missing(row[position])]

    def is_number(self, cell: str) -> bool:
        return is_number(cell, self.has_decimal_comma)

    def kinds(self) -> dict[int, Kind]:
        """What the first cells of each column show, where that is more than numbers."""
        found: dict[int, Kind] = {}
        for position, name in enumerate(self.names):
            is_unnamed = has_no_name(name) or (position == 0 and (not self.has_header or name in _FIRST_BY_DEFAULT))
            kind = self._kind(position, name, is_unnamed=is_unnamed)
            if kind is not None:
                found[position] = kind
        return found

    def _kind(self, position: int, name: str, *, is_unnamed: bool) -> Kind | None:
        cells = self.column(position)
        if not cells:
            return "empty" if is_unnamed and self.has_header else None
        if not any(map(self.is_number, cells)):
            if all(map(is_time_of_day, cells)):
                return "time of day"
            if all(map(is_date, cells)):
                return "day" if all(map(is_day, cells)) else "dates"
            return None if is_clock_name(name) else "text"
        if not all(map(self.is_number, cells)) or len(cells) < len(self.rows):
            return None
        numbers = np.array([float(cell.replace(",", ".")) for cell in cells])
        return kind_of_numbers(numbers, is_unnamed=is_unnamed)


class Line(NamedTuple):
    text: str
    start: int
    stop: int
    number: int
    is_utf8: bool = True


def layout_of(file: BinaryIO) -> Layout:
    """The layout of UTF-8 text, perhaps with single bytes of Windows-1252."""
    stop, n_zeros = _end_of_text(file)
    file.seek(len(codecs.BOM_UTF8) if file.read(3) == codecs.BOM_UTF8 else 0)
    lines = list(_opening_lines(file))
    if not lines:
        raise RecordingError("it has no rows; expected a header line and one row per frame")
    every_line = lines
    header, lines, notes = _without_remarks(lines)
    notes += (f"{n_zeros} bytes of zeros at its end left out",) if n_zeros else ()
    if not all(line.is_utf8 for line in lines):
        notes += ("its text is not UTF-8: read as Windows-1252",)
    first = header or lines[0]
    after = lines[0] if header else lines[1] if len(lines) > 1 else first
    separator = separator_of(first.text, after.text)
    table = [cells_of(line.text, separator) for line in lines]
    cells = _as_wide(cells_of(first.text, separator), table[0 if header else 1 :])
    commas = has_decimal_commas(table)
    opening = None if header else opening_of(table)
    if opening is not None and len(lines) > opening.n_lines:
        after = lines[opening.n_lines]
        names = opening.names or tuple(f"ch{i}" for i in range(len(cells)))
        rows = tuple(table[opening.n_lines :])
        has_header, said = bool(opening.names), (*notes, opening.note)
        where = (after.start, stop, after.number)
        return Layout(separator, names, rows, *where, said, (), commas, has_header, opening.rate, opening.began_s)
    rate = rate_in_words([line.text for line in every_line if line.number < first.number])
    if header is None and _are_values(cells, commas) and not _are_positions(cells):
        names = tuple(f"ch{i}" for i in range(len(cells)))
        note = f"no header line: the channels are named {names[0]}" + (f" to {names[-1]}" if names[1:] else "")
        where = (first.start, stop, first.number)
        return Layout(separator, names, tuple(table), *where, (*notes, note), (), commas, False, rate)
    below = list(zip(lines, table, strict=True))[0 if header else 1 :]
    if not below:
        raise RecordingError(f"it has a header ({len(cells)} columns) but no rows; expected one row per frame")
    units: tuple[str, ...] = ()
    if len(below) > 1 and _are_units(below[0][1], below[1][1], commas):
        units, below = below[0][1], below[1:]
        notes += (f"line {below[0][0].number - 1} skipped: it holds no numbers, but units: {_in_short(units)}",)
    rows = tuple(row for _, row in below)
    start, number = below[0][0].start, below[0][0].number
    if not units and header is None:
        start, number = first.stop, first.number + 1
    return Layout(separator, cells, rows, start, stop, number, notes, units, commas, True, rate)


def separator_of(header: str, row: str) -> str:
    """The one that cuts header and row into equally many cells, more than one; else one that cuts the row."""
    counts = [(s, len(cells_of(header, s)), len(cells_of(row, s))) for s in _SEPARATORS]
    fitting = [s for s, in_header, in_row in counts if in_header == in_row > 1]
    cutting = [s for s, _, in_row in counts if in_row > 1]
    return (fitting + cutting + [","])[0]


def cells_of(line: str, separator: str) -> tuple[str, ...]:
    """The cells of one line, without the blanks around them; one empty cell where there is none."""
    if separator == WHITESPACE:
        line, separator = with_tabs(line.encode() + b"\n").decode()[:-1], "\t"
    cells = next(csv.reader([line], delimiter=separator), [])
    return tuple(cell.strip() for cell in cells) or ("",)


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value: empty, a dash, NA, NaN, none or null in any case."""
    return cell.casefold() in _MISSING


def is_number(cell: str, has_decimal_comma: bool = False) -> bool:
    return bool(NUMBER.fullmatch(cell) or (has_decimal_comma and _COMMA_NUMBER.fullmatch(cell)))


def decoded(line: bytes) -> tuple[str, bool]:
    """The text, and whether it is UTF-8; or else it is Windows-1252, in which many spreadsheets write ° and ²."""
    try:
        return line.decode("utf-8"), True
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace"), False


def with_tabs(text: bytes) -> bytes:
    """Runs of blanks outside quotes become one tab, and vanish at both ends of a line."""
    codes = np.frombuffer(text, dtype=np.uint8)
    blank = ((codes == ord(" ")) | (codes == ord("\t"))) & ~quoted(codes)
    last_of_run = blank & ~np.append(blank[1:], False)
    tabbed: bytes = np.where(blank, np.uint8(ord("\t")), codes)[~blank | last_of_run].tobytes()
    return tabbed.removeprefix(b"\t").replace(b"\n\t", b"\n").replace(b"\t\n", b"\n")


def quoted(codes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which bytes lie inside double quotes: those after an odd number of them (uint8 wraps, parity stays)."""
    return (np.cumsum(codes == ord('"'), dtype=np.uint8) & 1).astype(np.bool_)


def _without_remarks(lines: Sequence[Line]) -> tuple[Line | None, list[Line], tuple[str, ...]]:
    """The header, if it is a remark itself; the lines from the table on; and a note on those skipped."""
    n_remarks = next((i for i, line in enumerate(lines) if not REMARK.match(line.text)), len(lines))
    if n_remarks and n_remarks < len(lines):
        rest = list(lines[n_remarks:])
        last = lines[n_remarks - 1]
        header = last._replace(text=REMARK.sub("", last.text, count=1))
        if last.text.lstrip().startswith("#,") or last.text.lstrip().startswith("#;"):
            header = last._replace(text=last.text.lstrip()[1:])  # a column of row numbers
        separator = separator_of(header.text, rest[0].text)
        cells, below = cells_of(header.text, separator), cells_of(rest[0].text, separator)
        if len(cells) == len(below) and _are_values(below, True) and not _are_values(cells, True):
            return header, rest, _skipped(lines[: n_remarks - 1], "remarks")
        return None, rest, _skipped(lines[:n_remarks], "remarks")
    n_above = _lines_above_the_table(lines)
    return None, list(lines[n_above:]), _skipped(lines[:n_above], "no part of the table, as they have fewer cells")


def _lines_above_the_table(lines: Sequence[Line]) -> int:
    """How many lines have fewer cells than all that follow, and are no rows of numbers; 0 where that is unclear."""
    counts_of = {separator: [len(cells_of(line.text, separator)) for line in lines] for separator in _SEPARATORS}
    if any(counts[0] > 1 and len(set(counts)) == 1 for counts in counts_of.values()):
        return 0
    for separator in _SEPARATORS[:-1]:  # words of a sentence are no cells
        counts = counts_of[separator]
        n_above = next(i for i in range(len(counts)) if len(set(counts[i:])) == 1)
        end_in_separators = all(line.text.rstrip().endswith(separator.strip() or separator) for line in lines[n_above:])
        is_wider = counts[-1] - end_in_separators > max(counts[:n_above], default=counts[-1])
        is_table = is_wider and len(counts) - n_above >= _FEWEST_OF_A_TABLE
        if is_table and not any(_are_values(cells_of(line.text, separator), True) for line in lines[:n_above]):
            return n_above
    return 0


def _skipped(lines: Sequence[Line], why: str) -> tuple[str, ...]:
    if not lines:
        return ()
    which = f"line {lines[0].number}" if len(lines) == 1 else f"lines {lines[0].number} to {lines[-1].number}"
    said = why if len(lines) > 1 else why.replace("they have", "it has").replace("remarks", "remark")
    return (f"{which} skipped: {said}",)


def _are_values(cells: Sequence[str], commas: bool) -> bool:
    """Numbers, dates and missing cells, but not only missing ones: a row, and no header."""
    return all(is_missing(cell) or is_number(cell, commas) or is_date(cell) for cell in cells) and not all(
        map(is_missing, cells)
    )


def _are_positions(cells: Sequence[str]) -> bool:
    """A header of numbers, as pandas writes it for columns without names: 0, 1, 2 … beneath an empty corner."""
    return len(cells) > 2 and cells[0] == "" and list(cells[1:]) == [str(place) for place in range(len(cells) - 1)]


def _are_units(cells: Sequence[str], below: Sequence[str], commas: bool) -> bool:
    said = [cell for cell in cells if not is_missing(cell)]
    is_text = bool(said) and not any(is_number(cell, commas) or is_date(cell) for cell in said)
    return is_text and len(cells) == len(below) and any(is_number(cell, commas) for cell in below)


def has_decimal_commas(table: Sequence[Sequence[str]]) -> bool:
    """Whether some cells are numbers with a comma, and none is one with a point."""
    cells = [cell for row in table for cell in row]
    has_points = any("." in cell and NUMBER.fullmatch(cell) for cell in cells)
    return not has_points and any(map(_COMMA_NUMBER.fullmatch, cells))


def _as_wide(header: tuple[str, ...], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The header with a name more or less, where lines end in a separator and the header does not, or only it does."""
    if rows and all(len(row) == len(header) + 1 and row[-1] == "" for row in rows):
        return (*header, "")
    if header[-1] == "" and rows and all(len(row) == len(header) - 1 for row in rows):
        return header[:-1]
    return header


def _in_short(cells: Sequence[str], most: int = 4) -> str:
    return ", ".join(cells[:most]) + (", …" if len(cells) > most else "")


def _end_of_text(file: BinaryIO, block_bytes: int = 1 << 16) -> tuple[int, int]:
    """The length of the file without the line ends that close it, and how many zeros a power cut has left there."""
    size = stop = file.seek(0, 2)
    n_zeros = 0
    while stop > 0:
        start = max(0, stop - block_bytes)
        file.seek(start)
        block = file.read(stop - start)
        tail = block.rstrip(b"\r\n\0")
        n_zeros += block[len(tail) :].count(b"\0")
        stop = start + len(tail)
        if tail:
            break
    file.seek(0)
    return (stop, n_zeros) if stop else (size, 0)  # nothing but zeros is no text


def _opening_lines(file: BinaryIO) -> Iterator[Line]:
    """The first lines that are not blank."""
    number, found = 0, 0
    while found < _LINES_LOOKED_AT:
        start, number = file.tell(), number + 1
        line = file.readline(LONGEST_LINE)
        if not line:
            return
        if found < 2 and (_CONTROL.search(line) or len(line) == LONGEST_LINE):
            raise RecordingError("it is not a text table (binary data?); expected columns of numbers in UTF-8 text")
        if b"\r" in line.rstrip(b"\r\n"):
            if found > 1:
                return  # the reader of rows names the line
            raise RecordingError(f"line {number} holds a bare carriage return; save the file with usual line ends")
        if line.strip():
            found += 1
            text, is_utf8 = decoded(line)
            yield Line(text.rstrip("\r\n"), start, file.tell(), number, is_utf8)
