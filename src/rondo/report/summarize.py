"""Run folder -> one plain dict with everything the page shows; the page itself computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.errors import OutputError
from rondo.report.colours import colour_of
from rondo.report.overview import MAX_BUCKETS, Overview, overview_path, read_overview
from rondo.report.tables import counted, entry_name, entry_table, fit_rows, percent

if TYPE_CHECKING:
    import polars as pl

    from rondo.report.run_folder import RecordingSummary, RunSummary, Scores

MAX_RECORDINGS_DRAWN = 12
MAX_CHANNELS_DRAWN = 12

_BUCKETS_IN_ALL = 4 * MAX_BUCKETS
"""Shared among the recordings drawn, so that a page with many of them stays light."""


def summarize(run_dir: Path) -> dict[str, Any]:
    """What the report of a run folder says, as a dict that `json.dumps(..., allow_nan=False)` takes.

    Keys: title, overview, findings, provenance, scores (rows), fit (rows), notes, n_recordings, recordings (those
    drawn, each with its signal and lanes), entries (unit and motif rows), n_entries.
    """
    from rondo.report.run_folder import read_run_summary, read_segments

    run = read_run_summary(run_dir)
    segments = read_segments(run_dir / "segments.parquet", run)
    truth_path = run_dir / "truth.parquet"
    truth = read_segments(truth_path, run) if truth_path.exists() else None
    drawn = run.recordings[:MAX_RECORDINGS_DRAWN]
    levels = {"unit": run.units, "motif": run.motifs}
    max_buckets = min(MAX_BUCKETS, _BUCKETS_IN_ALL // len(drawn))
    return {
        "title": "Rondo report",
        "overview": _overview_sentence(run),
        "findings": list(run.findings),
        "provenance": (
            f"Method {run.method}, seed {run.seed}, {_windows_of(run)}; Rondo {run.rondo_version}."
        ),
        "scores": _score_rows(run),
        "fit": fit_rows(run),
        "notes": _notes(run.recordings),
        "n_recordings": len(run.recordings),
        "recordings": [_recording(run_dir, r, segments, truth, max_buckets) for r in drawn],
        "entries": {level: entry_table(level, entries, drawn) for level, entries in levels.items()},
        "n_entries": {level: len(entries) for level, entries in levels.items()},
    }


def _windows_of(run: RunSummary) -> str:
    if run.window_length_frames <= 1:
        return "no windows"
    return f"windows of {run.window_length_frames} frames every {run.step_frames}"


def _overview_sentence(run: RunSummary) -> str:
    finder = "Rondo" if run.method == "rondo" else f"The method '{run.method}'"
    n_frames = sum(r.n_frames for r in run.recordings)
    seconds = [r.duration_s for r in run.recordings if r.duration_s is not None]
    length = _duration(sum(seconds)) if len(seconds) == len(run.recordings) else f"{n_frames:,} frames"
    n_channels = _extent((len(r.channels) for r in run.recordings), "d")
    rates = {r.rate for r in run.recordings}
    known_rates = [rate for rate in rates if rate is not None]
    clock = f" at {_extent(known_rates, '.4g')} Hz" if len(known_rates) == len(rates) else ""
    share_other = sum(r.share_other * r.n_frames for r in run.recordings) / n_frames
    return (
        f"{finder} found {counted(len(run.units), 'unit')} and {counted(len(run.motifs), 'motif')} in "
        f"{counted(len(run.recordings), 'recording')} ({length}, {n_channels} "
        f"channel{'' if n_channels == '1' else 's'}{clock}). {percent(share_other)} of the time is OTHER."
    )


def _score_rows(run: RunSummary) -> list[dict[str, Any]]:
    if run.scores is None:
        return []
    rows = []
    for level, scores in (("Units", run.scores.units), ("Motifs", run.scores.motifs)):
        rows.append({"level": level, "control": False, "method": run.method, **_score_values(scores)})
        rows.append({"level": level, "control": True, "method": "clock", **_score_values(scores.clock)})
    return rows


def _score_values(scores: Scores) -> dict[str, float | None]:
    return scores.model_dump(exclude={"clock"})


def _notes(recordings: Sequence[RecordingSummary]) -> list[dict[str, Any]]:
    """Every distinct note with the recordings it is about, in order of first appearance."""
    about: dict[str, list[str]] = {}
    for recording in recordings:
        own = list(recording.notes)
        if recording.n_gaps:
            own.append(f"{counted(recording.n_gaps, 'gap')} that no window crosses.")
        if _time_jumps(recording):
            own.append("The timestamps jump: the time axis below counts frames at the nominal rate.")
        for note in own:
            about.setdefault(note, []).append(recording.id)
    return [{"text": text, "recordings": ids, "in_all": len(ids) == len(recordings)} for text, ids in about.items()]


def _time_jumps(recording: RecordingSummary) -> bool:
    if recording.rate is None or recording.duration_s is None:
        return False
    counted_s = recording.n_frames / recording.rate
    return abs(counted_s - recording.duration_s) > max(0.01 * counted_s, 2 / recording.rate)


def _recording(
    run_dir: Path,
    recording: RecordingSummary,
    segments: pl.DataFrame,
    truth: pl.DataFrame | None,
    max_buckets: int,
) -> dict[str, Any]:
    path = overview_path(run_dir, recording.id)
    overview = read_overview(path)
    if overview.edges[-1] != recording.n_frames or overview.channels != recording.channels:
        raise OutputError(
            f"{path}: it covers {overview.edges[-1]} frames and {len(overview.channels)} channels, but "
            f"summary.json says {recording.n_frames} frames and {len(recording.channels)} channels, or names "
            "them otherwise; run `rondo discover` again"
        )
    about = [
        f"{recording.n_frames:,} frames" if recording.duration_s is None else _duration(recording.duration_s),
        counted(len(recording.channels), "channel"),
        "rate unknown" if recording.rate is None else f"{recording.rate:.4g} Hz",
        f"{percent(recording.share_other)} OTHER",
    ]
    if recording.n_gaps:
        about.append(counted(recording.n_gaps, "gap"))
    return {
        "id": recording.id,
        "source": recording.source,
        "about": ", ".join(about),
        "n_frames": recording.n_frames,
        "rate": recording.rate,
        "n_channels": len(recording.channels),
        "signal": _signal(overview.coarsened(max_buckets)),
        "lanes": _lanes(recording.id, segments, truth),
    }


def _signal(overview: Overview) -> dict[str, Any]:
    drawn = slice(MAX_CHANNELS_DRAWN)
    return {
        "channels": list(overview.channels[drawn]),
        "edges": overview.edges.tolist(),
        "low": [_without_nan(column) for column in overview.low.T[drawn]],
        "high": [_without_nan(column) for column in overview.high.T[drawn]],
    }


def _without_nan(column: np.ndarray[Any, Any]) -> list[float | None]:
    values: list[float | None] = column.tolist()
    for gap in np.flatnonzero(np.isnan(column)):
        values[gap] = None
    return values


def _lanes(recording_id: str, segments: pl.DataFrame, truth: pl.DataFrame | None) -> list[dict[str, Any]]:
    """Each level with its truth, if there is one, right beneath it."""
    lanes = []
    for level in ("unit", "motif"):
        lanes.append(_lane(recording_id, level, level, segments))
        if truth is not None:
            lanes.append(_lane(recording_id, level, f"true {level}", truth))
    return lanes


def _lane(recording_id: str, level: str, kind: str, table: pl.DataFrame) -> dict[str, Any]:
    import polars as pl

    own = table.filter((pl.col("recording") == recording_id) & (pl.col("level") == level))
    ids = own["id"].to_list()
    names = {entry_id: entry_name(level, entry_id) for entry_id in set(ids)}
    colours = {entry_id: colour_of(kind, entry_id) for entry_id in set(ids)}
    return {
        "kind": kind,
        "names": [names[entry_id] for entry_id in ids],
        "colours": [colours[entry_id] for entry_id in ids],
        "start_frames": own["start_frame"].to_list(),
        "end_frames": own["end_frame"].to_list(),
        "scores": own["score"].fill_nan(None).to_list(),
        "units": own["units"].fill_null("").to_list(),
    }


def _duration(seconds: float) -> str:
    return f"{seconds:.4g} s" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _extent(values: Iterable[float], form: str) -> str:
    lowest, *between = sorted(set(values))
    return f"{lowest:{form}}" if not between else f"{lowest:{form}} to {between[-1]:{form}}"
