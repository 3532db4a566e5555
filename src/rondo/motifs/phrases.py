"""Phrases: the unit sequence of an occurrence, and which phrases are the same motif.

The grammar has cut the runs into phrases and filed each under one of its motifs. Phrases under one heading that have
few units in common (Jaccard distance of their unit sets, average linkage) are different motifs after all: a grammar
may well file "any single gesture" under one heading. The order of units is the grammar's business, and how often a
cycle goes round (u6 u5 u6 u5 ...) does not matter. A phrase of one unit is that unit, standing for itself. A longer
phrase that stands alone recurs nowhere: it is read as its units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rondo.motifs.composition import Phrase as Phrase
from rondo.motifs.composition import composition as composition

Content = tuple[int, tuple[int, ...]]

_ALONE = -1  # the heading of single units: a unit is itself wherever the grammar files it
MOST_PHRASES = 400  # distinct phrases beyond this are not compared pairwise: the table grows with the square


def group_phrases(phrases: Sequence[Phrase], cuts: Sequence[float]) -> list[dict[Phrase, int]]:
    """For each cut, the group of every distinct phrase among the MOST_PHRASES most frequent ones."""
    counts = Counter(phrases)
    distinct = sorted(counts, key=lambda phrase: (-counts[phrase], phrase))[:MOST_PHRASES]
    if len(distinct) < 2:
        return [dict.fromkeys(distinct, 0) for _ in cuts]
    labels = _linked(phrase_distances(distinct, distinct), cuts)
    return [dict(zip(distinct, own, strict=True)) for own in labels]


def phrase_distances(some: Sequence[Phrase], others: Sequence[Phrase]) -> NDArray[np.float64]:
    """Levenshtein distance over the longer length, (n_some, n_others).

    >>> phrase_distances([(1, 2, 3, 4)], [(1, 2, 3, 4), (1, 3, 4), (5,)]).tolist()
    [[0.0, 0.25, 1.0]]
    """
    from rapidfuzz.distance import Levenshtein  # not needed to load or apply a model
    from rapidfuzz.process import cdist

    return np.asarray(cdist(some, others, scorer=Levenshtein.normalized_distance, dtype=np.float64))


def recurrence(phrases: Sequence[Phrase]) -> float:
    """Of the runs in phrases of several units, the share whose phrase occurs again, word for word.

    >>> recurrence([(0,), (1, 2), (0,), (1, 2), (3, 4, 5, 6)])
    0.5
    """
    counts = Counter(phrase for phrase in phrases if len(phrase) > 1)
    composed = sum(n * len(phrase) for phrase, n in counts.items())
    again = sum(n * len(phrase) for phrase, n in counts.items() if n > 1)
    return again / composed if composed else 0.0


def recurring(phrases: Sequence[Phrase], headings: Sequence[int], cut: float) -> dict[Content, int]:
    """The group of every content that recurs, over all headings; single units are left out.

    `headings` holds the grammar's motif of each phrase. A content is a heading and the sorted units of a phrase.
    """
    counts = Counter(content_of(phrase, heading) for phrase, heading in zip(phrases, headings, strict=True))
    groups: dict[Content, int] = {}
    for heading in sorted(set(headings)):
        own = [content for content in counts if content[0] == heading and len(content[1]) > 1]
        own = sorted(own, key=lambda content: (-counts[content], content))[:MOST_PHRASES]
        for members in _grouped(own, cut):
            if sum(counts[content] for content in members) > 1:
                groups |= dict.fromkeys(members, len(set(groups.values())))
    return groups


def content_of(phrase: Phrase, heading: int) -> Content:
    """What makes a phrase the motif it is: the grammar's motif, and which units occur in it.

    >>> content_of((6, 5, 6, 5), heading=3), content_of((6,), heading=3)
    ((3, (5, 6)), (-1, (6,)))
    """
    units = tuple(sorted(set(phrase)))
    return (heading if len(units) > 1 else _ALONE), units


def content_distances(some: Sequence[Content], others: Sequence[Content]) -> NDArray[np.float64]:
    """Jaccard distance of the unit sets, (n_some, n_others); 1 under different headings.

    >>> content_distances([(0, (1, 2))], [(0, (1, 2)), (0, (1, 2, 3, 4)), (0, (4, 5)), (7, (1, 2))]).tolist()
    [[0.0, 0.5, 1.0, 1.0]]
    """
    units = sorted({unit for _, held in (*some, *others) for unit in held})
    rows, columns = (np.array([[unit in held for unit in units] for _, held in side], float) for side in (some, others))
    common = rows @ columns.T
    distances = 1.0 - common / (rows.sum(axis=1)[:, None] + columns.sum(axis=1) - common)
    headings = (np.array([heading for heading, _ in side]) for side in (some, others))
    return np.where(np.equal.outer(*headings), distances, 1.0)


def _grouped(contents: Sequence[Content], cut: float) -> list[list[Content]]:
    if len(contents) < 2:
        return [list(contents)] if contents else []
    labels = _linked(content_distances(contents, contents), [cut])[0]
    return [[c for c, label in zip(contents, labels, strict=True) if label == g] for g in sorted(set(labels))]


def _linked(distances: NDArray[np.float64], cuts: Sequence[float]) -> list[list[int]]:
    """Groups by average linkage at each cut."""
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import, and only needed to fit
    from scipy.spatial.distance import squareform

    tree = linkage(squareform(distances, checks=False), "average")
    return [fcluster(tree, cut, "distance").tolist() for cut in cuts]
