"""Phrases: the unit sequence of an occurrence, and which phrases are the same motif.

A motif is a set of phrases that are near one another in normalised edit distance (average linkage) and occur at least
twice in all. A phrase that stands alone recurs nowhere: it is read as its units, each of which stands for itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

Phrase = tuple[int, ...]

MOST_PHRASES = 400  # distinct phrases beyond this are not compared pairwise: the table grows with the square


def group_phrases(phrases: Sequence[Phrase], cuts: Sequence[float]) -> list[dict[Phrase, int]]:
    """For each cut, the group of every distinct phrase among the MOST_PHRASES most frequent ones."""
    counts = Counter(phrases)
    distinct = sorted(counts, key=lambda phrase: (-counts[phrase], phrase))[:MOST_PHRASES]
    if len(distinct) < 2:
        return [dict.fromkeys(distinct, 0) for _ in cuts]
    table = phrase_distances(distinct, distinct)
    tree = linkage(squareform(table, checks=False), "average")
    return [dict(zip(distinct, map(int, fcluster(tree, cut, "distance")), strict=True)) for cut in cuts]


def phrase_distances(some: Sequence[Phrase], others: Sequence[Phrase]) -> np.ndarray:
    """Levenshtein distance over the longer length, (n_some, n_others)."""
    return np.asarray(cdist(some, others, scorer=Levenshtein.normalized_distance, dtype=np.float64))


def recurring(phrases: Sequence[Phrase], cut: float) -> dict[Phrase, int]:
    """The group of every phrase whose group occurs at least twice, or that is a single unit."""
    group = group_phrases(phrases, [cut])[0]
    occurrences = Counter(group[phrase] for phrase in phrases if phrase in group)
    return {phrase: g for phrase, g in group.items() if occurrences[g] > 1 or len(phrase) == 1}


def composition(counts: Mapping[Phrase, int]) -> str:
    """A motif's phrases in one line: the commonest phrase, with units that are often missing in brackets.

    >>> composition({(6, 4, 3, 1): 5, (6, 4, 1): 3})
    'u6 u4 [u3] u1'
    """
    backbone = max(counts, key=lambda phrase: (counts[phrase], len(phrase), phrase))
    total = sum(counts.values())
    words = []
    for unit in backbone:
        share = sum(n for phrase, n in counts.items() if unit in phrase) / total
        words.append(f"u{unit}" if share >= 0.9 else f"[u{unit}]")
    return " ".join(words)
