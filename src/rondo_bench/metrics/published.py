"""Scores of the experiments beside those of `rondo.metrics`: of streams that keep coming, and of segments alone.

Of a stream: are old classes kept while new ones are found? Old classes are those seen in the first 20 % of a recording,
new ones all others. The many-to-one mapping is fitted once, on the labels of the whole stream, and held fixed; a stage
scores everything up to it. The paper says "class-level performance" and not which, so both readings are given: segment
recall and frame accuracy. H is taken per recording, then averaged.

Of segments: where they begin and end, whatever they are called. Covering and F1 of change points ignore which segments
recur, so they complement ARI and AMI and replace neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.errors import AnnotationError
from rondo.metrics.overlap import Index, Overlap, accuracy_of_classes, class_of_cluster, pieces_of
from rondo.metrics.segmental import recall_of_classes

INITIAL_PERCENT = 20
STAGES_PERCENT = (40, 60, 80, 100)

ClassPerformance = Callable[[Overlap, Index], NDArray[np.float64]]


@dataclass(frozen=True)
class StageScores:
    """Scores of one recording from its start to one stage, as shares from 0 to 1."""

    percent: int  # of the frames
    old: float  # performance on the classes of the first 20 % of the recording
    new: float | None  # on the others; None if none has occurred yet

    @property
    def h(self) -> float | None:
        """H = 2 A_old A_new / (A_old + A_new), 0 if both are 0; None if `new` is None."""
        if self.new is None:
            return None
        return 2 * self.old * self.new / (self.old + self.new) if self.old + self.new > 0 else 0.0


@dataclass(frozen=True)
class ContinualScores:
    """The scores of every recording at every stage, with segment recall and frame accuracy as the performance."""

    recall: Mapping[str, tuple[StageScores, ...]]
    frame_accuracy: Mapping[str, tuple[StageScores, ...]]

    def as_dict(self) -> dict[str, dict[str, float | None]]:
        """Averages over recordings, in percent: old_20 to old_100, new_40 to new_100, h_40 to h_100 and forgetting.

        `new` and `h` are averages over recordings in which a new class has occurred by then; None without any.
        """
        return {"recall": _averages(self.recall), "frame_accuracy": _averages(self.frame_accuracy)}


def evaluate_continual(pairs: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> ContinualScores:
    """Score classes and labels of streams, by recording id: H at 40, 60, 80, 100 % of each recording, and forgetting.

    Forgetting is A_old(20 %) - A_old(100 %). The labels must be those that the stream issued, without later changes.
    """
    if not pairs:
        raise AnnotationError("there is nothing to evaluate: expected at least one recording with truth and labels")
    streams = {name: Overlap.of(truth, labels, name) for name, (truth, labels) in pairs.items()}
    return ContinualScores(
        recall={name: stages_of(stream, recall_of_classes) for name, stream in streams.items()},
        frame_accuracy={name: stages_of(stream, accuracy_of_classes) for name, stream in streams.items()},
    )


def stages_of(stream: Overlap, performance_of_classes: ClassPerformance) -> tuple[StageScores, ...]:
    """The initial stage and the later ones of one recording, each over all frames up to it."""
    mapping = class_of_cluster(stream)
    n_old = _prefix(stream, INITIAL_PERCENT).n_classes  # classes are numbered by first appearance: the old come first
    stages = []
    for percent in (INITIAL_PERCENT, *STAGES_PERCENT):
        performance = performance_of_classes(_prefix(stream, percent), mapping)
        old, new = performance[:n_old], performance[n_old:]
        stages.append(StageScores(percent, float(old.mean()), float(new.mean()) if new.size else None))
    return tuple(stages)


def _prefix(stream: Overlap, percent: int) -> Overlap:
    return stream.prefix(max(1, stream.n_frames * percent // 100))


def _averages(recordings: Mapping[str, tuple[StageScores, ...]]) -> dict[str, float | None]:
    by_stage = list(zip(*recordings.values(), strict=True))
    averages = {
        f"{name}_{stage[0].percent}": _mean_percent([getattr(one, name) for one in stage])
        for name, stages in (("old", by_stage), ("new", by_stage[1:]), ("h", by_stage[1:]))
        for stage in stages
    }
    averages["forgetting"] = _mean_percent([one[0].old - one[-1].old for one in recordings.values()])
    return averages


def _mean_percent(shares: Sequence[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return 100 * float(np.mean(known)) if known else None


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
