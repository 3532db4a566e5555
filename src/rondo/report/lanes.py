"""Lanes of a timeline: segments of one level with their names and colours, truth and annotations, on an axis of frames.

One look per id, the same in every report, for colour-blind readers too: eight hues of Okabe & Ito (2008, "Color
universal design") and Tol (2021, technical note SRON/EPS/TN/09-002), then the same hues lighter and striped, darker and
dotted, and barred: 32 looks that differ in hue or, where hues are alike, in pattern. Motifs have the same hues in
another order and darker, for their blocks lie on the rows of units: a motif and a unit look alike in no page. Ids
beyond start again: the name inside a segment, not its look, is its identity.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.grid import FrameClock
from rondo.data.labels import OTHER, from_runs, runs_of
from rondo.data.recording import checked_rate
from rondo.report.contents import TruthFile
from rondo.run.clock import clock_of
from rondo.run.overview import base64_of

if TYPE_CHECKING:
    import polars as pl

    from rondo.annotations.annotation import Annotation
    from rondo.result import Result


Pattern = Literal["plain", "stripes", "dots", "bars"]
OTHER_COLOUR = "#e6e6e6"
_HUES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#882255")
_HUES_OF_MOTIFS = (5, 6, 3, 7, 4, 2, 1, 0)
_FIRST_LOOK = {"unit": 0, "motif": 0, "true unit": 5, "true motif": 5}
"""Truth starts elsewhere: u2 and a true unit 2 have nothing in common and must not look alike."""


class Look(NamedTuple):
    """A colour as #rrggbb, and the pattern on it."""

    colour: str
    pattern: Pattern


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def _mixed(colour: str, other: int, share: float) -> str:
    return "#" + "".join(f"{round((1 - share) * channel + share * other):02x}" for channel in _channels(colour))


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


def look_of(kind: str, entry_id: int) -> Look:
    """The look of an id; `kind` is unit, motif, true unit or true motif."""
    looks = MOTIF_LOOKS if kind.endswith("motif") else LOOKS
    return OTHER_LOOK if entry_id == OTHER else looks[(_FIRST_LOOK[kind] + entry_id) % len(looks)]


def ink_on(colour: str) -> str:
    """Black or white, whichever stands out more on a colour (WCAG 2 relative luminance)."""
    shares = [channel / 255 for channel in _channels(colour)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"


def entry_name(level: str, entry_id: int, name: str | None = "") -> str:
    """How an id is written: u3, m1, OTHER; with the name that people gave it, if any.

    >>> entry_name("unit", 3), entry_name("motif", 1, "pick up"), entry_name("unit", -1)
    ('u3', 'm1 pick up', 'OTHER')
    """
    return "OTHER" if entry_id == OTHER else f"{level[0]}{entry_id} {name or ''}".rstrip()


def entry_look(level: str, entry_id: int, name: str | None = "") -> dict[str, str]:
    """Name, colour and pattern of an entry, as the page needs them."""
    return {"name": entry_name(level, entry_id, name), **look_of(level, entry_id)._asdict()}


def lanes_of(
    recording_id: str,
    segments: pl.DataFrame,
    truth: pl.DataFrame | None,
    labelled: str,
    others: Mapping[str, pl.DataFrame],
) -> list[dict[str, Any]]:
    """Each level of a recording, with its truth beneath it if there is one.

    `labelled`: the kind of motif that labels show; `others`: the segments of motifs of other kinds, by kind.
    """
    lanes = []
    for level in ("unit", "motif"):
        lane = lane_of(recording_id, level, level, segments)
        lanes.append(lane if level == "unit" else lane | {"of": labelled})
        if truth is not None:
            lanes.append(lane_of(recording_id, level, f"true {level}", truth))
    for of, table in others.items():
        lanes.append(lane_of(recording_id, "motif", "motif", table) | {"of": of, "in_labels": False})
    return lanes


def lane_of(recording_id: str, level: str, kind: str, table: pl.DataFrame) -> dict[str, Any]:
    """The segments of one level of a recording, in columns.

    A true class has its name or its number: u3 is a found unit, whatever class 3 is.
    """
    import polars as pl

    rows = table.filter((pl.col("recording") == recording_id) & (pl.col("level") == level))
    ids = rows["id"].to_list()
    names = {
        id: entry_name(level, id, name) if kind == level or id == OTHER else name or str(id)
        for id, name in set(zip(ids, rows["name"].to_list(), strict=True))
    }
    looks = {id: look_of(kind, id) for id in names}
    return {
        "kind": kind,
        "names": [names[id] for id in ids],
        "colours": [looks[id].colour for id in ids],
        "patterns": [looks[id].pattern for id in ids],
        "start_frames": rows["start_frame"].to_list(),
        "end_frames": rows["end_frame"].to_list(),
        "scores": rows["score"].fill_nan(None).to_list(),
        "units": rows["units"].fill_null("").to_list(),
    }


_LONGEST_SEQUENCE = 60
_LANE_TITLES = {kind: f"{kind}s" for kind in ("unit", "motif", "true unit", "true motif")} | {
    "annotation": "annotation"
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
        "lanes": [
            _packed(lane)
            for lane in recording["lanes"]
            if motif_lane or lane["kind"] != "motif" or not lane.get("in_labels", True)
        ],
        "journal": recording.get("journal", []),
    }


def _packed(lane: dict[str, Any]) -> dict[str, Any]:
    """Segments as columns of numbers; names, colours and unit sequences once each, however often they occur."""
    looks = [*zip(lane["names"], lane["colours"], lane["patterns"], strict=True)]
    index_of_look = {look: index for index, look in enumerate(dict.fromkeys(looks))}
    index_of_sequence = {sequence: index for index, sequence in enumerate(dict.fromkeys(lane["units"]))}
    scores = np.array([np.nan if score is None else score for score in lane["scores"]], dtype=np.float32)
    return {
        "kind": lane["kind"],
        "title": lane.get("title", f"{lane['of']}s" if lane.get("of") else _LANE_TITLES[lane["kind"]]),
        "of": lane.get("of", ""),
        "in_labels": lane.get("in_labels", True),
        "run": lane.get("run", ""),
        "entries": [
            {"name": name, "colour": colour, "pattern": pattern, "ink": ink_on(colour)}
            for name, colour, pattern in index_of_look
        ],
        "sequences": [  # as long as fits a tooltip; segments.csv holds them whole
            units if len(units) <= _LONGEST_SEQUENCE else f"{units[:_LONGEST_SEQUENCE].rsplit(' ', 1)[0]} …"
            for units in index_of_sequence
        ],
        "starts": base64_of(np.array(lane["start_frames"], dtype=np.int32)),
        "ends": base64_of(np.array(lane["end_frames"], dtype=np.int32)),
        "entry": base64_of(np.array([index_of_look[look] for look in looks], dtype=np.int32)),
        "sequence": base64_of(np.array([index_of_sequence[units] for units in lane["units"]], dtype=np.int32)),
        "scores": base64_of(scores),
    }


def annotation_lanes(result: Result, truth: TruthFile) -> dict[str, dict[str, Any]]:
    """The lane of each annotated recording; a class looks the same in all, and frames without a class are left out."""
    from rondo.annotations.tracks import NO_CLASS

    runs_in: dict[str, list[tuple[int, int, str]]] = {}
    for recording_id, annotation in read_truth(result, truth).items():
        runs = runs_of(annotation.classes)
        names = [annotation.names[id] if annotation.names else str(id) for id in runs.ids.tolist()]
        rows = zip(runs.starts.tolist(), runs.stops.tolist(), names, strict=True)
        runs_in[recording_id] = [row for row in rows if row[2] not in (NO_CLASS, str(OTHER))]
    classes = sorted(
        {name for rows in runs_in.values() for *_, name in rows},
        key=lambda name: (int(name), "") if name.isdecimal() else (sys.maxsize, name),
    )
    looks = {name: look_of("true unit", index) for index, name in enumerate(classes)}
    return {
        recording_id: {
            "kind": "annotation",
            "names": [name for *_, name in rows],
            "colours": [looks[name].colour for *_, name in rows],
            "patterns": [looks[name].pattern for *_, name in rows],
            "start_frames": [start for start, *_ in rows],
            "end_frames": [stop for _, stop, _ in rows],
            "scores": [None] * len(rows),
            "units": [""] * len(rows),
        }
        for recording_id, rows in runs_in.items()
    }


def read_truth(result: Result, truth: TruthFile) -> dict[str, Annotation]:
    """The annotation of each recording; of a running stream, of the frames so far."""
    from rondo.annotations.annotation import truth_of

    rate, stream = checked_rate(truth.rate), result.summary.stream
    return truth_of(
        truth.path,
        {recording.id: recording.n_frames for recording in result.recordings},
        truth.key,
        lambda id: clock_of(result, id) if rate is None else FrameClock.from_rate(rate),
        goes_on=stream is not None and not stream.finished,
    )


# True and annotated classes get the look of the found entry that is probably the same.
#
# Each class is paired with the found entry with which it shares time, one to one, so that the shared time of all pairs
# is the largest possible. Classes without a partner get looks that no found entry of the page has.

_LEVELS = {"true unit": ("unit",), "true motif": ("motif",), "annotation": ("motif", "unit")}
_LEAST_SHARED = 0.1
"""Of the time of a class or of its partner: a pair that shares less has nothing in common."""


def match_looks(recordings: Sequence[Mapping[str, Any]]) -> None:
    """Give the lanes of classes, in place, the looks of the found entries that they share most time with."""
    for kind, levels in _LEVELS.items():
        lanes = [lane for recording in recordings if (lane := _lane(recording, kind))]
        if lanes:
            looks = max((_matched(recordings, kind, level) for level in levels), key=lambda match: match[1])[0]
            for lane in lanes:
                lane["colours"] = [looks[name].colour for name in lane["names"]]
                lane["patterns"] = [looks[name].pattern for name in lane["names"]]


def _matched(recordings: Sequence[Mapping[str, Any]], kind: str, level: str) -> tuple[dict[str, Look], int]:
    """The look of every class, and how many frames the pairs share."""
    class_looks, entry_looks = _looks_of(recordings, kind), _looks_of(recordings, level)
    classes = [name for name in class_looks if name != "OTHER" or kind == "annotation"]
    entries = [name for name in entry_looks if name != "OTHER"]
    frames = np.zeros((len(classes) + 1, len(entries) + 1), np.int64)  # the last row and column: none of them
    for recording in recordings:
        tracks = []
        for lane, names in ((_lane(recording, kind), classes), (_lane(recording, level), entries)):
            if lane:
                places = {name: place for place, name in enumerate(names)}
                ids = [places.get(name, OTHER) for name in lane["names"]]
                tracks.append(from_runs(lane["start_frames"], lane["end_frames"], ids, recording["n_frames"]))
        if len(tracks) == 2:
            np.add.at(frames, tuple(tracks), 1)
    shared = frames[:-1, :-1]
    pairs = partners(shared, frames[:-1].sum(axis=1), frames[:, :-1].sum(axis=0))
    looks = {classes[row]: entry_looks[entries[column]] for row, column in pairs}
    used = {*entry_looks.values(), *looks.values()}
    free = [look for look in (MOTIF_LOOKS if level == "motif" else LOOKS) if look not in used]
    for index, name in enumerate([name for name in class_looks if name not in looks]):
        looks[name] = free[index % len(free)] if free and name in classes else class_looks[name]
    return looks, sum(int(shared[pair]) for pair in pairs)


def partners(
    frames: NDArray[np.int64], of_rows: NDArray[np.int64], of_columns: NDArray[np.int64]
) -> list[tuple[int, int]]:
    """Pairs of rows and columns, one to one, that share most frames; `of_rows`, `of_columns`: all frames of each."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(frames, maximize=True)
    kept = frames[rows, columns] > _LEAST_SHARED * np.minimum(of_rows[rows], of_columns[columns])
    return [*zip(rows[kept].tolist(), columns[kept].tolist(), strict=True)]


def _looks_of(recordings: Sequence[Mapping[str, Any]], kind: str) -> dict[str, Look]:
    looks: dict[str, Look] = {}
    for recording in recordings:
        if lane := _lane(recording, kind):
            looks |= dict(zip(lane["names"], map(Look, lane["colours"], lane["patterns"]), strict=True))
    return looks


def _lane(recording: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    return next((lane for lane in recording["lanes"] if lane["kind"] == kind), None)
