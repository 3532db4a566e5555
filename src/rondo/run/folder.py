"""A run folder: the Result on disk, one layout for `discover`, `label` and `stream`, whatever the method.

    labels/<id>.npy, units/<id>.npy   motif and unit of every frame, int32; OTHER is -1
    scores/<id>.npz                   how well each frame fits them, where the method says so
    overview/<id>.npz                 the signal, small enough to draw
    segments.csv, segments.parquet    every occurrence (`rondo.run.segments`)
    unshown_segments.csv, .parquet    the same of motifs that labels do not show, with their kind; where there are any
    found.parquet                     segments before people merged entries or changed frames; only where they have
    truth.parquet, training.csv       ground truth, curves of training; where there are any
    failed.csv                        files that could not be read, where recordings were read one by one
    model/                            the model, where the method can label others; edits.json beside it
    summary.json                      what was found (`rondo.run.summary`)
    report.html                       the page

`rondo.run.writer` writes it, whole or not at all. The folder of a run over many files (`rondo.many`) grows in place:
while it holds `unfinished.json` and no `summary.json` it is no run yet. Later edits are written file by file:
`found.parquet` first, so that what was found is never lost, `summary.json` last.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rondo.arrays import Lazy, Passing
from rondo.data.labels import OTHER, Labels
from rondo.editing.apply import shown
from rondo.editing.edits import Edits
from rondo.errors import OutputError
from rondo.run.clock import run_clock
from rondo.run.data import RunData
from rondo.run.decisions import DECISIONS, decided_segments, events_of, events_on_rows, read_decisions, stored_stream
from rondo.run.labelling import Labelling
from rondo.run.overview import (
    FrameScores,
    GrowingOverview,
    Overview,
    Overviews,
    cut_to,
    overview_path,
    read_overview,
    read_scores,
    scores_path,
)
from rondo.run.rows import RowFrames
from rondo.run.segments import (
    LEVELS,
    SEGMENTS,
    labels_in,
    read_segments,
    reading_table,
    spans_in,
    unit_sequences,
    with_kinds,
)
from rondo.run.summary import RecordingSummary, RunSummary, run_edits, shifted_units
from rondo.run.tally import Words
from rondo.run.writer import FOUND, TRAINING, TRUTH
from rondo.store.csv_text import text_table
from rondo.store.reading import UNREADABLE, map_array, read_regular
from rondo.units.vocabulary import Level

if TYPE_CHECKING:
    import polars as pl

UNSHOWN = "unshown_segments.parquet"


def stored_run(run_dir: Path, summary: RunSummary) -> RunData:
    """The data of a run folder, checked when they are read; `summary` may not be written yet."""
    ids = [one.id for one in summary.recordings]
    about = {one.id: one for one in summary.recordings}
    tables = _tables(run_dir, summary)
    rows = _RowsByRecording(tables)

    @cache
    def edits() -> Edits:
        return run_edits(run_dir, summary)

    def table(name: str) -> pl.DataFrame:
        if name != "unshown_segments":
            return tables[name]
        return with_kinds(tables[name] if name in tables else tables["segments"].clear(), summary)

    return RunData(
        summary,
        Lazy(ids, lambda id: _labelling(run_dir, about[id], rows, edits(), summary.id_shifts.get(id, 0))),
        Overviews(ids, lambda id: _overview(run_dir, about[id])),
        Passing(ids, lambda id: read_scores(scores_path(run_dir, id), about[id].n_frames)),
        Lazy([*tables, "unshown_segments"], table),
        run_dir,
        lambda: events_on_rows(events_of(run_dir), RowFrames.read(run_dir)),
    )


def running_stream(run_dir: Path, summary: RunSummary, words: Words) -> RunData:
    """A stream that goes on, or was stopped, from the files that it appends to."""

    def overview(about: RecordingSummary) -> Overview:
        path = overview_path(run_dir, about.id)
        if path.exists():
            return cut_to(read_overview(path), about.n_frames)
        return GrowingOverview(about.channels).overview(about.n_frames)

    return stored_stream(run_dir, summary, words, overview)


def _tables(run_dir: Path, summary: RunSummary) -> Lazy[pl.DataFrame]:
    """Those that the folder has, by their names without suffix."""

    def read(name: str) -> pl.DataFrame:
        if name == "training":
            return _read_training(run_dir / TRAINING)
        if name == "found" and summary.kind == "stream":  # what was issued stays issued
            decisions = read_decisions(run_dir / DECISIONS)
            return decided_segments(RowFrames.read(run_dir).decisions_on_rows(decisions), summary.recordings[0].id)
        return _with_shifted_ids(read_segments(run_dir / f"{name}.parquet", summary), summary.id_shifts)

    there = [name for name in (FOUND, UNSHOWN, TRUTH, TRAINING) if (run_dir / name).exists()]
    there += [FOUND] if summary.kind == "stream" else []
    return Lazy(["segments", *(name.partition(".")[0] for name in there)], read)


def _with_shifted_ids(table: pl.DataFrame, shifts: Mapping[str, int]) -> pl.DataFrame:
    """Segments of a run of 0.2.0 whose recordings had a vocabulary each."""
    if not shifts:
        return table
    import polars as pl

    units = [
        shifted_units(names or "", shifts[recording]) for recording, names in table.select("recording", "units").rows()
    ]
    shift = pl.col("recording").replace_strict(shifts, return_dtype=table["id"].dtype)
    return table.with_columns(pl.col("id") + shift, pl.Series("units", units, dtype=pl.String))


def _read_training(path: Path) -> pl.DataFrame:
    import polars as pl

    with reading_table(path, "curves of training"):
        return text_table(pl.read_csv(io.BytesIO(read_regular(path)), schema_overrides={"curve": pl.String}))


def found_ids(run_dir: Path, summary: RunSummary) -> dict[Level, set[int]]:
    """The ids in found.parquet; none where nobody has changed what was found."""
    tables = _tables(run_dir, summary)
    if "found" not in tables:
        return {level: set() for level in LEVELS}
    found = tables["found"]
    return {level: set(found.filter(found["level"] == level)["id"].to_list()) for level in LEVELS}


def _overview(run_dir: Path, about: RecordingSummary) -> Overview:
    path = overview_path(run_dir, about.id)
    overview = read_overview(path)
    if overview.n_frames != about.n_frames or overview.channels != about.channels:
        raise OutputError(
            f"{path}: it covers {overview.n_frames} frames and {len(overview.channels)} channels, but "
            f"summary.json says {about.n_frames} frames and {len(about.channels)} channels, or names "
            "them otherwise; run `rondo discover` again"
        )
    return overview


def _labelling(
    run_dir: Path, about: RecordingSummary, tables: _RowsByRecording, edits: Edits, shift: int = 0
) -> Labelling:
    """The labels of one recording as they were written; between the ends of segments its times are interpolated."""
    own, found, unshown = (tables.of(name, about.id) for name in ("segments", "found", "unshown_segments"))
    if own is None:
        raise OutputError(f"{run_dir}: it has no {SEGMENTS}; run `rondo discover` again")
    clock = run_clock(about, own if found is None else found)
    times = None if clock is None else clock.seconds_at(np.arange(about.n_frames))
    scores = read_scores(scores_path(run_dir, about.id), about.n_frames)
    breaks = np.array(about.breaks, np.int64)
    profile = () if about.fit is None else tuple(r or np.nan for r in about.fit.distance_quantiles.values())

    def labelling(units: Labels, motifs: Labels) -> Labelling:
        own_scores = scores or FrameScores(*((track != OTHER).astype(np.float32) for track in (units, motifs)))
        known = (*own_scores, times, about.rate, breaks, about.share_accepted, about.notes)
        return Labelling(about.id, units, motifs, *known, distance_profile=profile)

    rows = RowFrames.read(run_dir)

    def as_found(table: pl.DataFrame) -> Labelling:
        tracks = (rows.without_skipped(labels_in(table, level, about.n_frames)) for level in LEVELS)
        return labelling(*tracks).stored(table, Edits())

    tracks = (_track(run_dir / name / f"{about.id}.npy", about.n_frames) for name in ("units", "labels"))
    written = labelling(
        *(np.where(track == OTHER, track, track + np.int32(shift)) if shift else track for track in tracks)
    )
    if unshown is not None:
        base = own if found is None else found  # whose units are those that were found
        other = _unshown(base, unshown, as_found)
        written = replace(written, unshown=shown(replace(other, unshown=other), edits).unshown)
    return written.stored(own, edits, None if found is None else as_found(found))


def _unshown(segments: pl.DataFrame, unshown: pl.DataFrame, as_found: Callable[[pl.DataFrame], Labelling]) -> Labelling:
    """The same units, with the motifs that labels do not show; a frame has the score of its occurrence."""
    import polars as pl

    of_units = segments.filter(segments["level"] == "unit")
    inside = unit_sequences(spans_in(unshown), spans_in(of_units))  # those stored may be merged
    table = pl.concat([of_units, unshown.with_columns(pl.Series("units", inside, dtype=pl.String))])
    found = as_found(table)
    scores = np.zeros(found.n_frames, np.float32)
    for start, stop, score in unshown.select("start_frame", "end_frame", "score").iter_rows():
        scores[start:stop] = score
    return replace(found, motif_scores=scores).stored(table, Edits())


class _RowsByRecording:
    """The rows of each recording in tables that hold one recording after the other: found once, however many."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self._tables = tables
        self._places: dict[str, dict[str, tuple[int, int]]] = {}

    def of(self, name: str, recording: str) -> pl.DataFrame | None:
        """The rows of one recording; None where there is no such table."""
        if name not in self._tables:
            return None
        table = self._tables[name]
        if name not in self._places:
            runs = table["recording"].rle().struct.unnest()
            starts = (runs["len"].cum_sum() - runs["len"]).to_list()
            self._places[name] = dict(zip(runs["value"], zip(starts, runs["len"], strict=True), strict=True))
        return table.slice(*self._places[name].get(recording, (0, 0)))


def _track(path: Path, n_frames: int) -> Labels:
    try:
        track: Labels = map_array(path)
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or (str(error) or type(error).__name__).splitlines()[0]
        raise OutputError(f"{path}: cannot be read as labels ({reason}); run `rondo discover` again") from None
    if track.shape != (n_frames,) or track.dtype.kind != "i":
        raise OutputError(
            f"{path}: expected one whole number for each of {n_frames} frames, got {track.dtype} {track.shape}; "
            "run `rondo discover` again"
        )
    return track
