"""One worker of the local engine: a process that loky starts, feeds and listens to.

Each worker is a loky executor with a single process. In an executor with several, the death of one process fails the
tasks of all; here it fails one task, and it is known which. A worker has an environment of its own, so its threads and
the GPU it sees are settled before it imports anything. It leads a session: Ctrl-C reaches only the owner, who ends the
whole group, children of tasks included.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor

from rondo.engine.base import in_one_line
from rondo.engine.threads import ONE_THREAD
from rondo.engine.worker_side import answer, settle
from rondo.errors import SettingError

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
