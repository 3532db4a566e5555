"""Exemplars: a few windows of every unit as they are, before any projection, with which a stream is compared.

The slow projection keeps what tells the known units apart. What is new may differ from them in everything else, and
then lies inside a known unit's radius: of planted new windows half do (benchmarks/studies.py). In the encoder's
own space it lies further from every known window than known windows lie from each other. The yardstick for that is

    radius = P95 over windows of the distance to the nearest window that shares no frame with it

(the paper's micro-cluster radius, "bootstrap NN-distance P95").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import Labels
from rondo.data.windows import Span
from rondo.errors import ModelError

_PER_UNIT = 64
_MOST_COMPARED = 2000  # windows, in one stretch per span, from which the reach is taken: their distances are a table
_ROWS = 2048  # windows compared with exemplars at a time
_RADIUS_QUANTILE = 0.95  # paper: Table Continual update


@dataclass(frozen=True, eq=False)
class Exemplars:
    """Representations of some windows of each unit, and how far apart windows are."""

    points: NDArray[np.float32]  # (n_exemplars, n_dims), grouped by unit
    units: NDArray[np.int64]  # (n_exemplars,), ascending
    supports: NDArray[np.int64]  # (n_units,), windows that each unit had, in the order of their ids
    radius: float
    step: float  # median distance between consecutive windows

    def strangeness(self, representations: NDArray[np.floating]) -> NDArray[np.float64]:
        """Distance of each window (n_windows, n_dims) to the nearest exemplar, in radii."""
        if self.radius <= 0:
            return np.zeros(len(representations))
        norms = np.square(self.points).sum(axis=1)
        nearest = np.empty(len(representations), np.int64)
        for first in range(0, len(representations), _ROWS):
            rows = slice(first, first + _ROWS)
            nearest[rows] = (norms - 2 * representations[rows].astype(np.float32) @ self.points.T).argmin(axis=1)
        gaps = representations - self.points[nearest]
        return np.asarray(np.sqrt(np.square(gaps, dtype=np.float64).sum(axis=1)) / self.radius)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything, as arrays, for the model folder."""
        scales = np.array([self.radius, self.step])
        return {"points": self.points, "units": self.units, "supports": self.supports, "scales": scales}

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> Exemplars:
        """The exemplars that wrote these tensors."""
        try:
            points, units = np.asarray(tensors["points"], np.float32), np.asarray(tensors["units"], np.int64)
            supports = np.asarray(tensors["supports"], np.int64)
            radius, step = np.asarray(tensors["scales"], np.float64).tolist()
        except (KeyError, ValueError) as error:
            raise ModelError(f"the exemplars are not complete ({error}); fit and save the model again") from None
        if points.ndim != 2 or units.shape != points.shape[:1] or supports.shape != np.unique(units).shape:
            raise ModelError(f"exemplars {points.shape} of units {units.shape}; fit and save the model again")
        if (supports < 1).any() or not (radius >= 0 and step >= 0):
            least = int(supports.min(initial=1))
            raise ModelError(
                f"exemplars with a support of {least}, a radius of {radius:g} and a step of {step:g}, expected at "
                "least one window each and no negative distance; fit and save the model again"
            )
        return cls(points, units, supports, radius, step)


def fit_exemplars(
    representations: NDArray[np.float32], units: Labels, spans: Sequence[Span], exclude: int
) -> Exemplars:
    """Evenly spread windows of each unit; windows up to `exclude` apart within a span share frames."""
    ids, supports = np.unique(units, return_counts=True)
    chosen = np.concatenate([_evenly(np.flatnonzero(units == id), _PER_UNIT) for id in ids])
    steps = [np.linalg.norm(np.diff(representations[a:b], axis=0), axis=1) for a, b in spans]
    step = float(np.median(np.concatenate(steps))) if sum(map(len, steps)) else 0.0
    return Exemplars(
        np.ascontiguousarray(representations[chosen], np.float32),
        units[chosen].astype(np.int64),
        supports.astype(np.int64),
        _radius(representations, spans, exclude),
        step,
    )


def _evenly(rows: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    return rows if rows.size <= n else rows[np.linspace(0, rows.size - 1, n).astype(np.int64)]


def _radius(representations: NDArray[np.float32], spans: Sequence[Span], exclude: int) -> float:
    """Where no two windows are without a common frame, the largest distance there is."""
    share = _MOST_COMPARED / max(_MOST_COMPARED, len(representations))
    rows, places, at = [], [], 0
    for start, stop in spans:
        own = np.arange(start, start + max(1, int(share * (stop - start))))
        rows.append(own)
        places.append(own - start + at)
        at = int(places[-1][-1]) + exclude + 1
    points, place = representations[np.concatenate(rows)].astype(np.float64), np.concatenate(places)
    squares = (points**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0.0))
    apart = np.abs(place[:, None] - place) > exclude
    nearest = np.where(apart, distances, np.inf).min(axis=1)
    found = nearest[np.isfinite(nearest)]
    return float(np.quantile(found, _RADIUS_QUANTILE)) if found.size else float(distances.max())
