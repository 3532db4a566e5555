"""Tasks in processes of this machine: a worker that dies fails one task, and it is known which."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import types
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from rondo.errors import RondoWarning, SettingError
from rondo.many.engine import (
    ONE_THREAD,
    TRIES,
    Done,
    Result,
    Task,
    attempt,
    hold_to_one_thread,
    in_one_line,
    refuse_unless_importable,
    wants_gpu,
)
from rondo.wording import Progress, silent

# ---------------------------------------------------------------- a worker's side: answer one task after the other

_has_task = threading.Event()


def _serve(tasks: Connection) -> None:
    """The life of a worker process."""
    os.setsid()  # Ctrl-C reaches only the owner, who ends the whole group, children of tasks included
    signal.signal(signal.SIGTERM, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    threading.Thread(target=_end_with_owner, daemon=True).start()
    os.dup2(2, 1)  # stdout is for what a command answers
    sys.stdout = sys.stderr
    warnings.showwarning = _show_warning
    with suppress(OSError):  # let the system end a worker, which is tried again, rather than the owner
        Path("/proc/self/oom_score_adj").write_text("500")
    with suppress(EOFError, OSError):
        while True:
            message = tasks.recv_bytes()
            _has_task.set()
            answer = _answer(message)
            _has_task.clear()
            tasks.send_bytes(answer)


def _answer(message: bytes) -> bytes:
    """(work, task) -> Done, both pickled; what cannot be read or sent is the failure of the task."""
    try:
        work, task = pickle.loads(message)
    except Exception as error:  # noqa: BLE001  # whatever the import of the work raises
        return pickle.dumps(Done.without_result(0, f"the worker cannot read its task ({in_one_line(error)})"))
    hold_to_one_thread()
    done: Done[Any] = attempt(work, 0, task)
    try:
        return pickle.dumps(done)
    except Exception as error:  # noqa: BLE001  # pickle raises many kinds
        return pickle.dumps(Done.without_result(0, f"its result cannot be sent ({in_one_line(error)})"))


def _leave(*_: object) -> None:
    """Leave a task by an exception, so that temporary folders are removed; without one, end at once and silently."""
    if not _has_task.is_set():
        os._exit(128 + signal.SIGTERM)
    sys.exit(128 + signal.SIGTERM)


def _end_with_owner() -> None:
    """End with the process that started this one, however that ends."""
    owner = multiprocessing.parent_process()
    if owner is not None:
        wait_for([owner.sentinel])
    os.killpg(0, signal.SIGKILL)


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, RondoWarning):
        sys.stderr.write(f"note: {message}\n")


# ---------------------------------------------------------------- the owner's side: one process for each slot

_SPAWN = multiprocessing.get_context("spawn")
_TO_TIDY_UP_S = 1.0  # for a worker that got SIGTERM, before it is killed
_LOOK_EVERY_S = 0.5  # at processes that have died while a child of theirs holds their pipe open
_starting = threading.Lock()


@dataclass
class _Job:
    """One task on its way."""

    index: int
    on_gpu: bool
    n_tries: int = 0
    began: float = 0.0
    seconds: float = 0.0  # of tries that came to nothing


class Worker:
    """A slot for one process, which is started when a task comes and none is there."""

    process: SpawnProcess
    pipe: Connection

    def __init__(self, sees_gpu: str = "") -> None:
        """`sees_gpu`: the CUDA device that it may use; empty: none."""
        self.sees_gpu, self.is_started = sees_gpu, False
        self.job: _Job | None = None

    def begin(self, job: _Job, message: bytes) -> None:
        """Give it a pickled (work, task)."""
        if not self.is_started or self.process.exitcode is not None:
            end([self])
            self._start()
        self.job, job.n_tries, job.began = job, job.n_tries + 1, time.perf_counter()
        with suppress(OSError):  # it has died a moment ago: `answer` says so
            self.pipe.send_bytes(message)

    def _start(self) -> None:
        try:
            self.pipe, theirs = _SPAWN.Pipe()
            self.process = _SPAWN.Process(target=_serve, args=(theirs,))
            with _undisturbed(ONE_THREAD | {"CUDA_VISIBLE_DEVICES": self.sees_gpu, "PYTHONSAFEPATH": "1"}):
                self.process.start()
        except OSError as error:
            raise SettingError(
                f"a worker process cannot be started ({in_one_line(error)}); give fewer --workers, or use --engine "
                "serial"
            ) from None
        theirs.close()
        self.is_started = True
        _started.add(self)

    def answer(self) -> Done[Any] | str | None:
        """What it answers, how it has died, or None while it works."""
        try:
            if self.pipe.poll():
                message = self.pipe.recv_bytes()
            elif self.process.exitcode is None:
                return None
            else:
                return _how_ended(self.process.exitcode)
        except (EOFError, OSError):  # dead, or its group is ending: the pipe closes a moment before the process is gone
            self.process.join(_TO_TIDY_UP_S)
            return _how_ended(self.process.exitcode)
        try:
            done: Done[Any] = pickle.loads(message)
        except Exception as error:  # noqa: BLE001  # whatever a class of the result raises
            return Done.without_result(0, f"its result cannot be read ({in_one_line(error)})")
        return done

    def send(self, number: signal.Signals) -> None:
        """A signal to its process and all that it has started."""
        pid = self.process.pid
        if pid is None:
            return
        try:
            os.killpg(pid, number)
        except ProcessLookupError:  # no group: it has ended, or has only just begun
            if self.process.exitcode is None:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
        except PermissionError:  # what macOS says of a group whose last process is ending
            pass


def _how_ended(code: int | None) -> str:
    """How a process ended, by its exit code.

    >>> _how_ended(-9)
    'was killed (SIGKILL); too little memory is the usual reason'
    """
    if code is None:
        return "stopped answering"
    if code == -signal.SIGKILL:
        return "was killed (SIGKILL); too little memory is the usual reason"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended by itself with exit code {code}"


def end(workers: Sequence[Worker]) -> None:
    """End processes and all that they have started; those that do not go when told are killed.

    A task is left by an exception, so that it can tidy up.
    """
    workers = [worker for worker in workers if worker.is_started]
    for worker in workers:
        worker.pipe.close()
        if worker.job is not None:
            worker.send(signal.SIGTERM)
    by = time.monotonic() + _TO_TIDY_UP_S
    try:
        for worker in workers:
            worker.process.join(max(0.0, by - time.monotonic()))
    finally:  # also if the user presses Ctrl-C again
        for worker in workers:
            worker.send(signal.SIGKILL)
    for worker in workers:
        worker.process.join()
        worker.is_started, worker.job = False, None


_started: weakref.WeakSet[Worker] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Where a run is left unfinished in a variable."""
    end([*_started])


@contextmanager
def _undisturbed(variables: dict[str, str]) -> Iterator[None]:
    """While a process starts, and for it: these variables, no signals, no script.

    Python imports the script of the owner into a process that it spawns, which would run all that is not guarded in it.
    """
    with _starting:
        before = {name: os.environ.get(name) for name in variables}
        script = sys.modules["__main__"]
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        os.environ.update(variables)
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = script
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@dataclass(frozen=True)
class Local:
    """Processes of this machine, started as they are needed; they end with the run.

    A task whose worker dies (killed, out of memory, a crash in native code) is tried once more after all others, alone,
    so that it has the memory of the machine for itself; if that worker dies too, it has failed.

    At most `tasks_per_gpu` tasks see one GPU at once; those that want a GPU wait for a slot, and never fall back to the
    CPU, so that a row does not depend on who was first. All others see none.
    """

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
        jobs = [_Job(index, wants_gpu(task) and bool(gpus)) for index, task in enumerate(tasks)]
        shift = _Shift(work, tasks, self.n_workers, workers, jobs)
        try:
            for n_done in range(len(tasks)):
                progress("tasks", n_done, len(tasks))
                yield shift.next_done()
            progress("tasks", len(tasks), len(tasks))
        finally:
            end(workers)


@dataclass
class _Shift:
    """Who works on what, and what waits."""

    work: Callable[[Any], Any]
    tasks: Sequence[Any]
    n_at_once: int
    workers: Sequence[Worker]
    waiting: list[_Job]
    again: deque[_Job] = field(default_factory=deque)
    ended: deque[Done[Any]] = field(default_factory=deque)

    def next_done(self) -> Done[Any]:
        """Keep workers busy until one task has ended for good; they stay so while the caller looks at it."""
        while True:
            while (chosen := self._next()) is not None:
                self._begin(*chosen)
            if self.ended:
                return self.ended.popleft()
            busy = [worker for worker in self.workers if worker.job is not None]
            ends = [end for worker in busy for end in (worker.pipe, worker.process.sentinel)]
            wait_for(ends, _LOOK_EVERY_S)
            for worker in busy:
                self._look_at(worker)

    def _next(self) -> tuple[Worker, _Job] | None:
        """The first task that waits and has a slot; those that are tried again come last, one at a time."""
        free = {bool(worker.sees_gpu): worker for worker in self.workers[::-1] if worker.job is None}
        n_busy = sum(worker.job is not None for worker in self.workers)
        if self.again and not self.waiting and not n_busy:
            job = self.again.popleft()
            return free[job.on_gpu], job
        first = next((job for job in self.waiting if job.on_gpu in free), None)
        if first is None or n_busy == self.n_at_once:
            return None
        self.waiting.remove(first)
        return free[first.on_gpu], first

    def _begin(self, worker: Worker, job: _Job) -> None:
        try:
            message = pickle.dumps((self.work, self.tasks[job.index]))
        except Exception as error:  # noqa: BLE001  # pickle raises many kinds
            why = f"the task cannot be sent to a worker ({in_one_line(error)})"
            self.ended.append(Done.without_result(job.index, why))
            return
        worker.begin(job, message)

    def _look_at(self, worker: Worker) -> None:
        """Take its answer, or put the task of a worker that has died back for its second try."""
        answer, job = worker.answer(), worker.job
        if answer is None or job is None:
            return
        worker.job = None
        if isinstance(answer, Done):
            self.ended.append(replace(answer, index=job.index))
            return
        end([worker])
        job.seconds += time.perf_counter() - job.began
        if job.n_tries < TRIES:
            self.again.append(job)
            return
        self.ended.append(Done.without_result(job.index, f"tried {TRIES} times: its worker {answer}", job.seconds))


def visible_gpus() -> list[str]:
    """The CUDA devices that this process may use, as CUDA_VISIBLE_DEVICES names them; none without torch."""
    try:
        import torch
    except ModuleNotFoundError:
        return []

    named = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    n_devices = torch.cuda.device_count()
    return [part.strip() for part in named][:n_devices] if named != [""] else [str(i) for i in range(n_devices)]
