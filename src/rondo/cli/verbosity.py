"""How much a command says beside its result: `--quiet` no progress, `--verbose` what went on inside.

Both stand before or after the command (`rondo --quiet discover …`, `rondo discover … --quiet`): nobody should have to
know which options belong to `rondo` itself.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextvars import ContextVar
from enum import Enum

from rondo.progress import Progress
from rondo.times import duration_in_words


class Verbosity(Enum):
    """Notes on the data and errors are said in all three."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


_current: ContextVar[Verbosity] = ContextVar("verbosity", default=Verbosity.NORMAL)
_GLOBAL = ("--quiet", "--verbose")


def set_verbosity(verbosity: Verbosity) -> None:
    """For the command that is about to run."""
    _current.set(verbosity)


def is_quiet() -> bool:
    return _current.get() is Verbosity.QUIET


def is_verbose() -> bool:
    return _current.get() is Verbosity.VERBOSE


def detail(line: str) -> None:
    """Something that only those want to know who asked for details; on stderr."""
    if is_verbose():
        print(f"detail: {line}", file=sys.stderr, flush=True)


def global_first(arguments: Sequence[str]) -> list[str]:
    """The same arguments with the global options moved before the command; nothing after `--` is an option.

    >>> global_first(["discover", "a.csv", "--quiet", "--out", "run"])
    ['--quiet', 'discover', 'a.csv', '--out', 'run']
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, rest = list(arguments[:end]), list(arguments[end:])
    moved = [one for one in options if one in _GLOBAL]
    return moved + [one for one in options if one not in _GLOBAL] + rest


def with_details(tell: Progress) -> Progress:
    """The same progress; with `--verbose`, also how long each stage took."""
    if not is_verbose():
        return tell
    stage, began = "", time.monotonic()

    def told(what: str, done: int, total: int) -> None:
        nonlocal stage, began
        now, name = time.monotonic(), what.partition(":")[0]
        if name != stage:
            if stage not in ("", "done"):
                detail(f"{stage} took {duration_in_words(now - began)}")
            stage, began = name, now
        tell(what, done, total)

    return told
