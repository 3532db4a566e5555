"""Scores of states in time (Chavelli et al., NeurIPS 2025, arXiv 2510.23261): where an error lies, and of which kind.

ARI and one-to-one accuracy count frames, wherever they are. A change that is found some frames late and a burst of a
foreign label in the middle of a segment can cost them the same; here the second costs more. Constants and conventions
are those of the authors' package `tsseg-eval` 0.1.4.
"""

from __future__ import annotations

import numpy as np

from rondo.arrays import Floats
from rondo.metrics.overlap import Index, Overlap
from rondo.metrics.recurrence import partners

SLOPE = 0.1  # of a frame's weight, for each frame between it and the nearest change
DELAY, TRANSITION, ISOLATION, MISSING = 0.1, 0.3, 0.8, 0.5  # what an error costs beside its frames, by its kind


def weighted_adjusted_rand(overlap: Overlap, slope: float = SLOPE) -> float:
    """WARI: the adjusted Rand index with frame t counted 1 + slope * d(t) times.

    d(t) is the number of frames from t to the nearest end of its true segment: 0 on both sides of a change. With
    weights W in all, and S, A, B the squared weights of cells, classes and clusters summed, pairs are S - W, A - W,
    B - W and W² - W, as with frames in ARI; a slope of 0 is ARI.

    >>> truth = [0] * 6 + [1] * 6
    >>> late, burst = [0] * 7 + [1] * 5, [0] * 3 + [1] + [0] * 2 + [1] * 6
    >>> [round(weighted_adjusted_rand(Overlap.of(truth, labels)), 3) for labels in (late, burst)]
    [0.696, 0.641]
    """
    classes, clusters = overlap.truth.ids[overlap.pieces.first], overlap.labels.ids[overlap.pieces.second]
    table = np.zeros((overlap.n_clusters, overlap.n_classes))
    np.add.at(table, (clusters, classes), _weights(overlap, slope))
    if np.count_nonzero(table) == overlap.n_classes == overlap.n_clusters:
        return 1.0
    total = float(table.sum())
    both, left, right = (float((sums**2).sum()) - total for sums in (table, table.sum(axis=0), table.sum(axis=1)))
    pairs = total * (total - 1)
    return 2 * (both * pairs - left * right) / ((left + right) * pairs - 2 * left * right)


def _weights(overlap: Overlap, slope: float) -> Floats:
    """Of all frames of each piece: its frames, and slope times the sum of their distances."""
    pieces, truth = overlap.pieces, overlap.truth
    stops = np.cumsum(pieces.frames)
    lengths, offsets = truth.lengths[pieces.first], truth.starts[pieces.first]
    distances = _distances_before(stops - offsets, lengths) - _distances_before(
        stops - pieces.frames - offsets, lengths
    )
    return pieces.frames + slope * distances


def _distances_before(frames: Index, length: Index) -> Index:
    """The sum of min(j, length - 1 - j) over the first j < frames of a segment; the second half mirrors the first."""
    mirrored = length - frames
    rising, falling = frames * (frames - 1) // 2, (length - 1) ** 2 // 4 - mirrored * (mirrored - 1) // 2
    return np.where(frames <= (length + 1) // 2, rising, falling)


def state_matching_score(overlap: Overlap) -> float:
    """SMS: 1 - (wrong frames + what their errors cost) / all frames, each class read as its one-to-one partner.

    An error is a stretch of wrong frames under one cluster. Of n frames, s of them in the error and d from its middle
    to the nearest true change (the ends count as changes):

        delay       within one segment, the cluster being right just before or after it      0.1 s
        isolation   within one segment otherwise                                             0.8 s · 2d/n
        transition  over one change                                                          0.3 s · 2d/n
        missing     over k - 1 > 1 changes                                                   0.5 s (1 - 0.5 · 3/k)

    1 for the same states, below 0 where almost nothing is right.

    >>> truth = [0] * 6 + [1] * 6
    >>> late, burst = [0] * 7 + [1] * 5, [0] * 3 + [1] + [0] * 2 + [1] * 6
    >>> [round(state_matching_score(Overlap.of(truth, labels)), 3) for labels in (late, burst)]
    [0.908, 0.883]
    """
    truth, labels, pieces = overlap.truth, overlap.labels, overlap.pieces
    wrong = np.flatnonzero(partners(overlap)[truth.ids[pieces.first]] != labels.ids[pieces.second])
    if not wrong.size:
        return 1.0
    stops = np.cumsum(pieces.frames)
    runs = pieces.second[wrong]
    begins = np.append(True, (np.diff(wrong) > 1) | (np.diff(runs) > 0))
    first = np.flatnonzero(begins)
    last = np.append(first[1:], wrong.size) - 1
    start, stop = (stops - pieces.frames)[wrong[first]], stops[wrong[last]]
    n_segments = last - first + 1  # a run meets a true segment in one piece
    goes_on = (start > labels.starts[runs[first]]) | (stop < labels.stops[runs[first]])
    share = 2 * _to_nearest_change(overlap, (start + stop - 1) / 2) / overlap.n_frames
    cost = np.select(
        [n_segments > 2, n_segments == 2, goes_on],
        [MISSING * (1 + (MISSING - 1) * 3 / n_segments), TRANSITION * share, np.full(share.size, DELAY)],
        ISOLATION * share,
    )
    return float(1 - ((stop - start) * (1 + cost)).sum() / overlap.n_frames)


def _to_nearest_change(overlap: Overlap, middle: Floats) -> Floats:
    changes = np.append(overlap.truth.starts, overlap.n_frames)
    after = np.searchsorted(changes, middle, side="right")  # the first is 0, the last beyond every middle
    nearest: Floats = np.minimum(middle - changes[after - 1], changes[after] - middle)
    return nearest
