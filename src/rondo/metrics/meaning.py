"""Does an id mean the same for everybody? Scores of labels that several people (machines, days) share.

Scores of single recordings cannot see it: two people may each be labelled perfectly, with units of their own. With
n_A(u, c) the frames of group A that unit u and class c share, and n the sum over all groups,

    call_A(u)   = argmax over c of n(u, c) - n_A(u, c)       what u mostly is in the other groups
    right(A)    = sum over u of n_A(u, call_A(u)) / frames of A
    meaning     = mean over groups of right(A)

Classes must mean the same in every recording, and so must ids: labels of one vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array

from rondo.annotations.annotation import Annotation
from rondo.data.labels import agreement_of_counts
from rondo.errors import AnnotationError
from rondo.metrics.overlap import Index

SharedTracks = Mapping[str, ArrayLike | Annotation]
"""For each recording id a number or a name for every frame (n_frames,)."""


@dataclass(frozen=True)
class SharedScores:
    """Scores of a vocabulary that groups of recordings share, in percent; `shared_scores` returns them."""

    per_person_ari: float  # of each group alone, with its recordings joined; mean over groups
    pooled_ari: float  # of all recordings joined; low if the same class has different ids in different groups
    meaning: float
    n_groups: int  # people, machines or days; where nobody named them, recordings

    def as_dict(self) -> dict[str, float | int]:
        return asdict(self)


def meaning(truth: SharedTracks, labels: SharedTracks, groups: Mapping[str, str] | None = None) -> float:
    """Score in percent whether ids mean the same in all groups; without `groups`, each recording is one.

    A unit in group A is read as the class that it mostly is in all other groups together; ties go to the lowest class
    (of names, the first in sorted order). The score is the share of frames whose class is read correctly: within each
    group, then averaged over groups with equal weight. A unit that occurs in no other group is wrong. Every frame
    counts: OTHER is one more id, and unlabelled frames (-1) are one more class. A single id for everything scores the
    share of the largest class.

    >>> truth = {"ann": [0, 0, 1, 1], "bob": [0, 1, 1, 1]}
    >>> meaning(truth, {"ann": [5, 5, 6, 6], "bob": [7, 6, 6, 6]})
    62.5
    """
    return _meaning(_tables(truth, labels, groups))


def shared_scores(truth: SharedTracks, labels: SharedTracks, groups: Mapping[str, str] | None = None) -> SharedScores:
    """Score labels of one vocabulary that several groups share.

    >>> truth = {"ann": [0, 0, 1, 1], "bob": [0, 0, 1, 1]}
    >>> shared_scores(truth, {"ann": [5, 5, 6, 6], "bob": [6, 6, 5, 5]}).as_dict()  # each right, but swapped
    {'per_person_ari': 100.0, 'pooled_ari': -16.666666666666664, 'meaning': 0.0, 'n_groups': 2}
    """
    tables = _tables(truth, labels, groups)
    each = [_ari(table) for table in tables]
    return SharedScores(100 * float(np.mean(each)), 100 * _ari(sum(tables)), _meaning(tables), len(tables))


def _tables(truth: SharedTracks, labels: SharedTracks, groups: Mapping[str, str] | None) -> list[csr_array]:
    """Of each group the frames that labels and classes share, (n_labels, n_classes)."""
    if not truth or truth.keys() != labels.keys():
        odd = sorted(truth.keys() ^ labels.keys())
        found = f"only one of the two has the recording '{odd[0]}'" if odd else "both are empty"
        raise AnnotationError(f"expected truth and labels of the same recordings, but {found}")
    lost = [id for id in truth if groups is not None and id not in groups]
    if lost:
        raise AnnotationError(f"no group for the recording '{lost[0]}' ({len(lost)} of {len(truth)}); name it")
    group_of = {id: id if groups is None else groups[id] for id in truth}
    if len(set(group_of.values())) < 2:
        raise AnnotationError("one group only: what an id means to others can be scored for two or more of them")
    (classes, n_classes), (clusters, n_clusters) = _joint_numbers(truth, "truth"), _joint_numbers(labels, "labels")
    tables: dict[str, Any] = dict.fromkeys(sorted(set(group_of.values())), 0)
    for id, group in group_of.items():
        n_frames = classes[id].size
        if n_frames != clusters[id].size:
            raise AnnotationError(
                f"recording '{id}': the truth has {n_frames} frames, the labels {clusters[id].size}; "
                "give one label per frame"
            )
        frames = coo_array((np.ones(n_frames, np.int64), (clusters[id], classes[id])), (n_clusters, n_classes))
        tables[group] = tables[group] + frames.tocsr()
    return list(tables.values())


def _joint_numbers(tracks: SharedTracks, what: str) -> tuple[dict[str, Index], int]:
    """Tracks as numbers 0, 1, ... that mean the same in all of them, in order; how many there are."""
    each = {id: t if isinstance(t, Annotation) else Annotation(t, id=f"{what} of '{id}'") for id, t in tracks.items()}
    named = {id for id, one in each.items() if one.names}
    if named and len(named) < len(each):
        other = next(id for id in each if id not in named)
        raise AnnotationError(
            f"{what}: names in the recording '{next(iter(sorted(named)))}', numbers in '{other}'; give one kind for all"
        )
    shown = {id: np.array(one.names)[one.classes] if one.names else one.classes for id, one in each.items()}
    values = np.unique(np.concatenate([np.unique(track) for track in shown.values()]))
    return {id: np.searchsorted(values, track).astype(np.int64) for id, track in shown.items()}, values.size


def _ari(table: csr_array) -> float:
    sizes = [np.asarray(table.sum(axis=axis)) for axis in (0, 1)]
    return agreement_of_counts(table.data, *(size[size > 0] for size in sizes))


def _meaning(tables: list[csr_array]) -> float:
    total, right = sum(tables), []
    for table in tables:
        ids = np.flatnonzero(table.sum(axis=1))
        frames = table[ids].toarray()
        others = total[ids].toarray() - frames
        called = others.argmax(axis=1)  # takes the lowest of equals
        read = frames[np.arange(ids.size), called][others.any(axis=1)]
        right.append(float(read.sum() / frames.sum()))
    return 100 * float(np.mean(right))
