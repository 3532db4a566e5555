"""Poses (DeepLabCut, SLEAP): how sure a tracker is of a point says where it is missing, and is no channel.

`nose.x, nose.y, nose.likelihood` (DeepLabCut; `score` in SLEAP). Below the threshold that the program itself uses
by default (0.6 of DeepLabCut's p-cutoff, 0.2 of SLEAP's peaks) both coordinates are missing. Points that never move,
as corners of the arena, are left out: jitter of a corner is no behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording, Values
from rondo.formats.kept_columns import listed

_THRESHOLDS = {"likelihood": 0.6, "score": 0.2}
_AXES = ("x", "y", "z")
_STILL = 0.05  # of the usual range of a point: less is jitter
_FEWEST_MOVING = 2  # points, before another is judged to be still
_MOST_MISSING = 0.5  # of a point


class _Point(NamedTuple):
    name: str
    sure: int  # the place of the column that says how sure the tracker is
    axes: tuple[int, ...]
    threshold: float


class KnownPoint(NamedTuple):
    """A point whose coordinates are channels of a model, and the column that says how sure a tracker is of it."""

    column: str
    threshold: float
    axes: tuple[int, ...]  # their places among the channels


def points_of(channels: Sequence[str]) -> tuple[KnownPoint, ...]:
    """The points of a model by the names of its channels; a column that is a channel itself says nothing of others.

    >>> points_of(["nose.x", "nose.y", "speed"])[0]
    KnownPoint(column='nose.likelihood', threshold=0.6, axes=(0, 1))
    """
    place_of = {name: place for place, name in enumerate(channels)}
    points = dict.fromkeys(name.rpartition(".")[0] for name in channels)
    axes_of = {
        point: tuple(place_of[f"{point}.{axis}"] for axis in _AXES if f"{point}.{axis}" in place_of) for point in points
    }
    return tuple(
        KnownPoint(f"{point}.{word}", threshold, axes)
        for point, axes in axes_of.items()
        for word, threshold in _THRESHOLDS.items()
        if len(axes) > 1 and f"{point}.{word}" not in place_of
    )


def is_doubtful(sure: Values, threshold: float) -> NDArray[np.bool_]:
    """Where a tracker is not sure enough; what is missing or below 0 says nothing."""
    with np.errstate(invalid="ignore"):
        return (sure >= 0) & (sure < threshold)


def without_likelihoods(recording: Recording, kept: Set[str] = frozenset()) -> Recording:
    """The recording with doubtful points missing, without likelihoods and without points that stand still.

    `kept` are columns that are channels: their points stay, and likelihoods that are kept mask nothing.
    """
    points = [point for point in _points(recording) if recording.channels[point.sure] not in kept]
    if not points:
        return recording
    values = recording.values.copy()
    for point in points:
        values[np.ix_(is_doubtful(values[:, point.sure], point.threshold), np.array(point.axes))] = np.nan
    open_to_doubt = [point for point in points if not any(recording.channels[axis] in kept for axis in point.axes)]
    rarely = [point for point in open_to_doubt if np.isnan(values[:, point.axes]).mean() > _MOST_MISSING]
    rarely = [] if len(rarely) == len(points) else rarely
    still = _still(values, [point for point in points if point not in rarely])
    still = [point for point in still if point in open_to_doubt]
    masked = int(sum(np.isnan(values[:, point.axes]).any(axis=1).sum() for point in points if point not in rarely))
    notes = [
        f"{listed([recording.channels[point.sure] for point in points], 3)}: how sure the tracker is, and no channel"
    ]
    notes[0] += f"; {masked:,} points below {points[0].threshold:g} are missing"
    notes += [f"point '{point.name}' left out: it is seen in less than half of the rows" for point in rarely]
    notes += [f"point '{point.name}' left out: it never moves" for point in still]
    dropped = {point.sure for point in points} | {axis for point in (*rarely, *still) for axis in point.axes}
    whole = recording.with_values(values)
    back = f"; --keep-column {recording.channels[points[0].sure]!r} keeps a column as it is"
    return whole.without(sorted(dropped)).noted(notes[0] + back, *notes[1:])


def _points(recording: Recording) -> list[_Point]:
    """Columns of one point each: coordinates and a number from 0 to 1 that says how sure the tracker is."""
    place_of = {name: place for place, name in enumerate(recording.channels)}
    found = []
    for name, place in place_of.items():
        point, _, word = name.rpartition(".")
        axes = tuple(place_of[f"{point}.{axis}"] for axis in _AXES if f"{point}.{axis}" in place_of)
        if word not in _THRESHOLDS or len(axes) < 2:
            continue
        given = recording.values[:, place][~np.isnan(recording.values[:, place])]
        if given.size and given.min() >= 0 and given.max() <= 1.001:
            found.append(_Point(point, place, axes, _THRESHOLDS[word]))
    return found


def _still(values: np.ndarray, points: list[_Point]) -> list[_Point]:
    """Points whose coordinates stay within a fraction of the range that the others have."""
    ranges = []
    for point in points:
        given = values[:, point.axes][~np.isnan(values[:, point.axes]).any(axis=1)]
        low, high = np.percentile(given, (5, 95), axis=0) if len(given) else (np.zeros(1), np.zeros(1))
        ranges.append(float((high - low).max()))
    widest = max(ranges, default=0.0)
    still = [point for point, own in zip(points, ranges, strict=True) if own < _STILL * widest]
    return still if len(points) - len(still) >= _FEWEST_MOVING else []
