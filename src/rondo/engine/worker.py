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
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor

from rondo.engine.base import in_one_line
from rondo.engine.threads import ONE_THREAD
from rondo.engine.worker_side import answer, settle
from rondo.errors import SettingError

_SAFE_PATH = "PYTHONSAFEPATH"
_TO_TIDY_UP_S = 1.0  # for a worker that is told to end, before it is killed


class Worker:
    """A place for one process, which is started when a task comes and none is there."""

    def __init__(self, sees_gpu: str) -> None:
        """`sees_gpu`: the CUDA device that it may use; empty: none."""
        self.sees_gpu = sees_gpu
        self.process: BaseProcess | None = None
        self._executor: Any = None
        self._task: Future[bytes] | None = None

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.exitcode is None

    def begin(self, message: bytes) -> Future[bytes]:
        """Give it a pickled (work, task); the future holds a pickled Done, or raises what tells of its death."""
        if not self.is_alive:
            return self._begin_anew(message)
        try:
            self._task = self._executor.submit(answer, message)
        except BrokenProcessPool:  # it has died a moment ago
            return self._begin_anew(message)
        return self._task

    def _begin_anew(self, message: bytes) -> Future[bytes]:
        end([self])
        with _undisturbed():
            self._executor = _executor(self.sees_gpu)
            self._task = future = self._executor.submit(answer, message)
        self.process = next(iter([*self._executor._processes.values()]), None)
        return future

    def how_it_died(self, error: BaseException) -> str:
        """How it ended without an answer, as the end of a sentence; what its task had started ends too."""
        if isinstance(error, SystemExit):  # loky catches it, and the process goes on
            return how_ended(error.code if isinstance(error.code, int) else 1)
        by = time.monotonic() + _TO_TIDY_UP_S
        while self.is_alive and time.monotonic() < by:  # the pipe closes a moment before the process is gone
            time.sleep(0.01)
        return how_ended(self.process.exitcode if self.process else None)

    def send(self, number: signal.Signals) -> None:
        """A signal to the process and all that it has started."""
        if self.process is None or self.process.pid is None:
            return
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:  # no group: it has ended, or has only just begun
            if self.is_alive:
                with suppress(ProcessLookupError):
                    os.kill(self.process.pid, number)
        except PermissionError:  # what macOS says of a group whose last process is ending
            pass

    def leave_task(self) -> None:
        """If it has a task, tell it to end by an exception, so that temporary folders are removed."""
        if self._task is not None and not self._task.done():
            self.send(signal.SIGTERM)

    def close(self) -> None:
        """Let it end by itself, and wait for that."""
        self._executor.shutdown(wait=True)
        self.process = None


def _executor(sees_gpu: str) -> Any:
    own = {"CUDA_VISIBLE_DEVICES": sees_gpu, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    quiet = {"PYTHONFAULTHANDLER": os.environ.get("PYTHONFAULTHANDLER", "")}  # loky would print stacks of crashes
    # Where there is no `pgrep`, loky warns that it cannot end what a worker has started; that is done here.
    warnings.filterwarnings("ignore", "Failed to kill subprocesses", UserWarning)
    try:
        return ProcessPoolExecutor(1, initializer=settle, initargs=(os.getpid(),), env=ONE_THREAD | own | quiet)
    except (OSError, NotImplementedError, ImportError) as error:  # no semaphores, too many open files
        raise SettingError(
            f"a worker process cannot be started ({in_one_line(error)}); give fewer --workers, or use --engine serial"
        ) from None


@contextmanager
def _undisturbed() -> Iterator[None]:
    """While processes start, for them too: Ctrl-C waits, and files like `signal.py` of the working folder stay unread.

    Loky starts its processes with `-m` and `-c`, which put the working folder first where Python looks for modules.
    """
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    given = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[_SAFE_PATH]
        if given is not None:
            os.environ[_SAFE_PATH] = given
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


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
    started = [worker for worker in workers if worker.process is not None]
    closing = [threading.Thread(target=worker.close, daemon=True) for worker in started]
    for worker, thread in zip(started, closing, strict=True):
        worker.leave_task()
        thread.start()
    by = time.monotonic() + _TO_TIDY_UP_S
    for thread in closing:
        thread.join(max(0.0, by - time.monotonic()))
    for worker in started:
        worker.send(signal.SIGKILL)
    for thread in closing:
        thread.join()
