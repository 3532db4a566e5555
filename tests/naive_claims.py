"""Slow twin of `rondo.analysis.claims`: each value again from the rows of a recording and the labels of its frames.

It knows no overview, no table of segments and no sums: only `Recording.values`, one label per frame, and seconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def runs(labels: Sequence[int]) -> list[tuple[int, int, int]]:
    """Label, start and end of each stretch of equal labels."""
    cuts = [0, *(i for i in range(1, len(labels)) if labels[i] != labels[i - 1]), len(labels)]
    return [(int(labels[a]), a, b) for a, b in pairwise(cuts)]


def d_of(values: Floats, labels: Sequence[int], id: int, kind: str) -> float:
    """Cohen's d of one channel, frame by frame."""
    column = values.tolist()
    if kind == "movement":
        column = [0.0, *(abs(b - a) for a, b in pairwise(column))]
    inside = [x for x, label in zip(column, labels, strict=True) if label == id]
    outside = [x for x, label in zip(column, labels, strict=True) if label != id]
    spread = math.sqrt((np.var(inside) + np.var(outside)) / 2)
    return float((np.mean(inside) - np.mean(outside)) / spread)


def durations(labels: Sequence[int], id: int) -> list[int]:
    return [end - start for label, start, end in runs(labels) if label == id]


def hour_shares(labels: Sequence[int], id: int, seconds: Sequence[float]) -> list[float]:
    """The share of an entry's frames in each hour of the day."""
    hours = Counter(
        datetime.fromtimestamp(s, UTC).hour for s, label in zip(seconds, labels, strict=True) if label == id
    )
    return [hours[hour] / sum(hours.values()) for hour in range(24)]


def share_after(labels: Sequence[int], id: int, other: int) -> float:
    """The share of occurrences that directly follow another entry, among those that follow any."""
    before = [one[0] for one, next_one in pairwise(runs(labels)) if next_one[0] == id and one[0] >= 0]
    return before.count(other) / len(before)


def power_near(column: Floats, hertz: float, band: float, rate: float, n: int) -> tuple[float, float]:
    """The frequency of most power of one stretch of one channel, and the share of power near `hertz`."""
    taper = [0.5 - 0.5 * math.cos(2 * math.pi * i / (len(column) - 1)) for i in range(len(column))]
    x = (column - column.mean()) * taper
    powers = {k * rate / n: abs(np.exp(-2j * np.pi * k * np.arange(len(x)) / n) @ x) ** 2 for k in range(n // 2 + 1)}
    near = sum(power for f, power in powers.items() if hertz / band <= f <= hertz * band)
    return max(powers, key=lambda f: powers[f]), near / sum(powers.values())
