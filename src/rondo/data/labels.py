"""Label tracks: one id per frame, and the runs of equal ids in them.

OTHER is defined here, once. A *run* is a maximal stretch of equal labels, given as half-open spans.
How far two tracks are the same partition is their adjusted Rand index (Hubert & Arabie 1985).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.arrays import Ints

OTHER = -1  # the label of frames that no vocabulary entry explains

Labels = NDArray[np.int32]


class Runs(NamedTuple):
    """Maximal stretches of equal labels: `ids[i]` holds on the frames [starts[i], stops[i])."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    ids: NDArray[np.int64]

    def __len__(self) -> int:  # a NamedTuple would count its three fields
        return int(self.starts.size)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self.stops - self.starts


def runs_of(labels: ArrayLike) -> Runs:
    """The runs of a label track.

    >>> runs = runs_of([7, 7, -1, 7])
    >>> runs.starts.tolist(), runs.stops.tolist(), runs.ids.tolist()
    ([0, 2, 3], [2, 3, 4], [7, -1, 7])
    """
    track = np.asarray(labels)
    if track.size == 0:
        empty = np.zeros(0, dtype=np.int64)
        return Runs(empty, empty, empty)
    starts = np.concatenate([[0], np.flatnonzero(track[1:] != track[:-1]) + 1]).astype(np.int64)
    stops = np.append(starts[1:], track.size).astype(np.int64)
    return Runs(starts, stops, track[starts].astype(np.int64))


def from_runs(starts: ArrayLike, stops: ArrayLike, ids: ArrayLike, n_frames: int) -> Labels:
    """The label track that has these runs; frames in none of them are OTHER."""
    track = np.full(n_frames, OTHER, dtype=np.int32)
    for start, stop, label in zip(np.asarray(starts), np.asarray(stops), np.asarray(ids), strict=True):
        track[start:stop] = label
    return track


def are_one_to_one(first: Labels, second: Labels) -> bool:
    """Whether two tracks are the same under other ids, with OTHER in both at once."""
    if np.array_equal(first, second):
        return True
    begins = np.ones(first.size, dtype=np.bool_)
    begins[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    pairs = set(zip(first[begins].tolist(), second[begins].tolist(), strict=True))
    ids, others = {a for a, _ in pairs}, {b for _, b in pairs}
    return len(pairs) == len(ids) == len(others) and all((a == OTHER) == (b == OTHER) for a, b in pairs)


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
