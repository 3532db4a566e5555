"""Novelty buffer: rejected windows, gathered in micro-clusters until they recur or are forgotten."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.continual.micro_cluster import MicroCluster
from rondo.continual.point_sets import Floats, PointSets

_REACH = 1.25  # radii; with 1, one known window in twenty is rejected, with 1.5 planted novelty is accepted
_KEPT = 48  # points of a micro-cluster
_MOST_CLUSTERS = 64  # the weakest is forgotten when one more opens: memory is bounded
_FORGOTTEN = 0.5  # support below which a micro-cluster expires


class Scales(NamedTuple):
    """How far and how long: `radius` in the encoder's space, the rest in windows."""

    radius: float
    half_life: float
    apart: int  # between two visits

    @property
    def reach(self) -> float:
        """How near a window must be to one that is known."""
        return _REACH * self.radius


class NoveltyBuffer:
    """Micro-clusters; the i-th of `clusters` has the i-th of `sets`."""

    def __init__(self, n_dims: int, scales: Scales) -> None:
        self.scales = scales
        self.clusters: list[MicroCluster] = []
        self.sets = PointSets(n_dims, _KEPT)
        self.next_id = 0

    def add(self, point: Floats, window: int, n_windows: int = 1) -> tuple[MicroCluster, list[MicroCluster]]:
        """Absorb a rejected window or open a micro-cluster for it; gives it, and those that expired.

        It counts for `n_windows`: those beside it, which hold a boundary too, are not filed themselves.
        """
        expired = self._expire(window)
        near = np.flatnonzero(self.sets.distances(point) <= self.scales.reach).tolist()
        for other in near[:0:-1]:  # a window within reach of several shows that they are one
            self._join(near[0], other)
        if near:
            index = near[0]
            half_life, apart = self.scales.half_life, self.scales.apart
            self.clusters[index] = self.clusters[index].visited(window, half_life, apart, n_windows)
            self.sets.see(index, point)
        else:
            if len(self.clusters) == _MOST_CLUSTERS:
                expired.append(self._remove(int(np.argmin(self._supports(window)))))
            index = len(self.clusters)
            self.clusters.append(MicroCluster.opened(self.next_id, window, n_windows))
            self.sets.add(self.next_id, [point])
            self.next_id += 1
        return self.clusters[index], expired

    def take(self, id: int) -> tuple[MicroCluster, Floats, int]:
        """Remove a micro-cluster; gives it, its points, and how many windows it has seen."""
        index = self.sets.ids.index(id)
        points, seen = self.sets.kept(index), self.sets.seen[index]
        return self._remove(index), points, seen

    def _supports(self, window: int) -> list[float]:
        return [cluster.support_at(window, self.scales.half_life) for cluster in self.clusters]

    def _expire(self, window: int) -> list[MicroCluster]:
        weak = [i for i, support in enumerate(self._supports(window)) if support < _FORGOTTEN]
        if weak:
            self.sets.remove(*weak)
        return [self.clusters.pop(index) for index in weak[::-1]][::-1]

    def _remove(self, index: int) -> MicroCluster:
        self.sets.remove(index)
        return self.clusters.pop(index)

    def _join(self, index: int, other: int) -> None:
        """`other`, the later one, becomes part of the one at `index`."""
        points = self.sets.kept(other)
        gone = self._remove(other)
        self.clusters[index] = self.clusters[index].joined(gone, self.scales.half_life)
        for point in points:
            self.sets.see(index, point)

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly."""
        tensors, sets = self.sets.state()
        clusters = [asdict(cluster) for cluster in self.clusters]
        return tensors, {"sets": sets, "clusters": clusters, "next_id": self.next_id, "scales": list(self.scales)}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[np.generic]], plain: dict[str, Any]) -> NoveltyBuffer:
        """The buffer that gave this state."""
        buffer = cls(plain["sets"]["n_dims"], Scales(*plain["scales"]))
        buffer.sets = PointSets.restore(tensors, plain["sets"])
        buffer.clusters = [MicroCluster(**own) for own in plain["clusters"]]
        buffer.next_id = plain["next_id"]
        return buffer
