"""Excel workbooks (.xlsx), read with python-calamine (extra `io`): a sheet becomes lines of text, read as text is.

So remarks above the table, units beneath the header, text columns and clocks are what they are in a csv
(`text_layout`). Cells hold values: a formula the one it had when the file was saved, a date an ISO date, a time of day
one, a duration seconds, an error nothing. Line numbers in messages are rows of the sheet.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from itertools import dropwhile
from pathlib import Path
from typing import Any, BinaryIO

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.crash_guard import refuse_fatal
from rondo.files.extras import marked_head, optional_library
from rondo.files.reading import Reading, RecordingFormat, listed
from rondo.files.text.formats import open_text_parts
from rondo.files.text.layout import layout_of
from rondo.files.text.spelling import cell_text
from rondo.files.text.table import read_open_text
from rondo.memory import in_gigabytes, most_for_a_file, most_text_bytes
from rondo.store.reading import open_regular

_ROWS_LOOKED_AT = 200  # in which a table begins, if there is one
_MOST_HEADER_ROWS = 3
_OLD = b"\xd0\xcf\x11\xe0"
_CELL_BYTES = 32  # calamine holds every cell between the first and the last, filled or not
_CELL_NAME = re.compile(rb"""\sr=["']([A-Z]{1,3})([0-9]{1,7})["']""")


def read_xlsx(path: Path, reading: Reading) -> Recording:
    """The table in the sheet called `key`, or in the largest one that holds numbers."""
    with _sheet_as_text(path, reading.key) as (text, notes):
        return read_open_text(text, layout_of, path.stem, reading).noted(*notes)


def read_xlsx_parts(path: Path, reading: Reading) -> list[Recording]:
    """The recordings in that table, separated by a column."""
    with _sheet_as_text(path, reading.key) as (text, notes):
        return [part.noted(*notes) for part in open_text_parts(text, layout_of, path.stem, reading)]


@contextmanager
def _sheet_as_text(path: Path, key: str | None) -> Iterator[tuple[BinaryIO, tuple[str, ...]]]:
    """The lines of the sheet that is read, and notes on others."""
    with opened_sheet(path, key) as (sheet, notes), tempfile.TemporaryFile() as text:
        _write_lines(sheet, text)
        yield text, notes


@contextmanager
def opened_sheet(path: Path, key: str | None) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """The sheet that is read, of a file that fits into memory and ends no process, and notes on others."""
    head = marked_head(path, 8, lambda head: head.startswith((b"PK", _OLD)), "Excel workbook (.xlsx)")
    if head.startswith(_OLD):
        raise RecordingError("it has a password, or is an old .xls; save it as .xlsx without a password")
    calamine = optional_library("python_calamine", "Reading .xlsx")
    _refuse_bomb(path)
    refuse_fatal(
        path, "python_calamine", "book = python_calamine.load_workbook(path)\nbook.sheet_names\n" + _EVERY_SHEET
    )
    with calamine.load_workbook(str(path)) as book:
        yield _chosen(book, key)


_EVERY_SHEET = """\
for name in book.sheet_names:
    try:
        book.get_sheet_by_name(name).to_python(nrows=1)
    except Exception:  # charts
        pass
"""


def _refuse_bomb(path: Path) -> None:
    """What it holds unpacked, and how far its cells lie apart, must fit into the memory that is free."""
    most = most_for_a_file()
    most_text = most_text_bytes(most)
    if most is None or most_text is None:
        return
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        needed, room = sum(member.file_size for member in members), most_text
        if needed <= room:
            sheets = [member for member in members if member.filename.startswith("xl/worksheets/")]
            extents = [_extent(archive, sheet) for sheet in sheets if sheet.filename.endswith(".xml")]
            needed, room = _CELL_BYTES * max(extents, default=0), most
    if needed > room:
        raise RecordingError(
            f"its cells take {in_gigabytes(needed)}, {in_gigabytes(room)} have room; delete what lies far from the "
            "table, or cut it into shorter recordings"
        )


def _extent(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """Cells of the rectangle that reaches to the last ones; zipfile ends where a member is longer than it says."""
    last_row = last_column = 0
    with archive.open(member) as sheet:
        rest = b""
        while piece := sheet.read(1 << 20):
            for column, row in _CELL_NAME.findall(rest + piece):
                number = reduce(lambda so_far, letter: 26 * so_far + letter - ord("A") + 1, column, 0)
                last_row, last_column = max(last_row, int(row)), max(last_column, number)
            rest = piece[-16:]
    return last_row * last_column


def _chosen(book: Any, key: str | None) -> tuple[Any, tuple[str, ...]]:
    """The sheet that is read, and a note where others hold numbers too."""
    sheets = [about.name for about in book.sheets_metadata if str(about.typ).endswith("WorkSheet")]
    if key is not None:
        if key not in sheets:
            raise RecordingError(f"there is no sheet '{key}' in it, only: {listed(sheets)}; name one with key (--key)")
        return book.get_sheet_by_name(key), ()
    visible = {about.name for about in book.sheets_metadata if str(about.visible).endswith("Visible")}
    shown = [book.get_sheet_by_name(name) for name in sheets if name in visible]
    tables = [sheet for sheet in shown if _table_start(sheet) is not None]
    if not tables:
        raise RecordingError(f"no sheet holds a table of numbers: {listed(sheets)}")
    largest = max(tables, key=lambda sheet: sheet.height * sheet.width)
    others = [f"'{sheet.name}'" for sheet in tables if sheet is not largest]
    if not others:
        return largest, ()
    return largest, (f"sheet '{largest.name}' read, others left out: {listed(others)}; name one with key (--key)",)


def _table_start(sheet: Any) -> int | None:
    """The row of the header, or the first one of numbers; None where there is no table.

    Numbers may stand in remarks too: a row of the table has at least half as many as rows usually have.
    """
    rows: list[list[Any]] = sheet.to_python(nrows=_ROWS_LOOKED_AT)
    n_numbers = [sum(map(_is_value, row)) for row in rows]
    some = sorted(filter(None, n_numbers))
    if not some:
        return None
    usual = some[len(some) // 2]
    first = next(place for place, found in enumerate(n_numbers) if 2 * found >= usual)
    n_filled = sum(cell != "" for cell in rows[first])
    start = first
    for place in range(first - 1, max(-1, first - 1 - _MOST_HEADER_ROWS), -1):  # units need not stand in each column
        above = rows[place]
        if any(map(_is_value, above)) or not any(cell != "" for cell in above):
            break
        start = place if 2 * sum(cell != "" for cell in above) >= n_filled else start
    return start


def _is_value(cell: object) -> bool:
    return cell != "" and not isinstance(cell, str)


def _write_lines(sheet: Any, text: BinaryIO) -> None:
    """Cells between tabs. Rows above the table end with their last cell, so that they are seen to be no part of it."""
    first_row = (sheet.start or (0, 0))[0]
    text.write(b"\n" * first_row)
    start = _table_start(sheet) or 0
    blank: list[bytes] = []
    rows = dropwhile(lambda row: not any(cell != "" for cell in row), sheet.iter_rows())  # calamine gives some of them
    for place, row in enumerate(rows):
        cells = [cell_text(cell) for cell in row]
        line = "\t".join(cells)
        line = (line.rstrip("\t") if place < start else line) + "\n"
        if any(cells):
            text.writelines(blank)
            text.write(line.encode("utf-8", "replace"))
            blank = []
        else:
            blank.append(line.encode())
    text.seek(0)


FORMAT = RecordingFormat(
    name="xlsx",
    suffixes=(".xlsx", ".xlsm"),
    read=read_xlsx,
    read_parts=read_xlsx_parts,
    takes_key=True,
    extra="io",
    help="the sheet with the table, or the one named by `--key`, read as a text table is",
    order=4,
)
