"""Windows described beyond their units, for taught names and for the tree of motifs.

Half as long as the motif window, they are described by statistics of all channels, and by shapes on the strongest axes.
A ridge regression that gives every class the same weight reads classes from such descriptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints, Tensors, leading_axes, leading_eigenvectors, owned, owned_by
from rondo.data.recording import BLOCK, Values
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.encoders.summary_stats import FittedSummaryStats, SummaryStats, SummaryStatsConfig

RIDGE = 0.03  # of the mean squared norm of a block of statistics (0.003 to 0.1; studies.py teaching)
_SHAPE_AXES = 4  # strongest axes on which shapes are described (0 and 4; studies.py teaching)
_MOST_FOR_AXES = 4096  # windows; chosen by hand for speed, not measured
_STEPS = 4  # from one window to the next, in a window (2, 4, 8; studies.py teaching)
_SHORTEST = 8  # frames of a window at least; chosen by hand, not measured

_STATISTICS = SummaryStats(SummaryStatsConfig(shape_channels=0))
_SHAPES = SummaryStats(SummaryStatsConfig(shape_channels=_SHAPE_AXES, shape_weight=1.0))


def described_grid(motif_window_frames: int, n_frames: int, spans: Sequence[Span]) -> WindowGrid:
    """The windows that are described."""
    length = max(_SHORTEST, motif_window_frames // 2)
    return WindowGrid(length, max(1, length // _STEPS), n_frames, tuple(spans))


def middles(grid: WindowGrid) -> Ints:
    return np.asarray(grid.starts + grid.length_frames // 2)


@dataclass(frozen=True, eq=False)
class WindowDescriber:
    """Describes windows by what it has seen of some."""

    axes: Floats  # (n_channels, n_axes): the strongest; (n_channels, 0) where there are no more channels than that
    encoders: tuple[FittedSummaryStats, ...]  # of all channels, and of the axes

    @classmethod
    def fit(cls, windows: Sequence[Windows], n_axes: int = _SHAPE_AXES) -> tuple[WindowDescriber, list[Floats]]:
        """From the windows of several recordings; and what it says of those that have windows."""
        axes, filled = _strongest_axes(windows, n_axes), [own for own in windows if len(own)]
        on_axes = [_on_axes(own, axes) for own in filled]
        encoders: tuple[FittedSummaryStats, ...] = (_SHAPES.fit(on_axes),)
        if axes.shape[1]:
            encoders = (_STATISTICS.fit(filled), *encoders)
        describer = cls(axes, encoders)
        return describer, [describer._describe(*both) for both in zip(filled, on_axes, strict=True)]

    @property
    def n_dims(self) -> int:
        return sum(_n_described(own, is_second=place > 0) for place, own in enumerate(self.encoders))

    def describe(self, windows: Windows) -> Floats:
        """Descriptions (n_windows, n_dims): all of one encoder; of two the first, and only the shapes of the second."""
        return self._describe(windows, _on_axes(windows, self.axes))

    def _describe(self, windows: Windows, on_axes: Windows) -> Floats:
        last, is_second = self.encoders[-1], len(self.encoders) > 1
        own = last.encode(on_axes)
        first = [self.encoders[0].encode(windows)] if is_second else []
        parts = [*first, own[:, own.shape[1] - _n_described(last, is_second=is_second) :]]
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        own: dict[str, NDArray[np.generic]] = {"axes": self.axes}
        for place, encoder in enumerate(self.encoders):
            own |= owned(f"encoder{place}", encoder.tensors())
        return own

    @classmethod
    def restore(cls, tensors: Tensors) -> WindowDescriber:
        axes = np.asarray(tensors["axes"], np.float64)
        kinds = (_STATISTICS, _SHAPES) if axes.shape[1] else (_SHAPES,)
        encoders = (kind.restore(owned_by(f"encoder{place}", tensors)) for place, kind in enumerate(kinds))
        return cls(axes, tuple(encoders))


def principal_axes(points: Floats, n_dims: int, most: int = _MOST_FOR_AXES) -> Floats:
    """The strongest axes of descriptions as columns; of very many windows some tell."""
    thin = points[:: -(-len(points) // most)]
    return leading_axes(thin - thin.mean(axis=0), min(n_dims, *thin.shape))


def ridge(points: Floats, codes: Ints, n_classes: int) -> tuple[Floats, Floats]:
    """Weights and bias of a regression on 1 for the class of a point and 0 for the others, classes of equal weight."""
    counts = np.bincount(codes, minlength=n_classes)
    weight = 1.0 / counts[codes] / np.count_nonzero(counts)
    wanted = np.eye(n_classes)[codes]
    mean, mean_wanted = weight @ points, weight @ wanted
    centred = (points - mean) * np.sqrt(weight)[:, None]
    wanted = (wanted - mean_wanted) * np.sqrt(weight)[:, None]
    normal = centred.T @ centred + RIDGE * np.eye(points.shape[1])
    weights = np.asarray(np.linalg.solve(normal, centred.T @ wanted), np.float64)
    return weights, np.asarray(mean_wanted - mean @ weights, np.float64)


def _n_described(encoder: FittedSummaryStats, *, is_second: bool) -> int:
    """Dimensions that are taken of an encoder."""
    n_shapes = encoder.shapes.n_columns if encoder.shapes else 0
    return n_shapes if is_second else int(encoder.centre.size)


def _on_axes(windows: Windows, axes: Floats) -> Windows:
    if not axes.shape[1]:
        return windows
    values = np.empty((len(windows.values), axes.shape[1]), np.float32)
    for block in _blocks(windows.values):
        values[block] = windows.values[block] @ axes
    return Windows(values, windows.grid)


def _blocks(values: Values) -> Iterator[slice]:
    """Some frames at a time: in float64, a long recording would be there twice as large."""
    return (slice(start, start + BLOCK) for start in range(0, len(values), BLOCK))


def _strongest_axes(windows: Sequence[Windows], n_axes: int) -> Floats:
    n_channels = windows[0].n_channels
    if n_channels <= n_axes:
        return np.zeros((n_channels, 0))
    values = [own.values for own in windows]
    total, scatter = np.zeros(n_channels), np.zeros((n_channels, n_channels))
    for frames in (own[block] for own in values for block in _blocks(own)):
        total += frames.sum(axis=0, dtype=np.float64)
    mean = total / sum(map(len, values))
    for centred in (own[block] - mean for own in values for block in _blocks(own)):
        scatter += centred.T @ centred
    axes = leading_eigenvectors(scatter, n_axes)
    return np.asarray(axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(n_axes)]))
