"""One task after the other, in this process: for tests, and for work so small that a process costs more than it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rondo.engine.base import Done, Result, Task
from rondo.engine.measure import attempt
from rondo.progress import Progress, silent


@dataclass(frozen=True)
class Serial:
    """In order; peak memory counts what the process held before."""

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], progress: Progress = silent
    ) -> Iterator[Done[Result]]:
        """`work` of every task, one by one."""
        for index, task in enumerate(tasks):
            progress("tasks", index, len(tasks))
            yield attempt(work, index, task)
        progress("tasks", len(tasks), len(tasks))
