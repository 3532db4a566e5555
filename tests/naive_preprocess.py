"""Slow twins of preprocessing: one value at a time, NaN told by v != v."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def filled(column: Sequence[float], clock: Sequence[float], max_gap: int) -> tuple[list[float], list[bool]]:
    """The column with NaN interpolated between the present neighbours, and which places are lost.

    At either end the nearest present value is repeated. A place is lost when its run leaves out more than `max_gap`
    frames; the first and last rows count as if a neighbour lay one frame beyond them.
    """
    n = len(column)
    values, lost = list(column), [False] * n
    for i in range(n):
        if column[i] == column[i]:
            continue
        before, after = i, i
        while before >= 0 and column[before] != column[before]:
            before -= 1
        while after < n and column[after] != column[after]:
            after += 1
        left = clock[before] if before >= 0 else clock[0] - 1
        right = clock[after] if after < n else clock[-1] + 1
        lost[i] = round(right - left) - 1 > max_gap
        if before < 0:
            values[i] = column[after]
        elif after == n:
            values[i] = column[before]
        else:
            share = (clock[i] - left) / (right - left)
            values[i] = column[before] + share * (column[after] - column[before])
    return values, lost


def spans_of(present: Sequence[bool]) -> list[tuple[int, int]]:
    """Maximal stretches of True."""
    spans, start = [], None
    for i, flag in enumerate([*present, False]):
        if flag and start is None:
            start = i
        elif not flag and start is not None:
            spans.append((start, i))
            start = None
    return spans


def interpolated(at: float, clock: Sequence[float], column: Sequence[float]) -> float:
    """The value of a polyline at one place; flat beyond its ends."""
    if at <= clock[0]:
        return column[0]
    for i in range(1, len(clock)):
        if at <= clock[i]:
            share = (at - clock[i - 1]) / (clock[i] - clock[i - 1])
            return column[i - 1] + share * (column[i] - column[i - 1])
    return column[-1]


def standardised(values: NDArray[np.float64], reference: NDArray[np.float64], scaling: str) -> NDArray[np.float64]:
    """Scale `values` by the statistics of `reference`, both (n_frames, n_channels) in float64."""
    if scaling == "none":
        return values
    deviation = reference.std(axis=0)
    if scaling == "global":
        deviation = np.full_like(deviation, np.sqrt(np.mean(deviation**2)))
    return np.asarray((values - reference.mean(axis=0)) / deviation)
