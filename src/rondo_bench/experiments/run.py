"""Plan -> rows that are missing -> engine -> rows. Stopped at any moment, it goes on where it stopped.

A failure is a row too: it is kept with its one line, the rest goes on, and it is tried again when that is asked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rondo.many.pool import Done, Engine
from rondo_bench.experiments.cost import Costs
from rondo_bench.experiments.plan import Plan, Task
from rondo_bench.experiments.rows import Key, Row, RowStore
from rondo_bench.experiments.work import FOLDER, Outcomes, settings_of, versions_in_use, work


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
    outcomes = done.result
    if outcomes is None:
        share = 1 / len(task.keys)
        why = done.failure or "it gave no result"
        took = (done.seconds * share, done.cpu_seconds * share, done.peak_mb, finished)
        return [_failed(task, key, why, *took) for key in task.keys]
    n_frames = sum(own.counts["n_frames"] for own in outcomes.rows)
    by_recording = {own.recording: own for own in outcomes.rows}
    rows = []
    for key in task.keys:
        if key.recording not in by_recording:
            why = outcomes.failures.get(key.recording, "it gave no result")
            rows.append(_failed(task, key, why, 0.0, 0.0, done.peak_mb, finished))
            continue
        own = by_recording[key.recording]
        share = own.counts["n_frames"] / n_frames
        row = Row(
            key,
            "ok",
            scores=own.scores,
            clock=own.clock,
            counts=own.counts,
            details=dict(own.details) | ({"notes": list(outcomes.notes)} if outcomes.notes else {}),
            config=outcomes.config,
            versions=outcomes.versions,
            seconds=outcomes.seconds * share,
            cpu_seconds=outcomes.cpu_seconds * share,
            peak_mb=done.peak_mb,
            finished=finished,
        )
        odd = [name for name, value in own.scores.items() if value is not None and not math.isfinite(value)]
        if odd:  # no row could say it, and a mean with it would be none
            why = f"a number in this row is not finite ({', '.join(odd)})"
            row = _failed(task, key, why, row.seconds, row.cpu_seconds, row.peak_mb, finished)
        rows.append(row)
    return rows


def _failed(
    task: Task, key: Key, why: str, seconds: float, cpu_seconds: float, peak_mb: float | None, finished: str
) -> Row:
    return Row(
        key,
        "failed",
        why,
        config=settings_of(task),
        versions=versions_in_use(),
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        peak_mb=peak_mb,
        finished=finished,
    )
