"""AutoPlait: regimes, each a hidden Markov model, are split while that shortens the description of a recording.

Y. Matsubara, Y. Sakurai, C. Faloutsos, "AutoPlait: Automatic Mining of Co-evolving Time Sequences", SIGMOD 2014.
Own code after the paper and the released C code (18 June 2014, as in github.com/Lab-ANT/Time2State at fccb11c), whose
constants stand below. With the same draws it gives the segments of that code on MoCap, but for one cut point of nine
recordings, which is one frame off. What differs, and why:

- Draws come from one generator; the released code has a fixed seed, one of many results.
- The model with the best number of states is kept, where the released code fits it again with other draws.
- A segment of one frame between two of the other regime belongs to one regime, not to both.
- Nothing crosses a gap: spans are the first segments, and seeds end where spans do. Frames outside spans are OTHER.
- Where states never become dearer, 16 are taken; the released code then reads a variable that was never set.

One regime becomes two: seeds, then models and cut points in turn until neither makes the two cheaper. Frames of the
regime that is split stand one after the other (`Joined`), so that all searches run on one array. A piece may go to the
other regime, and then joins its neighbours there, where that costs less than a share of all that the recording costs.
The share is doubled while the two pieces that are least certain of their regime become better seeds for a search.

Seeds are chosen among pairs of regimes of one state each, all pairs side by side. The best score P_i of a path that
ends in regime i is then known from their difference d = P_1 - P_0:

    d_t = clip(d_t-1, low, high) + ln b_1(x_t) - ln b_0(x_t) + ln(1 - delta_1) - ln(1 - delta_0)
    low = ln delta_0 - ln(1 - delta_1),   high = ln(1 - delta_0) - ln delta_1

Where d lies above `high` the best path is in regime 1 whatever follows, below `low` in regime 0, and between them it is
where it goes next. So one loop over frames does all pairs, and the paths are filled in backwards without one.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rondo.data.labels import OTHER, Labels
from rondo.data.signal import Signal
from rondo.data.windows import Span
from rondo.errors import RecordingError
from rondo.wording import Progress, silent
from rondo_bench.baselines.autoplait_hmm import (
    FLOOR,
    Fitted,
    Floats,
    Hmm,
    Regime,
    best_path,
    cheapest,
    densities,
    logs,
    regime_cost,
    segment_cost,
    total_cost,
)
from rondo_bench.baselines.baseline import BaselineMethod, BaselineSettings

_SHORTEST_SEED = 2  # frames: one alone has no variance


class AutoPlaitConfig(BaselineSettings):
    """Settings of AutoPlait, which its authors call free of parameters; `original` is the released code."""

    seed_share: float = Field(0.1, description="original: LM, length of a seed as a share of the recording", gt=0, lt=1)
    n_seeds: int = Field(10, description="original: NSAMPLE, seeds that are tried in pairs", ge=2)
    split_share: float = Field(0.03, description="original: REGIME_R, of a regime's bits, what a split must save", ge=0)
    noise_share: float = Field(0.03, description="original: SEGMENT_R, of all bits, what is surely noise", ge=0)
    max_states: int = Field(16, description="original: MAXK, states of a regime", ge=1, le=100)
    float_bits: int = Field(32, description="original: FB, bits for one number of a model", ge=1)


@dataclass(frozen=True)
class AutoPlait:
    config: AutoPlaitConfig = field(default_factory=AutoPlaitConfig)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        seed_share, n_usable = self.config.seed_share, sum(stop - start for start, stop in signal.spans)
        if math.ceil(n_usable * seed_share) < _SHORTEST_SEED:
            raise RecordingError(
                f"recording '{signal.id}': autoplait begins with seeds of {seed_share:g} of all frames, and a seed "
                f"takes {_SHORTEST_SEED} frames or more, but {n_usable} frames can be used; choose a larger seed_share"
            )
        labels = np.full(signal.n_frames, OTHER, dtype=np.int32)
        for number, regime in enumerate(regimes_of(standardised(signal), signal.spans, self.config, rng, progress)):
            for start, stop in regime.segments:
                labels[start:stop] = number
        return labels


def estimated_seconds(n_frames: int, n_channels: int, config: AutoPlaitConfig) -> float:
    """Seconds on one core where there are about eight regimes to find; a recording that has one takes a tenth.

    Fitted to what was measured: 10,617 frames of MoCap with 4 channels take 6 s, and planted streams of
    10,000 frames with 9 channels 10 s, 100,000 with 4 channels 71 s, with 9 more than 150 s. Of more than ten channels
    densities are at their floor, and there is little to split.
    """
    return 2.5e-4 * n_frames * min(n_channels, 10)


def regimes_of(
    values: Floats, spans: Sequence[Span], config: AutoPlaitConfig, rng: np.random.Generator, progress: Progress
) -> list[Regime]:
    """Split regimes, the newest first, while two cost less than one by a share of what it costs."""
    n_usable = sum(stop - start for start, stop in spans)
    final: list[Regime] = []

    def tick() -> None:
        progress("splitting regimes", sum(stop - start for r in final for start, stop in r.segments), n_usable)

    splitter = Splitter(values, spans, config, rng, tick)
    candidates = [splitter.cheapest(values, spans)]
    while candidates:
        total = total_cost([*final, *candidates], config.float_bits)
        regime = candidates.pop()
        halves = splitter.split(regime, total)
        if halves and sum(half.cost for half in halves) + config.split_share * regime.cost < regime.cost:
            candidates.extend(halves)
        else:
            final.append(regime)
            tick()
    return final


def standardised(signal: Signal) -> Floats:
    """Each channel with the mean 0 and the deviation 1 over the frames that may be used; a constant one is 0.

    The released code does so whatever it is given, so also with principal components.
    """
    usable = np.concatenate([signal.values[start:stop] for start, stop in signal.spans]).astype(np.float64)
    mean, deviation = usable.mean(axis=0), usable.std(axis=0)
    constant = deviation <= np.maximum(1e-6 * np.abs(mean), float(np.finfo(np.float32).tiny))
    if constant.all():
        raise RecordingError(
            f"recording '{signal.id}': all values are the same, nothing can recur; check the file and its columns"
        )
    values: Floats = np.where(constant, 0.0, (signal.values - mean) / np.where(constant, 1.0, deviation))
    return values


_FEWEST_ROUNDS, _MOST_ROUNDS = 3, 10  # released code


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
        shifts = [segment[0] - stretch[0] for segment, stretch in zip(self.segments, self.stretches, strict=True)]
        return tuple((p.start + shifts[p.stretch], p.stop + shifts[p.stretch]) for p in pieces if p.side == side)


@dataclass(frozen=True, eq=False)
class Splitter:
    """One regime becomes two: what every split of a recording shares."""

    values: Floats
    spans: Sequence[Span]
    config: AutoPlaitConfig
    rng: np.random.Generator
    tick: Callable[[], None]

    def cheapest(self, values: Floats, segments: Sequence[Span]) -> Regime:
        return cheapest(values, segments, self.config.max_states, self.config.float_bits, self.rng)

    def split(self, regime: Regime, total: float) -> tuple[Regime, Regime] | None:
        """The two regimes that describe the segments of one best; None where all frames end up in one of them.

        `total` is what the recording costs now, of which noise may cost a share.
        """
        joined = Joined.of(self.values, regime.segments)
        largest = self.best_seeds(joined, total)
        best: tuple[float, Pieces] = (math.inf, [])
        for turn in range(_MOST_ROUNDS):
            self.tick()
            sides = [self.cheapest(seed, [(0, len(seed))]) for seed in largest]
            pieces = self.pruned(joined, sides[0], sides[1], total)
            found = [spans_of(pieces, side) for side in (0, 1)]
            if not all(found):
                break
            pairs = zip(sides, found, strict=True)
            cost = sum(regime_cost(side, joined.values, own, self.config.float_bits) for side, own in pairs)
            if cost < best[0]:
                best = cost, pieces
            elif turn >= _FEWEST_ROUNDS:
                break
            largest = [joined.values[slice(*max(segments, key=lambda span: span[1] - span[0]))] for segments in found]
        if not best[1]:
            return None
        self.tick()
        first, second = (self.cheapest(self.values, joined.in_recording(best[1], side)) for side in (0, 1))
        return first, second

    def pruned(self, joined: Joined, first: Fitted, second: Fitted, total: float) -> Pieces:
        """Cut points without noise."""

        @cache
        def costs(start: int, stop: int) -> tuple[float, float]:
            return segment_cost(first, joined.values[start:stop]), segment_cost(second, joined.values[start:stop])

        only = pruning(cut_points(joined, first, second), costs, total, self.config.noise_share)
        return all_pruned([only], joined)[0]

    def best_seeds(self, joined: Joined, total: float) -> list[Floats]:
        """The two seeds, a model of one state each, from which a search makes the cheapest regimes."""
        length = math.ceil(sum(stop - start for start, stop in self.spans) * self.config.seed_share)
        seeds = seed_spans(joined.segments, self.spans, length, self.config.n_seeds)
        apart = [(i, j) for i, j in combinations(range(len(seeds)), 2) if abs(seeds[i][0] - seeds[j][0]) >= length]
        self.tick()
        chosen = self._cheapest_pair([self.values[start:stop] for start, stop in seeds], apart, joined, total)
        if chosen:
            pair = [seeds[i] for i in chosen]
        else:  # no two seeds are apart: the start of the first segment and the middle of the second
            (start, stop), (second, end) = joined.segments[0], joined.segments[1 % len(joined.segments)]
            middle = second + (end - second) // 2
            pair = [_within(self.spans, stop, start, length), _within(self.spans, end, middle, length)]
        return [self.values[start:stop] for start, stop in pair]

    def _cheapest_pair(
        self, seeds: Sequence[Floats], pairs: Sequence[tuple[int, int]], joined: Joined, total: float
    ) -> tuple[int, int] | None:
        if not pairs:
            return None
        found = search_pairs(joined.values, joined.stretches, seeds, np.array(pairs))
        costs = [found.costs(i) for i in range(len(pairs))]
        share = self.config.noise_share
        prunings = [pruning(found.pieces(i), costs[i], total, share) for i in range(len(pairs))]
        bits = [  # of two regimes of one state, but for their models, which cost the same for all pairs
            sum(cost(p.start, p.stop)[p.side] + math.log2(p.stop - p.start) for p in pieces)
            if len({piece.side for piece in pieces}) == 2
            else math.inf
            for pieces, cost in zip(all_pruned(prunings, joined), costs, strict=True)
        ]
        best = int(np.argmin(bits))
        return pairs[best] if math.isfinite(bits[best]) else None


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
        answers = {}
        if asked:
            segments = [joined.values[start:stop] for seeds in asked.values() for start, stop in seeds]
            pairs = np.arange(len(segments)).reshape(-1, 2)
            found = search_pairs(joined.values, joined.stretches, segments, pairs, with_sums=False)
            answers = dict(zip(asked, found.bits.tolist(), strict=True))
    return [left[i] for i in range(len(prunings))]


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


def _within(spans: Sequence[Span], stop: int, first: int, length: int) -> Span:
    """`length` frames from `first` on, or what the span that holds frame `stop - 1` has of them."""
    low, high = next((start, end) for start, end in spans if start < stop <= end)
    first = max(first, low)
    return first, min(first + length, high)


class Piece(NamedTuple):
    """Frames [start, stop) of one stretch, which belong to regime 0 or 1."""

    start: int
    stop: int
    side: int
    stretch: int


Pieces = list[Piece]
Pruning = Generator[tuple[Span, Span], float, Pieces]
PieceCosts = Callable[[int, int], tuple[float, float]]
"""The bits of frames [start, stop) as one segment of regime 0, and of regime 1."""


def pieces_of(sides: NDArray[np.generic], stretches: Sequence[Span]) -> list[Piece]:
    """Runs of frames of one side, which end where a stretch does."""
    starts = {start for start, _ in stretches} | set((np.flatnonzero(np.diff(sides)) + 1).tolist())
    edges = [*sorted(starts), len(sides)]
    stretch_of = np.searchsorted([start for start, _ in stretches], edges[:-1], side="right") - 1
    track = sides[edges[:-1]].tolist()
    return [Piece(*piece) for piece in zip(edges[:-1], edges[1:], track, stretch_of.tolist(), strict=True)]


def spans_of(pieces: Sequence[Piece], side: int) -> tuple[Span, ...]:
    return tuple((piece.start, piece.stop) for piece in pieces if piece.side == side)


def without_noise(pieces: Sequence[Piece], threshold: float, costs: PieceCosts) -> list[Piece]:
    """Move the piece that loses least by it to the other regime, while it loses less than the threshold.

    A move that joins no pieces is the last, as in the released code. Frames of a piece that was moved go on being
    compared as part of the piece that it joined.
    """
    heap = [(_loss(piece, costs), i) for i, piece in enumerate(pieces)]
    heapq.heapify(heap)
    alive: dict[int, Piece] = dict(enumerate(pieces))
    left, right = list(range(-1, len(pieces) - 1)), [*range(1, len(pieces)), -1]  # neighbours, -1 for none
    while heap:
        loss, i = heapq.heappop(heap)
        if i not in alive:
            continue
        if loss >= threshold:
            break
        moved = alive.pop(i)
        start, stop, joined = moved.start, moved.stop, False
        before, after = left[i], right[i]
        if before in alive and alive[before].stretch == moved.stretch:
            start, before, joined = alive.pop(before).start, left[before], True
        if after in alive and alive[after].stretch == moved.stretch:
            stop, after, joined = alive.pop(after).stop, right[after], True
        new = len(left)
        alive[new] = Piece(start, stop, 1 - moved.side, moved.stretch)
        left.append(before)
        right.append(after)
        if before >= 0:
            right[before] = new
        if after >= 0:
            left[after] = new
        heapq.heappush(heap, (_loss(alive[new], costs), new))
        if not joined:
            break
    return sorted(alive.values())


def _loss(piece: Piece, costs: PieceCosts) -> float:
    both = costs(piece.start, piece.stop)
    return both[1 - piece.side] - both[piece.side]


def pruning(pieces: Sequence[Piece], costs: PieceCosts, total: float, noise_share: float) -> Pruning:
    """What is left once noise is removed; yields the two least certain pieces and wants the cost of a search from them.

    The share begins at `noise_share`, is doubled at least once where both regimes have two pieces or more, and then for
    as long as that cost falls, up to ten times. A generator, so that many prunings can share one search.
    """
    if max(len(spans_of(pieces, side)) for side in (0, 1)) <= 1:
        return list(pieces)
    best = pieces = without_noise(pieces, noise_share * total, costs)
    cheapest, share = math.inf, noise_share
    while share <= 10 * noise_share and all(spans_of(best, side) for side in (0, 1)):
        share *= 2
        pieces = without_noise(pieces, share * total, costs)
        if min(len(spans_of(pieces, side)) for side in (0, 1)) <= 1:
            break
        cost = yield _least_certain(pieces, costs, 0), _least_certain(pieces, costs, 1)
        if cost >= cheapest:
            break
        best, cheapest = pieces, cost
    return best


def _least_certain(pieces: Sequence[Piece], costs: PieceCosts, side: int) -> Span:
    piece = min((piece for piece in pieces if piece.side == side), key=lambda piece: _loss(piece, costs))
    return piece.start, piece.stop


_CERTAIN = math.log1p(FLOOR)  # a single state is certain, but logarithms of probabilities have the floor added


@dataclass(frozen=True, eq=False)
class PairSearch:
    sides: NDArray[np.bool_]  # (n_frames, n_pairs)
    bits: Floats  # (n_pairs,) of the best path
    sums: Floats  # (n_frames + 1, n_models) log densities before a frame
    delta: Floats  # (n_models,) when segments of each begin
    pairs: NDArray[np.intp]
    stretches: Sequence[Span]

    def pieces(self, pair: int) -> list[Piece]:
        return pieces_of(self.sides[:, pair], self.stretches)

    def costs(self, pair: int) -> PieceCosts:
        """The cost of a segment under both models of a pair."""
        first, second = (self._cost_with(model) for model in self.pairs[pair].tolist())
        return lambda start, stop: (first(start, stop), second(start, stop))

    def _cost_with(self, model: int) -> Callable[[int, int], float]:
        sums, delta = self.sums[:, model], float(self.delta[model])
        begin, stay = math.log(delta) + _CERTAIN, math.log1p(-delta) + _CERTAIN
        return lambda start, stop: -float(sums[stop] - sums[start] + begin + (stop - start - 1) * stay) / math.log(2)


def search_pairs(
    values: Floats, stretches: Sequence[Span], seeds: Sequence[Floats], pairs: NDArray[np.intp], with_sums: bool = True
) -> PairSearch:
    """The best path between the two regimes of each pair, in each stretch again; each seed is a model of one state."""
    mean = np.stack([seed.mean(axis=0) for seed in seeds])
    variance = np.maximum(np.stack([seed.var(axis=0) for seed in seeds]), FLOOR)
    even = np.full(len(seeds), 1 / len(seeds))
    delta = np.minimum([1 / len(seed) for seed in seeds], 0.5)
    log_density = np.log(densities(Hmm(even, np.tile(even, (len(seeds), 1)), mean, variance), values))
    begin, stay = (np.log(p)[pairs] for p in (delta, 1 - delta))  # (n_pairs, 2)
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
    return PairSearch(sides, -nats / math.log(2), sums, delta, pairs, stretches)


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


METHOD = BaselineMethod("autoplait", AutoPlait, "AutoPlait: regimes by minimum description length, no settings needed")
