"""Slow, obvious twins of the alignment of unit runs: by the definition, in loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def block_statistics(values: NDArray[np.floating], block_frames: int) -> list[list[float]]:
    """Mean, deviation, mean change from the frame before, channel by channel, of each whole block."""
    rows = []
    for first in range(0, len(values) - block_frames + 1, block_frames):
        past = first + block_frames
        means, deviations, changes = [], [], []
        for channel in range(values.shape[1]):
            own = [float(value) for value in values[first:past, channel]]
            mean = math.fsum(own) / len(own)
            means.append(mean)
            deviations.append(math.sqrt(math.fsum((value - mean) ** 2 for value in own) / len(own)))
            steps = [abs(float(values[t, channel]) - float(values[max(0, t - 1), channel])) for t in range(first, past)]
            changes.append(math.fsum(steps) / len(own))
        rows.append([*means, *deviations, *changes])
    return rows


def cuts(log_density: Floats, units: Sequence[int], drawn: Sequence[int]) -> list[int]:
    """The first block of every run but the first: every place between the middles of two runs is tried.

    `drawn` holds the cuts as the windows have them, `units` the unit of each run.
    """
    edges = [0, *drawn, len(log_density)]
    middles = [(a + b) // 2 for a, b in itertools.pairwise(edges)]
    found = []
    for i, edge in enumerate(drawn):
        low, high = middles[i], middles[i + 1]

        def likelihood(place: int, i: int = i, low: int = low, high: int = high) -> float:
            before = sum(log_density[j, units[i]] for j in range(low, place))
            return float(before + sum(log_density[j, units[i + 1]] for j in range(place, high)))

        found.append(max(range(low, high + 1), key=lambda place: (likelihood(place), -abs(place - edge))))
    return found
