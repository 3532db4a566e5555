"""TaughtMotifs: long windows -> the names that a person has taught, from a few marked spans.

Windows of half the motif window are described by their statistics, and by the shapes on their strongest axes. A ridge
regression in which every name has the same weight scores the names. It is fitted to the marked windows, then once more
to all windows as it reads them then (self-training). The score of a window is mixed with the mean score of the entry
that was found there; of all paths the best is read, where each change of name has its price.

What stays as it was found: frames that are OTHER, and, while there are fewer names than two thirds of the entries that
were found, the entries that hold the larger part of no marked span. Both need no labels but the marks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints, check_shapes, leading_axes, leading_eigenvectors, owned, owned_by
from rondo.data.labels import OTHER
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.encoders.summary_stats import FittedSummaryStats, SummaryStats, SummaryStatsConfig
from rondo.units.model import joined_spans
from rondo.units.viterbi import smooth_spans

CHANGE = (
    0.6  # price of a change of name; the score of a name is 1 where it is marked, 0 elsewhere (studies.py teaching)
)
ENTRY_SHARE = 0.2  # of a score that is the mean score of the entry that was found there (studies.py teaching)
_RIDGE = 0.03  # of the mean squared norm of a description, which is about 1 a block (studies.py teaching)
_SHAPE_AXES = 4  # strongest axes on which shapes are described; of 2 and 4 the better (studies.py teaching)
_DIMENSIONS = 120  # of descriptions, by their principal axes; of 60, 120 and 200 (studies.py teaching)
_MOST_FOR_AXES = 4096  # windows; ours, for speed
_STEPS = 4  # from one window to the next, in a window; chosen by hand, not measured
_SHORTEST = 8  # frames of a window at least; chosen by hand, not measured
_COVERING = 2 / 3  # names of entries found from which on names cover everything (studies.py teaching)
_NEVER = 1e6  # price of what is ruled out; more than any path costs

STATISTICS = SummaryStats(SummaryStatsConfig(shape_channels=0))
SHAPES = SummaryStats(SummaryStatsConfig(shape_channels=_SHAPE_AXES, shape_weight=1.0))


class TaughtReading(NamedTuple):
    """What long windows are read as: the column of a name, or OTHER where what was found stays."""

    columns: Ints
    seconds: Ints  # the columns of the names that come next
    margins: Floats  # by how much the first is ahead of the second


def taught_grid(motif_window_frames: int, n_frames: int, spans: Sequence[tuple[int, int]]) -> WindowGrid:
    """The windows in which names are read."""
    length = max(_SHORTEST, motif_window_frames // 2)
    return WindowGrid(length, max(1, length // _STEPS), n_frames, tuple(spans))


def middles(grid: WindowGrid) -> Ints:
    return np.asarray(grid.starts + grid.length_frames // 2)


@dataclass(frozen=True, eq=False)
class TaughtMotifs:
    """Reads taught names. Teaching gives it; it never changes afterwards."""

    axes: Floats  # (n_channels, 4): the strongest; (n_channels, 0) where there are no more channels than that
    encoders: tuple[FittedSummaryStats, ...]  # of all channels, and of the axes
    weights: Floats  # (n_dims, n_names)
    bias: Floats  # (n_names,)
    entries: Ints  # that were found, ascending
    entry_scores: Floats  # (n_entries, n_names): means
    kept: Ints  # entries that stay as they were found

    def described(self, windows: Windows) -> Floats:
        return described(self.encoders, windows, _on_axes(windows, self.axes))

    def scores(self, points: Floats, found: Ints) -> Floats:
        """Of every name for every description, with the entries that were found there."""
        own = points @ self.weights + self.bias
        places = np.minimum(np.searchsorted(self.entries, found), self.entries.size - 1)
        mixed = (1 - ENTRY_SHARE) * own + ENTRY_SHARE * self.entry_scores[places]
        return np.where((self.entries[places] == found)[:, None], mixed, own)

    def costs(self, scores: Floats, found: Ints) -> Floats:
        """Of every name, and of what was found, in the last column."""
        stays = np.isin(found, [OTHER, *self.kept])
        return np.column_stack([np.where(stays[:, None], _NEVER, -scores), np.where(stays, 0.0, _NEVER)])

    def read(self, windows: Windows, found: Ints, marks: Ints | None = None) -> TaughtReading:
        """The names of the windows of one recording; where there are `marks`, they hold."""
        return self.read_points(self.described(windows), windows.grid.window_spans, found, marks)

    def read_points(
        self, points: Floats, spans: Sequence[Span], found: Ints, marks: Ints | None = None
    ) -> TaughtReading:
        """The same from descriptions."""
        scores = self.scores(points, found)
        costs = self.costs(scores, found)
        if marks is not None:
            costs[marks != OTHER] = _NEVER
            costs[marks != OTHER, marks[marks != OTHER]] = 0.0
        return reading_of(smooth_spans(costs, spans, CHANGE), scores)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        own = {"axes": self.axes, "weights": self.weights, "bias": self.bias, "entries": self.entries}
        own |= {"entry_scores": self.entry_scores, "kept": self.kept}
        each = (owned(f"encoder{place}", encoder.tensors()) for place, encoder in enumerate(self.encoders))
        return {name: tensor for part in (own, *each) for name, tensor in part.items()}

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> TaughtMotifs:
        """From tensors that may be someone else's; ValueError or ModelError where they do not fit together."""
        shapes = {"axes": "channels axes", "weights": "dims names", "bias": "names", "entries": "entries"}
        sizes = check_shapes(tensors, shapes | {"entry_scores": "entries names", "kept": "kept"})
        kinds = (STATISTICS, SHAPES) if sizes["axes"] else (SHAPES,)
        encoders = tuple(kind.restore(owned_by(f"encoder{place}", tensors)) for place, kind in enumerate(kinds))
        shapes_of = encoders[-1].shapes
        n_shapes = encoders[-1].centre.size if len(encoders) == 1 else shapes_of.n_columns if shapes_of else 0
        if n_shapes + sum(encoder.centre.size for encoder in encoders[:-1]) != sizes["dims"] or not sizes["entries"]:
            raise ValueError(f"weights of {sizes['dims']} dimensions, {sizes['entries']} entries")
        axes, weights, bias, scores = (
            np.asarray(tensors[name], np.float64) for name in ("axes", "weights", "bias", "entry_scores")
        )
        entries, kept = (np.asarray(tensors[name], np.int64) for name in ("entries", "kept"))
        return cls(axes, encoders, weights, bias, entries, scores, kept)


def reading_of(path: Ints, scores: Floats) -> TaughtReading:
    """The reading of a path on which the last column is what was found."""
    order = np.argsort(-scores, axis=1, kind="stable")
    columns = np.where(path == scores.shape[1], OTHER, path)
    seconds = np.where(order[:, 0] == columns, order[:, min(1, scores.shape[1] - 1)], order[:, 0])
    rows = np.arange(len(scores))
    margins = np.where(columns == OTHER, 0.0, scores[rows, columns] - scores[rows, seconds])
    return TaughtReading(columns, seconds, margins)


def teach(windows: Sequence[Windows], found: Sequence[Ints], marks: Sequence[Ints], claimed: Ints) -> TaughtMotifs:
    """Learn names from the windows of recordings that hold marks.

    `found`, `marks`: the entry and the number of the name at the middle of each window, OTHER where there is none;
    `claimed`: the entries that hold the larger part of a marked span. Every name is marked in at least one window.
    """
    axes = _strongest_axes(windows)
    filled = [own for own in windows if len(own)]
    filled_axes = [_on_axes(own, axes) for own in filled]
    encoders: tuple[FittedSummaryStats, ...] = (SHAPES.fit(filled_axes),)
    if axes.shape[1]:
        encoders = (STATISTICS.fit(filled), *encoders)
    points = np.concatenate([described(encoders, *each) for each in zip(filled, filled_axes, strict=True)])
    spans = joined_spans([own.grid.window_spans for own in filled])
    every_found, every_mark = np.concatenate(found), np.concatenate(marks)
    entries = np.unique(every_found[every_found != OTHER])
    n_names = int(every_mark.max()) + 1
    kept = entries[:0] if n_names >= _COVERING * entries.size else np.setdiff1d(entries, claimed)
    entries = entries if entries.size else np.zeros(1, np.int64)
    thin = points[:: -(-len(points) // _MOST_FOR_AXES)]
    reduced = leading_axes(thin - thin.mean(axis=0), min(_DIMENSIONS, *thin.shape))
    latents, names = points @ reduced, every_mark
    for _ in range(2):  # by the marks, then by all windows
        of = names != OTHER
        weights, bias = _ridge(latents[of], names[of], n_names)
        scores = latents @ weights + bias
        means = [
            scores[every_found == entry].mean(axis=0) if (every_found == entry).any() else bias for entry in entries
        ]
        taught = TaughtMotifs(axes, encoders, reduced @ weights, bias, entries, np.array(means), kept)
        names = taught.read_points(points, spans, every_found, every_mark).columns
    return taught


def described(encoders: Sequence[FittedSummaryStats], windows: Windows, on_axes: Windows) -> Floats:
    """Descriptions of windows, (n_windows, n_dims)."""
    shapes, own = encoders[-1], encoders[-1].encode(on_axes)
    if len(encoders) == 1:
        return own.astype(np.float64)
    n_shapes = shapes.shapes.n_columns if shapes.shapes else 0  # the statistics of the axes are those of the channels
    return np.concatenate([encoders[0].encode(windows), own[:, own.shape[1] - n_shapes :]], axis=1, dtype=np.float64)


def _on_axes(windows: Windows, axes: Floats) -> Windows:
    if not axes.shape[1]:
        return windows
    return Windows(np.ascontiguousarray(windows.values @ axes, np.float32), windows.grid)


def _strongest_axes(windows: Sequence[Windows]) -> Floats:
    n_channels = windows[0].n_channels
    if n_channels <= _SHAPE_AXES:
        return np.zeros((n_channels, 0))
    values = [own.values.astype(np.float64) for own in windows]
    mean = np.sum([own.sum(axis=0) for own in values], axis=0) / sum(map(len, values))
    axes = leading_eigenvectors(np.sum([(own - mean).T @ (own - mean) for own in values], axis=0), _SHAPE_AXES)
    return np.asarray(axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(_SHAPE_AXES)]))


def _ridge(points: Floats, names: Ints, n_names: int) -> tuple[Floats, Floats]:
    """Weights and bias of a regression on 1 for the name of a point and 0 for the others, names of equal weight."""
    counts = np.bincount(names, minlength=n_names)
    weight = 1.0 / counts[names] / np.count_nonzero(counts)
    wanted = np.eye(n_names)[names]
    mean, mean_wanted = weight @ points, weight @ wanted
    centred = (points - mean) * np.sqrt(weight)[:, None]
    wanted = (wanted - mean_wanted) * np.sqrt(weight)[:, None]
    weights = np.linalg.solve(centred.T @ centred + _RIDGE * np.eye(points.shape[1]), centred.T @ wanted)
    return weights, mean_wanted - mean @ weights
