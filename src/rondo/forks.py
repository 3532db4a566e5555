"""Processes that were forked after Rondo had been used refuse to go on, instead of waiting without end.

polars starts threads when it first computes, and a fork copies none of them: in the copy, sorting a table waits for a
thread that does not exist. Whether the threads had been started is known before the fork alone. A process that was
forked earlier works, and so does one that is spawned.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from rondo.errors import ForkedError

_TASKS = Path("/proc/self/task")  # of Linux
_OF_THE_POOL = re.compile(r"polars-\d+\s")

_is_cut_off = _has_threads = False


def refuse_forked() -> None:
    """Raise in a process in which whatever needs the threads of polars would wait without end."""
    if _is_cut_off:
        raise ForkedError(
            "this process was forked after Rondo had been used, so that the threads of polars are missing in it; start "
            "processes with multiprocessing.get_context('spawn'), or before Rondo is used"
        )


def _polars_has_threads() -> bool:
    """Whether its pool has been started; where the system does not tell, whether polars has been imported."""
    if "polars" not in sys.modules or not _TASKS.is_dir():
        return "polars" in sys.modules
    for task in _TASKS.iterdir():
        with suppress(OSError):  # it has ended meanwhile
            if _OF_THE_POOL.match((task / "comm").read_text()):
                return True
    return False


def _before() -> None:
    global _has_threads
    _has_threads = _polars_has_threads()


def _after() -> None:
    global _is_cut_off
    _is_cut_off = _is_cut_off or _has_threads


if hasattr(os, "register_at_fork"):  # not on Windows, which forks no processes
    os.register_at_fork(before=_before, after_in_child=_after)
