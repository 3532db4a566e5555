"""The protocol of the CLaP paper: every method on every series, also scored by covering, change points, WARI and SMS.

Where one vocabulary is learned over all recordings of a set (`joint`), its scores over all frames together come too.
Published methods are not run: their rows are computed from their stored labels, by the same code as all others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import Labels
from rondo.errors import AnnotationError
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import (
    adjusted_mutual_information,
    adjusted_rand,
    normalised_mutual_information,
    one_to_one,
)
from rondo.metrics.segmentation import change_point_f1, covering
from rondo.metrics.states import state_matching_score, weighted_adjusted_rand
from rondo_bench.baselines.base import in_order_of_appearance
from rondo_bench.data_sets.clap_labels import find_labels, read_labels
from rondo_bench.data_sets.read import DataSet
from rondo_bench.experiments.labels import labels_of
from rondo_bench.experiments.plan import Task

Extras = dict[str, dict[str, float | None]]


def detected(task: Task, data: DataSet) -> tuple[dict[str, Labels], Extras]:
    """The labels of each recording, and the scores that `evaluate` does not have."""
    if task.method.stored:
        return _stored(task, data)
    labels = dict(zip((own.id for own in data.recordings), labels_of(task, data.recordings), strict=True))
    extras = {id: state_scores(data.annotations[id].classes, own, own) for id, own in labels.items()}
    if task.method.joint:
        pooled = pooled_scores([(data.annotations[id].classes, own) for id, own in labels.items()])
        extras = {id: own | pooled for id, own in extras.items()}
    return labels, extras


def _stored(task: Task, data: DataSet) -> tuple[dict[str, Labels], Extras]:
    path = find_labels(task.set_name, task.method.stored, task.data)
    if path is None:
        raise AnnotationError(f"the labels of {task.method.stored} on {task.set_name} are no longer in {task.data}")
    labels: dict[str, Labels] = {}
    extras: Extras = {}
    for id in (own.id for own in data.recordings):
        truth = data.annotations[id].classes
        stored = read_labels(path, id, truth)
        labels[id] = in_order_of_appearance(stored.states)  # as stored they may be any numbers
        extras[id] = state_scores(truth, stored.states, stored.segments)
    return labels, extras


def pooled_scores(tracks: Sequence[tuple[NDArray[np.integer], NDArray[np.integer]]]) -> dict[str, float | None]:
    """In percent, over the frames of all recordings together: classes and labels must mean the same in each."""
    truth, labels = (np.concatenate(own) for own in zip(*tracks, strict=True))
    overlap = Overlap.of(truth, labels)
    return {
        "pooled_ari": 100 * adjusted_rand(overlap),
        "pooled_ami": 100 * adjusted_mutual_information(overlap),
        "pooled_one_to_one": 100 * one_to_one(overlap),
    }


def state_scores(
    truth: NDArray[np.integer], states: NDArray[np.integer], segments: NDArray[np.integer]
) -> dict[str, float | None]:
    """In percent, the first two of segments, the others of states."""
    of_segments, of_states = Overlap.of(truth, segments), Overlap.of(truth, states)
    return {
        "covering": 100 * covering(of_segments),
        "change_point_f1": 100 * change_point_f1(of_segments),
        "wari": 100 * weighted_adjusted_rand(of_states),
        "sms": 100 * state_matching_score(of_states),
        "nmi": 100 * normalised_mutual_information(of_states),
    }
