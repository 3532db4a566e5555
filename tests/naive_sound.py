"""Slow twin of the rules on values that are no measurement: one channel, one value after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value nearest to a share of the way through sorted values; of two equally near ones the even place."""
    return ordered[round(share * (len(ordered) - 1))]


def bounds(column: Sequence[float]) -> tuple[float, float]:
    """Grow the core by one value after the other, each within three ranges of what there is."""
    ordered = sorted(column)
    low, high, first, last = (quantile(ordered, share) for share in (0.05, 0.95, 0.01, 0.99))
    if low == high:
        return ordered[0], ordered[-1]
    wide = last - first
    if wide < 12 * (high - low):
        ordered = [value for value in ordered if first - 12 * wide <= value <= last + 12 * wide]
    while True:
        reach = 3 * (high - low)
        near = [value for value in ordered if low - reach <= value <= high + reach]
        if (min(near), max(near)) == (low, high):
            return low, high
        low, high = min(near), max(near)


def runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for i, flag in enumerate(flags):
        if flag and found and found[-1][1] == i:
            found[-1] = (found[-1][0], i + 1)
        elif flag:
            found.append((i, i + 1))
    return found


def missing(channels: Sequence[Sequence[float]], max_gap: int) -> list[list[bool]]:
    """Which values of each channel are junk; channels hold 100 finite values or more each."""
    n_rows, n_channels = len(channels[0]), len(channels)
    outside = []
    for column in channels:
        low, high = bounds([value for value in column if math.isfinite(value)])
        outside.append([math.isfinite(value) and not low <= value <= high for value in column])
    spoilt = [2 * sum(of[i] for of in outside) > max(n_channels, 2) for i in range(n_rows)]
    if sum(spoilt) > 0.05 * n_rows:
        spoilt = [False] * n_rows
    found = []
    for of in outside:
        rest = [flag and not spoilt[i] for i, flag in enumerate(of)]
        lengths = sorted(stop - start for start, stop in runs(rest))
        median = (lengths[(len(lengths) - 1) // 2] + lengths[len(lengths) // 2]) / 2 if lengths else 0
        is_rare = sum(rest) <= max(3, 0.01 * n_rows) and len(lengths) <= max(5, n_rows / 2_000)
        is_rare |= sum(rest) <= max(3, 0.01 * n_rows) and median <= 2
        is_junk = is_rare and max(lengths, default=0) <= max_gap
        found.append([flag and (spoilt[i] or is_junk) for i, flag in enumerate(of)])
    return found


Row = Sequence[float]


def faults(rows: Sequence[Row], low: Row, high: Row, still_rows: Row, max_gap: int) -> list[list[str]]:
    """What a stream says of each value: "", "outside" or "stuck" (both missing), or "long" (kept)."""
    n_channels = len(low)
    said = [["" for _ in range(n_channels)] for _ in rows]
    for i in range(len(rows)):
        stuck = []
        for c in range(n_channels):
            first = i
            while first > 0 and rows[first - 1][c] == rows[i][c]:
                first -= 1
            if i - first + 1 >= still_rows[c]:
                stuck.append(c)
        for c in stuck if 2 * len(stuck) <= n_channels else ():
            said[i][c] = "stuck"
    outside = [
        [not said[i][c] and (row[c] < low[c] or row[c] > high[c]) for c in range(n_channels)]
        for i, row in enumerate(rows)
    ]
    for c in range(n_channels):
        n_removed = 0
        for start, stop in runs([row[c] for row in outside]):
            in_most = all(2 * sum(outside[i]) > max(n_channels, 2) for i in range(start, stop))
            if stop - start > max_gap:
                verdict = "long"
            elif n_removed + stop - start <= max_gap + (0.05 if in_most else 0.01) * stop:
                verdict, n_removed = "outside", n_removed + stop - start
            else:
                verdict = ""
            for i in range(start, stop):
                said[i][c] = verdict
    return said
