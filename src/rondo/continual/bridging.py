"""Missing values of a stream: bridged as soon as they end, by the rules of `rondo.data.signal`.

A run of NaN in one channel that leaves out at most `max_gap` frames is interpolated in time between its neighbours; at
an end of a stretch the nearest value is repeated. A longer run is lost. Until a run has ended, or is surely too long,
its rows and those after it are held back; nothing else is kept but the last value of each channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Values
from rondo.tensors import Tensors

SOUND, BRIDGED, LOST = 0, 1, 2  # what became of a row

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flaws = NDArray[np.uint8]


class StreamRows(NamedTuple):
    """Rows of one stretch in which time does not jump."""

    values: Values  # (n_rows, n_channels)
    clock: Floats  # (n_rows,) where each row lies on the frame axis, in frames since the first row
    numbers: Ints  # (n_rows,) of the input rows
    flaws: Flaws | None = None  # (n_rows,) SOUND, BRIDGED or LOST; None: all sound

    def part(self, start: int, stop: int | None = None) -> StreamRows:
        """The rows [start, stop)."""
        own = slice(start, stop)
        flaws = None if self.flaws is None else self.flaws[own]
        return StreamRows(self.values[own], self.clock[own], self.numbers[own], flaws)

    def copy(self) -> StreamRows:
        """Rows of their own: what is kept must not hold on to a caller's chunk."""
        flaws = None if self.flaws is None else self.flaws.copy()
        return StreamRows(self.values.copy(), self.clock.copy(), self.numbers.copy(), flaws)

    def then(self, rows: StreamRows) -> StreamRows:
        """These rows and the next ones of the same stretch."""
        flaws = None
        if self.flaws is not None or rows.flaws is not None:
            flaws = np.concatenate([_flaws_of(self), _flaws_of(rows)])
        return StreamRows(
            np.concatenate([self.values, rows.values]),
            np.concatenate([self.clock, rows.clock]),
            np.concatenate([self.numbers, rows.numbers]),
            flaws,
        )


def steps_of(clock: Floats, before: float) -> Floats:
    """From each place to the next, the first from `before`; np.diff, but fast for a single row."""
    if clock.size == 1:
        return clock - before
    steps = np.empty_like(clock)
    steps[0] = clock[0] - before
    np.subtract(clock[1:], clock[:-1], out=steps[1:])
    return steps


def extremes(numbers: Floats) -> tuple[float, float]:
    """The least and the greatest; fast for a single one."""
    if numbers.size == 1:
        return float(numbers[0]), float(numbers[0])
    return float(numbers.min()), float(numbers.max())


def _flaws_of(rows: StreamRows) -> Flaws:
    return np.zeros(rows.clock.size, np.uint8) if rows.flaws is None else rows.flaws


class Bridging:
    """Rows with NaN -> finite rows in the same order, as soon as nothing that may come can change them."""

    def __init__(self, n_channels: int, max_gap: int) -> None:
        self.max_gap = max_gap
        self.least_step = 0.0  # frames from the last row to any next one: 1 where there is no clock
        self._n_channels = n_channels
        self._forget()

    def _forget(self) -> None:
        n = self._n_channels
        self._held = StreamRows(np.zeros((0, n), np.float32), np.zeros(0), np.zeros(0, np.int64))
        self._begin: float | None = None  # clock of the first row of the stretch
        self._known_clock = np.full(n, np.nan)  # of the last value of each channel among the rows given out
        self._known_value = np.zeros(n, np.float32)

    @property
    def n_held(self) -> int:
        return self._held.clock.size

    def push(self, rows: StreamRows, *, is_complete: bool = False) -> StreamRows:
        """Rows of the same stretch; gives out those that are settled. `is_complete`: they are known to hold no NaN."""
        if self._begin is None:
            self._begin = float(rows.clock[0])
        if not self.n_held and (is_complete or not np.isnan(rows.values).any()):
            self._known_clock[:] = rows.clock[-1]
            self._known_value[:] = rows.values[-1]
            return rows
        return self._settle(self._held.then(rows) if self.n_held else rows, ends=False)

    def end(self) -> StreamRows:
        """The stretch ends here: gives out what is held back."""
        rows = self._settle(self._held, ends=True) if self.n_held else self._held
        self._forget()
        return rows

    def _settle(self, rows: StreamRows, *, ends: bool) -> StreamRows:
        absent = np.isnan(rows.values)
        filled = rows.values.copy()
        n_rows = rows.clock.size
        lost, waits = np.zeros(n_rows, np.bool_), np.zeros(n_rows, np.bool_)
        for c in np.flatnonzero(absent.any(axis=0)).tolist():
            lost_here, n_waiting = self._fill(filled[:, c], absent[:, c], rows.clock, c, ends)
            lost |= lost_here
            if n_waiting:
                waits[-n_waiting:] = True
        waits &= ~lost  # a row that another channel has lost need not wait
        n_settled = int(waits.argmax()) if waits.any() else n_rows
        self._held = rows.part(n_settled).copy()
        self._remember(rows.values[:n_settled], rows.clock[:n_settled], ~absent[:n_settled])
        filled[lost] = 0.0  # windows never see them; they only have to be finite
        flaws = np.where(lost, LOST, np.where(absent.any(axis=1), BRIDGED, SOUND)).astype(np.uint8)
        return StreamRows(filled, rows.clock, rows.numbers, flaws).part(0, n_settled)

    def _fill(self, column: Values, gone: Flags, clock: Floats, channel: int, ends: bool) -> tuple[Flags, int]:
        """Fill one channel in place; says which rows are lost, and how many at the end are not settled."""
        edges = np.flatnonzero(np.diff(gone, prepend=False, append=False))
        starts, stops = edges[::2], edges[1::2]
        assert self._begin is not None
        known = not np.isnan(self._known_clock[channel])
        before = self._known_clock[channel] if known else self._begin - 1
        after = clock[-1] + (1.0 if ends else self.least_step)
        padded = np.concatenate([[before], clock, [after]])
        is_long = np.rint(padded[stops + 1] - padded[starts]) - 1 > self.max_gap
        lost = np.zeros_like(gone)
        lost[gone] = np.repeat(is_long, stops - starts)
        there = ~gone
        knot_clock = padded[:-1][np.append(known, there)]
        knot_values = np.append(self._known_value[channel], column)[np.append(known, there)]
        if knot_clock.size:
            column[gone] = np.interp(clock[gone], knot_clock, knot_values)
        elif ends:
            lost[:] = True  # a stretch without a single value of this channel
        open_at_end = gone[-1] and not is_long[-1] and not ends
        return lost, int(stops[-1] - starts[-1]) if open_at_end else 0

    def _remember(self, values: Values, clock: Floats, there: Flags) -> None:
        """The last value of each channel among rows that are given out."""
        channels = np.flatnonzero(there.any(axis=0)) if clock.size else np.zeros(0, np.int64)
        if channels.size:
            last = clock.size - 1 - there[::-1, channels].argmax(axis=0)
            self._known_clock[channels] = clock[last]
            self._known_value[channels] = values[last, channels]

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly."""
        tensors: dict[str, NDArray[np.generic]] = {
            "held_values": self._held.values.copy(),
            "held_clock": self._held.clock.copy(),
            "held_numbers": self._held.numbers.copy(),
            "known_clock": self._known_clock.copy(),
            "known_value": self._known_value.copy(),
        }
        return tensors, {"begin": self._begin, "least_step": self.least_step}

    def load(self, tensors: Tensors, plain: Mapping[str, Any]) -> None:
        """Go on from this state."""
        self._held = StreamRows(
            np.array(tensors["held_values"], np.float32),
            np.array(tensors["held_clock"], np.float64),
            np.array(tensors["held_numbers"], np.int64),
        )
        self._known_clock = np.array(tensors["known_clock"], np.float64)
        self._known_value = np.array(tensors["known_value"], np.float32)
        self._begin, self.least_step = plain["begin"], plain["least_step"]
