"""Missing values: runs of NaN are bridged as soon as they end, or lost where they are too long.

A run of NaN in one channel that leaves out at most `longest` frames is interpolated in time between its neighbours. At
an end of a piece, within which time does not jump, the nearest value is repeated. A run waits until it has ended or is
surely too long, and all rows after it wait with it.

A longer run is a dropout of the channel. Without a `ChannelFill` its rows are lost. With one, what is gone is predicted
from the channels that are there (`rondo.data.relations`), and rows are lost only where no channel is there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags, Ints, Tensors
from rondo.data.admission import Rows, joined
from rondo.data.recording import BLOCK, Values
from rondo.data.relations import ChannelFill

SOUND, BRIDGED, LOST, FILLED = 0, 1, 2, 3  # what became of a row


class GapBridge:
    """Rows with NaN -> finite rows in the same order; between calls only those that wait are kept."""

    def __init__(self, longest: Ints, fill: ChannelFill | None = None) -> None:
        """`longest` (n_channels,): frames that a run may leave out; `fill`: what predicts those that are longer."""
        self.longest, self._channel_fill = longest, fill
        self.missing = np.zeros((3, longest.size), np.int64)  # values of each channel: bridged, lost, filled
        self.least_step = 0.0  # frames from the last row to any next one: 1 where there is no clock
        self._held: list[Rows] = []
        self._waits_for = 0  # the channel whose run is open since the first row held
        # Where an open run of each channel counts from: its last value, or NaN one frame before its piece.
        self._known_clock = np.zeros(longest.size)
        self._known_value = np.full(longest.size, np.nan, np.float32)

    @property
    def n_held(self) -> int:
        return sum(rows.clock.size for rows in self._held)

    def push(self, rows: Rows, *, ends: bool = False) -> Rows:
        """The next rows; gives finite ones that nothing to come can change. `ends`: a piece ends here."""
        n_rows = rows.clock.size
        blocks = (rows.values[start : start + BLOCK] for start in range(0, n_rows, BLOCK))
        if n_rows and not self._held and not any(np.isnan(block).any() for block in blocks):
            self._known_clock[:] = rows.clock[-1]
            self._known_value[:] = rows.values[-1]
            return rows
        if n_rows and not ends and self._still_waits(rows):
            self._held.append(joined([rows]))  # a copy: what is kept must not hold on to a caller's chunk
            return rows.part(0, 0)
        return self._settled(joined([*self._held, rows]) if self._held else rows, ends)

    def _still_waits(self, rows: Rows) -> bool:
        """Whether the run that all others wait for neither ends in these rows nor becomes too long."""
        if not self._held or rows.begins.any() or not np.isnan(rows.values[:, self._waits_for]).all():
            return False
        first = self._held[0]
        before = first.clock[0] - 1 if first.begins[0] else self._known_clock[self._waits_for]
        return bool(np.rint(rows.clock[-1] + self.least_step - before) - 1 <= self.longest[self._waits_for])

    def _settled(self, rows: Rows, ends: bool) -> Rows:
        n_rows = n_settled = rows.clock.size
        absent = np.ascontiguousarray(np.isnan(rows.values).T)  # by channel: most mostly are whole
        values, dropouts = rows.values.copy(), np.zeros_like(absent)
        for c in np.flatnonzero(absent.any(axis=1)).tolist():
            dropouts[c], n_before_open = self._bridge(values[:, c], absent[c], rows, c, ends)
            if n_before_open < n_settled:
                n_settled, self._waits_for = n_before_open, c
        self._held = [joined([rows.part(n_settled)])] if n_settled < n_rows else []
        absent, dropouts = absent[:, :n_settled], dropouts[:, :n_settled]
        self._remember(rows.part(0, n_settled), absent)
        is_lost, n_long = dropouts.any(axis=0), dropouts.sum(axis=1)
        flaws = np.where(is_lost, np.uint8(LOST), np.where(absent.any(axis=0), np.uint8(BRIDGED), np.uint8(SOUND)))
        settled = rows._replace(values=values).part(0, n_settled)
        filled, n_filled = None, np.zeros_like(n_long)
        if self._channel_fill is not None and is_lost.any():
            has_nothing = dropouts.all(axis=0)
            filled = np.ascontiguousarray((dropouts & ~has_nothing).T)
            n_filled = filled.sum(axis=0)
            self._channel_fill.fill(settled.values, filled)
            flaws[is_lost & ~has_nothing] = FILLED
        self.missing += [absent.sum(axis=1) - n_long, n_long - n_filled, n_filled]
        return settled._replace(flaws=flaws, filled=filled)

    def _bridge(self, column: Values, gone: Flags, rows: Rows, channel: int, ends: bool) -> tuple[Flags, int]:
        """Fill one channel in place: which rows lie in runs that are too long, and how many rows an open run leaves."""
        clock, n_rows = rows.clock, rows.clock.size
        edges = np.flatnonzero((gone[1:] != gone[:-1]) | rows.begins[1:]) + 1
        starts, stops = np.append(0, edges), np.append(edges, n_rows)
        starts, stops = starts[gone[starts]], stops[gone[starts]]
        at_begin = rows.begins[starts]
        before = np.where(at_begin, clock[starts] - 1, clock[starts - 1])
        knots, values = clock[~gone], column[~gone]
        known_clock, known_value = self._known_clock[channel], self._known_value[channel]
        if not rows.begins[0]:  # it follows on rows given out before
            if not np.isnan(known_value):
                knots, values = np.append(known_clock, knots), np.append(known_value, values)
            if starts[0] == 0:
                before[0], at_begin[0] = known_clock, np.isnan(known_value)
        nearest = np.where(at_begin, np.append(column, np.float32(0))[stops], column[starts - 1])
        if starts[0] == 0 and not at_begin[0]:
            nearest[0] = known_value
        is_open = not ends and stops[-1] == n_rows
        at_end = np.append(rows.begins, not is_open)[stops]
        after = np.where(at_end, clock[stops - 1] + 1, clock[np.minimum(stops, n_rows - 1)])
        if is_open:
            after[-1] = clock[-1] + self.least_step
        is_long = (np.rint(after - before) - 1 > self.longest[channel]) | (at_begin & at_end)
        nearest[at_begin & at_end] = 0.0
        lengths = stops - starts
        bridged = np.interp(clock[gone], knots, values) if knots.size else np.zeros(int(lengths.sum()))
        column[gone] = np.where(np.repeat(at_begin | at_end, lengths), np.repeat(nearest, lengths), bridged)
        lost = np.zeros_like(gone)
        lost[gone] = np.repeat(is_long, lengths)
        return lost, int(starts[-1]) if is_open and not is_long[-1] else n_rows

    def _remember(self, rows: Rows, absent: Flags) -> None:
        """Where open runs count from after these rows."""
        n_rows = rows.clock.size
        if not n_rows:
            return
        begun = np.flatnonzero(rows.begins)
        first = int(begun[-1]) if begun.size else 0
        if begun.size:
            self._known_clock[:], self._known_value[:] = rows.clock[first] - 1, np.nan
        n_after = absent[:, first:][:, ::-1].argmin(axis=1)  # rows after the last value, of those of the piece
        last = n_rows - 1 - n_after
        channels = np.flatnonzero(~absent[np.arange(len(absent)), last])
        self._known_clock[channels] = rows.clock[last[channels]]
        self._known_value[channels] = rows.values[last[channels], channels]

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, float]]:
        """What waits and where open runs count from; the counts are kept by the preparation."""
        tensors: dict[str, NDArray[np.generic]] = {
            **joined([Rows.none(self.longest.size), *self._held]).state(),
            "known_clock": self._known_clock.copy(),
            "known_value": self._known_value.copy(),
        }
        return tensors, {"least_step": self.least_step}

    def load(self, tensors: Tensors, plain: Mapping[str, float]) -> None:
        """Go on from this state."""
        held = Rows.restored(tensors)
        self._held = [held] if held.clock.size else []
        self._known_clock = np.array(tensors["known_clock"], np.float64)
        self._known_value = np.array(tensors["known_value"], np.float32)
        self._waits_for = int(np.isnan(held.values).all(axis=0).argmax())
        self.least_step = float(plain["least_step"])
