"""DeviceAlarms: what of a device people should know at once, raised once and cleared once.

nothing-fits   no unit has accepted a window for so many seconds of data
new-unit       a unit was promoted; noted, so there is nothing to clear
silent         no row for so many seconds of the wall clock, while the source is followed
unreadable     more than this share of the last 100 rows could not be read; cleared at half of it
refused        the device or its source was refused; cleared when it gives rows again
behind         what waits in the source has grown all the time for so many seconds

The first two follow from labels and events alone, whatever the chunks: they come at the same frame in every run.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from rondo.continual.journal import Event
from rondo.data.labels import OTHER
from rondo.live.supervising.alarm_limits import BEHIND, NEW_UNIT, NOTHING_FITS, REFUSED, SILENT, UNREADABLE, AlarmLimits
from rondo.live.supervising.alarm_log import AlarmLine, AlarmLog, AlarmState, alarm_line
from rondo.run.decisions import COLUMNS, DECISIONS, Label
from rondo.wording import duration_in_words, moment_in_words

LAST_ROWS = 100
_N_SAMPLES = 6  # of what waits, over the time that it may grow
_BLOCK_BYTES, _MOST_BYTES = 1 << 16, 1 << 24  # read backwards, to find the last unit
Tell = Callable[[AlarmLine], None]


class Misfit(NamedTuple):
    """A stretch of labels without a unit: where it began, and the seconds of data in it so far."""

    frame: int
    data_s: float
    seconds: float


class DeviceAlarms:
    """The alarms of one device; `tell` gets each line that is new in its log."""

    def __init__(self, device: str, log: AlarmLog, limits: AlarmLimits, tell: Tell) -> None:
        self.device, self._log, self._limits, self._tell = device, log, limits, tell
        self._since: dict[str, float] = {}  # alarms that are raised, and since when by the wall clock
        for name in (SILENT, UNREADABLE, REFUSED, BEHIND):
            since = log.open_since(name, device)
            if since is not None:
                self._since[name] = since
        self._misfit: Misfit | None = None
        self._last_row = time.monotonic()
        self._last_rows = LastRows()
        self._waiting: deque[tuple[float, int]] = deque(maxlen=_N_SAMPLES)

    @property
    def raised(self) -> list[str]:
        return list(self._since)

    def go_on(self, folder: Path) -> None:
        """Take up the stretch without a unit that the labels so far end with."""
        if NOTHING_FITS in self._limits:
            self._misfit = misfit_at_end(folder / DECISIONS)
            if self._misfit is not None and self._misfit.seconds >= self._limits[NOTHING_FITS]:
                self._raise_misfit(self._misfit)

    # ------------------------------------------------------------ from the data

    def labels(self, labels: Sequence[Label]) -> None:
        limit = self._limits.get(NOTHING_FITS)
        if limit is None:
            return
        for label in labels:
            start_s, end_s = label["start_s"], label["end_s"]
            if start_s is None or end_s is None:  # nobody knows how long a window is
                return
            if label["unit"] != OTHER:
                if self._misfit is not None:
                    self._clear_misfit(self._misfit)
                continue
            before = self._misfit or Misfit(int(label["start_frame"] or 0), start_s, 0.0)
            self._misfit = before._replace(seconds=before.seconds + end_s - start_s)
            if before.seconds < limit <= self._misfit.seconds:
                self._raise_misfit(self._misfit)

    def _raise_misfit(self, misfit: Misfit) -> None:
        self._since[NOTHING_FITS] = time.time()
        words = f"no unit fits since {moment_in_words(misfit.data_s)}, {duration_in_words(misfit.seconds)} of data"
        self._write(NOTHING_FITS, "raised", words, frame=misfit.frame, data_s=misfit.data_s)

    def _clear_misfit(self, misfit: Misfit) -> None:
        self._misfit = None
        if self._since.pop(NOTHING_FITS, None) is not None:
            words = f"a unit fits again after {duration_in_words(misfit.seconds)} of data"
            lasted_s = round(misfit.seconds, 6)
            self._write(NOTHING_FITS, "cleared", words, frame=misfit.frame, data_s=misfit.data_s, lasted_s=lasted_s)

    def events(self, events: Sequence[Event]) -> None:
        if NEW_UNIT not in self._limits:
            return
        for event in events:
            if event.kind == "promote" and event.level == "unit":
                when = f"frame {event.frame}" if event.time_s is None else moment_in_words(event.time_s)
                words = f"unit {', '.join(map(str, event.ids))} is new at {when}"
                self._write(NEW_UNIT, "noted", words, frame=event.frame, data_s=event.time_s)

    # ------------------------------------------------------------ from the wall clock, and what came in

    def rows(self, n_rows: int, n_unreadable: int, now: float) -> None:
        """So many rows came, and so many before them could not be read."""
        if n_rows:
            self._last_row = now
            self._clear(SILENT, "rows again")
            self._clear(REFUSED, "rows again")
        self._last_rows.add(n_rows, n_unreadable)
        limit = self._limits.get(UNREADABLE)
        if limit is None:
            return
        n_bad = self._last_rows.n_bad
        if n_bad > limit * LAST_ROWS:
            self._raise(UNREADABLE, f"{n_bad} of the last {LAST_ROWS} rows could not be read")
        elif n_bad <= limit / 2 * LAST_ROWS:
            self._clear(UNREADABLE, "rows can be read again")

    def waited(self, now: float) -> None:
        """Nothing came until now."""
        limit = self._limits.get(SILENT)
        if limit is not None and now - self._last_row >= limit and SILENT not in self._since:
            silent_s = now - self._last_row
            self._raise(SILENT, f"no row for {duration_in_words(silent_s)}", time.time() - silent_s)

    def refused(self, reason: str) -> None:
        if REFUSED in self._limits:
            self._raise(REFUSED, " ".join(reason.split()))

    def backlog(self, n_bytes: int, now: float) -> None:
        """So many bytes wait in the source."""
        limit = self._limits.get(BEHIND)
        if limit is None or (self._waiting and now - self._waiting[-1][0] < limit / (_N_SAMPLES - 1)):
            return
        self._waiting.append((now, n_bytes))
        sizes = [size for _, size in self._waiting]
        if len(sizes) == _N_SAMPLES and all(a < b for a, b in pairwise(sizes)):
            words = (
                f"what waits has grown for {duration_in_words(now - self._waiting[0][0])}, to {n_bytes / 1000:,.0f} kB"
            )
            self._raise(BEHIND, words)
        elif n_bytes <= sizes[0] / 2 or not n_bytes:
            self._clear(BEHIND, "it has caught up")

    # ------------------------------------------------------------ what is written

    def _raise(self, alarm: str, words: str, since_s: float | None = None) -> None:
        if alarm not in self._since:
            self._since[alarm] = time.time() if since_s is None else since_s
            self._write(alarm, "raised", words, since_s=round(self._since[alarm], 3))

    def _clear(self, alarm: str, words: str) -> None:
        since_s = self._since.pop(alarm, None)
        if since_s is not None:
            lasted_s = max(0.0, time.time() - since_s)
            self._write(
                alarm,
                "cleared",
                f"{words} after {duration_in_words(lasted_s)}",
                since_s=round(since_s, 3),
                lasted_s=round(lasted_s, 3),
            )

    def _write(self, alarm: str, state: AlarmState, words: str, **more: float | int | None) -> None:
        line = alarm_line(alarm, state, self.device, words, time.time(), **more)
        if self._log.add(line):
            self._tell(line)


class LastRows:
    """How many of the last rows could not be read.

    >>> last = LastRows()
    >>> last.add(n_good=30, n_bad=60); last.n_bad
    60
    >>> last.add(n_good=80, n_bad=0); last.n_bad
    0
    """

    def __init__(self) -> None:
        self._runs: deque[tuple[bool, int]] = deque()  # whether they could not be read, and how many
        self._n = 0
        self.n_bad = 0

    def add(self, n_good: int, n_bad: int) -> None:
        if not n_bad and not self.n_bad:  # as it should be: nothing to count
            self._n = min(LAST_ROWS, self._n + n_good)
            return
        if not self._runs and self._n:
            self._runs.append((False, self._n))
        for is_bad, n in ((True, min(n_bad, LAST_ROWS)), (False, min(n_good, LAST_ROWS))):
            if n:
                self._runs.append((is_bad, n))
                self._n += n
                self.n_bad += n * is_bad
        while self._n > LAST_ROWS:
            is_bad, n = self._runs.popleft()
            n_gone = min(n, self._n - LAST_ROWS)
            self._n -= n_gone
            self.n_bad -= n_gone * is_bad
            if n > n_gone:
                self._runs.appendleft((is_bad, n - n_gone))
        if not self.n_bad:
            self._runs.clear()


def misfit_at_end(labels: Path) -> Misfit | None:
    """The stretch without a unit that labels.csv ends with; None where its last label has a unit."""
    unit, start_s, end_s = (COLUMNS.index(name) for name in ("unit", "start_s", "end_s"))
    found: Misfit | None = None
    for line in _lines_backwards(labels):
        cells = line.split(",")
        if cells[0] == COLUMNS[0] or int(cells[unit]) != OTHER or not cells[start_s]:
            break
        seconds = float(cells[end_s]) - float(cells[start_s]) + (0.0 if found is None else found.seconds)
        found = Misfit(int(cells[0]), float(cells[start_s]), seconds)
    return found


def _lines_backwards(path: Path) -> Iterator[str]:
    """The lines of a file, the last one first; no more than `_MOST_BYTES` of them."""
    if not path.exists():
        return
    with path.open("rb") as file:
        at = end = file.seek(0, os.SEEK_END)
        rest = b""
        while at and end - at < _MOST_BYTES:
            n_bytes = min(_BLOCK_BYTES, at)
            at -= n_bytes
            file.seek(at)
            first, *lines = (file.read(n_bytes) + rest).split(b"\n")
            rest = first
            yield from (line.decode() for line in reversed(lines) if line)
        if not at and rest:
            yield rest.decode()
