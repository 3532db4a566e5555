"""DBSTREAM: clusters of a stream from micro-clusters that share points, and so have no gap between them.

M. Hahsler, M. Bolaños, "Clustering Data Streams Based on Shared Density between Micro-Clusters", IEEE TKDE 28(6), 2016.
Written from the paper. A point counts for all micro-clusters whose centres lie within r: their weights w fade and grow
by one, so does the shared density s of each pair of them, and their centres move towards the point by

    c ← c + exp(−‖x − c‖² / (2 (r / 3)²)) (x − c)

Pairs that would come closer than r stay where they were. A point that no centre is near founds a micro-cluster. Every
gap time, micro-clusters lighter than 2^(−λ gap) go, and shared densities below α times that. Two micro-clusters of
weight w_min are linked where s_ij / ((w_i + w_j) / 2) > α. What the paper leaves open, and our choice:

- The label of a point is the cluster of the nearest micro-cluster within r that has weight w_min; without one, OTHER.
- The gap time is the half-life, as in the authors' R package (gap 1,000 and λ 0.001), so that weight 1/2 is too light.
- λ and r follow the start of the stream (see `micro_clusters`), whose points all count in full.

river 0.26.1 has the same micro-clusters, weights and shared densities, to rounding (there is a test). It differs in
the clusters: it compares weights and densities of different ages, neither faded to now, it gives every point the
cluster with the nearest mean, so that nothing is noise, and its cluster ids change from call to call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from pydantic import Field

from rondo.data.labels import Labels
from rondo.data.signal import Signal
from rondo.wording import Progress, silent
from rondo_bench.baselines.baseline import BaselineMethod
from rondo_bench.baselines.micro_clusters import Floats, Ids, Mask, StreamClusters, StreamSettings, label_stream


class DBStreamConfig(StreamSettings):
    """Settings of DBSTREAM."""

    minimum_weight: float = Field(3.0, description="original: Cm = 3 in the authors' R package stream", gt=0)
    shared_share: float = Field(0.1, description="original: α = 0.1 in the authors' R package stream", ge=0, lt=1)


@dataclass(frozen=True)
class DBStream:
    config: DBStreamConfig = field(default_factory=DBStreamConfig)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """One cluster id for each frame, OTHER for noise; nothing is drawn from `rng`."""

        def begin(n_dims: int, radius: float, half_life: int) -> StreamClusters:
            return DBStreamClusters(n_dims, radius, half_life, self.config)

        return label_stream(signal, self.config, begin, progress)


class DBStreamClusters(StreamClusters):
    """The stream so far. Strong are micro-clusters of weight w_min."""

    def __init__(self, n_dims: int, radius: float, half_life: int, config: DBStreamConfig) -> None:
        super().__init__(n_dims, radius, half_life, config.capacity)
        self.minimum_weight = config.minimum_weight
        self.shared_share = config.shared_share
        self.shared = np.zeros((config.capacity, config.capacity))

    def _squares(self) -> tuple[np.ndarray, ...]:
        return (*super()._squares(), self.shared)

    def _fading(self) -> tuple[Floats, ...]:
        return (*super()._fading(), self.shared)

    def _found(self, points: Floats) -> Ids:
        return np.array([self.serials[self._absorb(point)] for point in points], dtype=np.int64)

    def _absorb(self, point: Floats) -> int:
        squared = self._squared_distances(point)
        near = np.flatnonzero(squared < self.radius**2)
        if not near.size:
            return self._add(point, self.unit)
        self.weights[near] += self.unit
        if near.size > 1:
            self.shared[np.ix_(near, near)] += self.unit * ~np.eye(near.size, dtype=np.bool_)
        self._move(near, point, squared[near])
        self._relink(near)
        speakers = near[self.weights[near] >= self.minimum_weight * self.unit]
        speakers = speakers if speakers.size else near
        return int(speakers[squared[speakers].argmin()])

    def _move(self, near: Ids, point: Floats, squared: Floats) -> None:
        """Centres go towards the point, except for pairs, taken in order, that would come closer than r."""
        before = self.centres[near]
        moved = before + np.exp(-4.5 * squared / self.radius**2)[:, None] * (point - before)
        for one, other in combinations(range(near.size), 2):
            if np.square(moved[one] - moved[other]).sum() < self.radius**2:
                moved[one], moved[other] = before[one], before[other]
        self.centres[near] = moved

    def _relink(self, rows: Ids) -> None:
        """Links of these rows; only ratios count, and so no fading."""
        weights = self.weights[: self.n_rows]
        linked = self.shared[rows, : self.n_rows] > self.shared_share / 2 * (weights[rows, None] + weights)
        self._link(rows, linked)

    def _strong_rows(self) -> Mask:
        return np.asarray(self.weights[: self.n_rows] >= self.minimum_weight * self.unit)

    def _border_rows(self) -> Mask:
        return np.zeros(self.n_rows, dtype=np.bool_)

    def _end_step(self) -> None:
        self._tick()
        if self.time % self.half_life == 0:
            self._keep(self.faded_weights >= 0.5)
            shared = self.shared[: self.n_rows, : self.n_rows]  # as of now: a half-life has just passed
            shared[shared < self.shared_share * 0.5] = 0.0  # too little for a link at any weight that is left


METHOD = BaselineMethod(
    "dbstream", DBStream, "DBSTREAM: micro-clusters of a stream of windows and the density between them"
)
