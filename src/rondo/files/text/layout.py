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
- live sources, instead: the channels of the model say which columns are read; unit and coarseness of the clock
  follow from the head (`rondo.live.clock`).
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError
from rondo.files.column_values import (
    Kind,
    has_no_name,
    kind_of_numbers,
    moves_as_a_signal,
    names_no_signal,
    rises_or_repeats,
)
from rondo.files.columns import Column
from rondo.files.text.clock import is_clock_name, mentions_time_stamps
from rondo.files.text.lines import HEAD_LINES, HeadLine, decoded
from rondo.files.text.programs import (
    as_wide,
    labview_clock,
    n_lines_of_labview,
    opening_of,
    rate_in_words,
    stacked_names,
)
from rondo.files.text.spelling import (
    PLAIN,
    TRUTHS,
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

WHITESPACE = " "  # a separator that stands for any run of blanks; such runs are turned into one tab before parsing
SEPARATORS = ("\t", ";", ",", "|", WHITESPACE)  # ";" before ",": with decimal commas both occur
_REMARK = re.compile(r"\s*(#|%|//)[\s#%/]*")
_FIRST_BY_DEFAULT = ("Var1", "V1")  # what MATLAB and R call a first column without a name
_LONGEST_REMEMBERED = 4096  # characters of a line: the cells that are remembered take 30 MB at most
_BLANKS, _ENDS_OR_QUOTES = re.compile("[ \t]+"), re.compile('["\r\n]')
_COMMAS = NumberSpelling(has_decimal_comma=True)  # or points: the more forgiving one
_FEWEST_TO_TELL = 16  # cells, before a column that never changes is taken for a filler
_KEY_AND_VALUE = 2  # cells of a line above a table
_FEWEST_FILLED_UP = 2  # lines: one alone may be a header with a single name
_MOST_EXPLAINING = 8
_BLANK_BYTES = 2  # of a blank line; others hold separators
_FEWEST_ROWS = 8  # alike, one below the other, are no heading
_FEWEST_OF_A_TABLE = 3  # lines with equally many cells, before those above them are taken for remarks


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
    flags: frozenset[str] = frozenset()  # names of JSON's columns of true and false
    is_json: bool = False

    @property
    def delimiter(self) -> str:
        return "\t" if self.separator == WHITESPACE else self.separator

    def delimited(self, text: bytes) -> tuple[bytes, frozenset[str]]:
        """Lines as cells between the delimiter, one for one, and keys of JSON objects that are no column."""
        if self.is_json:
            return _cells_of_objects(text, self.names)
        return (with_tabs(text) if self.separator == WHITESPACE else text), frozenset()

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

    @cached_property
    def truths(self) -> frozenset[int]:
        """Positions of the columns of `true` and `false`, which are 1 and 0 where they are kept."""
        cells = {position: self.column(position) for position in range(len(self.names))}
        found = {place for place, own in cells.items() if own and all(map(TRUTHS.__contains__, own))}
        return frozenset({*found, *(place for place, name in enumerate(self.names) if name in self.flags)})

    def columns(self) -> list[Column]:
        """What the first cells of each column show."""
        cells = [self.column(position) for position in range(len(self.names))]
        kinds = [self._kind(position, cells[position]) for position in range(len(self.names))]
        for name in {name for name in self.names if name and self.names.count(name) > 1}:
            same = [position for position, other in enumerate(self.names) if other == name]
            if all(len(cells[i]) >= _FEWEST_TO_TELL and len(set(cells[i])) == 1 and self.is_number(cells[i][0])
                   for i in same):  # fmt: skip
                for position in same:
                    kinds[position] = "filler"
        dotted = [i for i, column in enumerate(cells) if column and all(map(is_dotted_time, column))]
        if len(dotted) == 1 and "day" in (kind for i, kind in enumerate(kinds) if i not in dotted):
            kinds[dotted[0]] = "time of day"  # alone 10.03.04 may be a date too
        return [
            Column(name, kind, self._moves(name, column), self._rises(position, kind, column))
            for position, (name, kind, column) in enumerate(zip(self.names, kinds, cells, strict=True))
        ]

    def _kind(self, position: int, cells: Sequence[str]) -> Kind | None:
        name = self.names[position]
        is_unnamed = has_no_name(name) or (position == 0 and (not self.has_header or name in _FIRST_BY_DEFAULT))
        if position in self.truths:
            return "truth"
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
        return kind_of_numbers(self._numbers(cells), is_unnamed=is_unnamed)

    def _rises(self, position: int, kind: Kind | None, cells: Sequence[str]) -> bool | None:
        """Of a column that may be the clock, whether its first readings rise in each row, or repeat."""
        name = self.names[position]
        tells = kind in ("dates", "time of day") or is_clock_name(name) or mentions_time_stamps(name)
        if not tells or len(cells) < len(self.rows):
            return None
        try:
            dates = self.holds_dates(position)
            return rises_or_repeats(np.array([date_seconds(cell) for cell in cells]) if dates else self._numbers(cells))
        except ValueError:
            return None

    def _moves(self, name: str, cells: Sequence[str]) -> bool:
        """Whether a column with the name of labels or ids moves as a signal does, or is one in files of its program."""
        if name in self.counts:
            return True
        is_suspect = names_no_signal(name) and cells and all(map(self.is_number, cells))
        return bool(is_suspect) and moves_as_a_signal(name, self._numbers(cells))

    def _numbers(self, cells: Sequence[str]) -> NDArray[np.float64]:
        return np.array([float(self.spelling.plain(cell)) for cell in cells])


def layout_of(lines: Sequence[HeadLine]) -> Layout:
    """The layout of a text, from its first lines, blank ones left out: of a table, or of JSON lines."""
    if is_json_text(lines):
        return json_layout(lines)
    try:
        return _table_layout(lines)
    except csv.Error as error:
        raise RecordingError(f"it cannot be cut into cells ({error}); expected columns of numbers") from error


def _table_layout(every_line: Sequence[HeadLine]) -> Layout:
    header, lines, notes = _without_remarks(every_line)
    if len(lines) == len(every_line):
        n_above = _lines_above_the_table(lines)
        lines, notes = lines[n_above:], _skipped(lines[:n_above], "no part of the table, as they have fewer cells")
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
    # A header of numbers, as pandas writes it for columns without names: 0, 1, 2 … beneath an empty corner.
    are_positions = len(cells) > 2 and cells == ("", *(str(place) for place in range(len(cells) - 1)))
    if header is None and _are_values(cells, spelling) and not are_positions:
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
    n_more = _lines_of_words([row for _, row in below], spelling)
    notes += _skipped([line for line, _ in below[:n_more]], "they hold no numbers")
    below = below[n_more:]
    rows = tuple(row for _, row in below)
    start, number = below[0][0].start, below[0][0].number
    n_between = number - first.number - 1
    if not (units or n_more) and header is None and start - first.stop <= _BLANK_BYTES * n_between:
        start, number = first.stop, first.number + 1
    return Layout(separator, cells, rows, start, number, notes, units, spelling, True, rate)


def _lines_of_words(rows: Sequence[Sequence[str]], spelling: NumberSpelling) -> int:
    """How many lines below a header only explain it: a few, each with an empty cell and none with a value."""
    has_value = [any(spelling.is_number(cell) or is_date(cell) for cell in row) for row in rows[:_MOST_EXPLAINING]]
    n_words = next((place for place, found in enumerate(has_value) if found), 0)
    return n_words if all("" in row for row in rows[:n_words]) else 0


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
    if _is_plain(line):
        cells = _BLANKS.split(line.strip(" \t")) if separator == WHITESPACE else line.split(separator)
        return tuple(cell.strip() for cell in cells)
    if separator == WHITESPACE:
        line, separator = with_tabs(line.encode() + b"\n").decode()[:-1], "\t"
    cells = next(csv.reader([line], delimiter=separator), [])
    return tuple(cell.strip() for cell in cells) or ("",)


_remembered_cells = lru_cache(maxsize=8 * HEAD_LINES)(_cells_of)  # every step of finding a layout needs the same cells


def n_cells_of(line: str, separator: str) -> int:
    """How many cells one line has."""
    if not _is_plain(line):
        return len(cells_of(line, separator))
    return 1 + (len(_BLANKS.findall(line.strip(" \t"))) if separator == WHITESPACE else line.count(separator))


def _is_plain(line: str) -> bool:
    """Whether cells lie between separators and nothing else, so that csv is not needed."""
    return _ENDS_OR_QUOTES.search(line) is None and len(line) < csv.field_size_limit()


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
    return None, list(lines), ()


def _lines_above_the_table(lines: Sequence[HeadLine]) -> int:
    """How many lines have fewer cells than all that follow, and are no rows of numbers; 0 where that is unclear."""
    counts_of = {
        separator: _filled_cells([cells_of(line.text, separator) for line in lines]) for separator in SEPARATORS
    }
    if any(counts[0] > 1 and len(set(counts)) == 1 for counts in counts_of.values()):
        return 0
    for separator in SEPARATORS[:-1]:  # words of a sentence are no cells
        counts = counts_of[separator]
        n_above = next(i for i in range(len(counts)) if len(set(counts[i:])) == 1)
        end_in_separators = all(line.text.rstrip().endswith(separator.strip() or separator) for line in lines[n_above:])
        is_wider = counts[-1] - end_in_separators > max(counts[:n_above], default=counts[-1])
        is_table = is_wider and len(counts) - n_above >= _FEWEST_OF_A_TABLE
        above = lines[:n_above]
        if not is_table or any(_are_values(cells_of(line.text, separator), _COMMAS) for line in above):
            continue
        if not hold_rows(above, separator, lines[-1]):
            return n_above
    return 0


def hold_rows(lines: Sequence[HeadLine], separator: str, last: HeadLine) -> bool:
    """Whether lines above a table are rows too: one as its `last` row is, or many alike that begin with a value."""
    kinds = [tuple(map(_is_value, cells_of(line.text, separator))) for line in (*lines, last)]
    alike = max((len(list(same)) for kind, same in groupby(kinds[:-1]) if kind[1:] and kind[0]), default=0)
    return (any(kinds[-1]) and kinds[-1] in kinds[:-1]) or alike >= _FEWEST_ROWS


def _is_value(cell: str) -> bool:
    return is_missing(cell) or _COMMAS.is_number(cell) or is_date(cell)


def _filled_cells(table: Sequence[Sequence[str]]) -> list[int]:
    """How many cells each line has, without the empty ones that fill up lines above a table.

    A spreadsheet fills them up to the width of the table, Xsens beyond it. They hold a key and perhaps a value.
    """
    n_above = next((place for place, row in enumerate(table) if _is_filled(row)), 0)
    if n_above < _FEWEST_FILLED_UP or any(_are_values(row[:1], _COMMAS) for row in table[:n_above]):
        n_above = 0
    return [max(2 if any(row[1:]) else 1, len(row) * (place >= n_above)) for place, row in enumerate(table)]


def _is_filled(row: Sequence[str]) -> bool:
    """Whether it has more than a key, a value and a unit, as a row or a header of a table."""
    return sum(map(bool, row)) > max(_KEY_AND_VALUE, len(row) // 3)


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


def _are_units(cells: Sequence[str], below: Sequence[str], spelling: NumberSpelling) -> bool:
    said = [cell for cell in cells if not is_missing(cell)]
    is_text = bool(said) and not any(spelling.is_number(cell) or is_date(cell) for cell in said)
    return is_text and len(cells) == len(below) and any(spelling.is_number(cell) for cell in below)


def _in_short(cells: Sequence[str], most: int = 4) -> str:
    return ", ".join(cells[:most]) + (", …" if len(cells) > most else "")


# ----------------------------------------------------------------
# JSON lines (.jsonl, .ndjson): one object per line, one key per channel.
#
#     {"time": 0.00, "x": 1.5, "y": -2.0}
#     {"time": 0.02, "x": 1.4, "y": null}
#
# The keys of the first 64 objects are the columns. Their order in a line does not matter; a key that is absent or null
# is a missing value. Numbers may be written as text, true and false are 1 and 0. A column of text, lists, objects, or
# of true and false alone is left out. Everything else works as for any text table.

NO_OBJECT = b"\0"
"""The cells of a line that is no JSON object."""

_AS_WRITTEN = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


def is_json_text(lines: Sequence[HeadLine]) -> bool:
    """Whether a text whose first lines these are holds JSON objects."""
    return lines[0].text.lstrip().startswith("{")


def json_layout(lines: Sequence[HeadLine]) -> Layout:
    """The layout of JSON lines: the keys of the first objects, in the order in which they come."""
    objects = [_object(line.text) for line in lines]
    first = objects[0]
    if first is None:
        raise RecordingError("its first line is not a whole JSON object; expected one object per line")
    names = tuple(dict.fromkeys(key for found in objects if found is not None for key in found))
    if not names:
        raise RecordingError("its objects are empty; expected one key per channel")
    rows = tuple(tuple(_cell(found.get(name)) for name in names) for found in objects if found is not None)
    kinds = {name: {type(found.get(name)) for found in objects if found is not None} - {type(None)} for name in names}
    flags = frozenset(name for name, own in kinds.items() if own == {bool})
    return Layout("\t", names, rows, lines[0].start, lines[0].number, flags=flags, is_json=True)


def _cells_of_objects(text: bytes, names: tuple[str, ...]) -> tuple[bytes, frozenset[str]]:
    known, blank = frozenset(names), (None,) * len(names)
    lines: list[bytes] = []
    unknown: set[str] = set()
    for line in text.split(b"\n")[:-1]:
        found = _object(decoded(line)[0]) if line.strip() else None
        if found is None:
            lines.append(NO_OBJECT if line.strip() else b"")
            continue
        cells = "\t".join(map(_cell, map(found.get, names, blank)))
        lines.append(cells.encode("utf-8", "replace") or b"nan")  # of a single column: a blank line is no row
        unknown |= found.keys() - known
    return b"".join(line + b"\n" for line in lines), frozenset(unknown)


def _object(line: str) -> dict[str, Any] | None:
    """The object in a line, its numbers as they are written."""
    try:
        found = _AS_WRITTEN.decode(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _cell(value: object) -> str:
    if isinstance(value, str):
        return value if value.isprintable() and '"' not in value else "…"  # which is no number either
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else "…"  # a list or an object
