"""Contexts: stretches in which the same units keep coming. The upper level, read from the lower one.

A long window covers several windows of units. It is described by two blocks: its statistics, and the square roots of
the shares of the units in it. Both are centred and brought to the same mean squared norm. The shares then count as much
as they persist: by three times their correlation at a lag of two long windows, from 0 to 1. Where units alternate in
an activity, shares are what stays; where activities are shorter than that, the statistics tell them apart.

Then the chain of the units once more: slow projection, mixture, Viterbi. The mixture is started five times, and the
labelling that agrees best with the others is taken.

Where one context ends and the next begins is found in the signal, as for units (`units/boundaries.py`), and then moved
to where a unit begins, if one does within a window of units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints, owned, owned_by
from rondo.config.schema import SlowUnitsConfig
from rondo.config.ways import ENCODERS
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.encoders import FittedEncoder, build_encoder
from rondo.encoders.summary_stats import describes_shapes
from rondo.motifs.base import Kept, MotifTimeline
from rondo.motifs.mixes import Mixes
from rondo.units.boundaries import Boundaries, fit_boundaries
from rondo.units.discover import UnitRules, discover_units, transition_scale
from rondo.units.model import joined_spans
from rondo.units.slow import FEWEST_OF_SHAPES, SlowProjection, fit_slow_enough
from rondo.units.timeline import Timeline, centre_distances, decode, smooth_spans, typical_step
from rondo.vocabulary import Vocabulary

_FEWEST_LONG_WINDOWS = 20  # fewer cannot show that anything comes back
_PRIOR_WINDOWS = 0.5  # of every unit in every context: a unit never seen there is unlikely, not impossible
_NORM = 2.0  # of a block, as that of the four families of window statistics together
_SHARES_COUNT = 3.0  # chosen on development sets (docs/contexts.md)
_DRAWS = 5
_STATISTICS = ENCODERS["summary_stats"].settings


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
        """The long windows over the frames of the windows of units."""
        length = units.length_frames + (self.n_covered - 1) * units.step_frames
        return WindowGrid(length, self.n_apart * units.step_frames, units.n_frames, units.spans)

    def n_in(self, span: Span) -> int:
        """How many lie in a span of windows of units."""
        return max(0, (span[1] - span[0] - self.n_covered) // self.n_apart + 1)

    def spans(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Those of the axis of long windows, for spans of windows of units; such as hold none are left out."""
        return joined_spans([[(0, n)] for span in spans if (n := self.n_in(span))])

    def first_covered(self, spans: Sequence[Span]) -> Ints:
        """The first window of units that each covers, over all spans of windows of units."""
        each = [start + self.n_apart * np.arange(self.n_in((start, stop))) for start, stop in spans]
        return np.concatenate(each) if each else np.zeros(0, np.int64)

    def spread(self, per_long_window: NDArray[np.generic], n_windows: int) -> NDArray[np.generic]:
        """One value for each of the windows of units of a span: that of the long window with the nearest middle."""
        middles = self.n_apart * np.arange(per_long_window.size) + (self.n_covered - 1) / 2
        nearest = np.searchsorted((middles[1:] + middles[:-1]) / 2, np.arange(n_windows))
        return per_long_window[nearest]


@dataclass(frozen=True, eq=False)
class ContextModel:
    """Reads the context of every window of units. Fitting gives it; it never changes afterwards."""

    unit_ids: tuple[int, ...]  # ascending
    windows: LongWindows
    encoder: FittedEncoder
    centre: Floats  # (n_dims,) of both blocks
    scales: Floats  # (2,), what each block is multiplied by
    projection: SlowProjection
    vocabulary: Vocabulary
    penalty: float
    boundaries: Boundaries
    mixes: Mixes  # of which units each is made

    @property
    def ids(self) -> tuple[int, ...]:
        return self.vocabulary.ids

    @property
    def log_shares(self) -> Floats:
        """(n_contexts, n_units)"""
        smoothed = self.mixes.windows + _PRIOR_WINDOWS
        return np.asarray(np.log(smoothed / smoothed.sum(axis=1, keepdims=True)))

    def timeline(self, units: Timeline, windows: Windows) -> MotifTimeline:
        """The context of every window of units."""
        if not units.ids.size:
            return MotifTimeline(units.ids, units.scores, np.zeros(0, np.bool_))
        codes = self.codes(units.ids)
        long = Windows(windows.values, self.windows.grid(windows.grid))
        covered = self.windows.first_covered(units.spans)
        shares = unit_shares(codes, covered, self.windows.n_covered, len(self.unit_ids))
        costs = self.costs(self.encoder.encode(long), shares)
        path = smooth_spans(costs, long.grid.window_spans, self.penalty)
        ids = np.array(self.ids, np.int32)[path]
        scores = np.exp(-costs[np.arange(path.size), path] / self.vocabulary.radii[path])
        middles = windows.grid.starts + windows.grid.length_frames // 2
        long_of = self.boundaries.windows_of_frames(long, ids)[middles]  # OTHER = -1 in a span that holds none
        drawn = np.append(ids, np.int32(OTHER))[long_of]
        reach = -(-windows.grid.length_frames // windows.grid.step_frames)
        for start, stop in units.spans:
            own = slice(start, stop)
            if (drawn[own] == OTHER).any():  # too short for a long window: the context in which its units are likeliest
                drawn[own] = self.likeliest(codes[own])
            drawn[own] = at_unit_boundaries(drawn[own], codes[own], reach)
        begins = np.append(True, np.diff(drawn) != 0)
        begins[[start for start, _ in units.spans]] = True
        return MotifTimeline(drawn, np.where(long_of == OTHER, units.scores, np.append(scores, 0.0)[long_of]), begins)

    def codes(self, units: NDArray[np.integer]) -> Ints:
        """The column of each unit; -1 for units that came after the fit, which belong to no context."""
        known = np.array(self.unit_ids)
        places = np.minimum(np.searchsorted(known, units), known.size - 1)
        return np.where(known[places] == units, places, -1)

    def likeliest(self, codes: Ints) -> int:
        """The context in which these units are likeliest."""
        return self.ids[int(self.log_shares[:, codes[codes >= 0]].sum(axis=1).argmax())]

    def occurrences(self, windows: Sequence[Windows], timelines: Sequence[Timeline]) -> dict[int, int]:
        """How often each context occurs."""
        counts = dict.fromkeys(self.ids, 0)
        for own, units in zip(windows, timelines, strict=True):
            timeline = self.timeline(units, own)
            for id in timeline.ids[timeline.begins].tolist():
                counts[id] += 1
        return counts

    def costs(self, statistics: NDArray[np.floating], shares: Floats) -> Floats:
        """What each long window costs in each context, (n_long_windows, n_contexts)."""
        described = balanced(statistics, shares, self.centre, self.scales)
        return centre_distances(self.projection.apply(described), self.vocabulary.centres)

    def composition(self, context: int, kept: Kept = int) -> str:
        """Which units, in which share of its time, in which order, how often."""
        return self.mixes.told(self.ids.index(context), self.unit_ids, kept)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything learned, as arrays, for the model folder."""
        named: dict[str, NDArray[np.generic]] = {
            "unit_ids": np.array(self.unit_ids, np.int64),
            "windows": np.array(self.windows, np.int64),
            "centre": self.centre,
            "scales": self.scales,
            "penalty": np.array([self.penalty]),
        }
        for part in ("encoder", "projection", "vocabulary", "boundaries", "mixes"):
            named |= owned(part, getattr(self, part).tensors())
        return named

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> ContextModel:
        """The model that wrote these tensors."""
        n_covered, n_apart = np.asarray(tensors["windows"], np.int64).tolist()
        return cls(
            tuple(np.asarray(tensors["unit_ids"], np.int64).tolist()),
            LongWindows(n_covered, n_apart),
            build_encoder(_STATISTICS()).restore(owned_by("encoder", tensors)),
            np.asarray(tensors["centre"], np.float64),
            np.asarray(tensors["scales"], np.float64),
            SlowProjection.restore(owned_by("projection", tensors)),
            Vocabulary.restore("motif", owned_by("vocabulary", tensors)),
            float(tensors["penalty"][0]),
            Boundaries.restore(owned_by("boundaries", tensors)),
            Mixes.restore(owned_by("mixes", tensors)),
        )


def fit_contexts(
    windows: Sequence[Windows],
    timelines: Sequence[Timeline],
    unit_ids: Sequence[int],
    long: LongWindows,
    config: SlowUnitsConfig,
    rng: np.random.Generator,
) -> ContextModel | None:
    """The contexts of one or more recordings of one unit vocabulary; None where long windows are too few to recur."""
    spans = joined_spans([timeline.spans for timeline in timelines])
    covered = long.first_covered(spans)
    if covered.size < _FEWEST_LONG_WINDOWS or len(unit_ids) < 2:
        return None
    codes = np.searchsorted(np.array(unit_ids), np.concatenate([timeline.ids for timeline in timelines]))
    long_windows = [w for own in windows if len(w := Windows(own.values, long.grid(own.grid)))]
    encoder = build_encoder(_STATISTICS()).fit(long_windows)
    statistics = np.concatenate([encoder.encode(w) for w in long_windows])
    shares = unit_shares(codes, covered, long.n_covered, len(unit_ids))
    long_spans = long.spans(spans)
    centre, scales = _balance(statistics, shares, long_spans, lag=2 * -(-long.n_covered // long.n_apart))
    described = balanced(statistics, shares, centre, scales)
    grid = long_windows[0].grid
    step_share = grid.step_frames / grid.length_frames
    shapes = describes_shapes(encoder)
    fewest = {"fewest": FEWEST_OF_SHAPES} if shapes else {}
    projection = fit_slow_enough(described, long_spans, config.pca_dim, step_share, config.ridge, **fewest)
    latents = projection.apply(described)
    penalty = transition_scale(config, shapes=shapes) * typical_step(latents, long_spans)
    rules = UnitRules(penalty, config.persistence / step_share, step_share)
    drawn = [
        discover_units(latents, latents, long_spans, rules, config.mixture, rng, "cpu", level="motif")
        for _ in range(_DRAWS)
    ]
    paths = [decode(latents, long_spans, vocabulary, penalty).ids for vocabulary in drawn]
    chosen = _medoid(paths)
    vocabulary = drawn[chosen]
    each = np.split(paths[chosen], np.cumsum([len(w) for w in long_windows])[:-1])
    boundaries = fit_boundaries(long_windows, each, vocabulary.ids)
    holding = [span for span in spans if long.n_in(span)]
    read = [
        long.spread(paths[chosen][a:b], stop - start) for (a, b), (start, stop) in zip(long_spans, holding, strict=True)
    ]
    places = np.array(vocabulary.ids)
    of_each = [(np.searchsorted(places, contexts), codes[a:b]) for contexts, (a, b) in zip(read, holding, strict=True)]
    mixes = Mixes.counted(of_each, len(vocabulary), len(unit_ids))
    ids = tuple(int(id) for id in unit_ids)
    return ContextModel(ids, long, encoder, centre, scales, projection, vocabulary, penalty, boundaries, mixes)


def _medoid(paths: Sequence[NDArray[np.int32]]) -> int:
    """The labelling that agrees best with all others (adjusted mutual information)."""
    from sklearn.metrics import adjusted_mutual_info_score  # slow to import, and not needed to apply a model

    alike = [[adjusted_mutual_info_score(a, b) for b in paths] for a in paths]
    return int(np.sum(alike, axis=1).round(9).argmax())


def unit_shares(codes: Ints, first: Ints, n_covered: int, n_units: int) -> Floats:
    """Square roots of the share of each unit in the windows that each long window covers, (n_long_windows, n_units)."""
    shares = np.empty((first.size, n_units))
    for unit in range(n_units):
        summed = np.append(0, np.cumsum(codes == unit))
        shares[:, unit] = summed[first + n_covered] - summed[first]
    return np.sqrt(shares / n_covered)


def balanced(statistics: NDArray[np.floating], shares: Floats, centre: Floats, scales: Floats) -> Floats:
    """Both blocks side by side, centred and scaled."""
    n = statistics.shape[1]
    return np.hstack([(statistics - centre[:n]) * scales[0], (shares - centre[n:]) * scales[1]])


def _balance(
    statistics: NDArray[np.floating], shares: Floats, spans: Sequence[Span], lag: int
) -> tuple[Floats, Floats]:
    """The centre of both blocks, and what each is multiplied by."""
    centres = [block.mean(axis=0, dtype=np.float64) for block in (statistics, shares)]
    norms = [
        float(np.sqrt(np.square(block - centre).sum(axis=1).mean()))
        for block, centre in zip((statistics, shares), centres, strict=True)
    ]
    weight = min(1.0, max(0.0, _SHARES_COUNT * persistence(shares - centres[1], spans, lag)))
    scales = [_NORM * own / norm if norm else 0.0 for own, norm in zip((1.0, weight), norms, strict=True)]
    return np.concatenate(centres), np.array(scales)


def persistence(block: Floats, spans: Sequence[Span], lag: int) -> float:
    """Correlation of centred rows with those `lag` rows later, within spans."""
    total = np.square(block).sum()
    product = sum(float((block[a : b - lag] * block[a + lag : b]).sum()) for a, b in spans if b - a > lag)
    return product / float(total) if total else 0.0


def at_unit_boundaries(contexts: Labels, units: Ints, reach: int) -> Labels:
    """Contexts of the windows of one span, each beginning at the nearest window, up to `reach`, at which a unit begins.

    >>> at_unit_boundaries(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1]), reach=2).tolist()
    [0, 0, 1, 1, 1, 1]
    """
    runs = runs_of(contexts)
    begins = np.flatnonzero(np.diff(units)) + 1
    middles = (runs.starts + runs.stops) // 2
    cuts = runs.starts[1:].copy()
    for i, drawn in enumerate(cuts.tolist()):
        near = begins[(begins >= max(middles[i], drawn - reach)) & (begins <= min(middles[i + 1], drawn + reach))]
        if near.size:
            cuts[i] = near[np.abs(near - drawn).argmin()]
    return np.repeat(runs.ids, np.diff(cuts, prepend=0, append=contexts.size)).astype(np.int32)
