"""Promotion: when a micro-cluster has become a unit, and whether it is a new one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rondo.config.schema import ContinualConfig
from rondo.continual.micro_cluster import MicroCluster
from rondo.continual.point_sets import Floats, PointSets


def least_support(supports: Sequence[float], config: ContinualConfig) -> float:
    """max(8, Q0.25) of the supports of the micro-clusters there are (paper: Table Continual update)."""
    quantile = float(np.quantile(supports, config.support_quantile)) if len(supports) else 0.0
    return max(float(config.min_support), quantile)


def is_eligible(cluster: MicroCluster, supports: Sequence[float], config: ContinualConfig) -> bool:
    """It came back often enough, its visits lie far enough apart, and it has support beside the others: no burst."""
    if cluster.regions < config.min_regions or cluster.extent < config.min_extent:
        return False  # nearly always: the quantile is not asked for then
    return cluster.support >= least_support(supports, config)


def compatible_entry(
    points: Floats, entries: PointSets, radius: float, config: ContinualConfig
) -> tuple[int | None, float]:
    """The entry within 1.25 times the radius of most of these points, if there is one, and how far the nearest is.

    The paper compares prototypes. The mean of windows that were all rejected may lie among known ones: of 12 planted
    new units two were lost that way.
    """
    distances = np.median([entries.distances(point) for point in points], axis=0)
    if not distances.size:
        return None, math.inf
    nearest = int(distances.argmin())
    far = float(distances[nearest])
    return (nearest if far <= config.merge_radius_factor * radius else None), far
