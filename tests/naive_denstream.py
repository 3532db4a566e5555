"""DenStream by its definitions: micro-clusters remember every point, and all clusters are found again each time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

OTHER = -1
Point = Sequence[float]


class Micro:
    """One micro-cluster: its points with their times."""

    def __init__(self, points: list[tuple[Point, int]], birth: int) -> None:
        self.points, self.birth = points, birth
        self.potential = False
        self.cluster = self.home = OTHER

    def faded(self, time: int, half_life: int) -> list[float]:
        return [2.0 ** (-(time - then) / half_life) for _, then in self.points]

    def weight(self, time: int, half_life: int) -> float:
        return math.fsum(self.faded(time, half_life))

    def centre(self, time: int, half_life: int) -> list[float]:
        faded, total = self.faded(time, half_life), self.weight(time, half_life)
        n_dims = len(self.points[0][0])
        return [
            math.fsum(f * point[d] for f, (point, _) in zip(faded, self.points, strict=True)) / total
            for d in range(n_dims)
        ]

    def radius(self, time: int, half_life: int) -> float:
        faded, centre = self.faded(time, half_life), self.centre(time, half_life)
        spread = math.fsum(f * math.dist(point, centre) ** 2 for f, (point, _) in zip(faded, self.points, strict=True))
        return math.sqrt(spread / self.weight(time, half_life))


class NaiveDenStream:
    def __init__(self, radius: float, half_life: int, core_weight: float, potential_weight: float) -> None:
        self.radius, self.half_life, self.core_weight = radius, half_life, core_weight
        self.potential_weight = potential_weight
        self.time = self.n_clusters = 0
        self.micros: list[Micro] = []

    def initialise(self, points: Sequence[Point]) -> list[int]:
        owner: dict[int, Micro] = {}
        for first, point in enumerate(points):
            near = [i for i, other in enumerate(points) if i not in owner and math.dist(point, other) <= self.radius]
            if first not in owner and len(near) >= self.potential_weight:
                micro = Micro([(points[i], 0) for i in near], birth=0)
                self.micros.append(micro)
                owner |= dict.fromkeys(near, micro)
        for left, point in enumerate(points):
            if left not in owner:
                owner[left] = self.join(point)
        self.recluster()
        self.time = 1
        return [owner[i].cluster for i in range(len(points))]

    def learn_one(self, point: Point) -> int:
        micro = self.join(point)
        self.recluster()
        label = micro.cluster
        self.prune()
        self.time += 1
        return label

    def join(self, point: Point) -> Micro:
        for kind in (True, False):
            nearest = [micro for micro in self.micros if micro.potential is kind]
            nearest.sort(key=lambda micro: math.dist(point, micro.centre(self.time, self.half_life)))
            if nearest:
                trial = Micro([*nearest[0].points, (point, self.time)], birth=0)
                if trial.radius(self.time, self.half_life) <= self.radius:
                    nearest[0].points.append((point, self.time))
                    self.promote()
                    return nearest[0]
        self.micros.append(Micro([(point, self.time)], birth=self.time))
        self.promote()
        return self.micros[-1]

    def promote(self) -> None:
        for micro in self.micros:
            if micro.weight(self.time, self.half_life) >= self.potential_weight:
                micro.potential = True

    def prune(self) -> None:
        if self.potential_weight <= 1:
            return
        rate = 1 / self.half_life
        interval = math.ceil(self.half_life * math.log2(self.potential_weight / (self.potential_weight - 1)))
        if self.time % interval:
            return

        def least(micro: Micro) -> float:
            if micro.potential:
                return self.potential_weight
            age = self.time - micro.birth
            return (2 ** (-rate * (age + interval)) - 1) / (2 ** (-rate * interval) - 1)

        self.micros = [micro for micro in self.micros if micro.weight(self.time, self.half_life) >= least(micro)]

    def meets(self, one: Micro, other: Micro) -> bool:
        distance = math.dist(one.centre(self.time, self.half_life), other.centre(self.time, self.half_life))
        radii = one.radius(self.time, self.half_life) + other.radius(self.time, self.half_life)
        return distance <= 2 * self.radius and distance <= radii

    def recluster(self) -> None:
        self.promote()
        potential = [micro for micro in self.micros if micro.potential]
        core = [micro for micro in potential if micro.weight(self.time, self.half_life) >= self.core_weight]
        groups = grown(core, self.meets)
        for micro in potential:
            reached = [one for one in core if micro not in core and self.meets(micro, one)]
            if reached:
                next(group for group in groups if reached[0] in group).append(micro)
        weights = {id(micro): micro.weight(self.time, self.half_life) for micro in self.micros}
        self.n_clusters = name_clusters(self.micros, groups, weights, self.n_clusters)


def grown(members: Sequence[Micro], meets: Callable[[Micro, Micro], bool]) -> list[list[Micro]]:
    """Connected components, each grown from its first member."""
    groups: list[list[Micro]] = []
    for seed in members:
        if any(seed in group for group in groups):
            continue
        group = [seed]
        for known in group:
            group.extend(other for other in members if other not in group and meets(known, other))
        groups.append(group)
    return groups


def name_clusters(micros: Sequence[Micro], groups: list[list[Micro]], weights: dict[int, float], n_given: int) -> int:
    """Give each group an id, one pair of group and former id after the other, and say how many ids were ever given."""
    names: dict[int, int] = {}
    for former in ("cluster", "home"):
        while True:
            best = (0.0, OTHER, OTHER)
            for g, group in enumerate(groups):
                for cluster in sorted({getattr(micro, former) for micro in group} - {OTHER} - set(names.values())):
                    shared = sum(weights[id(micro)] for micro in group if getattr(micro, former) == cluster)
                    if g not in names and shared > best[0]:
                        best = (shared, g, cluster)
            if best[1] == OTHER:
                break
            names[best[1]] = best[2]
    for micro in micros:
        micro.cluster = OTHER
    for g, group in enumerate(groups):
        if g not in names:
            names[g] = n_given
            n_given += 1
        for micro in group:
            micro.cluster = names[g]
            micro.home = names[g] if micro.home == OTHER else micro.home
    return n_given
