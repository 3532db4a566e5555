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
_CENTRES = 16  # of balls in a surrogate; about as many as there are units


@dataclass(frozen=True, eq=False)
class WindowAxis:
    """The windows of all signals one after the other. Windows whose `places` differ by `apart` share no frame."""

    spans: tuple[Span, ...]
    places: NDArray[np.int64]  # (n_windows,); those of two spans are farther apart than any two of one span
    apart: int

    @classmethod
    def of(cls, windows: Sequence[Windows]) -> WindowAxis:
        grid = windows[0].grid
        apart = -(-grid.length_frames // grid.step_frames)
        spans = joined_spans([w.grid.window_spans for w in windows])
        beyond = apart + sum(map(len, windows))
        places = np.concatenate([np.arange(a, b) + i * beyond for i, (a, b) in enumerate(spans)])
        return cls(spans, places, apart)

    @cached_property
    def _overlap(self) -> NDArray[np.float32]:
        """Infinite where two windows share a frame, else 0; (n_windows, n_windows)."""
        return self._nearer_than(self.apart)

    def _nearer_than(self, apart: int) -> NDArray[np.float32]:
        return np.where(np.abs(self.places[:, None] - self.places) < apart, np.float32(np.inf), np.float32(0))

    def closeness(self, statistics: NDArray[np.float32]) -> float:
        """Mean over the windows (n_windows, n_dims) that share no frame with some other; 0 where nothing varies."""
        return self.closeness_by_chance(statistics)[0]

    def closeness_by_chance(
        self, statistics: NDArray[np.float32], apart: int | None = None
    ) -> tuple[float, NDArray[np.float64] | None]:
        """The same mean, and unless `apart` is None, that of the best balls of 1, 2, .. n_windows windows.

        A ball is the windows nearest to one of 16 centres, spread evenly in time: about what a unit is. There closeness
        is that to windows at least `apart` windows away, as another run of a unit would be.
        """
        points = statistics - statistics.mean(axis=0)
        squares = _squared_distances(points, points)
        typical = _typical(squares)
        each = _closeness(points, squares + self._overlap, typical)
        mean = float(np.nanmean(each)) if np.isfinite(each).any() else 0.0
        if apart is None:
            return mean, None
        elsewhere = _closeness(points, squares + self._kept_apart(apart), typical)
        elsewhere = np.nan_to_num(elsewhere, nan=np.log(_SAME))
        centres = np.linspace(0, len(points) - 1, min(len(points), _CENTRES)).astype(np.int64)
        order = np.argsort(squares[centres], axis=1, kind="stable")
        means = np.cumsum(elsewhere[order], axis=1) / np.arange(1, len(points) + 1)
        return mean, np.asarray(means.max(axis=0))

    def entry_closeness(self, statistics: NDArray[np.float32], labels: Labels) -> dict[int, float]:
        """The same for the windows of each entry, to windows of the same entry in another run."""
        points = statistics - statistics.mean(axis=0)
        typical = _typical(_squared_distances(points[:: -(-len(points) // _ROWS)], points))
        runs = self.runs(labels)
        found: dict[int, float] = {}
        for id in np.unique(labels[labels != OTHER]).tolist():
            own = np.flatnonzero(labels == id)
            squares = _squared_distances(points[own], points[own]) + self._overlap[np.ix_(own, own)]
            squares[runs[own][:, None] == runs[own]] = np.inf
            if np.isfinite(squares).any() and typical > 0:
                found[id] = float(np.nanmean(_closeness(points[own], squares, typical)))
        return found

    def runs(self, labels: Labels) -> NDArray[np.int64]:
        """The number of the run of each window; a run ends with its span."""
        begins = np.diff(labels, prepend=labels[:1]) != 0
        begins[[start for start, _ in self.spans]] = True
        return np.cumsum(begins)

    @cached_property
    def _masks(self) -> dict[int, NDArray[np.float32]]:
        return {self.apart: self._overlap}

    def _kept_apart(self, apart: int) -> NDArray[np.float32]:
        apart = max(apart, self.apart)
        if apart not in self._masks:
            self._masks[apart] = self._nearer_than(apart)
        return self._masks[apart]


def _squared_distances(some: NDArray[np.float32], points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Squared Euclidean distances (n_some, n_points), good enough to tell which is least: the product is rounded."""
    products = some @ points.T
    products *= -2
    products += np.square(some).sum(axis=1)[:, None]
    products += np.square(points).sum(axis=1)
    return np.asarray(np.maximum(products, 0, out=products))


def _typical(squares: NDArray[np.float32]) -> float:
    return float(np.median(np.sqrt(squares[:: -(-len(squares) // _ROWS)])))


def _closeness(points: NDArray[np.float32], squares: NDArray[np.float32], typical: float) -> NDArray[np.float64]:
    """Of each row, from its least finite distance, computed again from the points; NaN for rows that have none."""
    found = np.full(len(points), np.nan)
    if typical == 0:
        return found
    nearest = squares.argmin(axis=1)
    compared = np.flatnonzero(np.isfinite(squares[np.arange(len(squares)), nearest]))
    gaps = points[compared].astype(np.float64) - points[nearest[compared]]
    distances = np.sqrt(np.square(gaps).sum(axis=1))
    found[compared] = -np.log(np.maximum(distances / typical, _SAME))
    return found
