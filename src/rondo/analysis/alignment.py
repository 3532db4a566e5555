"""Occurrences of an entry over each other: their mean and the band that holds 80 % of them, in each channel.

An occurrence is read in columns. Column c is the mean of the signal between two moments,

    from the start    [c, c + 1) · width / n_columns    frames after it begins, as long as it lasts
    stretched         [c, c + 1) · length / n_columns   so that all begin and end together

A frame that lies in several columns counts in each by the part of it that lies there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats
from rondo.run.overview import Overview

MAX_COLUMNS = 64
LEAST_SHARE = 0.25
"""Of the occurrences, that last long enough to be in a column from the start; with fewer it shows only the longest."""


def means_between(values: NDArray[np.floating], edges: Floats) -> Floats:
    """Mean of frames (n_frames, n_channels) between neighbouring edges, which are frames or parts of them.

    NaN frames are left out; where nothing is left the mean is NaN: (n_edges - 1, n_channels).

    >>> means_between(np.array([[1.0], [3.0], [np.nan]]), np.array([0.0, 0.5, 1.5, 3.0])).ravel().tolist()
    [1.0, 2.0, 3.0]
    """
    known = np.isfinite(values)
    total, weight = (np.diff(_integral(part, edges), axis=0) for part in (np.where(known, values, 0.0), known))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(weight > 1e-9, total / weight, np.nan)


def _integral(frames: NDArray[np.floating] | NDArray[np.bool_], edges: Floats) -> Floats:
    """Of a signal that is constant within each frame, from 0 to each edge."""
    sums = np.zeros((len(frames) + 1, frames.shape[1]))
    np.cumsum(frames, axis=0, dtype=np.float64, out=sums[1:])
    at = np.clip(edges, 0, len(frames))
    whole = np.minimum(at.astype(np.int64), max(0, len(frames) - 1))
    return np.asarray(sums[whole] + (at - whole)[:, None] * (sums[np.minimum(whole + 1, len(frames))] - sums[whole]))


def occurrence_columns(
    overview: Overview, start: int, end: int, width: int | None, n_columns: int, rows: NDArray[np.int64]
) -> Floats:
    """One occurrence in some channels (n_rows, n_columns): `width` frames from its start, None for stretched.

    From the start, columns whose middle lies behind its end are NaN.
    """
    bucket = overview.bucket_frames
    first = start // bucket
    span = overview._replace(codes=overview.codes[first : max(first + 1, -(-end // bucket))]).only([*rows])
    edges = np.linspace(0, end - start if width is None else width, n_columns + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    places = (np.minimum(edges, end - start) + start) / bucket - first
    found = means_between(span.values().mean(axis=2), places)
    found[middles >= end - start] = np.nan
    return found.T


def mean_and_band(stack: Floats) -> Floats:
    """10 % quantile, mean and 90 % quantile over occurrences (n, n_rows, n_columns): (n_rows, 3, n_columns).

    A column that fewer than `LEAST_SHARE` of the occurrences reach is NaN.
    """
    ordered = np.sort(stack, axis=0)  # NaN go last
    n = np.isfinite(ordered).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(stack, axis=0) / n
    bands = np.stack([_quantile(ordered, n, 0.1), mean, _quantile(ordered, n, 0.9)], axis=1)
    enough = n >= max(1.0, LEAST_SHARE * len(stack))
    return np.where(enough[:, None], bands, np.nan)


def _quantile(ordered: Floats, n: NDArray[np.int64], share: float) -> Floats:
    """Of the first n along axis 0, with straight lines between neighbours."""
    at = share * np.maximum(n - 1, 0)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(n - 1, 0))
    below, above = (np.take_along_axis(ordered, place[None], axis=0)[0] for place in (low, high))
    return np.asarray(below + (at - low) * (above - below))
