"""Many-to-one: every cluster is read as the class it overlaps most, recording by recording."""

from __future__ import annotations

import numpy as np

from rondo.data.labels import Runs
from rondo.metrics.overlap import Index, Overlap


def class_of_cluster(overlap: Overlap) -> Index:
    """The mapping π (n_clusters,): π(c) = argmax over classes y of the frames that c shares with y.

    A tie goes to the class that appears first in the recording.

    >>> class_of_cluster(Overlap.of([0, 0, 0, 1, 1], [5, 5, 6, 6, 6])).tolist()
    [0, 1]
    """
    cells = overlap.contingency
    best_first = np.lexsort((cells.classes, -cells.frames, cells.clusters))
    _, first_of_cluster = np.unique(cells.clusters[best_first], return_index=True)
    return cells.classes[best_first][first_of_cluster]


def mapped_runs(overlap: Overlap, mapping: Index) -> Runs:
    """The predicted runs read through `mapping`; neighbours that become the same class are merged.

    >>> overlap = Overlap.of([0, 0, 0, 1], [5, 6, 5, 7])
    >>> mapped_runs(overlap, class_of_cluster(overlap)).stops.tolist()
    [3, 4]
    """
    classes = mapping[overlap.labels.ids]
    changes = np.flatnonzero(np.diff(classes, prepend=-1))
    starts = overlap.labels.starts[changes]
    return Runs(starts, np.append(starts[1:], overlap.n_frames), classes[changes])
