"""Segment scores after the many-to-one mapping: which segments were found, in which order, how exactly.

Truth segments are the runs of the annotation; predicted segments are mapped and merged first (`mapped_runs`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from rondo.data.labels import Runs
from rondo.metrics.overlap import Index, Overlap, pieces_of


def recall(overlap: Overlap, mapping: Index) -> float:
    """Discovery recall: the mean over the classes present of `recall_of_classes`."""
    return float(recall_of_classes(overlap, mapping).mean())


def recall_of_classes(overlap: Overlap, mapping: Index) -> NDArray[np.float64]:
    """For each class (n_classes,), the share of its segments with the right mapped label on at least half."""
    pieces = overlap.pieces
    mapped = mapping[overlap.labels.ids[pieces.second]]
    correct = mapped == overlap.truth.ids[pieces.first]
    correct_frames = np.bincount(pieces.first[correct], weights=pieces.frames[correct], minlength=len(overlap.truth))
    found = 2 * correct_frames >= overlap.truth.lengths
    return np.bincount(overlap.truth.ids, weights=found) / np.bincount(overlap.truth.ids)


def edit(truth: Runs, predicted: Runs) -> float:
    """1 - Levenshtein(S, Ŝ) / max(|S|, |Ŝ|) between the class sequences of two merged run sequences."""
    distance = Levenshtein.distance(truth.ids.tolist(), predicted.ids.tolist())
    return 1.0 - distance / max(len(truth), len(predicted))


class SegmentMatches(NamedTuple):
    """Intersection and union, in frames, of each matched pair, and how many segments there were."""

    intersections: Index
    unions: Index
    n_true: int
    n_predicted: int


def match_segments(truth: Runs, predicted: Runs) -> SegmentMatches:
    """Match merged segments of equal class one to one: the pair of best IoU first, then the next best.

    Equal IoUs are taken in order of time. As pairs are taken from the best downwards, a threshold only drops
    the last of them: one matching serves F1 at every threshold.
    """
    pieces = pieces_of(truth, predicted)  # two segments meet in one piece at most, as both are contiguous
    same_class = truth.ids[pieces.first] == predicted.ids[pieces.second]
    segment, candidate, intersection = (column[same_class] for column in pieces)
    union = truth.lengths[segment] + predicted.lengths[candidate] - intersection
    best_first = np.argsort(-intersection / union, kind="stable")
    free_true, free_predicted = [True] * len(truth), [True] * len(predicted)
    matched = []
    for pair in best_first.tolist():
        i, j = int(segment[pair]), int(candidate[pair])
        if free_true[i] and free_predicted[j]:
            free_true[i] = free_predicted[j] = False
            matched.append(pair)
    kept = np.array(matched, dtype=np.int64)
    return SegmentMatches(intersection[kept], union[kept], len(truth), len(predicted))


def f1(matches: SegmentMatches, iou_percent: int) -> float:
    """Segmental F1: matches of IoU >= threshold against all true and all predicted segments."""
    n_matched = int((100 * matches.intersections >= iou_percent * matches.unions).sum())
    return 2 * n_matched / (matches.n_true + matches.n_predicted)
