"""Tasks in processes of this machine, as many at a time as there are workers; loky starts them and talks to them.

A task whose worker dies (killed, out of memory, a crash in native code) is tried once more after all others, alone, so
that it has the memory of the machine for itself; if that worker dies too, it has failed. The rest never notices.

GPUs are shared by count: at most `tasks_per_gpu` tasks see one device at once; those that want a GPU wait for a place,
and never fall back to the CPU, so that a row does not depend on who was first. All others see none.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import Any

from rondo.engine.base import TRIES, Done, Result, Task, in_one_line, refuse_unless_importable, wants_gpu
from rondo.engine.worker import Worker, allow_open_files, end, send_to_group
from rondo.errors import SettingError
from rondo.progress import Progress, silent

_LOOK_EVERY_S = 0.5  # at processes that have died while a child of theirs holds their pipe open


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
        workers = [Worker(device) for device in [""] * self.n_workers + gpus * self.tasks_per_gpu]
        allow_open_files(len(workers))
        shift = _Shift(work, tasks, self.n_workers, workers)
        for index, task in enumerate(tasks):
            on_gpu = wants_gpu(task) and bool(gpus)
            shift.waiting[on_gpu].append(_Job(index, on_gpu))
        try:
            for n_done in range(len(tasks)):
                progress("tasks", n_done, len(tasks))
                yield shift.next_done()
            progress("tasks", len(tasks), len(tasks))
        finally:
            end(workers)


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

    work: Callable[[Any], Any]
    tasks: Sequence[Any]
    n_at_once: int
    workers: Sequence[Worker]
    waiting: dict[bool, deque[_Job]] = field(default_factory=lambda: {False: deque(), True: deque()})  # for a GPU: True
    again: deque[_Job] = field(default_factory=deque)
    unsent: deque[Done[Any]] = field(default_factory=deque)
    busy: dict[Future[bytes], tuple[Worker, _Job]] = field(default_factory=dict)

    def next_done(self) -> Done[Any]:
        """Keep workers busy until one task has ended for good; they stay so while the caller looks at it."""
        while True:
            self._hand_out()
            if self.unsent:
                return self.unsent.popleft()
            ended, _ = wait(self.busy, _LOOK_EVERY_S, FIRST_COMPLETED)
            if not ended:
                self._look()
                continue
            done = self._done(ended.pop())
            if done is not None:
                self._hand_out()
                return done

    def _hand_out(self) -> None:
        while (given := self._next()) is not None:
            worker, job = given
            try:
                message = pickle.dumps((self.work, self.tasks[job.index]))
            except Exception as error:  # noqa: BLE001  # pickle raises many kinds
                why = f"the task cannot be sent to a worker ({in_one_line(error)})"
                self.unsent.append(Done(job.index, None, why, 0.0, 0.0, 0.0))
                continue
            job.n_tries, job.began = job.n_tries + 1, time.perf_counter()
            self.busy[worker.begin(message)] = worker, job

    def _next(self) -> tuple[Worker, _Job] | None:
        """The first that waits and has a place; those that are tried again come last, one at a time."""
        if self.again and not self.busy and not any(self.waiting.values()):
            job = self.again.popleft()
            return self._free(job.on_gpu)[0], job
        firsts = [own[0] for on_gpu, own in self.waiting.items() if own and self._free(on_gpu)]
        if not firsts or len(self.busy) == self.n_at_once:
            return None
        job = min(firsts, key=lambda job: job.index)
        return self._free(job.on_gpu)[0], self.waiting[job.on_gpu].popleft()

    def _free(self, on_gpu: bool) -> list[Worker]:
        taken = {id(worker) for worker, _ in self.busy.values()}
        return [worker for worker in self.workers if id(worker) not in taken and bool(worker.sees_gpu) == on_gpu]

    def _done(self, ended: Future[bytes]) -> Done[Any] | None:
        """What a task gave, or None where its worker has died and it is put back for its second try."""
        worker, job = self.busy.pop(ended)
        error = ended.exception()
        if error is None:
            return replace(_read(ended.result()), index=job.index)
        how = worker.how_it_died(error)
        end([worker])
        job.seconds += time.perf_counter() - job.began
        if job.n_tries == TRIES:
            return Done(job.index, None, f"tried {TRIES} times: its worker {how}", job.seconds, 0.0, 0.0)
        self.again.append(job)
        return None

    def _look(self) -> None:
        """Loky hears of a death when a pipe closes; a child that holds it is ended with the rest of the group."""
        for worker, _ in self.busy.values():
            if not worker.is_alive:
                send_to_group(worker.process, signal.SIGKILL)


def _read(said: bytes) -> Done[Any]:
    try:
        done: Done[Any] = pickle.loads(said)
    except Exception as error:  # noqa: BLE001  # whatever a class of the result raises
        return Done(0, None, f"its result cannot be read ({in_one_line(error)})", 0.0, 0.0, 0.0)
    return done


def visible_gpus() -> list[str]:
    """The CUDA devices that this process may use, as CUDA_VISIBLE_DEVICES names them; none without torch."""
    try:
        import torch
    except ModuleNotFoundError:
        return []

    named = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    n_devices = torch.cuda.device_count()
    return [part.strip() for part in named][:n_devices] if named != [""] else [str(i) for i in range(n_devices)]
