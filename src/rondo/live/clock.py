"""RowClock: times of rows that come in chunks, the same however they are cut; RateCheck: is the rate the model's?

A stored file is judged as a whole, a live one by its head (`Lines.head`) and the rows so far. The unit is found once,
from the name, the size or the steps of the readings in the head. A clock is coarse if a reading repeats in the head:
rows that share a reading u are held until the next one comes; row j of n gets u + j min(d, s) with s = (next - u) / n,
as in `clock_column.spread`. There d is the median of all s, here the s of the first reading seen from its beginning.

Rows with times are laid on the grid of the model, so any rate could be read; but windows of half as many rows hold
other values than those that the units were learned from. So `RateCheck` compares rates as `rondo label` does, in blocks
of `BLOCK_ROWS` rows: a stream that starts at another rate is refused, one that changes its rate is cut there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats
from rondo.data.recording import usual_steps
from rondo.errors import RecordingError
from rondo.files.columns import Columns
from rondo.files.inputs import RATE_TOLERANCE, in_hertz
from rondo.files.text.clock import ClockUnit, Times, midnights, over_midnight, unit_of_clock
from rondo.files.text.layout import Layout

MOST_ROWS_OF_A_READING = 4096
"""Rows that are held for one reading; a clock that stands longer gives its reading to each of them."""

_Row = np.dtype([
    ("written", "f8"), ("n_midnights", "i8"), ("reading", "f8"), ("place", "i8"), ("seconds", "f8"),
])  # fmt: skip


@dataclass(frozen=True)
class ClockState:
    """What the rows given so far leave behind: plain values, as a bookmark keeps them."""

    name: str | None = None  # of the clock's column
    per_second: float = 1.0
    day_of_1970: float | None = None
    zero_s: float = 0.0
    written: float | None = None  # in the last row
    n_midnights: int = 0
    n_lines: int = 0  # rows, and lines that gave none, where they are counted
    is_coarse: bool = False
    usual_s: float | None = None  # between rows that share a reading
    first: float | None = None  # the reading of the first row: it may have begun before
    reading: float | None = None  # of the last row, and how many rows have had it
    n_of_reading: int = 0

    @property
    def unit(self) -> ClockUnit:
        return ClockUnit(self.per_second, self.day_of_1970, self.zero_s)

    def carried(self) -> ClockState:
        """What holds for the file that continues this one: all but the row at which it stopped."""
        return replace(self, n_lines=0, first=None, reading=None, n_of_reading=0)


class RowClock:
    """Readings in, seconds out; rows whose time is not settled yet are waited for."""

    def __init__(self, layout: Layout, columns: Columns, state: ClockState) -> None:
        self._has_column = columns.clock is not None
        self._is_time_of_day = _is_time_of_day(layout, columns)
        self._began_s, self._rate = (None, None) if self._has_column else (layout.began_s, layout.rate)
        self._given = self._pushed = state
        self._rows = np.empty(0, _Row)
        self.n_settled = 0  # of the rows pushed and not taken yet
        self.has_ended = False

    @property
    def state(self) -> ClockState:
        """After the rows taken."""
        return self._given

    def push(self, n_rows: int, written: Times | None) -> None:
        """More rows, with what their clock says if it has a column."""
        rows = np.zeros(n_rows, _Row)
        if written is not None and n_rows:
            rows["written"] = written
            self._read(rows)
        self._rows = np.concatenate([self._rows, rows])
        self._settle()

    def _read(self, rows: NDArray[Any]) -> None:
        before, written = self._pushed, rows["written"]
        if self._is_time_of_day:
            rows["n_midnights"] = before.n_midnights + midnights(written, before.written)
            rows["reading"] = over_midnight(written, rows["n_midnights"])
        else:
            rows["reading"] = before.unit.seconds(written)
        last = rows[-1]
        self._pushed = replace(before, written=float(last["written"]), n_midnights=int(last["n_midnights"]))

    def end(self) -> None:
        """No row will follow: those that are held are settled."""
        self.has_ended = True
        self._settle()

    def take(self, n_rows: int) -> Times | None:
        """The times of the next rows, as many as are settled at most."""
        taken, self._rows = self._rows[:n_rows], self._rows[n_rows:]
        self.n_settled -= n_rows
        before, n_lines = self._given, self._given.n_lines
        self._given = replace(before, n_lines=n_lines + n_rows)
        if self._began_s is not None and self._rate is not None:
            counted: Times = self._began_s + np.arange(n_lines, n_lines + n_rows) / self._rate
            return counted
        if not self._has_column or not n_rows:
            return None
        last = taken[-1]
        self._given = replace(
            self._given,
            written=float(last["written"]),
            n_midnights=int(last["n_midnights"]),
            usual_s=self._pushed.usual_s,
            first=self._pushed.first,
            reading=float(last["reading"]),
            n_of_reading=int(last["place"]) + 1,
        )
        return taken["seconds"].copy()

    def pass_lines(self, n_lines: int) -> None:
        """Lines that gave no row took their time all the same."""
        self._given = replace(self._given, n_lines=self._given.n_lines + n_lines)

    def _settle(self) -> None:
        if not (self._pushed.is_coarse and self._has_column):
            self._rows["seconds"][self.n_settled :] = self._rows["reading"][self.n_settled :]
            self.n_settled = self._rows.size
            return
        rows = self._rows[self.n_settled :]
        starts = np.flatnonzero(np.diff(rows["reading"], prepend=np.nan)).tolist()
        bounds = list(pairwise([*starts, rows.size]))
        if not bounds or not self._knows_usual(rows["reading"], bounds):
            return
        for start, stop in bounds:
            reading = float(rows["reading"][start])
            before = self._pushed.n_of_reading if reading == self._pushed.reading else 0
            n_rows = before + stop - start
            if stop == rows.size and not self.has_ended and n_rows <= MOST_ROWS_OF_A_READING:
                return
            following = float(rows["reading"][stop]) if stop < rows.size else None
            rows["place"][start:stop] = place = np.arange(before, n_rows, dtype=np.float64)
            rows["seconds"][start:stop] = self._spread(reading, following, n_rows, place)
            self._pushed = replace(self._pushed, reading=reading, n_of_reading=n_rows)
            self.n_settled += stop - start

    def _knows_usual(self, readings: Times, bounds: list[tuple[int, int]]) -> bool:
        """Whether it is known how far rows of one reading lie apart, now that these readings have come."""
        if self._pushed.first is None:
            self._pushed = replace(self._pushed, first=float(readings[0]))
        if self._pushed.usual_s is None and (len(bounds) > 2 or self.has_ended):
            own = [
                float(readings[later] - readings[start]) / (later - start) for (start, later), _ in pairwise(bounds[:3])
            ]
            usual = next((step for step in reversed(own) if step > 0), 0.0)
            self._pushed = replace(self._pushed, usual_s=usual)
        return self._pushed.usual_s is not None

    def _spread(self, reading: float, following: float | None, n_rows: int, place: Times) -> Times:
        usual = self._pushed.usual_s or 0.0
        if n_rows > MOST_ROWS_OF_A_READING:
            return reading + 0.0 * place
        if following is None or following <= reading:
            return reading + place * usual
        step = min((following - reading) / n_rows, usual)
        if reading == self._pushed.first:
            return following - step * (n_rows - place)
        return reading + place * step


def clock_of(
    layout: Layout, columns: Columns, head: Times | None, carried: ClockState | None
) -> tuple[ClockState, tuple[str, ...]]:
    """What the clock is, from its readings in the head and from the file that this one continues; and what to say."""
    known = carried or ClockState()
    if columns.clock is None or head is None:
        return replace(known, name=None), ()
    name = layout.names[columns.clock] or f"column {columns.clock + 1}"
    unit, readings = ClockUnit(), head
    notes: tuple[str, ...] = ()
    if _is_time_of_day(layout, columns):
        notes, readings = (f"clock '{name}' holds times of day without a date",), over_midnight(head)
    elif not layout.holds_dates(columns.clock):
        unit, notes = unit_of_clock(head, name, layout.unit(columns.clock))
    if known.name == name:
        unit, notes = known.unit, ()
    steps = np.diff(unit.seconds(readings))
    is_coarse = known.is_coarse or bool((steps == 0).any() and (steps >= 0).all())
    if is_coarse and not known.is_coarse:
        notes += (f"rows repeat times in '{name}': held until its next reading, and spread evenly until then",)
    return replace(known, name=name, **unit._asdict(), is_coarse=is_coarse), notes


def _is_time_of_day(layout: Layout, columns: Columns) -> bool:
    if columns.clock is None or columns.day is not None:
        return False
    return layout.columns()[columns.clock].kind == "time of day"


BLOCK_ROWS = 256
_FEWEST_STEPS = 32
_CHANGES = 0.1  # a rate that changes on the way by less is drift
_FAR = 1_000.0  # times the median: such a step is a gap, or a wrong time
_CONFUSIONS = {
    1e3: "are its readings milliseconds? then name the column 'time_ms'",
    1e6: "are its readings microseconds? then name the column 'time_us'",
    1e9: "are its readings nanoseconds? then name the column 'time_ns'",
    1e-3: "are its readings seconds? then name the column 'time_s'",
}
_ADVICE = "stream it to a model of its rate, or read the file with `rondo label --resample`"


def _rate_by(times: Floats, expected: float, tolerance: float) -> tuple[float, bool] | None:
    """Rows per second by the clock, and whether that is another rate; None where too few rows follow on each other."""
    steps = np.diff(times[np.isfinite(times)])
    steps = steps[steps > 0]
    if steps.size < _FEWEST_STEPS:
        return None
    usual = usual_steps(steps[steps < _FAR * np.median(steps)])
    mean = float(usual.mean())
    uncertainty = float(usual.std()) / mean / float(np.sqrt(usual.size))
    rate = 1.0 / mean
    return float(f"{rate:.4g}"), abs(rate / expected - 1) > tolerance + 3 * uncertainty


def refuse_clock_of_another_rate(times: Floats, expected: float | None) -> None:
    """Refuse rows whose times are those of another rate; where they are too few to tell, nothing happens."""
    found = None if expected is None else _rate_by(times, expected, RATE_TOLERANCE)
    if expected is None or found is None or not found[1]:
        return
    rate = found[0]
    hint = next((words for ratio, words in _CONFUSIONS.items() if abs(expected / rate / ratio - 1) < 0.1), _ADVICE)
    raise RecordingError(
        f"its rows come at {in_hertz(rate)} by their clock, the model has {in_hertz(expected)}; {hint}"
    )


class RateCheck:
    """The times of the block that is not whole yet, and what the blocks before have shown."""

    def __init__(self, expected: float | None) -> None:
        self._expected = expected
        self._times: list[float] = []
        self._is_judged = False  # whether the first block has come
        self._is_off = False  # whether the last block had another rate

    def stretches(self, times: Floats | None, n_rows: int) -> Iterator[tuple[int, int, str]]:
        """Rows [start, stop) that end where blocks do, and why the rows after them do not follow on them, if they do
        not; the first block of another rate is refused."""
        start = 0
        while times is not None and self._expected is not None and n_rows - start >= BLOCK_ROWS - len(self._times):
            stop = start + BLOCK_ROWS - len(self._times)
            block = np.array([*self._times, *times[start:stop].tolist()])
            self._times = []
            yield start, stop, self._judged(block, self._expected)
            start = stop
        if times is not None and self._expected is not None:
            self._times += times[start:].tolist()
        if start < n_rows:
            yield start, n_rows, ""

    def _judged(self, block: Floats, expected: float) -> str:
        if not self._is_judged:
            refuse_clock_of_another_rate(block, expected)
            self._is_judged = True
        rate, is_off = _rate_by(block, expected, _CHANGES) or (expected, self._is_off)
        if is_off == self._is_off:
            return ""
        self._is_off = is_off
        if is_off:
            return f"rows now come at {in_hertz(rate)}, the model has {in_hertz(expected)}"
        return f"rows come at the {in_hertz(expected)} of the model again"

    def state(self) -> dict[str, Any]:
        """Everything; times as text, because JSON has no NaN."""
        return {"times": [repr(time) for time in self._times], "is_judged": self._is_judged, "is_off": self._is_off}

    def load(self, plain: Mapping[str, Any]) -> None:
        self._times = [float(time) for time in plain["times"]]
        self._is_judged, self._is_off = plain["is_judged"], plain["is_off"]
