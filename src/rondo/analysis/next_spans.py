"""Which spans to mark next: what is like nothing that was taught, then what a taught model doubts most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.data.labels import OTHER
from rondo.editing.names import EntryId
from rondo.run.clock import seconds_at

if TYPE_CHECKING:
    import pandas as pd

    from rondo.result import Result

_LEAST_SHARE = 0.02  # of the time, for an entry without a name to be worth a mark; chosen by hand, not measured
COLUMNS = ("recording", "start_frame", "end_frame", "start_s", "end_s", "why")


def next_spans(result: Result, n: int) -> pd.DataFrame:
    """One row per span, the most useful first: the longest of each entry without a name, then doubtful ones."""
    import pandas as pd

    return pd.DataFrame(next_rows(result, n), columns=list(COLUMNS))


def next_rows(result: Result, n: int) -> list[tuple[Any, ...]]:
    """The rows of `next_spans`, without pandas: for the page."""
    return [*_unnamed(result), *_doubtful(result)][:n]


def _unnamed(result: Result) -> list[tuple[Any, ...]]:
    """The longest occurrence of every entry without a name, the commonest entry first."""
    import polars as pl

    longest = (
        result.run.tables["segments"]
        .filter((pl.col("level") == "motif") & (pl.col("name") == ""))
        .with_columns((pl.col("end_frame") - pl.col("start_frame")).alias("frames"))
        .sort("frames", "recording", "start_frame", descending=[True, False, False])
        .group_by("id", maintain_order=True)
        .agg(pl.first("recording", "start_frame", "end_frame"), pl.sum("frames"))
        .sort("frames", "id", descending=[True, False])
    )
    n_frames = sum(one.n_frames for one in result.recordings)
    rows = longest.filter(pl.col("frames") >= _LEAST_SHARE * n_frames).iter_rows(named=True)
    return [
        _row(
            result, row["recording"], row["start_frame"], row["end_frame"], f"{EntryId('motif', row['id'])} has no name"
        )
        for row in rows
    ]


def _doubtful(result: Result) -> list[tuple[Any, ...]]:
    """Spans of at least the median length in which two names were nearly as likely, the narrowest first."""
    edits = result.run.edits
    read = (
        []
        if edits.teaching is None
        else [span for span in edits.teaching.taught if not span.marked and span.second not in (OTHER, span.id)]
    )
    if not read:
        return []
    median = float(np.median([span.stop - span.start for span in read]))
    close = sorted((span for span in read if span.stop - span.start >= median), key=lambda span: span.margin)
    return [
        _row(result, one.recording, one.start, one.stop, f"{edits.name('motif', one.id)} or "
             f"{edits.name('motif', one.second)}")
        for one in close
    ]  # fmt: skip


def _row(result: Result, recording: str, start: int, stop: int, why: str) -> tuple[Any, ...]:
    about = result.summary.recording(recording)
    ends: tuple[float | None, float | None] = (None, None)
    if about is not None and about.rate is not None:
        ends = (round(seconds_at(about, start), 3), round(seconds_at(about, stop), 3))
    return recording, start, stop, *ends, why
