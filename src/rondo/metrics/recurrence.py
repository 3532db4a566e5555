"""Scores that chopping cannot win: do the *same* clusters come back where the same classes do?

ARI and AMI follow scikit-learn's definitions and its conventions for degenerate tracks. Both come from the
sparse contingency table and never look at a frame.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from rondo.data.agreement import adjusted_information
from rondo.data.labels import agreement_of_counts
from rondo.metrics.overlap import Index, Overlap


def adjusted_rand(overlap: Overlap) -> float:
    """Adjusted Rand index: agreement on pairs of frames, 0 for chance, 1 for the same partition."""
    return agreement_of_counts(overlap.contingency.frames, *_sizes(overlap))


def adjusted_mutual_information(overlap: Overlap) -> float:
    """AMI = (I - E[I]) / ((H_truth + H_labels)/2 - E[I]): 0 for chance, 1 for the same partition."""
    return adjusted_information(overlap.contingency.frames, *_sizes(overlap))


def one_to_one(overlap: Overlap) -> float:
    """The largest share of all frames explained when each class gets one cluster of its own (Hungarian).

    Frames of classes and clusters without a partner count as wrong.
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
    rows = np.concatenate([cells.classes, own]).astype(np.int32)  # scipy 1.12 takes no other whole numbers
    columns = np.concatenate([cells.clusters, overlap.n_clusters + own]).astype(np.int32)
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
