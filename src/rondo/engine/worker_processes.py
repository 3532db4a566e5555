"""The worker processes of this machine, as their owner sees them: start, give a task, hear of its end, end.

A worker is a fresh interpreter with an environment of its own, so its threads and the GPUs that it sees are settled
before it imports anything, and the script that started all this is not run a second time. It leads a process group:
Ctrl-C reaches only the owner, who then ends the whole group.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import Any

from rondo.engine.base import Done, in_one_line
from rondo.engine.threads import ONE_THREAD

_LOOK_EVERY_S = 0.5  # at processes that have died with their pipe held open by a child of theirs
_TO_TIDY_UP_S = 1.0  # for a worker that is told to end, before it is killed


class DiedError(Exception):
    """A worker ended without an answer; the text says how, as the end of a sentence."""


class Worker:
    """One process, idle or with one task."""

    def __init__(self, sees_gpu: str) -> None:
        """`sees_gpu`: the CUDA device that it may use; empty: none."""
        self.sees_gpu = sees_gpu
        self.connection, theirs = Pipe()
        own = {"CUDA_VISIBLE_DEVICES": sees_gpu, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "rondo.engine.worker", str(theirs.fileno())],
                env=os.environ | ONE_THREAD | own,
                stdin=subprocess.PIPE,  # the line by which it learns that we are gone
                stdout=2,  # stdout is for what a command answers
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def give(self, message: bytes) -> None:
        with suppress(OSError):  # it has died; that is heard where answers are
            self.connection.send_bytes(message)

    def answer(self) -> Done[Any] | None:
        """What its task gave, or None where that is not known yet; raises DiedError."""
        if not self.connection.poll():
            if self.is_alive or self.connection.poll():  # the last words of one that has ended since
                return None
            raise DiedError(_how(self.process.wait()))
        try:
            said = self.connection.recv_bytes()
        except (EOFError, OSError):
            with suppress(subprocess.TimeoutExpired):  # the pipe closes a moment before the process is gone
                self.process.wait(_TO_TIDY_UP_S)
            raise DiedError(_how(self.process.poll())) from None
        try:
            done: Done[Any] = pickle.loads(said)
        except Exception as error:  # noqa: BLE001  # whatever a class of the result raises
            return Done(0, None, f"its result cannot be read ({in_one_line(error)})", 0.0, 0.0, 0.0)
        return done


def _how(code: int | None) -> str:
    """How a process ended, by its exit code.

    >>> _how(-9)
    'was killed (SIGKILL); too little memory is the usual reason'
    """
    if code is None:
        return "stopped answering"
    if code == -signal.SIGKILL:
        return "was killed (SIGKILL); too little memory is the usual reason"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended by itself with exit code {code}"


def some_answered(workers: Iterable[Worker]) -> None:
    """Wait until one of them has answered or died, or it is time to look."""
    wait([worker.connection for worker in workers], _LOOK_EVERY_S)


def end(workers: Sequence[Worker]) -> None:
    """End processes and all that they have started; those that do not go when told are killed."""
    for worker in workers:
        worker.connection.close()
        _signal(worker, signal.SIGTERM)
    by = time.monotonic() + _TO_TIDY_UP_S
    for worker in workers:
        with suppress(subprocess.TimeoutExpired):
            worker.process.wait(max(0.0, by - time.monotonic()))
        _signal(worker, signal.SIGKILL)
        worker.process.wait()
        if worker.process.stdin is not None:
            worker.process.stdin.close()


def _signal(worker: Worker, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(worker.process.pid, number)
