"""The protocol of the CLaP paper: every method on every series, also scored by covering, change points, WARI and SMS.

Published methods are not run: their rows are computed from their stored labels, by the same code as all others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import Labels
from rondo.errors import AnnotationError
from rondo.metrics.overlap import Overlap
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
    return labels, {id: state_scores(data.annotations[id].classes, own, own) for id, own in labels.items()}


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


def state_scores(
    truth: NDArray[np.integer], states: NDArray[np.integer], segments: NDArray[np.integer]
) -> dict[str, float | None]:
    """In percent, the first two of segments, the last two of states."""
    of_segments, of_states = Overlap.of(truth, segments), Overlap.of(truth, states)
    return {
        "covering": 100 * covering(of_segments),
        "change_point_f1": 100 * change_point_f1(of_segments),
        "wari": 100 * weighted_adjusted_rand(of_states),
        "sms": 100 * state_matching_score(of_states),
    }
