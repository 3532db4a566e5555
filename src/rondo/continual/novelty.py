"""Novelty: unexplained windows, gathered in micro-clusters until they recur and become a unit, or are forgotten.

Point sets: every vocabulary entry, and every micro-cluster, as a bounded set of the windows it has seen.

A window belongs to the set that holds the point nearest to it. Sets grow up to a capacity; from then on a new point
takes the place of an old one with the probability that keeps the set a fair sample of all it has seen (reservoir
sampling, Vitter 1985), the draw being a hash of how many there were: no random state has to be kept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats as Floats
from rondo.config.settings import ContinualConfig

_REACH = 1.25  # radii; with 1, one known window in twenty is rejected, with 1.5 planted novelty is accepted
_KEPT = 48  # points of a micro-cluster
MOST_CLUSTERS = 64  # the weakest is forgotten when one more opens: memory is bounded
_FORGOTTEN = 0.5  # support below which a micro-cluster expires


@dataclass(frozen=True)
class MicroCluster:
    """Times are window numbers. Support counts windows and decays by half every `half_life` of them.

    A region is a visit: windows that follow one another with less than `apart` windows between them.
    """

    id: int
    support: float
    first: int
    last: int
    regions: int

    @classmethod
    def opened(cls, id: int, window: int, n_windows: int = 1) -> MicroCluster:
        return cls(id, float(n_windows), window, window, 1)

    def evidence(self) -> dict[str, float | int | str]:
        return {
            "micro_cluster": self.id,
            "support": self.support,
            "regions": self.regions,
            "extent_windows": self.extent,
            "first_window": self.first,
        }

    def support_at(self, window: int, half_life: float) -> float:
        return float(self.support * 0.5 ** ((window - self.last) / half_life))

    def visited(
        self, window: int, half_life: float, apart: int, n_windows: int = 1, first: int | None = None
    ) -> MicroCluster:
        """After one more visit, which counts for `n_windows` and lasts from `first` to this window."""
        new_region = (window if first is None else first) - self.last > apart
        support = self.support_at(window, half_life) + n_windows
        return replace(self, support=support, last=window, regions=self.regions + new_region)

    def joined(self, other: MicroCluster, half_life: float) -> MicroCluster:
        """Both as one, under the older id; regions that coincide are counted once at least."""
        last = max(self.last, other.last)
        support = self.support_at(last, half_life) + other.support_at(last, half_life)
        first, regions = min(self.first, other.first), max(self.regions, other.regions)
        return MicroCluster(min(self.id, other.id), support, first, last, regions)

    @property
    def extent(self) -> int:
        return self.last - self.first + 1


class PointSets:
    """Sets in the order in which they were added, each with its id."""

    def __init__(self, n_dims: int, capacity: int) -> None:
        self.capacity = capacity
        self.ids: list[int] = []
        self.seen: list[int] = []  # points that each set has seen, kept or not
        self.points: Floats = np.zeros((0, capacity, n_dims))
        self.squares: Floats = np.zeros((0, capacity))  # squared norms; infinite where no point is
        self._room = self.points, self.squares  # which both are the beginning of: a set more is seldom a copy of all

    def __len__(self) -> int:
        return len(self.ids)

    def distances(self, point: Floats) -> Floats:
        """From each set's nearest point, (n_sets,)."""
        if not self.ids:
            return np.zeros(0)
        squares = (self.points.reshape(-1, point.size) @ point).reshape(self.squares.shape)
        squares *= -2
        squares += self.squares
        return np.asarray(np.sqrt(np.maximum(squares.min(axis=1) + point @ point, 0.0)))

    def add(self, id: int, points: Sequence[Floats] | Floats, seen: int | None = None) -> None:
        """A new set of points; `seen` where it stands for more than are kept."""
        self.ids.append(id)
        self.seen.append(0)
        self._resize(len(self.ids))
        self.points[-1], self.squares[-1] = 0.0, np.inf
        for point in points:
            self.see(len(self.ids) - 1, np.asarray(point, np.float64))
        if seen is not None:
            self.seen[-1] = max(seen, len(points))

    def see(self, index: int, point: Floats) -> None:
        """Show a point to a set, which keeps it or does not."""
        n_before = self.seen[index]
        self.seen[index] = n_before + 1
        place = n_before if n_before < self.capacity else _hashed(n_before) % (n_before + 1)
        if place < self.capacity:
            self.points[index, place] = point
            self.squares[index, place] = point @ point

    def move(self, moved: Callable[[Floats], Floats]) -> None:
        """Every point lies elsewhere."""
        filled = np.isfinite(self.squares)
        self.points[filled] = moved(self.points[filled])
        self.squares[filled] = np.square(self.points[filled]).sum(axis=1)

    def remove(self, *indices: int) -> None:
        """Forget sets; those that stay close up, in their order."""
        kept = [index for index in range(len(self.ids)) if index not in indices]
        for place, index in enumerate(kept):
            if place < index:
                self.points[place], self.squares[place] = self.points[index], self.squares[index]
        self.ids, self.seen = [self.ids[index] for index in kept], [self.seen[index] for index in kept]
        self._resize(len(kept))

    def _resize(self, n_sets: int) -> None:
        """Room for that many sets; twice as much as there was, where it does not suffice."""
        points, squares = self._room
        if n_sets > len(points):
            room = max(n_sets, 2 * len(points))
            points, squares = np.zeros((room, *points.shape[1:])), np.zeros((room, self.capacity))
            points[: len(self.points)], squares[: len(self.squares)] = self.points, self.squares
            self._room = points, squares
        self.points, self.squares = points[:n_sets], squares[:n_sets]

    def kept(self, index: int) -> Floats:
        return np.asarray(self.points[index, np.isfinite(self.squares[index])])

    def prototype(self, index: int) -> Floats:
        return np.asarray(self.kept(index).mean(axis=0))

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        filled = np.isfinite(self.squares)
        return (
            {"points": self.points[filled], "filled": filled.astype(np.uint8)},
            {"ids": list(self.ids), "seen": list(self.seen), "n_dims": self.points.shape[2], "capacity": self.capacity},
        )

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[np.generic]], plain: dict[str, Any]) -> PointSets:
        sets = cls(plain["n_dims"], plain["capacity"])
        filled = np.asarray(tensors["filled"], np.bool_)
        sets.ids, sets.seen = list(plain["ids"]), list(plain["seen"])
        sets._resize(len(filled))
        sets.points[filled] = np.asarray(tensors["points"], np.float64)
        sets.squares[:] = np.inf
        for place in np.argwhere(filled):
            own = sets.points[tuple(place)]
            sets.squares[tuple(place)] = own @ own
        return sets


def _hashed(number: int) -> int:
    """splitmix64: a number that looks random, the same every time."""
    z = (number * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return z ^ (z >> 31)


class Scales(NamedTuple):
    """How far and how long: `radius` in the encoder's space, the rest in windows."""

    radius: float
    half_life: float
    apart: int  # between two visits

    @property
    def reach(self) -> float:
        """How near a window must be to one that is known."""
        return _REACH * self.radius


class ClusterBuffer(ABC):
    """Micro-clusters of what nothing explains; a subclass keeps what each has gathered, in the same order."""

    def __init__(self, half_life: float, apart: int) -> None:
        self.half_life, self.apart = half_life, apart
        self.clusters: list[MicroCluster] = []
        self.next_id = 0

    @abstractmethod
    def drop(self, indices: Sequence[int]) -> None:
        """Forget what the micro-clusters at these indices have gathered."""

    def supports(self, window: int) -> list[float]:
        return [cluster.support_at(window, self.half_life) for cluster in self.clusters]

    def remove(self, indices: Sequence[int]) -> list[MicroCluster]:
        gone = [self.clusters[index] for index in indices]
        self.clusters = [cluster for index, cluster in enumerate(self.clusters) if index not in indices]
        self.drop(indices)
        return gone

    def expire(self, window: int) -> list[MicroCluster]:
        """Give up those whose support has decayed."""
        weak = [i for i, support in enumerate(self.supports(window)) if support < _FORGOTTEN]
        return self.remove(weak) if weak else []

    def open(self, first: int, last: int, n_windows: int) -> list[MicroCluster]:
        """One micro-cluster more, the last; gives the one that made room for it, if there were too many."""
        is_full = len(self.clusters) == MOST_CLUSTERS
        gone = self.remove([int(np.argmin(self.supports(first)))]) if is_full else []
        self.clusters.append(MicroCluster(self.next_id, float(n_windows), first, last, 1))
        self.next_id += 1
        return gone

    def visit(self, index: int, first: int, last: int, n_windows: int) -> None:
        self.clusters[index] = self.clusters[index].visited(last, self.half_life, self.apart, n_windows, first)

    def plain(self) -> dict[str, Any]:
        return {"clusters": [asdict(cluster) for cluster in self.clusters], "next_id": self.next_id}

    def load(self, plain: Mapping[str, Any]) -> None:
        self.clusters, self.next_id = [MicroCluster(**cluster) for cluster in plain["clusters"]], plain["next_id"]


class NoveltyBuffer(ClusterBuffer):
    """Unexplained windows; the i-th of `clusters` has the i-th of `sets`."""

    def __init__(self, n_dims: int, scales: Scales) -> None:
        super().__init__(scales.half_life, scales.apart)
        self.scales, self.sets = scales, PointSets(n_dims, _KEPT)

    def drop(self, indices: Sequence[int]) -> None:
        self.sets.remove(*indices)

    def add(self, point: Floats, window: int, n_windows: int = 1) -> tuple[MicroCluster, list[MicroCluster]]:
        """Absorb a rejected window or open a micro-cluster for it; gives it, and those that expired.

        It counts for `n_windows`: those beside it, which hold a boundary too, are not filed themselves.
        """
        expired = self.expire(window)
        near = np.flatnonzero(self.sets.distances(point) <= self.scales.reach).tolist()
        for other in near[:0:-1]:  # a window within reach of several shows that they are one
            points = self.sets.kept(other)
            (gone,) = self.remove([other])
            self.clusters[near[0]] = self.clusters[near[0]].joined(gone, self.half_life)
            for own in points:
                self.sets.see(near[0], own)
        if near:
            self.visit(near[0], window, window, n_windows)
            self.sets.see(near[0], point)
            return self.clusters[near[0]], expired
        expired += self.open(window, window, n_windows)
        self.sets.add(self.clusters[-1].id, [point])
        return self.clusters[-1], expired

    def take(self, id: int) -> tuple[Floats, int]:
        """Remove a micro-cluster; gives its points, and how many windows it has seen."""
        index = self.sets.ids.index(id)
        points, seen = self.sets.kept(index), self.sets.seen[index]
        self.remove([index])
        return points, seen

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        tensors, sets = self.sets.state()
        return tensors, {"sets": sets, **self.plain(), "scales": list(self.scales)}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[np.generic]], plain: dict[str, Any]) -> NoveltyBuffer:
        buffer = cls(plain["sets"]["n_dims"], Scales(*plain["scales"]))
        buffer.sets = PointSets.restore(tensors, plain["sets"])
        buffer.load(plain)
        return buffer


def is_eligible(cluster: MicroCluster, supports: Sequence[float], config: ContinualConfig) -> bool:
    """It came back often enough, its visits lie far enough apart, and it has support beside the others: no burst.

    The least support is max(8, Q0.25) of the supports of the micro-clusters there are (paper: Table Continual update).
    """
    if cluster.regions < config.min_regions or cluster.extent < config.min_extent:
        return False  # nearly always: the quantile is not asked for then
    quantile = float(np.quantile(supports, config.support_quantile)) if len(supports) else 0.0
    return cluster.support >= max(float(config.min_support), quantile)


def compatible_entry(
    points: Floats, entries: PointSets, radius: float, config: ContinualConfig
) -> tuple[int | None, float]:
    """The entry within 1.25 times `radius` of most of these points, if there is one, and how far the nearest is.

    The paper compares prototypes. The mean of windows that were all rejected may lie among known ones: of 12 planted
    new units two were lost that way.
    """
    distances = np.median([entries.distances(point) for point in points], axis=0)
    if not distances.size:
        return None, math.inf
    nearest = int(distances.argmin())
    far = float(distances[nearest])
    return (nearest if far <= config.merge_radius_factor * radius else None), far
