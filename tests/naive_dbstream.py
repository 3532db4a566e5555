"""DBSTREAM by its definitions: micro-clusters and pairs remember when they were hit, and fade when they are read."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.naive_denstream import Micro, Point, grown, name_clusters


class NaiveDBStream:
    """Each micro-cluster is a `Micro` whose points are its hits; its centre is kept beside."""

    def __init__(self, radius: float, half_life: int, minimum_weight: float, shared_share: float) -> None:
        self.radius, self.half_life = radius, half_life
        self.minimum_weight, self.shared_share = minimum_weight, shared_share
        self.time = self.n_clusters = 0
        self.micros: list[Micro] = []
        self.gone: list[Micro] = []  # kept, so that no later one has the same id()
        self.centres: dict[int, list[float]] = {}
        self.hits: dict[frozenset[int], list[int]] = {}

    def initialise(self, points: Sequence[Point]) -> list[int]:
        owners = [self.join(point) for point in points]
        self.recluster()
        self.time = 1
        return [owner.cluster for owner in owners]

    def learn_one(self, point: Point) -> int:
        micro = self.join(point)
        self.recluster()
        label = micro.cluster
        self.time += 1
        if self.time % self.half_life == 0:
            self.prune()
        return label

    def join(self, point: Point) -> Micro:
        distance = {id(micro): math.dist(point, self.centres[id(micro)]) for micro in self.micros}
        near = [micro for micro in self.micros if distance[id(micro)] < self.radius]
        if not near:
            near = [Micro([], birth=self.time)]
            self.micros += near
            self.centres[id(near[0])], distance[id(near[0])] = list(point), 0.0
        before = {id(micro): self.centres[id(micro)] for micro in near}
        for i, micro in enumerate(near):
            micro.points.append((point, self.time))
            pull = math.exp(-(distance[id(micro)] ** 2) / (2 * (self.radius / 3) ** 2))
            self.centres[id(micro)] = [c + pull * (x - c) for c, x in zip(before[id(micro)], point, strict=True)]
            for other in near[i + 1 :]:
                self.hits.setdefault(frozenset((id(micro), id(other))), []).append(self.time)
        for i, micro in enumerate(near):
            for other in near[i + 1 :]:
                if math.dist(self.centres[id(micro)], self.centres[id(other)]) < self.radius:
                    self.centres |= {key: before[key] for key in (id(micro), id(other))}
        strong = [micro for micro in near if self.weight(micro) >= self.minimum_weight]
        return min(strong or near, key=lambda micro: distance[id(micro)])

    def weight(self, micro: Micro) -> float:
        return micro.weight(self.time, self.half_life)

    def shared(self, one: Micro, other: Micro) -> float:
        times = self.hits.get(frozenset((id(one), id(other))), [])
        return math.fsum(2.0 ** (-(self.time - then) / self.half_life) for then in times)

    def prune(self) -> None:
        weak = 2.0**-1
        for one in self.micros:
            for other in self.micros:
                if one is not other and self.shared(one, other) < self.shared_share * weak:
                    self.hits.pop(frozenset((id(one), id(other))), None)
        self.gone += [micro for micro in self.micros if self.weight(micro) < weak]
        self.micros = [micro for micro in self.micros if self.weight(micro) >= weak]

    def recluster(self) -> None:
        strong = [micro for micro in self.micros if self.weight(micro) >= self.minimum_weight]
        groups = grown(
            strong,
            lambda one, other: (
                self.shared(one, other) / ((self.weight(one) + self.weight(other)) / 2) > self.shared_share
            ),
        )
        self.n_clusters = name_clusters(
            self.micros, groups, {id(micro): self.weight(micro) for micro in self.micros}, self.n_clusters
        )
