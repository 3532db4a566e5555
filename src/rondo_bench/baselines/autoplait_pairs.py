"""Searches with two regimes of one state each, many pairs of them side by side: how AutoPlait chooses its seeds.

With one state each, the best score P_i of a path that ends in regime i is known from their difference d = P_1 - P_0:

    d_t = clip(d_t-1, low, high) + ln b_1(x_t) - ln b_0(x_t) + ln(1 - delta_1) - ln(1 - delta_0)
    low = ln delta_0 - ln(1 - delta_1),   high = ln(1 - delta_0) - ln delta_1

Where d lies above `high` the best path is in regime 1 whatever follows, below `low` in regime 0, and between them it is
where it goes next. So one loop over frames does all pairs, and the paths are filled in backwards without one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.data.windows import Span
from rondo_bench.baselines.autoplait_hmm import FLOOR, Hmm, densities
from rondo_bench.baselines.autoplait_noise import Piece, PieceCosts, pieces_of
from rondo_bench.baselines.autoplait_paths import Floats

_CERTAIN = math.log1p(FLOOR)  # a single state is certain, but logarithms of probabilities have the floor added


@dataclass(frozen=True, eq=False)
class Singles:
    """Models of one state, each of one segment, kept as the states of one model, and when segments of them begin."""

    states: Hmm
    delta: Floats

    @classmethod
    def of(cls, segments: Sequence[Floats]) -> Singles:
        mean = np.stack([segment.mean(axis=0) for segment in segments])
        variance = np.maximum(np.stack([segment.var(axis=0) for segment in segments]), FLOOR)
        even = np.full(len(segments), 1 / len(segments))
        delta = np.minimum([1 / len(segment) for segment in segments], 0.5)
        return cls(Hmm(even, np.tile(even, (len(segments), 1)), mean, variance), delta)


@dataclass(frozen=True, eq=False)
class PairSearch:
    """What a search found for each pair (n_pairs, 2) of models."""

    sides: NDArray[np.bool_]  # (n_frames, n_pairs)
    bits: Floats  # (n_pairs,) of the best path
    sums: Floats  # (n_frames + 1, n_models) log densities before a frame
    singles: Singles
    pairs: NDArray[np.intp]
    stretches: Sequence[Span]

    def pieces(self, pair: int) -> list[Piece]:
        return pieces_of(self.sides[:, pair], self.stretches)

    def costs(self, pair: int) -> PieceCosts:
        """The cost of a segment under both models of a pair."""
        first, second = (self._cost_with(model) for model in self.pairs[pair].tolist())
        return lambda start, stop: (first(start, stop), second(start, stop))

    def _cost_with(self, model: int) -> Callable[[int, int], float]:
        sums, delta = self.sums[:, model], float(self.singles.delta[model])
        begin, stay = math.log(delta) + _CERTAIN, math.log1p(-delta) + _CERTAIN
        return lambda start, stop: -float(sums[stop] - sums[start] + begin + (stop - start - 1) * stay) / math.log(2)


def search_pairs(
    values: Floats, stretches: Sequence[Span], singles: Singles, pairs: NDArray[np.intp], with_sums: bool = True
) -> PairSearch:
    """The best path between the two regimes of each pair, in each stretch again."""
    log_density = np.log(densities(singles.states, values))
    begin, stay = (np.log(p)[pairs] for p in (singles.delta, 1 - singles.delta))  # (n_pairs, 2)
    low, high = begin[:, 0] - stay[:, 1], stay[:, 0] - begin[:, 1]
    gain = log_density[:, pairs[:, 1]] - log_density[:, pairs[:, 0]] + (stay[:, 1] - stay[:, 0])
    for start, _ in stretches:
        gain[start] += begin[:, 0] - begin[:, 1] - (stay[:, 1] - stay[:, 0])
    nats = log_density.sum(axis=0)[pairs[:, 0]] + len(values) * (stay[:, 0] + _CERTAIN)
    for start, stop in stretches:
        _differences(gain[start:stop], low, high)
        nats += begin[:, 1] - stay[:, 0]
        nats += np.maximum(gain[start : stop - 1] - high, 0).sum(axis=0) + np.maximum(gain[stop - 1], 0)
    sides = _paths(gain, low, high, stretches)
    sums = np.vstack([np.zeros(log_density.shape[1]), np.cumsum(log_density, axis=0)]) if with_sums else log_density[:0]
    return PairSearch(sides, -nats / math.log(2), sums, singles, pairs, stretches)


def _differences(gain: Floats, low: Floats, high: Floats) -> None:
    """Turn gains into differences in place: d_t = clip(d_t-1, low, high) + gain_t."""
    clipped = np.empty_like(low)
    before = gain[0]
    for now in gain[1:]:
        np.maximum(before, low, out=clipped)
        np.minimum(clipped, high, out=clipped)
        now += clipped
        before = now


def _paths(difference: Floats, low: Floats, high: Floats, stretches: Sequence[Span]) -> NDArray[np.bool_]:
    """The side of each frame: that of the first from it on whose difference leaves no doubt."""
    sides = np.empty(difference.shape, dtype=np.bool_)
    last = [stop - 1 for _, stop in stretches]
    for pair in range(difference.shape[1]):  # one at a time: numbers of frames for all would take most of the memory
        ones, sure = difference[:, pair] > high[pair], difference[:, pair] < low[pair]
        sure |= ones
        ones[last], sure[last] = difference[last, pair] >= 0, True
        frames = np.where(sure, np.arange(len(ones)), len(ones))
        sides[:, pair] = ones[np.minimum.accumulate(frames[::-1])[::-1]]
    return sides
