"""Frame scores after the many-to-one mapping."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.metrics.overlap import Index, Overlap


def mof(overlap: Overlap, mapping: Index) -> float:
    """Mean over frames: the share of frames whose mapped label is the true class.

    >>> from rondo.metrics.mapping import class_of_cluster
    >>> overlap = Overlap.of([0, 0, 0, 1], [5, 5, 6, 6])
    >>> mof(overlap, class_of_cluster(overlap))
    0.75
    """
    return float(_correct_frames(overlap, mapping).sum() / overlap.n_frames)


def accuracy_of_classes(overlap: Overlap, mapping: Index) -> NDArray[np.float64]:
    """For each class (n_classes,), the share of its frames whose mapped label is right."""
    return _correct_frames(overlap, mapping) / np.bincount(overlap.truth.ids, weights=overlap.truth.lengths)


def _correct_frames(overlap: Overlap, mapping: Index) -> Index:
    cells = overlap.contingency
    correct = mapping[cells.clusters] == cells.classes
    frames = np.bincount(cells.classes[correct], weights=cells.frames[correct], minlength=overlap.n_classes)
    return frames.astype(np.int64)
