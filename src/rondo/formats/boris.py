"""BORIS: the project (.boris, JSON), and the two tables of events that it exports as .csv or .tsv; all are only read.

State events come in pairs: the same behaviour, subject and modifiers begin and then end. What one subject does in one
behavioural category is a track, called "subject/category" without the empty parts. BORIS adds the time offset of an
observation to the times of its events: without it they count from the beginning of the media, as everywhere here.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rondo.annotations.formats import AnnotationFormat
from rondo.annotations.tracks import NamedSpan, Track, left_out
from rondo.errors import AnnotationError, RondoWarning
from rondo.store.reading import MOST_BYTES, open_regular, read_json
from rondo.wording import counted

NO_SUBJECT = "No focal subject"
OFFSET = "Time offset (s)"
HEADER_WITHIN = 200
"""Lines that may describe the observation above the header: media files, variables."""


class _Event(NamedTuple):
    observation: str
    subject: str
    category: str
    behavior: str
    modifiers: str
    time: float


class _State(NamedTuple):
    observation: str
    track: str
    span: NamedSpan


def read_boris_project(path: Path) -> list[Track]:
    """The state events of every observation of a project; point events have no duration and are left out."""
    try:
        project = read_json(path, MOST_BYTES)
        behaviors = {entry["code"]: entry for entry in project["behaviors_conf"].values()}
        events, n_points = [], 0
        for observation, found in project["observations"].items():
            offset = float(found.get("time offset") or 0)
            for time, subject, code, modifiers, *_ in found["events"]:
                entry = behaviors.get(code, {})
                if not str(entry.get("type", "State event")).startswith("State"):
                    n_points += 1
                    continue
                category = entry.get("category") or ""
                events.append(_Event(observation, subject, category, code, str(modifiers), float(time) - offset))
    except OSError as error:
        raise AnnotationError(f"'{path}': cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise AnnotationError(f"'{path}': not a BORIS project that can be read (at {error})") from error
    left_out(n_points, "point events", path)
    return _tracks(_paired(events, path))


def is_boris_table(path: Path) -> bool:
    """Whether a .csv has the header of BORIS's event tables, perhaps below the description of the observation."""
    try:
        return _header(_rows(path, most=HEADER_WITHIN)) is not None
    except AnnotationError:
        return False


def read_boris_table(path: Path) -> list[Track]:
    """Tabular events (a line for START and one for STOP) or aggregated events (Start (s), Stop (s))."""
    rows = _rows(path)
    at = _header(rows)
    if at is None:
        raise AnnotationError(
            f"'{path}': no header of a table of events as BORIS exports it; expected columns 'Behavior' and 'Time', "
            "or 'Start (s)' and 'Stop (s)'"
        )
    above = {row[0]: row[1] for row in rows[:at] if len(row) > 1}  # the description of the only observation
    shared = {name: above[name] for name in ("Observation id", OFFSET) if name in above}
    lines = [shared | dict(zip(rows[at], row, strict=False)) for row in rows[at + 1 :] if any(row)]
    try:
        states = _aggregated(lines, path) if "Start (s)" in rows[at] else _tabular(lines, path)
    except (ValueError, KeyError) as error:
        raise AnnotationError(f"'{path}': a line of this table of events cannot be read (at {error})") from error
    return _tracks(states)


def _aggregated(lines: list[dict[str, str]], path: Path) -> list[_State]:
    states = [line for line in lines if not line.get("Behavior type", "STATE").upper().startswith("POINT")]
    left_out(len(lines) - len(states), "point events", path)
    return [
        _State(
            line.get("Observation id", ""),
            _track_name(line.get("Subject", ""), line.get("Behavioral category", "")),
            NamedSpan(_time(line, "Start (s)"), _time(line, "Stop (s)"), line["Behavior"]),
        )
        for line in states
    ]


def _tabular(lines: list[dict[str, str]], path: Path) -> list[_State]:
    events, n_points = [], 0
    for line in lines:
        status = (line.get("Status") or line.get("Behavior type") or "").upper()
        if status.startswith("POINT"):
            n_points += 1
            continue
        modifiers = "|".join(cell for name, cell in line.items() if name.startswith("Modifier"))
        whose = line.get("Observation id", ""), line.get("Subject", "")
        category = line.get("Behavioral category", "")
        events.append(_Event(*whose, category, line["Behavior"], modifiers, _time(line, "Time")))
    left_out(n_points, "point events", path)
    return _paired(events, path)


def _paired(events: Iterable[_Event], path: Path) -> list[_State]:
    """BORIS's own rule: in the order of time, an event of a behaviour that is under way ends it."""
    under_way: dict[tuple[str, ...], float] = {}
    states = []
    for event in sorted(events, key=lambda event: (event.observation, event.time)):
        *which, time = event
        key = tuple(str(part) for part in which)
        if key not in under_way:
            under_way[key] = time
            continue
        start = under_way.pop(key)
        if start < time:
            track = _track_name(event.subject, event.category)
            states.append(_State(event.observation, track, NamedSpan(start, time, event.behavior)))
    if under_way:
        (_, _, _, behavior, _), time = next(iter(under_way.items()))
        n_open = counted(len(under_way), "state")
        said = f"{n_open} left out, begun and not ended (as '{behavior}' at {time:g} s); pair them in BORIS"
        warnings.warn(f"{path}: {said}", RondoWarning, stacklevel=3)
    return states


def _tracks(states: Iterable[_State]) -> list[Track]:
    spans: dict[tuple[str, str], list[NamedSpan]] = {}
    for state in states:
        spans.setdefault((state.observation, state.track), []).append(state.span)
    return [Track(tuple(found), name, observation) for (observation, name), found in spans.items()]


def _track_name(subject: str, category: str) -> str:
    return "/".join(part for part in (subject if subject != NO_SUBJECT else "", category) if part)


def _time(line: dict[str, str], column: str) -> float:
    """Seconds since the beginning of the media; tables of older versions do not tell the offset."""
    offset = line.get(OFFSET) or "0"
    return _number(line[column]) - (0.0 if offset == "NA" else _number(offset))


def _number(cell: str) -> float:
    return float(cell.replace(",", "."))


def _header(rows: list[list[str]]) -> int | None:
    for place, row in enumerate(rows[:HEADER_WITHIN]):
        if "Behavior" in row and ("Time" in row or {"Start (s)", "Stop (s)"} <= set(row)):
            return place
    return None


def _rows(path: Path, most: int | None = None) -> list[list[str]]:
    try:
        with io.TextIOWrapper(open_regular(path), encoding="utf-8-sig", newline="") as file:
            return list(islice(csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ","), most))
    except (OSError, UnicodeError, csv.Error) as error:
        raise AnnotationError(f"'{path}': not a readable table in UTF-8 ({error})") from error


FORMAT = AnnotationFormat(
    name="boris",
    program="BORIS",
    suffixes=(".boris", ".csv", ".tsv"),
    read=lambda path: read_boris_project(path) if path.suffix.lower() == ".boris" else read_boris_table(path),
    recognises=lambda path: path.suffix.lower() != ".csv" or is_boris_table(path),
    order=5,
)
