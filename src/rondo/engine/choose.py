"""Engines by name; each is imported when it is chosen, as some bring much with them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rondo.engine.base import Done, Engine, Result, Task
from rondo.engine.measure import attempt
from rondo.errors import RondoWarning, SettingError
from rondo.progress import Progress, silent
from rondo.wording import did_you_mean

ENGINES = ("local", "serial", "ray")
_NO_WORKERS = (
    "worker processes need process groups, which this system (Windows?) lacks: tasks run one after the other, as with "
    "--engine serial"
)


@dataclass(frozen=True)
class Serial:
    """One task after the other, in this process; for tests, and for work so small that a process costs more.

    Peak memory counts what the process held before.
    """

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], progress: Progress = silent
    ) -> Iterator[Done[Result]]:
        """`work` of every task, one by one."""
        for index, task in enumerate(tasks):
            progress("tasks", index, len(tasks))
            yield attempt(work, index, task)
        progress("tasks", len(tasks), len(tasks))


def engine_of(
    name: str, n_workers: int | None = None, ray_address: str | None = None, tasks_per_gpu: int = 1
) -> Engine:
    """`serial`: in this process. `local`: in processes of this machine. `ray`: on a cluster, or embedded here."""
    if ray_address and name != "ray":
        raise SettingError(f"an address of a Ray cluster is for the engine 'ray', not '{name}'; add --engine ray")
    match name:
        case "local" if not hasattr(os, "killpg"):
            warnings.warn(_NO_WORKERS, RondoWarning, stacklevel=2)
            return Serial()
        case "local":
            from rondo.engine.local import local

            return local(n_workers, tasks_per_gpu)
        case "serial":
            return Serial()
        case "ray":
            from rondo.engine.ray import ray

            return ray(ray_address, n_workers, tasks_per_gpu)
    raise SettingError(f"unknown engine '{name}'; {did_you_mean(name, ENGINES, 'there are ' + ', '.join(ENGINES))}")
