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

A folder is written whole or not at all. That of a run over many files (`rondo.many`) grows in place: while it holds
`unfinished.json` and no `summary.json` it is no run yet. What people edit later is brought up to date file by file:
`found.parquet` first, so that what was found is never lost, `summary.json` last.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.data.labels import OTHER, Labels
from rondo.editing.apply import shown
from rondo.editing.edits import Edits, write_edits
from rondo.errors import OutputError
from rondo.files.locations import Location
from rondo.lazy import Lazy, Passing
from rondo.methods import find_method, load_model
from rondo.report.contents import MAX_RECORDINGS_INSIDE, Overviews
from rondo.result import Result
from rondo.run.clock import run_clock
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
    store_overview,
    write_scores,
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
from rondo.run.summary import SUMMARY, RecordingSummary, RunSummary, model_place, read_summary, run_edits
from rondo.run.tally import Words
from rondo.store.cloud_folder import whole_cloud_folder
from rondo.store.csv_text import csv_of_table, text_table
from rondo.store.folder import check_free, make_folder, whole_file, whole_folder, write_json
from rondo.store.reading import UNREADABLE, map_array, read_regular
from rondo.units.vocabulary import Level

if TYPE_CHECKING:
    import polars as pl

FOUND, TRUTH, TRAINING = "found.parquet", "truth.parquet", "training.csv"
UNSHOWN = "unshown_segments.parquet"
MOST_DRAWN = MAX_RECORDINGS_INSIDE
_MODEL, _MANIFEST = "model", "manifest.json"
_TRACKS = {"labels": "motif", "units": "unit"}


# ---------------------------------------------------------------- writing


def write_run(result: Result, out: Location) -> None:
    """Write the whole folder, here or in a bucket."""
    check_free(out)
    with whole_folder(out) if isinstance(out, Path) else whole_cloud_folder(out) as draft:
        for one in result.recordings:
            write_labels(draft, result[one.id])
            store_overview(overview_path(draft, one.id), result.overviews[one.id])
            scores = result.frame_scores[one.id]
            if scores is not None:
                write_scores(scores_path(draft, one.id), scores)
        for name in (TRUTH, TRAINING):
            table = result.tables.get(name.partition(".")[0])
            if table is not None:
                with whole_file(draft / name) as file:
                    table.write_parquet(file) if name == TRUTH else file.write(csv_of_table(table).encode())
        _write_model(result, draft / _MODEL)
        write_tables(draft, result)
        write_summary(draft, result.summary)
        result.report(draft / "report.html")


def update_run(run_dir: Path, result: Result) -> None:
    """Bring the folder of a run up to date with what people have edited since it was written."""
    from rondo.report.contents import draw_again

    if not (run_dir / FOUND).exists():
        _write_found(run_dir, result)
    for one in result.recordings:
        if not _are_written(run_dir, result[one.id]):  # of many recordings an edit concerns few
            write_labels(run_dir, result[one.id])
    _write_shown(run_dir, result)
    write_summary(run_dir, result.summary)
    draw_again(run_dir)


def write_labels(folder: Path, labelling: Labelling) -> None:
    """labels/<id>.npy and units/<id>.npy."""
    for name, level in _TRACKS.items():
        make_folder(folder / name)
        with whole_file(folder / name / f"{labelling.recording_id}.npy") as file:
            np.save(file, labelling.motifs if level == "motif" else labelling.units)


def _are_written(folder: Path, labelling: Labelling) -> bool:
    """Whether the folder has these very labels."""
    try:
        tracks = [_track(folder / name / f"{labelling.recording_id}.npy", labelling.n_frames) for name in _TRACKS]
    except OutputError:
        return False
    return np.array_equal(tracks[0], labelling.motifs) and np.array_equal(tracks[1], labelling.units)


def write_tables(folder: Path, result: Result) -> None:
    """segments, those that labels do not show, and found.parquet where segments differ from what was found."""
    _write_found(folder, result)
    _write_shown(folder, result)


def _write_shown(folder: Path, result: Result) -> None:
    write_segments(folder, result.tables["segments"])
    if result.summary.unshown_motifs:
        write_segments(folder, result.tables["unshown_segments"], UNSHOWN)


def _write_found(folder: Path, result: Result) -> None:
    import polars as pl

    def is_changed(labelling: Labelling) -> bool:
        return bool(labelling.edits.touched) or any(labelling.edits.groups(level) for level in LEVELS)

    if result.kind != "stream" and any(is_changed(labelling) for labelling in result):  # a stream keeps its decisions
        with whole_file(folder / FOUND) as file:
            pl.concat([labelling.as_found.table for labelling in result]).write_parquet(file)


def write_segments(folder: Path, table: pl.DataFrame, name: str = SEGMENTS) -> None:
    """A table of segments as .csv and .parquet."""
    with whole_file(folder / name) as file:
        table.write_parquet(file)
    with whole_file((folder / name).with_suffix(".csv")) as file:
        file.write(csv_of_table(table).encode())


def write_summary(folder: Path, summary: RunSummary) -> None:
    """summary.json."""
    write_json(folder / SUMMARY, summary.as_json())


def _write_model(result: Result, folder: Path) -> None:
    """The model; without one, the edits of the entries."""
    if result.model is not None:
        result.model.save(folder)
        return
    edits = result[0].edits
    if edits.history:
        folder.mkdir(parents=True)
        write_edits(folder, edits)


# ---------------------------------------------------------------- reading


def load_run(run_dir: Path) -> Result:
    """The Result of a run folder; files are read and checked when they are asked for."""
    return run_of(run_dir, read_summary(run_dir))


def run_of(run_dir: Path, summary: RunSummary) -> Result:
    """The same, of a folder whose summary is known, and perhaps not written yet."""
    if summary.stream is not None and not summary.stream.finished:
        return _running_stream(run_dir, summary)
    ids = [one.id for one in summary.recordings]
    about = {one.id: one for one in summary.recordings}
    tables = _tables(run_dir, summary)
    rows = _RowsByRecording(tables)

    @cache
    def edits() -> Edits:
        return run_edits(run_dir, summary)

    def labelling(id: str) -> Labelling:
        return _labelling(run_dir, about[id], rows, edits())

    def table(name: str) -> pl.DataFrame:
        if name != "unshown_segments":
            return tables[name]
        return with_kinds(tables[name] if name in tables else tables["segments"].clear(), summary)

    return Result(
        summary,
        Lazy(ids, labelling),
        Overviews(ids, lambda id: _overview(run_dir, about[id])),
        Passing(ids, lambda id: read_scores(scores_path(run_dir, id), about[id].n_frames)),
        Lazy([*tables, "unshown_segments"], table),
        folder=run_dir,
        _read_model=_model_reader(run_dir),
        _read_events=lambda: events_on_rows(events_of(run_dir), RowFrames.read(run_dir)),
    )


def _running_stream(run_dir: Path, summary: RunSummary) -> Result:
    """A stream that goes on, or was stopped, from the files that it appends to."""
    folder = run_dir / _MODEL

    def overview(about: RecordingSummary) -> Overview:
        path = overview_path(run_dir, about.id)
        if path.exists():
            return cut_to(read_overview(path), about.n_frames)
        return GrowingOverview(about.channels).overview(about.n_frames)

    words = find_method(summary.method).words_in(folder) if (folder / _MANIFEST).is_file() else Words()
    return replace(stored_stream(run_dir, summary, words, overview), _read_model=_model_reader(run_dir))


def _tables(run_dir: Path, summary: RunSummary) -> Lazy[pl.DataFrame]:
    """Those that the folder has, by their names without suffix."""

    def read(name: str) -> pl.DataFrame:
        if name == "training":
            return _read_training(run_dir / TRAINING)
        if name == "found" and summary.kind == "stream":  # what was issued stays issued
            decisions = read_decisions(run_dir / DECISIONS)
            return decided_segments(RowFrames.read(run_dir).decisions_on_rows(decisions), summary.recordings[0].id)
        return read_segments(run_dir / f"{name}.parquet", summary)

    there = [name for name in (FOUND, UNSHOWN, TRUTH, TRAINING) if (run_dir / name).exists()]
    there += [FOUND] if summary.kind == "stream" else []
    return Lazy(["segments", *(name.partition(".")[0] for name in there)], read)


def _read_training(path: Path) -> pl.DataFrame:
    import polars as pl

    with reading_table(path, "curves of training"):
        return text_table(pl.read_csv(io.BytesIO(read_regular(path)), schema_overrides={"curve": pl.String}))


def _model_reader(run_dir: Path) -> Callable[[], Any]:
    """Reads the model once: edits made in it are there for every result that shares the reader."""

    @cache
    def model() -> Any:
        folder = model_place(run_dir)
        return load_model(folder) if (folder / _MANIFEST).is_file() else None

    return model


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


def _labelling(run_dir: Path, about: RecordingSummary, tables: _RowsByRecording, edits: Edits) -> Labelling:
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

    written = labelling(*(_track(run_dir / name / f"{about.id}.npy", about.n_frames) for name in ("units", "labels")))
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
