"""Plan -> rows that are missing -> engine -> rows. Stopped at any moment, it continues where it stopped.

A failure is a row too: it is kept with its one line, the others continue, and `--retry` runs it again.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from rondo.data.labels import runs_of
from rondo.device import resolve_device
from rondo.errors import InputError
from rondo.many.engine import Done, Engine, Stopwatch, in_one_line
from rondo.metrics.scores import evaluate
from rondo_bench.data_sets.read import DataSet
from rondo_bench.experiments.devices import device_in_use, versions_in_use
from rondo_bench.experiments.inputs import config_of, read_some, trains_networks
from rondo_bench.experiments.protocols import Track, Tracks, tracks_of
from rondo_bench.experiments.rows import Key, Row, RowStore, as_runs
from rondo_bench.experiments.tasks import Plan, Task, expected_seconds
from rondo_bench.metrics.published import stage_scores

FOLDER = "folder"  # under which a row keeps where recordings of one's own lay
_MOST_NOTES = 10


class Pending(NamedTuple):
    """What is left of a plan, the longest first, so that no worker is left alone with it at the end."""

    tasks: tuple[Task, ...]
    seconds: tuple[float, ...]  # of each task, expected
    n_rows: int  # that the plan has
    n_ok: int
    n_failed: int  # of which these tasks try again only those that were asked for

    @property
    def n_missing(self) -> int:
        return sum(len(task.recordings) for task in self.tasks)


def made_under_other_names(plan: Plan, rows: Sequence[Row]) -> list[Row]:
    """Rows of the plan that are there as those of another experiment or method with the same settings.

    The published chain is a row of `static`, of `ablation` and, as TS2Vec, of `representation`: it is run once. The
    fingerprint speaks for the protocol and every setting.
    """
    made = {row.key._replace(experiment="", method=""): row for row in rows if row.is_ok}
    there = {row.key for row in rows if row.is_ok}
    missing = {key: key._replace(experiment="", method="") for task in plan.tasks for key in task.keys}
    return [replace(made[own], key=key) for key, own in missing.items() if key not in there and own in made]


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
    left = []
    for task in plan.tasks:
        wanted = [key for key in task.keys if key not in status or (retry and status[key] != "ok")]
        if wanted:
            left.append(task.only(wanted))
    by_length = sorted(zip(expected_seconds(left, rows), left, strict=True), key=lambda timed: -timed[0])
    keys = [key for task in plan.tasks for key in task.keys]
    n_ok, n_failed = (sum(status.get(key) == kind for key in keys) for kind in ("ok", "failed"))
    tasks, seconds = tuple(task for _, task in by_length), tuple(seconds for seconds, _ in by_length)
    return Pending(tasks, seconds, len(keys), n_ok, n_failed)


def run(left: Pending, store: RowStore, engine: Engine, told: Callable[[Row, int, float], None]) -> int:
    """Run what is left and write its rows as they come; how many of them failed.

    `told` gets every row that has been written, how many there are by now, and the seconds left.
    """
    began, n_done, n_failed, seconds_done = time.monotonic(), 0, 0, 0.0
    for done in engine.run(work, left.tasks):
        rows = rows_of(left.tasks[done.index], done)
        store.add(rows)
        seconds_done += left.seconds[done.index]
        # Sums of the same numbers in another order differ by rounding: never less than nothing.
        left_s = (time.monotonic() - began) * max(0.0, sum(left.seconds) - seconds_done) / seconds_done
        for row in rows:
            n_done, n_failed = n_done + 1, n_failed + (not row.is_ok)
            told(row, n_done, left_s)
    return n_failed


def rows_of(task: Task, done: Done[list[Row]]) -> list[Row]:
    """The rows of a task that has ended, with its memory and the hour; all failed where it gave none."""
    rows = done.result
    if rows is None:
        took = done.seconds / len(task.keys), done.cpu_seconds / len(task.keys)
        rows = [_failed(task, key, done.failure or _NO_RESULT, *took) for key in task.keys]
    finished = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return [replace(row, peak_mb=done.peak_mb, finished=finished) for row in rows]


_NO_RESULT = "it gave no result"


def _failed(task: Task, key: Key, why: str, seconds: float = 0.0, cpu_seconds: float = 0.0) -> Row:
    config = settings_of(task)
    versions = versions_in_use(config)
    return Row(key, "failed", why, config=config, versions=versions, seconds=seconds, cpu_seconds=cpu_seconds)


def work(task: Task) -> list[Row]:
    """The rows of a task, in a worker; time is that of the method, without reading and scoring, shared by frames."""
    data, tracks = _read_task(task)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        watch = Stopwatch()
        tracks |= tracks_of(task, data)
        seconds, cpu_seconds = watch.seconds, watch.cpu_seconds
    notes = list(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))[:_MOST_NOTES]
    config = settings_of(task)
    versions, device = versions_in_use(config), device_in_use(task.device, config)
    if task.method.preset:
        config |= {"device": resolve_device(task.device, for_network=trains_networks(config))}
    recordings = {recording.id: recording for recording in data.recordings}
    labelled = [id for id in task.recordings if isinstance(tracks.get(id), Track)]
    n_frames = sum(recordings[id].n_frames for id in labelled)
    rows = []
    for key in task.keys:
        track = tracks.get(key.recording, _NO_RESULT)
        if isinstance(track, str):
            rows.append(_failed(task, key, track))
            continue
        recording, annotation = recordings[key.recording], data.annotations[key.recording]
        share = recording.n_frames / n_frames
        took = seconds * share, cpu_seconds * share
        scored = evaluate({key.recording: (annotation.classes, track.labels)})
        scores, details = scored.average.as_dict() | dict(track.scores), dict(track.details)
        if task.protocol == "continual":
            scores |= stage_scores(annotation.classes, track.labels)
        elif task.protocol == "qualitative":
            runs = {"truth": as_runs(annotation.classes), "labels": as_runs(track.labels)}
            details = {**runs, "classes": list(annotation.names), **details}
        odd = [name for name, value in scores.items() if value is not None and not math.isfinite(value)]
        if odd:  # no row could say it, and a mean with it would be none
            rows.append(_failed(task, key, f"a number in this row is not finite ({', '.join(odd)})", *took))
            continue
        counts = {
            "n_frames": recording.n_frames,
            "n_channels": recording.n_channels,
            "n_segments": len(runs_of(track.labels)),
            "n_true_segments": len(runs_of(annotation.classes)),
        }
        details |= {"notes": notes} if notes else {}
        rows.append(
            Row(key, "ok", "", scores, scored.clock.as_dict(), counts, details, config, versions, *took, device=device)
        )
    return rows


def _read_task(task: Task) -> tuple[DataSet, Tracks]:
    """What the task is about; a target of a transfer that cannot be read is a failure of its own."""
    if task.protocol != "transfer":
        ids = tuple(dict.fromkeys((*task.learned_from, *task.recordings)))
        return read_some(task.data_set, task.data, ids, task.of_set), {}
    sources = read_some(task.data_set, task.data, task.learned_from, task.of_set)
    recordings, annotations = list(sources.recordings), dict(sources.annotations)
    failures: Tracks = {}
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
