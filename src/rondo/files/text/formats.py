"""Text tables (.csv, .tsv, .txt): a header, one row per frame; what they may look like is in `text_layout`."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.columns import Columns, choose_columns
from rondo.files.reading import Reading, RecordingFormat, id_of, listed, packing_of
from rondo.files.text.layout import Layout, json_layout, layout_of
from rondo.files.text.lines import expected_text_bytes
from rondo.files.text.spelling import date_seconds, day_order
from rondo.files.text.table import BLOCK_BYTES, LayoutFinder, opened_utf8, read_layout, read_open_text
from rondo.memory import ExpectedSize
from rondo.wording import counted

# ----------------------------------------------------------------
# One table that holds several recordings, separated by a column (`split_by`): a person, a machine, an experiment.
#
# Rows of one value, in their order, are one recording, called by the file and the value. Each is read as a file of its
# own would be, with everything that stands above the rows. The column itself is no channel.
#
# Where the column is the clock, the table is cut wherever it goes back: a device was started again.
#
# Here is what all tables share, and how text is cut (a sheet is text too); `rondo.files.tables` cuts typed tables.

MOST_RECORDINGS = 10_000
"""More are a sign that the column tells rows apart, not recordings."""
_NOT_IN_IDS = re.compile(r"[^\w.+-]+")
_WHOLE = re.compile(r"(-?\d+)\.0+")


# ---------------------------------------------------------------- what all tables share


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


def part_ids(id: str, values: Iterable[str], split_by: str) -> dict[str, str]:
    """The id of the recording of each value; values that would share one are refused."""
    ids: dict[str, str] = {}
    value_of: dict[str, str] = {}
    for value in values:
        part_id = f"{id}_{_NOT_IN_IDS.sub('_', value).strip('_') or 'blank'}"
        if part_id in value_of:
            raise RecordingError(
                f"values of column '{split_by}' such as '{value_of[part_id]}' give the same id '{part_id}'; rename them"
            )
        ids[value], value_of[part_id] = part_id, value
    return ids


def refuse_too_many(n_parts: int, split_by: str) -> None:
    """A column that differs in nearly each row tells no recordings apart."""
    if n_parts > MOST_RECORDINGS:
        raise RecordingError(
            f"column '{split_by}' has more than {MOST_RECORDINGS} values; name one that tells recordings apart, not "
            "rows"
        )


def part_note(n_parts: int, split_by: str, *, is_clock: bool) -> str:
    """What is said about each recording."""
    how = f"cut where the clock '{split_by}' goes back" if is_clock else f"told apart by column '{split_by}'"
    return f"one of {counted(n_parts, 'recording')} in the file, {how}"


@contextmanager
def named_part(id: str) -> Iterator[None]:
    """Say in which of the recordings something is wrong."""
    try:
        yield
    except RecordingError as error:
        what = str(error).removeprefix(f"recording '{id}': ")
        raise RecordingError(f"{what} (in recording '{id}')") from error


# ---------------------------------------------------------------- text


def open_text_parts(file: BinaryIO, layout_of: LayoutFinder, id: str, reading: Reading) -> list[Recording]:
    """The recordings in a text table in UTF-8, in the order in which their values first come."""
    layout, split_by = read_layout(file, layout_of, BLOCK_BYTES), reading.split_by or ""
    refuse_no_column(split_by, layout.names)
    file.seek(0)
    above, rows = file.read(layout.start), file.read()
    position = layout.names.index(split_by)
    described = [
        replace(column, moves=False, rises=True) for column in layout.columns()
    ]  # any clock splits, coarse or not
    columns = choose_columns(described, replace(reading, rate=None))
    restart = _restarts(layout, columns) if columns.clock == position else None
    parts = _parts(rows, layout, position, restart)
    ids = part_ids(id, parts, split_by)
    of_part = reading.without_split(keeps_column=restart is not None)
    note = part_note(len(parts), split_by, is_clock=restart is not None)
    found = []
    for value, lines in parts.items():
        with named_part(ids[value]):
            text = io.BytesIO(above + b"".join(lines))
            found.append(read_open_text(text, layout_of, ids[value], of_part).noted(note))
    return found


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
) -> dict[str, list[bytes]]:
    """The lines of each value; blank lines and the header again belong to none."""
    parts: dict[str, list[bytes]] = {}
    lines = rows.splitlines(keepends=True)
    for line in lines:
        text = layout.delimited(line.rstrip(b"\r\n") + b"\n")[0].decode("utf-8", "replace")
        cells = next(csv.reader([text], delimiter=layout.delimiter), [])
        value = cells[position].strip() if position < len(cells) else ""
        if not line.strip() or (layout.has_header and value == layout.names[position]):
            continue
        value = plain_value(value) if part_of is None else part_of(value)
        parts.setdefault(value, []).append(line if line.endswith(b"\n") else line + b"\n")
        refuse_too_many(len(parts), layout.names[position])
    return parts


def read_text(path: Path, reading: Reading, layout_of: LayoutFinder = layout_of) -> Recording:
    """The recording in a text table."""
    with opened_utf8(path) as file:
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
