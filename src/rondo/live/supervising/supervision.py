"""Supervision: what goes on around the labelling of one stream or of many: sinks, alarms, health and the exit code.

The loop that labels calls `after` with what each step gave, `tick` each time around, and `close` at the end. None of
them waits for a server. Labels and events do not depend on any of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from rondo.editing.edits import Edits
from rondo.errors import InputError, OutputError, RecordingError, SourceLostError
from rondo.live.sinks.base import MessageType, open_sink, shown_sink
from rondo.live.sinks.delivery import Delivery
from rondo.live.supervising.alarm_limits import BEHIND, DEFAULT_LIMITS, REFUSED, AlarmLimits
from rondo.live.supervising.alarm_log import AlarmLine, AlarmLog
from rondo.live.supervising.alarms import DeviceAlarms
from rondo.live.supervising.health import HEALTH, Health, HealthState, SinkHealth, write_health
from rondo.live.supervising.systemd import notify_systemd
from rondo.store.folder import clear_drafts

if TYPE_CHECKING:
    from rondo.live.session import Counters, Written

STOPPED_BY_ALARM = 3  # the exit code
_HEALTH_S, _ALARMS_S, _PUMP_S = 5.0, 0.5, 0.1  # at most so often: health is written, silence looked for, sinks pumped
_PATIENCE_S = 10.0  # how long the end of a run waits for sinks that are not down
_MOST_NAMED = 10  # devices in alarm that health.json names


class Supervised(Protocol):
    """What is asked of a session."""

    @property
    def counters(self) -> Counters: ...
    @property
    def edits(self) -> Edits: ...


@dataclass
class _Watched:
    """One device: its alarms, and the counts seen last."""

    folder: Path
    alarms: DeviceAlarms
    n_rows: int = 0
    n_windows: int = 0
    n_skipped: int = 0


class Supervision:
    """Sinks, alarms and health of everything that is labelled under one folder.

    Parameters
    ----------
    out
        The folder of the run: of the one stream, or the one that holds a folder for each device.
    sinks
        Addresses, as `--sink` takes them.
    limits
        The alarms that are on (`rondo.live.supervising.alarm_limits`).
    fail_on
        Alarms that end the run: `failure` is then 3.
    following
        Whether the source goes on: only then is silence an alarm.
    say
        Gets each line for people.
    """

    def __init__(
        self,
        out: Path,
        sinks: Sequence[str] = (),
        limits: AlarmLimits = DEFAULT_LIMITS,
        fail_on: Collection[str] = (),
        *,
        following: bool = False,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._out, self._limits, self._fail_on, self._following, self._say = out, limits, fail_on, following, say
        self._watched: dict[str, _Watched] = {}
        self._device_in: dict[Path, str] = {}
        self._others: dict[str, DeviceAlarms] = {}  # of devices without a session, and of the source ("")
        self._logs: dict[Path, AlarmLog] = {}
        self._n_rows = self._n_windows = self._backlog_bytes = 0
        self._last_row_s: float | None = None
        self._health_at = self._alarms_at = self._pump_at = 0.0
        self._problems: dict[str, str | None] = {}
        self._is_ready = self._is_closed = self._is_health_lost = False
        self.failure: int | None = None
        clear_drafts(out / HEALTH)
        self._deliveries: list[Delivery] = []
        try:
            for where in dict.fromkeys(sinks):
                self._deliveries.append(Delivery(out, where, open_sink(where)))
        except BaseException:
            for delivery in self._deliveries:
                delivery.sink.close()
            raise

    # ------------------------------------------------------------ what the loop says

    def begin(self, device: str, folder: Path, session: Supervised) -> None:
        """A session was opened, and has not read anything yet: its files may hold lines that no sink has had."""
        if device not in self._watched:
            self._watch(device, folder, session, just_opened=True)

    def after(self, device: str, folder: Path, written: Written | None, session: Supervised) -> None:
        """A step of a device gave this; None where there was nothing to read."""
        watched = self._watched.get(device) or self._watch(device, folder, session)
        if written is None:
            return
        counts, now = session.counters, time.monotonic()
        n_rows, n_skipped = counts.n_rows - watched.n_rows, counts.n_skipped_lines - watched.n_skipped
        if n_rows:
            self._last_row_s = time.time()
        self._count(watched, counts)
        watched.alarms.rows(n_rows, n_skipped, now)
        if written.labels:
            watched.alarms.labels(written.labels)
        if written.events:
            watched.alarms.events(written.events)
        added: tuple[tuple[MessageType, bool], ...] = (("label", bool(written.labels)), ("event", bool(written.events)))
        if grown := [type for type, is_there in added if is_there]:
            for delivery in self._deliveries:
                delivery.news(device, folder, session.edits, grown)

    def unreadable(self, device: str, n_messages: int = 1) -> None:
        """So many messages of a device could not be read, and gave no step."""
        self._alarms_of(device).rows(0, n_messages, time.monotonic())

    def refused(self, device: str, reason: str) -> None:
        """A device, or the source if it is the only one, was refused."""
        self._alarms_of(device).refused(reason)

    def tick(self, now: float | None = None, backlog: Callable[[], int] = lambda: 0) -> None:
        """Whatever is due by the wall clock; `now` is of `time.monotonic`, `backlog` gives the bytes that wait."""
        now = time.monotonic() if now is None else now
        if now >= self._alarms_at:
            self._alarms_at = now + _ALARMS_S
            self._backlog_bytes = backlog()
            self._look(now)
        if now >= self._pump_at:
            self._pump_at = now + _PUMP_S
            self._pump(now)
        if now >= self._health_at:
            self._health_at = now + _HEALTH_S
            self._write_health(self._state())

    def close(self, state: HealthState, exit_code: int = 0) -> None:
        """Send what is left, as far as sinks are up, and write down how everything ended."""
        notify_systemd("STOPPING=1")
        self._is_closed = True
        self._backlog_bytes = 0 if state == "finished" else self._backlog_bytes
        end = time.monotonic() + _PATIENCE_S
        for delivery in self._deliveries:
            delivery.look_everywhere()
            self._drain(delivery, end, at_end=state == "finished")
        health = [self._sink_health(delivery) for delivery in self._deliveries]
        for delivery in self._deliveries:
            delivery.close(time.monotonic())
        self._write_health(state, exit_code, health)

    def __enter__(self) -> Supervision:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Where the run did not come to `close`: whoever watches it should hear why."""
        if self._is_closed:
            return
        is_refused = isinstance(error, RecordingError) and not isinstance(error, SourceLostError)
        if is_refused and self._watched:
            self.refused(next(iter(self._watched)) if len(self._watched) == 1 else "", str(error))
        if isinstance(error, InputError) and self._watched:
            self.close("stopped", error.exit_code)
            return
        for delivery in self._deliveries:  # nothing that could wait: the user may have asked twice
            delivery.sink.close()
        if self._watched:
            with suppress(OutputError):
                self._write_health("stopped", exit_code=1)

    # ------------------------------------------------------------ devices

    def _watch(self, device: str, folder: Path, session: Supervised, *, just_opened: bool = False) -> _Watched:
        watched = _Watched(folder, self._alarms(device, folder))
        self._watched[device], self._device_in[folder] = watched, device
        self._count(watched, session.counters)
        watched.alarms.go_on(folder)
        earlier = self._others.pop(device, None)
        if earlier is not None:
            earlier.rows(1, 0, time.monotonic())  # it was refused, and is no longer
        for delivery in self._deliveries:
            delivery.news(device, folder, session.edits, just_opened=just_opened)
        return watched

    def _count(self, watched: _Watched, counts: Counters) -> None:
        self._n_rows += counts.n_rows - watched.n_rows
        self._n_windows += counts.n_windows - watched.n_windows
        watched.n_rows, watched.n_windows, watched.n_skipped = counts.n_rows, counts.n_windows, counts.n_skipped_lines

    def _alarms_of(self, device: str) -> DeviceAlarms:
        if device in self._watched:
            return self._watched[device].alarms
        if device not in self._others:
            self._others[device] = self._alarms(device, self._out)
        return self._others[device]

    def _alarms(self, device: str, folder: Path) -> DeviceAlarms:
        if folder not in self._logs:
            self._logs[folder] = AlarmLog(folder)
        return DeviceAlarms(device, self._logs[folder], self._limits, lambda line: self._tell(line, folder))

    def _tell(self, line: AlarmLine, folder: Path) -> None:
        self._health_at = 0.0  # whoever asks for it after hearing of the alarm finds it there
        words = "alarm over" if line.state == "cleared" else "alarm"
        self._say(f"{words}: {line.device or self._out.name}: {line.alarm}: {line.message}")
        if line.alarm in self._fail_on and line.state != "cleared":
            self.failure = self.failure or STOPPED_BY_ALARM
        for delivery in self._deliveries:
            delivery.news(self._device_in.get(folder, ""), folder, types=["alarm"])

    # ------------------------------------------------------------ by the wall clock

    def _look(self, now: float) -> None:
        if not self._is_ready and self._out not in self._device_in:
            for delivery in self._deliveries:  # alarms of the source that an earlier run could not send
                delivery.news("", self._out)
        if self._following:
            for watched in self._watched.values():
                watched.alarms.waited(now)
        if BEHIND in self._limits:
            self._alarms_of("").backlog(self._backlog_bytes, now)

    def _pump(self, now: float) -> None:
        for delivery in self._deliveries:
            delivery.pump(now)
            problem = delivery.sink.problem
            if problem != self._problems.get(delivery.where):
                shown = shown_sink(delivery.where)
                self._say(f"note: sink {shown}: {problem or 'it goes on'}")
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
        n_bytes = delivery.n_behind
        why = f" ({sink.problem})" if sink.problem else ""
        self._say(
            f"note: sink {shown_sink(delivery.where)}: {n_bytes / 1000:,.1f} kB have not arrived{why}; "
            "the same command sends them"
        )

    # ------------------------------------------------------------ health

    def _state(self) -> HealthState:
        return "alarm" if self._in_alarm() else "ok"

    def _in_alarm(self) -> dict[str, list[str]]:
        everyone = [*(watched.alarms for watched in self._watched.values()), *self._others.values()]
        return {alarms.device: alarms.raised for alarms in everyone if alarms.raised}

    def _sink_health(self, delivery: Delivery) -> SinkHealth:
        sink = delivery.sink
        return SinkHealth(shown_sink(delivery.where), delivery.n_behind, sink.n_refused, sink.problem)

    def _write_health(
        self, state: HealthState, exit_code: int | None = None, sinks: list[SinkHealth] | None = None
    ) -> None:
        in_alarm = self._in_alarm()
        health = Health(
            state,
            round(time.time(), 3),
            n_devices=len(self._watched),
            n_in_alarm=len(in_alarm),
            n_refused=sum(REFUSED in names for names in in_alarm.values()),
            alarms={device: in_alarm[device] for device in list(in_alarm)[:_MOST_NAMED]},
            n_rows=self._n_rows,
            n_windows=self._n_windows,
            last_row_s=self._last_row_s,
            backlog_bytes=self._backlog_bytes,
            sinks=[self._sink_health(delivery) for delivery in self._deliveries] if sinks is None else sinks,
            exit_code=exit_code,
        )
        try:
            write_health(self._out, health)
        except OutputError as error:  # labels go on, or whoever writes them says why not
            if not self._is_health_lost:
                self._say(f"note: {error}")
            self._is_health_lost = True
        notify_systemd(*([] if self._is_ready else ["READY=1"]), "WATCHDOG=1", f"STATUS={health.in_words()}")
        self._is_ready = True
