"""Contexts: stretches in which the same units keep coming. The upper level, read from the lower one.

A context is a mix: how likely each unit is in it. A recording is read as the sequence of contexts in which its units
are likeliest, where every change of context costs four nats: one that would pay off less than that is not made. So a
context always begins where a unit begins. Windows of units overlap; each counts as much as it adds, a step over a
length.

Fitting begins with guesses. A long window covers several windows of units and is described by two blocks: its
statistics, and the square roots of the shares of the units in it, both centred and of the same mean squared norm. The
shares then count as much as they persist: by three times their correlation at a lag of two long windows, from 0 to 1.
Then comes the chain of the units once more (slow projection, mixture, Viterbi), with five starts of the mixture. From
each guess, mixes and reading are found in turn until nothing changes, and the reading that agrees best with the others
is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags, Floats, Ints, check_shapes, owned
from rondo.config.settings import SlowUnitsConfig
from rondo.data.agreement import agreements
from rondo.data.labels import runs_of
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.encoders.summary_stats import SummaryStats, SummaryStatsConfig, describes_few_channels
from rondo.motifs.base import Kept, MotifKind, MotifTimeline
from rondo.units.discover import UnitRules, discover_units
from rondo.units.model import joined_spans
from rondo.units.slow import fit_slow
from rondo.units.viterbi import Path, Timeline, decode, smooth_spans

_TOLD, _MOST_TOLD = 0.9, 5  # units are named until they make up so much of the time, and at most so many
_SIGNIFICANT = 0.01  # for all pairs of units of a context together
_FEWEST = 5  # times that a unit follows on another, and in half of the occurrences: fewer are no order
_ROUNDS = 100  # of fitting the sums of rows and columns
CHANGE_NATS = 4.0  # chosen on development sets (docs/results/motifs.md); 3 to 5 are alike
_PRIOR = 0.5  # of every unit in every context, in windows that do not overlap: a unit never seen there is unlikely
_FEWEST_LONG_WINDOWS = 20  # fewer cannot show that anything comes back
_NORM = 2.0  # of a block, as that of the four families of window statistics together
_SHARES_COUNT = 3.0  # chosen on development sets (docs/results/motifs.md)
_FEWEST_DIMENSIONS = 5  # chosen by hand, not measured
_DRAWS = 5  # guesses of the mixes that are tried; chosen by hand, not measured
_MOST_ROUNDS = 20  # of reading and counting again; chosen by hand, not measured


class LongWindows(NamedTuple):
    """A long window in windows of units: how many it covers, and how many lie between the starts of two."""

    n_covered: int
    n_apart: int

    @classmethod
    def of(cls, length_frames: int, unit_grid: tuple[int, int]) -> LongWindows:
        """The nearest to a length in frames that whole windows of units (length, step) fill; a quarter apart."""
        unit_length, unit_step = unit_grid
        n_covered = max(2, round((length_frames - unit_length) / unit_step) + 1)
        return cls(n_covered, max(1, round(length_frames / unit_step / 4)))

    def grid(self, units: WindowGrid) -> WindowGrid:
        length = units.length_frames + (self.n_covered - 1) * units.step_frames
        return WindowGrid(length, self.n_apart * units.step_frames, units.n_frames, units.spans)

    def n_in(self, span: Span) -> int:
        return max(0, (span[1] - span[0] - self.n_covered) // self.n_apart + 1)

    def spans(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Those of the axis of long windows, for spans of windows of units; such as hold none are left out."""
        return joined_spans([[(0, n)] for span in spans if (n := self.n_in(span))])

    def first_covered(self, spans: Sequence[Span]) -> Ints:
        """The first window of units that each covers, over all spans of windows of units."""
        each = [start + self.n_apart * np.arange(self.n_in((start, stop))) for start, stop in spans]
        return np.concatenate(each) if each else np.zeros(0, np.int64)


def unit_shares(codes: Ints, first: Ints, n_covered: int | Ints, n_units: int) -> Floats:
    """Square roots of the share of each unit in the windows that each long window covers, (n_long_windows, n_units)."""
    shares = np.empty((first.size, n_units))
    for unit in range(n_units):
        summed = np.append(0, np.cumsum(codes == unit))
        shares[:, unit] = summed[first + n_covered] - summed[first]
    return np.asarray(np.sqrt(shares / np.reshape(n_covered, (-1, 1))))


def persistence(block: Floats, spans: Sequence[Span], lag: int) -> float:
    """Correlation of centred rows with those `lag` rows later, within spans."""
    total = np.square(block).sum()
    product = sum(float((block[a : b - lag] * block[a + lag : b]).sum()) for a, b in spans if b - a > lag)
    return product / float(total) if total else 0.0


class Mixes(NamedTuple):
    """What was counted in the fitted recordings, for each context; every field is a sum over recordings."""

    windows: Ints  # (n_contexts, n_units) windows of each unit
    first: Ints  # (n_contexts, n_units) occurrences that begin with each unit
    follows: Ints  # (n_contexts, n_units, n_units) runs of the second unit right after a run of the first

    @classmethod
    def counted(cls, spans: Iterable[tuple[Ints, Ints]], n_contexts: int, n_units: int) -> Mixes:
        """Of the windows of some spans: place of the context and of the unit of each."""
        windows, first = np.zeros((2, n_contexts, n_units), np.int64)
        follows = np.zeros((n_contexts, n_units, n_units), np.int64)
        for contexts, units in spans:
            np.add.at(windows, (contexts, units), 1)
            runs = runs_of(contexts * n_units + units)  # of one unit in one context
            context, unit = contexts[runs.starts], units[runs.starts]
            begins = np.diff(context, prepend=-1) != 0
            np.add.at(first, (context[begins], unit[begins]), 1)
            later = np.flatnonzero(~begins)
            np.add.at(follows, (context[later], unit[later - 1], unit[later]), 1)
        return cls(windows, first, follows)

    def told(self, context: int, unit_ids: tuple[int, ...], kept: Kept = int) -> str:
        """The mix of a context in one line, in units under the ids that are kept: shares, order, how often.

        u3 45%, u1 30%, u7 10%; mostly u3 → u1 → u7, 6 times per occurrence
        """
        ids, columns = np.unique([kept(unit) for unit in unit_ids], return_inverse=True)
        as_kept = np.zeros((len(unit_ids), ids.size), np.int64)
        as_kept[np.arange(len(unit_ids)), columns] = 1
        follows = as_kept.T @ self.follows[context] @ as_kept
        np.fill_diagonal(follows, 0)  # what was merged is one run
        first, windows = self.first[context] @ as_kept, self.windows[context] @ as_kept
        names = [f"u{id}" for id in ids.tolist()]
        shares = windows / windows.sum()
        most = np.argsort(-shares, kind="stable")
        most = most[: min(_MOST_TOLD, max(1, int(np.searchsorted(np.cumsum(shares[most]), _TOLD)) + 1))]
        told = ", ".join(f"{names[i]} {shares[i]:.0%}" for i in most)
        n_occurrences = int(first.sum())
        order = typical_order(follows, first)
        if order:
            n_rounds = min(int(follows[a, b]) for a, b in pairwise(order))
            in_order = " → ".join(names[i] for i in order)
            return f"{told}; mostly {in_order}, {_times(n_rounds / n_occurrences)}"
        if most.size == 1:
            return told
        n_runs = int(first[most[0]] + follows[:, most[0]].sum())
        none_shown = most.size > 2 and follows[most[0]].sum() >= 2 * _FEWEST  # fewer could not show one
        which = "no fixed order, " if none_shown else ""
        return f"{told}; {which}{names[most[0]]} {_times(n_runs / n_occurrences)}"


def typical_order(follows: Ints, first: Ints) -> tuple[int, ...]:
    """The units that lead to each other, by their columns; of several such chains the one that is seen most.

    A chain ends where no unit leads on, or where it would come back to one of its own: a round is written once, from
    where most occurrences begin.

    >>> typical_order(np.array([[0, 30, 2], [1, 0, 29], [28, 2, 0]]), first=np.array([0, 3, 0]))
    (1, 2, 0)
    >>> typical_order(np.array([[0, 15, 16], [17, 0, 14], [15, 15, 0]]), first=np.array([0, 3, 0]))
    ()
    """
    next_of = {int(a): int(b) for a, b in np.argwhere(leading(follows, int(first.sum())))}
    best: tuple[int, ...] = ()
    most_seen = 0
    for start in sorted(next_of, key=lambda unit: -int(first[unit])):
        chain = [start]
        while (unit := next_of.get(chain[-1])) is not None and unit not in chain:
            chain.append(unit)
        seen = sum(int(follows[a, b]) for a, b in pairwise(chain))
        seen += int(follows[chain[-1], start]) if next_of.get(chain[-1]) == start else 0
        if seen > most_seen:
            best, most_seen = tuple(chain), seen
    return best


def leading(follows: Ints, n_occurrences: int) -> Flags:
    """Where the unit of a row leads to that of a column; at most one in every row.

    A unit *leads* to another if most of its runs are followed by it, and more often than they would be in any order.
    """
    from scipy.special import bdtrc  # P(X > k) of a binomial, without the slow import of scipy.stats

    n_after = follows.sum(axis=1, keepdims=True)
    often = (follows >= _FEWEST) & (2 * follows >= n_occurrences)
    likely = (2 * follows > n_after) & (follows > 2 * follows.T)  # what goes to and fro has no order
    candidates = often & likely
    if not candidates.any():
        return np.asarray(candidates)
    chance = in_any_order(follows) / np.maximum(1, n_after)
    p = np.where(follows > 0, bdtrc(np.maximum(follows - 1, 0), n_after, np.minimum(1.0, chance)), 1.0)
    return np.asarray(candidates & (p <= _SIGNIFICANT / np.count_nonzero(chance)))


def in_any_order(follows: Ints) -> Floats:
    """How often each unit follows on each other if all come as often as they do, in any order, never twice in a row.

    Which unit follows which is then quasi-independent (Goodman 1968): expected counts are a_u b_v off the diagonal,
    with the sums of rows and columns that were counted. Two units in turn, or one that comes between all others, follow
    from that alone and are no order.

    >>> in_any_order(np.array([[0, 9, 1], [1, 0, 9], [9, 1, 0]])).round(3).tolist()
    [[0.0, 5.0, 5.0], [5.0, 0.0, 5.0], [5.0, 5.0, 0.0]]
    """
    after, before = follows.sum(axis=1, keepdims=True), follows.sum(axis=0)
    expected = np.where(np.eye(len(follows), dtype=np.bool_), 0.0, 1.0) * (after > 0) * (before > 0)
    for _ in range(_ROUNDS):
        expected = expected * (after / np.maximum(expected.sum(axis=1, keepdims=True), 1e-12))
        expected = expected * (before / np.maximum(expected.sum(axis=0), 1e-12))
    return np.asarray(expected, np.float64)


def _times(n: float) -> str:
    """How often, in words.

    >>> _times(1.2), _times(5.8)
    ('once per occurrence', '6 times per occurrence')
    """
    whole = max(1, round(n))
    return "once per occurrence" if whole == 1 else f"{whole} times per occurrence"


@dataclass(frozen=True, eq=False)
class ContextModel:
    """Reads the context of every window from the units. Fitting gives it; it never changes afterwards."""

    unit_ids: tuple[int, ...]  # ascending
    windows: LongWindows  # in which contexts were guessed and are tested
    window_weight: float  # observations that a window of units is worth
    mixes: Mixes  # of which units each context is made

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(range(len(self.mixes.windows)))

    def kind(self, motif: int) -> MotifKind:
        return "context"

    @property
    def log_shares(self) -> Floats:
        """Of each unit in each context, (n_contexts, n_units)."""
        return log_shares(self.mixes.windows, self.window_weight)

    def timeline(self, units: Timeline) -> MotifTimeline:
        """The context of every window of units; the score is the unit's share there over its largest share.

        Units that came after the fit belong to no context: they cost nothing, and score 1.
        """
        known = np.array(self.unit_ids)
        codes = np.minimum(np.searchsorted(known, units.ids), known.size - 1)
        codes = np.where(known[codes] == units.ids, codes, -1)
        logs = self.log_shares
        path = smooth_spans(context_costs(codes, logs, self.window_weight), units.spans, CHANGE_NATS)
        begins = np.diff(path, prepend=-1) != 0
        begins[[start for start, _ in units.spans]] = True
        scores = np.where(codes < 0, 1.0, np.exp(logs - logs.max(axis=0))[path, codes])
        return MotifTimeline(path.astype(np.int32), scores, begins)

    def occurrences(self, timelines: Sequence[Timeline]) -> dict[int, int]:
        counts = dict.fromkeys(self.ids, 0)
        for units in timelines:
            timeline = self.timeline(units)
            for id in timeline.ids[timeline.begins].tolist():
                counts[id] += 1
        return counts

    def composition(self, context: int, kept: Kept = int) -> str:
        return self.mixes.told(self.ids.index(context), self.unit_ids, kept)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        own: dict[str, NDArray[np.generic]] = {
            "unit_ids": np.array(self.unit_ids, np.int64),
            "windows": np.array(self.windows, np.int64),
            "window_weight": np.array([self.window_weight]),
        }
        return own | owned("mixes", self.mixes._asdict())

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> ContextModel:
        shapes = {"unit_ids": "units", "windows": "two", "window_weight": "one", "mixes.windows": "contexts units"}
        shapes |= {"mixes.first": "contexts units", "mixes.follows": "contexts units units"}
        check_shapes(tensors, shapes, two=2, one=1)
        n_covered, n_apart = np.asarray(tensors["windows"], np.int64).tolist()
        weight = float(tensors["window_weight"][0])
        mixes = Mixes(*(np.asarray(tensors[f"mixes.{name}"], np.int64) for name in Mixes._fields))
        if min(n_covered, n_apart) < 1 or not weight > 0 or (mixes.first.sum(axis=1) < 1).any():
            raise ValueError(f"contexts in {n_covered} windows of weight {weight:g}, or one that never occurs")
        if any((counts < 0).any() for counts in mixes) or (mixes.windows.sum(axis=1) < 1).any():
            raise ValueError("contexts whose counts of units are negative, or without a window")
        unit_ids = tuple(np.asarray(tensors["unit_ids"], np.int64).tolist())
        return cls(unit_ids, LongWindows(n_covered, n_apart), weight, mixes)


def log_shares(counts: Ints, window_weight: float) -> Floats:
    """Of units in contexts, from windows of each unit in each context (n_contexts, n_units).

    >>> np.exp(log_shares(np.array([[6, 0], [1, 3]]), window_weight=0.5)).round(3).tolist()
    [[0.875, 0.125], [0.333, 0.667]]
    """
    smoothed = counts + _PRIOR / window_weight
    return np.asarray(np.log(smoothed / smoothed.sum(axis=1, keepdims=True)))


def context_costs(codes: Ints, logs: Floats, window_weight: float) -> Floats:
    """What each window costs in each context, (n_windows, n_contexts), from log-shares; nothing for code -1."""
    unknown = np.zeros(len(logs))
    return np.asarray(-window_weight * np.hstack([logs, unknown[:, None]])[:, codes].T)  # -1 finds the last


def fit_contexts(
    windows: Sequence[Windows],
    timelines: Sequence[Timeline],
    unit_ids: Sequence[int],
    long: LongWindows,
    config: SlowUnitsConfig,
    rng: np.random.Generator,
) -> ContextModel | None:
    """The contexts of one or more recordings of one unit vocabulary; None where there are not two of them."""
    spans = joined_spans([timeline.spans for timeline in timelines])
    if long.first_covered(spans).size < _FEWEST_LONG_WINDOWS or len(unit_ids) < 2:
        return None
    codes = np.searchsorted(np.array(unit_ids), np.concatenate([timeline.ids for timeline in timelines]))
    grid, n_units = windows[0].grid, len(unit_ids)
    weight = grid.step_frames / grid.length_frames
    described, rules = _described(windows, codes, spans, n_units, long, config)
    long_spans, holding = long.spans(spans), [span for span in spans if long.n_in(span)]
    latents = fit_slow(described, long_spans, config, rules.window_weight, _FEWEST_DIMENSIONS).apply(described)
    covered = np.concatenate([codes[start:stop] for start, stop in holding])
    paths = []
    for _ in range(_DRAWS):
        guess, penalty = discover_units(latents, latents, long_spans, rules, config.mixture, rng)
        ids = decode(latents, long_spans, guess, penalty).ids
        each = []  # windows of units are in the context of the long window with the nearest middle
        for (a, b), (start, stop) in zip(long_spans, holding, strict=True):
            middles = long.n_apart * np.arange(b - a) + (long.n_covered - 1) / 2
            each.append(ids[a:b][np.searchsorted((middles[1:] + middles[:-1]) / 2, np.arange(stop - start))])
        counts = _counted(np.searchsorted(np.array(guess.ids), np.concatenate(each)), covered, n_units)
        paths.append(settled(counts, codes, spans, weight))
    path = paths[medoid([own[:: long.n_apart] for own in paths])]
    n_contexts = int(path.max()) + 1
    if n_contexts < 2:
        return None
    mixes = Mixes.counted(((path[a:b], codes[a:b]) for a, b in spans), n_contexts, n_units)
    return ContextModel(tuple(int(id) for id in unit_ids), long, weight, mixes)


def _described(
    windows: Sequence[Windows],
    codes: Ints,
    spans: Sequence[Span],
    n_units: int,
    long: LongWindows,
    config: SlowUnitsConfig,
) -> tuple[Floats, UnitRules]:
    """Long windows (n_long_windows, n_dims): their statistics beside the units in them; and what they say of contexts.

    Both blocks are centred and of one mean squared norm; the shares count as much as they persist.
    """
    long_windows = [w for own in windows if len(w := Windows(own.values, long.grid(own.grid)))]
    encoder = SummaryStats(SummaryStatsConfig()).fit(long_windows)
    statistics = np.concatenate([encoder.encode(w) for w in long_windows])
    shares = unit_shares(codes, long.first_covered(spans), long.n_covered, n_units)
    blocks = [block - block.mean(axis=0, dtype=np.float64) for block in (statistics, shares)]
    lasting = persistence(blocks[1], long.spans(spans), lag=2 * -(-long.n_covered // long.n_apart))
    scaled = []
    for block, weight in zip(blocks, (1.0, min(1.0, max(0.0, _SHARES_COUNT * lasting))), strict=True):
        norm = float(np.sqrt(np.square(block).sum(axis=1).mean()))
        scaled.append(block * (_NORM * weight / norm if norm else 0.0))
    grid = long_windows[0].grid
    step_share = grid.step_frames / grid.length_frames
    return np.hstack(scaled), UnitRules.of(config, step_share, few_channels=describes_few_channels(encoder))


def settled(counts: Ints, codes: Ints, spans: Sequence[Span], window_weight: float) -> Path:
    """The context of every window, numbered by first appearance, once reading with the mixes gives these mixes.

    Windows in one run of a unit cost the same, so a context changes only where a unit does: runs are read, not windows.
    """
    is_start = np.diff(codes, prepend=-1) != 0
    is_start[[start for start, _ in spans]] = True
    starts = np.flatnonzero(is_start)
    lengths, run_codes, n_units = np.diff(starts, append=codes.size), codes[starts], counts.shape[1]
    run_spans = [(start, stop) for start, stop in np.searchsorted(starts, np.array(spans)).tolist()]
    path = np.zeros(0, np.int64)
    for _ in range(_MOST_ROUNDS):
        logs = log_shares(counts[counts.sum(axis=1) > 0], window_weight)
        costs = context_costs(run_codes, logs, window_weight) * lengths[:, None]
        read = smooth_spans(costs, run_spans, CHANGE_NATS)
        if np.array_equal(read, path):
            break
        path = read
        counts = _counted(path, run_codes, n_units, lengths)
    _, first, places = np.unique(np.repeat(path, lengths), return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[places])


def _counted(contexts: Path, codes: Ints, n_units: int, lengths: Ints | None = None) -> Ints:
    """Windows of each unit in each context, (n_contexts, n_units), from windows or from runs with their lengths."""
    n_contexts = int(contexts.max()) + 1
    counts = np.bincount(contexts * n_units + codes, lengths, minlength=n_contexts * n_units)
    return counts.astype(np.int64).reshape(n_contexts, n_units)


def medoid(paths: Sequence[Path]) -> int:
    """The labelling that agrees best with all others (adjusted mutual information)."""
    return int(agreements(paths).sum(axis=1).round(9).argmax())
