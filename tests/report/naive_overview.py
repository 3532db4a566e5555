"""The overview by loops over frames: slow, and plainly what the docstring says."""

from __future__ import annotations

import math
from itertools import pairwise


def naive_overview(
    frames: list[list[float]], max_buckets: int
) -> tuple[list[int], list[list[float]], list[list[float]]]:
    n_buckets = min(len(frames), max_buckets)
    edges = [i * len(frames) // n_buckets for i in range(n_buckets + 1)]
    low, high = [], []
    for start, stop in pairwise(edges):
        columns = list(zip(*frames[start:stop], strict=True))
        known = [[value for value in column if not math.isnan(value)] for column in columns]
        low.append([min(values, default=math.nan) for values in known])
        high.append([max(values, default=math.nan) for values in known])
    return edges, low, high
