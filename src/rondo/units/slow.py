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

from rondo.arrays import Floats, check_shapes, leading_axes
from rondo.config.settings import SlowUnitsConfig, UnitsConfig
from rondo.data.windows import Span
from rondo.encoders.base import Curves

FEWEST, _MOST = 3, 8  # dimensions that are chosen among; more fragment (docs/results/units.md)
FEWEST_OF_FEW_CHANNELS = 5  # what tells them apart spreads over many directions, none of which stands out
_ROUNDING = 1e-12  # relative; far above what float64 loses, far below what matters


@dataclass(frozen=True, eq=False)
class SlowProjection:
    """z = (y - mean) @ matrix; `slowness` holds the lambda of each coordinate, largest first."""

    mean: Floats  # (n_dims,)
    matrix: Floats  # (n_dims, dimension)
    slowness: Floats  # (dimension,)

    @property
    def curves(self) -> Curves:
        return {}  # nothing is trained

    def apply(self, representations: NDArray[np.floating]) -> Floats:
        """Latents (n_windows, dimension)."""
        return np.asarray((representations - self.mean) @ self.matrix)

    embed = apply  # nothing lies between

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        return {"mean": self.mean, "matrix": self.matrix, "slowness": self.slowness}

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]], config: UnitsConfig | None = None) -> SlowProjection:
        """The projection that wrote these tensors; the settings do not change it."""
        check_shapes(tensors, {"mean": "d", "matrix": "d k", "slowness": "k"})
        return cls(*(np.asarray(tensors[name], np.float64) for name in ("mean", "matrix", "slowness")))


def fit_slow(
    representations: NDArray[np.floating],
    spans: Sequence[Span],
    config: SlowUnitsConfig,
    step_share: float,
    fewest: int = FEWEST,
) -> SlowProjection:
    """Fit on representations (n_windows, n_dims); neighbours are counted inside `spans` (windows) only.

    Unless the settings name a dimension, `fewest` to 8 are kept; `step_share` is a step in window lengths.
    """
    mean = representations.mean(axis=0, dtype=np.float64)
    centred = representations - mean
    n_windows, n_dims = centred.shape
    p = max(1, min(config.pca_dim, n_dims, n_windows // 5))
    axes = leading_axes(centred, p)
    q = centred @ axes
    steady = []
    for start, stop in spans:
        piece = q[start:stop]
        piece = piece - uniform_filter1d(piece, max(3, len(piece) // 2), axis=0, mode="nearest")
        steady.append(np.asarray(piece - piece.mean(axis=0)))
    c0 = sum(piece.T @ piece for piece in steady) / n_windows
    c1 = sum(piece[:-1].T @ piece[1:] for piece in steady) / max(1, n_windows - len(steady))
    k = min(_MOST if config.dimension == "auto" else config.dimension, p)
    # Beside the ridge, what rounding leaves of a dependent dimension, and of a constant one, must not look slow.
    rounding = (_ROUNDING * np.abs(representations).max()) ** 2
    floor = (config.ridge + _ROUNDING) * np.trace(c0) / p + rounding or 1.0
    slowness, vectors = eigh((c1 + c1.T) / 2, c0 + floor * np.eye(p), subset_by_index=[p - k, p - 1])
    slowness, vectors = np.maximum(slowness[::-1], 0.0), vectors[:, ::-1]
    matrix = axes @ (vectors * slowness)
    signs = np.sign(matrix[np.abs(matrix).argmax(axis=0), np.arange(k)])
    matrix = matrix * np.where(signs == 0, 1.0, signs)
    if config.dimension == "auto":
        k = max(fewest, int((slowness >= math.exp(-step_share)).sum()))
    return SlowProjection(mean, matrix[:, :k], slowness[:k])
