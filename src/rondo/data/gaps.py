"""Missing values: runs of NaN are bridged as soon as they end, or lost where they are too long.

A run of NaN in one channel that leaves out at most `longest` frames is interpolated in time between its neighbours. At
an end of a piece, within which time does not jump, the nearest value is repeated. A run waits until it has ended or is
surely too long, and all rows after it wait with it.

A longer run is a dropout of the channel. Without a `ChannelFill` its rows are lost. With one, what is gone is predicted
from the channels that are there (`rondo.data.relations`), and rows are lost only where no channel is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags as Flags
from rondo.arrays import Floats as Floats
from rondo.arrays import Ints as Ints
from rondo.arrays import Tensors
from rondo.data.recording import Values
from rondo.data.relations import ChannelFill

SOUND, BRIDGED, LOST, FILLED = 0, 1, 2, 3  # what became of a row

Flaws = NDArray[np.uint8]


class TimedRows(NamedTuple):
    """Rows in the order of time."""

    values: Values  # (n_rows, n_channels)
    clock: Floats  # (n_rows,) where each row lies on the frame axis, in frames since the first row
    numbers: Ints  # (n_rows,) of the input rows
    begins: Flags  # (n_rows,) whether a new piece begins: time jumps before the row
    flaws: Flaws | None = None  # (n_rows,) SOUND, BRIDGED, LOST or FILLED; None: all sound
    filled: Flags | None = None  # (n_rows, n_channels) whether a value was predicted; None: none was

    @classmethod
    def none(cls, n_channels: int) -> TimedRows:
        empty = np.zeros(0)
        return cls(np.zeros((0, n_channels), np.float32), empty, empty.astype(np.int64), empty.astype(np.bool_))

    @property
    def is_lost(self) -> Flags:
        """Which rows lie in a gap that is not bridged."""
        return np.zeros(self.clock.size, np.bool_) if self.flaws is None else self.flaws == LOST

    def part(self, start: int, stop: int | None = None) -> TimedRows:
        """The rows [start, stop)."""
        rows = slice(start, stop)
        flaws = None if self.flaws is None else self.flaws[rows]
        filled = None if self.filled is None else self.filled[rows]
        return TimedRows(self.values[rows], self.clock[rows], self.numbers[rows], self.begins[rows], flaws, filled)

    def copy(self) -> TimedRows:
        """Rows of their own: what is kept must not hold on to a caller's chunk."""
        return TimedRows(*(None if part is None else part.copy() for part in self))  # type: ignore[arg-type]


def joined(rows: Sequence[TimedRows]) -> TimedRows:
    """Rows one after the other."""
    if len(rows) == 1:
        return rows[0]
    flaws = None
    if any(part.flaws is not None for part in rows):
        flaws = np.concatenate(
            [np.zeros(part.clock.size, np.uint8) if part.flaws is None else part.flaws for part in rows]
        )
    values, clock, numbers, begins = (np.concatenate([part[i] for part in rows]) for i in range(4))
    filled = None
    if any(part.filled is not None for part in rows):
        filled = np.concatenate(
            [np.zeros(part.values.shape, np.bool_) if part.filled is None else part.filled for part in rows]
        )
    return TimedRows(values, clock, numbers, begins, flaws, filled)


class MissingValues(NamedTuple):
    """How many values of each channel (n_channels,) were missing, by what became of them."""

    n_bridged: Ints
    n_lost: Ints
    n_filled: Ints


Settled = tuple[TimedRows, MissingValues | None]
"""Finite rows that nothing to come can change, and what was missing in them; None: nothing."""


class GapBridge:
    """Rows with NaN -> finite rows in the same order; between calls only those that wait are kept."""

    def __init__(self, longest: Ints, fill: ChannelFill | None = None) -> None:
        """`longest` (n_channels,): frames that a run may leave out; `fill`: what predicts those that are longer."""
        self.longest, self._channel_fill = longest, fill
        self.least_step = 0.0  # frames from the last row to any next one: 1 where there is no clock
        self._held: list[TimedRows] = []
        self._waits_for = 0  # the channel whose run is open since the first row held
        # Where an open run of each channel counts from: its last value, or NaN one frame before its piece.
        self._known_clock = np.zeros(longest.size)
        self._known_value = np.full(longest.size, np.nan, np.float32)

    @property
    def n_held(self) -> int:
        return sum(rows.clock.size for rows in self._held)

    def push(self, rows: TimedRows, *, is_complete: bool = False, ends: bool = False) -> Settled:
        """The next rows; gives those that are settled. `is_complete`: no NaN among them; `ends`: a piece ends here."""
        if rows.clock.size and not self._held and (is_complete or not np.isnan(rows.values).any()):
            self._known_clock[:] = rows.clock[-1]
            self._known_value[:] = rows.values[-1]
            return rows, None
        if rows.clock.size and self._still_waits(rows) and not ends:
            self._held.append(rows.copy())
            return rows.part(0, 0), None
        return self._settle(joined([*self._held, rows]), ends)

    def _still_waits(self, rows: TimedRows) -> bool:
        """Whether the run that all others wait for neither ends in these rows nor becomes too long."""
        if not self._held or rows.begins.any() or not np.isnan(rows.values[:, self._waits_for]).all():
            return False
        first = self._held[0]
        before = first.clock[0] - 1 if first.begins[0] else self._known_clock[self._waits_for]
        return bool(np.rint(rows.clock[-1] + self.least_step - before) - 1 <= self.longest[self._waits_for])

    def _settle(self, rows: TimedRows, ends: bool) -> Settled:
        n_rows = rows.clock.size
        absent = np.ascontiguousarray(np.isnan(rows.values).T)  # by channel: most mostly are whole
        filled = rows.values.copy()
        n_settled, missing, lost = n_rows, np.zeros(n_rows, np.bool_), np.zeros(n_rows, np.bool_)
        long_runs: dict[int, tuple[Ints, Ints]] = {}
        for c in [c for c, gone in enumerate(absent) if gone.any()]:
            missing |= absent[c]
            is_lost, long_runs[c], n_before_open = self._fill(filled[:, c], absent[c], rows, c, ends)
            lost |= is_lost
            if n_before_open < n_settled:
                n_settled, self._waits_for = n_before_open, c
        self._held = [rows.part(n_settled).copy()] if n_settled < n_rows else []
        self._remember(rows.part(0, n_settled), absent[:, :n_settled])
        n_bridged, n_long = (np.zeros(len(absent), np.int64) for _ in range(2))
        for c, (starts, stops) in long_runs.items():
            n_long[c] = (np.minimum(stops, n_settled) - np.minimum(starts, n_settled)).sum()
            n_bridged[c] = np.count_nonzero(absent[c, :n_settled]) - n_long[c]
        flaws = np.where(lost, np.uint8(LOST), np.where(missing, np.uint8(BRIDGED), np.uint8(SOUND)))
        settled = rows._replace(values=filled, flaws=flaws).part(0, n_settled)
        if self._channel_fill is None or not n_long.any():
            return settled, MissingValues(n_bridged, n_long, np.zeros_like(n_long))
        settled, n_filled = _predicted(settled, long_runs, self._channel_fill)
        return settled, MissingValues(n_bridged, n_long - n_filled, n_filled)

    def _fill(
        self, column: Values, gone: Flags, rows: TimedRows, channel: int, ends: bool
    ) -> tuple[Flags, tuple[Ints, Ints], int]:
        """Fill one channel in place: which rows are lost, the runs they are, and how many rows an open run leaves."""
        clock, n_rows = rows.clock, rows.clock.size
        edges = np.flatnonzero((gone[1:] != gone[:-1]) | rows.begins[1:]) + 1
        starts, stops = np.append(0, edges), np.append(edges, n_rows)
        starts, stops = starts[gone[starts]], stops[gone[starts]]
        at_begin = rows.begins[starts]
        before = np.where(at_begin, clock[starts] - 1, clock[starts - 1])
        known: tuple[float, float] | None = None  # clock and value before the first row
        if not rows.begins[0]:  # it follows on rows given out before
            known = float(self._known_clock[channel]), float(self._known_value[channel])
            if starts[0] == 0:
                before[0], at_begin[0] = known[0], np.isnan(known[1])
        is_open = not ends and stops[-1] == n_rows
        at_end = np.append(rows.begins, not is_open)[stops]
        after = np.where(at_end, clock[stops - 1] + 1, clock[np.minimum(stops, n_rows - 1)])
        if is_open:
            after[-1] = clock[-1] + self.least_step
        is_long = (np.rint(after - before) - 1 > self.longest[channel]) | (at_begin & at_end)
        column[gone] = _bridged(column, gone, clock, (starts, stops), (at_begin, at_end), known)
        lost = np.zeros_like(gone)
        lost[gone] = np.repeat(is_long, stops - starts)
        n_before_open = int(starts[-1]) if is_open and not is_long[-1] else n_rows
        return lost, (starts[is_long], stops[is_long]), n_before_open

    def _remember(self, rows: TimedRows, absent: Flags) -> None:
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
        """Everything, exactly."""
        held = joined([TimedRows.none(self.longest.size), *self._held])
        tensors: dict[str, NDArray[np.generic]] = {
            "held_values": held.values,
            "held_clock": held.clock,
            "held_numbers": held.numbers,
            "held_begins": held.begins,
            "known_clock": self._known_clock.copy(),
            "known_value": self._known_value.copy(),
        }
        return tensors, {"least_step": self.least_step}

    def load(self, tensors: Tensors, plain: Mapping[str, float]) -> None:
        """Go on from this state."""
        held = TimedRows(
            np.array(tensors["held_values"], np.float32),
            np.array(tensors["held_clock"], np.float64),
            np.array(tensors["held_numbers"], np.int64),
            np.array(tensors["held_begins"], np.bool_),
        )
        self._held = [held] if held.clock.size else []
        self._known_clock = np.array(tensors["known_clock"], np.float64)
        self._known_value = np.array(tensors["known_value"], np.float32)
        self._waits_for = int(np.isnan(held.values).all(axis=0).argmax())
        self.least_step = float(plain["least_step"])


def _predicted(
    rows: TimedRows, long_runs: Mapping[int, tuple[Ints, Ints]], fill: ChannelFill
) -> tuple[TimedRows, Ints]:
    """Rows whose dropouts are filled where any channel is there; how many values of each were."""
    n_rows, n_channels = rows.values.shape
    gone = np.zeros((n_rows, n_channels), np.bool_)
    for c, runs in long_runs.items():
        for start, stop in zip(*(edges.tolist() for edges in runs), strict=True):
            gone[start:stop, c] = True
    assert rows.flaws is not None
    is_lost = gone.all(axis=1)
    gone[is_lost] = False
    fill.fill(rows.values, gone)
    flaws = np.where((rows.flaws == LOST) & ~is_lost, np.uint8(FILLED), rows.flaws)
    return rows._replace(flaws=flaws, filled=gone), gone.sum(axis=0)


def _bridged(
    column: Values,
    gone: Flags,
    clock: Floats,
    runs: tuple[Ints, Ints],
    edges: tuple[Flags, Flags],
    known: tuple[float, float] | None,
) -> Floats:
    """Values for the rows that are gone: on straight lines, and at the edges of a piece the nearest value.

    `edges`: whether each run lies at the beginning and at the end of its piece; `known`: clock and value before the
    first row.
    """
    there = ~gone
    knots, values = clock[there], column[there]
    if known is not None and not np.isnan(known[1]):
        knots, values = np.append(known[0], knots), np.append(np.float32(known[1]), values)
    found = np.interp(clock[gone], knots, values) if knots.size else np.zeros(int(gone.sum()))
    (starts, stops), (at_begin, at_end) = runs, edges
    at_edge = at_begin | at_end
    if at_edge.any():
        nearest = np.where(at_begin, np.append(column, np.float32(0))[stops], column[starts - 1])
        if known is not None and starts[0] == 0 and not at_begin[0]:
            nearest[0] = known[1]
        nearest[at_begin & at_end] = 0.0
        lengths = stops - starts
        is_at_edge = np.repeat(at_edge, lengths)
        found[is_at_edge] = np.repeat(nearest, lengths)[is_at_edge]
    return found
