"""One regime becomes two: seeds, then models and cut points in turn until neither makes the two cheaper.

Frames of the regime that is split stand one after the other here (`Joined`), so that all searches run on one array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from rondo.data.windows import Span
from rondo_bench.baselines.autoplait_cost import Fitted, Regime, cheapest, regime_cost, segment_cost
from rondo_bench.baselines.autoplait_hmm import densities, logs
from rondo_bench.baselines.autoplait_noise import Piece, PieceCosts, pieces_of, pruning, spans_of
from rondo_bench.baselines.autoplait_pairs import Singles, search_pairs
from rondo_bench.baselines.autoplait_paths import Floats, best_path

_FEWEST_ROUNDS, _MOST_ROUNDS = 3, 10  # released code
Pieces = list[Piece]
Pruning = Generator[tuple[Span, Span], float, Pieces]


@dataclass(frozen=True)
class Economy:
    """What regimes are judged by; the settings of AutoPlait of the same names."""

    seed_share: float
    n_seeds: int
    noise_share: float
    max_states: int
    float_bits: int


@dataclass(frozen=True, eq=False)
class Joined:
    """Frames of the segments of one regime, one after the other; `stretches` says where each segment lies here."""

    values: Floats
    stretches: tuple[Span, ...]
    segments: tuple[Span, ...]

    @classmethod
    def of(cls, values: Floats, segments: Sequence[Span]) -> Joined:
        ends = np.cumsum([stop - start for start, stop in segments]).tolist()
        stretches = tuple(zip([0, *ends[:-1]], ends, strict=True))
        return cls(np.concatenate([values[start:stop] for start, stop in segments]), stretches, tuple(segments))

    def in_recording(self, pieces: Sequence[Piece], side: int) -> tuple[Span, ...]:
        """The pieces of one side as frames of the recording."""
        shifts = [segment[0] - stretch[0] for segment, stretch in zip(self.segments, self.stretches, strict=True)]
        return tuple((p.start + shifts[p.stretch], p.stop + shifts[p.stretch]) for p in pieces if p.side == side)


def split(
    values: Floats,
    spans: Sequence[Span],
    regime: Regime,
    total: float,
    economy: Economy,
    rng: np.random.Generator,
    tick: Callable[[], None],
) -> tuple[Regime, Regime] | None:
    """The two regimes that describe the segments of one best; None where all frames end up in one of them.

    `total` is what the recording costs now, of which noise may cost a share; seeds are cut from `spans`.
    """
    joined = Joined.of(values, regime.segments)
    largest = best_seeds(values, spans, joined, total, economy, tick)
    best: tuple[float, Pieces] = (math.inf, [])
    for turn in range(_MOST_ROUNDS):
        tick()
        sides = [cheapest(seed, [(0, len(seed))], economy.max_states, economy.float_bits, rng) for seed in largest]
        pieces = pruned(joined, sides[0], sides[1], total, economy)
        found = [spans_of(pieces, side) for side in (0, 1)]
        if not all(found):
            break
        cost = sum(
            regime_cost(side, joined.values, segments, economy.float_bits)
            for side, segments in zip(sides, found, strict=True)
        )
        if cost < best[0]:
            best = cost, pieces
        elif turn >= _FEWEST_ROUNDS:
            break
        largest = [joined.values[slice(*max(segments, key=lambda span: span[1] - span[0]))] for segments in found]
    if not best[1]:
        return None
    tick()
    first, second = (
        cheapest(values, joined.in_recording(best[1], side), economy.max_states, economy.float_bits, rng)
        for side in (0, 1)
    )
    return first, second


# ---------------------------------------------------------------- cut points


def cut_points(joined: Joined, first: Fitted, second: Fitted) -> Pieces:
    """The best path through the states of both models, in each stretch again (CutPointSearch).

    Staying in regime i costs ln(1 - delta_i) and a transition, leaving it for j ln delta_i and the first state of j.
    A path that begins in regime i pays for leaving the other.
    """
    models, k = (first.model, second.model), first.model.n_states
    begin = [math.log(second.delta) + logs(models[0].start), math.log(first.delta) + logs(models[1].start)]
    stay = [math.log1p(-side.delta) + logs(side.model.transition) for side in (first, second)]
    transition = np.empty((k + models[1].n_states,) * 2)
    transition[:k, :k], transition[k:, k:] = stay
    transition[k:, :k], transition[:k, k:] = begin
    log_density = np.log(np.hstack([densities(model, joined.values) for model in models]))
    paths = [best_path(np.concatenate(begin), transition, log_density[start:stop]) for start, stop in joined.stretches]
    return pieces_of(np.concatenate(paths) >= k, joined.stretches)


def pruned(joined: Joined, first: Fitted, second: Fitted, total: float, economy: Economy) -> Pieces:
    """Cut points without noise."""

    @cache
    def costs(start: int, stop: int) -> tuple[float, float]:
        return segment_cost(first, joined.values[start:stop]), segment_cost(second, joined.values[start:stop])

    only = pruning(cut_points(joined, first, second), costs, total, economy.noise_share)
    return all_pruned([only], joined)[0]


def all_pruned(prunings: Sequence[Pruning], joined: Joined) -> list[Pieces]:
    """What each pruning leaves; the searches that they ask for run side by side."""
    left: dict[int, Pieces] = {}
    asked: dict[int, tuple[Span, Span]] = {}
    answers: dict[int, float | None] = dict.fromkeys(range(len(prunings)))
    while answers:
        asked.clear()
        for i, answer in answers.items():
            try:
                asked[i] = prunings[i].send(answer)  # type: ignore[arg-type]  # None starts a generator
            except StopIteration as done:
                left[i] = done.value
        answers = dict(zip(asked, _search_bits(joined, list(asked.values())), strict=True)) if asked else {}
    return [left[i] for i in range(len(prunings))]


def _search_bits(joined: Joined, seeds: Sequence[tuple[Span, Span]]) -> list[float]:
    segments = [joined.values[start:stop] for pair in seeds for start, stop in pair]
    pairs = np.arange(len(segments)).reshape(-1, 2)
    found = search_pairs(joined.values, joined.stretches, Singles.of(segments), pairs, with_sums=False)
    bits: list[float] = found.bits.tolist()
    return bits


# ---------------------------------------------------------------- seeds


def best_seeds(
    values: Floats, spans: Sequence[Span], joined: Joined, total: float, economy: Economy, tick: Callable[[], None]
) -> list[Floats]:
    """The two seeds, a model of one state each, from which a search makes the cheapest regimes."""
    n_usable = sum(stop - start for start, stop in spans)
    length = math.ceil(n_usable * economy.seed_share)
    seeds = seed_spans(joined.segments, spans, length, economy.n_seeds)
    apart = [(i, j) for i, j in combinations(range(len(seeds)), 2) if abs(seeds[i][0] - seeds[j][0]) >= length]
    tick()
    chosen = _cheapest_pair([values[start:stop] for start, stop in seeds], apart, joined, total, economy)
    pair = [seeds[i] for i in chosen] if chosen else fixed_seeds(joined.segments, spans, length)
    return [values[start:stop] for start, stop in pair]


def _cheapest_pair(
    seeds: Sequence[Floats], pairs: Sequence[tuple[int, int]], joined: Joined, total: float, economy: Economy
) -> tuple[int, int] | None:
    if not pairs:
        return None
    found = search_pairs(joined.values, joined.stretches, Singles.of(seeds), np.array(pairs))
    costs = [found.costs(i) for i in range(len(pairs))]
    prunings = [pruning(found.pieces(i), costs[i], total, economy.noise_share) for i in range(len(pairs))]
    bits = [_single_bits(pieces, cost) for pieces, cost in zip(all_pruned(prunings, joined), costs, strict=True)]
    best = int(np.argmin(bits))
    return pairs[best] if math.isfinite(bits[best]) else None


def _single_bits(pieces: Sequence[Piece], costs: PieceCosts) -> float:
    """The cost of two regimes of one state, but for their models, which cost the same for all pairs."""
    if len({piece.side for piece in pieces}) < 2:
        return math.inf
    return sum(costs(p.start, p.stop)[p.side] + math.log2(p.stop - p.start) for p in pieces)


def seed_spans(segments: Sequence[Span], spans: Sequence[Span], length: int, n_seeds: int) -> list[Span]:
    """Seeds that are spread evenly over the segments, about `n_seeds` in all.

    As in the released code, the last seed of a segment ends where the segment does, even if it begins before it: only
    the limits of the recording, here the span, cut it off.
    """
    n_frames = sum(stop - start for start, stop in segments)
    stride = int((n_frames - length) / n_seeds)
    seeds: list[Span] = []
    for start, stop in segments:
        if len(seeds) >= n_seeds:
            break
        for i in range(n_seeds):
            first = start + i * stride
            if first + length > stop:
                seeds.append(_within(spans, stop, stop - length, length))
                break
            seeds.append((first, first + length))
    return seeds


def fixed_seeds(segments: Sequence[Span], spans: Sequence[Span], length: int) -> list[Span]:
    """The start of the first segment and the middle of the second, where no two seeds are apart."""
    (start, stop), (second, end) = segments[0], segments[1 % len(segments)]
    return [
        _within(spans, stop, start, length),
        _within(spans, end, second + (end - second) // 2, length),
    ]


def _within(spans: Sequence[Span], stop: int, first: int, length: int) -> Span:
    """`length` frames from `first` on, or what the span that holds frame `stop - 1` has of them."""
    low, high = next((start, end) for start, end in spans if start < stop <= end)
    first = max(first, low)
    return first, min(first + length, high)
