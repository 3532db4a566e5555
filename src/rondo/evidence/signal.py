"""Does a recording come back to where it was more than a structureless one would? Asked of the whole and of each unit.

Clustering finds units in any slow signal, noise included. Whether they are more than that is asked of surrogates
(`rondo.evidence.surrogates`) that are as slow, as correlated and have the same values, but in which nothing recurs. The
measure is *closeness*: how alike a window is to the most alike window with which it shares no frame,

    closeness = -log(distance / median distance between windows)

in the space of window statistics. Slowness alone raises it in surrogates too, so that it is no finding there.

- The whole: mean closeness against three kinds of surrogates; p is the largest of three. Those of the signal are right
  for a linear process. Those with the signal's loudness keep in addition how loud it is for how long. Those of the
  windows' statistics keep how slowly each statistic changes.
- A unit: mean closeness of its windows to windows of the same unit in another run, against the *best* unit of each
  surrogate, labelled by the same method (Westfall & Young 1993: what passes, passes for all units at once; no further
  correction is needed). Its p is never smaller than that of the whole, so that noise yields no units whatever the
  method that labelled it; where the whole does not pass, it is that of the whole.

What passes is more than a linear process, not yet a vocabulary: noise whose loudness wanders still passes, in 4 of 16
streams of 6,000 frames and in 3 of 4 of 24,000 (benchmarks/evidence_quality.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rondo.config.schema import RondoConfig, SlowUnitsConfig
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.encoders import Representations
from rondo.encoders.summary_stats import SummaryStats, SummaryStatsConfig
from rondo.errors import RondoWarning
from rondo.evidence.surrogates import LoudnessRandomiser, PhaseRandomiser
from rondo.evidence.verdicts import SIGNIFICANT, EntryEvidence, Evidence, Verdict, rank_p, verdict_of
from rondo.units.discover import UnitRules, discover_units, transition_scale
from rondo.units.model import joined_spans
from rondo.units.slow import fit_slow, fit_slow_enough
from rondo.units.timeline import decode, typical_step

_SAME = 1e-3  # windows closer than this share of the median distance are the same (dead sensors, silence)
_ROWS = 128  # of the distances, evenly spread, from which the median is taken
# More windows are asked about in evenly spread stretches, so that the cost does not grow with the recording.
_MOST_WINDOWS, _FEWEST_WINDOWS = 800, 300
_MOST_STRETCHES, _SHORTEST_STRETCH = 4, 50  # of each signal; in a short one there is little to be put in another order
_MOST_VALUES = 1_000_000  # in all windows asked about, unless these were too few
_LOUDNESS_WINDOWS = 6  # window lengths over which loudness is taken; fewer claim less in noise, and find less
_MIXTURE_ITERATIONS = 6  # on a surrogate: which unit is its best is clear long before the bound is flat


@dataclass(frozen=True, eq=False)
class WindowAxis:
    """The windows of all signals one after the other. Windows whose `places` differ by `apart` share no frame."""

    spans: tuple[Span, ...]
    places: NDArray[np.int64]  # (n_windows,)
    apart: int
    step_share: float  # a step in window lengths

    @classmethod
    def of(cls, windows: Sequence[Windows]) -> WindowAxis:
        grid = windows[0].grid
        apart = -(-grid.length_frames // grid.step_frames)
        spans = joined_spans([w.grid.window_spans for w in windows])
        places = np.concatenate([np.arange(a, b) + i * apart for i, (a, b) in enumerate(spans)])
        return cls(spans, places, apart, grid.step_frames / grid.length_frames)

    @cached_property
    def _overlap(self) -> NDArray[np.float32]:
        """Infinite where two windows share a frame, else 0; (n_windows, n_windows)."""
        shared = np.abs(self.places[:, None] - self.places) < self.apart
        return np.where(shared, np.float32(np.inf), np.float32(0))

    def closeness(self, statistics: NDArray[np.float32]) -> float:
        """Mean over the windows (n_windows, n_dims) that share no frame with some other; 0 where nothing varies."""
        points = statistics - statistics.mean(axis=0)
        squares = _squared_distances(points, points)
        typical = _typical(squares)
        squares += self._overlap
        return _mean_closeness(_nearest(points, points, squares), typical)

    def entry_closeness(self, statistics: NDArray[np.float32], labels: Labels) -> dict[int, float]:
        """The same for the windows of each entry, to windows of the same entry in another run."""
        points = statistics - statistics.mean(axis=0)
        typical = _typical(_squared_distances(points[:: -(-len(points) // _ROWS)], points))
        runs = self._runs(labels)
        found: dict[int, float] = {}
        for id in np.unique(labels[labels != OTHER]).tolist():
            own = np.flatnonzero(labels == id)
            squares = _squared_distances(points[own], points[own]) + self._overlap[np.ix_(own, own)]
            squares[runs[own][:, None] == runs[own]] = np.inf
            if np.isfinite(squares).any() and typical > 0:
                found[id] = _mean_closeness(_nearest(points[own], points[own], squares), typical)
        return found

    def _runs(self, labels: Labels) -> NDArray[np.int64]:
        """The number of the run of each window; a run ends with its span."""
        begins = np.diff(labels, prepend=labels[:1]) != 0
        begins[[start for start, _ in self.spans]] = True
        return np.cumsum(begins)


def _squared_distances(some: NDArray[np.float32], points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Squared Euclidean distances (n_some, n_points), good enough to tell which is least: the product is rounded."""
    products = some @ points.T
    products *= -2
    products += np.square(some).sum(axis=1)[:, None]
    products += np.square(points).sum(axis=1)
    return np.asarray(np.maximum(products, 0, out=products))


def _typical(squares: NDArray[np.float32]) -> float:
    return float(np.median(np.sqrt(squares[:: -(-len(squares) // _ROWS)])))


def _nearest(
    some: NDArray[np.float32], points: NDArray[np.float32], squares: NDArray[np.float32]
) -> NDArray[np.float64]:
    """The least finite distance of each row, computed anew from the points; rows that have none are left out."""
    nearest = squares.argmin(axis=1)
    compared = np.flatnonzero(np.isfinite(squares[np.arange(len(squares)), nearest]))
    gaps = some[compared].astype(np.float64) - points[nearest[compared]]
    return np.asarray(np.sqrt(np.square(gaps).sum(axis=1)))


def _mean_closeness(distances: NDArray[np.float64], typical: float) -> float:
    if not distances.size or typical == 0:
        return 0.0
    return float(-np.log(np.maximum(distances / typical, _SAME)).mean())


Relabel = Callable[[Representations, WindowAxis, np.random.Generator], Labels]
"""Finds labels, one per window, from other windows' statistics by the method that found the labels in question."""


def signal_evidence(
    windows: Sequence[Windows], labels: Sequence[Labels], relabel: Relabel, n_surrogates: int, rng: np.random.Generator
) -> Evidence:
    """Evidence for labels, one array (n_windows,) per signal; the signals share a vocabulary, and windows of a length.

    `relabel` is `unit_labels(config)` for units. OTHER is no entry. Long recordings are asked about in part: what is
    not seen twice in that part is 'not tested'. With fewer than 19 surrogates nothing can pass.
    """
    if n_surrogates < 1:
        raise ValueError(f"expected at least 1 surrogate, got {n_surrogates}")
    n_occurrences = occurrences(windows, labels)
    share = _share_asked(windows)
    parts = [_part(w, own, share) for w, own in zip(windows, labels, strict=True) if len(w)]
    asked, own_labels = [w for w, _ in parts], np.concatenate([own for _, own in parts])
    axis, statistics = WindowAxis.of(asked), _statistics(asked)
    whole, own = axis.closeness(statistics), axis.entry_closeness(statistics, own_labels)
    plain = list(_plain_surrogates(asked, n_surrogates, rng))
    kinds = {
        "signal": plain,
        "loudness": _loudness_surrogates(asked, n_surrogates, rng),
        "statistics": _statistics_surrogates(statistics, axis, n_surrogates, rng),
    }
    by_chance = {kind: np.array([axis.closeness(other) for other in others]) for kind, others in kinds.items()}
    p = max(rank_p(whole, figures) for figures in by_chance.values())
    best = np.full(n_surrogates, -np.inf)
    if p <= SIGNIFICANT and own:  # else no unit can pass, and labelling surrogates is most of the work
        entries_of_each = (axis.entry_closeness(other, relabel(other, axis, rng)) for other in plain)
        best = np.array([max(units.values(), default=-np.inf) for units in entries_of_each])
    entries = {id: _entry(own.get(id), n, best, p, in_part=share < 1) for id, n in n_occurrences.items()}
    return Evidence(p, whole, by_chance, entries, {})


def unit_labels(config: RondoConfig) -> Relabel:
    """Labels by the units of `config` where these are slow units of window statistics, else by the default ones.

    With the trained ways a unit is compared to slow units of the surrogates: p of the whole holds as it is, that of a
    unit is a guide. Merges of units are left out.
    """
    units = config.units if isinstance(config.units, SlowUnitsConfig) else SlowUnitsConfig()
    mixture = units.mixture if units.mixture.kind == "dp_gaussian" else SlowUnitsConfig().mixture
    mixture = mixture.model_copy(update={"max_iterations": min(_MIXTURE_ITERATIONS, mixture.max_iterations)})

    def relabel(statistics: Representations, axis: WindowAxis, rng: np.random.Generator) -> Labels:
        if units.dimension == "auto":
            projection = fit_slow_enough(statistics, axis.spans, units.pca_dim, axis.step_share, units.ridge)
        else:
            projection = fit_slow(statistics, axis.spans, units.pca_dim, units.dimension, units.ridge)
        latents = projection.apply(statistics)
        penalty = transition_scale(units, shapes=False) * typical_step(latents, axis.spans)
        weight = axis.step_share if units.window_weight == "overlap" else 1.0
        rules = UnitRules(penalty, units.persistence / axis.step_share, weight)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RondoWarning)  # advice about a stream that nobody recorded
            vocabulary = discover_units(latents, latents, axis.spans, rules, mixture, rng, "cpu")
        return decode(latents, axis.spans, vocabulary, penalty).ids

    return relabel


def _plain_surrogates(windows: Sequence[Windows], n: int, rng: np.random.Generator) -> Iterator[Representations]:
    """The statistics of surrogates of the signals."""
    randomisers = [PhaseRandomiser.of(w.values, w.grid.spans) for w in windows]
    for _ in range(n):
        yield _statistics([Windows(r.draw(rng), w.grid) for r, w in zip(randomisers, windows, strict=True)])


def _loudness_surrogates(windows: Sequence[Windows], n: int, rng: np.random.Generator) -> Iterator[Representations]:
    """The statistics of surrogates of the signals that are as loud here and there as the signals are."""
    width = _LOUDNESS_WINDOWS * windows[0].grid.length_frames
    randomisers = [LoudnessRandomiser.of(w.values, w.grid.spans, width) for w in windows]
    for _ in range(n):
        yield _statistics([Windows(r.draw(rng), w.grid) for r, w in zip(randomisers, windows, strict=True)])


def _statistics_surrogates(
    statistics: Representations, axis: WindowAxis, n: int, rng: np.random.Generator
) -> Iterator[Representations]:
    randomiser = PhaseRandomiser.of(statistics, axis.spans)
    return (randomiser.draw(rng) for _ in range(n))


def _entry(
    closeness: float | None, n_occurrences: int, best: NDArray[np.float64], p_whole: float, in_part: bool
) -> EntryEvidence:
    if closeness is None:
        verdict: Verdict = "not tested" if in_part and n_occurrences > 1 else "occurs once"
        return EntryEvidence(np.nan, np.nan, n_occurrences, verdict)
    p = max(p_whole, rank_p(closeness, best))
    return EntryEvidence(p, closeness, n_occurrences, verdict_of(p))


def _statistics(windows: Sequence[Windows]) -> Representations:
    """Window statistics of all signals, standardised over them; trained encoders would have to be trained anew."""
    return SummaryStats(SummaryStatsConfig(shape_channels=0)).fit_encode(windows)


# ---------------------------------------------------------------- which windows


def occurrences(windows: Sequence[Windows], labels: Sequence[Labels]) -> Mapping[int, int]:
    """Runs of each entry; a run ends with its span."""
    pieces = [own[a:b] for w, own in zip(windows, labels, strict=True) for a, b in w.grid.window_spans]
    ids = np.concatenate([runs_of(piece).ids for piece in pieces])
    return {int(id): int((ids == id).sum()) for id in np.unique(ids) if id != OTHER}


def _share_asked(windows: Sequence[Windows]) -> float:
    """The share of all windows that is asked about."""
    per_window = windows[0].grid.length_frames * windows[0].n_channels
    most = min(_MOST_WINDOWS, max(_FEWEST_WINDOWS, _MOST_VALUES // per_window))
    return most / max(most, sum(map(len, windows)))


def _part(windows: Windows, labels: Labels, share: float) -> tuple[Windows, Labels]:
    """Evenly spread stretches of the windows, with their labels, on a grid of their own; all of them for share 1."""
    if share == 1:
        return windows, labels
    grid = windows.grid
    n_asked = int(share * len(windows))
    n_stretches = min(_MOST_STRETCHES, max(1, n_asked // _SHORTEST_STRETCH))
    n_each = max(1, n_asked // n_stretches)
    values, kept, edges = [], [], [0]
    for first in np.linspace(0, len(windows) - n_each, n_stretches + 2)[1:-1].astype(int).tolist():
        for start, stop in grid.window_spans:
            a, b = max(start, first), min(stop, first + n_each)
            if a < b:
                values.append(windows.values[grid.starts[a] : grid.starts[b - 1] + grid.length_frames])
                kept.append(labels[a:b])
                edges.append(edges[-1] + len(values[-1]))
    own = WindowGrid(grid.length_frames, grid.step_frames, edges[-1], tuple(pairwise(edges)))
    return Windows(np.concatenate(values), own), np.concatenate(kept)
