"""`rondo stream` of a feed: many devices, each with its own folder, until someone asks to stop."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rondo.cli.progress import is_quiet
from rondo.cli.stream_notes import BETWEEN_NOTES_S, missing_in_words, say_note
from rondo.cli.terminal import print, print_over
from rondo.wording import counted

if TYPE_CHECKING:
    from rondo.live.devices.fleet import DeviceStep, Fleet
    from rondo.live.session import Counters, Written
    from rondo.live.supervising.supervision import Supervision
    from rondo.model.rondo import Rondo

_POLL_S = 0.1
_BETWEEN_STATUS_S, _BETWEEN_EQUAL_S = 2.0, 60.0  # where something has come, and where nothing has


def stream_fleet(
    model: Rondo,
    model_folder: Path,
    source: str,
    out: Path,
    every: int,
    *,
    frozen: bool,
    around: Supervision,
    keep_columns: Sequence[str] = (),
) -> None:
    """Label the streams of all devices of a feed, until someone asks to stop or an alarm ends it."""
    from rondo.cli.stream import asked_to_stop
    from rondo.live.devices.fleet import Fleet, Told

    told = Told(say_note, around.begin, around.refused)
    chosen: dict[str, Any] = {"frozen": frozen, "told": told, "keep_columns": keep_columns}
    with (
        asked_to_stop() as stop,
        closing(Fleet(model, model_folder, source, out, every, **chosen)) as fleet,
    ):
        status, notes = _FleetStatus(fleet), _FleetNotes()
        try:
            while not stop and not fleet.feed.ended and around.failure is None:
                _step(fleet, around, status, notes)
        finally:
            fleet.stop()
            notes.say(all_of_it=True)
            status.show([], last=True)
        around.close("stopped", around.failure or 0)
    print(f"stopped after {counted(status.n_rows, 'row')}; the same command goes on from there", file=sys.stderr)


def _step(fleet: Fleet, around: Supervision, status: _FleetStatus, notes: _FleetNotes) -> None:
    n_unreadable = fleet.n_unreadable
    steps = fleet.step(_POLL_S)
    for device, written in steps:
        around.after(device.name, device.folder, written, device.session)
        notes.after(device.name, written, device.session.counters)
    if fleet.n_unreadable > n_unreadable:
        around.unreadable("", fleet.n_unreadable - n_unreadable)
    around.tick(backlog=lambda: fleet.feed.backlog)
    notes.say()
    status.show(steps)


class _FleetNotes:
    """What happened to the input of all devices: at most a line every so often, however many they are."""

    def __init__(self) -> None:
        self._n_events: Counter[str] = Counter()
        self._devices: set[str] = set()
        self._last = ""
        self._said_at = -BETWEEN_NOTES_S
        self._missing: dict[str, Mapping[str, int]] = {}  # cells of each device, channel by channel
        self._is_missing_said = True

    def after(self, device: str, written: Written, counters: Counters) -> None:
        if counters.missing_cells != self._missing.get(device, {}):
            self._missing[device], self._is_missing_said = counters.missing_cells, False
        for event in written.events:
            about = event.evidence
            if event.level != "input" or about.get("rule") in ("bridged", "gridded"):
                continue
            self._n_events[event.kind] += 1
            self._devices.add(device)
            self._last = f"{device}: {about.get('reason') or about.get('cause') or about.get('rule') or event.kind}"

    def say(self, *, all_of_it: bool = False) -> None:
        now = time.monotonic()
        if (not self._last and self._is_missing_said) or not (all_of_it or now - self._said_at >= BETWEEN_NOTES_S):
            return
        self._said_at = now
        if not self._is_missing_said:
            every = sum((Counter(cells) for cells in self._missing.values()), Counter[str]())
            say_note(f"{missing_in_words(every)}, of {counted(len(self._missing), 'device')}")
            self._is_missing_said = True
        if not self._last:
            return
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self._n_events.items()))
        say_note(f"input of {counted(len(self._devices), 'device')}: {kinds} events so far; the last: {self._last}")
        self._last = ""


class _FleetStatus:
    """A line on stderr now and then."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._shown = time.monotonic()
        self.n_rows = self._n_rows_shown = self._n_windows = self._n_promoted = 0

    def show(self, steps: list[DeviceStep], *, last: bool = False) -> None:
        for _, written in steps:
            self.n_rows += written.n_rows
            self._n_windows += len(written.labels)
            self._n_promoted += sum(event.kind == "promote" for event in written.events)
        now = time.monotonic()
        is_news = self.n_rows > self._n_rows_shown or now - self._shown >= _BETWEEN_EQUAL_S
        if is_quiet() or (not last and (now - self._shown < _BETWEEN_STATUS_S or not is_news)):
            return
        self._shown, self._n_rows_shown = now, self.n_rows
        fleet = self._fleet
        line = (
            f"{counted(len(fleet.devices), 'device')}, {counted(self.n_rows, 'row')}, "
            f"{counted(self._n_windows, 'window')}, {self._n_promoted} promoted, "
            f"{counted(fleet.feed.backlog, 'message')} behind"
        )
        line += f", {len(fleet.refused)} refused" if fleet.refused else ""
        line += f", {fleet.n_unreadable} unreadable" if fleet.n_unreadable else ""
        print_over(line, stays=last)
