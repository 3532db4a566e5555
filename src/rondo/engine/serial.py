"""One task after the other, in this process: for tests, and for work so small that a process costs more than it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rondo.engine.base import Done, Result, Task, in_one_line
from rondo.engine.measure import Stopwatch, peak_mb
from rondo.training.progress import Progress, silent


@dataclass(frozen=True)
class Serial:
    """In order; peak memory is that of the whole process, tasks before included."""

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], progress: Progress = silent
    ) -> Iterator[Done[Result]]:
        """`work` of every task, one by one."""
        for index, task in enumerate(tasks):
            progress("tasks", index, len(tasks))
            watch = Stopwatch()
            result, failure = None, None
            try:
                result = work(task)
            except Exception as error:  # noqa: BLE001  # whatever a method raises is the failure of its task alone
                failure = in_one_line(error)
            yield Done(index, result, failure, watch.seconds, watch.cpu_seconds, peak_mb())
        progress("tasks", len(tasks), len(tasks))
