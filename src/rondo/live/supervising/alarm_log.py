"""AlarmLog: alarms.jsonl of one device, a line when an alarm is raised and one when it is cleared.

Unlike labels and events it is never cut back: much of what it says only the wall clock knows, and people have been
told. What follows from the data has a frame. A run that is killed and goes on comes to the same frame again, finds the
line there, and stays quiet.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rondo.errors import OutputError
from rondo.live.sinks.delivery import ALARMS
from rondo.store.folder import open_appending
from rondo.store.reading import read_regular
from rondo.wording import day_and_time

AlarmState = Literal["raised", "cleared", "noted"]
_GOES_ON = "make room or give permission, then start the same command again"


@dataclass(frozen=True)
class AlarmLine:
    """One line of alarms.jsonl: what happened to an alarm.

    `frame` and `data_s` are where in the data it began, None for alarms of the wall clock; `time` is when it was
    written, in UTC; `lasted_s` how long it lasted, in the clock that it belongs to.
    """

    alarm: str
    state: AlarmState
    device: str
    message: str
    time: str
    time_s: float
    since_s: float | None = None  # of the wall clock: when it began
    frame: int | None = None
    data_s: float | None = None
    lasted_s: float | None = None

    @property
    def key(self) -> tuple[str, str, str, int | None]:
        return self.alarm, self.state, self.device, self.frame


class AlarmLog:
    """The file, and what it says already."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ALARMS
        self._known: set[tuple[str, str, str, int | None]] = set()  # of alarms that have a frame
        self._last: dict[tuple[str, str], Mapping[str, Any]] = {}
        for line in self._stored():
            self._remember(line)

    def open_since(self, alarm: str, device: str) -> float | None:
        """Since when, by the wall clock, an alarm has been raised that was not cleared; None where there is none."""
        last = self._last.get((alarm, device), {})
        since = last.get("since_s") if last.get("state") == "raised" else None
        return None if since is None else float(since)

    def add(self, line: AlarmLine) -> bool:
        """Write a line, unless it is there already."""
        if line.frame is not None and line.key in self._known:
            return False
        plain = {name: value for name, value in asdict(line).items() if value is not None}
        self._append(json.dumps(plain) + "\n")
        self._remember(plain)
        return True

    def _remember(self, line: Mapping[str, Any]) -> None:
        alarm, state, device, frame = (line.get(name) for name in ("alarm", "state", "device", "frame"))
        if frame is not None:
            self._known.add((str(alarm), str(state), str(device), int(frame)))
        self._last[str(alarm), str(device)] = line

    def _append(self, text: str) -> None:
        try:
            descriptor = open_appending(self.path)
            try:
                os.lseek(descriptor, 0, os.SEEK_END)
                os.write(descriptor, text.encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written ({error.strerror or error}); {_GOES_ON}") from None

    def _stored(self) -> list[Mapping[str, Any]]:
        """What is there; a last line that was torn is taken away, since nobody has seen it."""
        if not os.path.lexists(self.path):
            return []
        try:
            text = read_regular(self.path)
            whole = text[: text.rfind(b"\n") + 1]
            if len(whole) < len(text):
                descriptor = open_appending(self.path)
                os.ftruncate(descriptor, len(whole))
                os.close(descriptor)
            found: list[Any] = [json.loads(line) for line in whole.splitlines()]
            if not all(isinstance(line, dict) for line in found):
                raise ValueError("a line that is no object")
        except (OSError, ValueError) as error:
            raise OutputError(f"{self.path}: expected the alarms of a stream, but {error}; put it elsewhere") from None
        return found


def alarm_line(alarm: str, state: AlarmState, device: str, message: str, now_s: float, **more: Any) -> AlarmLine:
    """A line that is written now."""
    return AlarmLine(alarm, state, device, message, f"{day_and_time(now_s)}Z", round(now_s, 3), **more)
