"""The panel beside the timeline: name, figures and pictures of each entry, as a dict that the page's script reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.arrays import Floats
from rondo.report.colours import look_of
from rondo.report.details import entry_details
from rondo.report.distributions import Spans, duration_bins, when
from rondo.report.overview import Overview
from rondo.report.tables import (
    entries_shown,
    entry_key,
    entry_name,
    evidence_words,
    is_unproven,
    percent,
)
from rondo.report.wall_clock import seconds_at
from rondo.times import duration_in_words, moment_in_words, spread_in_words
from rondo.wording import counted

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.summary import EntrySummary, RecordingSummary

_NO_SIGNAL: Mapping[str, Any] = MappingProxyType(
    {"apart": [], "rows": [], "extents": [], "width": 1, "reach": 1, "median": 1, "n_aligned": 0, "aligned": [],
     "occurrences": [], "data": ""}
)  # fmt: skip


def panel_entries(
    level: str,
    entries: Sequence[EntrySummary],
    segments: pl.DataFrame,
    overviews: Mapping[str, Overview],
    drawn: Sequence[RecordingSummary],
) -> dict[str, dict[str, Any]]:
    """What the panel shows of each entry in the table, by its key."""
    shown = {entry.id: entry for entry in entries_shown(entries)}
    exemplars = {(one.recording, one.start_frame) for entry in shown.values() for one in entry.exemplars}
    found = entry_details(level, segments, overviews, set(shown), exemplars)
    places = {recording.id: (place, recording) for place, recording in enumerate(drawn)}
    spans = _spans(level, segments)
    return {
        entry_key(level, entry): {
            **(detail := found.get(id, _NO_SIGNAL)),
            **about_entry(level, entry),
            "occurrences": _cells(detail["occurrences"], entry, places),
            "width_words": _in_words(detail["width"], drawn),
            "reach_words": _in_words(detail["reach"], drawn),
            "median_words": _in_words(detail["median"], drawn),
            **_distributions(spans.get(id, {}), drawn),
        }
        for id, entry in shown.items()
    }


def about_entry(level: str, entry: EntrySummary) -> dict[str, Any]:
    """Name, look and figures in words; `unproven` is why an entry is pale, empty where it recurs or was not tested."""
    return {
        "level": level,
        "name": entry_name(level, entry.id, entry.name),
        **look_of(level, entry.id)._asdict(),
        "n": entry.n_occurrences,
        "part": entry.share,
        "share": percent(entry.share),
        "facts": _facts(entry),
        "lasts": _lasts(entry),
        "evidence": evidence_words(entry.evidence),
        "unproven": evidence_words(entry.evidence) if is_unproven(entry) else "",
        "taken_for": entry.taken_for,
        "absorbed": list(entry.absorbed),
    }


def _facts(entry: EntrySummary) -> str:
    """The line under the name."""
    if entry.median_duration_s is None:
        lengths = (entry.median_duration_frames, entry.p10_duration_frames, entry.p90_duration_frames)
        lasts = "{:.0f} ({:.0f}–{:.0f}) frames".format(*lengths)
    else:
        lasts = spread_in_words(entry.median_duration_s, entry.p10_duration_s or 0.0, entry.p90_duration_s or 0.0)
    return f"{counted(entry.n_occurrences, 'occurrence')}, {percent(entry.share)} of the time, lasts {lasts}"


def _lasts(entry: EntrySummary) -> str:
    if entry.median_duration_s is None:
        return f"{entry.median_duration_frames:.0f} frames"
    return duration_in_words(entry.median_duration_s)


def _in_words(n_frames: int, drawn: Sequence[RecordingSummary]) -> str:
    rates = {recording.rate for recording in drawn}
    rate = rates.pop() if len(rates) == 1 else None
    return f"{n_frames} frames" if rate is None else duration_in_words(n_frames / rate)


def _spans(level: str, segments: pl.DataFrame) -> dict[int, Spans]:
    """Starts and ends of all occurrences, by id and recording."""
    import polars as pl

    own = segments.filter((pl.col("level") == level) & (pl.col("id") >= 0)).sort("id", "recording", "start_frame")
    ids, recordings = own["id"].to_list(), own["recording"].to_list()
    starts, ends = (own[name].to_numpy().astype(np.float64) for name in ("start_frame", "end_frame"))
    first = [i for i in range(len(ids)) if i == 0 or (ids[i], recordings[i]) != (ids[i - 1], recordings[i - 1])]
    found: dict[int, dict[str, tuple[Floats, Floats]]] = {}
    for at, past in pairwise([*first, len(ids)]):
        found.setdefault(ids[at], {})[recordings[at]] = (starts[at:past], ends[at:past])
    return {id: MappingProxyType(by_recording) for id, by_recording in found.items()}


def _distributions(spans: Spans, drawn: Sequence[RecordingSummary]) -> dict[str, Any]:
    """Durations and when, over the recordings on the page; None where it does not occur in them."""
    rates = {recording.id: recording.rate for recording in drawn}
    own = {id: ends for id, ends in spans.items() if id in rates}
    if not own:
        return {"durations": None, "when": None}
    in_seconds = all(rates[id] is not None for id in own)
    lengths = np.concatenate([(end - start) / ((rates[id] or 1.0) if in_seconds else 1.0)
                              for id, (start, end) in own.items()])  # fmt: skip
    return {"durations": duration_bins(lengths, in_seconds=in_seconds), "when": when(own, drawn)}


def _cells(
    occurrences: Sequence[dict[str, Any]],
    entry: EntrySummary,
    places: Mapping[str, tuple[int, RecordingSummary]],
) -> list[dict[str, Any]]:
    """Exemplars first, in the order of the table, then the others in the order of time."""
    rank = {(one.recording, one.start_frame): place for place, one in enumerate(entry.exemplars)}
    ranks = [rank.get((one["recording"], one["start_frame"]), len(rank)) for one in occurrences]
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    return [_cell(occurrences[i], places) | {"exemplar": ranks[i] < len(rank)} for i in order]


def _cell(one: dict[str, Any], places: Mapping[str, tuple[int, RecordingSummary]]) -> dict[str, Any]:
    """One occurrence as the panel needs it: where it is, and the words beneath it."""
    place, recording = places[one["recording"]]
    start = one["start_frame"]
    when_s = None if recording.rate is None else seconds_at(recording, start)
    at = f"frame {start}" if when_s is None else moment_in_words(when_s, recording.duration_s or 0.0)
    score = "" if one["score"] is None else f" ({one['score']:.2f})"
    return {
        "timeline": place,
        "start": start,
        "end": one["end_frame"],
        "offset": one["offset"],
        "columns": one["columns"],
        "words": f"{at}{score}" if len(places) == 1 else f"{recording.id} {at}{score}",
    }
