"""Progress on stderr: a bar where someone watches, plain lines where no one does; both say how long it will take.

`--quiet` shows no progress, `--verbose` also what went on inside. Both stand before or after the command (`rondo
--quiet discover …`, `rondo discover … --quiet`): nobody should have to know which options belong to `rondo` itself.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum

from rondo.cli.terminal import print
from rondo.wording import Progress, duration_in_words, estimate_in_words, printable, silent

_GLOBAL = ("--quiet", "--verbose")
_BETWEEN_LINES_S = 2.0  # of the same work, so that a thousand steps are not a thousand lines


class Verbosity(Enum):
    """Notes on the data and errors are said in all three."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


_current: ContextVar[Verbosity] = ContextVar("verbosity", default=Verbosity.NORMAL)


def set_verbosity(verbosity: Verbosity) -> None:
    """For the command that is about to run; with VERBOSE, what the library logs is shown as details."""
    _current.set(verbosity)
    logger = logging.getLogger("rondo")
    logger.handlers = [_Details()] if verbosity is Verbosity.VERBOSE else []
    logger.setLevel(logging.INFO if verbosity is Verbosity.VERBOSE else logging.NOTSET)


class _Details(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        for line in record.getMessage().splitlines():
            detail(line)


def is_quiet() -> bool:
    return _current.get() is Verbosity.QUIET


def is_verbose() -> bool:
    return _current.get() is Verbosity.VERBOSE


def to_stderr(line: str) -> None:
    """One line, whatever names it holds."""
    print(printable(line, lines=False), file=sys.stderr, flush=True)


def detail(line: str) -> None:
    """Something that only those want to know who asked for details; on stderr."""
    if is_verbose():
        to_stderr(f"detail: {line}")


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


@contextmanager
def progress() -> Iterator[Progress]:
    """A callback (what, done, total) that shows how far the work is."""
    if is_quiet():
        yield silent
        return
    if not sys.stderr.isatty():
        yield with_details(plain_lines(time.monotonic))
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        shown = ""

        def tell(what: str, done: int, total: int) -> None:
            nonlocal shown
            if what != shown:
                bar.reset(task, description=printable(what, lines=False), total=total)
                shown = what
            bar.update(task, completed=done)

        yield with_details(tell)


def plain_lines(clock: Callable[[], float]) -> Progress:
    """A line when new work begins, and every two seconds while the same work goes on, with the time that is left."""
    shown, began, first, last = "", 0.0, 0, 0.0

    def tell(what: str, done: int, total: int) -> None:
        nonlocal shown, began, first, last
        now = clock()
        left = ""
        if what != shown:
            shown, began, first = what, now, done
        elif now - last < _BETWEEN_LINES_S:
            return
        elif done > first:
            left = f", about {estimate_in_words((now - began) * (total - done) / (done - first))} left"
        last = now
        to_stderr(f"[{done}/{total}] {what}{left}")

    return tell
