"""Slow projection: the directions of the representation that change least from window to window, in closed form.

Recurrences are windows that are far apart in time and alike; an objective that pushes far windows apart
destroys them. Slowness only pulls neighbours together. After PCA to p dimensions (without whitening), with C0
the covariance and C1 the symmetrised lag-1 covariance of the windows, solve

    C1 v = lambda (C0 + ridge * tr(C0)/p * I) v

and keep the `dimension` largest lambda; each coordinate is scaled by its lambda. Without the ridge some
direction is always slow by accident. The dimension, where it is not given, is the number of coordinates whose
correlation time is at least one window length: lambda is their correlation at a lag of one step, so that is

    lambda >= exp(-step / length)

What changes faster than a window passes cannot tell one window from the next. C0 and C1 are taken after subtracting a
moving mean over half a span, so that drift, the slowest thing of all, does not win. (Slow feature analysis: Wiskott &
Sejnowski 2002.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.ndimage import uniform_filter1d

from rondo.arrays import check_shapes, leading_axes
from rondo.config.settings import SlowUnitsConfig, UnitsConfig
from rondo.data.windows import Span
from rondo.encoders.base import Curves

_FEWEST, _MOST = 3, 8  # dimensions that are chosen among; more fragment (docs/results/units.md)
_FEWEST_OF_FEW_CHANNELS = 5  # what tells them apart spreads over many directions, none of which stands out
_ROUNDING = 1e-12  # relative; far above what float64 loses, far below what matters


@dataclass(frozen=True, eq=False)
class SlowProjection:
    """z = (y - mean) @ matrix; `slowness` holds the lambda of each coordinate, largest first."""

    mean: NDArray[np.float64]  # (n_dims,)
    matrix: NDArray[np.float64]  # (n_dims, dimension)
    slowness: NDArray[np.float64]  # (dimension,)

    @property
    def curves(self) -> Curves:
        return {}  # nothing is trained

    def embed(self, representations: NDArray[np.floating]) -> NDArray[np.float64]:
        """The latents themselves: nothing lies between."""
        return self.apply(representations)

    def apply(self, representations: NDArray[np.floating]) -> NDArray[np.float64]:
        """Latents (n_windows, dimension)."""
        return np.asarray((representations - self.mean) @ self.matrix)

    def slowest(self, dimension: int) -> SlowProjection:
        """The first `dimension` coordinates of this projection."""
        return SlowProjection(self.mean, self.matrix[:, :dimension], self.slowness[:dimension])

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything learned, as arrays, for the model folder."""
        return {"mean": self.mean, "matrix": self.matrix, "slowness": self.slowness}

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> SlowProjection:
        """The projection that wrote these tensors."""
        check_shapes(tensors, {"mean": "d", "matrix": "d k", "slowness": "k"})
        return cls(*(np.asarray(tensors[name], np.float64) for name in ("mean", "matrix", "slowness")))


def restored_projection(tensors: Mapping[str, NDArray[np.generic]], config: UnitsConfig) -> SlowProjection:
    """The projection of a model folder; the settings do not change it."""
    return SlowProjection.restore(tensors)


def fit_slow(
    representations: NDArray[np.floating], spans: Sequence[Span], pca_dim: int, dimension: int, ridge: float
) -> SlowProjection:
    """Fit on representations (n_windows, n_dims); neighbours are counted inside `spans` (windows) only."""
    mean = representations.mean(axis=0, dtype=np.float64)
    centred = representations - mean
    n_windows, n_dims = centred.shape
    p = max(1, min(pca_dim, n_dims, n_windows // 5))
    axes = leading_axes(centred, p)
    q = centred @ axes
    steady = [_without_drift(q[a:b]) for a, b in spans]
    c0 = sum(piece.T @ piece for piece in steady) / n_windows
    c1 = sum(piece[:-1].T @ piece[1:] for piece in steady) / max(1, n_windows - len(steady))
    k = min(dimension, p)
    # Beside the ridge, what rounding leaves of a dependent dimension, and of a constant one, must not look slow.
    rounding = (_ROUNDING * np.abs(representations).max()) ** 2
    floor = (ridge + _ROUNDING) * np.trace(c0) / p + rounding or 1.0
    slowness, vectors = eigh((c1 + c1.T) / 2, c0 + floor * np.eye(p), subset_by_index=[p - k, p - 1])
    slowness, vectors = np.maximum(slowness[::-1], 0.0), vectors[:, ::-1]
    matrix = axes @ (vectors * slowness)
    signs = np.sign(matrix[np.abs(matrix).argmax(axis=0), np.arange(k)])
    return SlowProjection(mean, matrix * np.where(signs == 0, 1.0, signs), slowness)


def fit_slow_as_set(
    representations: NDArray[np.floating],
    spans: Sequence[Span],
    config: SlowUnitsConfig,
    step_share: float,
    *,
    few_channels: bool,
) -> SlowProjection:
    """Fit as the settings say; `few_channels`: so few that shapes count."""
    if config.dimension != "auto":
        return fit_slow(representations, spans, config.pca_dim, config.dimension, config.ridge)
    fewest = _FEWEST_OF_FEW_CHANNELS if few_channels else _FEWEST
    return fit_slow_enough(representations, spans, config.pca_dim, step_share, config.ridge, fewest)


def fit_slow_enough(
    representations: NDArray[np.floating],
    spans: Sequence[Span],
    pca_dim: int,
    step_share: float,
    ridge: float,
    fewest: int = _FEWEST,
) -> SlowProjection:
    """Fit with as many dimensions, `fewest` to 8, as are slow enough; `step_share` is a step in window lengths."""
    projection = fit_slow(representations, spans, pca_dim, _MOST, ridge)
    n_slow = int((projection.slowness >= math.exp(-step_share)).sum())
    return projection.slowest(max(fewest, n_slow))


def _without_drift(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """One span of coordinates minus its moving mean over half of it."""
    width = max(3, q.shape[0] // 2)
    steady = q - uniform_filter1d(q, width, axis=0, mode="nearest")
    return np.asarray(steady - steady.mean(axis=0))
