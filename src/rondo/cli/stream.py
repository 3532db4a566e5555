"""`rondo stream`: rows labelled as they come; stopped or killed, it goes on where it was."""

from __future__ import annotations

import json as json_module
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.progress import is_quiet
from rondo.cli.stream_notes import NO_WINDOW, StreamNotes, nothing_came, rows_in_words, say_note
from rondo.cli.terminal import print, print_over
from rondo.wording import counted

if TYPE_CHECKING:
    from rondo.config.settings import RondoConfig
    from rondo.live.session import Session, SessionPaths
    from rondo.live.supervising.supervision import Supervision

_POLL_S = 0.1  # how long a row may lie in the source before it is seen
_BETWEEN_STATUS_S = 2.0


SourceAddress = Annotated[str, typer.Option("--source", metavar="SOURCE", help="{sources}")]
StreamPlace = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write, or to go on with.")]
CheckpointDir = Annotated[
    Path | None, typer.Option("--checkpoint", metavar="DIR", help="Where to go on from; OUT/checkpoint if not given.")
]
Follow = Annotated[
    bool, typer.Option("--follow", metavar="", help="The source goes on: wait for more rows until stopped.")
]
Frozen = Annotated[bool, typer.Option("--frozen", metavar="", help="Label as `rondo label` does, and learn nothing.")]
StreamSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of this stream, e.g. --set continual.rule=published; without, those of the model.",
    ),
]
KeepChannels = Annotated[
    list[str] | None,
    typer.Option(
        "--keep-column",
        metavar="NAME",
        help="A channel taken as it is: no number in it is read as a code of missing values; may be repeated.",
    ),
]
Every = Annotated[
    int, typer.Option("--every", metavar="N", min=1, help="Windows between checkpoints; also every 60 s of data.")
]
JsonLines = Annotated[
    bool, typer.Option("--json", metavar="", help="Print labels and events as JSON lines on stdout: --sink -.")
]
Sinks = Annotated[list[str] | None, typer.Option("--sink", metavar="SINK", help="{sinks}")]
Alarms = Annotated[
    list[str] | None,
    typer.Option(
        "--alarm",
        metavar="NAME=LIMIT",
        help="nothing-fits=30s, silent=60s, unreadable=50%, new-unit and refused are on; behind=5min is not. "
        "NAME=off, or none for all; may be repeated.",
    ),
]
FailOn = Annotated[
    list[str] | None,
    typer.Option("--fail-on", metavar="NAMES", help="Alarms that end the run, with exit code 3: silent,refused."),
]


def stream(
    model: options.FittedModel,
    source: SourceAddress,
    out: StreamPlace,
    checkpoint: CheckpointDir = None,
    follow: Follow = False,
    frozen: Frozen = False,
    settings: StreamSettings = None,
    keep_column: KeepChannels = None,
    every: Every = 1000,
    json: JsonLines = False,
    sink: Sinks = None,
    alarm: Alarms = None,
    fail_on: FailOn = None,
) -> None:
    """Label a stream as it comes. Started again with the same command, it goes on exactly where it was.

    Exit codes: 0 ended, or stopped as asked; 2 bad input or setting; 3 stopped by an alarm (--fail-on); 4 the source
    was lost for longer than it is waited for. `rondo health DIR` says how it is doing.

    Example: rondo stream run --source day3.csv --out live --follow
    """
    from rondo.edit import model_folder
    from rondo.errors import SettingError
    from rondo.live.devices.messages import feed_kind
    from rondo.live.supervising.alarm_limits import parse_alarms, parse_fail_on
    from rondo.live.supervising.supervision import Supervision
    from rondo.model.rondo import Rondo
    from rondo.store.locations import refuse_url

    for folder in (out, checkpoint or out):
        refuse_url(folder, "a stream appends to its files, which a bucket cannot; give a folder of this machine")
    limits, sinks = parse_alarms(alarm or []), [*(["-"] if json else []), *(sink or [])]
    ends_it = parse_fail_on(fail_on or [], limits)
    folder = model_folder(model)
    fitted = Rondo.load(folder)
    fitted.config_ = _of_this_stream(fitted.config_, settings)
    kept, is_fleet = keep_column or (), feed_kind(source) is not None
    if is_fleet and checkpoint is not None:
        raise SettingError("--checkpoint: every device has its own, OUT/DEVICE/checkpoint; leave the option away")
    with Supervision(out, sinks, limits, ends_it, following=follow or is_fleet, say=say) as around:
        if is_fleet:
            from rondo.cli.stream_fleet import stream_fleet

            stream_fleet(fitted, folder, source, out, every, frozen=frozen, around=around, keep_columns=kept)
        else:
            from rondo.live.session import Session, SessionPaths

            place = SessionPaths(source, out, checkpoint or out / "checkpoint", follow)
            opened = partial(Session, fitted, folder, place, every, frozen=frozen, keep_columns=kept)
            if not _stream_one(place, opened, around, sinks):
                return
    if around.failure is not None:
        raise typer.Exit(around.failure)


def _stream_one(place: SessionPaths, opened: Callable[[], Session], around: Supervision, sinks: Sequence[str]) -> bool:
    """Label one stream, until it ends or someone asks to stop; whether there was anything left to label."""
    from rondo.live.one_writer import only_writer

    out = place.out
    with only_writer(out, place.checkpoint), closing(opened()) as session:
        if session.finished:
            done = f"finished already, {counted(session.counters.n_rows, 'row')}; nothing to do"
            print(f"{out}: {done}; rows that the source got since need another --out", file=sys.stderr)
            if sinks:  # which may not have had everything
                around.begin(session.id, out, session)
                around.close("finished")
            return False
        if session.resumed:
            print(f"going on after {counted(session.counters.n_rows, 'row')}", file=sys.stderr)
        with asked_to_stop() as stop:
            around.begin(session.id, out, session)
            notes = StreamNotes(session)
            _run(session, stop, place, around, notes)
            notes.say(all_of_it=True)
            around.close("finished" if session.finished else "stopped", around.failure or 0)
        if not stop and not session.counters.n_rows:
            say_note(nothing_came(place.where))
        _say_goodbye(session, out, "-" in sinks)
    return True


def _of_this_stream(config: RondoConfig, settings: list[str] | None) -> RondoConfig:
    """The settings of the model, with those of the section `continual` that were given for the stream."""
    from rondo.config.overrides import changed
    from rondo.errors import SettingError

    chosen = options.overrides(settings)
    for name in chosen:
        if not name.startswith("continual."):
            raise SettingError(
                f"--set {name}: a stream takes settings of the section continual; the others were fitted: give them to "
                "`rondo discover`"
            )
    return changed(config, overrides=chosen)


def _run(session: Session, stop: list[int], place: SessionPaths, around: Supervision, notes: StreamNotes) -> None:
    """Until the source has ended, someone asks to stop or an alarm ends it; then everything is on the disk."""
    status = _Status(session)
    while not stop and around.failure is None:
        written = session.step()
        around.after(session.id, place.out, written, session)
        if written is not None:
            notes.after(session.counters, written)
            if session.is_due:
                session.save()
        elif session.source.ended:
            break
        else:
            session.source.wait(_POLL_S)
        around.tick(backlog=session.source.backlog_bytes)
        status.show()
    if session.source.ended and not place.follow and not stop and around.failure is None and session.counters.n_rows:
        written = session.finish()
        around.after(session.id, place.out, written, session)
        notes.after(session.counters, written)
    else:
        session.stop()
    status.show(last=True)


def _say_goodbye(session: Session, out: Path, json: bool) -> None:
    from rondo.run.rows import counted_rows

    rows, windows = counted(session.counters.n_rows, "row"), counted(session.counters.n_windows, "window")
    if session.counters.n_rows and not session.counters.n_windows:
        say_note(NO_WINDOW)
    if session.finished:
        counts = counted_rows(out, session.id)
        print(rows_in_words(counts, session.counters.n_skipped_lines), file=sys.stderr, flush=True)
    if not session.finished and session.counters.n_rows:
        print(f"stopped after {rows}; the same command goes on from there", file=sys.stderr)
    elif session.finished and json:
        print(json_module.dumps({"type": "summary"} | session.summary().as_json()), flush=True)
    elif session.finished:
        print(f"labels:  {out / 'labels' / session.id}.npy ({rows}, {windows})")
        print(f"events:  {out / 'events.jsonl'} ({session.counters.n_events})")
        print(f"report:  {out / 'report.html'}")


def say(line: str) -> None:
    """A line on stderr, in the place of the status where someone watches that."""
    print_over(line)


class _Status:
    """A line on stderr now and then: where someone watches it is written over the one before."""

    def __init__(self, session: Session) -> None:
        self._session = session
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
        print_over(line, stays=last)


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
