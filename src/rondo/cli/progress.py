"""Progress on stderr: a bar where someone watches, plain lines where no one does; both say how long it will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rondo.cli.verbosity import is_quiet, with_details
from rondo.progress import Progress, silent
from rondo.times import estimate_in_words

_BETWEEN_LINES_S = 2.0  # of the same work, so that a thousand steps are not a thousand lines


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
        TextColumn("{task.description}"),
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
                bar.reset(task, description=what, total=total)
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
        print(f"[{done}/{total}] {what}{left}", file=sys.stderr, flush=True)

    return tell
