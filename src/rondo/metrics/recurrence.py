"""Scores that chopping cannot win: do the *same* clusters come back where the same classes do?

ARI and AMI follow scikit-learn's definitions and its conventions for degenerate tracks. Both come from the
sparse contingency table and never look at a frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from scipy.special import gammaln

from rondo.data.labels import agreement_of_counts
from rondo.metrics.overlap import Index, Overlap

TERMS_AT_ONCE = 1 << 18  # terms of the expected information held in memory: 2 MB per array, fits a core's cache


def adjusted_rand(overlap: Overlap) -> float:
    """Adjusted Rand index: agreement on pairs of frames, 0 for chance, 1 for the same partition.

    >>> adjusted_rand(Overlap.of([0, 0, 1, 1], [0, 0, 1, 2]))
    0.5714285714285714
    """
    return agreement_of_counts(overlap.contingency.frames, *_sizes(overlap))


def adjusted_mutual_information(overlap: Overlap) -> float:
    """AMI = (I - E[I]) / ((H_truth + H_labels)/2 - E[I]): 0 for chance, 1 for the same partition.

    >>> round(adjusted_mutual_information(Overlap.of([0, 0, 1, 1], [0, 0, 1, 2])), 4)
    0.5714
    """
    cells = overlap.contingency
    if cells.frames.size == overlap.n_classes == overlap.n_clusters:
        return 1.0
    if overlap.n_classes == 1 or overlap.n_clusters == 1:
        return 0.0
    class_sizes, cluster_sizes = _sizes(overlap)
    information = _entropy(class_sizes) + _entropy(cluster_sizes) - _entropy(cells.frames)
    expected = expected_mutual_information(class_sizes, cluster_sizes)
    mean_entropy = (_entropy(class_sizes) + _entropy(cluster_sizes)) / 2
    return (information - expected) / (mean_entropy - expected)


def expected_mutual_information(class_sizes: Index, cluster_sizes: Index) -> float:
    """E[I] in nats over all tracks with these class and cluster sizes (Vinh, Epps & Bailey 2010, eq. 24a).

    With N frames, class sizes a and cluster sizes b, the frames m that a class and a cluster share are
    hypergeometric:

        E[I] = Σ_ab Σ_m  (m/N) log(N m / (a b)) · a! b! (N-a)! (N-b)! / (N! m! (a-m)! (b-m)! (N-a-b+m)!)

    The inner sum depends on a and b alone, so it is done once per pair of *different* sizes (a clock has
    two), and only where the probability is not negligible (`_likely_range`).
    """
    n = int(class_sizes.sum())
    distinct_a, count_a = np.unique(class_sizes, return_counts=True)
    distinct_b, count_b = np.unique(cluster_sizes, return_counts=True)
    a, b = (side.ravel() for side in np.meshgrid(distinct_a, distinct_b, indexing="ij"))
    weight = np.multiply.outer(count_a, count_b).ravel()
    lowest, highest = _likely_range(a, b, n)
    n_terms = np.cumsum(highest - lowest + 1)
    total = 0.0
    for group in np.split(np.arange(a.size), np.flatnonzero(np.diff(n_terms // TERMS_AT_ONCE)) + 1):
        total += float(weight[group] @ _inner_sums(a[group], b[group], n, lowest[group], highest[group]))
    return total


def _inner_sums(a: Index, b: Index, n: int, lowest: Index, highest: Index) -> NDArray[np.float64]:
    """The sum over m in [lowest, highest] of the equation above, for each pair of sizes."""
    n_terms = highest - lowest + 1
    pair = np.repeat(np.arange(a.size), n_terms)
    first_term = np.cumsum(n_terms) - n_terms
    m = np.arange(pair.size) - (first_term - lowest)[pair]
    constant = _log_factorial(a) + _log_factorial(b) + _log_factorial(n - a) + _log_factorial(n - b) - _log_factorial(n)
    log_probability = constant[pair] - (
        _log_factorial(m) + _log_factorial(a[pair] - m) + _log_factorial(b[pair] - m)
        + _log_factorial((n - a - b)[pair] + m)
    )  # fmt: skip
    log_ratio = np.log(m) + (np.log(n) - np.log(a) - np.log(b))[pair]
    terms = m / n * log_ratio * np.exp(log_probability)
    return np.add.reduceat(terms, first_term)


def _likely_range(a: Index, b: Index, n: int) -> tuple[Index, Index]:
    """The shared frame counts m >= 1 outside which all probability together is below 2 exp(-45) = 6e-20.

    A hypergeometric count is distributed as a sum of independent Bernoulli variables, so Bernstein's
    inequality bounds its tails: P(|m - mean| >= t) <= 2 exp(-t² / (2 var + 2t/3)). The reach t makes the
    exponent -45.
    """
    mean = a * (b / n)
    variance = mean * (1 - a / n) * (1 - b / n) * (n / max(n - 1, 1))
    reach = 15 + np.sqrt(15**2 + 2 * 45 * variance)
    lowest = np.maximum(np.maximum(1, a + b - n), np.floor(mean - reach).astype(np.int64))
    highest = np.minimum(np.minimum(a, b), np.ceil(mean + reach).astype(np.int64))
    return lowest, highest


def one_to_one(overlap: Overlap) -> float:
    """The largest share of all frames explained when each class gets one cluster of its own (Hungarian).

    Frames of classes and clusters without a partner count as wrong.

    >>> one_to_one(Overlap.of([0, 0, 0, 1], [5, 5, 6, 7]))
    0.75
    """
    matched = partners(overlap)[overlap.contingency.classes] == overlap.contingency.clusters
    return float(overlap.contingency.frames[matched].sum() / overlap.n_frames)


def partners(overlap: Overlap) -> Index:
    """The cluster of each class (n_classes,) under that matching, -1 where it has none; a tie goes to what is first.

    Of two matchings that explain as many frames it is the one with more Σ (n_classes - i)(n_clusters - j) over its
    pairs of class i and cluster j: what else would decide is the version of a solver.
    """
    cells = overlap.contingency
    earlier = (overlap.n_classes - cells.classes) * (overlap.n_clusters - cells.clusters)
    more_than_all = overlap.n_classes**2 * overlap.n_clusters + 1
    # The solver wants every class matched and no weight of zero: so each class may also take a partner of its
    # own that is worth nothing, and every weight is raised by one.
    own = np.arange(overlap.n_classes)
    worth = cells.frames * more_than_all + earlier
    weights = np.concatenate([worth + 1, np.ones(overlap.n_classes, dtype=np.int64)])
    rows = np.concatenate([cells.classes, own])
    columns = np.concatenate([cells.clusters, overlap.n_clusters + own])
    table = coo_array((weights, (rows, columns))).tocsr()
    classes, found = min_weight_full_bipartite_matching(table, maximize=True)
    clusters = np.empty(overlap.n_classes, dtype=np.int64)
    clusters[classes] = np.where(found < overlap.n_clusters, found, -1)
    return clusters


def occurrences_per_cluster(overlap: Overlap) -> float:
    """How often a cluster occurs on average: predicted runs / clusters. A clock's clusters occur once."""
    return len(overlap.labels) / overlap.n_clusters


def _sizes(overlap: Overlap) -> tuple[Index, Index]:
    cells = overlap.contingency
    sizes = [np.bincount(side, weights=cells.frames).astype(np.int64) for side in (cells.classes, cells.clusters)]
    return sizes[0], sizes[1]


def _entropy(frames: Index) -> float:
    share = frames / frames.sum()
    return float(-(share @ np.log(share)))


def _log_factorial(n: Index | int) -> NDArray[np.float64]:
    logarithm: NDArray[np.float64] = gammaln(np.asarray(n) + 1.0)
    return logarithm
