"""How a text table is written, told from its first 64 lines: remarks, separator, header, units, decimal comma, clock.

People's files come from loggers, phones and spreadsheets. What is recognised is noted, so that a wrong guess shows:

    # recorded by ...          remarks before the table, and lines of it that have fewer cells: skipped
    Zeit;Beschl. X;Status      the header; a table without one gets names by position
    s;m/s²;                    a line of units beneath it: skipped, but it says what the clock counts
    0,00;-1,25;OK              numbers with decimal commas

Stored files and live sources are read by the same layout. It is found from the head alone (`Lines.head`):

- in both, from the head: encoding, remarks, separator, header, units, decimal sign, openings of known programs, which
  columns hold text, count rows or are the clock, and the order of day and month where it is plain;
- stored files, from the whole: the order of day and month where it is not, the unit of a clock that neither its name
  nor its size tells, whether an unnamed column that rises is a clock, columns without a value, columns of class codes,
  how rows share a coarse clock's readings;
- live sources, instead: the channels of the model say which columns are read; unit and coarseness of the clock are
  told from the head (`rondo.live.clock`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError
from rondo.files.columns import Kind, has_no_name, kind_of_numbers, moves_as_a_signal, names_no_signal, rises_or_repeats
from rondo.files.text.clock import is_clock_name, mentions_time_stamps
from rondo.files.text.lines import HEAD_LINES, HeadLine
from rondo.files.text.programs import opening_of, rate_in_words
from rondo.files.text.spelling import (
    PLAIN,
    NumberSpelling,
    date_seconds,
    is_date,
    is_date_in_digits,
    is_day,
    is_dotted_time,
    is_missing,
    is_time_of_day,
    spelling_of,
)

# ----------------------------------------------------------------
# Headers that are more than one line of names: names over names, and a program's own lines above them.

_END_OF_HEADER = "***End_of_Header***"  # of LabVIEW
_X_VALUE = "X_Value"
_MOST_LINES = 4
_COMMENT = "Comment"  # LabVIEW's last column, whose cells are left away where there is no comment


def n_lines_of_labview(lines: Sequence[str]) -> int:
    """How many lines stand above a table of LabVIEW, which marks their end; 0 in any other file.

    >>> n_lines_of_labview(["LabVIEW Measurement", "***End_of_Header***", "X_Value,Force", "0,1"])
    2
    """
    return max((place + 1 for place, line in enumerate(lines) if line.startswith(_END_OF_HEADER)), default=0)


def labview_clock(line: str) -> str:
    """A line of a table of LabVIEW, in which the column `X_Value` is the time in seconds.

    Each channel may have one of its own (`X_Columns` is `Multi`).

    >>> labview_clock("X_Value,Force"), labview_clock("0.02,1.5")
    ('time (s),Force', '0.02,1.5')
    """
    return line.replace(_X_VALUE, "time (s)") if line.startswith(_X_VALUE) else line


def as_wide(header: tuple[str, ...], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The header with a name more or less, where lines end in a separator and the header does not, or only it does."""
    if rows and all(len(row) == len(header) + 1 and row[-1] == "" for row in rows):
        return (*header, "")
    if header[-1] in ("", _COMMENT) and rows and all(len(row) == len(header) - 1 for row in rows):
        return header[:-1]
    return header


def stacked_names(
    table: Sequence[Sequence[str]], is_value: Callable[[str], bool]
) -> tuple[tuple[str, ...], int] | None:
    """Names in two or three lines, joined by points, and how many lines they take; None where one line holds them.

    So pandas writes columns with several levels, and spreadsheets a heading over several columns, of which only the
    first cell is filled. The line in which pandas names the index belongs to them.

    >>> stacked_names([["", "left", "left"], ["", "x", "y"], ["0", "1.5", "2"]], str.isdecimal)
    (('', 'left.x', 'left.y'), 2)
    >>> stacked_names([["time", "wrist", ""], ["s", "x", "y"], ["0", "1.5", "2"]], str.isdecimal)
    (('time.s', 'wrist.x', 'wrist.y'), 2)
    >>> stacked_names([["time", "x", "y"], ["s", "g", "g"], ["0", "1.5", "2"]], str.isdecimal)
    """
    n_words = next((place for place, row in enumerate(table[:_MOST_LINES]) if any(map(is_value, row))), _MOST_LINES)
    words = [row for row in table[:n_words] if len(row) == len(table[0])]
    if n_words < 2 or len(words) < n_words or n_words >= len(table) or not _needs_a_second(words[0], words[1]):
        return None
    names = [_joined(parts) for parts in zip(_filled(words[0], words[1]), words[1], strict=True)]
    n_lines = 2
    if n_words > 2 and not _differ(names):
        above = _filled(words[1], words[2])
        names = [_joined(parts) for parts in zip(_filled(words[0], above), above, words[2], strict=True)]
        n_lines = 3
    if n_words > n_lines and words[n_lines][0] and all(map(is_missing, words[n_lines][1:])):
        names[0], n_lines = words[n_lines][0], n_lines + 1
    return (tuple(names), n_lines) if _differ(names) else None


def _needs_a_second(upper: Sequence[str], lower: Sequence[str]) -> bool:
    """Whether names are missing or repeated in the upper line where the lower one has some."""
    both = [(above, below) for above, below in zip(upper[1:], lower[1:], strict=True) if below]
    named = [above for above, _ in both if above]
    return len(both) > 1 and bool(named) and (len(named) < len(both) or not _differ(named))


def _filled(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """The upper line with each name repeated over the empty cells that follow it."""
    found: list[str] = []
    for above, below in zip(upper, lower, strict=True):
        found.append(above or (found[-1] if found and below else ""))
    return found


def _joined(parts: Sequence[str]) -> str:
    return ".".join(part for part in parts if not has_no_name(part))


def _differ(names: Sequence[str]) -> bool:
    named = [name for name in names if name]
    return len(set(named)) == len(named)


WHITESPACE = " "  # a separator that stands for any run of blanks; such runs are turned into one tab before parsing
SEPARATORS = ("\t", ";", ",", "|", WHITESPACE)  # ";" before ",": with decimal commas both occur
_REMARK = re.compile(r"\s*(#|%|//)[\s#%/]*")
_FIRST_BY_DEFAULT = ("Var1", "V1")  # what MATLAB and R call a first column without a name
_LONGEST_REMEMBERED = 4096  # characters of a line: the cells that are remembered take 30 MB at most
_COMMAS = NumberSpelling(has_decimal_comma=True)  # or points: the more forgiving one
_FEWEST_TO_TELL = 16  # cells, before a column that never changes is taken for a filler
_KEY_AND_VALUE = 2  # cells of a line above a table
_FEWEST_FILLED_UP = 2  # lines: one alone may be a header with a single name
_FEWEST_OF_A_TABLE = 3  # lines with equally many cells, before those above them are taken for remarks


class Delimited(NamedTuple):
    """Lines as cells between separators; `places` are theirs among the lines they were made of, None: all of them."""

    text: bytes
    places: tuple[int, ...] | None = None
    faults: tuple[tuple[int, str], ...] = ()  # place of a line without cells, and why
    unknown: frozenset[str] = frozenset()  # names of cells that are no column


@dataclass(frozen=True)
class Layout:
    """How a text table is written, and where its rows begin: at byte `start`, in line `first_line`."""

    separator: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # the first ones, as cells; none where there is only a header yet
    start: int
    first_line: int
    notes: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    spelling: NumberSpelling = PLAIN
    has_header: bool = True
    rate: float | None = None  # that its opening speaks of
    began_s: float | None = None  # likewise, since 1970
    counts: frozenset[str] = frozenset()  # names of columns that are signals in files of its program
    scores: frozenset[str] = frozenset()  # names of columns that its program computed from the others
    into_cells: Callable[[bytes], Delimited] | None = None  # for lines that are not cells between separators

    @property
    def delimiter(self) -> str:
        return "\t" if self.separator == WHITESPACE else self.separator

    def delimited(self, text: bytes) -> Delimited:
        """Lines as cells between the delimiter."""
        if self.into_cells is not None:
            return self.into_cells(text)
        return Delimited(with_tabs(text) if self.separator == WHITESPACE else text)

    def holds_dates(self, position: int) -> bool:
        cells = self.column(position)
        return bool(cells) and (not self.is_number(cells[0]) or all(map(is_date_in_digits, cells)))

    def unit(self, column: int) -> str:
        return self.units[column] if column < len(self.units) else ""

    def column(self, position: int) -> list[str]:
        """Its first cells, those that are not missing."""
        return [row[position] for row in self.rows if position < len(row) and not is_missing(row[position])]

    def is_number(self, cell: str) -> bool:
        return self.spelling.is_number(cell)

    def kinds(self) -> dict[int, Kind]:
        """What the first cells of each column show, where that is more than numbers."""
        found: dict[int, Kind] = {}
        for position, name in enumerate(self.names):
            is_unnamed = has_no_name(name) or (position == 0 and (not self.has_header or name in _FIRST_BY_DEFAULT))
            kind = self._kind(position, name, is_unnamed=is_unnamed)
            if kind is not None:
                found[position] = kind
        for name in {name for name in self.names if name and self.names.count(name) > 1}:
            places = [position for position, other in enumerate(self.names) if other == name]
            if all(self._never_changes(position) for position in places):
                found |= dict.fromkeys(places, "filler")
        dotted = [position for position in range(len(self.names)) if self._holds_dotted_times(position)]
        if len(dotted) == 1 and "day" in [kind for position, kind in found.items() if position not in dotted]:
            found[dotted[0]] = "time of day"  # alone 10.03.04 may be a date too
        return found

    def _never_changes(self, position: int) -> bool:
        cells = self.column(position)
        return len(cells) >= _FEWEST_TO_TELL and len(set(cells)) == 1 and self.is_number(cells[0])

    def _holds_dotted_times(self, position: int) -> bool:
        cells = self.column(position)
        return bool(cells) and all(map(is_dotted_time, cells))

    def rises(self, kinds: Mapping[int, Kind]) -> dict[int, bool]:
        """Of each column that may be the clock, whether its first readings rise in each row, or repeat."""
        found = {}
        for position, name in enumerate(self.names):
            tells = kinds.get(position) in ("dates", "time of day") or is_clock_name(name) or mentions_time_stamps(name)
            cells = self.column(position)
            if not tells or len(cells) < len(self.rows):
                continue
            are_dates = self.holds_dates(position)
            try:
                readings = [date_seconds(cell) if are_dates else float(self.spelling.plain(cell)) for cell in cells]
            except ValueError:
                continue
            if (rises := rises_or_repeats(np.array(readings))) is not None:
                found[position] = rises
        return found

    def signals(self) -> frozenset[int]:
        """Columns with the name of labels or ids that move as a signal does, or are one in files of its program."""
        found = []
        for position, name in enumerate(self.names):
            cells = self.column(position) if names_no_signal(name) else []
            if name in self.counts:
                found.append(position)
            elif cells and all(map(self.is_number, cells)):
                numbers = np.array([float(self.spelling.plain(cell)) for cell in cells])
                found += [position] if moves_as_a_signal(name, numbers) else []
        return frozenset(found)

    def _kind(self, position: int, name: str, *, is_unnamed: bool) -> Kind | None:
        cells = self.column(position)
        if not cells:
            return "empty" if self.has_header and (is_unnamed or is_clock_name(name)) else None
        if all(map(is_date_in_digits, cells)):
            return "dates"
        if not any(map(self.is_number, cells)):
            if all(map(is_time_of_day, cells)):
                return "time of day"
            if all(map(is_date, cells)):
                return "day" if all(map(is_day, cells)) else "dates"
            return None if is_clock_name(name) else "text"
        if not all(map(self.is_number, cells)) or len(cells) < len(self.rows):
            return None
        numbers = np.array([float(self.spelling.plain(cell)) for cell in cells])
        return kind_of_numbers(numbers, is_unnamed=is_unnamed)


def layout_of(lines: Sequence[HeadLine]) -> Layout:
    """The layout of a text, perhaps with single bytes of Windows-1252, from its first lines, blank ones left out."""
    try:
        return _layout(lines)
    except csv.Error as error:
        raise RecordingError(f"it cannot be cut into cells ({error}); expected columns of numbers") from error


def _layout(every_line: Sequence[HeadLine]) -> Layout:
    header, lines, notes = _without_remarks(every_line)
    if not all(line.is_utf8 for line in lines):
        notes += ("its text is not UTF-8: read as Windows-1252",)
    first = header or lines[0]
    after = lines[0] if header else lines[1] if len(lines) > 1 else first
    separator = separator_of(first.text, after.text)
    table = [cells_of(line.text, separator) for line in lines]
    cells = as_wide(cells_of(first.text, separator), table[0 if header else 1 :])
    spelling = spelling_of(table)
    opening = None if header else opening_of(table)
    if opening is not None and len(lines) > opening.n_lines:
        after = lines[opening.n_lines]
        names = opening.names or tuple(f"ch{i}" for i in range(len(cells)))
        rows = tuple(table[opening.n_lines :])
        has_header, said = bool(opening.names), (*notes, opening.note)
        where = (after.start, after.number)
        return Layout(separator, names, rows, *where, said, (), spelling, has_header, opening.rate, opening.began_s)
    rate = rate_in_words([line.text for line in every_line if line.number < first.number])
    stacked = None if header else stacked_names(table, lambda cell: spelling.is_number(cell) or is_date(cell))
    if stacked is not None:
        cells, n_lines = stacked
        between = f"lines {first.number} to {lines[n_lines - 1].number}"
        notes += (f"{between} read as one header: {_in_short([name for name in cells if name])}",)
        header, lines, table = lines[n_lines - 1], lines[n_lines:], table[n_lines:]
    if header is None and _are_values(cells, spelling) and not _are_positions(cells):
        names = tuple(f"ch{i}" for i in range(len(cells)))
        note = f"no header line: the channels are named {names[0]}" + (f" to {names[-1]}" if names[1:] else "")
        where = (first.start, first.number)
        return Layout(separator, names, tuple(table), *where, (*notes, note), (), spelling, False, rate)
    below = list(zip(lines, table, strict=True))[0 if header else 1 :]
    if not below:
        return Layout(separator, cells, (), first.stop, first.number + 1, notes, rate=rate)
    units: tuple[str, ...] = ()
    if len(below) > 1 and _are_units(below[0][1], below[1][1], spelling):
        units, below = below[0][1], below[1:]
        notes += (f"line {below[0][0].number - 1} skipped: it holds no numbers, but units: {_in_short(units)}",)
    rows = tuple(row for _, row in below)
    start, number = below[0][0].start, below[0][0].number
    if not units and header is None:
        start, number = first.stop, first.number + 1
    return Layout(separator, cells, rows, start, number, notes, units, spelling, True, rate)


def separator_of(header: str, row: str) -> str:
    """The one that cuts header and row into equally many cells, more than one; else one that cuts the row."""
    counts = [(s, len(cells_of(header, s)), len(cells_of(row, s))) for s in SEPARATORS]
    fitting = [s for s, in_header, in_row in counts if in_header == in_row > 1]
    cutting = [s for s, _, in_row in counts if in_row > 1]
    return (fitting + cutting + [","])[0]


def cells_of(line: str, separator: str) -> tuple[str, ...]:
    """The cells of one line, without the blanks around them; one empty cell where there is none."""
    return (_remembered_cells if len(line) <= _LONGEST_REMEMBERED else _cells_of)(line, separator)


def _cells_of(line: str, separator: str) -> tuple[str, ...]:
    if separator == WHITESPACE:
        line, separator = with_tabs(line.encode() + b"\n").decode()[:-1], "\t"
    cells = next(csv.reader([line], delimiter=separator), [])
    return tuple(cell.strip() for cell in cells) or ("",)


_remembered_cells = lru_cache(maxsize=8 * HEAD_LINES)(_cells_of)  # every step of finding a layout needs the same cells


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


def _without_remarks(lines: Sequence[HeadLine]) -> tuple[HeadLine | None, list[HeadLine], tuple[str, ...]]:
    """The header, if it is a remark itself; the lines from the table on; and a note on those skipped."""
    if n_above := n_lines_of_labview([line.text for line in lines]):
        rest = [line._replace(text=labview_clock(line.text)) for line in lines[n_above:]]
        return None, rest, _skipped(lines[:n_above], "the header of LabVIEW")
    n_remarks = next((i for i, line in enumerate(lines) if not _REMARK.match(line.text)), len(lines))
    if n_remarks and n_remarks < len(lines):
        rest = list(lines[n_remarks:])
        last = lines[n_remarks - 1]
        header = last._replace(text=_REMARK.sub("", last.text, count=1))
        if last.text.lstrip().startswith("#,") or last.text.lstrip().startswith("#;"):
            header = last._replace(text=last.text.lstrip()[1:])  # a column of row numbers
        separator = separator_of(header.text, rest[0].text)
        cells, below = cells_of(header.text, separator), cells_of(rest[0].text, separator)
        if len(cells) == len(below) and _are_values(below, _COMMAS) and not _are_values(cells, _COMMAS):
            return header, rest, _skipped(lines[: n_remarks - 1], "remarks")
        return None, rest, _skipped(lines[:n_remarks], "remarks")
    n_above = _lines_above_the_table(lines)
    return None, list(lines[n_above:]), _skipped(lines[:n_above], "no part of the table, as they have fewer cells")


def _lines_above_the_table(lines: Sequence[HeadLine]) -> int:
    """How many lines have fewer cells than all that follow, and are no rows of numbers; 0 where that is unclear."""
    counts_of = {separator: _cells_per_line(lines, separator) for separator in SEPARATORS}
    if any(counts[0] > 1 and len(set(counts)) == 1 for counts in counts_of.values()):
        return 0
    for separator in SEPARATORS[:-1]:  # words of a sentence are no cells
        counts = counts_of[separator]
        n_above = next(i for i in range(len(counts)) if len(set(counts[i:])) == 1)
        end_in_separators = all(line.text.rstrip().endswith(separator.strip() or separator) for line in lines[n_above:])
        is_wider = counts[-1] - end_in_separators > max(counts[:n_above], default=counts[-1])
        is_table = is_wider and len(counts) - n_above >= _FEWEST_OF_A_TABLE
        if is_table and not any(_are_values(cells_of(line.text, separator), _COMMAS) for line in lines[:n_above]):
            return n_above
    return 0


def _cells_per_line(lines: Sequence[HeadLine], separator: str) -> list[int]:
    """How many cells each line has, without the empty ones that fill up lines above a table.

    A spreadsheet fills them up to the width of the table, Xsens beyond it. They hold a key and perhaps a value.
    """
    table = [cells_of(line.text, separator) for line in lines]
    n_above = next((place for place, row in enumerate(table) if any(row[_KEY_AND_VALUE:])), 0)
    if n_above < _FEWEST_FILLED_UP or any(_are_values(row[:1], _COMMAS) for row in table[:n_above]):
        n_above = 0
    return [max(2 if any(row[1:]) else 1, len(row) * (place >= n_above)) for place, row in enumerate(table)]


def _skipped(lines: Sequence[HeadLine], why: str) -> tuple[str, ...]:
    if not lines:
        return ()
    which = f"line {lines[0].number}" if len(lines) == 1 else f"lines {lines[0].number} to {lines[-1].number}"
    said = why if len(lines) > 1 else why.replace("they have", "it has").replace("remarks", "remark")
    return (f"{which} skipped: {said}",)


def _are_values(cells: Sequence[str], spelling: NumberSpelling) -> bool:
    """Numbers, dates and missing cells, but not only missing ones: a row, and no header."""
    return all(is_missing(cell) or spelling.is_number(cell) or is_date(cell) for cell in cells) and not all(
        map(is_missing, cells)
    )


def _are_positions(cells: Sequence[str]) -> bool:
    """A header of numbers, as pandas writes it for columns without names: 0, 1, 2 … beneath an empty corner."""
    return len(cells) > 2 and cells[0] == "" and list(cells[1:]) == [str(place) for place in range(len(cells) - 1)]


def _are_units(cells: Sequence[str], below: Sequence[str], spelling: NumberSpelling) -> bool:
    said = [cell for cell in cells if not is_missing(cell)]
    is_text = bool(said) and not any(spelling.is_number(cell) or is_date(cell) for cell in said)
    return is_text and len(cells) == len(below) and any(spelling.is_number(cell) for cell in below)


def _in_short(cells: Sequence[str], most: int = 4) -> str:
    return ", ".join(cells[:most]) + (", …" if len(cells) > most else "")
