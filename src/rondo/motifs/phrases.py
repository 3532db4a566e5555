"""Phrases of one motif: those that are nearly the same sequence of units, repeats written once.

The distance of two phrases is 1 - 2 L / (m + n), with L the length of their longest common subsequence and m, n their
lengths: a phrase that lacks one unit of four is at 0.14, one in which one unit of three is another at 0.33.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rondo.motifs.composition import Phrase as Phrase
from rondo.motifs.composition import composition as composition


def grouped(phrases: Sequence[Phrase], cut: float) -> list[int]:
    """The group of each phrase, from 0: average linkage, cut at that distance.

    >>> grouped([(1, 2, 3, 4), (5, 6), (1, 2, 4), (1, 2, 3, 4, 3, 4)], cut=0.25)
    [0, 1, 0, 0]
    """
    if len(phrases) < 2:
        return [0] * len(phrases)
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import, and only needed to fit
    from scipy.spatial.distance import squareform

    tree = linkage(squareform(phrase_distances(phrases), checks=False), "average")
    labels = fcluster(tree, cut, "distance").tolist()
    number = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return [number[label] for label in labels]


def phrase_distances(phrases: Sequence[Phrase]) -> NDArray[np.float64]:
    """Between all phrases, (n, n)."""
    from rapidfuzz.distance import Indel  # not needed to load or apply a model

    plain = [without_repeats(phrase) for phrase in phrases]
    return np.array([[Indel.normalized_distance(one, other) for other in plain] for one in plain])


def without_repeats(phrase: Phrase) -> Phrase:
    """The phrase with every part that is repeated at once written once; short parts first.

    >>> without_repeats((6, 5, 4, 5, 4, 3))
    (6, 5, 4, 3)
    """
    for length in range(1, len(phrase) // 2 + 1):
        for at in range(len(phrase) - 2 * length + 1):
            middle = at + length
            if phrase[at:middle] == phrase[middle : middle + length]:
                return without_repeats(phrase[:middle] + phrase[middle + length :])
    return phrase
