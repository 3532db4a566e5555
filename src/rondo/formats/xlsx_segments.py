"""Tables of segments as Excel workbooks: written with xlsxwriter (extra `xlsx`), read with python-calamine (`io`).

The columns are those of the csv. Start and end are dates where the clock has them; Excel keeps them to the millisecond.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from rondo.annotations.formats import AnnotationFormat, Export
from rondo.annotations.segments import tracks_in
from rondo.annotations.tracks import Track
from rondo.errors import AnnotationError, RecordingError
from rondo.formats.xlsx import opened_sheet
from rondo.store.workbook import workbook

_SHEET = "segments"


def as_xlsx(export: Export) -> dict[str, bytes]:
    return {"": workbook({_SHEET: (export.table.columns, export.table.iter_rows())})}


def read_xlsx_segments(path: Path) -> list[Track]:
    """One track per recording and level, of the sheet `segments`."""
    try:
        with opened_sheet(path, _SHEET) as (sheet, _):
            header, *rows = sheet.to_python()
        columns = {str(name): list(cells) for name, cells in zip(header, zip(*rows, strict=True), strict=True)}
        numbers, texts = ("id", "start_frame", "end_frame"), ("recording", "level", "label", "name")
        kinds = dict.fromkeys(numbers, pl.Float64) | dict.fromkeys(texts, pl.String)
        table = pl.DataFrame({name: pl.Series(columns[name], dtype=kinds[name]) for name in kinds if name in columns})
        return tracks_in(table, path)
    except (OSError, ValueError, RecordingError, PolarsError) as error:
        raise AnnotationError(f"'{path}': not a readable table of segments ({str(error)[:120]!r})") from error


FORMAT = AnnotationFormat(
    name="xlsx", program="Excel", suffixes=(".xlsx",), read=read_xlsx_segments, write=as_xlsx, order=7
)
