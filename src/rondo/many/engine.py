"""Engines: one function from tasks to results, which come as they finish.

`work` is an importable function at the top of a module, and a task a plain value that can be sent to another process:
paths and settings, no arrays. A task that fails is a result like the others, with one line that says why; it never
stops the rest. Time and memory are measured where the work runs.

    Serial    one task after the other, in this process
    Local     in processes of this machine (`rondo.many.pool`)
    OnRay     on a cluster (`rondo.many.ray`)
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from rondo.errors import RondoError, SettingError
from rondo.wording import Progress, silent

Task = TypeVar("Task")
Result = TypeVar("Result")

TRIES = 2  # of a task whose worker dies; one that raises would raise again, and is tried once

# One thread per task: tasks run side by side, one per core, and sums would depend on how many threads there are.
# Libraries read these variables when they are imported, so they are set before a worker starts.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS",
    ),
    "1",
)  # fmt: skip


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


@dataclass(frozen=True)
class Serial:
    """One task after the other, in this process. Peak memory includes what the process held before."""

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], progress: Progress = silent
    ) -> Iterator[Done[Result]]:
        for index, task in enumerate(tasks):
            progress("tasks", index, len(tasks))
            yield attempt(work, index, task)
        progress("tasks", len(tasks), len(tasks))


def n_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def wants_gpu(task: object) -> bool:
    """Whether a task asks for a GPU where there is one, by an attribute of this name."""
    return bool(getattr(task, "wants_gpu", False))


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
# What a task takes, measured in the process that does it.
#
# A process serves many tasks: a new one for each would import torch again. So time is a difference of two readings, and
# the mark of the most memory held is put back before each task. What the process holds at that moment counts too: it is
# what a machine needs to run the task.


class Stopwatch:
    """Wall and CPU seconds since it was made; CPU of children counts once they have ended."""

    def __init__(self) -> None:
        self._began, self._cpu_before = time.perf_counter(), _cpu_seconds()

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
    """The most memory that this process has held since `forget_peak`, in MB of 10^6 bytes; None on Windows.

    Linux counts the process alone; what `getrusage` says there goes on from the process that started it.
    """
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
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
        Path("/proc/self/clear_refs").write_text("5")  # put the high-water mark back to what is held (man 5 proc)


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


def hold_to_one_thread() -> None:
    """One thread for the libraries that are loaded in this process by now."""
    if "numpy" in sys.modules:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(1)
