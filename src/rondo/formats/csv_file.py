"""Text tables (.csv, .tsv, .txt): a header, one row per frame; what they may look like is in `text_layout`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rondo.data.recording import Recording
from rondo.formats.json_lines import are_json_lines, json_layout
from rondo.formats.lines import HeadLine
from rondo.formats.recording_format import RecordingFormat
from rondo.formats.split_table import read_text_parts
from rondo.formats.text_file import BLOCK_BYTES, read_text_file
from rondo.formats.text_layout import Layout, layout_of


def layout_of_lines(lines: Sequence[HeadLine]) -> Layout:
    """The layout of a text by what it holds, whatever its name: a table, or JSON lines."""
    return json_layout(lines) if are_json_lines(lines) else layout_of(lines)


def read_csv(
    path: Path, *, rate: float | None, label_columns: Sequence[str] = (), block_bytes: int = BLOCK_BYTES
) -> Recording:
    """The recording in a text table; `block_bytes` bounds the memory used beside the result."""
    return read_text_file(path, layout_of_lines, rate=rate, label_columns=label_columns, block_bytes=block_bytes)


def read_csv_parts(
    path: Path, split_by: str, *, rate: float | None, label_columns: Sequence[str] = ()
) -> list[Recording]:
    """The recordings in a text table that a column tells apart."""
    return read_text_parts(path, split_by, layout_of_lines, rate=rate, label_columns=label_columns)


FORMAT = RecordingFormat(
    name="csv",
    suffixes=(".csv", ".tsv", ".txt"),
    read=read_csv,
    read_parts=read_csv_parts,
    help="one row per frame; the header is optional; a `time` column is the clock; also packed, as `.csv.gz`",
    order=0,
)
