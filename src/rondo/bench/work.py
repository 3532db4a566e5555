"""Task -> the rows' contents: read, label, score. What runs in a worker; it knows nothing of rows that are there."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.bench.configured import config_of
from rondo.bench.inputs import read_some
from rondo.bench.labels import labels_of
from rondo.bench.plan import Task
from rondo.bench.tracks import as_runs
from rondo.data.labels import Labels, runs_of
from rondo.data.recording import Recording
from rondo.data.sources.read import DataSet
from rondo.engine.measure import Stopwatch
from rondo.metrics import evaluate, evaluate_continual
from rondo.provenance import provenance_of
from rondo.training.device import resolve_device

_MOST_NOTES = 10
STAGES = ("old_20", "h_40", "h_60", "h_80", "h_100", "old_100", "forgetting")


@dataclass(frozen=True)
class Outcome:
    """One recording: scores beside the clock, counts, and what a figure needs."""

    recording: str
    scores: Mapping[str, float | None]
    clock: Mapping[str, float]
    counts: Mapping[str, int]
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcomes:
    """What a task gives: one outcome for each of its recordings, and what the method took for all of them."""

    rows: tuple[Outcome, ...]
    config: Mapping[str, Any]
    versions: Mapping[str, str]
    seconds: float
    cpu_seconds: float
    notes: tuple[str, ...] = ()  # what the method warned of


def work(task: Task) -> Outcomes:
    """Run a task; time is that of the method alone, without reading and scoring."""
    ids = tuple(dict.fromkeys((*task.learned_from, *task.recordings)))
    data = read_some(task.data_set, task.data, ids, task.of_set)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        watch = Stopwatch()
        labels, extras, details = _run(task, data)
        seconds, cpu_seconds = watch.seconds, watch.cpu_seconds
    notes = list(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))[:_MOST_NOTES]
    rows = []
    for recording in (recording for recording in data.recordings if recording.id in task.recordings):
        truth = data.annotations[recording.id].classes
        row = outcome(recording, truth, labels[recording.id], extras.get(recording.id, {}))
        if task.protocol == "qualitative":
            own = details.get(recording.id, {})
            names = data.annotations[recording.id].names
            kept = {"truth": as_runs(truth), "labels": as_runs(labels[recording.id]), "classes": list(names)} | own
            row = Outcome(row.recording, row.scores, row.clock, row.counts, kept)
        elif task.protocol == "continual":
            stages = evaluate_continual({recording.id: (truth, labels[recording.id])}).as_dict()
            by_frames = {f"frame_{name}": stages["frame_accuracy"][name] for name in STAGES}
            scores = {**row.scores, **{name: stages["recall"][name] for name in STAGES}, **by_frames}
            row = Outcome(row.recording, scores, row.clock, row.counts)
        rows.append(row)
    config = settings_of(task)
    if task.method.preset:
        config |= {"device": str(resolve_device(task.device))}
    return Outcomes(tuple(rows), config, versions_in_use(), seconds, cpu_seconds, tuple(notes))


def settings_of(task: Task) -> dict[str, Any]:
    """All settings in effect, those of a task that fails too; the device is known where the work runs."""
    config = config_of(task.method, task.set_name, task.of_set, task.protocol, task.mantis)[0]
    return config | ({"seed": task.seed} if task.method.preset else {})


def versions_in_use() -> dict[str, str]:
    """Of Python and what Rondo stands on."""
    provenance = provenance_of([])
    return {"python": str(provenance["python"])} | dict(provenance["packages"])


Extras = dict[str, dict[str, float | None]]


def _run(task: Task, data: DataSet) -> tuple[dict[str, Labels], Extras, dict[str, dict[str, Any]]]:
    """Labels by recording, scores that are not of `evaluate`, and details."""
    recordings = {recording.id: recording for recording in data.recordings}
    match task.protocol:
        case "static":
            return dict(zip(recordings, labels_of(task, data.recordings), strict=True)), {}, {}
        case "continual":
            from rondo.bench.continual import followed

            streams = {id: followed(task, recording) for id, recording in recordings.items()}
            promoted: Extras = {
                id: {"promoted": float(sum(event.kind == "promote" for event in own.events))}
                for id, own in streams.items()
            }
            return {id: own.labels for id, own in streams.items()}, promoted, {}
        case "transfer":
            from rondo.bench.transfer import transferred

            sources = [recordings[id] for id in task.learned_from]
            targets = [recordings[id] for id in task.recordings]
            return dict(zip(task.recordings, transferred(task, sources, targets), strict=True)), {}, {}
        case "qualitative":
            from rondo.bench.qualitative import inspected

            return inspected(task, data)


def outcome(
    recording: Recording, truth: NDArray[np.int64], labels: Labels, extra: Mapping[str, float | None]
) -> Outcome:
    """The scores of one recording."""
    scored = evaluate({recording.id: (truth, labels)})
    counts = {
        "n_frames": recording.n_frames,
        "n_channels": recording.n_channels,
        "n_segments": len(runs_of(labels)),
        "n_true_segments": len(runs_of(truth)),
    }
    return Outcome(recording.id, scored.average.as_dict() | dict(extra), scored.clock.as_dict(), counts)
