"""Truth and labels of one recording laid over each other: what every score is computed from.

After one pass over the frames only runs are left, and the *pieces* on which neither track changes: three
million frames with 25,000 segments cost 25,000 pieces, whatever the score.

The many-to-one mapping reads every cluster as the class it overlaps most, recording by recording; MoF is its score.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.annotations.annotation import classes_of
from rondo.data.labels import Runs, runs_of
from rondo.errors import AnnotationError

Index = NDArray[np.int64]


class Pieces(NamedTuple):
    """Stretches on which neither of two tracks changes: piece i is in runs `first[i]` and `second[i]`."""

    first: Index
    second: Index
    frames: Index


class Contingency(NamedTuple):
    """Frames shared by class `classes[i]` and cluster `clusters[i]`; pairs that never meet are left out."""

    classes: Index
    clusters: Index
    frames: Index


@dataclass(frozen=True, eq=False)
class Overlap:
    """One recording's ground-truth segments and predicted runs on the same frames.

    Classes and clusters are numbered 0, 1, ... in order of first appearance. No score can therefore depend on
    how they were named, ties fall to the class that appears first, and the classes of a prefix come first.

    >>> overlap = Overlap.of(["sit", "sit", "walk", "walk"], [7, 7, 7, -1])
    >>> overlap.truth.ids.tolist(), overlap.labels.ids.tolist(), overlap.pieces.frames.tolist()
    ([0, 1], [0, 1], [2, 1, 1])
    """

    truth: Runs
    labels: Runs

    @classmethod
    def of(cls, truth: ArrayLike, labels: ArrayLike, recording: str = "recording") -> Overlap:
        """From two tracks (n_frames,) of classes and labels; strings or whole numbers, in any order."""
        classes = classes_of(truth, f"truth of '{recording}'")
        clusters = classes_of(labels, f"labels of '{recording}'")
        if classes.size != clusters.size:
            raise AnnotationError(
                f"recording '{recording}': the truth has {classes.size} frames, the labels {clusters.size}; "
                "give one label per frame"
            )
        return cls.of_runs(runs_of(classes), runs_of(clusters))

    @classmethod
    def of_runs(cls, truth: Runs, labels: Runs) -> Overlap:
        """From runs that cover the same frames."""
        return cls(_renumbered(truth), _renumbered(labels))

    @property
    def n_frames(self) -> int:
        return int(self.truth.stops[-1])

    @property
    def n_classes(self) -> int:
        return int(self.truth.ids.max()) + 1

    @property
    def n_clusters(self) -> int:
        return int(self.labels.ids.max()) + 1

    @cached_property
    def pieces(self) -> Pieces:
        """`first` points into `truth`, `second` into `labels`."""
        return pieces_of(self.truth, self.labels)

    @cached_property
    def contingency(self) -> Contingency:
        """Cells in order of cluster, then of class."""
        classes = self.truth.ids[self.pieces.first]
        clusters = self.labels.ids[self.pieces.second]
        cells, cell_of_piece = np.unique(clusters * self.n_classes + classes, return_inverse=True)
        frames = np.zeros(cells.size, dtype=np.int64)
        np.add.at(frames, cell_of_piece, self.pieces.frames)
        return Contingency(cells % self.n_classes, cells // self.n_classes, frames)

    def prefix(self, n_frames: int) -> Overlap:
        """The first `n_frames` frames alone, classes and clusters keeping their numbers."""
        return Overlap(_cut(self.truth, n_frames), _cut(self.labels, n_frames))


def pieces_of(first: Runs, second: Runs) -> Pieces:
    """Cut two run sequences over the same frames wherever either of them changes."""
    starts = np.union1d(first.starts, second.starts)
    return Pieces(
        np.searchsorted(first.starts, starts, side="right") - 1,
        np.searchsorted(second.starts, starts, side="right") - 1,
        np.diff(starts, append=first.stops[-1]),
    )


def _renumbered(runs: Runs) -> Runs:
    _, first_seen, code = np.unique(runs.ids, return_index=True, return_inverse=True)
    rank = np.empty(first_seen.size, dtype=np.int64)
    rank[np.argsort(first_seen)] = np.arange(first_seen.size)
    return Runs(runs.starts, runs.stops, rank[code])


def _cut(runs: Runs, n_frames: int) -> Runs:
    n_runs = int(np.searchsorted(runs.starts, n_frames))
    return Runs(runs.starts[:n_runs], np.minimum(runs.stops[:n_runs], n_frames), runs.ids[:n_runs])


def class_of_cluster(overlap: Overlap) -> Index:
    """The mapping π (n_clusters,): π(c) = argmax over classes y of the frames that c shares with y.

    A tie goes to the class that appears first in the recording.
    """
    cells = overlap.contingency
    best_first = np.lexsort((cells.classes, -cells.frames, cells.clusters))
    _, first_of_cluster = np.unique(cells.clusters[best_first], return_index=True)
    return cells.classes[best_first][first_of_cluster]


def mapped_runs(overlap: Overlap, mapping: Index) -> Runs:
    """The predicted runs read through `mapping`; neighbours that become the same class are merged."""
    classes = mapping[overlap.labels.ids]
    changes = np.flatnonzero(np.diff(classes, prepend=-1))
    starts = overlap.labels.starts[changes]
    return Runs(starts, np.append(starts[1:], overlap.n_frames), classes[changes])


def mof(overlap: Overlap, mapping: Index) -> float:
    """Mean over frames: the share of frames whose mapped label is the true class."""
    return float(_correct_frames(overlap, mapping).sum() / overlap.n_frames)


def accuracy_of_classes(overlap: Overlap, mapping: Index) -> NDArray[np.float64]:
    """For each class (n_classes,), the share of its frames whose mapped label is right."""
    return _correct_frames(overlap, mapping) / np.bincount(overlap.truth.ids, weights=overlap.truth.lengths)


def _correct_frames(overlap: Overlap, mapping: Index) -> Index:
    cells = overlap.contingency
    correct = mapping[cells.clusters] == cells.classes
    frames = np.bincount(cells.classes[correct], weights=cells.frames[correct], minlength=overlap.n_classes)
    return frames.astype(np.int64)
