"""Micro-clusters of rejected points in a latent space, and how a vocabulary takes them in.

A rejected point is absorbed by the micro-cluster with the nearest prototype within the radius, or opens one (paper,
app. Continual Update). The radius is the *bootstrap NN-distance P95*: of a sample of points, drawn with replacement
20 times, the mean of the 95 % quantiles of the distance to the nearest other point of the draw. Supports decay.

Before a candidate becomes a unit it is *consolidated*: what stays is its coherent part, the points within the radius
of their own mean, found by starting at the point with the smallest sum of distances to the others and repeating.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags, Floats, Tensors, owned, owned_by
from rondo.config.settings import ContinualConfig
from rondo.continual.novelty import MicroCluster, PointSets
from rondo.paper.latent_entries import LatentEntries

_KEPT = 48  # points of a micro-cluster
_MOST_CLUSTERS = 64  # the weakest is forgotten when one more opens: memory is bounded
_FORGOTTEN = 0.5  # support below which a micro-cluster expires
_DRAWS = 20  # of the bootstrap
_MOST_DRAWN = 1024  # points: their distances are a table of 8 MB
_QUANTILE = 0.95  # paper: Table Continual update
_ROUNDS = 20  # of consolidation; it is stable after two or three


class MicroClusters:
    """The i-th of `clusters` has the i-th of `sets` and the i-th prototype.

    A point may carry more numbers than it is compared by: only the first `n_dims` are distances.
    """

    def __init__(self, n_dims: int, n_carried: int, radius: float, half_life: float, apart: int) -> None:
        self.n_dims, self.radius, self.half_life, self.apart = n_dims, radius, half_life, apart
        self.clusters: list[MicroCluster] = []
        self.sets = PointSets(n_dims + n_carried, _KEPT)
        self.prototypes: list[Floats] = []
        self.next_id = 0

    @property
    def n_points(self) -> int:
        """Points that it has seen and not given up."""
        return sum(self.sets.seen)

    def add(self, point: Floats, window: int) -> tuple[MicroCluster, list[MicroCluster]]:
        """Absorb a rejected point, or open a micro-cluster for it; gives it, and those that expired."""
        expired = self._expire(window)
        index = self._nearest(point)
        if index is None:
            if len(self.clusters) == _MOST_CLUSTERS:
                expired.append(self._remove(int(np.argmin(self.supports(window)))))
            self.clusters.append(MicroCluster.opened(self.next_id, window))
            self.sets.add(self.next_id, [point])
            self.prototypes.append(np.array(point, np.float64))
            self.next_id += 1
            return self.clusters[-1], expired
        self.clusters[index] = self.clusters[index].visited(window, self.half_life, self.apart)
        self.sets.see(index, point)
        self.prototypes[index] = self.prototypes[index] + (point - self.prototypes[index]) / self.sets.seen[index]
        return self.clusters[index], expired

    def supports(self, window: int) -> list[float]:
        return [cluster.support_at(window, self.half_life) for cluster in self.clusters]

    def points(self, id: int) -> Floats:
        """The points of a micro-cluster that are kept, (n, n_dims + n_carried)."""
        return self.sets.kept(self.sets.ids.index(id))

    def consolidate(self, id: int) -> MicroCluster:
        """Keep the coherent part of a micro-cluster; its support is that part of what it was."""
        index = self.sets.ids.index(id)
        points, seen = self.sets.kept(index), self.sets.seen[index]
        inside = coherent(points[:, : self.n_dims], self.radius)
        if inside.all():
            return self.clusters[index]
        share, cluster = float(inside.mean()), self.clusters[index]
        self._remove(index)
        self.clusters.append(replace(cluster, support=cluster.support * share))
        self.sets.add(id, list(points[inside]), max(1, round(seen * share)))
        self.prototypes.append(np.asarray(points[inside].mean(axis=0)))
        return self.clusters[-1]

    def take(self, id: int) -> tuple[Floats, int]:
        """Remove a micro-cluster; gives its points and how many it has seen."""
        index = self.sets.ids.index(id)
        points, seen = self.sets.kept(index), self.sets.seen[index]
        self._remove(index)
        return points, seen

    def _nearest(self, point: Floats) -> int | None:
        if not self.prototypes:
            return None
        gaps = np.stack(self.prototypes)[:, : self.n_dims] - point[: self.n_dims]
        distances = np.sqrt(np.square(gaps).sum(axis=1))
        index = int(distances.argmin())
        return index if distances[index] <= self.radius else None

    def _expire(self, window: int) -> list[MicroCluster]:
        weak = [i for i, support in enumerate(self.supports(window)) if support < _FORGOTTEN]
        return [self._remove(index) for index in weak[::-1]][::-1]

    def _remove(self, index: int) -> MicroCluster:
        self.sets.remove(index)
        self.prototypes.pop(index)
        return self.clusters.pop(index)

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        sets, about = self.sets.state()
        prototypes = np.array(self.prototypes, np.float64).reshape(-1, self.sets.points.shape[2])
        return owned("sets", sets) | {"prototypes": prototypes}, {
            "sets": about,
            "n_dims": self.n_dims,
            "scales": [self.radius, self.half_life, self.apart],
            "clusters": [asdict(cluster) for cluster in self.clusters],
            "next_id": self.next_id,
        }

    @classmethod
    def restore(cls, tensors: Tensors, plain: Mapping[str, Any]) -> MicroClusters:
        n_dims = plain["n_dims"]
        own = cls(n_dims, plain["sets"]["n_dims"] - n_dims, *plain["scales"])
        own.sets = PointSets.restore(owned_by("sets", tensors), plain["sets"])
        own.prototypes = list(np.array(tensors["prototypes"], np.float64))
        own.clusters = [MicroCluster(**cluster) for cluster in plain["clusters"]]
        own.next_id = plain["next_id"]
        if not len(own.sets) == len(own.prototypes) == len(own.clusters):
            raise ValueError(f"{len(own.clusters)} micro-clusters with {len(own.prototypes)} prototypes")
        return own


def bootstrap_radius(points: Floats) -> float:
    """P95 of the distance to the nearest other point, mean over 20 draws with replacement; 0 for fewer than 2 points.

    Copies of one point in a draw are that point; points that coincide are neighbours at distance 0.
    """
    if len(points) < 2:
        return 0.0
    rows = points[np.linspace(0, len(points) - 1, min(len(points), _MOST_DRAWN)).astype(np.int64)]
    squares = np.square(rows).sum(axis=1)
    table = np.sqrt(np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0.0))
    np.fill_diagonal(table, np.inf)
    rng = np.random.default_rng(0)  # always the same draws: nothing about a stream is random
    found = []
    for _ in range(_DRAWS):
        drawn = np.unique(rng.integers(len(rows), size=len(rows)))
        if drawn.size > 1:
            found.append(float(np.quantile(table[np.ix_(drawn, drawn)].min(axis=1), _QUANTILE)))
    return float(np.mean(found)) if found else float(table[np.isfinite(table)].max())


def coherent(points: Floats, radius: float) -> Flags:
    """Which points (n, n_dims) lie within the radius of the mean of those that do."""
    squares = np.square(points).sum(axis=1)
    table = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0.0))
    middle = points[int(table.sum(axis=1).argmin())]
    inside = np.zeros(len(points), np.bool_)
    for _ in range(_ROUNDS):
        now = np.sqrt(np.square(points - middle).sum(axis=1)) <= radius
        if not now.any() or (now == inside).all():
            break
        inside, middle = now, points[now].mean(axis=0)
    return inside if inside.any() else np.asarray(np.arange(len(points)) == int(table.sum(axis=1).argmin()))


State = tuple[dict[str, NDArray[np.generic]], dict[str, Any]]
"""What a part of a stream has learned: tensors, and the rest as JSON."""
_REFINED_PER_EVENT = 64  # accepted points before the journal says so


class Stateful(Protocol):
    def state(self) -> State: ...


def states_of(**parts: Stateful) -> State:
    """The states of several parts as one, under their names."""
    tensors: dict[str, NDArray[np.generic]] = {}
    plain: dict[str, Any] = {}
    for name, part in parts.items():
        learned, plain[name] = part.state()
        tensors |= owned(name, learned)
    return tensors, plain


class Settled(NamedTuple):
    """What became of a persistent micro-cluster."""

    kind: Literal["merge", "promote"]
    id: int  # of the entry
    distance: float  # to the nearest entry there was, in its radii
    points: Floats  # (n, n_dims + n_carried)


class LatentVocabulary:
    """The entries of one level and the micro-clusters of what they reject."""

    def __init__(self, entries: LatentEntries, novel: MicroClusters, config: ContinualConfig) -> None:
        self.entries, self.novel, self.config = entries, novel, config

    def refine(self, index: int, latent: Floats, r: float, *, accepted: bool) -> dict[str, float | int | str] | None:
        """One more member of an entry, if it is near enough; what the journal says of it, at every 64th accepted."""
        if r <= self.config.merge_radius_factor:
            self.entries.see(index, latent)
        if not accepted:
            return None
        self.entries.accept(index, latent)
        n = self.entries.accepted[index]
        return None if n % _REFINED_PER_EVENT else {"refined": n, "radius": float(self.entries.radii[index])}

    def settle(self, cluster: MicroCluster, fresh_id: int) -> Settled:
        """A micro-cluster becomes part of the nearest entry where that is near enough, else an entry."""
        rows, seen = self.novel.take(cluster.id)
        points = rows[:, : self.novel.n_dims]
        judged = self.entries.judge(points.mean(axis=0))
        nearest = judged.nearest
        distance = float(judged.r[nearest])
        if distance <= self.config.merge_radius_factor:
            self.entries.merge(nearest, points)
            return Settled("merge", self.entries.ids[nearest], distance, rows)
        self.entries.add(fresh_id, points, seen)
        return Settled("promote", fresh_id, distance, rows)

    def load(self, tensors: Tensors, plain: Mapping[str, Any]) -> None:
        """Go on from the states of `entries` and `novel`."""
        n_dims = self.entries.n_dims
        self.entries = LatentEntries.restore(owned_by("entries", tensors), plain["entries"])
        self.novel = MicroClusters.restore(owned_by("novel", tensors), plain["novel"])
        if not n_dims == self.entries.n_dims == self.novel.n_dims:
            raise ValueError(f"entries in {self.entries.n_dims} dimensions, expected {n_dims}")
