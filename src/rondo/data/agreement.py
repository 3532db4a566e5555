"""Agreement of two labellings of the same items: adjusted mutual information (AMI).

Definition and degenerate cases follow scikit-learn, whose import takes longer than most fits. Everything comes from the
sizes of the cells, classes and clusters of the contingency table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from rondo.arrays import Floats, Ints

TERMS_AT_ONCE = 1 << 18  # terms of the expected information held in memory: 2 MB per array, fits a core's cache


def agreement(one: ArrayLike, other: ArrayLike) -> float:
    """AMI of two labellings (n_items,): 0 for chance, 1 for the same partition.

    >>> round(agreement([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.5714
    """
    (_, rows, row_sizes), (_, columns, column_sizes) = (
        np.unique(labels, return_inverse=True, return_counts=True) for labels in (one, other)
    )
    cells = np.bincount(rows * column_sizes.size + columns)
    return adjusted_information(cells[cells > 0], row_sizes, column_sizes)


def agreements(labellings: Sequence[ArrayLike]) -> Floats:
    """AMI of every labelling of the same items with every other, (n_labellings, n_labellings); 1 with itself."""
    alike = np.eye(len(labellings))
    for i, j in combinations(range(len(labellings)), 2):
        alike[i, j] = alike[j, i] = agreement(labellings[i], labellings[j])
    return alike


def adjusted_information(cell_sizes: Ints, class_sizes: Ints, cluster_sizes: Ints) -> float:
    """AMI = (I - E[I]) / ((H_classes + H_clusters)/2 - E[I]) from the sizes of cells that are not empty."""
    if cell_sizes.size == class_sizes.size == cluster_sizes.size:
        return 1.0
    if class_sizes.size == 1 or cluster_sizes.size == 1:
        return 0.0
    information = entropy(class_sizes) + entropy(cluster_sizes) - entropy(cell_sizes)
    expected = expected_mutual_information(class_sizes, cluster_sizes)
    mean_entropy = (entropy(class_sizes) + entropy(cluster_sizes)) / 2
    return (information - expected) / (mean_entropy - expected)


def expected_mutual_information(class_sizes: Ints, cluster_sizes: Ints) -> float:
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


def _inner_sums(a: Ints, b: Ints, n: int, lowest: Ints, highest: Ints) -> NDArray[np.float64]:
    """The sum over m in [lowest, highest] of the equation above, for each pair of sizes."""

    def log_factorial(number: Ints | int) -> NDArray[np.float64]:
        return np.asarray(gammaln(np.asarray(number) + 1.0))

    n_terms = highest - lowest + 1
    pair = np.repeat(np.arange(a.size), n_terms)
    first_term = np.cumsum(n_terms) - n_terms
    m = np.arange(pair.size) - (first_term - lowest)[pair]
    constant = log_factorial(a) + log_factorial(b) + log_factorial(n - a) + log_factorial(n - b) - log_factorial(n)
    log_probability = constant[pair] - (
        log_factorial(m) + log_factorial(a[pair] - m) + log_factorial(b[pair] - m)
        + log_factorial((n - a - b)[pair] + m)
    )  # fmt: skip
    log_ratio = np.log(m) + (np.log(n) - np.log(a) - np.log(b))[pair]
    terms = m / n * log_ratio * np.exp(log_probability)
    return np.add.reduceat(terms, first_term)


def _likely_range(a: Ints, b: Ints, n: int) -> tuple[Ints, Ints]:
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


def entropy(frames: Ints) -> float:
    share = frames / frames.sum()
    return float(-(share @ np.log(share)))
