"""`rondo stream`: rows labelled as they arrive, from one source or from many devices; `rondo health`: how it is doing.

Notes about the input go to stderr, whatever is on stdout. Each kind is printed when it first happens, then at most
every 10 s with the count so far, and once more at the end if something is left. The journal has every event.
"""

from __future__ import annotations

import json as json_module
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.options import WORDS
from rondo.cli.terminal import asked_to_stop, is_quiet, print, print_data, print_over
from rondo.wording import counted, duration_in_words

if TYPE_CHECKING:
    from rondo.config.settings import RondoConfig
    from rondo.continual.journal import Event
    from rondo.live.fleet import Fleet
    from rondo.live.health import Health
    from rondo.live.session import Counters, Session, SessionPaths, Written
    from rondo.run.rows import RowCounts

_POLL_S = 0.1  # how long a row may lie in the source before it is seen
_BETWEEN_STATUS_S, _BETWEEN_EQUAL_S = 2.0, 60.0  # the second while no message arrives
_BETWEEN_NOTES_S = 10.0
_MOST_CHANNELS = 6  # named by one line
_NO_WINDOW = (
    "not one window was whole, so nothing is labelled: there were too few rows, or one channel is missing more often "
    "than when the model was fitted; fit the model without it (--label-column NAME)"
)
_WHY_SKIPPED = "time missing, repeated, earlier than before, or far ahead of the rows after it"


def _help_of(end: str) -> str:
    from rondo.live import source

    return source.source_help() if end == "source" else source.sink_help()


WORDS.update({"{sources}": partial(_help_of, "source"), "{sinks}": partial(_help_of, "sink")})

SourceAddress = Annotated[str, typer.Option("--source", metavar="SOURCE", help="{sources}")]
StreamPlace = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write, or to resume.")]
Follow = Annotated[
    bool, typer.Option("--follow", metavar="", help="The source goes on: wait for more rows until stopped.")
]
Frozen = Annotated[bool, typer.Option("--frozen", metavar="", help="Label as `rondo label` does, and learn nothing.")]
StreamSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of this stream, e.g. --set continual.rule=published; default: those of the model.",
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
Sinks = Annotated[list[str] | None, typer.Option("--sink", metavar="SINK", help="{sinks}")]
Silent = Annotated[
    str, typer.Option("--silent", metavar="TIME", help="Alarm after so long without a row, where the source goes on.")
]
Stale = Annotated[
    str, typer.Option("--stale", metavar="TIME", help="After so long without a sign of life it counts as dead.")
]
Metrics = Annotated[bool, typer.Option("--metrics", help="Print it as text for Prometheus, nothing else.")]


def stream(
    model: options.FittedModel,
    source: SourceAddress,
    out: StreamPlace,
    follow: Follow = False,
    frozen: Frozen = False,
    settings: StreamSettings = None,
    keep_column: KeepChannels = None,
    sink: Sinks = None,
    silent: Silent = "60s",
) -> None:
    """Label a stream live. Run the same command again to resume exactly.

    Exit codes: 0 ended, or stopped by Ctrl-C or SIGTERM; 2 bad input or setting; 3 ended, but a device was refused; 4
    the source was lost for longer than it is waited for. `rondo health DIR` shows how it is doing.

    Example: rondo stream run --source day3.csv --out live --follow
    """
    from rondo.edit import model_folder
    from rondo.live.address import seconds_in
    from rondo.live.health import Health
    from rondo.live.session import Session, SessionPaths
    from rondo.live.source import feed_kind
    from rondo.live.watching import typical_of
    from rondo.model.rondo import Rondo
    from rondo.store.locations import refuse_url

    refuse_url(out, "a stream appends to its files, which a bucket cannot; give a folder of this machine")
    silent_s, sinks = seconds_in(silent, "--silent"), sink or []
    folder = model_folder(model)
    fitted = Rondo.load(folder)
    fitted.config_ = _of_this_stream(fitted.config_, settings)
    typical = typical_of(folder, fitted.preprocessor_.channels)
    chosen: dict[str, Any] = {"frozen": frozen, "keep_columns": keep_column or (), "typical": typical}
    is_fleet = feed_kind(source) is not None
    with Health(out, sinks, silent_s=silent_s if follow or is_fleet else None, say=print_over) as health:
        if is_fleet:
            from rondo.live.fleet import Fleet, Told

            told = Told(_note, health.begin, health.refused)
            _stream_fleet(partial(Fleet, fitted, folder, source, out, told=told, **chosen), health)
        else:
            place = SessionPaths(source, out, follow)
            _stream_one(place, partial(Session, fitted, folder, place, **chosen), health, sinks)
    if health.exit_code:
        raise typer.Exit(health.exit_code)


def health(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The --out of `rondo stream`.")],
    json: options.Json = False,
    stale: Stale = "30s",
    metrics: Metrics = False,
) -> None:
    """Show how a stream is doing, in one line, and one more for each device of a fleet. Exit code 0: healthy or
    finished; 1: in alarm; 2: stopped, dead, or no stream.

    Example: rondo health live --stale 1min
    """
    from dataclasses import asdict

    from rondo.live.address import seconds_in
    from rondo.run.health import devices_of, judged, read_health

    found, now_s = read_health(out), time.time()
    code, words = judged(found, seconds_in(stale, "--stale"), now_s)
    devices = [] if found is None else devices_of(out, found, now_s)
    if metrics:
        from rondo.live.prometheus import prometheus_text

        print_data(prometheus_text(found, devices, code, now_s))
    elif json:
        about = {"devices": [asdict(device) for device in devices], "health": None if found is None else asdict(found)}
        print(json_module.dumps({"exit_code": code, "summary": words} | about))
    else:
        print("\n  ".join([words, *(device.in_words() for device in devices)]))
    raise typer.Exit(code)


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


def _stream_one(place: SessionPaths, opened: Callable[[], Session], health: Health, sinks: Sequence[str]) -> None:
    from rondo.continual.checkpoint import locked

    with locked(place.checkpoint), closing(opened()) as session:
        if session.finished:
            done = f"finished already, {counted(session.counters.n_rows, 'row')}; nothing to do"
            print(f"{place.out}: {done}; rows that the source got since need another --out", file=sys.stderr)
            if sinks:  # which may not have had everything
                health.begin(session.id, place.out, session)
                health.close("finished")
            return
        if session.resumed:
            print(f"resuming after {counted(session.counters.n_rows, 'row')}", file=sys.stderr)
        with asked_to_stop() as stop:
            health.begin(session.id, place.out, session)
            notes = StreamNotes(session)
            _label(session, stop, place, health, notes)
            notes.say(everything=True)
            health.close("finished" if session.finished else "stopped")
        if not stop and not session.counters.n_rows:
            name = "standard input" if place.where == "-" else place.where
            _note(f"nothing came from {name}: no rows to label; run the same command once there are some")
        _print_end(session, place.out, "-" in sinks)


def _label(session: Session, stop: list[int], place: SessionPaths, health: Health, notes: StreamNotes) -> None:
    """Until the source has ended or a signal stops it; then everything is on the disk."""
    status = _Status()
    line = partial(_session_line, session, session.counters.n_windows, time.monotonic())
    while not stop:
        written = session.step()
        health.after(session.id, place.out, written, session)
        if written is not None:
            notes.after(session.counters, written)
            if session.is_due:
                session.save()
        elif session.source.ended:
            break
        else:
            session.source.wait(_POLL_S)
        health.tick(backlog=session.source.backlog_bytes)
        status.show(line)
    if session.source.ended and not place.follow and not stop and session.counters.n_rows:
        written = session.finish()
        health.after(session.id, place.out, written, session)
        notes.after(session.counters, written)
    else:
        session.stop()
    status.show(line, last=True)


def _print_end(session: Session, out: Path, json: bool) -> None:
    from rondo.run.rows import counted_rows

    counts, rows = session.counters, counted(session.counters.n_rows, "row")
    if counts.n_rows and not counts.n_windows:
        _note(_NO_WINDOW)
    if not session.finished:
        if counts.n_rows:
            print(f"stopped after {rows}; run the same command to resume", file=sys.stderr)
        return
    print(rows_in_words(counted_rows(out, session.id), counts.n_skipped_lines), file=sys.stderr, flush=True)
    if json:
        print(json_module.dumps({"type": "summary"} | session.summary.as_json()), flush=True)
        return
    print(f"labels:  {out / 'labels' / session.id}.npy ({rows}, {counted(counts.n_windows, 'window')})")
    print(f"events:  {out / 'events.jsonl'} ({counts.n_events})")
    print(f"report:  {out / 'report.html'}")


class _Status:
    """A line on stderr now and then: on a terminal it replaces the one before."""

    def __init__(self) -> None:
        self._shown_at, self._shown = time.monotonic(), ""

    def show(self, line: Callable[[], str], *, last: bool = False) -> None:
        now = time.monotonic()
        if is_quiet() or (not last and now - self._shown_at < _BETWEEN_STATUS_S):
            return
        text = line()
        if last or text != self._shown or now - self._shown_at >= _BETWEEN_EQUAL_S:
            self._shown_at, self._shown = now, text
            print_over(text, stays=last)


def _session_line(session: Session, first_window: int, since: float) -> str:
    counts = session.counters
    per_s = (counts.n_windows - first_window) / max(time.monotonic() - since, 1e-9)
    line = (
        f"{counted(counts.n_rows, 'row')}, {counted(counts.n_windows, 'window')} ({per_s:.0f}/s), "
        f"{counts.n_accepted} accepted, {counts.n_buffered} buffered, {counts.n_promoted} promoted, "
        f"{session.source.backlog_bytes() / 1000:.0f} kB behind"
    )
    if counts.n_skipped_lines or counts.n_unreadable_cells:
        lines, cells = counted(counts.n_skipped_lines, "line"), counted(counts.n_unreadable_cells, "cell")
        line += f", {lines} skipped, {cells} unreadable"
    return line


def _stream_fleet(opened: Callable[[], Fleet], health: Health) -> None:
    with asked_to_stop() as stop, closing(opened()) as fleet:
        status, notes = _Status(), _FleetNotes()

        def line() -> str:
            parts = [
                counted(len(fleet.devices), "device"),
                counted(health.n_rows, "row"),
                counted(health.n_windows, "window"),
                f"{counted(fleet.feed.backlog, 'message')} behind",
            ]
            parts += [f"{len(fleet.refused)} refused"] if fleet.refused else []
            parts += [f"{fleet.n_unreadable} unreadable"] if fleet.n_unreadable else []
            return ", ".join(parts)

        try:
            while not stop and not fleet.feed.ended:
                for device, written in fleet.step(_POLL_S):
                    health.after(device.name, device.folder, written, device.session)
                    notes.after(device.name, written, device.session.counters)
                health.tick(backlog=lambda: fleet.feed.backlog)
                notes.say()
                status.show(line)
        finally:
            fleet.stop()
            notes.say(everything=True)
            status.show(line, last=True)
        health.close("stopped", health.exit_code)
    print(f"stopped after {counted(health.n_rows, 'row')}; run the same command to resume", file=sys.stderr)


def _note(text: str) -> None:
    """One line on stderr; on a terminal the status line makes room."""
    print_over(f"note: {text}")


def rows_in_words(counts: RowCounts, n_skipped_lines: int) -> str:
    """What became of all rows: the parts add up.

    >>> from rondo.run.rows import RowCounts
    >>> rows_in_words(RowCounts(900, 10, 0, 90), 4)
    '1,000 rows read: 900 labelled, 10 skipped, 0 in gaps, 90 of no unit; 4 more lines held no row'
    """
    parts = f"{counts.labelled:,} labelled, {counts.skipped:,} skipped, {counts.in_gaps:,} in gaps"
    lines = f"; {counted(n_skipped_lines, 'more line', 'more lines')} held no row" if n_skipped_lines else ""
    return f"{counted(counts.read, 'row')} read: {parts}, {counts.of_no_unit:,} of no unit{lines}"


def missing_in_words(cells: Mapping[str, int]) -> str:
    """How many cells were read as missing, channel by channel.

    >>> missing_in_words({"CO": 12, "NOx": 1})
    "13 cells read as missing so far, by what the model was fitted on: 12 in 'CO', 1 in 'NOx'"
    """
    most = sorted(cells, key=lambda name: -cells[name])
    shown = ", ".join(f"{cells[name]:,} in {name!r}" for name in most[:_MOST_CHANNELS])
    more = f" and {len(most) - _MOST_CHANNELS} more channels" if len(most) > _MOST_CHANNELS else ""
    n_cells = counted(sum(cells.values()), "cell")
    return f"{n_cells} read as missing so far, by what the model was fitted on: {shown}{more}"


class _Notes:
    """Notes that wait to be printed, one of each kind; each kind is printed at most every so often."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._printed_at: dict[str, float] = {}
        self._waiting: dict[str, str] = {}

    def say(self, *, everything: bool = False) -> None:
        """Print what is due; at the end `everything`."""
        now = self._clock()
        for kind in list(self._waiting):
            if everything or now - self._printed_at.get(kind, -_BETWEEN_NOTES_S) >= _BETWEEN_NOTES_S:
                _note(self._words(kind))
                del self._waiting[kind]
                self._printed_at[kind] = now

    def _words(self, kind: str) -> str:
        return self._waiting[kind]


class _FleetNotes(_Notes):
    """What happened to the input of all devices: two lines every so often, however many they are."""

    def __init__(self) -> None:
        super().__init__()
        self._n_events: Counter[str] = Counter()
        self._devices: set[str] = set()
        self._missing: dict[str, Mapping[str, int]] = {}  # cells of each device, channel by channel

    def after(self, device: str, written: Written, counters: Counters) -> None:
        if counters.missing_cells != self._missing.get(device, {}):
            self._missing[device], self._waiting["missing"] = counters.missing_cells, ""
        for event in written.events:
            about = event.evidence
            if event.level != "input" or about.get("rule") in ("bridged", "gridded"):
                continue
            self._n_events[event.kind] += 1
            self._devices.add(device)
            what = about.get("reason") or about.get("cause") or about.get("rule") or event.kind
            self._waiting["last"] = f"{device}: {what}"

    def _words(self, kind: str) -> str:
        """Counted when it is printed: there may be a thousand devices."""
        if kind == "missing":
            every = sum((Counter(cells) for cells in self._missing.values()), Counter[str]())
            return f"{missing_in_words(every)}, of {counted(len(self._missing), 'device')}"
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self._n_events.items()))
        devices = counted(len(self._devices), "device")
        return f"input of {devices}: {kinds} events so far; the last: {self._waiting['last']}"


class StreamNotes(_Notes):
    """The notes of one stream."""

    def __init__(self, session: Session, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._before: Counters = session.counters
        self._n_gaps = 0

    def after(self, counters: Counters, written: Written) -> None:
        before, self._before = self._before, counters
        if counters.n_skipped_rows > before.n_skipped_rows:
            self._waiting["rows"] = f"{counted(counters.n_skipped_rows, 'row')} skipped so far: {_WHY_SKIPPED}"
        if counters.n_unreadable_cells > before.n_unreadable_cells:
            cells = counted(counters.n_unreadable_cells, "cell")
            self._waiting["cells"] = f"{cells} unreadable so far: no finite number, taken as missing"
        if counters.missing_cells != before.missing_cells:
            back = f"--keep-column {min(counters.missing_cells)!r} takes a column as it is"
            self._waiting["missing"] = f"{missing_in_words(counters.missing_cells)}; {back}"
        if counters.n_skipped_lines > before.n_skipped_lines:
            self._waiting["lines"] = f"{counted(counters.n_skipped_lines, 'line')} skipped so far, as they hold no row"
        for event in written.events:
            if event.level == "input":
                self._add(event)
        self.say()

    def _add(self, event: Event) -> None:
        about, rule = event.evidence, event.evidence.get("rule")
        if event.kind == "skip" and "reason" in about and "lines" in self._waiting:
            head = self._waiting["lines"].partition(" (")[0]
            self._waiting["lines"] = f"{head} (the last: line {about['line']}, {about['reason']})"
        elif rule == "gridded":
            where = f"from row {about['first_row']:,} on"
            self._waiting["grid"] = f"rows come unevenly {where}: read on the grid of the model"
        elif rule == "filled":
            channels = f"{about['channels']} (frame {event.frame:,})"
            if about["cause"] == "no values":
                self._waiting["silent"] = f"no values any more in {channels}: predicted from the others"
            else:
                self._waiting["heard"] = f"values again in {channels}, after {about['rows']:,} rows"
        elif rule == "boundary":
            self._n_gaps += 1
            many = "" if self._n_gaps == 1 else f"{self._n_gaps:,} gaps so far, the last: "
            seconds = about.get("seconds")
            by = f" by {duration_in_words(float(seconds))}" if seconds is not None else ""
            at = "" if event.time_s is None else f", {event.time_s:.3f} s"
            place = f"(frame {event.frame:,}{at}): no unit or motif reaches across"
            self._waiting["gaps"] = f"{many}{about['cause']}{by} {place}"
