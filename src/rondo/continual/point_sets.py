"""Point sets: every vocabulary entry, and every micro-cluster, as a bounded set of the windows it has seen.

A window belongs to the set that holds the point nearest to it. Sets grow up to a capacity; from then on a new point
takes the place of an old one with the probability that keeps the set a fair sample of all it has seen (reservoir
sampling, Vitter 1985), the draw being a hash of how many there were: no random state has to be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats as Floats


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
        """The points of a set, (n, n_dims)."""
        return np.asarray(self.points[index, np.isfinite(self.squares[index])])

    def prototype(self, index: int) -> Floats:
        """Their mean."""
        return np.asarray(self.kept(index).mean(axis=0))

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly."""
        filled = np.isfinite(self.squares)
        return (
            {"points": self.points[filled], "filled": filled.astype(np.uint8)},
            {"ids": list(self.ids), "seen": list(self.seen), "n_dims": self.points.shape[2], "capacity": self.capacity},
        )

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[np.generic]], plain: dict[str, Any]) -> PointSets:
        """The sets that gave this state."""
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
