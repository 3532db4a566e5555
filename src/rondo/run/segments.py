"""The table of segments: every occurrence of a unit or motif, in frames, seconds and dates; OTHER is left out.

    recording, level     which recording; "unit" or "motif", or "phrase" or "context" for motifs of the kind that
                         labels do not show
    id, name             of the entry; the name that people gave it, "" where they gave none
    start_frame, end_frame   half-open
    start_s, end_s       by the clock of the recording, or frames over its rate; null where it has neither
    start_time, end_time     the same as dates, where the clock counts from 1970; null elsewhere
    score                mean over the frames, in [0, 1]
    units                of a motif: the units inside it, in order

Inside Rondo it is a polars table; people get pandas (`to_pandas`), which needs no pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats as Floats
from rondo.data.labels import OTHER, Labels, Runs, from_runs
from rondo.errors import OutputError
from rondo.forks import refuse_forked
from rondo.run.summary import RunSummary
from rondo.store.reading import regular
from rondo.units.vocabulary import Level
from rondo.wording import EARLIEST_DATE_S, LATEST_DATE_S

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from rondo.result import Result
    from rondo.run.data import RunData
    from rondo.run.summary import RunSummary


LEVELS: tuple[Level, ...] = ("unit", "motif")
Table = TypeVar("Table", "pl.DataFrame", "pl.LazyFrame")
KINDS = ("phrase", "context")  # of motifs: the levels of the kind that labels do not show
COLUMNS = (
    "recording", "level", "id", "name", "start_frame", "end_frame", "start_s", "end_s", "start_time", "end_time",
    "score", "units",
)  # fmt: skip


def with_dates(table: pl.DataFrame) -> pl.DataFrame:
    """With start_time and end_time from start_s and end_s, and all columns in their order."""
    import polars as pl

    def date(name: str) -> pl.Expr:
        seconds = pl.col(name)
        known = seconds.is_between(EARLIEST_DATE_S, LATEST_DATE_S)
        return pl.when(known).then((seconds * 1e6).round().cast(pl.Int64)).cast(pl.Datetime("us"))

    return table.with_columns(date("start_s").alias("start_time"), date("end_s").alias("end_time")).select(COLUMNS)


def dates_of(seconds: Floats) -> NDArray[np.datetime64]:
    """Readings of a clock as dates; NaT where they do not count from 1970, as in `with_dates`."""
    known = (seconds >= EARLIEST_DATE_S) & (seconds <= LATEST_DATE_S)
    micros = np.where(known, np.round(1e6 * np.where(known, seconds, 0.0)), 0.0).astype("datetime64[us]")
    return np.where(known, micros, np.datetime64("NaT"))


def optional_columns() -> dict[str, type[pl.DataType]]:
    """The columns that a stored table may lack."""
    import polars as pl

    return {"name": pl.String, "start_s": pl.Float64, "end_s": pl.Float64, "score": pl.Float64, "units": pl.String}


def whole_columns(spans: pl.DataFrame) -> pl.DataFrame:
    """Spans with all columns of a table of segments; null where nothing is known, as of a ground truth."""
    import polars as pl

    kinds = optional_columns()
    missing = [pl.lit(None, kind).alias(name) for name, kind in kinds.items() if name not in spans.columns]
    return with_dates(spans.with_columns(missing))


def repeats_in(own: pl.DataFrame) -> NDArray[np.int64]:
    """Frames at which a segment of one level and recording follows on another of the same entry."""
    runs = spans_in(own)
    repeats = (runs.starts[1:] == runs.stops[:-1]) & (runs.ids[1:] == runs.ids[:-1])
    return np.asarray(runs.starts[1:][repeats])


def spans_in(table: pl.DataFrame) -> Runs:
    """Start, end and id of every segment."""
    return Runs(*(table[name].to_numpy().astype(np.int64) for name in ("start_frame", "end_frame", "id")))


def labels_in(table: pl.DataFrame, level: Level, n_frames: int) -> Labels:
    """The label of every frame that the segments of one recording stand for."""
    own = table.filter((table["level"] == level) & (table["id"] != OTHER))
    return from_runs(own["start_frame"], own["end_frame"], own["id"], n_frames)


def labels_between_ends(units: Runs, motifs: Runs) -> tuple[Labels, Labels]:
    """Unit and motif of every stretch of one recording in which neither changes, in order; OTHER where there is none.

    The result has one value for each end of a segment, not for each frame.
    """
    ends = np.unique(np.concatenate([[0], units.starts, units.stops, motifs.starts, motifs.stops]))
    tracks = []
    for runs in (units, motifs):
        place = np.searchsorted(runs.starts, ends, side="right") - 1
        inside = (place >= 0) & (ends < np.append(runs.stops, -1)[place])
        tracks.append(np.where(inside, np.append(runs.ids, OTHER)[place], OTHER).astype(np.int32))
    return tracks[0], tracks[1]


def with_kinds(unshown: pl.DataFrame, summary: RunSummary) -> pl.DataFrame:
    """Segments of motifs that labels do not show, with the kind of each motif; unknown ones are phrases."""
    import polars as pl

    kinds = {one.id: one.kind or "phrase" for one in summary.unshown_motifs}
    return unshown.with_columns(pl.Series("kind", [kinds[id] for id in unshown["id"]], dtype=pl.String))


def in_one_table(segments: Table, unshown: Table) -> Table:
    """The segments of labels, and after them those of motifs that labels do not show, under their kind as level."""
    import polars as pl

    return pl.concat([segments, unshown.with_columns(level=pl.col("kind")).select(COLUMNS)])


def unit_sequences(occurrences: Runs, units: Runs) -> list[str]:
    """The units of the unit runs inside each occurrence, in order; both sets of runs are in order and apart.

    >>> unit_sequences(Runs(*np.array([[0, 6], [6, 9], [0, 0]])), Runs(*np.array([[0, 2, 6], [2, 6, 9], [6, 4, 1]])))
    ['u6 u4', 'u1']
    """
    names = [f"u{unit}" for unit in units.ids.tolist()]
    first = np.searchsorted(units.stops, occurrences.starts, side="right").tolist()
    past = np.searchsorted(units.starts, occurrences.stops, side="left").tolist()
    return [" ".join(names[start:stop]) for start, stop in zip(first, past, strict=True)]


def to_pandas(table: pl.DataFrame) -> pd.DataFrame:
    """Any of our tables for people: dates become datetime64, numbers stay numbers, what is not known is NaN or NaT."""
    import pandas as pd
    import polars as pl

    refuse_forked()

    def column(own: pl.Series) -> NDArray[np.generic] | list[str]:
        if own.dtype == pl.String:
            return own.fill_null("").to_list()
        if own.dtype == pl.Datetime("us"):
            micros = own.cast(pl.Int64).fill_null(np.iinfo(np.int64).min).to_numpy()  # which is NaT
            return micros.astype("datetime64[us]")
        return own.fill_null(float("nan")).to_numpy() if own.dtype.is_float() else own.to_numpy()

    return pd.DataFrame({own.name: column(own) for own in table})


SEGMENTS = "segments.parquet"
_MANY_RECORDINGS = 200  # of more, segments are read only as they are needed


def segment_counts(result: Result) -> dict[str, int]:
    """How many segments each recording of a result has."""
    path = _large_file(result)
    if path is None:
        return counts_in(result.run.tables["segments"])
    with reading_table(path):
        rows = _scanned(path, result.summary)
        return dict(rows.group_by("recording").len().collect(engine="streaming").iter_rows())


def counts_in(table: pl.DataFrame) -> dict[str, int]:
    """How many segments a table has of each recording."""
    return dict(table["recording"].value_counts().iter_rows())


def segments_of(result: Result, recordings: Sequence[str]) -> pl.DataFrame:
    """The segments of some recordings of a result; from a run over many recordings, only these rows are read."""
    path = _large_file(result)
    if path is not None:
        return read_segments(path, result.summary, recordings)
    table = result.run.tables["segments"]
    return table if len(recordings) == len(result) else table.filter(table["recording"].is_in(recordings))


def segments_in(run: RunData, recordings: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Segments of labels, and of motifs that labels do not show, in some recordings; of many only theirs are read."""
    import polars as pl

    if run.folder is not None and len(recordings) < len(run.summary.recordings):
        path, summary = run.folder / SEGMENTS, run.summary
        unshown = read_segments(path, summary, recordings, KINDS).with_columns(level=pl.lit("motif"))
        return read_segments(path, summary, recordings), unshown
    segments, unshown = (run.tables[name] for name in ("segments", "unshown_segments"))
    wanted = pl.col("recording").is_in(recordings)
    return segments.filter(wanted), unshown.filter(wanted)


def _large_file(result: Result) -> Path | None:
    """The table of a run over many recordings."""
    folder = result.run.folder
    return folder / SEGMENTS if folder is not None and len(result) > _MANY_RECORDINGS else None


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


def _scanned(path: Path, run: RunSummary) -> pl.LazyFrame:
    """The table, still in its file; by its metadata it has no more rows than the frames of all levels could fill."""
    import polars as pl

    rows = pl.scan_parquet(regular(path), glob=False, hive_partitioning=False)
    n_rows = rows.select(pl.len()).collect().item()
    most = (1 + len(LEVELS)) * sum(one.n_frames for one in run.recordings)
    if n_rows > most:
        raise OutputError(
            f"{path}: {n_rows:,} rows do not fit summary.json, at most {most:,} do; run `rondo discover` again"
        )
    return rows


def read_segments(
    path: Path, run: RunSummary, recordings: Sequence[str] | None = None, levels: Sequence[str] = LEVELS
) -> pl.DataFrame:
    """A table of segments with all columns, null where there is none; checked against the summary.

    `recordings`, `levels`: only their rows are read.
    """
    import polars as pl

    wanted = {
        "recording": pl.String, "level": pl.String, "id": pl.Int32, "start_frame": pl.Int64, "end_frame": pl.Int64,
    }  # fmt: skip
    with reading_table(path):
        rows = _scanned(path, run)
        if recordings is not None:
            rows = rows.filter(pl.col("recording").is_in(recordings))
        table = rows.collect()
        missing = [name for name in wanted if name not in table.columns]
        if missing:
            raise OutputError(f"{path}: the column '{missing[0]}' is missing; run `rondo discover` again")
        kinds = wanted | {name: kind for name, kind in optional_columns().items() if name in table.columns}
        table = whole_columns(table.with_columns(pl.col(name).cast(kind) for name, kind in kinds.items()))
    _check_spans(table, path, run)
    table = table.filter(pl.col("level").is_in(levels))
    places = {one.id: place for place, one in enumerate(run.recordings)}
    order = [
        pl.col("recording").replace_strict(places),
        pl.col("level").replace_strict({level: place for place, level in enumerate((*LEVELS, *KINDS))}),
        pl.col("start_frame"),
    ]
    return table.sort(order, maintain_order=True)


def _check_spans(table: pl.DataFrame, path: Path, run: RunSummary) -> None:
    import polars as pl

    lengths = pl.DataFrame(
        {"recording": [r.id for r in run.recordings], "n_frames": [r.n_frames for r in run.recordings]}
    )
    known = table.join(lengths, on="recording", how="left").with_row_index("row")
    spans_ok = (pl.col("start_frame") >= 0) & (pl.col("start_frame") < pl.col("end_frame"))
    start_s, end_s = pl.col("start_s"), pl.col("end_s")
    in_order = start_s.is_finite() & end_s.is_finite() & (start_s <= end_s)
    times_ok = (start_s.is_null() & end_s.is_null()) | in_order.fill_null(False)
    sound = (
        (spans_ok & (pl.col("end_frame") <= pl.col("n_frames"))).fill_null(False)
        & pl.col("level").is_in([*LEVELS, *KINDS]).fill_null(False)
        & (pl.col("id") >= OTHER).fill_null(False)
        & pl.col("score").is_finite().fill_null(True)
        & times_ok
    )
    bad = known.filter(~sound.fill_null(False))
    if bad.height:
        row = bad.row(0, named=True)
        raise OutputError(
            f"{path}: row {row['row']} (recording '{row['recording']}', level '{row['level']}', "
            f"id {row['id']}, frames {row['start_frame']} to {row['end_frame']}, seconds {row['start_s']} to "
            f"{row['end_s']}, score {row['score']}) does not fit summary.json; "
            "run `rondo discover` again"
        )
