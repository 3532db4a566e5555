"""Does an id mean the same for everybody? Scores of labels that several people (machines, days) share.

Scores of single recordings cannot see it: two people may each be labelled perfectly, with units of their own. With
n_A(u, c) the frames of group A that unit u and class c share, and n the sum over all groups,

    call_A(u)   = argmax over c of n(u, c) - n_A(u, c)       what u mostly is in the other groups
    right(A)    = sum over u of n_A(u, call_A(u)) / frames of A
    meaning     = mean over groups of right(A)

Classes must mean the same in every recording, and so must ids: labels of one vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.annotations.annotation import Annotation
from rondo.data.labels import agreement_of_counts
from rondo.errors import AnnotationError
from rondo.metrics.overlap import Index

SharedTracks = Mapping[str, ArrayLike | Annotation]


@dataclass(frozen=True)
class SharedScores:
    """Scores of a vocabulary that groups of recordings share, in percent; `shared_scores` returns them.

    Parameters
    ----------
    per_person_ari : float
        ARI of each group alone, with its recordings joined; mean over groups.
    pooled_ari : float
        ARI of all recordings joined; low if the same class has different ids in different groups.
    meaning : float
        The score of `meaning`.
    n_groups : int
        Number of groups (people, machines or days); without groups, of recordings.

    Examples
    --------
    >>> SharedScores(per_person_ari=90.0, pooled_ari=85.0, meaning=88.0, n_groups=3).as_dict()["meaning"]
    88.0
    """

    per_person_ari: float
    pooled_ari: float
    meaning: float
    n_groups: int

    def as_dict(self) -> dict[str, float | int]:
        """Convert to plain values.

        Returns
        -------
        dict
            Each score by its name.
        """
        return asdict(self)


def meaning(truth: SharedTracks, labels: SharedTracks, groups: Mapping[str, str] | None = None) -> float:
    """Score whether ids mean the same in all groups.

    A unit in group A is read as the class that it mostly is in all other groups together; ties go to the lowest class
    (of names, the first in sorted order). The score is the share of frames whose class is read correctly: within each
    group, then averaged over groups with equal weight. A unit that occurs in no other group is wrong. Every frame
    counts: OTHER is one more id, and unlabelled frames (-1) are one more class. A single id for everything scores the
    share of the largest class.

    Parameters
    ----------
    truth : mapping
        For each recording id a class for every frame (n_frames,): whole numbers, names, or an Annotation.
    labels : mapping
        For each recording id a label for every frame, all of one vocabulary.
    groups : mapping or None
        The group of each recording id. None makes each recording a group.

    Returns
    -------
    float
        The score in percent.

    Raises
    ------
    AnnotationError
        If truth and labels have different recordings or lengths, a recording has no group, there are fewer than two
        groups, or only some recordings have names as classes.

    Examples
    --------
    >>> truth = {"ann": [0, 0, 1, 1], "bob": [0, 1, 1, 1]}
    >>> meaning(truth, {"ann": [5, 5, 6, 6], "bob": [5, 6, 6, 6]})
    100.0
    >>> meaning(truth, {"ann": [5, 5, 6, 6], "bob": [7, 6, 6, 6]})
    62.5
    """
    return _meaning(_cells(truth, labels, groups))


def shared_scores(truth: SharedTracks, labels: SharedTracks, groups: Mapping[str, str] | None = None) -> SharedScores:
    """Score labels of one vocabulary that several groups share.

    Parameters
    ----------
    truth : mapping
        For each recording id a class for every frame, as in `meaning`.
    labels : mapping
        For each recording id a label for every frame, all of one vocabulary.
    groups : mapping or None
        The group of each recording id. None makes each recording a group.

    Returns
    -------
    SharedScores
        Per-person ARI, pooled ARI and meaning.

    Raises
    ------
    AnnotationError
        If the tracks do not match, as in `meaning`.

    Examples
    --------
    >>> truth = {"ann": [0, 0, 1, 1], "bob": [0, 0, 1, 1]}
    >>> shared_scores(truth, {"ann": [5, 5, 6, 6], "bob": [6, 6, 5, 5]}).as_dict()  # each right, but swapped
    {'per_person_ari': 100.0, 'pooled_ari': -16.666666666666664, 'meaning': 0.0, 'n_groups': 2}
    """
    cells = _cells(truth, labels, groups)
    each = [_ari(cells.of_group(group)) for group in range(cells.n_groups)]
    return SharedScores(100 * float(np.mean(each)), 100 * _ari(cells.pooled()), _meaning(cells), cells.n_groups)


# ---------------------------------------------------------------- counting


class _Cells(NamedTuple):
    """Frames shared by group, label and class; groups are whole stretches of the sorted cells."""

    groups: Index
    labels: Index
    classes: Index
    frames: Index

    @property
    def n_groups(self) -> int:
        return int(self.groups[-1]) + 1

    def of_group(self, group: int) -> _Cells:
        own = slice(*np.searchsorted(self.groups, [group, group + 1]))
        return _Cells(*(column[own] for column in self))

    def pooled(self) -> _Cells:
        return _summed([_Cells(np.zeros_like(self.groups), *self[1:])])


def _cells(truth: SharedTracks, labels: SharedTracks, groups: Mapping[str, str] | None) -> _Cells:
    if not truth or truth.keys() != labels.keys():
        odd = sorted(truth.keys() ^ labels.keys())
        found = f"only one of the two has the recording '{odd[0]}'" if odd else "both are empty"
        raise AnnotationError(f"expected truth and labels of the same recordings, but {found}")
    lost = [id for id in truth if groups is not None and id not in groups]
    if lost:
        raise AnnotationError(f"no group for the recording '{lost[0]}' ({len(lost)} of {len(truth)}); name it")
    names = {id: id if groups is None else groups[id] for id in truth}
    if len(set(names.values())) < 2:
        raise AnnotationError("one group only: what an id means to others can be scored for two or more of them")
    numbers = {name: number for number, name in enumerate(sorted(set(names.values())))}
    classes, clusters = _joint_numbers(truth, "truth"), _joint_numbers(labels, "labels")
    for id in truth:
        if classes[id].size != clusters[id].size:
            raise AnnotationError(
                f"recording '{id}': the truth has {classes[id].size} frames, the labels {clusters[id].size}; "
                "give one label per frame"
            )
    every = [np.full(classes[id].size, numbers[names[id]]) for id in truth]
    return _summed(
        _Cells(group, clusters[id], classes[id], np.ones_like(group)) for id, group in zip(truth, every, strict=True)
    )


def _joint_numbers(tracks: SharedTracks, what: str) -> dict[str, Index]:
    """Tracks as numbers 0, 1, ... that mean the same in all of them, in the order of the numbers or names given."""
    each = {id: t if isinstance(t, Annotation) else Annotation(t, id=f"{what} of '{id}'") for id, t in tracks.items()}
    named = {id for id, one in each.items() if one.names}
    if named and len(named) < len(each):
        other = next(id for id in each if id not in named)
        raise AnnotationError(
            f"{what}: names in the recording '{next(iter(sorted(named)))}', numbers in '{other}'; give one kind for all"
        )
    own = {id: np.array(one.names)[one.classes] if one.names else one.classes for id, one in each.items()}
    values = np.unique(np.concatenate([np.unique(track) for track in own.values()]))
    return {id: np.searchsorted(values, track).astype(np.int64) for id, track in own.items()}


def _summed(parts: Iterable[_Cells]) -> _Cells:
    """All parts as one, every cell once, sorted by group, label and class."""
    small = [_merged(part) for part in parts]  # frames go recording by recording, cells stay
    return _merged(_Cells(*(np.concatenate(column) for column in zip(*small, strict=True))))


def _merged(cells: _Cells) -> _Cells:
    order = np.lexsort((cells.classes, cells.labels, cells.groups))
    keys = np.stack(cells[:3])[:, order]
    first = np.flatnonzero(np.append(True, (np.diff(keys, axis=1) != 0).any(axis=0)))
    groups, labels, classes = keys[:, first]
    return _Cells(groups, labels, classes, np.add.reduceat(cells.frames[order], first))


def _ari(cells: _Cells) -> float:
    sizes = [np.bincount(column, weights=cells.frames).astype(np.int64) for column in (cells.classes, cells.labels)]
    return agreement_of_counts(cells.frames, *(column[column > 0] for column in sizes))


def _meaning(cells: _Cells) -> float:
    total = np.zeros((int(cells.labels.max()) + 1, int(cells.classes.max()) + 1), dtype=np.int64)
    np.add.at(total, (cells.labels, cells.classes), cells.frames)
    return 100 * float(np.mean([_share_right(cells.of_group(group), total) for group in range(cells.n_groups)]))


def _share_right(own: _Cells, total: NDArray[np.int64]) -> float:
    """Of the frames of one group, the share that is right under what its ids are in the other groups."""
    ids, rows = np.unique(own.labels, return_inverse=True)
    others = total[ids]
    others[rows, own.classes] -= own.frames  # every cell of `own` is there once
    called = np.where(others.any(axis=1), others.argmax(axis=1), -1)  # argmax takes the lowest of equals
    return float(own.frames[called[rows] == own.classes].sum() / own.frames.sum())
