"""The overview by loops over frames: slow, and plainly what the docstring says."""

from __future__ import annotations

import math


def naive_buckets(frames: list[list[float]], bucket_frames: int) -> list[list[tuple[float, float]]]:
    """Lowest and highest value of each bucket and channel; NaN where it has none."""
    buckets = []
    for start in range(0, len(frames), bucket_frames):
        columns = list(zip(*frames[start : start + bucket_frames], strict=True))
        known = [[value for value in column if not math.isnan(value)] for column in columns]
        buckets.append([(min(values, default=math.nan), max(values, default=math.nan)) for values in known])
    return buckets
