"""Text tables (.csv, .tsv, .txt) and JSON lines as formats; one table that holds several recordings.

A column (`split_by`) tells recordings apart: a person, a machine, an experiment. Rows of one value, in their order, are
one recording, called by the file and the value. Each is read as a file of its own would be, with everything that stands
above the rows. The column itself is no channel. Where it is the clock, the table is cut wherever it goes back: a device
was started again. `rondo.files.tables` cuts typed tables likewise.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.columns import Columns, choose_columns
from rondo.files.reading import Reading, RecordingFormat, id_of, listed, packing_of
from rondo.files.text.layout import Layout, json_layout, layout_of
from rondo.files.text.lines import expected_text_bytes
from rondo.files.text.sleap import is_sleap, read_sleap
from rondo.files.text.spelling import date_seconds, day_order
from rondo.files.text.table import BLOCK_BYTES, LayoutFinder, opened_utf8, read_layout, read_open_text
from rondo.memory import ExpectedSize
from rondo.wording import counted

MOST_RECORDINGS = 10_000
"""More are a sign that the column tells rows apart, not recordings."""
Rows = TypeVar("Rows")
_NOT_IN_IDS = re.compile(r"[^\w.+-]+")
_WHOLE = re.compile(r"(-?\d+)\.0+")


def refuse_no_column(split_by: str, names: Sequence[str]) -> None:
    """There must be the column to split by."""
    if split_by not in names:
        raise RecordingError(f"there is no column '{split_by}' to split by; the columns are: {listed(names)}")


def plain_value(text: str) -> str:
    """A value of the column, the same whether a file stores whole numbers as such or not.

    >>> [plain_value(text) for text in ("3.0", "3.10", "03", " anna ")]
    ['3', '3.10', '03', 'anna']
    """
    text = text.strip()
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text


def id_part(value: str) -> str:
    """A value as a part of the id of a recording.

    >>> id_part("b/2 (left)"), id_part("?")
    ('b_2_left', 'blank')
    """
    return _NOT_IN_IDS.sub("_", value).strip("_") or "blank"


def refuse_too_many(n_parts: int, split_by: str) -> None:
    """A column that differs in nearly each row tells no recordings apart."""
    if n_parts > MOST_RECORDINGS:
        raise RecordingError(
            f"column '{split_by}' has more than {MOST_RECORDINGS} values; name one that tells recordings apart, not "
            "rows"
        )


def read_each(
    rows_of: Mapping[str, Rows], id: str, reading: Reading, *, is_clock: bool,
    read: Callable[[Rows, str, Reading], Recording],
) -> list[Recording]:  # fmt: skip
    """The recording of each value, from its rows; values that would share an id are refused."""
    split_by = reading.split_by or ""
    how = f"cut where the clock '{split_by}' goes back" if is_clock else f"told apart by column '{split_by}'"
    note = f"one of {counted(len(rows_of), 'recording')} in the file, {how}"
    value_of: dict[str, str] = {}
    for value in rows_of:
        part_id = f"{id}_{id_part(value)}"
        if part_id in value_of:
            raise RecordingError(
                f"values of column '{split_by}' such as '{value_of[part_id]}' give the same id '{part_id}'; rename them"
            )
        value_of[part_id] = value
    parts = []
    for part_id, value in value_of.items():
        try:
            recording = read(rows_of[value], part_id, reading.without_split(keeps_column=is_clock))
        except RecordingError as error:
            what = str(error).removeprefix(f"recording '{part_id}': ")
            raise RecordingError(f"{what} (in recording '{part_id}')") from error
        parts.append(recording.noted(note))
    return parts


def open_text_parts(file: BinaryIO, layout_of: LayoutFinder, id: str, reading: Reading) -> list[Recording]:
    """The recordings in a text table in UTF-8, in the order in which their values first come."""
    layout, split_by = read_layout(file, layout_of, BLOCK_BYTES), reading.split_by or ""
    refuse_no_column(split_by, layout.names)
    file.seek(0)
    above, rows = file.read(layout.start), file.read()
    position = layout.names.index(split_by)
    any_clock = [replace(column, moves=False, rises=True) for column in layout.columns()]  # a coarse one splits too
    columns = choose_columns(any_clock, replace(reading, rate=None))
    restart = _restarts(layout, columns) if columns.clock == position else None
    parts = _parts(rows, layout, position, restart)

    def read(lines: dict[int, bytes], part_id: str, of_part: Reading) -> Recording:
        text = io.BytesIO(above + b"".join(lines.values()))
        return read_open_text(text, layout_of, part_id, of_part, numbers=list(lines))

    return read_each(parts, id, reading, is_clock=restart is not None, read=read)


def _restarts(layout: Layout, columns: Columns) -> Callable[[str], str]:
    """Which recording a reading of the clock belongs to, asked row by row: "1" until it goes back, then "2", …"""
    day_first = day_order(layout.column(columns.clock or 0)).day_first
    holds_dates = layout.holds_dates(columns.clock or 0)
    number, before = 1, -math.inf

    def part_of(cell: str) -> str:
        nonlocal number, before
        try:
            now = date_seconds(cell, day_first=day_first) if holds_dates else float(cell.replace(",", "."))
        except ValueError:  # whoever reads the row says what is wrong with it
            now = math.nan
        number += now < before
        before = before if math.isnan(now) else now
        return str(number)

    return part_of


def _parts(
    rows: bytes, layout: Layout, position: int, part_of: Callable[[str], str] | None = None
) -> dict[str, dict[int, bytes]]:
    """The lines of each value, by their numbers; blank lines and the header again belong to none."""
    parts: dict[str, dict[int, bytes]] = {}
    for number, line in enumerate(rows.splitlines(keepends=True), layout.first_line):
        text = layout.delimited(line.rstrip(b"\r\n") + b"\n")[0].decode("utf-8", "replace")
        cells = next(csv.reader([text], delimiter=layout.delimiter), [])
        value = cells[position].strip() if position < len(cells) else ""
        if not line.strip() or (layout.has_header and value == layout.names[position]):
            continue
        value = plain_value(value) if part_of is None else part_of(value)
        parts.setdefault(value, {})[number] = line if line.endswith(b"\n") else line + b"\n"
        refuse_too_many(len(parts), layout.names[position])
    return parts


def read_text(path: Path, reading: Reading, layout_of: LayoutFinder = layout_of) -> Recording:
    """The recording in a text table."""
    with opened_utf8(path) as file:
        file.seek(0)
        header = file.readline(1 << 16).decode("utf-8", "replace").strip().split(",")
        file.seek(0)
        if is_sleap(header) and not reading.names("track"):
            return read_sleap(file, id_of(path), reading)
        return read_open_text(file, layout_of, id_of(path), reading)


def read_text_parts(path: Path, reading: Reading, layout_of: LayoutFinder = layout_of) -> list[Recording]:
    """The recordings in a text table that a column separates."""
    with opened_utf8(path) as file:
        return open_text_parts(file, layout_of, id_of(path), reading)


def _expected_size(path: Path, reading: Reading) -> ExpectedSize:
    return ExpectedSize(None, None, expected_text_bytes(path) if packing_of(path) else path.stat().st_size)


JSON_LINES = RecordingFormat(
    name="json lines",
    suffixes=(".jsonl", ".ndjson"),
    read=partial(read_text, layout_of=json_layout),
    read_parts=partial(read_text_parts, layout_of=json_layout),
    expected_size=_expected_size,
    help="one object per line, one key per channel; a key `time` is the clock; also packed",
    order=0,
)


TABLES = RecordingFormat(
    name="csv",
    suffixes=(".csv", ".tsv", ".txt"),
    read=read_text,
    read_parts=read_text_parts,
    expected_size=_expected_size,
    help="one row per frame; the header is optional; a `time` column is the clock; also packed, as `.csv.gz`",
    order=0,
)
