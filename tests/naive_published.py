"""Slow, obvious twins of the published continual rule: every statistic from all points there are, each time again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def moments(n: float, mean: Floats, scatter: Floats, points: Floats) -> tuple[float, Floats, Floats]:
    """Count, mean and scatter (n_dims, n_dims) of an entry that began with these, and of all points."""
    count = n + len(points)
    new_mean = (n * mean + points.sum(axis=0)) / count
    new_scatter = scatter + n * np.outer(mean - new_mean, mean - new_mean)
    for point in points:
        new_scatter = new_scatter + np.outer(point - new_mean, point - new_mean)
    return count, new_mean, new_scatter


def posterior(point: Floats, counts: Floats, means: Floats, scatters: Floats) -> Floats:
    """p(k | point) under Gaussians of these moments (n_entries, ...), each weighed by its count."""
    logs = []
    for n, mean, scatter in zip(counts, means, scatters, strict=True):
        covariance = scatter / n
        gap = point - mean
        log_density = -0.5 * (gap @ np.linalg.solve(covariance, gap) + np.log(np.linalg.det(covariance)))
        logs.append(np.log(n) + log_density)
    shares = np.exp(np.array(logs) - max(logs))
    return np.asarray(shares / shares.sum())


def bootstrap_radius(points: Floats, draws: list[list[int]]) -> float:
    """Mean over draws of the P95 of each drawn point's distance to the nearest other one."""
    quantiles = []
    for drawn in draws:
        rows = sorted(set(drawn))
        nearest = [min(float(np.linalg.norm(points[i] - points[j])) for j in rows if j != i) for i in rows]
        quantiles.append(float(np.quantile(nearest, 0.95)))
    return float(np.mean(quantiles))
