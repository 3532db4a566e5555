"""What a regime costs in bits: its model, where its segments lie, and its frames under the model.

The cost of the released AutoPlait (18 June 2014), which differs from the paper's in that it counts the best path
instead of all paths, and the moves between regimes with the frames:

    model     F (k + k^2 + 2 k n_channels) + log*(k)                   F bits for a number, log*(x) = 2 log2(x) + 1
    segments  sum log2(length)
    frames    - sum [best path + ln delta + (length - 1) ln(1 - delta)] / ln 2  + n_frames log2(k)

where delta = n_segments / n_frames of the segments that the model was fitted to. All regimes together cost
log*(r) + log*(m) + m log2(r) + F r^2 more, for r regimes with m segments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rondo.data.windows import Span
from rondo_bench.baselines.autoplait_hmm import Hmm, densities, fit, logs
from rondo_bench.baselines.autoplait_paths import Floats, best_score

_TRAINING_SEGMENTS = 3  # released code: the first ones, however many there are


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, and how probable it is that a frame begins a segment of it."""

    model: Hmm
    delta: float


@dataclass(frozen=True, eq=False)
class Regime(Fitted):
    """Segments that one model describes, and what they cost with it."""

    segments: tuple[Span, ...]
    cost: float


def log_star(x: int) -> float:
    """Bits for a whole number of unknown size, as in the released code.

    >>> log_star(4)
    5.0
    """
    return 2 * math.log2(x) + 1


def model_cost(k: int, n_channels: int, float_bits: int) -> float:
    """Bits for the numbers of a model."""
    return float_bits * (k + k * k + 2 * k * n_channels) + log_star(k)


def regime_cost(fitted: Fitted, values: Floats, segments: Sequence[Span], float_bits: int) -> float:
    """Bits for a model and these segments of the values."""
    k, n_channels = fitted.model.mean.shape
    bits = model_cost(k, n_channels, float_bits)
    for start, stop in segments:
        bits += segment_cost(fitted, values[start:stop]) + math.log2(stop - start) + (stop - start) * math.log2(k)
    return bits


def segment_cost(fitted: Fitted, values: Floats) -> float:
    """Bits for the frames of one segment, coming to the regime and staying in it included."""
    model = fitted.model
    path = best_score(logs(model.start), logs(model.transition), np.log(densities(model, values)))
    return -(path + dwelling(fitted.delta, len(values))) / math.log(2)


def dwelling(delta: float, length: int) -> float:
    """ln of the probability to begin a segment and to stay in it."""
    return math.log(delta) + (length - 1) * math.log1p(-delta)


def total_cost(regimes: Sequence[Regime], float_bits: int) -> float:
    """Bits for everything."""
    r, m = len(regimes), sum(len(regime.segments) for regime in regimes)
    return sum(regime.cost for regime in regimes) + log_star(r) + log_star(m) + m * math.log2(r) + float_bits * r * r


def fitted_to(values: Floats, segments: Sequence[Span], k: int, rng: np.random.Generator) -> Fitted:
    """A model with k states of the first few segments.

    A probability of one half is the most: the released code stops with an error where all segments are single frames.
    """
    model = fit([values[start:stop] for start, stop in segments[:_TRAINING_SEGMENTS]], k, rng)
    n_frames = sum(stop - start for start, stop in segments)
    return Fitted(model, min(len(segments) / n_frames, 0.5))


def cheapest(
    values: Floats, segments: Sequence[Span], max_states: int, float_bits: int, rng: np.random.Generator
) -> Regime:
    """The regime of these segments, with states added while each makes it cheaper."""
    best: Regime | None = None
    for k in range(1, max_states + 1):
        fitted = fitted_to(values, segments, k, rng)
        cost = regime_cost(fitted, values, segments, float_bits)
        if best is not None and cost > best.cost:
            break
        best = Regime(fitted.model, fitted.delta, tuple(segments), cost)
    assert best is not None  # max_states is at least one
    return best
