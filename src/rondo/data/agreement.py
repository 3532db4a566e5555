"""How far two label tracks are the same partition: the adjusted Rand index (Hubert & Arabie 1985)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rondo.arrays import Ints


def label_agreement(first: ArrayLike, second: ArrayLike) -> float:
    """Adjusted Rand index of two label tracks of the same frames or windows: 1 for the same partition, 0 for chance.

    >>> label_agreement([0, 0, 1, 1], [5, 5, 7, -1])
    0.5714285714285714
    """
    tracks = np.stack([np.asarray(first), np.asarray(second)])
    cells = np.unique(tracks, axis=1, return_counts=True)[1]
    sizes = [np.unique(track, return_counts=True)[1] for track in tracks]
    return agreement_of_counts(cells, sizes[0], sizes[1])


def agreement_of_counts(cells: Ints, first_sizes: Ints, second_sizes: Ints) -> float:
    """The same from the sizes of the parts: of each side, and of the pairs of them that occur together."""
    # Python integers: the products below pass 2**63 at some hundred thousand frames
    n_frames = int(cells.sum())
    both, left, right = (int((sizes**2).sum()) - n_frames for sizes in (cells, first_sizes, second_sizes))
    if both == left == right:
        return 1.0
    n_pairs = n_frames * (n_frames - 1)
    return 2 * (both * n_pairs - left * right) / ((left + right) * n_pairs - 2 * left * right)
