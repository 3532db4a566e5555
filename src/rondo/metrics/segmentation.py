"""Scores of segmentation alone: where segments begin and end, whatever they are called.

Both read the runs of a track and ignore which of them recur, so they complement ARI and AMI and replace neither.
"""

from __future__ import annotations

import numpy as np

from rondo.data.labels import Runs
from rondo.metrics.overlap import Overlap, pieces_of


def covering(overlap: Overlap) -> float:
    """The best IoU that each true segment finds among the predicted ones, averaged over frames.

    C = 1/T sum_A |A| max_B |A ∩ B| / |A ∪ B| over true segments A and predicted segments B (Arbelaez et al. 2011;
    van den Burg & Williams 2020).

    >>> covering(Overlap.of([0, 0, 0, 0, 1, 1], [5, 5, 6, 6, 6, 6]))
    0.5
    """
    truth, labels = overlap.truth, overlap.labels
    pieces = pieces_of(truth, labels)  # two segments meet in one piece at most, as both are contiguous
    unions = truth.lengths[pieces.first] + labels.lengths[pieces.second] - pieces.frames
    best = np.zeros(len(truth))
    np.maximum.at(best, pieces.first, pieces.frames / unions)
    return float((best * truth.lengths).sum() / overlap.n_frames)


def change_point_f1(overlap: Overlap, margin: float = 0.01) -> float:
    """F1 of change points; one is found if a predicted one lies within `margin` of the recording's length.

    True and predicted change points are matched one to one. The first frame is no change point, and where neither
    track changes the score is 1.

    >>> change_point_f1(Overlap.of([0] * 50 + [1] * 50, [0] * 51 + [1] * 39 + [2] * 10))
    0.6666666666666666
    """
    true, predicted = _change_points(overlap.truth), _change_points(overlap.labels)
    if not true and not predicted:
        return 1.0
    reach, n_matched, next_free = margin * overlap.n_frames, 0, 0
    for point in true:  # in order of time, each takes the earliest that is left: no other matching has more pairs
        while next_free < len(predicted) and predicted[next_free] < point - reach:
            next_free += 1
        if next_free < len(predicted) and predicted[next_free] <= point + reach:
            n_matched, next_free = n_matched + 1, next_free + 1
    return 2 * n_matched / (len(true) + len(predicted))


def _change_points(runs: Runs) -> list[int]:
    starts: list[int] = runs.starts[1:].tolist()
    return starts
