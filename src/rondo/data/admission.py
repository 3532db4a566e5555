"""RowAdmission: which rows are taken, by their timestamps, and where they lie on the frame axis.

Rules, of rows in the order in which they come:

- a row whose timestamp is missing, repeated or earlier than that of the last row taken is skipped. After more than
  1,000 such rows on end the clock was set back, and time counts again. A timestamp so large that neighbouring frames
  would have the same number is missing;
- a row that is far ahead of the one before, by a jump that would be a boundary, is suspect, and so is the very first
  row. Suspects, and the rows that go on from them, are held until the rows to come tell. Eight of them without another
  jump are taken, with all before them: there was a gap. Two rows in a row that go on from before the jump show that all
  rows after the jump have wrong timestamps: these alone are skipped. At the end of the input suspects are taken.
  First rows that lie a century before the others are skipped.

A recording comes whole, with timestamps that increase: all its rows are taken. Nothing depends on chunks.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags, Floats, Ints, Tensors
from rondo.data.recording import Values

MOST_ROWS_BEHIND = 1_000  # ours: a source that sends a block again mostly sends less, and a clock set back stays back
ROWS_THAT_CONFIRM = 8  # ours: a clock that is wrong for a moment is wrong for fewer rows
_ROWS_THAT_REFUTE = 2  # one may have come late
_CENTURY_S = 3.2e9  # times that count from so far away would not tell frames apart
_MOST_FRAMES = 2.0**53  # beyond, float64 does not hold every whole number: such times count as missing
_MOST_SUSPECTS = 64  # where nearly every row jumps, those before the first jump are taken


class Rows(NamedTuple):
    """Rows in the order of time, from admission through gaps to the grid."""

    values: Values  # (n_rows, n_channels)
    clock: Floats  # (n_rows,) where each row lies on the frame axis, in frames since the first row
    numbers: Ints  # (n_rows,) of the input rows
    begins: Flags  # (n_rows,) whether a new piece begins: time jumps before the row
    flaws: NDArray[np.uint8] | None = None  # (n_rows,) what became of a row (`rondo.data.gaps`); None: all sound
    filled: Flags | None = None  # (n_rows, n_channels) whether a value was predicted; None: none was
    set_back: bool = False  # the clock was set back before the first row: time counts again from there
    faults: NDArray[np.uint8] | None = None  # (n_rows, n_channels) of values (`rondo.data.sound_gate`); None: none has

    @classmethod
    def none(cls, n_channels: int) -> Rows:
        empty = np.zeros(0)
        return cls(np.zeros((0, n_channels), np.float32), empty, empty.astype(np.int64), empty.astype(np.bool_))

    def part(self, start: int, stop: int | None = None) -> Rows:
        """The rows [start, stop)."""
        rows = slice(start, stop)
        flaws = None if self.flaws is None else self.flaws[rows]
        filled = None if self.filled is None else self.filled[rows]
        own = Rows(self.values[rows], self.clock[rows], self.numbers[rows], self.begins[rows], flaws, filled)
        return own if self.faults is None else own._replace(faults=self.faults[rows])

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Rows that wait, of which nothing has become yet."""
        faults: dict[str, NDArray[np.generic]] = {} if self.faults is None else {"held_faults": self.faults}
        return faults | {
            "held_values": self.values,
            "held_clock": self.clock,
            "held_numbers": self.numbers,
            "held_begins": self.begins,
        }

    @classmethod
    def restored(cls, tensors: Tensors) -> Rows:
        """Rows from their state."""
        return cls(
            np.array(tensors["held_values"], np.float32),
            np.array(tensors["held_clock"], np.float64),
            np.array(tensors["held_numbers"], np.int64),
            np.array(tensors["held_begins"], np.bool_),
            faults=np.array(tensors["held_faults"], np.uint8) if "held_faults" in tensors else None,
        )


def joined(several: Sequence[Rows]) -> Rows:
    """A copy of rows one after the other, before anything has become of them."""
    values, clock, numbers, begins, *_ = zip(*several, strict=True)
    own = Rows(np.concatenate(values), np.concatenate(clock), np.concatenate(numbers), np.concatenate(begins))
    if all(rows.faults is None for rows in several):
        return own
    faults = [np.zeros(rows.values.shape, np.uint8) if rows.faults is None else rows.faults for rows in several]
    return own._replace(faults=np.concatenate(faults))


def jumps(clock: Floats, max_gap: int) -> Flags:
    """Whether more than `max_gap` frames are left out before each row but the first."""
    return np.asarray(np.rint(clock[1:] - clock[:-1]) - 1 > max_gap)


class _Held(NamedTuple):
    """One row that waits."""

    values: Values  # (n_channels,)
    time_s: float
    number: int


class RowAdmission:
    """The time of the last row taken, and the rows after it that wait."""

    def __init__(self, n_channels: int, rate: float | None, max_gap: int) -> None:
        """Rows that leave out more than `max_gap` frames are suspect; none where the rate is unknown."""
        self._n_channels, self._rate, self._max_gap = n_channels, rate, max_gap
        self.n_skipped = 0
        self.n_admitted = 0
        self.origin_s: float | None = None  # time of clock 0
        self.last_clock: float | None = None  # of the last row that was admitted; None where time begins
        self.is_open = False  # whether the next row follows on the last one
        self._latest_s = -math.inf
        self._n_behind = 0  # rows skipped on end
        self._suspects: list[_Held] = []  # rows after a jump, in the order of time
        self._back: list[_Held] = []  # the rows right after them that go on from before a jump
        self._back_at = 0  # the suspect after that jump

    def push(self, values: Values, times: Floats | None, first_number: int, *, ends: bool = False) -> Iterator[Rows]:
        """The next rows, numbered from `first_number` on; `ends`: none will follow."""
        n_rows = values.shape[0]
        if not n_rows:
            return
        numbers = np.arange(first_number, first_number + n_rows)
        if times is not None and (is_large := np.abs(times) > _MOST_FRAMES / (self._rate or 1.0)).any():
            times = np.where(is_large, np.nan, times)
        if times is None or self._are_sound(times, ends):
            self._n_behind = 0
            if times is not None:
                self._latest_s = float(times[-1])
            yield self._admitted(values, times, numbers)
            return
        yield from self._one_by_one(map(_Held, values, times.tolist(), numbers.tolist()))

    def flush(self) -> list[Rows]:
        """The input ends, or begins again: the suspects are taken."""
        taken = self._confirmed()
        return [self._admitted(*self._stacked(taken))] if taken else []

    def _admitted(self, values: Values, times: Floats | None, numbers: Ints, set_back: bool = False) -> Rows:
        if set_back:
            self.origin_s, self.last_clock, self.is_open = None, None, False
        first, self.n_admitted = self.n_admitted, self.n_admitted + numbers.size
        begins = np.zeros(numbers.size, np.bool_)
        if times is None or self._rate is None:
            clock = np.arange(first, self.n_admitted, dtype=np.float64)
        else:
            self.origin_s = float(times[0]) if self.origin_s is None else self.origin_s
            clock = (times - self.origin_s) * self._rate
            begins[1:] = jumps(clock, self._max_gap)
            if self.last_clock is not None:
                begins[0] = np.rint(clock[0] - self.last_clock) - 1 > self._max_gap
        begins[0] |= not self.is_open
        self.last_clock, self.is_open = float(clock[-1]), True
        return Rows(values, clock, numbers, begins, set_back=set_back)

    def _are_sound(self, times: Floats, ends: bool) -> bool:
        """Whether all times are finite, in order and after the latest one, and none is suspect."""
        if self._suspects or not self._latest_s < float(times[0]) <= float(times[-1]) < math.inf:
            return False
        if times.size > 1 and not bool((times[1:] > times[:-1]).all()):
            return False
        if ends or self._rate is None:
            return True
        leaves_out = np.rint(np.diff(times) * self._rate) - 1
        return not self._jumps(self._latest_s, float(times[0])) and not bool((leaves_out > self._max_gap).any())

    def _jumps(self, before_s: float, time_s: float) -> bool:
        if self._rate is None:
            return False
        step = (time_s - before_s) * self._rate
        return not math.isfinite(step) or round(step) - 1 > self._max_gap

    def _one_by_one(self, rows: Iterator[_Held]) -> Iterator[Rows]:
        taken: list[_Held] = []
        set_back = False
        for row in rows:
            waiting = deque([row])
            while waiting:
                now = waiting.popleft()
                place = self._place_of(now.time_s)
                if place is None and self._n_behind >= MOST_ROWS_BEHIND and math.isfinite(now.time_s):
                    taken += self._confirmed()
                    if taken:
                        yield self._admitted(*self._stacked(taken), set_back)
                    taken, set_back = [now], True
                    self._latest_s = now.time_s
                elif place is None:
                    self._n_behind += 1
                    self.n_skipped += 1
                elif place < len(self._suspects):
                    waiting.extend(self._went_back(now, place))
                else:
                    taken += self._went_on(now)
        if taken:
            yield self._admitted(*self._stacked(taken), set_back)

    def _place_of(self, time_s: float) -> int | None:
        """Before which suspect a row lies if there is a jump, their number if it goes on from all; None: behind."""
        if not self._latest_s < time_s < math.inf:
            return None
        place = bisect_left(self._suspects, time_s, key=lambda row: row.time_s)
        if place == len(self._suspects):
            return place
        is_jump = place == 0 or self._jumps_before(place)
        return place if is_jump and time_s < self._suspects[place].time_s else None

    def _went_back(self, row: _Held, place: int) -> list[_Held]:
        """A row from before a jump; the rows to look at again where they refute those after the jump."""
        if not (self._back and self._back_at == place and self._back[-1].time_s < row.time_s):
            self._forget_back()
        self._back.append(row)
        self._back_at = place
        if len(self._back) < _ROWS_THAT_REFUTE:
            return []
        again, self._back = self._back, []
        self.n_skipped += len(self._suspects) - place
        self._suspects = self._suspects[:place]
        return again

    def _went_on(self, row: _Held) -> list[_Held]:
        """A row later than all so far; the rows that are taken now."""
        self._n_behind = 0
        self._forget_back()
        if not self._suspects and not self._jumps(self._latest_s, row.time_s):
            self._latest_s = row.time_s
            return [row]
        self._suspects.append(row)
        jumps_at = [i for i in range(1, len(self._suspects)) if self._jumps_before(i)]
        if len(self._suspects) - (jumps_at[-1] if jumps_at else 0) >= ROWS_THAT_CONFIRM:
            return self._confirmed()
        return self._confirmed(jumps_at[0]) if len(self._suspects) > _MOST_SUSPECTS else []

    def _jumps_before(self, place: int) -> bool:
        return self._jumps(self._suspects[place - 1].time_s, self._suspects[place].time_s)

    def _forget_back(self) -> None:
        self.n_skipped += len(self._back)
        self._back = []

    def _confirmed(self, n_rows: int | None = None) -> list[_Held]:
        """The first of the suspects, or all; before the first row taken there is no gap of a century."""
        self._forget_back()
        confirmed = self._suspects[:n_rows]
        self._suspects = self._suspects[len(confirmed) :]
        if not math.isfinite(self._latest_s):
            steps = [after.time_s - before.time_s for before, after in pairwise(confirmed)]
            n_wrong = max((i + 1 for i, step in enumerate(steps) if step > _CENTURY_S), default=0)
            self.n_skipped += n_wrong
            confirmed = confirmed[n_wrong:]
        self._latest_s = confirmed[-1].time_s if confirmed else self._latest_s
        self._n_behind = 0
        return confirmed

    def _stacked(self, rows: list[_Held]) -> tuple[Values, Floats, Ints]:
        values = np.array([row.values for row in rows], np.float32).reshape(len(rows), self._n_channels)
        return values, np.array([row.time_s for row in rows]), np.array([row.number for row in rows], np.int64)

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """The rows that wait; clock and count are those of the preparation."""
        values, times, numbers = self._stacked([*self._suspects, *self._back])
        tensors: dict[str, NDArray[np.generic]] = {"held_values": values, "held_times": times, "held_numbers": numbers}
        latest_s = self._latest_s if math.isfinite(self._latest_s) else None
        counts = [len(self._suspects), self._back_at, self._n_behind, self.n_skipped]
        return tensors, {"latest_s": latest_s, "counts": counts}

    def load(self, tensors: Tensors, plain: Mapping[str, Any]) -> None:
        """Go on from this state."""
        values = np.array(tensors["held_values"], np.float32)
        times, numbers = np.array(tensors["held_times"], np.float64), np.array(tensors["held_numbers"], np.int64)
        held = list(map(_Held, values, times.tolist(), numbers.tolist()))
        n_suspects, self._back_at, self._n_behind, self.n_skipped = plain["counts"]
        self._suspects, self._back = held[:n_suspects], held[n_suspects:]
        self._latest_s = -math.inf if plain["latest_s"] is None else plain["latest_s"]
