"""The progressive protocol: the first 20 % of a stream initialise, the rest is revealed, labels freeze at arrival.

No encoder has seen more than the first 20 %: that of Rondo is fitted on them (MantisV2 is frozen and has seen nothing),
as are the window statistics of DenStream and DBSTREAM and the network of Time2State@20. Values are scaled, and
projected where the set has axes, by the first 20 % for Rondo, by the whole recording for the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rondo.continual.journal import Event
from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.metrics.continual import INITIAL_PERCENT
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo_bench.baselines.base import label_recording
from rondo_bench.experiments.configured import baseline_for, level_of
from rondo_bench.experiments.labels import rondo_of
from rondo_bench.experiments.plan import Task
from rondo_bench.experiments.spec import Level


class Followed(NamedTuple):
    """Labels as they were issued, and what happened to the vocabularies meanwhile."""

    labels: Labels
    events: tuple[Event, ...]


def followed(task: Task, recording: Recording) -> Followed:
    """The stream as the method of the task follows it."""
    if task.method.baseline:
        baseline = baseline_for(task.method, task.set_name, task.of_set)
        return Followed(label_recording(recording, baseline, np.random.default_rng(task.seed)), ())
    return follow(rondo_of(task), recording, level_of(task.method, task.of_set))


def follow(model: Rondo, recording: Recording, level: Level) -> Followed:
    """Fit `model` on the first 20 % of the rows, then let it follow the rest; every row is a frame."""
    n_first = recording.n_frames * INITIAL_PERCENT // 100
    first = Recording(recording.values[:n_first], recording.rate, recording.channels, recording.id)
    known = label_one(model.fit(first), first)
    labels = np.full(recording.n_frames, OTHER, dtype=np.int32)
    labels[:n_first] = known.units if level == "unit" else known.motifs
    stream = model.stream()
    # so that the first window to be labelled ends where the first part does
    offset = max(0, n_first - model.window_length_frames_)
    reports = [stream.feed(recording.values[offset:]), stream.finish()]
    last = n_first, int(labels[n_first - 1])
    for decision in (decision for report in reports for decision in report.decisions):
        start, stop = max(n_first, decision.start_frame + offset), decision.stop_frame + offset
        own = decision.unit if level == "unit" else decision.motif
        labels[start:stop] = own
        last = stop, own
    labels[last[0] :] = last[1]
    return Followed(labels, tuple(event for report in reports for event in report.events))
