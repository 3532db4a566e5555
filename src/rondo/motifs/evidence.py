"""Evidence of recurrence: does a recording come back to where it was more than a structureless one would?

Clustering finds units in any slow signal, noise included. Whether they are more than that is asked of surrogates
(`rondo.data.surrogates`) that are as slow, as correlated and have the same values, but in which nothing recurs.

The measure is *closeness*: of each window, to the most alike window with which it shares no frame, as

    -log(distance / median distance between windows)

in the space of window statistics. Slowness alone does not raise it, being the same in the surrogates.

- The whole: mean closeness against two kinds of surrogates, of the signal and of the windows' statistics. The first are
  right for a linear process; the second keep how its loudness wanders. p is the larger of the two.
- A unit: mean closeness of its windows to windows of the same unit in another run, against the *best* unit of each
  surrogate, labelled by the same method (Westfall & Young 1993: what passes, passes for all units at once; no further
  correction is needed). Its p is never smaller than that of the whole, so that noise yields no units whatever the
  method that labelled it; where the whole does not pass, it is that of the whole.

p = (1 + surrogates that reach the figure) / (1 + surrogates): 19 of them for 0.05.

What passes is more than a linear process, not yet a vocabulary: noise whose loudness wanders passes about every second
time (benchmarks/evidence_quality.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.config import RondoConfig, SlowUnitsConfig, SummaryStatsConfig
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.surrogates import phase_randomised
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.encoders.summary_stats import SummaryStats
from rondo.errors import RondoWarning
from rondo.units.model import fit_units, joined_spans

Relabel = Callable[[Sequence[Windows], np.random.Generator], Sequence[Labels]]
"""Finds labels, one per window, in other windows by the method that found the labels in question."""
Verdict = Literal["recurs", "occurs once", "no more than chance", "not tested"]

SIGNIFICANT = 0.05
_MOST_WINDOWS, _STRETCHES = 2000, 4  # more windows are asked about in evenly spread stretches
_SAME = 1e-3  # windows closer than this share of the median distance are the same (dead sensors, silence)
_ROWS = 512  # of the distance matrix at a time


class EntryEvidence(NamedTuple):
    """What speaks for one unit; `closeness` is NaN where no two occurrences could be compared."""

    p: float
    closeness: float
    n_occurrences: int
    verdict: Verdict


@dataclass(frozen=True, eq=False)
class Evidence:
    """p and closeness of the whole, the closeness of its surrogates, and the evidence for each unit id."""

    p: float
    closeness: float
    of_signal_surrogates: NDArray[np.float64]  # (n_surrogates,)
    of_statistics_surrogates: NDArray[np.float64]  # (n_surrogates,)
    entries: Mapping[int, EntryEvidence]

    @property
    def recurs(self) -> bool:
        return self.p <= SIGNIFICANT


def recurrence_evidence(
    windows: Sequence[Windows], labels: Sequence[Labels], relabel: Relabel, n_surrogates: int, rng: np.random.Generator
) -> Evidence:
    """Evidence for labels, one array (n_windows,) per signal; the signals share a vocabulary, and windows of a length.

    `relabel` is `unit_labels(config)` for units. OTHER is no entry. Long recordings are asked about in part: what is
    not seen twice in that part is 'not tested'. With fewer than 19 surrogates nothing can pass.
    """
    if n_surrogates < 1:
        raise ValueError(f"expected at least 1 surrogate, got {n_surrogates}")
    n_occurrences = _occurrences(windows, labels)
    share = _MOST_WINDOWS / max(_MOST_WINDOWS, sum(map(len, windows)))
    parts = [_part(w, own, share) for w, own in zip(windows, labels, strict=True) if len(w)]
    asked, own_labels = [w for w, _ in parts], np.concatenate([own for _, own in parts])
    axis, statistics = _Axis.of(asked), _statistics(asked)
    whole, own = axis.closeness(statistics, own_labels)
    seeds = rng.integers(2**63, size=n_surrogates)
    surrogates = [partial(_surrogate, asked, seed) for seed in seeds]  # drawn when needed: all at once would be large
    of_signal = np.array([axis.closeness(_statistics(draw()))[0] for draw in surrogates])
    wandering = (phase_randomised(statistics, axis.spans, rng) for _ in seeds)
    of_statistics = np.array([axis.closeness(other)[0] for other in wandering])
    p = max(_rank_p(whole, of_signal), _rank_p(whole, of_statistics))
    best = np.full(n_surrogates, -np.inf)
    if p <= SIGNIFICANT and own:  # else no unit can pass, and labelling surrogates is most of the work
        for i, draw in enumerate(surrogates):
            chance = draw()
            units = axis.closeness(_statistics(chance), np.concatenate(relabel(chance, rng)))[1]
            best[i] = max(units.values(), default=-np.inf)
    entries = {id: _entry(own.get(id), n, best, p, in_part=share < 1) for id, n in n_occurrences.items()}
    return Evidence(p, whole, of_signal, of_statistics, entries)


def unit_labels(config: RondoConfig) -> Relabel:
    """Labels by the units of `config` where these cost a fraction of a second, else by those of the default preset.

    With the trained ways a unit is compared to slow units of the surrogates: p of the whole holds as it is, that of a
    unit is a guide.
    """
    is_cheap = isinstance(config.units, SlowUnitsConfig) and config.units.mixture.kind == "dp_gaussian"
    units = config.units if is_cheap else SlowUnitsConfig()
    encoder = config.encoder if isinstance(config.encoder, SummaryStatsConfig) else SummaryStatsConfig()

    def relabel(windows: Sequence[Windows], rng: np.random.Generator) -> list[Labels]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RondoWarning)  # advice about a stream that nobody recorded
            model = fit_units(windows, SummaryStats(encoder).fit(windows), units, rng, "cpu")
        return [model.timeline(w).ids for w in windows]

    return relabel


def _surrogate(windows: Sequence[Windows], seed: int) -> list[Windows]:
    rng = np.random.default_rng(seed)
    return [Windows(phase_randomised(w.values, w.grid.spans, rng), w.grid) for w in windows]


def _rank_p(figure: float, by_chance: NDArray[np.float64]) -> float:
    return float((1 + (by_chance >= figure).sum()) / (1 + by_chance.size))


def _entry(
    closeness: float | None, n_occurrences: int, best: NDArray[np.float64], p_whole: float, in_part: bool
) -> EntryEvidence:
    if closeness is None:
        verdict: Verdict = "not tested" if in_part and n_occurrences > 1 else "occurs once"
        return EntryEvidence(np.nan, np.nan, n_occurrences, verdict)
    p = max(p_whole, _rank_p(closeness, best))
    return EntryEvidence(p, closeness, n_occurrences, "recurs" if p <= SIGNIFICANT else "no more than chance")


# ---------------------------------------------------------------- closeness


@dataclass(frozen=True, eq=False)
class _Axis:
    """The windows of all signals one after the other. Windows whose `places` differ by `apart` share no frame."""

    spans: tuple[Span, ...]
    places: NDArray[np.int64]  # (n_windows,)
    apart: int

    @classmethod
    def of(cls, windows: Sequence[Windows]) -> _Axis:
        grid = windows[0].grid
        apart = -(-grid.length_frames // grid.step_frames)
        spans = joined_spans([w.grid.window_spans for w in windows])
        places = np.concatenate([np.arange(a, b) + i * apart for i, (a, b) in enumerate(spans)])
        return cls(spans, places, apart)

    def closeness(
        self, statistics: NDArray[np.float32], labels: Labels | None = None
    ) -> tuple[float, dict[int, float]]:
        """Mean closeness of all windows (n_windows, n_dims), and of those of each entry that can be compared."""
        labels = np.full(len(statistics), OTHER, dtype=np.int32) if labels is None else labels
        runs = self._runs(labels)
        points = statistics.astype(np.float64)
        anywhere, elsewhere = (np.full(len(points), np.inf) for _ in range(2))
        for first in range(0, len(points), _ROWS):
            rows = slice(first, first + _ROWS)
            distances = _distances(points[rows], points)
            distances[np.abs(self.places[rows, None] - self.places) < self.apart] = np.inf
            anywhere[rows] = distances.min(axis=1)
            distances[(labels[rows, None] != labels) | (runs[rows, None] == runs)] = np.inf
            elsewhere[rows] = distances.min(axis=1)
        typical = float(np.median(_distances(points[:: -(-len(points) // _ROWS)], points)))
        if typical == 0:
            return 0.0, {}
        comparable = np.isfinite(elsewhere) & (labels != OTHER)
        entries = {
            int(id): _mean_closeness(elsewhere[comparable & (labels == id)], typical)
            for id in np.unique(labels[comparable])
        }
        return _mean_closeness(anywhere[np.isfinite(anywhere)], typical), entries

    def _runs(self, labels: Labels) -> NDArray[np.int64]:
        """The number of the run of each window; a run ends with its span."""
        begins = np.diff(labels, prepend=labels[:1]) != 0
        begins[[start for start, _ in self.spans]] = True
        return np.cumsum(begins)


def _mean_closeness(distances: NDArray[np.float64], typical: float) -> float:
    return float(-np.log(np.maximum(distances / typical, _SAME)).mean()) if distances.size else 0.0


def _distances(some: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Euclidean distances (n_some, n_points); what rounding leaves between equal points is far below `_SAME`."""
    squares = (some**2).sum(axis=1)[:, None] + (points**2).sum(axis=1) - 2 * some @ points.T
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def _statistics(windows: Sequence[Windows]) -> NDArray[np.float32]:
    """Window statistics of all signals, standardised over them; trained encoders would have to be trained anew."""
    encoder = SummaryStats(SummaryStatsConfig()).fit(windows)
    return np.concatenate([encoder.encode(w) for w in windows])


# ---------------------------------------------------------------- which windows


def _occurrences(windows: Sequence[Windows], labels: Sequence[Labels]) -> dict[int, int]:
    """Runs of each entry; a run ends with its span."""
    pieces = [own[a:b] for w, own in zip(windows, labels, strict=True) for a, b in w.grid.window_spans]
    ids = np.concatenate([runs_of(piece).ids for piece in pieces])
    return {int(id): int((ids == id).sum()) for id in np.unique(ids) if id != OTHER}


def _part(windows: Windows, labels: Labels, share: float) -> tuple[Windows, Labels]:
    """Evenly spread stretches of the windows, with their labels, on a grid of their own; all of them for share 1."""
    if share == 1:
        return windows, labels
    grid = windows.grid
    n_each = max(1, int(share * len(windows)) // _STRETCHES)
    values, kept, edges = [], [], [0]
    for first in np.linspace(0, len(windows) - n_each, _STRETCHES).astype(int).tolist():
        for start, stop in grid.window_spans:
            a, b = max(start, first), min(stop, first + n_each)
            if a < b:
                values.append(windows.values[grid.starts[a] : grid.starts[b - 1] + grid.length_frames])
                kept.append(labels[a:b])
                edges.append(edges[-1] + len(values[-1]))
    own = WindowGrid(grid.length_frames, grid.step_frames, edges[-1], tuple(pairwise(edges)))
    return Windows(np.concatenate(values), own), np.concatenate(kept)
