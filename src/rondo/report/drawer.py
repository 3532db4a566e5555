"""What the drawer says of each entry: facts, composition, and its occurrences, the exemplars first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rondo.report.colours import look_of
from rondo.report.details import entry_details
from rondo.report.overview import Overview
from rondo.report.tables import (
    UnitNames,
    composition_key,
    composition_parts,
    entries_shown,
    entry_key,
    entry_name,
    evidence_words,
    percent,
)
from rondo.report.wall_clock import seconds_at
from rondo.times import duration_in_words, moment_in_words, spread_in_words
from rondo.wording import counted

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.summary import EntrySummary, RecordingSummary


def drawer_entries(
    level: str,
    entries: Sequence[EntrySummary],
    segments: pl.DataFrame,
    overviews: Mapping[str, Overview],
    drawn: Sequence[RecordingSummary],
    unit_names: UnitNames = MappingProxyType({}),
) -> dict[str, dict[str, Any]]:
    """What the drawer shows of each entry in the table, by its key."""
    shown = {(entry.recording, entry.id): entry for entry in entries_shown(entries)}
    ids: dict[str, list[int]] = {}
    for vocabulary, id in shown:
        ids.setdefault(vocabulary, []).append(id)
    exemplars = {(one.recording, one.start_frame) for entry in shown.values() for one in entry.exemplars}
    found = entry_details(level, segments, overviews, ids, exemplars)
    places = {recording.id: (place, recording) for place, recording in enumerate(drawn)}
    return {
        entry_key(level, shown[place]): {
            **detail,
            "level": level,
            "name": entry_name(level, place[1], shown[place].name),
            **look_of(level, place[1])._asdict(),
            "facts": _facts(shown[place], len(detail["occurrences"])),
            "composition": composition_parts(shown[place].composition, place[0], unit_names),
            "composition_key": composition_key([shown[place].composition]),
            "taken_for": shown[place].taken_for,
            "occurrences": _cells(detail["occurrences"], shown[place], places),
            "width_words": _width_words(detail, drawn),
        }
        for place, detail in found.items()
    }


def _facts(entry: EntrySummary, n_cells: int) -> list[str]:
    some = f" ({n_cells} of them here, spread over time)" if n_cells < entry.n_occurrences else ""
    facts = [f"{counted(entry.n_occurrences, 'occurrence')}{some}, {percent(entry.share)} of the time."]
    if entry.median_duration_s is None:
        lengths = (entry.median_duration_frames, entry.p10_duration_frames, entry.p90_duration_frames)
        facts.append("Lasts {:.0f} frames (10–90 %: {:.0f}–{:.0f}).".format(*lengths))
    else:
        lasts = (entry.median_duration_s, entry.p10_duration_s or 0.0, entry.p90_duration_s or 0.0)
        facts.append(f"Lasts {spread_in_words(*lasts)} (median, 10–90 %).")
    return facts if entry.evidence is None else [*facts, f"Recurs? {evidence_words(entry.evidence)}."]


def _width_words(detail: dict[str, Any], drawn: Sequence[RecordingSummary]) -> str:
    rates = {recording.rate for recording in drawn}
    rate = rates.pop() if len(rates) == 1 else None
    return f"{detail['width']} frames" if rate is None else duration_in_words(detail["width"] / rate)


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
    """One occurrence as the drawer needs it: where it is, and the words beneath it."""
    place, recording = places[one["recording"]]
    start = one["start_frame"]
    when = None if recording.rate is None else seconds_at(recording, start)
    at = f"frame {start}" if when is None else moment_in_words(when, recording.duration_s or 0.0)
    score = "" if one["score"] is None else f" ({one['score']:.2f})"
    return {
        "timeline": place,
        "start": start,
        "end": one["end_frame"],
        "offset": one["offset"],
        "columns": one["columns"],
        "words": f"{at}{score}" if len(places) == 1 else f"{recording.id} {at}{score}",
    }
