"""DenStream: density-based clusters of a stream, from micro-clusters of bounded radius whose weights fade.

F. Cao, M. Ester, W. Qian, A. Zhou, "Density-Based Clustering over an Evolving Data Stream with Noise", SDM 2006.
Written from the paper. With f = 2^(−λ age) over the points of a micro-cluster,

    weight W = Σ f,   centre c = Σ f x / W,   radius² = Σ f ‖x − c‖² / W

A point joins the nearest potential micro-cluster if its radius stays within ε, else the nearest outlier one likewise,
else it founds an outlier one. An outlier micro-cluster of weight β μ becomes a potential one. Potential ones of weight
μ are the core points of DBSCAN: two are linked where their centres are no further apart than the sum of their radii,
which is at most the 2 ε that the paper also asks for. Every T_p = ⌈log2(β μ / (β μ − 1)) / λ⌉ points, potential
micro-clusters lighter than β μ go, and outliers lighter than ξ = (2^(−λ (age + T_p)) − 1) / (2^(−λ T_p) − 1). What the
paper leaves open, and our choice:

- It asks for clusters now and then. Here every label needs them, so they are kept up to date point by point.
- A potential micro-cluster that no core reaches is noise; one that several clusters reach goes with the oldest core.
- Points at the start that have too few neighbours to found a micro-cluster arrive in order, at the same instant.
- λ and ε follow the start of the stream (see `micro_clusters`). The paper has λ = 0.25 per 1,000 points.

river 0.26.1 differs, by defects that its issue tracker knows (radius, links, deletion, fading, T_p); it has no noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from pydantic import Field

from rondo.data.labels import Labels
from rondo.data.signal import Signal
from rondo.wording import Progress, silent
from rondo_bench.baselines.baseline import BaselineMethod
from rondo_bench.baselines.micro_clusters import Floats, Ids, Mask, StreamClusters, StreamSettings, label_stream


class DenStreamConfig(StreamSettings):
    """Settings of DenStream."""

    core_weight: float = Field(10.0, description="original: μ = 10, section 6.1", gt=0)
    potential_share: float = Field(0.2, description="original: β = 0.2, section 6.1", gt=0, le=1)


@dataclass(frozen=True)
class DenStream:
    config: DenStreamConfig = field(default_factory=DenStreamConfig)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """One cluster id for each frame, OTHER for noise; nothing is drawn from `rng`."""

        def begin(n_dims: int, radius: float, half_life: int) -> StreamClusters:
            return DenStreamClusters(n_dims, radius, half_life, self.config)

        return label_stream(signal, self.config, begin, progress)


class DenStreamClusters(StreamClusters):
    """The stream so far. Linked are potential micro-clusters only; strong are the core points of DBSCAN."""

    def __init__(self, n_dims: int, radius: float, half_life: int, config: DenStreamConfig) -> None:
        super().__init__(n_dims, radius, half_life, config.capacity)
        self.core_weight = config.core_weight
        self.potential_weight = config.potential_share * config.core_weight
        self.tidy_every = tidy_interval(self.potential_weight, half_life)
        self.scatter = np.zeros(config.capacity)  # Σ f ‖x − c‖²
        self.radii = np.zeros(config.capacity)
        self.births = np.zeros(config.capacity, dtype=np.int64)
        self.potential = np.zeros(config.capacity, dtype=np.bool_)

    def _columns(self) -> tuple[np.ndarray, ...]:
        return (*super()._columns(), self.scatter, self.radii, self.births, self.potential)

    def _fading(self) -> tuple[Floats, ...]:
        return (*super()._fading(), self.scatter)

    def _found(self, points: Floats) -> Ids:
        """For each point in turn that is in no micro-cluster: one of it and all such points within ε, if enough."""
        serials = np.full(len(points), -1, dtype=np.int64)
        for first in range(len(points)):
            if serials[first] >= 0:
                continue
            free = np.flatnonzero(serials < 0)
            near = free[np.square(points[free] - points[first]).sum(axis=1) <= self.radius**2]
            if near.size >= self.potential_weight:
                centre = points[near].mean(axis=0)
                row = self._found_one(centre, float(near.size), float(np.square(points[near] - centre).sum()))
                serials[near] = self.serials[row]
        for left in np.flatnonzero(serials < 0):
            serials[left] = self.serials[self._absorb(points[left])]
        return serials

    def _found_one(self, centre: Floats, weight: float, scatter: float) -> int:
        row = self._add(centre, weight)
        self.scatter[row], self.births[row], self.potential[row] = scatter, self.time, False
        self.radii[row] = math.sqrt(scatter / weight)
        self._settle(row)
        return row

    def _absorb(self, point: Floats) -> int:
        """Join the nearest potential micro-cluster, or the nearest outlier, or found one.

        With u the count of the point and d its distance to the centre: W' = W + u, scatter' = scatter + W u d² / W'.
        """
        squared, unit = self._squared_distances(point), self.unit
        potential = self.potential[: self.n_rows]
        for group in (potential, ~potential):
            if not group.any():
                continue
            row = int(np.where(group, squared, np.inf).argmin())
            weight = self.weights[row] + unit
            scatter = self.scatter[row] + self.weights[row] * unit / weight * squared[row]
            if scatter <= self.radius**2 * weight:
                self.centres[row] += (unit / weight) * (point - self.centres[row])
                self.weights[row], self.scatter[row] = weight, scatter
                self.radii[row] = math.sqrt(scatter / weight)
                self._settle(row)
                return row
        return self._found_one(point, unit, 0.0)

    def _settle(self, row: int) -> None:
        """After a row has changed: is it potential by now, and which others does it meet?"""
        self.potential[row] |= self.weights[row] >= self.potential_weight * self.unit
        if self.potential[row]:
            reach = self.radii[row] + self.radii[: self.n_rows]
            meets = self.potential[: self.n_rows] & (self._squared_distances(self.centres[row]) <= reach**2)
            self._link(np.array([row]), meets[None, :])

    def _strong_rows(self) -> Mask:
        n = self.n_rows
        return np.asarray(self.potential[:n] & (self.weights[:n] >= self.core_weight * self.unit))

    def _border_rows(self) -> Mask:
        return self.potential[: self.n_rows]

    def _end_step(self) -> None:
        if self.tidy_every and self.time % self.tidy_every == 0:
            n = self.n_rows
            floors = outlier_floor(self.time - self.births[:n], self.tidy_every, self.half_life)
            self._keep(self.faded_weights >= np.where(self.potential[:n], self.potential_weight, floors))
        self._tick()


def tidy_interval(potential_weight: float, half_life: int) -> int:
    """T_p, in which a micro-cluster of weight β μ fades by 1; 0, for never, where β μ is at most 1."""
    if potential_weight <= 1:  # each point is a potential micro-cluster then: nothing is noise
        return 0
    return math.ceil(half_life * math.log2(potential_weight / (potential_weight - 1)))


def outlier_floor(ages: Ids, interval: int, half_life: int) -> Floats:
    """ξ, the weight of a micro-cluster that got a point at birth and one every T_p since; exactly 1 at birth.

    The formula of the paper, written as ξ = 1 + (1 − 2^(−λ age)) 2^(−λ T_p) / (1 − 2^(−λ T_p)), so that a newborn one
    does not go because of a rounding.
    """
    left = 2.0 ** (-interval / half_life)
    return np.asarray(1 + (1 - 2.0 ** (-ages / half_life)) * left / (1 - left))


METHOD = BaselineMethod("denstream", DenStream, "DenStream: density-based clusters of a stream of windows")
