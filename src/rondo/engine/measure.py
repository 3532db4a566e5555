"""What a piece of work takes, measured in the process that does it.

Processes are used for many tasks: a new one for each would import torch again, seconds for work that often takes less.
So time is a difference of two readings, and the mark of the most memory held is put back before each task. What the
process holds at that moment, mostly its imports, counts: it is what a machine needs to run the task.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rondo.engine.base import Done, Result, Task, in_one_line

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
