"""The mean posture of each entry over its course, in the frame of the body, as the page draws it.

Points are those of `rondo.data.body`: channels `nose.along`, `nose.across`, with the origin at 0. Nothing says which
points belong together, so lines join each to its nearest neighbour until all hang together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.analysis.shape import occurrence_columns
from rondo.arrays import Floats
from rondo.data.body import AXES, FORWARD, MOTION, TURNING

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.overview import Overview

STEPS = 5  # pictures of an entry
_MOST = 60  # occurrences that are averaged
_ALONG, _ACROSS = (f".{axis}" for axis in AXES[:2])


def skeletons(
    level: str, segments: pl.DataFrame, overviews: Mapping[str, Overview], ids: Sequence[int]
) -> dict[int, dict[str, Any]]:
    """Of each entry that occurs in recordings of bodies: names, steps (points of [along, across]), lines and words."""
    import polars as pl

    bodies = {id: overview for id, overview in overviews.items() if {*MOTION} <= {*overview.channels}}
    wanted = (pl.col("level") == level) & pl.col("id").is_in([*ids]) & pl.col("recording").is_in([*bodies])
    found: dict[int, dict[str, Any]] = {}
    for (id,), rows in segments.filter(wanted).partition_by("id", as_dict=True).items():
        every = rows.gather_every(max(1, len(rows) // _MOST))
        channels = bodies[every["recording"][0]].channels
        names, places = _points(channels)
        if not names:
            continue
        motion = [channels.index(name) for name in (FORWARD, TURNING)]
        wanted_rows = np.array([*(max(0, place) for place in places), *motion])
        stack = [
            occurrence_columns(
                bodies[one["recording"]], one["start_frame"], one["end_frame"], [(None, STEPS)], wanted_rows
            )[0]
            for one in every.iter_rows(named=True)
            if bodies[one["recording"]].channels == channels
        ]
        mean = _mean(np.stack(stack))
        mean[[i for i, place in enumerate(places) if place < 0]] = 0
        found[int(id)] = _drawn(names, mean)
    corners = [point for own in found.values() for step in own["steps"] for point in step if point is not None]
    for own in found.values():  # all in one scale
        own["extent"] = [np.min(corners, axis=0).tolist(), np.max(corners, axis=0).tolist()]
    return found


def _points(channels: Sequence[str]) -> tuple[list[str], list[int]]:
    """Names of the points, and the places of their coordinates; -1 across of the tip, which lies on the axis."""
    known = {name: place for place, name in enumerate(channels)}
    names = [name.removesuffix(_ALONG) for name in channels if name.endswith(_ALONG)]
    return names, [known.get(f"{name}{axis}", -1) for name in names for axis in (_ALONG, _ACROSS)]


def _mean(stack: Floats) -> Floats:
    known = np.isfinite(stack)
    total = np.where(known, stack, 0).sum(axis=0)
    n = known.sum(axis=0)
    return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0), np.float64)


def _drawn(names: Sequence[str], mean: Floats) -> dict[str, Any]:
    steps = mean[: 2 * len(names)].T.reshape(STEPS, len(names), 2)
    whole = np.concatenate([np.zeros((STEPS, 1, 2)), steps], axis=1)  # the origin
    speed, turning = (float(np.nanmean(row)) if np.isfinite(row).any() else 0.0 for row in mean[-2:])
    points = [
        [None if np.isnan(point).any() else [round(float(x), 3) for x in point] for point in step] for step in whole
    ]
    words = f"moves {speed:.2g} body lengths per second ahead, turns {turning:.2g} rad per second"
    return {"names": ["origin", *names], "steps": points, "lines": _lines(whole.mean(axis=0)), "words": words}


def _lines(points: Floats) -> list[list[int]]:
    """A tree of shortest lines over the points that are known."""
    inside = [0]
    outside = [i for i in range(1, len(points)) if np.isfinite(points[i]).all()]
    lines = []
    while outside:
        pairs = [(float(np.linalg.norm(points[i] - points[j])), i, j) for i in inside for j in outside]
        _, one, other = min(pairs)
        lines.append([one, other])
        inside.append(other)
        outside.remove(other)
    return lines
