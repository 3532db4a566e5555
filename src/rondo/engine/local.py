"""Tasks in processes of this machine, as many at a time as there are workers.

A task whose worker dies (killed, out of memory, a crash in native code) is tried once more after all others, alone, so
that it has the memory of the machine for itself; if that worker dies too, it has failed. The rest never notices.

GPUs are shared by count: at most `tasks_per_gpu` tasks see one device at once; those that want a GPU wait for a place,
and never fall back to the CPU, so that a row does not depend on who was first. All others see none.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rondo.engine.base import TRIES, Done, Result, Task, in_one_line, refuse_unless_importable, wants_gpu
from rondo.engine.worker_processes import DiedError, Worker, end, some_answered
from rondo.errors import SettingError
from rondo.progress import Progress, silent


def local(n_workers: int | None = None, tasks_per_gpu: int = 1) -> Local:
    """An engine of this machine; as many workers as it has cores, if not given."""
    return Local(n_workers or n_cores(), tasks_per_gpu)


def n_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


@dataclass(frozen=True)
class Local:
    """Processes that are started as they are needed and end with the run."""

    n_workers: int
    tasks_per_gpu: int = 1

    def __post_init__(self) -> None:
        if min(self.n_workers, self.tasks_per_gpu) < 1:
            raise SettingError(
                f"workers and tasks per GPU must be 1 or more, got {self.n_workers}, {self.tasks_per_gpu}"
            )

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], progress: Progress = silent
    ) -> Iterator[Done[Result]]:
        """`work` of every task, in the order in which they end; left early, by a signal or error, all workers end."""
        refuse_unless_importable(work)
        gpus = visible_gpus() if any(map(wants_gpu, tasks)) else []
        shift = _Shift(self.n_workers, gpus * self.tasks_per_gpu)
        for index, task in enumerate(tasks):
            on_gpu = wants_gpu(task) and bool(gpus)
            shift.waiting[on_gpu].append(_Job(index, on_gpu))
        try:
            for n_done in range(len(tasks)):
                progress("tasks", n_done, len(tasks))
                yield _next_done(shift, work, tasks)
            progress("tasks", len(tasks), len(tasks))
        finally:
            end([*shift.idle, *shift.busy])


@dataclass
class _Job:
    """One task on its way."""

    index: int
    on_gpu: bool
    n_tries: int = 0
    began: float = 0.0
    seconds: float = 0.0  # of tries that came to nothing


@dataclass
class _Shift:
    """Who works on what, and what waits."""

    n_workers: int
    gpu_places: list[str]  # a device for each place
    waiting: dict[bool, deque[_Job]] = field(default_factory=lambda: {False: deque(), True: deque()})  # for a GPU: True
    again: deque[_Job] = field(default_factory=deque)
    unsent: deque[Done[Any]] = field(default_factory=deque)
    idle: list[Worker] = field(default_factory=list)
    busy: dict[Worker, _Job] = field(default_factory=dict)

    def next_job(self) -> _Job | None:
        """The first that waits and has a place; those that are tried again come last, one at a time."""
        if self.again and not self.busy and not any(self.waiting.values()):
            return self.again.popleft()
        gpu_is_full = sum(job.on_gpu for job in self.busy.values()) == len(self.gpu_places)
        first = [own[0] for on_gpu, own in self.waiting.items() if own and not (on_gpu and gpu_is_full)]
        if not first or len(self.busy) == self.n_workers:
            return None
        return self.waiting[min(first, key=lambda job: job.index).on_gpu].popleft()

    def worker_for(self, job: _Job) -> Worker:
        """An idle worker that sees what the job is to see, or a new one, in place of an idle one if all are there."""
        gone = [worker for worker in self.idle if not worker.is_alive]
        fit = [worker for worker in self.idle if worker not in gone and bool(worker.sees_gpu) == job.on_gpu]
        if not fit and len(self.idle) - len(gone) + len(self.busy) >= self.n_workers:
            gone += [worker for worker in self.idle if worker not in gone][:1]
        end(gone)
        self.idle = [worker for worker in self.idle if worker not in gone]
        if fit:
            self.idle.remove(fit[0])
            return fit[0]
        taken = [worker.sees_gpu for worker in (*self.idle, *self.busy)]
        return Worker(free_place(self.gpu_places, taken) if job.on_gpu else "")


def _next_done(shift: _Shift, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Done[Any]:
    """Keep workers busy until one task has ended for good; they stay so while the caller looks at it."""
    while True:
        _hand_out(shift, work, tasks)
        done = shift.unsent.popleft() if shift.unsent else _ended(shift)
        if done is not None:
            _hand_out(shift, work, tasks)
            return done
        some_answered(shift.busy)


def _hand_out(shift: _Shift, work: Callable[[Task], Result], tasks: Sequence[Task]) -> None:
    while (job := shift.next_job()) is not None:
        try:
            message = pickle.dumps((work, tasks[job.index]))
        except Exception as error:  # noqa: BLE001  # pickle raises many kinds
            why = f"the task cannot be sent to a worker ({in_one_line(error)})"
            shift.unsent.append(Done(job.index, None, why, 0.0, 0.0, 0.0))
            continue
        job.n_tries, job.began = job.n_tries + 1, time.perf_counter()
        worker = shift.worker_for(job)
        shift.busy[worker] = job
        worker.give(message)


def _ended(shift: _Shift) -> Done[Any] | None:
    """A task that has ended for good, if there is one; one whose worker has died is put back for its second try."""
    for worker, job in list(shift.busy.items()):
        try:
            done = worker.answer()
        except DiedError as how:
            del shift.busy[worker]
            end([worker])
            job.seconds += time.perf_counter() - job.began
            if job.n_tries == TRIES:
                return Done(job.index, None, f"tried {TRIES} times: its worker {how}", job.seconds, 0.0, 0.0)
            shift.again.append(job)
            continue
        if done is not None:
            del shift.busy[worker]
            shift.idle.append(worker)
            return replace(done, index=job.index)
    return None


def free_place(places: Sequence[str], taken: Sequence[str]) -> str:
    """The first device with a free place; empty names in `taken` are of workers that see none.

    >>> free_place(["0", "1", "0", "1"], ["", "0"]), free_place(["0", "1", "0", "1"], ["1", "0"])
    ('1', '0')
    """
    free = list(places)
    for device in filter(None, taken):
        free.remove(device)
    return free[0]


def visible_gpus() -> list[str]:
    """The CUDA devices that this process may use, as CUDA_VISIBLE_DEVICES names them; none without torch."""
    try:
        import torch
    except ModuleNotFoundError:
        return []

    named = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    n_devices = torch.cuda.device_count()
    return [part.strip() for part in named][:n_devices] if named != [""] else [str(i) for i in range(n_devices)]
