"""ChannelRelations: how the channels of a recording vary together, and what a silent channel would say by the others.

A sensor that is silent for minutes, or throughout, while the others go on, costs neither the recording nor those
minutes: its values are predicted from the channels that are there, in the same frame, by the conditional mean of a
Gaussian,

    z_gone = C_gone,there (C_there,there + ridge I)^-1 z_there

where z is scaled by mean and deviation of each channel, and C holds correlations over frames that both channels have.
Nothing but the frame itself is looked at, so that a stream fills as a recording does. A channel that is related to no
other is predicted by its mean.

Why not a constant: with one IMU of ActRecTut's subject1_gesture silent for half of the recording, ARI / AMI were
24 / 52 with a first version of this rule, 15 / 42 with the mean and 17 / 44 with the last value, which make units of
their own, and 3 / 29 with half of the rows lost; 23 / 50 with nothing missing (one seed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats
from rondo.data.recording import Values

_RIDGE = 0.05  # ours: of correlations; without it channels that nearly repeat each other would be played off
_MOST_ROWS = 20_000  # ours: evenly spaced, enough to tell correlations to 0.01
_FEWEST_PAIRS = 32  # ours: of frames that two channels share, before their correlation means anything
_MOST_PATTERNS = 256  # sets of gone channels whose weights are kept; each is solved for in milliseconds
_ROUNDING = 1e-6  # relative; a channel that varies by less is constant


@dataclass(frozen=True, eq=False)
class ChannelRelations:
    """Count, mean and deviation of each channel, and correlations; a deviation of 0 marks a constant or silent one."""

    counts: Floats  # (n_channels, n_channels), frames that both have
    mean: Floats  # (n_channels,)
    scale: Floats  # (n_channels,)
    correlations: Floats  # (n_channels, n_channels)

    @classmethod
    def of(cls, values: Values, offsets: Sequence[float] = ()) -> ChannelRelations:
        """Of rows (n_rows, n_channels), NaN where missing; of many rows some, evenly spaced.

        A channel is constant if it is so without its offset.
        """
        apart = np.array(offsets) if offsets else np.zeros(values.shape[1])
        rows = values[:: max(1, -(-len(values) // _MOST_ROWS))].astype(np.float64) - apart
        there = np.isfinite(rows)
        rows[~there] = 0.0
        n = np.maximum(there.sum(axis=0), 1)
        mean = rows.sum(axis=0) / n
        rows -= mean
        rows[~there] = 0.0
        scale = np.sqrt((rows**2).sum(axis=0) / n)
        scale[scale <= np.maximum(_ROUNDING * np.abs(mean), np.finfo(np.float32).tiny)] = 0.0
        rows *= np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        counts = np.full((rows.shape[1], rows.shape[1]), float(len(rows)))
        if not there.all():
            present = there.astype(np.float64)
            counts = present.T @ present
        enough = counts >= _FEWEST_PAIRS
        correlations = np.divide(rows.T @ rows, counts, out=np.zeros_like(counts), where=enough)
        return cls(counts, mean + apart, scale, correlations)

    def without(self, offsets: Sequence[float]) -> ChannelRelations:
        """Of values from which offsets were subtracted."""
        return replace(self, mean=self.mean - np.array(offsets)) if offsets else self

    def __add__(self, other: ChannelRelations) -> ChannelRelations:
        """Of two recordings: correlations within each, weighted by what was seen of them."""
        counts = self.counts + other.counts
        share = np.divide(other.counts, counts, out=np.zeros_like(counts), where=counts > 0)
        on_diagonal = np.diagonal(share)
        apart = other.mean - self.mean
        variance = (
            (1 - on_diagonal) * self.scale**2
            + on_diagonal * other.scale**2
            + on_diagonal * (1 - on_diagonal) * apart**2
        )
        correlations = (1 - share) * self.correlations + share * other.correlations
        return ChannelRelations(counts, self.mean + on_diagonal * apart, np.sqrt(variance), correlations)

    @classmethod
    def joined(cls, several: Sequence[ChannelRelations], n_channels: int) -> ChannelRelations:
        """Of several recordings."""
        square = np.zeros((n_channels, n_channels))
        nothing = cls(square, np.zeros(n_channels), np.zeros(n_channels), square)
        return sum(several, start=nothing)

    def as_json(self) -> dict[str, Any]:
        return {name: array.tolist() for name, array in vars(self).items()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> ChannelRelations:
        return cls(**{name: np.array(stored[name], np.float64) for name in cls.__dataclass_fields__})


class ChannelFill:
    """Fills rows in place; the weights of each set of gone channels are solved for once."""

    def __init__(self, relations: ChannelRelations) -> None:
        self._mean, self._scale = relations.mean, relations.scale
        self._factor = np.divide(1.0, self._scale, out=np.zeros_like(self._scale), where=self._scale > 0)
        level, axes = np.linalg.eigh(relations.correlations)
        self._correlations = (axes * np.maximum(level, 0.0)) @ axes.T  # of pairs, so that some may contradict
        self._weights: dict[bytes, Floats] = {}

    def fill(self, values: Values, gone: NDArray[np.bool_]) -> None:
        """Predict what is `gone` (n_rows, n_channels) from what is there.

        Summed channel by channel: a matrix product rounds as chunks are long.
        """
        rows = np.flatnonzero(gone.any(axis=1))
        if not rows.size:
            return
        patterns, pattern_of_row = np.unique(gone[rows], axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            at = rows[pattern_of_row.reshape(-1) == number]
            lacking, there = np.flatnonzero(pattern), np.flatnonzero(~pattern)
            weights = self._of_pattern(pattern)  # (n_there, n_lacking)
            summed = np.zeros((at.size, lacking.size))
            for weight, c in zip(weights, there.tolist(), strict=True):
                z = (values[at, c].astype(np.float64) - self._mean[c]) * self._factor[c]
                summed += z[:, None] * weight
            values[np.ix_(at, lacking)] = self._mean[lacking] + summed * self._scale[lacking]

    def _of_pattern(self, gone: NDArray[np.bool_]) -> Floats:
        key = np.packbits(gone).tobytes()
        if key not in self._weights:
            if len(self._weights) >= _MOST_PATTERNS:
                self._weights.clear()
            inner = self._correlations[np.ix_(~gone, ~gone)]
            cross = self._correlations[np.ix_(~gone, gone)]
            self._weights[key] = np.asarray(np.linalg.solve(inner + _RIDGE * np.eye(len(inner)), cross))
        return self._weights[key]
