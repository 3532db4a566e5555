"""What a page says of a stream beside its labels: alarms that are raised, those of before, and how the stream does."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rondo.live.sinks.delivery import ALARMS
from rondo.live.supervising.health import DEAD, HEALTHY, IN_ALARM, Health, judged, read_health
from rondo.store.reading import read_part

MOST_LISTED = 50
_MOST_BYTES = 1 << 18  # read from the end of alarms.jsonl
_STALE_S = 30.0
_STATES = {HEALTHY: "ok", IN_ALARM: "alarm", DEAD: "dead"}
_COLUMNS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("alarm", "state", "device", "message", "time"), (str,)),
    "frame": (int,),
    "data_s": (int, float),
}


def alarms_of(folder: Path) -> dict[str, Any]:
    """`health` (None where there is none), `raised` and `alarms`, the newest first.

    An alarm is raised until it is cleared; a stream that has ended raises nothing any more.
    """
    health = read_health(folder)
    lines = alarm_lines(folder)
    has_ended = health is not None and health.state == "finished"
    raised = [] if has_ended else raised_in(lines)
    return {"health": health_in_words(health), "raised": raised, "alarms": lines[: -MOST_LISTED - 1 : -1]}


def health_in_words(health: Health | None) -> dict[str, str] | None:
    """The state as one word and as one line."""
    if health is None:
        return None
    code, words = judged(health, _STALE_S, time.time())
    return {"state": "finished" if health.state == "finished" else _STATES[code], "words": words}


def raised_in(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last line of each alarm and device that was raised and not cleared, the oldest first."""
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for line in lines:
        last.pop((line["alarm"], line["device"]), None)
        last[line["alarm"], line["device"]] = line
    return [line for line in last.values() if line["state"] == "raised"]


def alarm_lines(folder: Path) -> list[dict[str, Any]]:
    """The last lines of alarms.jsonl, each with what a page shows of it; whatever is no such line is passed over."""
    path = folder / ALARMS
    try:
        start = max(0, os.stat(path, follow_symlinks=False).st_size - _MOST_BYTES)  # noqa: PTH116
        text = read_part(path, start, _MOST_BYTES)
    except OSError:
        return []
    whole = text[: text.rfind(b"\n") + 1].splitlines()[1 if start else 0 :]
    return [line for line in map(_shown, whole) if line is not None]


def _shown(text: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, Mapping) or not all(isinstance(line.get(name), str) for name in ("alarm", "state")):
        return None
    known = {name: line[name] for name, kinds in _COLUMNS.items() if isinstance(line.get(name), kinds)}
    if not math.isfinite(known.get("data_s", 0.0)):  # no JSON, and no place in a timeline
        del known["data_s"]
    return {"device": "", "message": "", "time": "", "frame": None, "data_s": None} | known
