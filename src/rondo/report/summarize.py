"""Run folder -> one plain dict with everything the page shows; the page itself computes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rondo.errors import OutputError
from rondo.report.colours import colour_of
from rondo.report.details import entry_details
from rondo.report.overview import Overview, overview_path, read_overview
from rondo.report.pyramid import packed_signals
from rondo.report.tables import counted, entry_key, entry_name, entry_table, fit_rows, percent
from rondo.report.tables import entries_shown as shown_of
from rondo.report.timeline import written_extent

if TYPE_CHECKING:
    import polars as pl

    from rondo.report.run_folder import EntrySummary, RecordingSummary, RunSummary, Scores

MAX_RECORDINGS_DRAWN = 12
MAX_CHANNELS_DRAWN = 12


def summarize(run_dir: Path) -> dict[str, Any]:
    """What the report of a run folder says, as a dict that `json.dumps(..., allow_nan=False)` takes.

    Keys: title, overview, findings, provenance, scores (rows), fit (rows), notes, n_recordings, recordings (those
    drawn, each with its signal and lanes), entries (unit and motif rows), n_entries, details (of entries, by key).
    """
    from rondo.report.run_folder import read_run_summary, read_segments

    run = read_run_summary(run_dir)
    segments = read_segments(run_dir / "segments.parquet", run)
    truth_path = run_dir / "truth.parquet"
    truth = read_segments(truth_path, run) if truth_path.exists() else None
    drawn = run.recordings[:MAX_RECORDINGS_DRAWN]
    levels = {"unit": run.units, "motif": run.motifs}
    overviews = {recording.id: _overview(run_dir, recording) for recording in drawn}
    signals = packed_signals([_drawn(overview) for overview in overviews.values()])
    return {
        "title": "Rondo report",
        "overview": _overview_sentence(run),
        "findings": list(run.findings),
        "provenance": (f"Method {run.method}, seed {run.seed}, {_windows_of(run)}; Rondo {run.rondo_version}."),
        "scores": _score_rows(run),
        "fit": fit_rows(run),
        "notes": _notes(run.recordings),
        "n_recordings": len(run.recordings),
        "recordings": [
            _recording(recording, {**_channels(overviews[recording.id]), **signal}, segments, truth)
            for recording, signal in zip(drawn, signals, strict=True)
        ],
        "entries": {level: entry_table(level, entries, drawn) for level, entries in levels.items()},
        "n_entries": {level: len(entries) for level, entries in levels.items()},
        "details": {
            key: detail
            for level, entries in levels.items()
            for key, detail in _details(level, entries, segments, overviews, drawn).items()
        },
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


def _overview(run_dir: Path, recording: RecordingSummary) -> Overview:
    path = overview_path(run_dir, recording.id)
    overview = read_overview(path)
    if overview.n_frames != recording.n_frames or overview.channels != recording.channels:
        raise OutputError(
            f"{path}: it covers {overview.n_frames} frames and {len(overview.channels)} channels, but "
            f"summary.json says {recording.n_frames} frames and {len(recording.channels)} channels, or names "
            "them otherwise; run `rondo discover` again"
        )
    return overview


def _drawn(overview: Overview) -> Overview:
    return overview._replace(codes=overview.codes[:, :MAX_CHANNELS_DRAWN])


def _channels(overview: Overview) -> dict[str, Any]:
    shown = slice(MAX_CHANNELS_DRAWN)
    extents = zip(overview.low[shown].tolist(), overview.high[shown].tolist(), strict=True)
    return {"channels": list(overview.channels[shown]), "extents": [written_extent(*ends) for ends in extents]}


def _recording(
    recording: RecordingSummary, signal: dict[str, Any], segments: pl.DataFrame, truth: pl.DataFrame | None
) -> dict[str, Any]:
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
        "finest_frames": (signal["fine"] or signal["coarse"])["bucket_frames"],
        "signal": signal,
        "lanes": lanes_of(recording.id, segments, truth),
    }


def _details(
    level: str,
    entries: Sequence[EntrySummary],
    segments: pl.DataFrame,
    overviews: dict[str, Overview],
    drawn: Sequence[RecordingSummary],
) -> dict[str, dict[str, Any]]:
    """What the drawer shows of each entry in the table, by its key."""
    shown = {(entry.recording, entry.id): entry for entry in shown_of(entries)}
    ids: dict[str, list[int]] = {}
    for vocabulary, id in shown:
        ids.setdefault(vocabulary, []).append(id)
    found = entry_details(level, segments, overviews, ids)
    return {
        entry_key(level, shown[place]): {
            **detail,
            "level": level,
            "name": entry_name(level, place[1], shown[place].name),
            "colour": colour_of(level, place[1]),
            "facts": _facts(shown[place], len(detail["occurrences"])),
            "composition": shown[place].composition,
            "taken_for": shown[place].taken_for,
            "occurrences": [_cell(one, drawn) for one in detail["occurrences"]],
            "width_words": _width_words(detail, drawn),
        }
        for place, detail in found.items()
    }


def _facts(entry: EntrySummary, n_cells: int) -> str:
    some = f" ({n_cells} of them here, spread over time)" if n_cells < entry.n_occurrences else ""
    return f"{counted(entry.n_occurrences, 'occurrence')}{some}, {percent(entry.share)} of the time."


def _width_words(detail: dict[str, Any], drawn: Sequence[RecordingSummary]) -> str:
    rates = {recording.rate for recording in drawn}
    rate = rates.pop() if len(rates) == 1 else None
    return f"{detail['width']} frames" if rate is None else f"{detail['width'] / rate:.3g} s"


def _cell(one: dict[str, Any], drawn: Sequence[RecordingSummary]) -> dict[str, Any]:
    """One occurrence as the drawer needs it: where it is, and the words beneath it."""
    place, recording = next((place, it) for place, it in enumerate(drawn) if it.id == one["recording"])
    start = one["start_frame"]
    at = f"frame {start}" if recording.rate is None else f"{start / recording.rate:.1f} s"
    score = "" if one["score"] is None else f" ({one['score']:.2f})"
    return {
        "timeline": place,
        "start": start,
        "end": one["end_frame"],
        "offset": one["offset"],
        "columns": one["columns"],
        "words": f"{at}{score}" if len(drawn) == 1 else f"{recording.id} {at}{score}",
    }


def lanes_of(recording_id: str, segments: pl.DataFrame, truth: pl.DataFrame | None) -> list[dict[str, Any]]:
    """Each level of a recording with its truth, if there is one, right beneath it."""
    lanes = []
    for level in ("unit", "motif"):
        lanes.append(lane_of(recording_id, level, level, segments))
        if truth is not None:
            lanes.append(lane_of(recording_id, level, f"true {level}", truth))
    return lanes


def lane_of(recording_id: str, level: str, kind: str, table: pl.DataFrame) -> dict[str, Any]:
    """The segments of one level of a recording, in columns."""
    import polars as pl

    own = table.filter((pl.col("recording") == recording_id) & (pl.col("level") == level))
    ids = own["id"].to_list()
    named = set(zip(ids, own["name"].to_list(), strict=True))
    names = {entry_id: entry_name(level, entry_id, name) for entry_id, name in named}
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
