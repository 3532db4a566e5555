"""Slow, obvious twin of `rondo.analysis.shape`: frame by frame, column by column."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def column_mean(frames: Sequence[float], start: float, end: float) -> float:
    """The mean of a signal between two moments, each frame by the part of it that lies between them."""
    weights = [max(0.0, min(end, i + 1) - max(start, i)) for i in range(len(frames))]
    known = [(weight, value) for weight, value in zip(weights, frames, strict=True) if weight and not math.isnan(value)]
    whole = sum(weight for weight, _ in known)
    return sum(weight * value for weight, value in known) / whole if whole > 1e-9 else math.nan


def columns(frames: Sequence[float], width: float | None, n_columns: int) -> list[float]:
    """One occurrence in columns: `width` frames from its start, None for all of it."""
    step = (len(frames) if width is None else width) / n_columns
    found = []
    for c in range(n_columns):
        is_in = (c + 0.5) * step < len(frames)
        found.append(column_mean(frames, c * step, min(len(frames), (c + 1) * step)) if is_in else math.nan)
    return found


def band(values: Sequence[float], least_share: float) -> tuple[float, float, float]:
    """10 % quantile, mean and 90 % quantile of what is known, in one column; NaN where too few are."""
    known = sorted(value for value in values if not math.isnan(value))
    if not known or len(known) < least_share * len(values):
        return math.nan, math.nan, math.nan
    return quantile(known, 0.1), statistics.fmean(known), quantile(known, 0.9)


def quantile(ordered: Sequence[float], share: float) -> float:
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])
