"""Closeness: how alike a window is to the most alike window with which it shares no frame.

    closeness = -log(distance / median distance between windows)

in the space of window statistics. Slowness alone raises it in surrogates too, so that it is no finding there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER, Labels
from rondo.data.windows import Span, Windows
from rondo.units.model import joined_spans

_SAME = 1e-3  # windows closer than this share of the median distance are the same (dead sensors, silence)
_ROWS = 128  # of the distances, evenly spread, from which the median is taken


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
