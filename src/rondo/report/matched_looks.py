"""True and annotated classes in the colours of what was found: one look for what is probably the same.

Each class is paired with the found entry with which it shares time, one to one, so that the shared time of all pairs is
the largest possible. Classes without a partner get looks that no found entry of the page has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER, from_runs
from rondo.report.colours import LOOKS, MOTIF_LOOKS, Look

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
        if any(_lane(recording, kind) for recording in recordings):
            looks = max((_matched(recordings, kind, level) for level in levels), key=lambda found: found[1])[0]
            for recording in recordings:
                lane = _lane(recording, kind)
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
        true, found = _lane(recording, kind), _lane(recording, level)
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
        lane = _lane(recording, kind)
        if lane:
            found |= dict(zip(lane["names"], map(Look, lane["colours"], lane["patterns"]), strict=True))
    return found


def _lane(recording: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    return next((lane for lane in recording["lanes"] if lane["kind"] == kind), None)
