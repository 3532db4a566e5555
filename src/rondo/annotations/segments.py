"""Tables of segments, as `rondo discover` and `rondo export --format csv|parquet` write them: spans in frames.

Times in them are those of the recording's own clock, empty where it has neither a rate nor a clock.
"""

from __future__ import annotations

from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from rondo.annotations.formats import AnnotationFormat, Export
from rondo.annotations.tracks import NamedSpan, Track
from rondo.data.labels import OTHER
from rondo.errors import AnnotationError, RecordingError
from rondo.files.crash_guard import refuse_fatal_parquet
from rondo.store.csv_text import csv_of_table, text_table
from rondo.store.reading import open_regular, regular

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("recording", "level", "id", "start_frame", "end_frame")


def is_segment_table(path: Path) -> bool:
    """Whether a .csv has the columns of a segment table; other suffixes are not looked into."""
    try:
        with TextIOWrapper(open_regular(path), encoding="utf-8-sig") as file:
            header = file.readline(4096).strip().split(",")
    except (OSError, UnicodeError):
        return False
    return set(COLUMNS) <= {name.strip('"') for name in header}


def read_segment_table(path: Path) -> list[Track]:
    """One track per recording and level; the class is the id, or the name in a column `label`."""
    import polars as pl

    is_parquet = path.suffix.lower() == ".parquet"
    try:
        if is_parquet:
            refuse_fatal_parquet(regular(path))
            table = pl.read_parquet(regular(path), glob=False, hive_partitioning=False)
        else:  # what `csv_of_table` wrote; a recording called 007 keeps its name
            text = dict.fromkeys(("recording", "level", "label", "name"), pl.String)
            table = text_table(pl.read_csv(regular(path), glob=False, schema_overrides=text, infer_schema_length=None))
        return tracks_in(table, path)
    except (OSError, RecordingError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise AnnotationError(f"'{path}': not a readable table of segments ({str(error)[:120]!r})") from error


def tracks_in(table: pl.DataFrame, path: Path) -> list[Track]:
    """The tracks in a table with the columns of a table of segments; PolarsError where it holds something else."""
    import polars as pl

    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise AnnotationError(f"'{path}': no column '{missing[0]}'; expected a table of segments as of a run")
    label = "label" if "label" in table.columns else "id"
    kinds = {"recording": pl.String, "level": pl.String, "start_frame": pl.Int64, "end_frame": pl.Int64}
    table = table.filter(pl.col("id") != OTHER)
    table = table.select(*(pl.col(name).cast(kind) for name, kind in kinds.items()), pl.col(label).cast(pl.String))
    if any(table.null_count().row(0)):
        raise AnnotationError(f"'{path}': a cell is empty; a segment has a recording, a level, an id and two frames")
    spans: dict[tuple[str, str], list[NamedSpan]] = {}
    for recording, level, start, stop, name in table.iter_rows():
        spans.setdefault((recording, level), []).append(NamedSpan(start, stop, name))
    return [Track(tuple(found), level, recording, "frames") for (recording, level), found in spans.items()]


def as_parquet(export: Export) -> dict[str, bytes]:
    buffer = BytesIO()
    export.table.write_parquet(buffer)
    return {"": buffer.getvalue()}


CSV = AnnotationFormat(
    name="csv",
    program="table",
    suffixes=(".csv",),
    read=read_segment_table,
    recognises=is_segment_table,
    write=lambda export: {"": csv_of_table(export.table).encode("utf-8")},
    order=0,
)
PARQUET = AnnotationFormat(
    name="parquet", program="table", suffixes=(".parquet",), read=read_segment_table, write=as_parquet, order=1
)
