"""What a piece of work takes, measured in the process that does it."""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import dataclass, field


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


def peak_mb() -> float:
    """The most memory that this process has held since it began, in MB of 10^6 bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
