"""JSON lines (.jsonl, .ndjson): one object per line, one key per channel.

    {"time": 0.00, "x": 1.5, "y": -2.0}
    {"time": 0.02, "x": 1.4, "y": null}

The keys of the first 64 objects are the columns. Their order in a line does not matter; a key that is absent or null
is a missing value. Numbers may be written as text, true and false are 1 and 0. A column of text, lists or objects is
left out. Everything else works as for any text table (`text_layout`, `row_parser`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.formats.lines import HeadLine, decoded
from rondo.formats.recording_format import RecordingFormat
from rondo.formats.split_table import read_text_parts
from rondo.formats.text_file import read_text_file
from rondo.formats.text_layout import Delimited, Layout

_SEPARATOR = "\t"
_NO_OBJECT = "not a JSON object"
_AS_WRITTEN = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


def read_json_lines(path: Path, *, rate: float | None, label_columns: Sequence[str] = ()) -> Recording:
    """The recording in a file of JSON lines."""
    return read_text_file(path, json_layout, rate=rate, label_columns=label_columns)


def read_json_parts(
    path: Path, split_by: str, *, rate: float | None, label_columns: Sequence[str] = ()
) -> list[Recording]:
    """The recordings in a file of JSON lines that a key tells apart."""
    return read_text_parts(path, split_by, json_layout, rate=rate, label_columns=label_columns)


def are_json_lines(lines: Sequence[HeadLine]) -> bool:
    """Whether a text begins with an object."""
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
    into_cells = partial(_cells_of_lines, names=names)
    return Layout(_SEPARATOR, names, rows, lines[0].start, lines[0].number, into_cells=into_cells)


def _cells_of_lines(text: bytes, names: tuple[str, ...]) -> Delimited:
    known, blank = frozenset(names), (None,) * len(names)
    cells: list[str] = []
    places: list[int] = []
    faults: list[tuple[int, str]] = []
    unknown: set[str] = set()
    for place, line in enumerate(text.split(b"\n")[:-1]):
        if not line.strip():
            continue
        found = _object(decoded(line)[0])
        if found is None:
            faults.append((place, _NO_OBJECT))
            continue
        places.append(place)
        cells.append(_SEPARATOR.join(map(_cell, map(found.get, names, blank))))
        if not known.issuperset(found):
            unknown |= found.keys() - known
    joined = "".join(f"{row}\n" for row in cells).encode("utf-8", "replace")
    return Delimited(joined, tuple(places), tuple(faults), frozenset(unknown))


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


FORMAT = RecordingFormat(
    name="json lines",
    suffixes=(".jsonl", ".ndjson"),
    read=read_json_lines,
    read_parts=read_json_parts,
    help="one object per line, one key per channel; a key `time` is the clock; also packed",
    order=0,
)
