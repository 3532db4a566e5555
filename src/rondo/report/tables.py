"""The tables of the page: the entries of both levels with their exemplars, whether the model fits, and the journal of a
stream."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rondo.analysis.usage import (
    MOST_COMPARED,
    GroupUsage,
    differences,
    group_usage,
    groups_of_run,
    unit_of_comparison,
    usage_of,
)
from rondo.continual.journal import Event
from rondo.evidence.verdicts import is_pale
from rondo.report.lanes import entry_look, entry_name, look_of
from rondo.run.summary import Exemplar
from rondo.wording import counted, duration_in_words, moment_in_words, number_in_words, percent, spread_in_words

if TYPE_CHECKING:
    from rondo.result import Result
    from rondo.run.summary import EntryEvidenceSummary, EntrySummary, Profile, RecordingSummary, RunSummary


MAX_ENTRIES_SHOWN = 200
"""Rows per level; a page with thousands would be slow to open and read by nobody."""

UnitNames = Mapping[int, str]
"""What people call units, by id."""
MAX_EVENTS_LISTED = 300
_PAST = {
    "promote": "promoted",
    "merge": "merged",
    "expire": "expired",
    "gap": "gap",
    "skip": "skipped",
    "refine": "refined",
    "scaling": "scaled otherwise",
    "fit": "fit",
}


def entry_table(
    level: str,
    entries: Sequence[EntrySummary],
    drawn: Sequence[RecordingSummary],
    unit_names: UnitNames,
) -> list[dict[str, Any]]:
    """Rows of the entries with the largest share of time, in their order; `drawn` are the recordings on the page."""
    shown = entries_shown(entries)
    places = {recording.id: (place, recording) for place, recording in enumerate(drawn)}
    several = len({exemplar.recording for entry in shown for exemplar in entry.exemplars}) > 1
    return [
        {
            "key": entry_key(level, entry),
            **entry_look(level, entry.id, entry.name),
            "n_occurrences": entry.n_occurrences,
            "share": percent(entry.share),
            "part": entry.share,
            **_durations(entry),
            "evidence": recurrence_words(level, entry),
            "unproven": is_unproven(entry),
            "exemplars": [_exemplar(one, places, several) for one in entry.exemplars],
            "kind": entry.kind,
            "composition": entry.composition,
            "parts": composition_parts(entry.composition, unit_names),
            "taken_for": entry.taken_for,
            "description": entry.description,
        }
        for entry in shown
    ]


def levels_shown(run: RunSummary) -> dict[str, tuple[EntrySummary, ...]]:
    """The entries in labels, by level; without motifs where those are the units."""
    return {"unit": run.units} | ({} if run.motifs_are_units else {"motif": run.shown_motifs})


def composition_parts(composition: str, unit_names: UnitNames) -> list[dict[str, str]]:
    """A composition word by word, each with the look that its unit has in the timeline, and its name, if it has one."""
    parts = []
    for word in composition.split():
        unit = re.search(r"u(\d+)", word)
        name = unit_names.get(int(unit[1]), "") if unit else ""
        look = look_of("unit", int(unit[1]))._asdict() if unit else {"colour": "", "pattern": ""}
        parts.append({"text": word, "name": name, **look})
    return parts


def composition_key(compositions: Iterable[str]) -> str:
    """What the signs in these compositions mean."""
    every = " ".join(compositions)
    times = re.search(r"×[\d-]+", every)
    optional = ["[ ] is a part that some occurrences lack"] if "[" in every else []
    return ", ".join([*optional, *([f"{times[0]} is how often a part goes round"] if times else [])])


def entries_shown(entries: Sequence[EntrySummary]) -> list[EntrySummary]:
    """Those with the largest share of time, in their order."""
    by_share = sorted(range(len(entries)), key=lambda place: -entries[place].share)
    return [entries[place] for place in sorted(by_share[:MAX_ENTRIES_SHOWN])]


def entry_key(level: str, entry: EntrySummary) -> str:
    return f"{level}|{entry_name(level, entry.id, entry.name)}"


def is_unproven(entry: EntrySummary) -> bool:
    """Whether an entry occurs once, or is hard to tell from another."""
    return entry.evidence is not None and is_pale(entry.evidence.verdict)


def fit_rows(run: RunSummary) -> list[dict[str, Any]]:
    """How near the windows of each recording lie to the units, below those the model was fitted on; or nothing."""
    if run.fitted is None:
        return []
    rows: list[tuple[str, str, str, Profile]] = [("where it was fitted", "", "", run.fitted)]
    for recording in run.recordings:
        if (fit := recording.fit) is not None:
            rows.append((recording.id, fit.verdict, f"{fit.n_units} of {fit.n_units_of_model}", fit))
    return [
        {
            "recording": name,
            "verdict": verdict,
            "units": units,
            "share_accepted": percent(profile.share_accepted),
            "distances": ["–" if r is None else f"{r:.2f}" for r in profile.distance_quantiles.values()] or ["–"] * 5,
        }
        for name, verdict, units, profile in rows
    ]


def _durations(entry: EntrySummary) -> dict[str, str]:
    if entry.mean_duration_s is None or entry.median_duration_s is None:
        middle = f"{entry.median_duration_frames:.0f} ({entry.p10_duration_frames:.0f}–{entry.p90_duration_frames:.0f})"
        return {"mean_duration": f"{entry.mean_duration_frames:.1f} frames", "median_duration": middle}
    middle = spread_in_words(entry.median_duration_s, entry.p10_duration_s or 0.0, entry.p90_duration_s or 0.0)
    return {"mean_duration": duration_in_words(entry.mean_duration_s), "median_duration": middle}


def recurrence_words(level: str, entry: EntrySummary) -> str:
    """How often an entry comes back, and how clearly: '20 times, clearly'; "" where the method has no test.

    It is '20 times' alone where slow random change would look the same.
    """
    evidence = entry.evidence
    if evidence is None or evidence.verdict == "not tested":
        return "" if evidence is None else evidence.verdict
    if evidence.verdict == "occurs once":
        return number_in_words(1)
    often = number_in_words(evidence.n_visits or entry.n_occurrences)
    if evidence.verdict == "blurred":
        other = "another" if evidence.like is None else entry_name(level, evidence.like)
        return f"{often}; hard to tell from {other}"
    return f"{often}, {evidence.verdict.removeprefix('recurs ')}" if evidence.comes_back else often


def evidence_words(evidence: EntryEvidenceSummary | None) -> str:
    """What speaks for an entry, in figures: its reason, p and margin; "" where nothing was compared."""
    if evidence is None:
        return ""
    words = [evidence.reason] if evidence.reason else []
    if evidence.p is not None:
        words.append("p < 0.001" if evidence.p < 0.001 else f"p = {evidence.p:.2g}")
    if evidence.recognised is not None and evidence.margin is not None:
        words.append(
            f"{percent(evidence.recognised)} of visits nearer to it than to any other, margin {evidence.margin:.2f}"
        )
    return "; ".join(words)


def _exemplar(exemplar: Exemplar, places: dict[str, tuple[int, RecordingSummary]], named: bool) -> dict[str, Any]:
    """Where it lies in words and, if its recording is drawn, the frames of its timeline to move to."""
    lasts_s = places[exemplar.recording][1].duration_s if exemplar.recording in places else None
    start_s = exemplar.start_s
    at = f"frame {exemplar.start_frame}" if start_s is None else moment_in_words(start_s, lasts_s or 0.0)
    shown: dict[str, Any] = {
        "text": f"{exemplar.recording} {at}" if named else at,
        "score": f"{exemplar.score:.2f}",
        "timeline": None,
    }
    if exemplar.recording in places:
        place, recording = places[exemplar.recording]
        margin = exemplar.end_frame - exemplar.start_frame  # as much before and after as there is of it
        first, last = max(0, exemplar.start_frame - margin), min(recording.n_frames, exemplar.end_frame + margin)
        shown |= {"timeline": place, "from": first, "to": last}
    return shown


def rare_rows(run: RunSummary, drawn: Sequence[RecordingSummary]) -> list[dict[str, Any]]:
    """The stretches unlike the rest; those in recordings on the page can be pressed."""
    places = {recording.id: (place, recording) for place, recording in enumerate(drawn)}
    names = {(level, one.id): one.name for level, own in (("unit", run.units), ("motif", run.motifs)) for one in own}
    several = len(run.recordings) > 1
    rows = []
    for one in run.rare:
        lasts_s = None if one.start_s is None or one.end_s is None else one.end_s - one.start_s
        about = Exemplar(**one.model_dump(include=set(Exemplar.model_fields)))
        rows.append(
            {
                **entry_look(one.level, one.id, names.get((one.level, one.id), "")),
                "place": _exemplar(about, places, several),
                "lasts": f"{one.end_frame - one.start_frame} frames" if lasts_s is None else duration_in_words(lasts_s),
                "why": one.why,
                "channels": ", ".join(one.channels),
            }
        )
    return rows


def journal(events: Sequence[Event], rate: float | None) -> dict[str, Any]:
    """What the page lists: the last events, and how many there are; refinements are only counted."""
    listed = [event for event in events if event.kind != "refine"]
    return {
        "events": [_row(event, rate) for event in listed[-MAX_EVENTS_LISTED:]],
        "n_events": len(listed),
        "n_refined": len(events) - len(listed),
    }


def marks(events: Sequence[Event], rate: float | None) -> list[dict[str, Any]]:
    """What stands above the lanes, at the frame at which it happened."""
    found = []
    for event in events:
        if event.kind != "refine":
            row = _row(event, rate)
            words = [f"{row['time']}: {row['what']}", row["level"], row["evidence"]]
            found.append({"kind": event.kind, "frame": event.frame, "words": words})
    return found


def growth_in_words(events: Sequence[Event]) -> str:
    """How the vocabularies have grown, and how often the input had gaps."""
    counts: Counter[tuple[str, str]] = Counter((event.kind, event.level) for event in events)
    grown = [
        f"{counted(counts[kind, level], level)} {past}"
        for kind, past in (("promote", "promoted"), ("merge", "merged"), ("expire", "given up again"))
        for level in ("unit", "motif")
        if counts[kind, level]
    ]
    gaps = counted(counts["gap", "input"], "note")
    return f"{', '.join(grown) or 'nothing new was promoted'}; {gaps} on gaps in the input"


def _row(event: Event, rate: float | None) -> dict[str, str]:
    """The time is that of the clock of the data, as on the axis; else counted from the start of the stream."""
    names = [entry_name(event.level, id) for id in event.ids]
    if event.kind == "expire":  # what expires is a micro-cluster
        names = [f"micro-cluster {id}" for id in event.ids]
    time = f"frame {event.frame}"
    if rate is not None:
        time = moment_in_words(event.frame / rate if event.time_s is None else event.time_s)
    numbers = {name.replace("_", " "): value for name, value in event.evidence.items()}
    return {
        "time": time,
        "kind": event.kind,
        "what": f"{_PAST[event.kind]} {', '.join(names) if event.level != 'input' else ''}".strip(),
        "level": event.level,
        "evidence": ", ".join(
            f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in numbers.items()
        ),
    }


# The table of the page that compares groups of recordings: the share of every entry in every group.

_STANDS_OUT = 0.05


def group_table(result: Result) -> dict[str, Any] | None:
    """Groups, a row of cells for each entry, and notes; None if the run has fewer than two groups.

    Of many groups those with the most recordings are shown, as many as are compared.
    """
    groups = groups_of_run(result)
    if groups is None or len(set(groups.values())) < 2:
        return None
    run, sizes = result.summary, Counter(groups.values())
    shown = sorted(sorted(sizes, key=lambda name: (-sizes[name], name))[:MOST_COMPARED])
    usage = usage_of(result, groups)
    cells = {(cell.level, cell.id, cell.group): cell for cell in group_usage(usage)}
    clear: dict[tuple[str, int], list[str]] = {}
    for difference in differences(usage):
        if difference.p <= _STANDS_OUT:
            more, less = difference.groups if difference.difference > 0 else difference.groups[::-1]
            words = f"more in {more} than in {less} (p = {difference.p:.2g})"
            clear.setdefault((difference.level, difference.id), []).append(words)
    top = max((cell.share_high or cell.mean_share for cell in cells.values() if cell.group in shown), default=0.0)
    top = top or 1.0
    rows = [
        {
            **entry_look(level, entry.id, entry.name),
            "cells": [_cell(cells[level, entry.id, name], top) for name in shown],
            "differences": clear.get((level, entry.id), []),
        }
        for level, entries in levels_shown(run).items()
        for entry in entries_shown(entries)
        if (level, entry.id, shown[0]) in cells
    ]
    outcome = "No difference between groups stands out from chance (p > 0.05); few recordings can show none."
    if len(sizes) > MOST_COMPARED:
        outcome = f"Differences are tested for up to {MOST_COMPARED} groups; here are {len(sizes)}."
    elif clear:
        outcome = "p is from dealing the recordings to the groups at random, corrected for all entries and pairs."
    return {
        "names": [{"name": name, "n_recordings": sizes[name]} for name in shown],
        "n_left_out": len(sizes) - len(shown),
        "rows": rows,
        "top": percent(top),
        "notes": [*unit_of_comparison(result, groups), outcome],
    }


def _cell(cell: GroupUsage, top: float) -> dict[str, Any]:
    """The share in words, and its bar in percent of the longest one."""
    ends = {"width": cell.mean_share, "low": cell.share_low, "high": cell.share_high}
    bar = {name: None if end is None else round(100 * end / top, 1) for name, end in ends.items()}
    interval = ""
    if cell.share_low is not None and cell.share_high is not None:
        interval = "–".join(percent(end).removesuffix(" %") for end in (cell.share_low, cell.share_high))
    return {"share": percent(cell.mean_share), "interval": interval, **bar}
