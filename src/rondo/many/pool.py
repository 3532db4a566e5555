"""Engines: one function from tasks to results, which come as they finish; in this process, or in processes beside it.

`work` is an importable function at the top of a module, and a task a plain value that can be sent to another process:
paths and settings, no arrays. A task that fails is a result like the others, with one line that says why; it never
stops the rest. Time and memory are measured where the work runs.

    Serial    one task after the other, in this process
    Local     in processes of this machine
    OnRay     on a cluster (`rondo.many.ray`)
"""

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
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from rondo.errors import RondoError, RondoWarning, SettingError
from rondo.wording import Progress, silent

Task = TypeVar("Task")
Result = TypeVar("Result")

TRIES = 2  # of a task whose worker dies; one that raises would raise again, and is tried once


@dataclass(frozen=True)
class Done(Generic[Result]):
    """One task that has ended: its result, or one line that says why there is none, and what it took."""

    index: int  # of the task among those given
    result: Result | None
    failure: str | None
    seconds: float
    cpu_seconds: float  # of its processes and theirs; 0 for a process that has died
    peak_mb: float | None  # the most memory that the process has held; None on systems without a count (Windows)
    error: type[BaseException] | None = None  # the type of what the task raised

    @classmethod
    def without_result(cls, index: int, why: str, seconds: float = 0.0) -> Done[Any]:
        """A task that did not come to its end."""
        return cls(index, None, why, seconds, 0.0, 0.0)


class Engine(Protocol):
    """Runs tasks; each is tried, whatever happens to the others."""

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], progress: Progress = silent
    ) -> Iterator[Done[Result]]:
        """`work` of every task, in the order in which they end."""


def n_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


@runtime_checkable
class GpuTask(Protocol):
    """A task that says whether it computes on a GPU where there is one; others never do."""

    @property
    def wants_gpu(self) -> bool: ...


def wants_gpu(task: object) -> bool:
    """Whether a task is to see a GPU.

    >>> wants_gpu("a task that does not say")
    False
    """
    return isinstance(task, GpuTask) and task.wants_gpu


@dataclass(frozen=True)
class Serial:
    """One task after the other, in this process. Peak memory includes what the process held before."""

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], progress: Progress = silent
    ) -> Iterator[Done[Result]]:
        """`work` of every task, one by one."""
        for index, task in enumerate(tasks):
            progress("tasks", index, len(tasks))
            yield attempt(work, index, task)
        progress("tasks", len(tasks), len(tasks))


def refuse_unless_importable(work: Callable[[Task], Result]) -> None:
    """A worker imports the function by its name; one without a name in a module cannot be sent."""
    try:
        pickle.dumps(work)
    except Exception as error:  # noqa: BLE001  # pickle raises many kinds
        raise SettingError(f"work must be a function at the top of a module ({in_one_line(error)})") from None
    if getattr(work, "__module__", None) == "__main__":
        raise SettingError(
            "work must be a function of a module that workers can import; this one is of the script itself"
        )


def in_one_line(error: BaseException) -> str:
    """Why a task failed: our own errors in words, others by their type too.

    >>> in_one_line(ValueError("no\\n  room")), in_one_line(MemoryError())
    ('ValueError: no room', 'MemoryError')
    """
    words = " ".join(str(error).split())
    if isinstance(error, RondoError):
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


# ----------------------------------------------------------------
# One thread per task, whatever library does the numbers.
#
# Tasks run side by side, one per core; with a pool of threads each they would wait for each other, and sums would
# depend on how many threads there are. Libraries read these variables when they are imported, so they are set before
# the process begins; `hold_to_one_thread` is the second belt, for those that are loaded by then.

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "RAYON_NUM_THREADS",
    ),
    "1",
)


def hold_to_one_thread() -> None:
    """One thread for the libraries that are loaded in this process."""
    if "numpy" in sys.modules:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(1)


# ----------------------------------------------------------------
# What a piece of work takes, measured in the process that does it.
#
# Processes are used for many tasks: a new one for each would import torch again, seconds for work that often takes
# less. So time is a difference of two readings, and the mark of the most memory held is put back before each task.
# What the process holds at that moment, mostly its imports, counts: it is what a machine needs to run the task.

_STATUS, _MARKS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Stopwatch:
    """Wall and CPU seconds since it was made; CPU of children counts once they have ended.

    >>> watch = Stopwatch()
    >>> watch.seconds >= 0 and watch.cpu_seconds >= 0
    True
    """

    _began: float = field(default_factory=time.perf_counter)
    _cpu_before: float = field(default_factory=lambda: _cpu_seconds())

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def cpu_seconds(self) -> float:
        return _cpu_seconds() - self._cpu_before


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def peak_mb() -> float | None:
    """The most memory that this process has held since `forget_peak`, in MB of 10^6 bytes; None where nothing tells.

    Linux says it of the process alone; what `getrusage` says there goes on from the process that started it. Windows
    has neither.
    """
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def forget_peak() -> None:
    """Begin again to measure the peak; where the system cannot, it stays that of the whole life of the process."""
    with suppress(OSError):
        _MARKS.write_text("5")  # 5: put the high-water mark back to what is held now (man 5 proc)


def attempt(work: Callable[[Task], Result], index: int, task: Task) -> Done[Result]:
    """Do the work of one task here and say what it took; whatever it raises is its failure."""
    forget_peak()
    watch = Stopwatch()
    result, failure, kind = None, None, None
    try:
        result = work(task)
    except Exception as error:  # noqa: BLE001  # whatever a method raises is the failure of its task alone
        failure, kind = in_one_line(error), type(error)
    return Done(index, result, failure, watch.seconds, watch.cpu_seconds, peak_mb(), kind)


# ----------------------------------------------------------------
# A worker's side: settle in, then answer one task after the other.

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


# ----------------------------------------------------------------
# The owner's side: one process for each slot, so that a death fails one task, and it is known which.

_SPAWN = multiprocessing.get_context("spawn")
_TO_TIDY_UP_S = 1.0  # for a worker that is told to end, before it is killed
_LOOK_EVERY_S = 0.5  # at processes that have died while a child of theirs holds their pipe open
_starting = threading.Lock()


class Worker:
    """A slot for one process, which is started when a task comes and none is there."""

    def __init__(self, sees_gpu: str = "") -> None:
        """`sees_gpu`: the CUDA device that it may use; empty: none."""
        self.sees_gpu = sees_gpu
        self.process: SpawnProcess | None = None
        self._tasks: Connection | None = None
        self.job: _Job | None = None

    def begin(self, job: _Job, message: bytes) -> None:
        """Give it a pickled (work, task)."""
        if self.process is None or self.process.exitcode is not None:
            self._start()
        self.job = job
        with suppress(OSError):  # it has died a moment ago: `done` says so
            self._connection.send_bytes(message)

    @property
    def _connection(self) -> Connection:
        assert self._tasks is not None, "a worker that was started has a connection"
        return self._tasks

    def _start(self) -> None:
        end([self])
        try:
            ours, theirs = _SPAWN.Pipe()
            self.process = _SPAWN.Process(target=_serve, args=(theirs,))
            with _undisturbed(ONE_THREAD | {"CUDA_VISIBLE_DEVICES": self.sees_gpu}):
                self.process.start()
        except OSError as error:
            self.process = None
            raise SettingError(
                f"a worker process cannot be started ({in_one_line(error)}); give fewer --workers, or use --engine "
                "serial"
            ) from None
        theirs.close()
        self._tasks = ours
        _started.add(self)

    @property
    def waited_for(self) -> tuple[Connection, int]:
        """What becomes ready when it answers or dies."""
        assert self.process is not None
        return self._connection, self.process.sentinel

    def done(self) -> Done[Any] | str | None:
        """Its answer, how it has died, or None while it works."""
        try:
            if self._connection.poll():
                return _read(self._connection.recv_bytes())
        except (EOFError, OSError):
            pass  # dead, or its group is ending
        else:
            if self.process is not None and self.process.exitcode is None:
                return None
        assert self.process is not None
        self.process.join(_TO_TIDY_UP_S)  # the pipe closes a moment before the process is gone
        return _how_ended(self.process.exitcode)

    def leave(self) -> None:
        """Tell it to end; a task is left by an exception, so that it can tidy up."""
        if self._tasks is not None:
            self._tasks.close()
        if self.job is not None:
            self.send(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        """A signal to its process and all that it has started."""
        if self.process is None or self.process.pid is None:
            return
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:  # no group: it has ended, or has only just begun
            if self.process.exitcode is None:
                with suppress(ProcessLookupError):
                    os.kill(self.process.pid, number)
        except PermissionError:  # what macOS says of a group whose last process is ending
            pass


def _read(answer: bytes) -> Done[Any]:
    try:
        done: Done[Any] = pickle.loads(answer)
    except Exception as error:  # noqa: BLE001  # whatever a class of the result raises
        return Done.without_result(0, f"its result cannot be read ({in_one_line(error)})")
    return done


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
    """End processes and all that they have started; those that do not go when told are killed."""
    there = [(worker, worker.process) for worker in workers if worker.process is not None]
    for worker, _ in there:
        worker.leave()
    by = time.monotonic() + _TO_TIDY_UP_S
    try:
        for _, process in there:
            process.join(max(0.0, by - time.monotonic()))
    finally:  # also if the user presses Ctrl-C again
        for worker, _ in there:
            worker.send(signal.SIGKILL)
    for worker, process in there:
        process.join()
        worker.process = worker._tasks = worker.job = None


_started: weakref.WeakSet[Worker] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Where a run is left unfinished in a variable."""
    end([*_started])


@contextmanager
def _undisturbed(variables: dict[str, str]) -> Iterator[None]:
    """While a process starts, and for it: these variables, no signals, no modules of the working folder, no script.

    Python imports the script of the owner into a process that it spawns, which would run all that is not guarded in it.
    """
    with _starting:
        wanted = variables | {"PYTHONSAFEPATH": "1"}
        before = {name: os.environ.get(name) for name in wanted}
        script = sys.modules["__main__"]
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        os.environ.update(wanted)
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
    ended: deque[Done[Any]] = field(default_factory=deque)

    def next_done(self) -> Done[Any]:
        """Keep workers busy until one task has ended for good; they stay so while the caller looks at it."""
        while True:
            self._hand_out()
            if self.ended:
                return self.ended.popleft()
            busy = [worker for worker in self.workers if worker.job is not None]
            wait_for([one for worker in busy for one in worker.waited_for], _LOOK_EVERY_S)
            for worker in busy:
                self._look_at(worker)

    def _hand_out(self) -> None:
        while (given := self._next()) is not None:
            worker, job = given
            try:
                message = pickle.dumps((self.work, self.tasks[job.index]))
            except Exception as error:  # noqa: BLE001  # pickle raises many kinds
                why = f"the task cannot be sent to a worker ({in_one_line(error)})"
                self.ended.append(Done.without_result(job.index, why))
                continue
            job.n_tries, job.began = job.n_tries + 1, time.perf_counter()
            worker.begin(job, message)

    def _next(self) -> tuple[Worker, _Job] | None:
        """The first that waits and has a slot; those that are tried again come last, one at a time."""
        n_busy = sum(worker.job is not None for worker in self.workers)
        if self.again and not n_busy and not any(self.waiting.values()):
            job = self.again.popleft()
            return self._free(job.on_gpu)[0], job
        firsts = [jobs[0] for on_gpu, jobs in self.waiting.items() if jobs and self._free(on_gpu)]
        if not firsts or n_busy == self.n_at_once:
            return None
        job = min(firsts, key=lambda job: job.index)
        return self._free(job.on_gpu)[0], self.waiting[job.on_gpu].popleft()

    def _free(self, on_gpu: bool) -> list[Worker]:
        return [worker for worker in self.workers if worker.job is None and bool(worker.sees_gpu) == on_gpu]

    def _look_at(self, worker: Worker) -> None:
        """Take its answer, or put the task of a worker that has died back for its second try."""
        answer, job = worker.done(), worker.job
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
