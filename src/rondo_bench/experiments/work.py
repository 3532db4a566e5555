"""Task -> the rows' contents: read, label, score. What runs in a worker; it knows nothing of rows that are there."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import Labels, runs_of
from rondo.data.recording import Recording
from rondo.device import resolve_device
from rondo.errors import InputError
from rondo.many.pool import Stopwatch, in_one_line
from rondo.metrics.continual import evaluate_continual
from rondo.metrics.scores import evaluate
from rondo.model.folder import provenance_of
from rondo_bench.data_sets.read import DataSet
from rondo_bench.experiments.configured import config_of, trains_networks
from rondo_bench.experiments.inputs import read_some
from rondo_bench.experiments.labels import labels_of
from rondo_bench.experiments.plan import Task
from rondo_bench.experiments.rows import as_runs

_MOST_NOTES = 10
FOLDER = "folder"  # under which a row keeps where recordings of one's own lay
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
    failures: Mapping[str, str] = field(default_factory=dict)  # recordings that have no outcome, and why


def work(task: Task) -> Outcomes:
    """Run a task; time is that of the method alone, without reading and scoring."""
    data, failures = _read(task)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        watch = Stopwatch()
        labels, extras, details, not_labelled = _run(task, data)
        seconds, cpu_seconds = watch.seconds, watch.cpu_seconds
    notes = list(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))[:_MOST_NOTES]
    rows = []
    wanted = labels.keys() & set(task.recordings)
    for recording in (recording for recording in data.recordings if recording.id in wanted):
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
        config |= {"device": resolve_device(task.device, for_network=trains_networks(config))}
    failures |= not_labelled
    return Outcomes(tuple(rows), config, versions_in_use(), seconds, cpu_seconds, tuple(notes), failures)


def _read(task: Task) -> tuple[DataSet, dict[str, str]]:
    """What the task is about; a target of a transfer that cannot be read is a failure of its own."""
    if task.protocol != "transfer":
        ids = tuple(dict.fromkeys((*task.learned_from, *task.recordings)))
        return read_some(task.data_set, task.data, ids, task.of_set), {}
    sources = read_some(task.data_set, task.data, task.learned_from, task.of_set)
    recordings, annotations, failures = list(sources.recordings), dict(sources.annotations), {}
    for id in task.recordings:
        try:
            target = read_some(task.data_set, task.data, (id,), task.of_set)
        except InputError as error:
            failures[id] = in_one_line(error)
            continue
        recordings += target.recordings
        annotations |= target.annotations
    return DataSet(sources.name, tuple(recordings), annotations), failures


def settings_of(task: Task) -> dict[str, Any]:
    """All settings in effect, those of a task that fails too; the device is known where the work runs."""
    config = config_of(task.method, task.set_name, task.of_set, task.protocol, task.mantis)[0]
    config |= {"seed": task.seed} if task.method.preset else {}
    return config | ({FOLDER: task.data_set} if task.is_of_folder else {})


def versions_in_use() -> dict[str, str]:
    """Of Python and what Rondo stands on."""
    provenance = provenance_of([])
    return {"python": str(provenance["python"])} | dict(provenance["packages"])


Extras = dict[str, dict[str, float | None]]


def _run(task: Task, data: DataSet) -> tuple[dict[str, Labels], Extras, dict[str, dict[str, Any]], dict[str, str]]:
    """Labels by recording, scores that are not of `evaluate`, details, and why some recordings have no labels."""
    recordings = {recording.id: recording for recording in data.recordings}
    match task.protocol:
        case "static":
            return dict(zip(recordings, labels_of(task, data.recordings), strict=True)), {}, {}, {}
        case "continual":
            from rondo_bench.experiments.continual import followed

            streams = {id: followed(task, recording) for id, recording in recordings.items()}
            promoted: Extras = {
                id: {"promoted": float(sum(event.kind == "promote" for event in own.events))}
                for id, own in streams.items()
            }
            return {id: own.labels for id, own in streams.items()}, promoted, {}, {}
        case "transfer":
            labels, failures = _transferred(task, recordings)
            return labels, {}, {}, failures
        case "states":
            from rondo_bench.experiments.states import detected

            return (*detected(task, data), {}, {})
        case "qualitative":
            from rondo_bench.experiments.qualitative import inspected

            return (*inspected(task, data), {})


def _transferred(task: Task, recordings: Mapping[str, Recording]) -> tuple[dict[str, Labels], dict[str, str]]:
    """The labels of every target that has some; whatever one raises is the failure of its row alone."""
    from rondo_bench.experiments.transfer import learned

    read = learned(task, [recordings[id] for id in task.learned_from])
    labels, failures = {}, {}
    for id in (id for id in task.recordings if id in recordings):
        try:
            labels[id] = read(recordings[id])
        except Exception as error:  # noqa: BLE001  # whatever a method raises
            failures[id] = in_one_line(error)
    return labels, failures


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
