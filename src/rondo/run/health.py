"""health.json in the folder of a stream: how it is doing, and what a supervisor concludes from it.

It is written whole, at least every five seconds. A file that is old, or whose process is gone, is no sign of life,
whatever it says.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from rondo.errors import OutputError
from rondo.store.folder import open_draft
from rondo.store.reading import read_json
from rondo.version import __version__
from rondo.wording import counted, duration_in_words

HEALTH = "health.json"
DEVICES = "devices"
"""The folder of a fleet in which each device has one; what else the fleet writes lies beside it."""
HealthState = Literal["ok", "alarm", "stopped", "finished"]
HEALTHY, IN_ALARM, DEAD = 0, 1, 2
"""Exit codes of `rondo health`."""
_STATES = ("ok", "alarm", "stopped", "finished")
_MOST_NAMED = 10  # devices in alarm that one line names
_MOST_S = 1e12  # since 1970: what is later is no time


@dataclass(frozen=True)
class SinkHealth:
    """How a sink is doing."""

    sink: str
    behind_bytes: int = 0
    n_refused: int = 0
    problem: str | None = None


@dataclass(frozen=True)
class DeviceHealth:
    """How one device of a fleet is doing."""

    device: str
    alarms: dict[str, str]  # alarm -> message
    last_label_age_s: float | None

    def in_words(self) -> str:
        """
        >>> DeviceHealth("press", {"silent": "no row for 2 min"}, 130.0).in_words()
        'press: alarm (silent: no row for 2 min), last label 2 min 10 s ago'
        """
        raised = "; ".join(f"{name}: {message}" for name, message in self.alarms.items())
        age_s = self.last_label_age_s
        age = "no label yet" if age_s is None else f"last label {duration_in_words(round(age_s))} ago"
        return f"{self.device}: {f'alarm ({raised})' if raised else 'ok'}, {age}"


@dataclass(frozen=True)
class HealthReport:
    """How a stream, or a fleet of them, is doing; times are seconds since 1970."""

    state: HealthState
    written_s: float
    n_devices: int = 0
    n_in_alarm: int = 0
    n_refused: int = 0
    alarms: dict[str, dict[str, str]] = field(default_factory=dict)  # devices in alarm: alarm -> message
    n_rows: int = 0
    n_windows: int = 0
    last_row_s: float | None = None
    backlog_bytes: int = 0
    sinks: list[SinkHealth] = field(default_factory=list)
    exit_code: int | None = None  # once it has ended
    pid: int = field(default_factory=os.getpid)
    host: str = field(default_factory=platform.node)
    version: str = __version__

    def in_words(self) -> str:
        """One line for a log.

        >>> HealthReport("ok", 0.0, n_devices=2, n_rows=1200, n_windows=60).in_words()
        'ok: 2 devices, 1,200 rows, 60 windows'
        """
        parts = [counted(self.n_devices, "device"), counted(self.n_rows, "row"), counted(self.n_windows, "window")]
        if self.n_in_alarm:
            first = list(self.alarms.items())[:_MOST_NAMED]
            named = "; ".join(f"{device or 'source'}: {', '.join(names)}" for device, names in first)
            parts.append(f"{self.n_in_alarm} in alarm ({named})")
        if self.n_refused:
            parts.append(f"{self.n_refused} refused")
        if self.backlog_bytes:
            parts.append(f"{self.backlog_bytes / 1000:,.0f} kB behind")
        parts += [f"{sink.sink} {sink.behind_bytes / 1000:,.1f} kB behind" for sink in self.sinks if sink.problem]
        return f"{self.state}: {', '.join(parts)}"


def write_health(out: Path, health: HealthReport) -> None:
    """Put health.json in place, whole; it need not survive a power cut, so it does not wait for the disk."""
    try:
        with open_draft(out / HEALTH) as file:
            file.write(json.dumps(asdict(health), indent=1).encode())
    except OSError as error:
        raise OutputError(
            f"{out / HEALTH}: cannot be written ({error.strerror or error}); make room or give permission, then run "
            "the same command again"
        ) from None


def read_health(out: Path) -> HealthReport | None:
    """What a stream wrote last; None if there is nothing of the kind."""
    try:
        found: Any = read_json(out / HEALTH)
        known = {name: found[name] for name in HealthReport.__dataclass_fields__ if name in found}
        known["alarms"] = {  # version 0.2.0 wrote names without messages
            device: alarms if isinstance(alarms, dict) else dict.fromkeys(alarms, "")
            for device, alarms in known.get("alarms", {}).items()
        }
        health = HealthReport(**known | {"sinks": [SinkHealth(**sink) for sink in known.get("sinks", [])]})
        health.in_words()  # fails on values of another type
        is_whole = health.state in _STATES and 0 <= health.written_s < _MOST_S and 0 < int(health.pid) < 1 << 31
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return None
    return health if is_whole else None


def judged(health: HealthReport | None, stale_s: float, now_s: float) -> tuple[int, str]:
    """The exit code for a supervisor, and one line that says why.

    >>> judged(None, 30.0, 0.0)
    (2, 'dead: there is no health.json, so no stream')
    >>> judged(HealthReport("finished", 0.0), 30.0, 1e6)
    (0, 'finished: 0 devices, 0 rows, 0 windows')
    """
    if health is None:
        return DEAD, f"dead: there is no {HEALTH}, so no stream"
    words = health.in_words()
    if health.state == "finished":
        return HEALTHY, words
    if health.state == "stopped":
        code = "" if health.exit_code is None else f" with exit code {health.exit_code}"
        return DEAD, f"dead: ended{code}; {words}"
    age_s = now_s - health.written_s
    if health.host == platform.node() and not _runs(health.pid):
        return DEAD, f"dead: process {health.pid} is gone; last {words}"
    if age_s > stale_s:
        return DEAD, f"dead: nothing written for {duration_in_words(age_s)}; last {words}"
    return (IN_ALARM if health.state == "alarm" else HEALTHY), words


def devices_of(out: Path, health: HealthReport, now_s: float) -> list[DeviceHealth]:
    """The devices of a fleet: those with a run folder, and those in alarm; none for a single stream."""
    if (out / "summary.json").exists():
        return []
    ages: dict[str, float | None] = dict.fromkeys(device for device in health.alarms if device)
    for summary in (out / DEVICES).glob("*/summary.json"):
        labels = summary.with_name("labels.csv")
        age_s = max(0.0, now_s - labels.stat().st_mtime) if labels.is_file() else None
        ages[unquote(summary.parent.name)] = age_s
    return [DeviceHealth(name, health.alarms.get(name, {}), age_s) for name, age_s in sorted(ages.items())]


def _runs(pid: int) -> bool:
    if os.name != "posix":  # elsewhere asking would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it runs, and belongs to someone else
        return True
    return True
