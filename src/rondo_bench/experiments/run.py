"""Plan -> rows that are missing -> engine -> rows. Stopped at any moment, it goes on where it stopped.

A failure is a row too: it is kept with its one line, the rest goes on, and it is tried again when that is asked for.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import Labels, runs_of
from rondo.data.recording import Recording
from rondo.device import resolve_device
from rondo.errors import InputError
from rondo.many.engine import Done, Engine, Stopwatch, in_one_line
from rondo.metrics.scores import evaluate
from rondo.model.folder import provenance_of
from rondo_bench.data_sets.read import DataSet
from rondo_bench.experiments.inputs import config_of, read_some, trains_networks
from rondo_bench.experiments.protocols import Extras, detected, followed, inspected, labels_of, learned
from rondo_bench.experiments.rows import Key, Row, RowStore, as_runs
from rondo_bench.experiments.tasks import Costs, Plan, Task
from rondo_bench.metrics.published import evaluate_continual


@dataclass(frozen=True)
class Pending:
    """What is left of a plan, the longest first, so that no worker is left alone with it at the end."""

    tasks: tuple[Task, ...]
    seconds: tuple[float, ...]  # of each task, expected
    n_rows: int  # that the plan has
    n_ok: int
    n_failed: int  # of which these tasks try again only those that were asked for

    @property
    def n_missing(self) -> int:
        return sum(len(task.recordings) for task in self.tasks)


@dataclass(frozen=True)
class Told:
    """A row that has just been written, and how far the run is."""

    row: Row
    n_done: int
    n_total: int
    left_s: float


def made_under_other_names(plan: Plan, rows: Sequence[Row]) -> list[Row]:
    """Rows of the plan that are there as those of another experiment or method with the same settings.

    The published chain is a row of `static`, of `ablation` and, as TS2Vec, of `representation`: it is run once.
    """
    good = [row for row in rows if row.is_ok]
    made = {_without_names(row.key): row for row in good}
    there = {row.key for row in good}
    missing = [key for task in plan.tasks for key in task.keys if key not in there]
    return [replace(made[_without_names(key)], key=key) for key in missing if _without_names(key) in made]


def _without_names(key: Key) -> Key:
    """What decides on the labels; the fingerprint speaks for the protocol and every setting."""
    return key._replace(experiment="", method="")


def made_from_other_folders(plan: Plan, rows: Sequence[Row], out: Path) -> list[str]:
    """A folder of one's own goes by its name; rows of another one that is called so would be taken for its rows."""
    folders = {task.set_name: task.data_set for task in plan.tasks if task.is_of_folder}
    others = {
        (row.key.data_set, str(row.config[FOLDER]))
        for row in rows
        if FOLDER in row.config and folders.get(row.key.data_set, row.config[FOLDER]) != row.config[FOLDER]
    }
    return [
        f"rows of '{name}' in {out} were made from {folder}, this is {folders[name]}; if these are other recordings, "
        "give another --out"
        for name, folder in sorted(others)
    ]


def pending(plan: Plan, rows: Sequence[Row], retry: bool = False) -> Pending:
    """Tasks with the rows that are not there; with `retry` also those that failed."""
    status = {row.key: row.status for row in rows}
    costs = Costs(rows)
    left = []
    for task in plan.tasks:
        wanted = [key for key in task.keys if key not in status or (retry and status[key] != "ok")]
        if wanted:
            left.append(task.only(wanted))
    keys = [key for task in plan.tasks for key in task.keys]
    by_length = sorted(((costs.seconds(task), task) for task in left), key=lambda own: -own[0])
    n_ok, n_failed = (sum(status.get(key) == kind for key in keys) for kind in ("ok", "failed"))
    tasks = tuple(task for _, task in by_length)
    return Pending(tasks, tuple(seconds for seconds, _ in by_length), len(keys), n_ok, n_failed)


def run(left: Pending, store: RowStore, engine: Engine, told: Callable[[Told], None]) -> int:
    """Run what is left and write its rows as they come; how many of them failed."""
    began, n_done, n_failed, seconds_done = time.monotonic(), 0, 0, 0.0
    seconds_in_all, n_total = sum(left.seconds), left.n_missing
    for done in engine.run(work, left.tasks):
        task = left.tasks[done.index]
        rows = rows_of(task, done)
        store.add(rows)
        seconds_done += left.seconds[done.index]
        # Sums of the same numbers in another order differ by rounding: never less than nothing.
        left_s = (time.monotonic() - began) * max(0.0, seconds_in_all - seconds_done) / seconds_done
        for row in rows:
            n_done, n_failed = n_done + 1, n_failed + (not row.is_ok)
            told(Told(row, n_done, n_total, left_s))
    return n_failed


def rows_of(task: Task, done: Done[Outcomes]) -> list[Row]:
    """The rows of a task that has ended; time is shared out by frames."""
    finished = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def failed(key: Key, why: str, seconds: float = 0.0, cpu_seconds: float = 0.0) -> Row:
        of_method = (settings_of(task), versions_in_use(), seconds, cpu_seconds, done.peak_mb, finished)
        return Row(key, "failed", why, {}, {}, {}, {}, *of_method)

    outcomes, no_result = done.result, "it gave no result"
    if outcomes is None:
        n_rows = len(task.keys)
        took = done.seconds / n_rows, done.cpu_seconds / n_rows
        return [failed(key, done.failure or no_result, *took) for key in task.keys]
    n_frames = sum(own.counts["n_frames"] for own in outcomes.rows)
    by_recording = {own.recording: own for own in outcomes.rows}
    rows = []
    for key in task.keys:
        if key.recording not in by_recording:
            rows.append(failed(key, outcomes.failures.get(key.recording, no_result)))
            continue
        own = by_recording[key.recording]
        share = own.counts["n_frames"] / n_frames
        took = outcomes.seconds * share, outcomes.cpu_seconds * share
        odd = [name for name, value in own.scores.items() if value is not None and not math.isfinite(value)]
        if odd:  # no row could say it, and a mean with it would be none
            rows.append(failed(key, f"a number in this row is not finite ({', '.join(odd)})", *took))
            continue
        details = dict(own.details) | ({"notes": list(outcomes.notes)} if outcomes.notes else {})
        of_method = (outcomes.config, outcomes.versions, *took, done.peak_mb, finished)
        rows.append(Row(key, "ok", "", own.scores, own.clock, own.counts, details, *of_method))
    return rows


# ---------------------------------------------------------------- in a worker


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
    data, failures = _read_task(task)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        watch = Stopwatch()
        labels, extras, details, not_labelled = _labels_of_task(task, data)
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
            row = replace(row, details=kept)
        elif task.protocol == "continual":
            stages = evaluate_continual({recording.id: (truth, labels[recording.id])}).as_dict()
            by_frames = {f"frame_{name}": stages["frame_accuracy"][name] for name in STAGES}
            scores = {**row.scores, **{name: stages["recall"][name] for name in STAGES}, **by_frames}
            row = replace(row, scores=scores)
        rows.append(row)
    config = settings_of(task)
    if task.method.preset:
        config |= {"device": resolve_device(task.device, for_network=trains_networks(config))}
    failures |= not_labelled
    return Outcomes(tuple(rows), config, versions_in_use(), seconds, cpu_seconds, tuple(notes), failures)


def _read_task(task: Task) -> tuple[DataSet, dict[str, str]]:
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


def _labels_of_task(
    task: Task, data: DataSet
) -> tuple[dict[str, Labels], Extras, dict[str, dict[str, Any]], dict[str, str]]:
    """Labels by recording, scores that are not of `evaluate`, details, and why some recordings have no labels."""
    recordings = {recording.id: recording for recording in data.recordings}
    match task.protocol:
        case "static":
            return dict(zip(recordings, labels_of(task, data.recordings), strict=True)), {}, {}, {}
        case "continual":
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
            return (*detected(task, data), {}, {})
        case "qualitative":
            return (*inspected(task, data), {})


def _transferred(task: Task, recordings: Mapping[str, Recording]) -> tuple[dict[str, Labels], dict[str, str]]:
    """The labels of every target that has some; whatever one raises is the failure of its row alone."""
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
