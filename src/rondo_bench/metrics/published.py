"""Scores of the experiments beside those of `rondo.metrics`: of streams that keep coming, and of segments alone.

Of a stream: are old classes kept while new ones are found? Old classes are those seen in the first 20 % of a recording,
new ones all others. The many-to-one mapping is fitted once, on the labels of the whole stream, and held fixed; a stage
scores everything up to it. The paper says "class-level performance" and not which, so both readings are given: segment
recall and frame accuracy. Of segments: where they begin and end, whatever they are called.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rondo.metrics.overlap import Overlap, accuracy_of_classes, class_of_cluster, pieces_of
from rondo.metrics.segmental import recall_of_classes

INITIAL_PERCENT = 20
STAGES_PERCENT = (40, 60, 80, 100)


def stage_scores(truth: ArrayLike, labels: ArrayLike) -> dict[str, float | None]:
    """Of one stream, in percent: old_20, h_40 to h_100, old_100 and forgetting by segment recall, then by frames.

    H = 2 A_old A_new / (A_old + A_new), 0 if both are 0, None if no new class has occurred yet. Forgetting is
    A_old(20 %) - A_old(100 %). The labels must be those that the stream issued, without later changes.
    """
    stream = Overlap.of(truth, labels)
    prefixes = {
        percent: stream.prefix(max(1, stream.n_frames * percent // 100))
        for percent in (INITIAL_PERCENT, *STAGES_PERCENT)
    }
    mapping = class_of_cluster(stream)
    n_old = prefixes[INITIAL_PERCENT].n_classes  # classes are numbered by first appearance: the old come first
    scores: dict[str, float | None] = {}
    for reading, performance_of_classes in (("", recall_of_classes), ("frame_", accuracy_of_classes)):
        performance = {percent: performance_of_classes(own, mapping) for percent, own in prefixes.items()}
        old = {percent: float(own[:n_old].mean()) for percent, own in performance.items()}
        scores[f"{reading}old_20"] = 100 * old[INITIAL_PERCENT]
        for percent in STAGES_PERCENT:
            new = performance[percent][n_old:]
            both = old[percent] + float(new.mean()) if new.size else 0.0
            h = 2 * old[percent] * float(new.mean()) / both if both > 0 else 0.0
            scores[f"{reading}h_{percent}"] = 100 * h if new.size else None
        scores[f"{reading}old_100"] = 100 * old[100]
        scores[f"{reading}forgetting"] = 100 * (old[INITIAL_PERCENT] - old[100])
    return scores


def covering(overlap: Overlap) -> float:
    """The best IoU that each true segment finds among the predicted ones, averaged over frames.

    C = 1/T sum_A |A| max_B |A ∩ B| / |A ∪ B| over true segments A and predicted segments B (Arbelaez et al. 2011;
    van den Burg & Williams 2020).
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
    """
    true, predicted = (runs.starts[1:].tolist() for runs in (overlap.truth, overlap.labels))  # the first is no change
    if not true and not predicted:
        return 1.0
    reach, n_matched, next_free = margin * overlap.n_frames, 0, 0
    for point in true:  # in order of time, each takes the earliest that is left: no other matching has more pairs
        while next_free < len(predicted) and predicted[next_free] < point - reach:
            next_free += 1
        if next_free < len(predicted) and predicted[next_free] <= point + reach:
            n_matched, next_free = n_matched + 1, next_free + 1
    return 2 * n_matched / (len(true) + len(predicted))
