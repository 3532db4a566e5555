"""ChannelMoments: count, mean and scatter of the channels of a signal; those of several signals are joined into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import BLOCK, Values
from rondo.data.signal import Signal

Vector = NDArray[np.float64]  # one number per channel
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ChannelMoments:
    """Over all usable frames; `scatter` is the sum of squares about the mean, or of products of all channels.

    Chan's update per block: sums of squares alone would lose a spread of 1 beside a mean of 1e6.
    """

    count: int
    mean: Vector  # (n_channels,)
    scatter: NDArray[np.float64]  # (n_channels,), or (n_channels, n_channels)
    offset: Vector | float = 0.0  # the part of the mean that was subtracted before values were rounded

    @classmethod
    def none(cls, n_channels: int, *, products: bool = False) -> ChannelMoments:
        """Of no frame at all."""
        return cls(0, np.zeros(n_channels), np.zeros((n_channels, n_channels) if products else n_channels))

    @classmethod
    def of(cls, signal: Signal, *, products: bool = False) -> ChannelMoments:
        """Of the usable frames of one signal, block by block."""
        joined = cls.none(signal.values.shape[1], products=products)
        for first, stop in signal.spans:
            for start in range(first, stop, BLOCK):
                joined += cls.of_frames(signal.values[start : min(start + BLOCK, stop)], products=products)
        return joined.with_offsets(signal.offsets)

    def with_offsets(self, offsets: Sequence[float]) -> ChannelMoments:
        """Of the values from which these offsets were subtracted."""
        if not offsets:
            return self
        offset = np.array(offsets)
        return replace(self, mean=self.mean + offset, offset=offset)

    @classmethod
    def of_frames(cls, values: Values, *, products: bool = False) -> ChannelMoments:
        """Of these frames, taken at once."""
        if not len(values):
            return cls.none(values.shape[1], products=products)
        block = values.astype(np.float64)
        mean = block.mean(axis=0)
        centred = block - mean
        return cls(len(block), mean, centred.T @ centred if products else (centred**2).sum(axis=0))

    @classmethod
    def joined(cls, several: Iterable[ChannelMoments], n_channels: int, *, products: bool = False) -> ChannelMoments:
        """Of all frames that several moments are about."""
        return sum(several, start=cls.none(n_channels, products=products))

    def __add__(self, other: ChannelMoments) -> ChannelMoments:
        count = self.count + other.count
        if not count:
            return self
        apart = other.mean - self.mean
        square = apart[:, None] @ apart[None] if self.scatter.ndim == 2 else apart**2
        scatter = self.scatter + (other.scatter + square * (self.count * other.count / count))
        share = other.count / count
        offset = self.offset + (other.offset - self.offset) * share
        return ChannelMoments(count, self.mean + apart * share, scatter, offset)

    def scaled(self, mean: Vector, factor: Vector) -> ChannelMoments:
        """Of the same frames after (value - mean) * factor."""
        both = factor[:, None] * factor if self.scatter.ndim == 2 else factor**2
        return ChannelMoments(self.count, (self.mean - mean) * factor, self.scatter * both)

    @property
    def offsets(self) -> tuple[float, ...]:
        """The offset of each channel; empty where none has one."""
        return tuple(np.asarray(self.offset).tolist()) if np.any(self.offset) else ()

    @property
    def squares(self) -> Vector:
        """The sum of squares of each channel about its mean."""
        return self.scatter if self.scatter.ndim == 1 else np.diagonal(self.scatter)

    def as_json(self) -> dict[str, Any]:
        plain = {"count": self.count, "mean": self.mean.tolist(), "scatter": self.scatter.tolist()}
        return plain | ({"offset": np.asarray(self.offset).tolist()} if np.any(self.offset) else {})

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> ChannelMoments:
        mean, scatter = (np.array(stored[name], float) for name in ("mean", "scatter"))
        return cls(int(stored["count"]), mean, scatter, np.array(stored.get("offset", 0.0), float))


def with_silent(each: Sequence[ChannelMoments], silent: Sequence[Sequence[int]]) -> list[ChannelMoments]:
    """Moments of several recordings, those of channels that are `silent` in one as all others together have them."""
    completed = list(each)
    for c in sorted({c for channels in silent for c in channels}):
        heard = [part for part, lacking in zip(each, silent, strict=True) if c not in lacking and part.count]
        if not heard:
            continue
        of_channel = (ChannelMoments(part.count, part.mean[[c]], part.squares[[c]]) for part in heard)
        others = ChannelMoments.joined(of_channel, n_channels=1)
        for i, lacking in enumerate(silent):
            if c in lacking:
                count, means, scatter = completed[i].count, completed[i].mean.copy(), completed[i].scatter.copy()
                means[c] = others.mean[0]
                scatter[(c, c) if scatter.ndim == 2 else c] = float(others.scatter[0]) / others.count * count
                completed[i] = ChannelMoments(count, means, scatter, completed[i].offset)
    return completed
