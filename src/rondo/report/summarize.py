"""Result -> one plain dict with everything the page shows; the page itself computes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rondo.analysis.coarseness import coarseness_of
from rondo.data.notes import gathered, shortened
from rondo.report.channels import telling_first
from rondo.report.contents import DRAWN_AT_FIRST, EVERYTHING, SCORES_SHARE, Contents, Wish, contents_of
from rondo.report.graph import composition
from rondo.report.lanes import annotation_lanes, entry_name, lanes_of, match_looks
from rondo.report.panel import panel_entries
from rondo.report.tables import (
    entry_table,
    fit_rows,
    group_table,
    growth_in_words,
    journal,
    marks,
    rare_rows,
)
from rondo.run.clock import page_clock
from rondo.run.headline import (
    LEAST_OTHER,
    heading_of,
    headline,
    kinds_of,
    length_and_channels,
    motifs_by_kind,
    occurring,
    share_other,
)
from rondo.run.overview import Overview, least_bytes, packed, score_rows
from rondo.run.segments import counts_in, segment_counts, segments_of
from rondo.wording import counted, day_and_time, duration_in_words, found_in_words, is_date, pace_in_words, percent

if TYPE_CHECKING:
    import polars as pl

    from rondo.result import Result
    from rondo.run.summary import RecordingSummary, RunSummary

_SPANS_TO_MARK = 3


def agreement_finding(agreement: Mapping[str, Any]) -> str:
    scores = ", ".join(f"{level['level']}s {level['scores']['ari']:.0f}" for level in agreement["levels"])
    names = " and ".join(agreement["names"])
    return f"{names} agree in {counted(agreement['n_recordings'], 'recording')}: ARI of {scores} (100 is the same)"


# What a page needs to know to be edited: which run it shows, and what people have changed in it so far.


def edit_data(result: Result, *, whole: bool = True) -> dict[str, Any]:
    """`run` is the identity that a file of edits names; `edits` the history without its times: a page that is drawn
    again is the same. `frames` is False where only names and merges can be changed: a stream goes on. `coarseness`:
    how many motifs can be shown, None where they have no tree; it is `whole` if the page holds all recordings. `next`:
    what to mark next, once the run was taught.
    """
    place = coarseness_of(result) if result.summary.motif_merges else None
    coarseness = None
    if place is not None and place.fewest < place.n_found:
        suggested = place.n_motifs_suggested
        coarseness = {"n_now": place.n_now, "places": place.places, "suggested": suggested, "whole": whole}
    run, stream = result.summary, result.summary.stream
    rows = result.run.edits.rows()
    return {
        "run": run.identity,
        "edits": [{name: value for name, value in row.items() if name != "at"} for row in rows],
        "frames": stream is None or stream.finished,
        "coarseness": coarseness,
        "teachable": result.method == "rondo" and result.kind != "stream",
        "next": [] if result.run.edits.teaching is None else spans_to_mark(result),
    }


def spans_to_mark(result: Result) -> list[tuple[Any, ...]]:
    """The spans to look at next, with the columns of `Result.suggest_spans`."""
    from rondo.analysis.next_spans import next_rows

    return next_rows(result, _SPANS_TO_MARK)


def summarize(result: Result, wish: Wish = EVERYTHING) -> dict[str, Any]:
    """What the report of a result says, as a dict that `json.dumps(..., allow_nan=False)` takes.

    Keys: title, finding, overview, findings, provenance, scores (rows), fit (rows), groups (entries by group, or
    None), notes, n_recordings, motifs_are_units (motifs would show nothing else than units), left_out (in words),
    recordings (those inside the page, each with its signal, scores and lanes), kinds (of motifs, the one that is
    shown first), rare (stretches unlike the rest), headings and entries (rows of units and of each kind of motif),
    n_entries, details (of entries, by key), composition, edit (what is known of edits); of a stream events,
    n_events and n_refined.
    """
    from rondo.arrays import Lazy
    from rondo.run.data import overview_bytes  # brings pydantic, which importing the report does without

    run, truth = result.summary, result.run.tables.get("truth")
    more = [result.run.tables["unshown_segments"]] if run.unshown_motifs else []
    counts = [segment_counts(result), *(counts_in(table) for table in (truth, *more) if table is not None)]
    contents = contents_of(run, counts, wish, partial(telling_first, result))
    drawn = contents.recordings
    segments = segments_of(result, [recording.id for recording in drawn])
    by_recording = segments.partition_by("recording", as_dict=True)

    kinds, others = motifs_by_kind(run), _others_of(result, drawn)
    labelled = next((kind for kind in kinds if kind not in others), "")
    groups = {"unit": run.units, **kinds}
    unit_names = {unit.id: entry_name("unit", unit.id, unit.name) for unit in run.units if unit.name}
    annotated = {} if wish.truth is None else annotation_lanes(result, wish.truth)
    recordings = []
    for place, recording in enumerate(drawn):
        id, rows = recording.id, by_recording.get((recording.id,), segments.clear())
        scores = result.run.scores[id] if contents.bytes_of[id] else None
        about = _recording(recording, _signal(result.run.overviews[id], contents, id)) | {
            "scores": score_rows({"": scores}, int(SCORES_SHARE * contents.bytes_of[id])),
            "lanes": lanes_of(id, rows, truth, labelled, others) + ([annotated[id]] if id in annotated else []),
            "at_first": place < DRAWN_AT_FIRST,
            "journal": marks(result.events, recording.rate),
        }
        recordings.append(about)
    match_looks(recordings)
    overviews, ids = result.run.overviews, [recording.id for recording in drawn]
    inside = Lazy(ids, overviews.__getitem__, overview_bytes)
    details: dict[str, Any] = {}
    for kind, entries in groups.items():
        level = "unit" if kind == "unit" else "motif"
        own = panel_entries(level, entries, others.get(kind, segments), inside, drawn, run.rare)
        details |= {key: entry | {"of": "" if level == "unit" else kind} for key, entry in own.items()}
    return {
        "title": "Rondo report" if run.stream is None else "Rondo stream",
        "finding": headline(run) if run.stream is None else _stream_sentence(result),
        "overview": _overview_sentence(run) if run.stream is None else _stream_sentence(result),
        "findings": list(run.findings),
        "provenance": _provenance(result),
        "scores": _score_rows(run),
        "fit": fit_rows(run),
        "groups": group_table(result),
        "notes": _notes(run.recordings),
        "n_recordings": len(run.recordings),
        "motifs_are_units": run.motifs_are_units and result.run.edits.teaching is None,
        "left_out": list(contents.left_out),
        "recordings": recordings,
        "kinds": [*kinds],
        "headings": {kind: heading_of(kind, entries) for kind, entries in groups.items()},
        "entries": {
            kind: entry_table("unit" if kind == "unit" else "motif", entries, drawn, unit_names)
            for kind, entries in groups.items()
        },
        "n_entries": {kind: len(entries) for kind, entries in groups.items()},
        "rare": rare_rows(run, drawn),
        "details": details,
        "composition": composition(run, segments, result.run.tables["unshown_segments"], drawn),
        "edit": edit_data(result, whole=len(drawn) == len(run.recordings)),
        **journal(result.events, run.recordings[0].rate),
    }


def _others_of(result: Result, drawn: Sequence[RecordingSummary]) -> dict[str, pl.DataFrame]:
    """The segments of motifs that labels do not show, by kind."""
    if not result.summary.unshown_motifs:
        return {}
    table = result.run.tables["unshown_segments"]
    table = table.filter(table["recording"].is_in([one.id for one in drawn]))
    kinds = dict.fromkeys(motif.kind for motif in result.summary.unshown_motifs)
    return {kind: table.filter(table["kind"] == kind) for kind in kinds}


def _provenance(result: Result) -> str:
    run = result.summary
    windows = f"windows of {run.window_length_frames} frames every {run.step_frames}"
    windows = windows if run.window_length_frames > 1 else "no windows"
    text = f"Method {run.method}, seed {run.seed}, {windows}; Rondo {run.rondo_version}."
    if run.stream is None:
        return text
    return f"{text} {counted(run.stream.n_windows, 'decision')} and {counted(len(result.events), 'event')} so far."


def _overview_sentence(run: RunSummary) -> str:
    finder = "Rondo" if run.method == "rondo" else f"The method '{run.method}'"
    length, channels = length_and_channels(run.recordings)
    rates = [recording.rate for recording in run.recordings if recording.rate is not None]
    paces = list(dict.fromkeys(map(pace_in_words, sorted({min(rates), max(rates)})))) if rates else []
    at = " at " if "Hz" in "".join(paces[:1]) else ", "
    clock = f"{at}{' to '.join(paces)}" if len(rates) == len(run.recordings) else ""
    where = f" in {counted(len(run.recordings), 'recording')} ({length}, {channels}{clock})"
    found = found_in_words({name: len(own) for name, own in kinds_of(run).items()}, where)
    return f"{finder} found {found}.{_other_sentence(share_other(run.recordings))}"


def _stream_sentence(result: Result) -> str:
    run = result.summary
    (stream,) = run.recordings
    length = f"{stream.n_frames:,} frames" if stream.rate is None else duration_in_words(stream.n_frames / stream.rate)
    other = _other_sentence(stream.share_other)
    text = f"In {length} of the stream {occurring(run)}; {growth_in_words(result.events)}.{other}"
    fit = "" if run.stream is None else run.stream.fit
    doubt = ", its labels are doubtful and it learns nothing" if fit == "does not fit" else ""
    return f"{text} The model {fit}{doubt}." if fit else text


def _other_sentence(share: float) -> str:
    return f" {percent(share)} of the time is OTHER." if share >= LEAST_OTHER else ""


def _score_rows(run: RunSummary) -> list[dict[str, Any]]:
    if run.scores is None:
        return []
    columns = {"ari", "ami", "one_to_one", "mof", "recall", "f1_50", "edit", "seg_ratio"}
    rows = []
    for level, scores in (("Units", run.scores.units), ("Motifs", run.scores.motifs)):
        rows.append({"level": level, "control": False, "method": run.method, **scores.model_dump(include=columns)})
        rows.append({"level": level, "control": True, "method": "clock", **scores.clock.model_dump(include=columns)})
    return rows


def _notes(recordings: Sequence[RecordingSummary]) -> list[dict[str, Any]]:
    """The table of notes: what is noted, the columns it is about, and the recordings; none stands for all."""
    about: list[tuple[str, list[str]]] = []
    for recording in recordings:
        own = list(recording.notes)
        if recording.n_gaps and not any("no window reaches across" in note for note in own):
            own.append(f"{counted(recording.n_gaps, 'gap')} that no window crosses.")
        if recording.clock is None and recording.rate is not None and recording.duration_s is not None:
            counted_s = recording.n_frames / recording.rate
            if abs(counted_s - recording.duration_s) > max(0.01 * counted_s, 2 / recording.rate):
                own.append("The timestamps jump: the time axis below counts frames at the nominal rate.")
        about.append((recording.id, own))
    return [
        {
            "what": note.what,
            "columns": shortened(note.columns),
            "recordings": "all" if len(note.recordings) == len(recordings) else shortened(note.recordings),
        }
        for note in gathered(about)
    ]


def _signal(overview: Overview, contents: Contents, recording_id: str) -> dict[str, Any]:
    """What the page draws of a signal, and which of its channels at first."""
    own = overview.only(contents.channels[recording_id] if contents.bytes_of[recording_id] else [])
    if not own.codes.size:  # no room for it in the page; a stream that has just begun, or keeps no signal
        return {"channels": [], "ends": [], "at_first": 0, "coarse": None, "fine": None}
    ends = zip(own.low.tolist(), own.high.tolist(), strict=True)
    n_bytes = contents.bytes_of[recording_id]  # scores take their least too
    return {
        "channels": list(own.channels),
        "ends": [[low, high] if low <= high else None for low, high in ends],
        "at_first": min(DRAWN_AT_FIRST, len(own.channels)),
        **packed(own, n_bytes - max(int(SCORES_SHARE * n_bytes), least_bytes(2, own.n_frames))),
    }


def _recording(recording: RecordingSummary, signal: dict[str, Any]) -> dict[str, Any]:
    about = [
        f"{recording.n_frames:,} frames" if recording.duration_s is None else duration_in_words(recording.duration_s),
        counted(len(recording.channels), "channel"),
        "no clock (give --rate HZ for seconds)" if recording.rate is None else pace_in_words(recording.rate),
    ]
    if recording.share_other >= LEAST_OTHER:
        about.append(f"{percent(recording.share_other)} OTHER")
    if recording.n_gaps:
        about.append(counted(recording.n_gaps, "gap"))
    if recording.clock is not None and is_date(recording.clock.seconds[0]):
        about.append(f"from {day_and_time(recording.clock.seconds[0])} on")
    return {
        "id": recording.id,
        "source": recording.source,
        "about": ", ".join(about),
        "n_frames": max(1, recording.n_frames),
        "rate": recording.rate,
        "n_channels": len(recording.channels),
        "clock": page_clock(None if recording.clock is None else recording.clock.model_dump()),
        "finest_frames": (signal["fine"] or signal["coarse"] or {"bucket_frames": 1})["bucket_frames"],
        "signal": signal,
    }
