"""Weighted k-means, as scikit-learn's KMeans with n_init=1 has it, draw by draw.

The import of scikit-learn takes longer than most fits. Greedy k-means++ chooses the centres to begin with, Lloyd's
iterations move them. Clusters equal those of scikit-learn, except where rounding decides between two centres.
"""

from __future__ import annotations

import numpy as np

from rondo.arrays import Floats, Ints

_MOST_ITERATIONS = 300  # scikit-learn's
_TOLERANCE = 1e-4  # scikit-learn's: squared movement of all centres, in mean variances of a column


def weighted_kmeans(points: Floats, weights: Floats, n_clusters: int, rng: np.random.RandomState) -> Ints:
    """The cluster of each of the points (n, n_dims); weights (n,) are not negative and not all zero."""
    points = points - points.mean(axis=0)
    tolerance = _TOLERANCE * float(points.var(axis=0).mean())
    centres, clusters, is_still = _first_centres(points, weights, n_clusters, rng), np.full(len(points), -1), False
    for _ in range(_MOST_ITERATIONS + 1):
        before = clusters
        clusters = np.asarray((np.einsum("ij,ij->i", centres, centres) - 2 * points @ centres.T).argmin(axis=1))
        if is_still or np.array_equal(clusters, before):
            break
        moved = _moved(points, weights, clusters, centres)
        is_still = float(np.square(moved - centres).sum()) <= tolerance
        centres = moved
    return clusters


def _first_centres(points: Floats, weights: Floats, n_clusters: int, rng: np.random.RandomState) -> Floats:
    """Greedy k-means++: of several points drawn far from the centres so far, the one that leaves the least distance.

    Two points that are nearest to each other often leave the same distance, and rounding decides. So every sum is
    taken in the order of scikit-learn.
    """
    n_trials = 2 + int(np.log(n_clusters))
    squared_norms = np.einsum("ij,ij->i", points, points)
    drawn = np.array([rng.choice(len(points), p=weights / weights.sum())])
    chosen: list[int] = []
    while True:
        distances = -2 * (points[drawn] @ points.T)
        distances += np.einsum("ij,ij->i", points[drawn], points[drawn])[:, None]
        distances += squared_norms
        distances = np.maximum(distances, 0)
        if not chosen:
            nearest, total, best = distances[0], (distances @ weights)[0], 0
        else:
            then_nearest = np.minimum(nearest, distances)
            totals = (then_nearest @ weights[:, None])[:, 0]
            best = int(totals.argmin())
            nearest, total = then_nearest[best], totals[best]
        chosen.append(int(drawn[best]))
        if len(chosen) == n_clusters:
            return points[chosen]
        drawn = np.searchsorted(np.cumsum(weights * nearest), rng.uniform(size=n_trials) * total)
        drawn = np.minimum(drawn, len(points) - 1)  # rounding may lead past the end


def _moved(points: Floats, weights: Floats, clusters: Ints, centres: Floats) -> Floats:
    """The mean of each cluster. An empty cluster takes over one of the points that are farthest from their centres."""
    n_clusters = len(centres)
    sizes = np.bincount(clusters, weights, minlength=n_clusters)
    columns = [np.bincount(clusters, column, minlength=n_clusters) for column in (points * weights[:, None]).T]
    sums = np.stack(columns, axis=1)
    empty = np.flatnonzero(sizes == 0)
    distances = np.square(points - centres[clusters]).sum(axis=1) if empty.size else np.zeros(1)
    if distances.max() > 0:
        farthest = np.argpartition(distances, -empty.size)[: -empty.size - 1 : -1]
        for cluster, point in zip(empty, farthest, strict=True):
            taken, weight = points[point] * weights[point], weights[point]
            sums[clusters[point]] -= taken
            sums[cluster] = taken
            sizes[cluster] = weight
            sizes[clusters[point]] -= weight
    means = sums / np.where(sizes > 0, sizes, 1.0)[:, None]
    means[sizes <= 0] = means[sizes.argmax()]  # a point without weight was taken, or all points lie on their centres
    return np.asarray(means)
