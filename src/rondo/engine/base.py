"""What every engine is: one function from tasks to results, which come as they finish.

`work` is an importable function at the top of a module, and a task a plain value that can be sent to another process:
paths and settings, no arrays. A task that fails is a result like the others, with one line that says why; it never
stops the rest. Time and memory are measured where the work runs.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

from rondo.errors import RondoError, SettingError
from rondo.progress import Progress, silent

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
