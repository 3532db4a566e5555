"""Which channels set an entry apart from everything else, by level or by movement (change from frame to frame).

Both are measured as a standardised difference of the frames of the entry to all other frames,

    d = (mean_in - mean_rest) / sqrt((var_in + var_rest) / 2)

so that 0.8 and more can be seen by eye. It describes; it proves nothing. Every recording is taken in deviations from
its own mean, as models read it by default: sensors sit differently each time.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats
from rondo.data.labels import OTHER
from rondo.run.overview import Overview

FRAMES_COMPARED = 200_000
"""Means of two hundred thousand frames are as good as those of a million, and quicker."""

_WORTH_NAMING = 0.2  # d below which nothing is seen
_LARGEST = 99.9  # d of two constants that differ is infinite
_DIRECTIONS = (("lower", "higher"), ("moves less", "moves more"))


def standardised(overview: Overview, most: int = FRAMES_COMPARED) -> Overview:
    """The same codes, read as deviations from the mean of each channel in standard deviations."""
    values = overview._replace(codes=overview.codes[:: _every(overview, most)]).values().mean(axis=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a channel without any value: its mean is none
        mean, deviation = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    unit = np.where(deviation > 0, deviation, 1.0)
    return overview._replace(low=(overview.low - mean) / unit, high=(overview.high - mean) / unit)


def _every(overview: Overview, most: int) -> int:
    return max(1, len(overview.codes) // most)


@dataclass
class Sums:
    """Count, sum and sum of squares of level and movement: (n_ids + 1, 2, n_channels), the last id being OTHER."""

    n: Floats
    total: Floats
    squares: Floats

    @classmethod
    def empty(cls, n_ids: int, n_channels: int) -> Sums:
        return cls(*(np.zeros((n_ids + 1, 2, n_channels)) for _ in range(3)))

    def add(self, overview: Overview, track: NDArray[np.int32], most: int = FRAMES_COMPARED) -> None:
        """Add the frames of one recording, or about so many of them; `track` gives the id of each."""
        n_buckets, bucket = overview.codes.shape[0], overview.bucket_frames
        places = np.arange(0, n_buckets, _every(overview, most))
        now, before = (
            overview._replace(codes=overview.codes[at]).values() for at in (places, np.maximum(places - 1, 0))
        )
        level = now.mean(axis=2)
        change = np.abs(level - before[..., 0]) if bucket == 1 else np.ptp(now, axis=2)
        middle = np.minimum(places * bucket + bucket // 2, overview.n_frames - 1)
        ids = np.where(track[middle] == OTHER, self.n.shape[0] - 1, track[middle])
        for kind, feature in enumerate((level, change)):
            for channel in range(feature.shape[1]):
                known = np.isfinite(feature[:, channel])
                own, x = ids[known], feature[known, channel].astype(np.float64)
                for sums, weights in ((self.n, None), (self.total, x), (self.squares, x * x)):
                    sums[:, kind, channel] += np.bincount(own, weights, minlength=sums.shape[0])

    def differences(self) -> Floats:
        """d of every id, for level and movement, in every channel; 0 where there is nothing to compare."""
        inside = (self.n, self.total, self.squares)
        rest = tuple(part.sum(axis=0) - part for part in inside)
        with np.errstate(invalid="ignore", divide="ignore"):
            means, variances = zip(*(_moments(*parts) for parts in (inside, rest)), strict=True)
            d = (means[0] - means[1]) / np.sqrt((variances[0] + variances[1]) / 2)
        shown: Floats = np.clip(np.nan_to_num(d, nan=0.0), -_LARGEST, _LARGEST)
        return shown[:-1]


def _moments(n: Floats, total: Floats, squares: Floats) -> tuple[Floats, Floats]:
    mean = total / n
    return mean, np.maximum(squares / n - mean**2, 0)


def most_apart(d: Floats, most: int) -> NDArray[np.int64]:
    """The channels in which an entry differs most, by its d (2, n_channels); equal ones in their order."""
    return np.argsort(-np.abs(d).max(axis=0), kind="stable")[:most]


def in_words(channel: str, d: Floats) -> dict[str, Any] | None:
    """How a channel (d of level and movement) sets an entry apart; None where it does not.

    >>> in_words("x", np.array([-1.25, 0.4]))
    {'channel': 'x', 'words': 'lower', 'd': -1.2}
    """
    kind = int(np.argmax(np.abs(d)))
    if abs(d[kind]) < _WORTH_NAMING:
        return None
    return {"channel": channel, "words": _DIRECTIONS[kind][int(d[kind] > 0)], "d": round(float(d[kind]), 1)}
