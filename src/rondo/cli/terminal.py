"""`print` and Ctrl-C for the command line: what names of files, channels and entries hold never steers the terminal.

An escape sequence in a name could rewrite lines that were read already, hide what follows, or change the title of the
window. So every command imports `print` from here (`tests/cli/test_terminal.py` finds those that do not).
"""

from __future__ import annotations

import builtins
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any

from rondo.wording import printable

_OVER = "\r\x1b[K"  # back to the beginning of the line, and clear it


def print(*values: object, end: str = "\n", file: IO[str] | None = None, flush: bool = False) -> None:
    """As Python's own, of text that is printable; to stderr, nothing is lost where its reader has gone."""
    _write(printable(" ".join(map(str, values))), end, file, flush)


def print_over(line: str, *, stays: bool = True) -> None:
    """A line on stderr: where someone watches it takes the place of the last one that does not stay."""
    is_watched = sys.stderr.isatty()
    text = printable(line, lines=False)
    _write(_OVER + text if is_watched else text, "\n" if stays or not is_watched else "", sys.stderr, flush=True)


def print_data(text: str) -> None:
    """A table for machines: exact in a file or a pipe, printable where a person looks at it."""
    _write(printable(text) if sys.stdout.isatty() else text, "", sys.stdout, flush=False)


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


@contextmanager
def asked_to_stop() -> Iterator[list[int]]:
    """A list that gets the number of the first signal to stop; the second one stops the command at once."""
    numbers: list[int] = []
    before: dict[signal.Signals, Any] = {}

    def ask(number: int, frame: FrameType | None) -> None:
        numbers.append(number)
        for each, handler in before.items():
            signal.signal(each, handler)

    if threading.current_thread() is threading.main_thread():  # only the main thread may listen to signals
        before.update({each: signal.signal(each, ask) for each in (signal.SIGINT, signal.SIGTERM)})
    try:
        yield numbers
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
