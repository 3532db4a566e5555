"""Where the grammar's fit starts: hypotheses of which runs belong together, from flat to composed.

Each hypothesis gives a motif to every run. A *separator* hypothesis says that one unit stands between occurrences
(rest, walking to the bench, the null class): the phrases between its runs are grouped by edit distance. Block
hypotheses cut the runs at fixed steps and group blocks by the units they hold. The evidence bound chooses.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Ints
from rondo.motifs.phrases import MOST_PHRASES, Phrase, group_phrases

_SEPARATORS = 8  # the most frequent units are tried as separators
_CUTS = (0.3, 0.5, 0.7)  # normalised edit distance at which phrases are grouped
_BLOCKS = (2, 3, 4, 6)  # runs per block


def starts(units: Ints, first: NDArray[np.bool_], n_units: int, n_motifs: int, rng: np.random.Generator) -> list[Ints]:
    """All hypotheses for runs of units (n_runs,); each is a motif 0 .. n_motifs-1 per run. The first one is flat."""
    frequent = np.argsort(-np.bincount(units, minlength=n_units), kind="stable")[:_SEPARATORS]
    hypotheses = [units.copy()]
    for separator in frequent:
        hypotheses += list(_separated(units, first, int(separator), n_motifs))
    hypotheses += [_blocked(units, n_units, n_motifs, size, rng) for size in _BLOCKS if units.size >= 2 * size]
    return hypotheses


def _separated(units: Ints, first: NDArray[np.bool_], separator: int, n_motifs: int) -> Iterator[Ints]:
    between = units != separator
    opens = between & (first | np.concatenate([[True], ~between[:-1]]))
    phrase_of_run = np.cumsum(opens) - 1  # valid where `between`
    bounds = np.flatnonzero(opens)
    if bounds.size < 2:
        return
    inside = np.flatnonzero(between)
    phrases: list[Phrase] = [
        tuple(units[runs].tolist()) for runs in np.split(inside, np.searchsorted(inside, bounds[1:]))
    ]
    if len(set(phrases)) > MOST_PHRASES:
        return  # so many different phrases mean that this unit separates nothing
    for group in group_phrases(phrases, _CUTS):
        groups = np.array([group[phrase] for phrase in phrases])
        motif_of_phrase = 1 + _by_frequency(groups, n_motifs - 1)
        yield np.where(between, motif_of_phrase[np.maximum(phrase_of_run, 0)], 0)


def _blocked(units: Ints, n_units: int, n_motifs: int, size: int, rng: np.random.Generator) -> Ints:
    from sklearn.cluster import KMeans  # slow to import, and only needed to fit

    block = np.arange(units.size) // size
    content = np.zeros((block[-1] + 1, n_units))
    np.add.at(content, (block, units), 1.0)
    content /= content.sum(axis=1, keepdims=True)
    n_groups = min(n_motifs, np.unique(content, axis=0).shape[0])
    groups = KMeans(n_clusters=n_groups, n_init=1, random_state=int(rng.integers(2**31))).fit(content).labels_
    return np.asarray(groups[block], dtype=np.int64)


def _by_frequency(groups: NDArray[np.int64], n_most: int) -> Ints:
    """Groups renumbered from 0 by falling frequency; all beyond the cap share the last number."""
    _, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    rank = np.empty(counts.size, dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(counts.size)
    return np.asarray(np.minimum(rank, n_most - 1)[codes])
