"""The journal of a stream in words: what was promoted, merged and given up, and what happened to the input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rondo.continual.journal import Event
from rondo.report.tables import entry_name
from rondo.times import moment_in_words
from rondo.wording import counted

MAX_EVENTS_LISTED = 300
_PAST = {
    "promote": "promoted",
    "merge": "merged",
    "expire": "expired",
    "gap": "gap",
    "skip": "skipped",
    "refine": "refined",
}


def journal(events: Sequence[Event], rate: float | None) -> dict[str, Any]:
    """What the page lists: the last events, and how many there are; refinements are only counted."""
    told = told_events(events)
    return {
        "events": [_row(event, rate) for event in told[-MAX_EVENTS_LISTED:]],
        "n_events": len(told),
        "n_refined": len(events) - len(told),
    }


def marks(events: Sequence[Event], rate: float | None) -> list[dict[str, Any]]:
    """What stands above the lanes, at the frame at which it happened."""
    return [{"kind": e.kind, "frame": e.frame, "words": _words(e, rate)} for e in told_events(events)]


def told_events(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event.kind != "refine"]


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
    names = "" if event.level == "input" else _names(event)
    return {"time": _time(event, rate), "kind": event.kind, "what": f"{_PAST[event.kind]} {names}".strip(),
            "level": event.level, "evidence": _evidence(event)}  # fmt: skip


def _words(event: Event, rate: float | None) -> list[str]:
    row = _row(event, rate)
    return [f"{row['time']}: {row['what']}", row["level"], row["evidence"]]


def _names(event: Event) -> str:
    """Entries by their names; what expires is a micro-cluster, which has a number of its own."""
    if event.kind == "expire":
        return ", ".join(f"micro-cluster {id}" for id in event.ids)
    return ", ".join(entry_name(event.level, id) for id in event.ids)


def _time(event: Event, rate: float | None) -> str:
    """By the clock of the data, as on the axis; else counted from the beginning of the stream."""
    if rate is None:
        return f"frame {event.frame}"
    return moment_in_words(event.frame / rate if event.time_s is None else event.time_s)


def _evidence(event: Event) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {value:.3g}" if isinstance(value, float) else f"{name.replace('_', ' ')} {value}"
        for name, value in event.evidence.items()
    )
