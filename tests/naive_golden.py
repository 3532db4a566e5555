"""Slow twin of `rondo.analysis.golden`: one occurrence, channel and column at a time, from the frames themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

N_COLUMNS = 8


def columns(frames: Sequence[float]) -> list[float]:
    """The mean of each of the columns, in which a frame counts by the part of it that lies there."""
    width, found = len(frames) / N_COLUMNS, []
    for column in range(N_COLUMNS):
        a, b = column * width, (column + 1) * width
        parts = [(max(0.0, min(b, i + 1) - max(a, i)), x) for i, x in enumerate(frames)]
        found.append(sum(part * x for part, x in parts) / width)
    return found


def profile(frames: Sequence[float]) -> dict[str, list[float]]:
    """Level and movement of one channel of one occurrence."""
    return {"level": columns(frames), "movement": columns([0.0, *(abs(b - a) for a, b in pairwise(frames))])}


def quantile(values: Sequence[float], q: float) -> float:
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    low = math.floor(at)
    return ordered[low] + (at - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def distance(own: Sequence[float], others: Sequence[Sequence[float]], least: float) -> float:
    """D of one channel and kind from what the columns of others say."""
    squares = []
    for column, value in enumerate(own):
        typical = [other[column] for other in others]
        spread = max((quantile(typical, 0.9) - quantile(typical, 0.1)) / 2.5631, least)
        squares.append(((value - quantile(typical, 0.5)) / spread) ** 2)
    return math.sqrt(float(np.mean(squares)))


def scores(occurrences: Sequence[dict[str, dict[str, list[float]]]], least: dict[str, dict[str, float]]) -> list[float]:
    """The score of each occurrence (channel -> kind -> columns) of an entry, in the golden one of all of them."""
    keys = [(channel, kind) for channel in occurrences[0] for kind in ("level", "movement")]

    def of(places: Sequence[int], channel: str, kind: str) -> list[list[float]]:
        return [occurrences[i][channel][kind] for i in places]

    every = range(len(occurrences))
    crossed, farthest = {}, []
    for channel, kind in keys:
        own = of(every, channel, kind)
        crossed[channel, kind] = [
            distance(own[i], of([j for j in every if j % 2 != i % 2], channel, kind), least[channel][kind])
            for i in every
        ]
    usual = {key: max(1.0, quantile(found, 0.95)) for key, found in crossed.items()}
    farthest = [max(crossed[key][i] / usual[key] for key in keys) for i in every]
    limit = 1.3 * max(1.0, quantile(farthest, 0.95))
    return [
        max(distance(occurrences[i][c][k], of(every, c, k), least[c][k]) / usual[c, k] for c, k in keys) / limit
        for i in every
    ]
