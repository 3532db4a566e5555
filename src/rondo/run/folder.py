"""A run folder: the Result on disk, one layout for `discover`, `label` and `stream`, whatever the method.

    labels/<id>.npy, units/<id>.npy   motif and unit of every frame, int32; OTHER is -1
    scores/<id>.npz                   how well each frame fits them, where the method says so
    overview/<id>.npz                 the signal, small enough to draw
    segments.csv, segments.parquet    every occurrence (`rondo.run.segments`)
    entries.csv                       every unit and motif, with a sentence on what it is
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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rondo.arrays import Lazy
from rondo.data.labels import OTHER, Labels
from rondo.editing.edits import Edits
from rondo.editing.edits_file import read_edits
from rondo.errors import OutputError
from rondo.run.clock import run_clock
from rondo.run.data import RunData, overview_bytes
from rondo.run.decisions import DECISIONS, decided_segments, events_of, events_on_rows, read_decisions, stored_stream
from rondo.run.labelling import Labelling
from rondo.run.overview import (
    FrameScores,
    GrowingOverview,
    Overview,
    cut_to,
    overview_path,
    read_overview,
    read_scores,
    scores_path,
)
from rondo.run.rows import RowFrames
from rondo.run.segments import KINDS, LEVELS, SEGMENTS, labels_in, read_segments, reading_table, with_kinds
from rondo.run.summary import RecordingSummary, RunSummary, model_place, shifted_units
from rondo.run.tally import Words
from rondo.run.writer import FOUND, TRAINING, TRUTH
from rondo.store.csv_text import text_table
from rondo.store.reading import UNREADABLE, map_array, read_regular
from rondo.units.vocabulary import Level

if TYPE_CHECKING:
    import polars as pl

UNSHOWN = "unshown_segments.parquet"  # of 0.2.0: what segments.parquet holds under the levels KINDS today


def run_edits(run_dir: Path, summary: RunSummary) -> Edits:
    """The edits that a run is shown under: beside its model, or beside the checkpoint of a stream."""
    checkpoint = run_dir / "checkpoint"
    if summary.kind == "stream" and checkpoint.is_dir():
        return read_edits(run_dir / "model").carried().then(read_edits(checkpoint))
    return read_edits(model_place(run_dir))


def stored_run(run_dir: Path, summary: RunSummary) -> RunData:
    """The data of a run folder, checked when they are read; `summary` may not be written yet."""
    about = {one.id: one for one in summary.recordings}
    ids = tuple(about)
    tables = _tables(run_dir, summary)

    @cache
    def rows(name: str) -> dict[tuple[object, ...], pl.DataFrame]:
        return tables[name].partition_by("recording", as_dict=True)

    def rows_of(name: str, id: str) -> pl.DataFrame | None:
        return rows(name).get((id,), tables[name].clear()) if name in tables else None

    def table(name: str) -> pl.DataFrame:
        return with_kinds(tables[name], summary) if name == "unshown_segments" else tables[name]

    def labelling(id: str, *, found: bool) -> Labelling:
        return _labelling(run_dir, about[id], rows_of, summary.id_shifts.get(id, 0), found=found)

    labellings = Lazy(ids, lambda id: labelling(id, found=False))
    return RunData(
        summary,
        labellings,
        Lazy(ids, lambda id: _overview(run_dir, about[id]), overview_bytes),
        Lazy(ids, lambda id: read_scores(scores_path(run_dir, id), about[id].n_frames), _score_bytes),
        Lazy([*tables], table),
        Lazy(ids, lambda id: labelling(id, found=True)) if "found" in tables else labellings,
        run_edits(run_dir, summary),
        run_dir,
        lambda: events_on_rows(events_of(run_dir), RowFrames.read(run_dir)),
    )


def _score_bytes(scores: FrameScores | None) -> int:
    return 0 if scores is None else sum(track.nbytes for track in scores)


def running_stream(run_dir: Path, summary: RunSummary, words: Words) -> RunData:
    """A stream that goes on, or was stopped, from the files that it appends to."""

    def overview(about: RecordingSummary) -> Overview:
        path = overview_path(run_dir, about.id)
        if path.exists():
            return cut_to(read_overview(path), about.n_frames)
        return GrowingOverview(about.channels).overview(about.n_frames)

    return stored_stream(run_dir, summary, words, run_edits(run_dir, summary), overview)


def _tables(run_dir: Path, summary: RunSummary) -> Lazy[pl.DataFrame]:
    """Those that the folder has, by their names without suffix."""

    def read(name: str) -> pl.DataFrame:
        if name == "training":
            return _read_training(run_dir / TRAINING)
        if name == "found" and summary.kind == "stream":  # what was issued stays issued
            decisions = read_decisions(run_dir / DECISIONS)
            return decided_segments(RowFrames.read(run_dir).decisions_on_rows(decisions), summary.recordings[0].id)
        if name == "unshown_segments":
            return _read_unshown(run_dir, summary)
        return _with_shifted_ids(read_segments(run_dir / f"{name}.parquet", summary), summary.id_shifts)

    there = [name for name in (FOUND, TRUTH, TRAINING) if (run_dir / name).exists()]
    there += [FOUND] if summary.kind == "stream" else []
    return Lazy(["segments", "unshown_segments", *(name.partition(".")[0] for name in there)], read)


def _read_unshown(run_dir: Path, summary: RunSummary) -> pl.DataFrame:
    """Occurrences of motifs that labels do not show, as rows of level 'motif'."""
    import polars as pl

    rows = read_segments(run_dir / SEGMENTS, summary, levels=KINDS).with_columns(level=pl.lit("motif"))
    if rows.is_empty() and (run_dir / UNSHOWN).exists():
        rows = _with_shifted_ids(read_segments(run_dir / UNSHOWN, summary), summary.id_shifts)
    return rows


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
    run_dir: Path,
    about: RecordingSummary,
    rows_of: Callable[[str, str], pl.DataFrame | None],
    shift: int,
    *,
    found: bool,
) -> Labelling:
    """The labels of one recording as they were written, or `found`; between ends of segments times are interpolated."""
    own, before, unshown = (rows_of(name, about.id) for name in ("segments", "found", "unshown_segments"))
    if own is None:
        raise OutputError(f"{run_dir}: it has no {SEGMENTS}; run `rondo discover` again")
    clock = run_clock(about, own if before is None else before)
    times = None if clock is None else clock.seconds_at(np.arange(about.n_frames))
    if found and before is not None:
        rows, own = RowFrames.read(run_dir), before
        units, motifs = (rows.without_skipped(labels_in(own, level, about.n_frames)) for level in LEVELS)
    else:
        units, motifs = (_track(run_dir / name / f"{about.id}.npy", about.n_frames) for name in ("units", "labels"))
        if shift:
            units, motifs = (np.where(track == OTHER, track, track + np.int32(shift)) for track in (units, motifs))
    scores = read_scores(scores_path(run_dir, about.id), about.n_frames)
    scores = scores or FrameScores(*((track != OTHER).astype(np.float32) for track in (units, motifs)))
    labelling = Labelling(
        about.id,
        units,
        motifs,
        *scores,
        times,
        about.rate,
        np.array(about.breaks, np.int64),
        about.share_accepted,
        about.notes,
        distance_profile=() if about.fit is None else tuple(r or np.nan for r in about.fit.distance_quantiles.values()),
        unshown=unshown,
    )
    return labelling.stored(own)


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
