"""Tables of segments that lie in a run folder: read whole or in parts, and checked against its summary.json."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rondo.errors import OutputError
from rondo.run.segments import optional_columns, whole_columns
from rondo.run.summary import RunSummary
from rondo.store.reading import regular

if TYPE_CHECKING:
    import polars as pl

    from rondo.result import Result

SEGMENTS = "segments.parquet"
_MANY_RECORDINGS = 200  # of more, segments are read only as they are needed


def segment_counts(result: Result) -> dict[str, int]:
    """How many segments each recording of a result has."""
    import polars as pl

    path = _large_file(result)
    if path is None:
        return counts_in(result.tables["segments"])
    with reading_table(path):
        rows = pl.scan_parquet(regular(path), glob=False, hive_partitioning=False)
        return dict(rows.group_by("recording").len().collect(engine="streaming").iter_rows())


def counts_in(table: pl.DataFrame) -> dict[str, int]:
    """How many segments a table has of each recording."""
    return dict(table["recording"].value_counts().iter_rows())


def segments_of(result: Result, recordings: Sequence[str]) -> pl.DataFrame:
    """The segments of some recordings of a result; from a run over many recordings, only these rows are read."""
    path = _large_file(result)
    if path is not None:
        return read_segments(path, result.summary, recordings)
    table = result.tables["segments"]
    return table if len(recordings) == len(result) else table.filter(table["recording"].is_in(recordings))


def _large_file(result: Result) -> Path | None:
    """The table of a run over many recordings."""
    is_large = result.folder is not None and len(result) > _MANY_RECORDINGS
    return result.folder / SEGMENTS if is_large and result.folder is not None else None


@contextmanager
def reading_table(path: Path, what: str = "a table of segments") -> Iterator[None]:
    """OutputError, with what the file should be, where polars cannot read it."""
    import polars as pl

    try:
        yield
    # a damaged file can also panic inside polars' native code, which is no Exception
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OutputError(f"{path}: cannot be read as {what} ({reason}); run `rondo discover` again") from error


def read_segments(path: Path, run: RunSummary, recordings: Sequence[str] | None = None) -> pl.DataFrame:
    """A table of segments with all columns, null where there is none; checked against the summary.

    `recordings`: only their rows are read.
    """
    import polars as pl

    wanted = {
        "recording": pl.String, "level": pl.String, "id": pl.Int32, "start_frame": pl.Int64, "end_frame": pl.Int64,
    }  # fmt: skip
    with reading_table(path):
        rows = pl.scan_parquet(regular(path), glob=False, hive_partitioning=False)
        if recordings is not None:
            rows = rows.filter(pl.col("recording").is_in(recordings))
        table = rows.collect()
        missing = [name for name in wanted if name not in table.columns]
        if missing:
            raise OutputError(f"{path}: the column '{missing[0]}' is missing; run `rondo discover` again")
        kinds = wanted | {name: kind for name, kind in optional_columns().items() if name in table.columns}
        table = whole_columns(table.with_columns(pl.col(name).cast(kind) for name, kind in kinds.items()))
    _check_spans(table, path, run)
    places = {one.id: place for place, one in enumerate(run.recordings)}
    order = [
        pl.col("recording").replace_strict(places),
        pl.col("level").replace_strict({"unit": 0, "motif": 1}),
        pl.col("start_frame"),
    ]
    return table.sort(order, maintain_order=True)


def _times_ok() -> pl.Expr:
    """Of a segment: none, or two that follow on each other."""
    import polars as pl

    start_s, end_s = pl.col("start_s"), pl.col("end_s")
    in_order = start_s.is_finite() & end_s.is_finite() & (start_s <= end_s)
    return (start_s.is_null() & end_s.is_null()) | in_order.fill_null(False)


def _check_spans(table: pl.DataFrame, path: Path, run: RunSummary) -> None:
    import polars as pl

    lengths = pl.DataFrame(
        {"recording": [r.id for r in run.recordings], "n_frames": [r.n_frames for r in run.recordings]}
    )
    known = table.join(lengths, on="recording", how="left").with_row_index("row")
    spans_ok = (pl.col("start_frame") >= 0) & (pl.col("start_frame") < pl.col("end_frame"))
    sound = (
        (spans_ok & (pl.col("end_frame") <= pl.col("n_frames"))).fill_null(False)
        & pl.col("level").is_in(["unit", "motif"]).fill_null(False)
        & pl.col("id").is_not_null()
        & _times_ok()
    )
    bad = known.filter(~sound.fill_null(False))
    if bad.height:
        row = bad.row(0, named=True)
        raise OutputError(
            f"{path}: row {row['row']} (recording '{row['recording']}', level '{row['level']}', "
            f"id {row['id']}, frames {row['start_frame']} to {row['end_frame']}, seconds {row['start_s']} to "
            f"{row['end_s']}) does not fit summary.json; "
            "run `rondo discover` again"
        )
