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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints, owned, owned_by
from rondo.config.schema import SlowUnitsConfig
from rondo.config.ways import ENCODERS
from rondo.data.agreement import agreement
from rondo.data.windows import Span, Windows
from rondo.encoders import build_encoder
from rondo.encoders.summary_stats import describes_few_channels
from rondo.motifs.base import Kept, MotifKind, MotifTimeline
from rondo.motifs.long_windows import LongWindows, persistence, unit_shares
from rondo.motifs.mixes import Mixes
from rondo.units.discover import UnitRules, discover_units, transition_scale
from rondo.units.model import joined_spans
from rondo.units.slow import fit_slow_enough
from rondo.units.timeline import Path, Timeline, decode, smooth_spans, typical_step

CHANGE_NATS = 4.0  # chosen on development sets (docs/results/motifs.md); 3 to 5 are alike
_PRIOR = 0.5  # of every unit in every context, in windows that do not overlap: a unit never seen there is unlikely
_FEWEST_LONG_WINDOWS = 20  # fewer cannot show that anything comes back
_NORM = 2.0  # of a block, as that of the four families of window statistics together
_SHARES_COUNT = 3.0  # chosen on development sets (docs/results/motifs.md)
_FEWEST_DIMENSIONS = 5
_DRAWS = 5
_MOST_ROUNDS = 20
_STATISTICS = ENCODERS["summary_stats"].settings


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
        """Every one is a context."""
        return "context"

    @property
    def log_shares(self) -> Floats:
        """Of each unit in each context, (n_contexts, n_units)."""
        return log_shares(self.mixes.windows, self.window_weight)

    def timeline(self, units: Timeline) -> MotifTimeline:
        """The context of every window of units."""
        codes = self.codes(units.ids)
        path = smooth_spans(self.costs(codes), units.spans, CHANGE_NATS)
        begins = np.diff(path, prepend=-1) != 0
        begins[[start for start, _ in units.spans]] = True
        return MotifTimeline(path.astype(np.int32), self.scores(codes, path), begins)

    def codes(self, units: NDArray[np.integer]) -> Ints:
        """The column of each unit; -1 for units that came after the fit, which belong to no context."""
        known = np.array(self.unit_ids)
        places = np.minimum(np.searchsorted(known, units), known.size - 1)
        return np.where(known[places] == units, places, -1)

    def costs(self, codes: Ints) -> Floats:
        """What each window costs in each context, (n_windows, n_contexts); nothing where its unit is in none."""
        return _costs(codes, self.log_shares, self.window_weight)

    def scores(self, codes: Ints, path: Path) -> Floats:
        """How typical each unit is of its context: its share there, over that where it has the largest share."""
        relative = np.exp(self.log_shares - self.log_shares.max(axis=0))
        return np.where(codes < 0, 1.0, relative[path, codes])

    def occurrences(self, timelines: Sequence[Timeline]) -> dict[int, int]:
        """How often each context occurs."""
        counts = dict.fromkeys(self.ids, 0)
        for units in timelines:
            timeline = self.timeline(units)
            for id in timeline.ids[timeline.begins].tolist():
                counts[id] += 1
        return counts

    def composition(self, context: int, kept: Kept = int) -> str:
        """Which units, in which share of its time, in which order, how often."""
        return self.mixes.told(self.ids.index(context), self.unit_ids, kept)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything learned, as arrays, for the model folder."""
        own: dict[str, NDArray[np.generic]] = {
            "unit_ids": np.array(self.unit_ids, np.int64),
            "windows": np.array(self.windows, np.int64),
            "window_weight": np.array([self.window_weight]),
        }
        return own | owned("mixes", self.mixes.tensors())

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> ContextModel:
        """The model that wrote these tensors."""
        n_covered, n_apart = np.asarray(tensors["windows"], np.int64).tolist()
        return cls(
            tuple(np.asarray(tensors["unit_ids"], np.int64).tolist()),
            LongWindows(n_covered, n_apart),
            float(tensors["window_weight"][0]),
            Mixes.restore(owned_by("mixes", tensors)),
        )


def log_shares(counts: Ints, window_weight: float) -> Floats:
    """Of units in contexts, from windows of each unit in each context (n_contexts, n_units).

    >>> np.exp(log_shares(np.array([[6, 0], [1, 3]]), window_weight=0.5)).round(3).tolist()
    [[0.875, 0.125], [0.333, 0.667]]
    """
    smoothed = counts + _PRIOR / window_weight
    return np.asarray(np.log(smoothed / smoothed.sum(axis=1, keepdims=True)))


def _costs(codes: Ints, logs: Floats, window_weight: float) -> Floats:
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
    grid = windows[0].grid
    weight = grid.step_frames / grid.length_frames
    guesses = _guessed(windows, codes, spans, len(unit_ids), long, config, rng)
    paths = [_settled(counts, codes, spans, weight) for counts in guesses]
    path = paths[_medoid([own[:: long.n_apart] for own in paths])]
    n_contexts = int(path.max()) + 1
    if n_contexts < 2:
        return None
    mixes = Mixes.counted(((path[a:b], codes[a:b]) for a, b in spans), n_contexts, len(unit_ids))
    return ContextModel(tuple(int(id) for id in unit_ids), long, weight, mixes)


def _guessed(
    windows: Sequence[Windows],
    codes: Ints,
    spans: Sequence[Span],
    n_units: int,
    long: LongWindows,
    config: SlowUnitsConfig,
    rng: np.random.Generator,
) -> Iterator[Ints]:
    """Windows of each unit in each context (n_contexts, n_units), as the long windows have them; several guesses."""
    long_windows = [w for own in windows if len(w := Windows(own.values, long.grid(own.grid)))]
    encoder = build_encoder(_STATISTICS()).fit(long_windows)
    statistics = np.concatenate([encoder.encode(w) for w in long_windows])
    shares = unit_shares(codes, long.first_covered(spans), long.n_covered, n_units)
    long_spans = long.spans(spans)
    described = balanced(statistics, shares, long_spans, lag=2 * -(-long.n_covered // long.n_apart))
    grid = long_windows[0].grid
    step_share = grid.step_frames / grid.length_frames
    few_channels = describes_few_channels(encoder)
    projection = fit_slow_enough(described, long_spans, config.pca_dim, step_share, config.ridge, _FEWEST_DIMENSIONS)
    latents = projection.apply(described)
    penalty = transition_scale(config, few_channels=few_channels) * typical_step(latents, long_spans)
    rules = UnitRules(penalty, config.persistence / step_share, step_share)
    holding = [span for span in spans if long.n_in(span)]
    covered = np.concatenate([codes[start:stop] for start, stop in holding])
    for _ in range(_DRAWS):
        guess = discover_units(latents, latents, long_spans, rules, config.mixture, rng, "cpu", level="motif")
        path = decode(latents, long_spans, guess, penalty).ids
        each = [long.spread(path[a:b], stop - start) for (a, b), (start, stop) in zip(long_spans, holding, strict=True)]
        yield _counted(np.searchsorted(np.array(guess.ids), np.concatenate(each)), covered, n_units)


def _settled(counts: Ints, codes: Ints, spans: Sequence[Span], window_weight: float) -> Path:
    """The context of every window, numbered by first appearance, once reading with the mixes gives these mixes.

    Windows in one run of a unit cost the same, so a context changes only where a unit does: runs are read, not windows.
    """
    starts, lengths, run_spans = _unit_runs(codes, spans)
    run_codes, n_units = codes[starts], counts.shape[1]
    path = np.zeros(0, np.int64)
    for _ in range(_MOST_ROUNDS):
        logs = log_shares(counts[counts.sum(axis=1) > 0], window_weight)
        read = smooth_spans(_costs(run_codes, logs, window_weight) * lengths[:, None], run_spans, CHANGE_NATS)
        if np.array_equal(read, path):
            break
        path = read
        counts = _counted(path, run_codes, n_units, lengths)
    _, first, places = np.unique(np.repeat(path, lengths), return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[places])


def _unit_runs(codes: Ints, spans: Sequence[Span]) -> tuple[Ints, Ints, list[Span]]:
    """First window and length of every run of a unit; and the spans, which cover all windows, counted in runs."""
    is_start = np.diff(codes, prepend=-1) != 0
    is_start[[start for start, _ in spans]] = True
    starts = np.flatnonzero(is_start)
    edges = np.searchsorted(starts, np.array(spans))
    return starts, np.diff(starts, append=codes.size), [(start, stop) for start, stop in edges.tolist()]


def _counted(contexts: Path, codes: Ints, n_units: int, lengths: Ints | None = None) -> Ints:
    """Windows of each unit in each context, (n_contexts, n_units), from windows or from runs with their lengths."""
    n_contexts = int(contexts.max()) + 1
    counts = np.bincount(contexts * n_units + codes, lengths, minlength=n_contexts * n_units)
    return counts.astype(np.int64).reshape(n_contexts, n_units)


def _medoid(paths: Sequence[Path]) -> int:
    """The labelling that agrees best with all others (adjusted mutual information)."""
    alike = np.zeros((len(paths), len(paths)))
    for i, j in combinations(range(len(paths)), 2):
        alike[i, j] = alike[j, i] = agreement(paths[i], paths[j])
    return int(alike.sum(axis=1).round(9).argmax())


def balanced(statistics: NDArray[np.floating], shares: Floats, spans: Sequence[Span], lag: int) -> Floats:
    """Both blocks side by side, centred, of one mean squared norm; the shares as much as they persist."""
    blocks = [block - block.mean(axis=0, dtype=np.float64) for block in (statistics, shares)]
    norms = [float(np.sqrt(np.square(block).sum(axis=1).mean())) for block in blocks]
    weights = (1.0, min(1.0, max(0.0, _SHARES_COUNT * persistence(blocks[1], spans, lag))))
    scaled = [b * (_NORM * own / norm if norm else 0.0) for b, own, norm in zip(blocks, weights, norms, strict=True)]
    return np.hstack(scaled)
