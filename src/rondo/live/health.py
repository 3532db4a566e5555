"""Health: what surrounds the labelling of one stream or of many: alarms, sinks, health.json, the exit code.

Nine alarms, each raised once and cleared once: nothing-fits (no unit has accepted a window for 30 s of data),
labels-doubtful (the model does not fit the stream so far, by the verdict of `rondo label`), stuck (a channel repeats
one value), outside (its values lie far outside what the model was fitted on), silent (no row for `--silent`, while the
source is followed), refused (a device or the source); and of single occurrences (`watching.py`) deviates, too-long and
missing-step. The loop that labels calls `after` with the result of each step, `tick` each time around, and `close` at
the end. None of them waits for a server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rondo.continual.journal import Event
from rondo.data.input_events import fault_of, is_over
from rondo.data.labels import OTHER
from rondo.errors import InputError, OutputError, RecordingError, SourceLostError
from rondo.live.delivery import Delivery
from rondo.live.source import open_sink, shown_sink
from rondo.live.watching import Sign
from rondo.run.decisions import Label
from rondo.run.health import HEALTH, HealthReport, HealthState, SinkHealth, write_health
from rondo.store.folder import clear_drafts
from rondo.wording import duration_in_words, moment_in_words

if TYPE_CHECKING:
    from rondo.live.session import Counters, Session, Written

NOTHING_FITS, DOUBTFUL, STUCK, OUTSIDE = "nothing-fits", "labels-doubtful", "stuck", "outside"
SILENT, REFUSED = "silent", "refused"
NOTHING_FITS_S, SILENT_S = 30.0, 60.0
DEVICES_REFUSED = 3
"""The exit code of a stream that ended after a device was refused."""
_HEALTH_S, _ALARMS_S, _PUMP_S = 5.0, 0.5, 0.1  # at most so often: health is written, silence looked for, sinks pumped
_PATIENCE_S = 10.0  # how long the end of a run waits for sinks that are not down


@dataclass
class _Device:
    """The alarms of one device, and its counts at the last step."""

    name: str
    say: Callable[[str], None]
    n_rows: int = 0
    n_windows: int = 0
    last_row: float = field(default_factory=time.monotonic)
    misfit_since_s: float = 0.0  # of the data: where the labels without a unit begin
    misfit_s: float = 0.0  # their seconds so far
    alarms: dict[str, str] = field(default_factory=dict)  # those that are raised, with their message
    faults: dict[str, list[str]] = field(default_factory=dict)  # alarm -> channels that are stuck or outside now

    def set_alarm(self, alarm: str, message: str) -> None:
        if alarm not in self.alarms:
            self.alarms[alarm] = message
            self.say(f"alarm: {self.name}: {alarm}: {message}")

    def clear_alarm(self, alarm: str, message: str) -> None:
        if self.alarms.pop(alarm, None) is not None:
            self.say(f"alarm over: {self.name}: {alarm}: {message}")

    def add_rows(self) -> None:
        now = time.monotonic()
        self.clear_alarm(SILENT, f"rows again after {duration_in_words(now - self.last_row)}")
        self.last_row = now

    def add_labels(self, labels: Sequence[Label]) -> None:
        for label in labels:
            start_s, end_s = label["start_s"], label["end_s"]
            if start_s is None or end_s is None:  # without a rate the length of a window is unknown
                return
            if label["unit"] != OTHER:
                self.clear_alarm(NOTHING_FITS, f"a unit fits again after {duration_in_words(self.misfit_s)} of data")
                self.misfit_s = 0.0
                continue
            self.misfit_since_s = self.misfit_since_s if self.misfit_s else start_s
            self.misfit_s += end_s - start_s
            if self.misfit_s >= NOTHING_FITS_S:
                since, length = moment_in_words(self.misfit_since_s), duration_in_words(self.misfit_s)
                self.set_alarm(NOTHING_FITS, f"no unit fits since {since}, {length} of data")

    def add_fit(self, fit: str) -> None:
        if fit == "does not fit":
            self.set_alarm(DOUBTFUL, "the model does not fit: the labels are doubtful, and nothing is learned")
        elif fit:
            self.clear_alarm(DOUBTFUL, f"the model {fit}")

    def add_events(self, events: Sequence[Event]) -> None:
        """Alarms of channels: raised with the first of them, over with the last."""
        for event in events:
            if (fault := fault_of(event.evidence)) is None:
                continue
            alarm, channel = OUTSIDE if fault[0].startswith(OUTSIDE) else STUCK, fault[1]
            channels = self.faults.setdefault(alarm, [])
            if not is_over(event.evidence):
                since = f"frame {event.frame:,}" if event.time_s is None else moment_in_words(event.time_s)
                channels.append(channel)
                self.set_alarm(alarm, f"'{channel}' {event.evidence['cause']}, since {since}")
            elif channel in channels:
                channels.remove(channel)
                if not channels:
                    self.clear_alarm(alarm, f"'{channel}' is sound again, after {event.evidence['rows']:,} such rows")

    def add_signs(self, signs: Sequence[Sign]) -> None:
        """Alarms about single occurrences."""
        for sign in signs:
            (self.clear_alarm if sign.is_over else self.set_alarm)(sign.alarm, sign.message)

    def look(self, now: float, silent_s: float) -> None:
        if now - self.last_row >= silent_s:
            self.set_alarm(SILENT, f"no row for {duration_in_words(now - self.last_row)}")


class Health:
    """Alarms, sinks and health.json of everything that is labelled under one folder.

    `out` is the folder of the one stream, or the one that holds a folder for each device; `silent_s` the seconds
    without a row after which a device counts as silent (None: never, for sources that end).
    """

    def __init__(
        self,
        out: Path,
        sinks: Sequence[str] = (),
        *,
        silent_s: float | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._out, self._silent_s, self._say = out, silent_s, say
        self._devices: dict[str, _Device] = {}
        self.n_rows = self.n_windows = self._backlog_bytes = 0
        self._last_row_s: float | None = None
        self._health_at = self._alarms_at = self._pump_at = 0.0
        self._problems: dict[str, str | None] = {}  # of sinks, as printed last
        self._is_closed = self._is_health_lost = False
        clear_drafts(out / HEALTH)
        self._deliveries: list[Delivery] = []
        try:
            for where in dict.fromkeys(sinks):
                self._deliveries.append(Delivery(out, where, open_sink(where)))
        except BaseException:
            for delivery in self._deliveries:
                delivery.sink.close()
            raise

    @property
    def exit_code(self) -> int:
        """Of a stream that ends now, as far as it is about devices."""
        return DEVICES_REFUSED if self._n_refused else 0

    def begin(self, device: str, folder: Path, session: Session) -> None:
        """A session was opened, and has read nothing yet: its files may hold lines that no sink has had."""
        known = self._device(device)
        self._count(known, session.counters)
        known.add_fit(session.fit)
        for delivery in self._deliveries:
            delivery.news(device, folder, session.edits)

    def after(self, device: str, folder: Path, written: Written | None, session: Session) -> None:
        """The result of a step of a device; None if there was nothing to read."""
        if written is None:
            return
        known = self._devices[device]
        if session.counters.n_rows > known.n_rows:
            self._last_row_s = time.time()
            known.add_rows()
        self._count(known, session.counters)
        known.add_labels(written.labels)
        known.add_fit(session.fit)
        known.add_events(written.events)
        known.add_signs(written.signs)
        if written.labels or written.events:
            for delivery in self._deliveries:
                delivery.news(device, folder, session.edits)

    def refused(self, device: str, reason: str) -> None:
        """A device, or the source itself (""), was refused."""
        self._device(device).set_alarm(REFUSED, " ".join(reason.split()))

    def tick(self, now: float | None = None, backlog: Callable[[], int] = lambda: 0) -> None:
        """Whatever is due by the wall clock; `now` is of `time.monotonic`, `backlog` gives the bytes that wait."""
        now = time.monotonic() if now is None else now
        if now >= self._alarms_at:
            self._alarms_at = now + _ALARMS_S
            self._backlog_bytes = backlog()
            if self._silent_s is not None:
                for device in self._devices.values():
                    if REFUSED not in device.alarms:
                        device.look(now, self._silent_s)
        if now >= self._pump_at:
            self._pump_at = now + _PUMP_S
            self._pump(now)
        if now >= self._health_at:
            self._health_at = now + _HEALTH_S
            self._write("alarm" if self._in_alarm() else "ok")

    def close(self, state: HealthState, exit_code: int = 0) -> None:
        """Send what is left, as far as sinks are up, and write down how everything ended."""
        self._is_closed = True
        self._backlog_bytes = 0 if state == "finished" else self._backlog_bytes
        end = time.monotonic() + _PATIENCE_S
        for delivery in self._deliveries:
            delivery.look_everywhere()
            self._drain(delivery, end, at_end=state == "finished")
        sinks = self._sinks()
        for delivery in self._deliveries:
            delivery.close(time.monotonic())
        self._write(state, exit_code, sinks)

    def __enter__(self) -> Health:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Where the run did not come to `close`: health.json says why."""
        if self._is_closed:
            return
        if isinstance(error, RecordingError) and not isinstance(error, SourceLostError) and self._devices:
            self.refused(next(iter(self._devices)) if len(self._devices) == 1 else "", str(error))
        if isinstance(error, InputError) and self._devices:
            self.close("stopped", error.exit_code)
            return
        for delivery in self._deliveries:  # nothing that could wait: the user may have asked twice
            delivery.sink.close()
        if self._devices:
            with suppress(OutputError):
                self._write("stopped", exit_code=1)

    def _device(self, name: str) -> _Device:
        if name not in self._devices:
            self._devices[name] = _Device(name or self._out.name, self._say_alarm)
        return self._devices[name]

    def _say_alarm(self, line: str) -> None:
        self._health_at = 0.0  # whoever looks at health.json after this line finds the alarm there
        self._say(line)

    def _count(self, device: _Device, counts: Counters) -> None:
        self.n_rows += counts.n_rows - device.n_rows
        self.n_windows += counts.n_windows - device.n_windows
        device.n_rows, device.n_windows = counts.n_rows, counts.n_windows

    def _in_alarm(self) -> dict[str, dict[str, str]]:
        return {name: dict(device.alarms) for name, device in self._devices.items() if device.alarms}

    @property
    def _n_refused(self) -> int:
        return sum(REFUSED in device.alarms for device in self._devices.values())

    def _pump(self, now: float) -> None:
        for delivery in self._deliveries:
            delivery.pump(now)
            problem = delivery.sink.problem
            if problem != self._problems.get(delivery.where):
                self._say(f"note: sink {shown_sink(delivery.where)}: {problem or 'connected again'}")
                self._problems[delivery.where] = problem

    def _drain(self, delivery: Delivery, end: float, *, at_end: bool) -> None:
        sink = delivery.sink
        while True:
            delivery.pump(time.monotonic(), at_end=at_end)
            if delivery.is_done:
                return
            if not (sink.waits_at_end and at_end) and time.monotonic() >= end:
                break
            time.sleep(0.01)
        why = f" ({sink.problem})" if sink.problem else ""
        self._say(
            f"note: sink {shown_sink(delivery.where)}: {delivery.n_behind / 1000:,.1f} kB have not arrived{why}; "
            "the same command sends them"
        )

    def _sinks(self) -> list[SinkHealth]:
        return [
            SinkHealth(shown_sink(each.where), each.n_behind, each.sink.n_refused, each.sink.problem)
            for each in self._deliveries
        ]

    def _write(self, state: HealthState, exit_code: int | None = None, sinks: list[SinkHealth] | None = None) -> None:
        in_alarm = self._in_alarm()
        report = HealthReport(
            state,
            round(time.time(), 3),
            n_devices=sum(bool(name) for name in self._devices),
            n_in_alarm=len(in_alarm),
            n_refused=self._n_refused,
            alarms=in_alarm,
            n_rows=self.n_rows,
            n_windows=self.n_windows,
            last_row_s=self._last_row_s,
            backlog_bytes=self._backlog_bytes,
            sinks=self._sinks() if sinks is None else sinks,
            exit_code=exit_code,
        )
        try:
            write_health(self._out, report)
        except OutputError as error:  # labels go on, or the session reports why not
            if not self._is_health_lost:
                self._say(f"note: {error}")
            self._is_health_lost = True
