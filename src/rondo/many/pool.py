"""What every engine is: one function from tasks to results, which come as they finish.

`work` is an importable function at the top of a module, and a task a plain value that can be sent to another process:
paths and settings, no arrays. A task that fails is a result like the others, with one line that says why; it never
stops the rest. Time and memory are measured where the work runs.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from joblib.externals.loky import ProcessPoolExecutor, process_executor

from rondo.errors import RondoError, RondoWarning, SettingError
from rondo.wording import Progress, silent

Task = TypeVar("Task")
Result = TypeVar("Result")

TRIES = 2  # of a task whose worker dies; one that raises would raise again, and is tried once


@dataclass(frozen=True)
class Done(Generic[Result]):
    """One task that has ended: what it gave, or one line that says why it gave nothing, and what it took."""

    index: int  # of the task among those given
    result: Result | None
    failure: str | None
    seconds: float
    cpu_seconds: float  # of its processes and theirs
    peak_mb: float | None  # the most memory that the process has held; None where the system does not tell (Windows)
    # Of a process that has died, neither this nor CPU is known: 0.


class Engine(Protocol):
    """Runs tasks; each is tried, whatever happens to the others."""

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], progress: Progress = silent
    ) -> Iterator[Done[Result]]:
        """`work` of every task, in the order in which they end."""


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


def refuse_unless_importable(work: Callable[[Task], Result]) -> None:
    """A worker imports the function by its name; one that has none there cannot be sent."""
    try:
        pickle.dumps(work)
    except Exception as error:  # noqa: BLE001  # pickle raises many kinds
        raise SettingError(f"work must be a function at the top of a module ({in_one_line(error)})") from None
    if getattr(work, "__module__", None) == "__main__":
        raise SettingError(
            "work must be a function of a module that workers can import; this one is of the script itself"
        )


def in_one_line(error: BaseException) -> str:
    """Why a task failed: our own errors say it in words, others by their type too.

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
    result, failure = None, None
    try:
        result = work(task)
    except Exception as error:  # noqa: BLE001  # whatever a method raises is the failure of its task alone
        failure = in_one_line(error)
    return Done(index, result, failure, watch.seconds, watch.cpu_seconds, peak_mb())


# ----------------------------------------------------------------
# What a worker of the local engine does in its own process: settle in, then answer one task after the other.

_WATCH_OWNER_EVERY_S = 0.5  # whether the owner is still there

_has_task = threading.Event()


def settle(owner: int) -> None:
    """Become a worker of the process `owner`, before the first task."""
    os.setsid()
    signal.signal(signal.SIGTERM, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    threading.Thread(target=_end_with, args=(owner,), daemon=True).start()
    os.dup2(2, 1)  # stdout is for what a command answers
    sys.stdout = sys.stderr
    warnings.showwarning = _show_warning
    process_executor._USE_PSUTIL = False  # else loky replaces workers that have grown, and warns, where psutil is there
    with suppress(OSError):  # let the system end a worker, which is tried again, rather than the owner
        Path("/proc/self/oom_score_adj").write_text("500")


def answer(asked: bytes) -> bytes:
    """(work, task) -> Done, both pickled; what cannot be read or sent is the failure of the task.

    Pickled here and not by loky: what loky cannot read, in a worker or from it, ends the worker.
    """
    _has_task.set()
    try:
        return _answer(asked)
    finally:
        _has_task.clear()


def _answer(asked: bytes) -> bytes:
    try:
        work, task = pickle.loads(asked)
    except Exception as error:  # noqa: BLE001  # whatever the import of the work raises
        return pickle.dumps(_failed(f"the worker cannot read its task ({in_one_line(error)})"))
    hold_to_one_thread()
    done: Done[Any] = attempt(work, 0, task)
    try:
        return pickle.dumps(done)
    except Exception as error:  # noqa: BLE001  # pickle raises many kinds
        return pickle.dumps(_failed(f"its result cannot be sent ({in_one_line(error)})"))


def _failed(why: str) -> Done[None]:
    return Done(0, None, why, 0.0, 0.0, 0.0)


def _leave(*_: object) -> None:
    """Leave a task by an exception, so that temporary folders are removed; without one, end at once and silently."""
    if not _has_task.is_set():
        os._exit(128 + signal.SIGTERM)
    sys.exit(128 + signal.SIGTERM)


def _end_with(owner: int) -> None:
    """Loky's workers outlive an owner that is killed; these look, and end with what their task has started."""
    while os.getppid() == owner:
        time.sleep(_WATCH_OWNER_EVERY_S)
    os.killpg(0, signal.SIGKILL)


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, RondoWarning):
        sys.stderr.write(f"note: {message}\n")


# ----------------------------------------------------------------
# One worker of the local engine: a process that loky starts, feeds and listens to.
#
# Each worker is a loky executor with a single process. In an executor with several, the death of one process fails the
# tasks of all; here it fails one task, and it is known which. A worker has an environment of its own, so its threads
# and the GPU it sees are settled before it imports anything. It leads a session: Ctrl-C reaches only the owner, who
# ends the whole group, children of tasks included.

_SAFE_PATH = "PYTHONSAFEPATH"
# Too many open files, of which loky makes an UnboundLocalError in one place; no semaphores.
_CANNOT_START = (OSError, UnboundLocalError, NotImplementedError, ImportError)
_FILES_PER_WORKER, _FILES_OF_OTHERS = 9, 256  # pipes, 8 measured; and what else a command opens
_TO_TIDY_UP_S = 1.0  # for a worker that is told to end, before it is killed


class Worker:
    """A place for one process, which is started when a task comes and none is there."""

    def __init__(self, sees_gpu: str) -> None:
        """`sees_gpu`: the CUDA device that it may use; empty: none."""
        self.sees_gpu = sees_gpu
        self._executor: Any = None
        self._process: BaseProcess | None = None
        self._task: Future[bytes] | None = None

    @property
    def process(self) -> BaseProcess | None:
        """What loky has started; kept, since loky forgets a process that has died."""
        if self._process is None and self._executor is not None:
            for process in [*self._executor._processes.values()]:
                process.kill = _nothing  # loky calls it of the dead, and its own fails where `pgrep` is missing
                self._process = process
        return self._process

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.exitcode is None and _exists(self.process)

    def begin(self, message: bytes) -> Future[bytes]:
        """Give it a pickled (work, task); the future holds a pickled Done, or raises what tells of its death."""
        if not self.is_alive:
            return self._start(message)
        try:
            return self._give(message)
        except BrokenProcessPool:  # it has died a moment ago
            return self._start(message)

    def _start(self, message: bytes) -> Future[bytes]:
        end([self])
        try:
            with _undisturbed():
                self._executor = _executor(self.sees_gpu)
                future = self._give(message)
        except _CANNOT_START as error:
            cause = error.__context__ if isinstance(error, UnboundLocalError) else None
            why = in_one_line(cause or error)
            raise SettingError(
                f"a worker process cannot be started ({why}); give fewer --workers, or use --engine serial"
            ) from None
        _started.add(self)
        _end_all_at_exit()
        return future

    def _give(self, message: bytes) -> Future[bytes]:
        future: Future[bytes] = self._executor.submit(answer, message)
        self._task, _ = future, self.process
        return future

    def how_it_died(self, error: BaseException) -> str:
        """How it ended without an answer, as the end of a sentence."""
        if isinstance(error, SystemExit):  # loky catches it, and the process goes on
            return how_ended(error.code if isinstance(error.code, int) else 1)
        by = time.monotonic() + _TO_TIDY_UP_S
        while self.is_alive and time.monotonic() < by:  # the pipe closes a moment before the process is gone
            time.sleep(0.01)
        return how_ended(self.process.exitcode if self.process else None)

    def leave(self) -> None:
        """Let it end by itself, and wait for that; a task is left by an exception, so that it can tidy up."""
        if self._executor is None:
            return
        if self._task is not None and not self._task.done():
            send_to_group(self.process, signal.SIGTERM)
        self._executor.shutdown(wait=True)

    def forget(self) -> None:
        self._executor = self._process = self._task = None


_started: weakref.WeakSet[Worker] = weakref.WeakSet()


def _end_all() -> None:
    end([*_started])


@cache
def _end_all_at_exit() -> None:
    """Where a run is left unfinished in a variable: loky would wait for its tasks when the interpreter ends.

    The hook is the one that loky and concurrent.futures use; `atexit` comes after threads are waited for. The last hook
    comes first, and loky's is there once a worker has started.
    """
    threading._register_atexit(_end_all)  # type: ignore[attr-defined]


def _executor(sees_gpu: str) -> Any:
    own = {"CUDA_VISIBLE_DEVICES": sees_gpu, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    quiet = {"PYTHONFAULTHANDLER": os.environ.get("PYTHONFAULTHANDLER", "")}  # loky would print stacks of crashes
    # Where `pgrep` is missing, loky warns that it cannot end what a worker has started; that is done here.
    warnings.filterwarnings("ignore", "Failed to kill subprocesses", UserWarning)
    return ProcessPoolExecutor(1, initializer=settle, initargs=(os.getpid(),), env=ONE_THREAD | own | quiet)


def _exists(process: BaseProcess) -> bool:
    """Whether the system has it and it has not been killed, though its `exitcode` is None.

    That is so while loky's thread has reaped it and not yet said so, and while the first thread of a process that was
    killed has ended and the others have not.
    """
    try:
        if Path("/proc/self").exists():
            return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
        os.kill(process.pid or 0, 0)
    except OSError:  # nobody has that number
        return False
    return True


def _nothing() -> None:
    """What has died need not be killed; `end` ends what it had started."""


def allow_open_files(n_workers: int) -> None:
    """Raise this process's own limit if it is too low for so many workers, as far as the system lets it."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES_OF_OTHERS + _FILES_PER_WORKER * n_workers
    with suppress(ValueError, OSError):
        if 0 <= soft < wanted:  # below 0: no limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """While processes start, for them too: signals wait, and files like `signal.py` of the working folder stay unread.

    Loky starts its processes with `-m` and `-c`, which put the working folder first where Python looks for modules.
    """
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    given = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[_SAFE_PATH]
        if given is not None:
            os.environ[_SAFE_PATH] = given
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def send_to_group(process: BaseProcess | None, number: signal.Signals) -> None:
    """A signal to a worker's process and all that it has started."""
    if process is None or process.pid is None:
        return
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:  # no group: it has ended, or has only just begun
        if process.exitcode is None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)
    except PermissionError:  # what macOS says of a group whose last process is ending
        pass


def how_ended(code: int | None) -> str:
    """How a process ended, by its exit code.

    >>> how_ended(-9)
    'was killed (SIGKILL); too little memory is the usual reason'
    """
    if code is None:
        return "stopped answering"
    if code == -signal.SIGKILL:
        return "was killed (SIGKILL); too little memory is the usual reason"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended by itself with exit code {code}"


def end(workers: Sequence[Worker]) -> None:
    """End processes and all that they have started; those that do not go when told are killed."""
    leaving = [threading.Thread(target=worker.leave, daemon=True) for worker in workers if worker.process is not None]
    for thread in leaving:
        thread.start()
    by = time.monotonic() + _TO_TIDY_UP_S
    try:
        for thread in leaving:
            thread.join(max(0.0, by - time.monotonic()))
    finally:  # also if the user presses Ctrl-C again
        for worker in workers:
            send_to_group(worker.process, signal.SIGKILL)
    for thread in leaving:
        thread.join()
    for worker in workers:
        worker.forget()


# ----------------------------------------------------------------
# Tasks in processes of this machine, as many at a time as there are workers; loky starts them and talks to them.
#
# A task whose worker dies (killed, out of memory, a crash in native code) is tried once more after all others, alone,
# so that it has the memory of the machine for itself; if that worker dies too, it has failed. The rest never notices.
#
# GPUs are shared by count: at most `tasks_per_gpu` tasks see one device at once; those that want a GPU wait for a
# place, and never fall back to the CPU, so that a row does not depend on who was first. All others see none.

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
