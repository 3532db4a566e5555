"""TaughtMotifs: what people have taught by a few marked spans, read in any recording.

An entry is *claimed* by a name if it holds the larger part of a marked span, or of several. There are two ways to read:

- by entries, where these tell the names apart: every claimed entry gets the name that marks most of it, with names of
  equal weight. All other entries stay as they were found. So too where names cover little of what was found; then a
  name claims only the entry that it marks most.
- by windows, half as long as the motif window: a ridge regression on their statistics, and on the shapes of their
  strongest axes, scores the names, with names of equal weight. It is fitted to the marked windows, and then once more
  to all windows as it reads them (self-training). The best path is read, in which each change of name has its price.
  Frames that were found to be OTHER stay so.

No labels but the marks decide between the two. `benchmarks/studies.py teaching` measures them.
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
from rondo.units.viterbi import smooth_spans

TOLD_APART = 0.75  # of marked frames, in entries of their own name: then entries are read (of 0.75 to 0.95; studies.py)
COVERING = 0.6  # names for each entry that was found: fewer cover too little (of 0.5 to 0.73; studies.py teaching)
CHANGE = 0.6  # price of a change of name; scores are 1 for a marked name and 0 for others (0.3 to 2; studies.py)
_RIDGE = 0.03  # of the mean squared norm of a block of statistics (0.003 to 0.1; studies.py teaching)
_SHAPE_AXES = 4  # strongest axes on which shapes are described (0 and 4; studies.py teaching)
_DIMENSIONS = 120  # of descriptions, by their principal axes (60, 120, 200; studies.py teaching)
_MOST_FOR_AXES = 4096  # windows; chosen by hand for speed, not measured
_STEPS = 4  # from one window to the next, in a window (2, 4, 8; studies.py teaching)
_SHORTEST = 8  # frames of a window at least; chosen by hand, not measured
_NEVER = 1e6  # price of what is ruled out: more than any path costs

STATISTICS = SummaryStats(SummaryStatsConfig(shape_channels=0))
SHAPES = SummaryStats(SummaryStatsConfig(shape_channels=_SHAPE_AXES, shape_weight=1.0))


class TaughtReading(NamedTuple):
    """What windows are read as: the column of a name, or OTHER where what was found stays."""

    columns: Ints
    seconds: Ints  # the columns of the names that come next
    margins: Floats  # by how much the first is ahead of the second


def taught_grid(motif_window_frames: int, n_frames: int, spans: Sequence[Span]) -> WindowGrid:
    """The windows in which names are read."""
    length = max(_SHORTEST, motif_window_frames // 2)
    return WindowGrid(length, max(1, length // _STEPS), n_frames, tuple(spans))


def middles(grid: WindowGrid) -> Ints:
    return np.asarray(grid.starts + grid.length_frames // 2)


@dataclass(frozen=True, eq=False)
class WindowNames:
    """Scores the names of windows."""

    axes: Floats  # (n_channels, 4): the strongest; (n_channels, 0) where there are no more channels than that
    encoders: tuple[FittedSummaryStats, ...]  # of all channels, and of the axes
    weights: Floats  # (n_dims, n_names)
    bias: Floats  # (n_names,)

    def read(self, windows: Windows, found: Ints) -> TaughtReading:
        """The names of the windows of one recording; `found`: the entries at their middles."""
        points = _described(self.encoders, windows, _on_axes(windows, self.axes))
        return self.read_points(points, windows.grid.window_spans, found)

    def read_points(
        self, points: Floats, spans: Sequence[Span], found: Ints, marks: Ints | None = None
    ) -> TaughtReading:
        """The same from descriptions; where there are `marks`, they hold."""
        scores = points @ self.weights + self.bias
        stays = found == OTHER
        costs = np.column_stack([np.where(stays[:, None], _NEVER, -scores), np.where(stays, 0.0, _NEVER)])
        if marks is not None:
            costs[marks != OTHER] = _NEVER
            costs[marks != OTHER, marks[marks != OTHER]] = 0.0
        path = smooth_spans(costs, spans, CHANGE)
        columns, order = np.where(path == self.bias.size, OTHER, path), np.argsort(-scores, axis=1, kind="stable")
        seconds = np.where(order[:, 0] == columns, order[:, min(1, self.bias.size - 1)], order[:, 0])
        rows = np.arange(len(scores))
        return TaughtReading(columns, seconds, scores[rows, columns] - scores[rows, seconds])


@dataclass(frozen=True, eq=False)
class TaughtMotifs:
    """Reads taught names. Teaching gives it; it never changes afterwards."""

    entries: Ints  # that are claimed, ascending
    columns: Ints  # of their names
    windows: WindowNames | None  # None: entries are read

    def of_entries(self, found: Ints) -> Ints:
        """The column of each entry that was found, OTHER where it is not claimed."""
        if not self.entries.size:  # every mark lies in OTHER
            return np.full(found.shape, OTHER)
        places = np.minimum(np.searchsorted(self.entries, found), self.entries.size - 1)
        return np.where(self.entries[places] == found, self.columns[places], OTHER)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        own: dict[str, NDArray[np.generic]] = {"entries": self.entries, "columns": self.columns}
        if self.windows is None:
            return own
        own |= {name: getattr(self.windows, name) for name in ("axes", "weights", "bias")}
        for place, encoder in enumerate(self.windows.encoders):
            own |= owned(f"encoder{place}", encoder.tensors())
        return own

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]], n_names: int) -> TaughtMotifs:
        """From tensors that may be someone else's; ValueError or ModelError where they do not fit together."""
        check_shapes(tensors, {"entries": "entries", "columns": "entries"})
        entries, columns = (np.asarray(tensors[name], np.int64) for name in ("entries", "columns"))
        if not ((columns >= 0) & (columns < n_names)).all() or (np.diff(entries) <= 0).any():
            raise ValueError(f"entries {entries.tolist()[:8]} of {n_names} names")
        if "weights" not in tensors:
            return cls(entries, columns, None)
        sizes = check_shapes(
            tensors, {"axes": "channels axes", "weights": "dims names", "bias": "names"}, names=n_names
        )
        kinds = (STATISTICS, SHAPES) if sizes["axes"] else (SHAPES,)
        encoders = tuple(kind.restore(owned_by(f"encoder{place}", tensors)) for place, kind in enumerate(kinds))
        if sum(_n_described(own, is_second=place > 0) for place, own in enumerate(encoders)) != sizes["dims"]:
            raise ValueError(f"weights of {sizes['dims']} dimensions")
        axes, weights, bias = (np.asarray(tensors[name], np.float64) for name in ("axes", "weights", "bias"))
        return cls(entries, columns, WindowNames(axes, encoders, weights, bias))


def taught_by_entries(entries: Ints, marked: Ints, claimed: Ints) -> tuple[TaughtMotifs, bool]:
    """What entries alone say, and whether that is how to read.

    `marked`: rows that are marked with each name in each entry, (n_names, n_entries); `claimed`: some of the entries.
    """
    shares = marked / marked.sum(axis=1, keepdims=True)
    columns, is_found = shares.argmax(axis=0), entries != OTHER
    told_apart = np.mean([shares[name, columns == name].sum() for name in range(len(shares))])
    covers = len(shares) >= COVERING * np.count_nonzero(is_found)
    of = np.isin(entries, claimed) & is_found
    if not covers:
        of &= shares.argmax(axis=1)[columns] == np.arange(entries.size)
    return TaughtMotifs(entries[of], columns[of], None), bool(told_apart >= TOLD_APART or not covers)


def taught_by_windows(
    by_entries: TaughtMotifs, n_names: int, windows: Sequence[Windows], found: Sequence[Ints], marks: Sequence[Ints]
) -> TaughtMotifs:
    """Learn names from the windows of recordings that hold marks; a name without a window is never read.

    `found`, `marks`: the entry and the column at the middle of each window, OTHER where there is none.
    """
    axes = _strongest_axes(windows)
    filled = [own for own in windows if len(own)]
    on_axes = [_on_axes(own, axes) for own in filled]
    encoders: tuple[FittedSummaryStats, ...] = (SHAPES.fit(on_axes),)
    if axes.shape[1]:
        encoders = (STATISTICS.fit(filled), *encoders)
    each = [_described(encoders, *both) for both in zip(filled, on_axes, strict=True)]
    points, every_mark = np.concatenate(each), np.concatenate(marks)
    thin = points[:: -(-len(points) // _MOST_FOR_AXES)]
    reduced = leading_axes(thin - thin.mean(axis=0), min(_DIMENSIONS, *thin.shape))
    latents, names = points @ reduced, every_mark
    for _ in range(2):  # by the marks, then by all windows
        of = names != OTHER
        weights, bias = _ridge(latents[of], names[of], n_names)
        reader = WindowNames(axes, encoders, reduced @ weights, bias)
        reads = [reader.read_points(own, w.grid.window_spans, f, m)
                 for own, w, f, m in zip(each, filled, found, marks, strict=True)]  # fmt: skip
        names = np.concatenate([read.columns for read in reads])
    return TaughtMotifs(by_entries.entries, by_entries.columns, reader)


def _described(encoders: Sequence[FittedSummaryStats], windows: Windows, on_axes: Windows) -> Floats:
    """Descriptions (n_windows, n_dims): all of one encoder; of two the first, and only the shapes of the second."""
    own = encoders[-1].encode(on_axes)
    first = [encoders[0].encode(windows)] if len(encoders) > 1 else []
    parts = [*first, own[:, own.shape[1] - _n_described(encoders[-1], is_second=len(encoders) > 1) :]]
    return np.concatenate(parts, axis=1, dtype=np.float64)


def _n_described(encoder: FittedSummaryStats, *, is_second: bool) -> int:
    """Dimensions that are taken of an encoder."""
    n_shapes = encoder.shapes.n_columns if encoder.shapes else 0
    return n_shapes if is_second else int(encoder.centre.size)


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
    normal = centred.T @ centred + _RIDGE * np.eye(points.shape[1])
    weights = np.asarray(np.linalg.solve(normal, centred.T @ wanted), np.float64)
    return weights, np.asarray(mean_wanted - mean @ weights, np.float64)
