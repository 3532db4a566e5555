"""A run folder, written whole or not at all: labels, units, scores, segments, model, summary, overview and report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.data.labels import OTHER, Labels, are_one_to_one, runs_of
from rondo.data.recording import Recording
from rondo.errors import OutputError
from rondo.labelling import Labelling
from rondo.provenance import rondo_version
from rondo.report.entries import Words as Words
from rondo.report.entries import entry_rows, evidence_row
from rondo.report.frame_scores import FrameScores, scores_path, write_scores
from rondo.report.overview import overview_path, write_overview
from rondo.report.wall_clock import clock_knots
from rondo.store.ids import checked_id
from rondo.store.writing import check_free, new_file, whole_folder, write_json
from rondo.units.fit_profile import QUANTILES, FitProfile, fit_of
from rondo.vocabulary.vocabulary import Level

if TYPE_CHECKING:
    import polars as pl


Truth = Mapping[str, tuple[Labels, Labels]]
"""Known unit and motif truth of each recording, for planted streams."""


@dataclass(frozen=True)
class Run:
    """Everything that a run folder is made of."""

    method: str
    seed: int
    config: Mapping[str, Any]
    window_length_frames: int
    step_frames: int
    recordings: Sequence[Recording]
    sources: Mapping[str, str]
    labellings: Sequence[Labelling]
    words: Sequence[Words] = (Words(),)  # about one vocabulary for all recordings, or about one for each
    findings: Sequence[str] = ()  # sentences about the whole run, for people
    scores: Mapping[str, Any] | None = None
    truth: Truth | None = None
    per_recording: bool = False  # every recording has a vocabulary of its own: the same id twice means nothing
    fitted: FitProfile | None = None  # of the recordings that the model was fitted on, where it reads others


def write_run(out: Path, run: Run, write_models: Callable[[Path], None] | None = None) -> dict[str, Any]:
    """Write the run folder; returns what summary.json holds. `write_models` is handed the place of model/."""
    import polars as pl

    from rondo.report.render import write_report

    for recording in run.recordings:
        _refuse_path(recording.id)
    check_free(out)
    with whole_folder(out) as draft:
        for name in ("labels", "units", "overview"):
            (draft / name).mkdir()
        for recording, labelling in zip(run.recordings, run.labellings, strict=True):
            for name, track in (("labels", labelling.motifs), ("units", labelling.units)):
                with new_file(draft / name / f"{recording.id}.npy") as file:
                    np.save(file, track)
            write_overview(overview_path(draft, recording.id), recording.values, recording.channels)
            write_scores(scores_path(draft, recording.id), FrameScores(labelling.unit_scores, labelling.motif_scores))
        segments = pl.concat([labelling.segments for labelling in run.labellings])
        _write_table(draft / "segments.csv", segments)
        _write_table(draft / "segments.parquet", segments)
        if run.truth is not None:
            _write_table(draft / "truth.parquet", _truth_table(run.truth))
        if any(words.curves for words in run.words):
            _write_table(draft / "training.csv", _curve_table(run))
        if write_models is not None:
            write_models(draft / "model")
        summary = summary_of(run, segments)
        write_json(draft / "summary.json", summary)
        write_report(draft)
    return summary


def _refuse_path(id: str) -> None:
    try:
        checked_id(id)
    except ValueError as error:
        raise OutputError(f"{error}, and its labels are a file of that name; give the recording another id") from None


def _write_table(path: Path, table: pl.DataFrame) -> None:
    with new_file(path) as file:
        table.write_parquet(file) if path.suffix == ".parquet" else table.write_csv(file)


def summary_of(run: Run, segments: pl.DataFrame) -> dict[str, Any]:
    """What summary.json says: the run, its recordings, and the entries of both levels."""
    summary: dict[str, Any] = {
        "schema": 1,
        "rondo_version": rondo_version(),
        "method": run.method,
        "seed": run.seed,
        "window_length_frames": run.window_length_frames,
        "step_frames": run.step_frames,
        "findings": list(run.findings),
        "evidence": None if run.per_recording else evidence_row(run.words[0].evidence),
        "recordings": [
            _recording_summary(recording, labelling, run)
            for recording, labelling in zip(run.recordings, run.labellings, strict=True)
        ],
        "units": _entries("unit", run, segments),
        "unit_merges": _merges(run),
        "motifs": _entries("motif", run, segments),
        "motifs_are_units": _motifs_are_units(run),
        "config": dict(run.config),
    }
    if run.per_recording:
        for recording, words in zip(summary["recordings"], run.words, strict=True):
            recording["evidence"] = evidence_row(words.evidence)
    if run.fitted is not None:
        summary["fitted"] = _profile(run.fitted)
    if run.scores is not None:
        summary["scores"] = dict(run.scores)
    return summary


def _motifs_are_units(run: Run) -> bool:
    """Whether motifs are the units under other ids, in the vocabulary of all recordings or in that of each."""
    if run.per_recording:
        return all(labelling.motifs_are_units for labelling in run.labellings)
    units, motifs = ([getattr(one, level) for one in run.labellings] for level in ("units", "motifs"))
    return are_one_to_one(np.concatenate(units), np.concatenate(motifs))


def _recording_summary(recording: Recording, labelling: Labelling, run: Run) -> dict[str, Any]:
    times = recording.times_s
    summary = {
        "id": recording.id,
        "source": run.sources.get(recording.id, ""),
        "n_frames": recording.n_frames,
        "channels": list(recording.channels),
        "rate": recording.rate,
        "duration_s": None if times is None else float(times[-1] - times[0] + 1.0 / (recording.rate or 1.0)),
        "notes": list(labelling.notes),
        "share_other": labelling.share_other,
        "share_accepted": labelling.share_accepted,
        "n_gaps": int(labelling.breaks.size),
        "clock": clock_knots(recording.timestamps_s, recording.rate),
    }
    if run.fitted is not None:
        own = labelling.fit_profile
        n_units = np.unique(labelling.units[labelling.units != OTHER]).size
        counts = {"n_units": int(n_units), "n_units_of_model": len(run.words[0].units)}
        summary["fit"] = {"verdict": fit_of(own, run.fitted), **counts, **_profile(own)}
    return summary


def _profile(profile: FitProfile) -> dict[str, Any]:
    """Share accepted, and the normalised distance of windows at each quantile."""
    named = zip(QUANTILES, profile.distances, strict=False)
    return {
        "share_accepted": profile.share_accepted,
        "distance_quantiles": {f"{q:g}": r if math.isfinite(r) else None for q, r in named},
    }


def _entries(level: Level, run: Run, segments: pl.DataFrame) -> list[dict[str, Any]]:
    """One row per entry: how often, how much, how long; with its recording where each has its own vocabulary."""
    import polars as pl

    if not run.per_recording:
        n_frames = sum(recording.n_frames for recording in run.recordings)
        return entry_rows(level, segments, n_frames, run.words[0])
    rows = []
    for recording, words in zip(run.recordings, run.words, strict=True):
        own = segments.filter(pl.col("recording") == recording.id)
        entries = entry_rows(level, own, recording.n_frames, words)
        rows += [{"recording": recording.id} | entry for entry in entries]
    return rows


def _merges(run: Run) -> list[dict[str, Any]]:
    """Merges of units in their order; with their recording where each has its own vocabulary."""
    if not run.per_recording:
        return [dict(merge) for merge in run.words[0].merges]
    return [
        {"recording": recording.id, **merge}
        for recording, words in zip(run.recordings, run.words, strict=True)
        for merge in words.merges
    ]


def _curve_table(run: Run) -> pl.DataFrame:
    """One row per curve and step; with their recording where each has its own vocabulary."""
    import polars as pl

    names = [recording.id for recording in run.recordings] if run.per_recording else [""]
    rows = [
        (name, curve, step, value)
        for name, words in zip(names, run.words, strict=True)
        for curve, values in words.curves.items()
        for step, value in enumerate(values)
    ]
    columns = {"recording": pl.String, "curve": pl.String, "step": pl.Int64, "value": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def _truth_table(truth: Truth) -> pl.DataFrame:
    import polars as pl

    rows: list[dict[str, Any]] = []
    for id, tracks in truth.items():
        for level, track in zip(("unit", "motif"), tracks, strict=True):
            runs = runs_of(track)
            rows += [
                {"recording": id, "level": level, "id": int(k), "start_frame": int(a), "end_frame": int(b)}
                for a, b, k in zip(runs.starts, runs.stops, runs.ids, strict=True)
                if k != OTHER
            ]
    columns = ("recording", "level", "id", "start_frame", "end_frame")
    return pl.DataFrame(rows, schema={name: pl.String if name in columns[:2] else pl.Int64 for name in columns})
