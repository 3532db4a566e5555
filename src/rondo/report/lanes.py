"""One recording as data that the page draws: the signal above, lanes of segments below, all on one axis of frames."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.annotations.annotation import Annotation, truth_of
from rondo.annotations.tracks import NO_CLASS
from rondo.data.grid import FrameClock
from rondo.data.labels import OTHER, from_runs, runs_of
from rondo.data.recording import checked_rate
from rondo.report.contents import TruthFile
from rondo.run.clock import clock_of
from rondo.run.overview import base64_of

if TYPE_CHECKING:
    from rondo.result import Result


# ----------------------------------------------------------------
# One look per id, the same in every report, told apart by colour-blind readers.
#
# Eight hues of Okabe & Ito (2008, "Color universal design") and Tol (2021, technical note SRON/EPS/TN/09-002), then
# the same hues lighter and striped, darker and dotted, and barred: 32 looks that differ in hue or, where hues are
# alike, in pattern. Motifs have the same hues in another order and darker, for their blocks lie on the rows of units:
# a motif and a unit look alike in no page, and in a page with few of them share no hue. Ids beyond start again: the
# name inside a segment, not its look, is its identity.

Pattern = Literal["plain", "stripes", "dots", "bars"]
OTHER_COLOUR = "#e6e6e6"

_HUES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#882255")

_HUES_OF_MOTIFS = (5, 6, 3, 7, 4, 2, 1, 0)

_FIRST_LOOK = {"unit": 0, "motif": 0, "true unit": 5, "true motif": 5}
"""What is true starts elsewhere: u2 and a true unit 2 have nothing in common and must not look alike."""


class Look(NamedTuple):
    """A colour as #rrggbb, and the pattern on it."""

    colour: str
    pattern: Pattern


def look_of(kind: str, entry_id: int) -> Look:
    """The look of an id; `kind` is unit, motif, true unit or true motif.

    >>> look_of("unit", 0), look_of("unit", 24), look_of("motif", -1)  # doctest: +NORMALIZE_WHITESPACE
    (Look(colour='#0072b2', pattern='plain'), Look(colour='#0072b2', pattern='bars'),
     Look(colour='#e6e6e6', pattern='plain'))
    """
    looks = MOTIF_LOOKS if kind.endswith("motif") else LOOKS
    return OTHER_LOOK if entry_id == OTHER else looks[(_FIRST_LOOK[kind] + entry_id) % len(looks)]


def colour_of(kind: str, entry_id: int) -> str:
    """The colour alone, for formats that have no patterns."""
    return look_of(kind, entry_id).colour


def ink_on(colour: str) -> str:
    """Black or white, whichever stands out more on a colour (WCAG 2 relative luminance).

    >>> ink_on("#f0e442"), ink_on("#882255")
    ('#000000', '#ffffff')
    """
    red, green, blue = (_linear(channel) for channel in _channels(colour))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"


def _mixed(colour: str, other: int, share: float) -> str:
    return "#" + "".join(f"{round((1 - share) * channel + share * other):02x}" for channel in _channels(colour))


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def _linear(channel: int) -> float:
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


_DARKER: dict[Pattern, float] = {"plain": 0.35, "stripes": 0.15, "dots": 0.45, "bars": 0.35}
OTHER_LOOK = Look(OTHER_COLOUR, "plain")
LOOKS: tuple[Look, ...] = (
    *(Look(hue, "plain") for hue in _HUES),
    *(Look(_mixed(hue, 255, 0.25), "stripes") for hue in _HUES),
    *(Look(_mixed(hue, 0, 0.3), "dots") for hue in _HUES),
    *(Look(hue, "bars") for hue in _HUES),
)
MOTIF_LOOKS: tuple[Look, ...] = tuple(
    Look(_mixed(_HUES[hue], 0, darker), pattern) for pattern, darker in _DARKER.items() for hue in _HUES_OF_MOTIFS
)


_LONGEST_SEQUENCE = 60
_LANE_TITLES = {
    "unit": "units",
    "motif": "motifs",
    "true unit": "true units",
    "true motif": "true motifs",
    "annotation": "annotation",
}


def timeline(recording: dict[str, Any], *, motif_lane: bool = True) -> dict[str, Any]:
    """What the script of the page needs of one element of `summarize(...)["recordings"]`, as JSON takes it."""
    return {
        "id": recording["id"],
        "n_frames": recording["n_frames"],
        "frame_s": None if recording["rate"] is None else 1.0 / recording["rate"],
        "clock": recording.get("clock"),
        "signal": recording["signal"],
        "scores": recording["scores"],
        "lanes": [_lane(lane) for lane in recording["lanes"] if motif_lane or lane["kind"] != "motif"],
        "journal": recording.get("journal", []),
    }


def _lane(lane: dict[str, Any]) -> dict[str, Any]:
    """Segments as columns of numbers; names, colours and unit sequences once each, however often they occur."""
    seen = [*zip(lane["names"], lane["colours"], lane["patterns"], strict=True)]
    looks = list(dict.fromkeys(seen))
    sequences = list(dict.fromkeys(lane["units"]))
    place_of_look = {look: place for place, look in enumerate(looks)}
    place_of_sequence = {sequence: place for place, sequence in enumerate(sequences)}
    scores = np.array([np.nan if score is None else score for score in lane["scores"]], dtype=np.float32)
    return {
        "kind": lane["kind"],
        "title": lane.get("title", _LANE_TITLES[lane["kind"]]),
        "run": lane.get("run", ""),
        "entries": [
            {"name": name, "colour": colour, "pattern": pattern, "ink": ink_on(colour)}
            for name, colour, pattern in looks
        ],
        "sequences": [_cut_short(sequence) for sequence in sequences],
        "starts": base64_of(np.array(lane["start_frames"], dtype=np.int32)),
        "ends": base64_of(np.array(lane["end_frames"], dtype=np.int32)),
        "entry": base64_of(np.array([place_of_look[look] for look in seen], dtype=np.int32)),
        "sequence": base64_of(np.array([place_of_sequence[units] for units in lane["units"]], dtype=np.int32)),
        "scores": base64_of(scores),
    }


def _cut_short(units: str) -> str:
    """A unit sequence that fits a tooltip; segments.csv holds it whole."""
    return units if len(units) <= _LONGEST_SEQUENCE else f"{units[:_LONGEST_SEQUENCE].rsplit(' ', 1)[0]} …"


# ----------------------------------------------------------------
# What people have annotated as a lane of the page; shown beside what was found, and never learned from.


def annotation_lanes(result: Result, truth: TruthFile) -> dict[str, Any]:
    """The lane of each recording by its id, as `rondo.report.summarize.lane_of` gives those of segments."""
    annotations = read_truth(result, truth)
    return _lanes({id: _named_runs(annotation) for id, annotation in annotations.items()})


def read_truth(result: Result, truth: TruthFile) -> dict[str, Annotation]:
    """The annotation of each recording; of a stream that goes on, of the frames that have come."""
    rate, stream = checked_rate(truth.rate), result.summary.stream
    return truth_of(
        truth.path,
        {one.id: one.n_frames for one in result.recordings},
        truth.key,
        lambda id: clock_of(result, id) if rate is None else FrameClock.from_rate(rate),
        goes_on=stream is not None and not stream.finished,
    )


class _Run(NamedTuple):
    start: int
    stop: int
    name: str


def _named_runs(annotation: Annotation) -> list[_Run]:
    """Runs of one class by its name, or its number where it has none; what nobody annotated is left out."""
    runs = runs_of(annotation.classes)
    names = [annotation.names[number] if annotation.names else str(number) for number in runs.ids.tolist()]
    every = map(_Run, runs.starts.tolist(), runs.stops.tolist(), names)
    return [run for run in every if run.name not in (NO_CLASS, str(OTHER))]


def _lanes(named: Mapping[str, Sequence[_Run]]) -> dict[str, dict[str, Any]]:
    """Runs of classes as lanes; a class looks the same in all of them."""
    classes = sorted({run.name for runs in named.values() for run in runs}, key=_numbers_first)
    looks = {name: look_of("true unit", place) for place, name in enumerate(classes)}
    return {id: _annotation_lane(runs, looks) for id, runs in named.items()}


def _numbers_first(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdecimal() else (sys.maxsize, name)


def _annotation_lane(runs: Sequence[_Run], looks: Mapping[str, Look]) -> dict[str, Any]:
    return {
        "kind": "annotation",
        "names": [run.name for run in runs],
        "colours": [looks[run.name].colour for run in runs],
        "patterns": [looks[run.name].pattern for run in runs],
        "start_frames": [run.start for run in runs],
        "end_frames": [run.stop for run in runs],
        "scores": [None] * len(runs),
        "units": [""] * len(runs),
    }


# ----------------------------------------------------------------
# True and annotated classes in the colours of what was found: one look for what is probably the same.
#
# Each class is paired with the found entry with which it shares time, one to one, so that the shared time of all pairs
# is the largest possible. Classes without a partner get looks that no found entry of the page has.

_LEVELS = {"true unit": ("unit",), "true motif": ("motif",), "annotation": ("motif", "unit")}
_LEAST_SHARED = 0.1
"""Of the time of a class or of its partner: a pair that shares less has nothing in common."""


class _Shared(NamedTuple):
    """Frames that each class shares with each found entry, and the frames of each."""

    classes: list[str]
    entries: list[str]
    frames: NDArray[np.int64]
    of_classes: NDArray[np.int64]
    of_entries: NDArray[np.int64]


def match_looks(recordings: Sequence[Mapping[str, Any]]) -> None:
    """Give the lanes of classes, in place, the looks of the found entries that they share most time with."""
    for kind, levels in _LEVELS.items():
        if any(_lane_of_level(recording, kind) for recording in recordings):
            looks = max((_matched(recordings, kind, level) for level in levels), key=lambda found: found[1])[0]
            for recording in recordings:
                lane = _lane_of_level(recording, kind)
                if lane:
                    lane["colours"] = [looks[name].colour for name in lane["names"]]
                    lane["patterns"] = [looks[name].pattern for name in lane["names"]]


def _matched(recordings: Sequence[Mapping[str, Any]], kind: str, level: str) -> tuple[dict[str, Look], int]:
    """The look of every class, and how many frames the pairs share."""
    shared = _shared(recordings, kind, level)
    found = _looks_of(recordings, level)
    looks, n_frames = dict[str, Look](), 0
    for row, column in partners(shared.frames, shared.of_classes, shared.of_entries):
        looks[shared.classes[row]] = found[shared.entries[column]]
        n_frames += int(shared.frames[row, column])
    own = [*_looks_of(recordings, kind).items()]
    used = {*found.values(), *looks.values()}
    free = [look for look in (MOTIF_LOOKS if level == "motif" else LOOKS) if look not in used]
    for place, (name, look) in enumerate((name, look) for name, look in own if name not in looks):
        is_class = name != "OTHER" or kind == "annotation"
        looks[name] = free[place % len(free)] if free and is_class else look
    return looks, n_frames


def partners(
    frames: NDArray[np.int64], of_rows: NDArray[np.int64], of_columns: NDArray[np.int64]
) -> list[tuple[int, int]]:
    """Rows and columns one to one, so that the frames that all pairs share are most; of each, all its frames.

    >>> partners(np.array([[5, 1], [4, 3]]), np.array([6, 7]), np.array([9, 4]))
    [(0, 0), (1, 1)]
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(frames, maximize=True)
    kept = frames[rows, columns] > _LEAST_SHARED * np.minimum(of_rows[rows], of_columns[columns])
    return [*zip(rows[kept].tolist(), columns[kept].tolist(), strict=True)]


def _shared(recordings: Sequence[Mapping[str, Any]], kind: str, level: str) -> _Shared:
    classes = [name for name in _looks_of(recordings, kind) if name != "OTHER" or kind == "annotation"]
    entries = [name for name in _looks_of(recordings, level) if name != "OTHER"]
    frames = np.zeros((len(classes), len(entries)), np.int64)
    of_classes, of_entries = np.zeros(len(classes), np.int64), np.zeros(len(entries), np.int64)
    for recording in recordings:
        true, found = _lane_of_level(recording, kind), _lane_of_level(recording, level)
        if not true or not found:
            continue
        rows, columns = (_track(it, names, recording["n_frames"]) for it, names in ((true, classes), (found, entries)))
        of_classes += np.bincount(rows[rows != OTHER], minlength=len(classes))
        of_entries += np.bincount(columns[columns != OTHER], minlength=len(entries))
        both = (rows != OTHER) & (columns != OTHER)
        cells = rows[both].astype(np.int64) * len(entries) + columns[both]
        frames += np.bincount(cells, minlength=frames.size).reshape(frames.shape)
    return _Shared(classes, entries, frames, of_classes, of_entries)


def _track(lane: Mapping[str, Any], names: Sequence[str], n_frames: int) -> NDArray[np.int32]:
    place = {name: i for i, name in enumerate(names)}
    ids = [place.get(name, OTHER) for name in lane["names"]]
    return from_runs(lane["start_frames"], lane["end_frames"], ids, n_frames)


def _looks_of(recordings: Sequence[Mapping[str, Any]], kind: str) -> dict[str, Look]:
    """The look of every name in the lanes of a kind."""
    found: dict[str, Look] = {}
    for recording in recordings:
        lane = _lane_of_level(recording, kind)
        if lane:
            found |= dict(zip(lane["names"], map(Look, lane["colours"], lane["patterns"]), strict=True))
    return found


def _lane_of_level(recording: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    return next((lane for lane in recording["lanes"] if lane["kind"] == kind), None)
