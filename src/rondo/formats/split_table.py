"""One table that holds several recordings, told apart by a column (`split_by`): a person, a machine, an experiment.

Rows of one value, in their order, are one recording, called by the file and the value. Each is read as a file of its
own would be, with everything that stands above the rows. The column itself is no channel.

Where the column is the clock, the table is cut wherever it goes back: a device was started anew.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.formats.columns import Columns, choose_columns, listed
from rondo.formats.csv_file import layout_of_lines
from rondo.formats.dates import date_seconds, day_order
from rondo.formats.file_names import TEXT_SUFFIXES, id_of, suffix_of
from rondo.formats.text_file import BLOCK_BYTES, opened_utf8, read_layout, read_open_text
from rondo.formats.text_layout import Layout
from rondo.wording import counted

MOST_RECORDINGS = 10_000
"""More are a sign that the column tells rows apart, not recordings."""
_NOT_IN_IDS = re.compile(r"[^\w.+-]+")


def read_split(
    path: Path, split_by: str, *, rate: float | None = None, label_columns: Sequence[str] = ()
) -> list[Recording]:
    """The recordings in a text table, in the order in which their values first come."""
    if suffix_of(path) not in TEXT_SUFFIXES:
        raise RecordingError(f"only tables in text ({' '.join(TEXT_SUFFIXES)}) can be split by a column")
    with opened_utf8(path) as file:
        layout = read_layout(file, layout_of_lines, BLOCK_BYTES)
        if split_by not in layout.names:
            raise RecordingError(
                f"there is no column '{split_by}' to split by; the columns are: {listed(layout.names)}"
            )
        file.seek(0)
        above, rows = file.read(layout.start), file.read()
    position = layout.names.index(split_by)
    columns = choose_columns(layout.names, rate=None, label_columns=label_columns, kinds=layout.kinds())
    restart = _restarts(layout, columns) if columns.clock == position else None
    parts = _parts(rows, layout, position, restart)
    ids = {value: f"{id_of(path)}_{_NOT_IN_IDS.sub('_', value).strip('_') or 'blank'}" for value in parts}
    twice = next((value for value, id in ids.items() if list(ids.values()).count(id) > 1), None)
    if twice is not None:
        raise RecordingError(
            f"values of column '{split_by}' such as '{twice}' give the same id '{ids[twice]}'; rename them"
        )
    left_out = label_columns if restart else tuple(dict.fromkeys((*label_columns, split_by)))
    how = f"cut where the clock '{split_by}' goes back" if restart else f"told apart by column '{split_by}'"
    note = f"one of {counted(len(parts), 'recording')} in the file, {how}"
    return [_read(above + b"".join(lines), ids[value], rate, left_out).noted(note) for value, lines in parts.items()]


def _read(text: bytes, id: str, rate: float | None, label_columns: Sequence[str]) -> Recording:
    try:
        return read_open_text(io.BytesIO(text), layout_of_lines, id=id, rate=rate, label_columns=label_columns)
    except RecordingError as error:
        what = str(error).removeprefix(f"recording '{id}': ")
        raise RecordingError(f"{what} (in recording '{id}')") from error


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
        text = layout.delimited(line.rstrip(b"\r\n") + b"\n").text.decode("utf-8", "replace")
        cells = next(csv.reader([text], delimiter=layout.delimiter), [])
        value = cells[position].strip() if position < len(cells) else ""
        if not line.strip() or (layout.has_header and value == layout.names[position]):
            continue
        value = value if part_of is None else part_of(value)
        parts.setdefault(value, []).append(line if line.endswith(b"\n") else line + b"\n")
        if len(parts) > MOST_RECORDINGS:
            raise RecordingError(
                f"column '{layout.names[position]}' has more than {MOST_RECORDINGS} values; name one that tells "
                "recordings apart, not rows"
            )
    return parts
