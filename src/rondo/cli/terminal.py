"""What a command prints: results on stdout, notes and progress on stderr, and nothing that steers the terminal.

An escape sequence in the name of a file, channel or entry could rewrite lines, hide what follows, or change the title
of the window. So every command imports `print` from here (`tests/cli/test_terminal.py` finds those that do not).

Progress is a bar where someone watches and plain lines where no one does. `--quiet` shows none, `--verbose` adds
details; both may stand before or after the command.
"""

from __future__ import annotations

import builtins
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from types import FrameType
from typing import IO, Any

from rondo.wording import Progress, duration_in_words, estimate_in_words, printable, silent

_OVER = "\r\x1b[K"  # back to the beginning of the line, and clear it
_GLOBAL = ("--quiet", "--verbose")
_BETWEEN_LINES_S = 2.0  # of the same work, so that a thousand steps are not a thousand lines


def print(*values: object, end: str = "\n", file: IO[str] | None = None, flush: bool = False) -> None:
    """Python's `print` for printable text; on stderr, nothing is lost where its reader has gone."""
    _write(printable(" ".join(map(str, values))), end, file, flush)


def print_json(value: Any) -> None:
    """One JSON object on stdout, for --json."""
    print(json.dumps(value))


def print_over(line: str, *, stays: bool = True) -> None:
    """A line on stderr; on a terminal it replaces the last line that does not stay."""
    is_watched = sys.stderr.isatty()
    text = printable(line, lines=False)
    _write(_OVER + text if is_watched else text, "\n" if stays or not is_watched else "", sys.stderr, flush=True)


def print_data(text: str) -> None:
    """A table for machines: exact in a file or a pipe, printable where a person looks at it."""
    _write(printable(text) if sys.stdout.isatty() else text, "", sys.stdout, flush=False)


def to_stderr(line: str) -> None:
    """One line, whatever names it holds."""
    print(printable(line, lines=False), file=sys.stderr, flush=True)


def _write(text: str, end: str, file: IO[str] | None, flush: bool) -> None:
    stream = sys.stdout if file is None else file
    encoding = getattr(stream, "encoding", None) or "utf-8"  # of a terminal that cannot show all that names hold
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        builtins.print(text, end=end, file=stream, flush=flush)
    except BrokenPipeError:
        if stream is not sys.stderr:
            raise
        with open(os.devnull, "w") as nowhere:  # noqa: PTH123  # a device, not a path
            os.dup2(nowhere.fileno(), sys.stderr.fileno())


def aligned(rows: Sequence[Sequence[str]], texts: Collection[int] = (0,)) -> list[str]:
    """Lines of a table; the columns `texts` are text, the others are numbers.

    >>> aligned([["unit", "frames"], ["u0", "12"]])
    ['unit  frames', 'u0        12']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        padded = [cell.ljust(width) if i in texts else cell.rjust(width) for i, (cell, width) in cells]
        lines.append("  ".join(padded).rstrip())
    return lines


def heeded_signals() -> list[signal.Signals]:
    """Those of SIGINT and SIGTERM that end a command; one that is ignored (nohup, `&` in a script) stays so."""
    return [each for each in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(each) is not signal.SIG_IGN]


@contextmanager
def asked_to_stop() -> Iterator[list[int]]:
    """A list that gets the number of the first signal to stop; the second one stops the command at once."""
    numbers: list[int] = []
    before: dict[signal.Signals, Any] = {}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask(number: int, frame: FrameType | None) -> None:
        numbers.append(number)
        restore()

    if threading.current_thread() is threading.main_thread():  # only the main thread may listen to signals
        before.update({each: signal.signal(each, ask) for each in heeded_signals()})
    try:
        yield numbers
    finally:
        restore()


# ---------------------------------------------------------------- how much is shown


class Verbosity(Enum):
    """Notes on the data and errors are shown in all three."""

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


def detail(line: str) -> None:
    """A line on stderr for --verbose alone."""
    if is_verbose():
        to_stderr(f"detail: {line}")


def global_first(arguments: Sequence[str]) -> list[str]:
    """The same arguments with the global options moved before the command; nothing after `--` is an option.

    >>> global_first(["discover", "a.csv", "--quiet", "--out", "run"]), global_first(["usage", "--", "--quiet"])
    (['--quiet', 'discover', 'a.csv', '--out', 'run'], ['usage', '--', '--quiet'])
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    moved = sorted(range(end), key=lambda i: arguments[i] not in _GLOBAL)
    return [*(arguments[i] for i in moved), *arguments[end:]]


# ---------------------------------------------------------------- progress


@contextmanager
def progress() -> Iterator[Progress]:
    """A callback (what, done, total) that shows how far the work is."""
    if is_quiet():
        yield silent
        return
    if not sys.stderr.isatty():
        yield _with_details(plain_lines(time.monotonic))
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

        yield _with_details(tell)


def _with_details(tell: Progress) -> Progress:
    """The same progress; with --verbose, also how long each stage took."""
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
