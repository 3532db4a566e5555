"""`rondo stream`: rows labelled as they come; stopped or killed, it goes on where it was."""

from __future__ import annotations

import json as json_module
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli.progress import is_quiet
from rondo.wording import counted

if TYPE_CHECKING:
    from rondo.live.session import Session, Written

_POLL_S = 0.1  # how long a row may lie in the source before it is seen
_BETWEEN_STATUS_S = 2.0


def stream(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder, or the run folder that holds it.")],
    source: Annotated[str, typer.Option("--source", metavar="SOURCE", help="{sources}")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write, or to go on with.")],
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="DIR", help="Where to go on from; OUT/checkpoint if not given."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", metavar="", help="The source goes on: wait for more rows until stopped.")
    ] = False,
    frozen: Annotated[
        bool, typer.Option("--frozen", metavar="", help="Label as `rondo label` does, and learn nothing.")
    ] = False,
    every: Annotated[
        int, typer.Option("--every", metavar="N", min=1, help="Windows between checkpoints; also every 60 s of data.")
    ] = 1000,
    json: Annotated[
        bool, typer.Option("--json", metavar="", help="Print labels and events as JSON lines on stdout.")
    ] = False,
) -> None:
    """Label a stream as it comes. Started again with the same command, it goes on exactly where it was.

    Example: rondo stream run --source day3.csv --out live --follow
    """
    from rondo.continual.checkpoint import locked
    from rondo.editing import model_folder
    from rondo.live.session import Session, SessionPaths
    from rondo.model import Rondo
    from rondo.store.urls import refuse_url

    for folder in (out, checkpoint or out):
        refuse_url(folder, "a stream appends to its files, which a bucket cannot; give a folder of this machine")
    place = SessionPaths(source, out, checkpoint or out / "checkpoint", follow)
    folder = model_folder(model)
    fitted = Rondo.load(folder)
    with locked(place.checkpoint), closing(Session(fitted, folder, place, every, frozen=frozen)) as session:
        if session.finished:
            print(f"{out}: finished already, {counted(session.counters.n_rows, 'row')}; nothing to do", file=sys.stderr)
            return
        if session.resumed:
            print(f"going on after {counted(session.counters.n_rows, 'row')}", file=sys.stderr)
        with asked_to_stop() as stop:
            _run(session, stop, follow, json)
        _say_goodbye(session, out, json)


def _run(session: Session, stop: list[int], follow: bool, json: bool) -> None:
    """Until the source has ended, or someone asks to stop; then everything is on the disk."""
    status = _Status(session)
    while not stop:
        written = session.step()
        if written is not None:
            _print(session, written, json)
            if session.is_due:
                session.save()
        elif session.source.ended:
            break
        else:
            session.source.wait(_POLL_S)
        status.show()
    if session.source.ended and not follow and not stop:
        _print(session, session.finish(), json)
    else:
        session.stop()
    status.show(last=True)


def _say_goodbye(session: Session, out: Path, json: bool) -> None:
    rows, windows = counted(session.counters.n_rows, "row"), counted(session.counters.n_windows, "window")
    if session.counters.n_rows and not session.counters.n_windows:
        print(f"note: {_NO_WINDOW}", file=sys.stderr)
    if not session.finished:
        print(f"stopped after {rows}; the same command goes on from there", file=sys.stderr)
    elif json:
        print(json_module.dumps({"type": "summary"} | session.summary().as_json()), flush=True)
    else:
        print(f"labels:  {out / 'labels' / session.id}.npy ({rows}, {windows})")
        print(f"events:  {out / 'events.jsonl'} ({session.counters.n_events})")
        print(f"report:  {out / 'report.html'}")


_NO_WINDOW = (
    "not one window was whole, so nothing is labelled: there were too few rows, or one channel is missing more often "
    "than when the model was fitted; fit the model without it (--label-column NAME)"
)


def _print(session: Session, written: Written, json: bool) -> None:
    """One object per label and event; `n` counts from the beginning of the stream, so that what is printed twice
    because the process was killed between printing and its checkpoint can be told."""
    if not json:
        return
    first_label = session.counters.n_windows - len(written.labels)
    first_event = session.counters.n_events - len(written.events)
    for n, label in enumerate(written.labels, start=first_label):
        print(json_module.dumps({"type": "label", "n": n, **label} | _names(session, label)))
    for n, event in enumerate(written.events, start=first_event):
        print(json_module.dumps({"type": "event", "n": n, **json_module.loads(event.to_json())}))
    sys.stdout.flush()


def _names(session: Session, label: Mapping[str, Any]) -> dict[str, str]:
    """What people call the unit and the motif, where they do."""
    unit, motif = (session.edits.name("unit", label["unit"]), session.edits.name("motif", label["motif"]))
    return {key: name for key, name in (("unit_name", unit), ("motif_name", motif)) if name}


class _Status:
    """A line on stderr now and then: where someone watches it is written over the one before."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._is_watched = sys.stderr.isatty()
        self._since, self._shown = time.monotonic(), time.monotonic()
        self._first = session.counters.n_windows

    def show(self, *, last: bool = False) -> None:
        now = time.monotonic()
        if is_quiet() or (not last and now - self._shown < _BETWEEN_STATUS_S):
            return
        self._shown = now
        counts = self._session.counters
        per_s = (counts.n_windows - self._first) / max(now - self._since, 1e-9)
        line = (
            f"{counted(counts.n_rows, 'row')}, {counted(counts.n_windows, 'window')} ({per_s:.0f}/s), "
            f"{counts.n_accepted} accepted, {counts.n_buffered} buffered, {counts.n_promoted} promoted, "
            f"{self._session.source.backlog_bytes() / 1000:.0f} kB behind"
        )
        lines, cells = counted(counts.n_skipped_lines, "line"), counted(counts.n_unreadable_cells, "cell")
        dropped = f", {lines} skipped, {cells} unreadable"
        line += dropped if counts.n_skipped_lines or counts.n_unreadable_cells else ""
        start, end = ("\r\x1b[K", "\n" if last else "") if self._is_watched else ("", "\n")
        print(start + line, end=end, file=sys.stderr, flush=True)


@contextmanager
def asked_to_stop() -> Iterator[list[int]]:
    """A list that gets the number of the first signal to stop; the second one stops at once, as everywhere else."""
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
