"""SoundGate: rows of a stream whose values a sensor cannot have measured, by the bounds of the model.

A recording is looked at as a whole (`rondo.data.sound`); a stream cannot be. So a model keeps of each channel how far
its values reached, and after how many equal values it counts as stuck. Then, row by row:

- outside: a run of values more than three ranges beyond what the model was fitted on is missing, if it has at most
  `max_gap` rows. Rows wait until the run has ended or is longer, which is what the bridge of missing values would wait
  for in any case. Longer runs are kept: the device or its place is another. Values that come too often are no fault;
- stuck: from the row on at which a channel has repeated one value for too long, it is missing until it moves, unless
  more than half of the channels stand still.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags, Tensors
from rondo.data.admission import Rows, joined
from rondo.data.known_channels import MOST_JUNK, MOST_ROWS, SoundBounds

NO_FAULT, UNDECIDED, OUTSIDE, LONG_OUTSIDE, STUCK = 0, 1, 2, 3, 4  # codes of values; OUTSIDE and STUCK are missing


class SoundGate:
    """Rows in, the same rows out with NaN for what is no measurement; between calls only those that wait are kept."""

    def __init__(self, bounds: SoundBounds, offsets: Sequence[float], max_gap: int) -> None:
        """`offsets`: subtracted from the values that come."""
        n_channels, self._max_gap = len(bounds.low), max_gap
        apart = np.array(offsets) if offsets else np.zeros(n_channels)
        self._low = (np.array(bounds.low) - apart).astype(np.float32)
        self._high = (np.array(bounds.high) - apart).astype(np.float32)
        self._still_rows = np.array(bounds.still_rows)
        self._n_rows = 0
        self._n_removed = np.zeros(n_channels, np.int64)
        self._n_equal = np.zeros(n_channels, np.int64)  # values on end up to the last row
        self._last = np.full(n_channels, np.nan, np.float32)
        self._is_long = np.zeros(n_channels, np.bool_)  # whether a run that is kept goes on
        self._held: list[Rows] = []

    def push(self, rows: Rows, *, ends: bool = False) -> Rows:
        """The next rows; gives those that nothing to come can change. `ends`: a piece ends here."""
        if rows.clock.size:
            faults = self._seen(rows.values)
            if faults is None and not self._held:
                self._is_long[:] = False
                return rows
            faults = np.zeros(rows.values.shape, np.uint8) if faults is None else faults
            self._held.append(joined([rows._replace(faults=faults)]))
        if not self._held:
            return rows
        return self._settled(joined(self._held), ends)

    def _seen(self, values: NDArray[np.float32]) -> NDArray[np.uint8] | None:
        """What is wrong with these rows as far as they tell by themselves; None: nothing."""
        n_rows = len(values)
        self._n_rows += n_rows
        stuck = self._stuck(values)
        with np.errstate(invalid="ignore"):
            outside = (values < self._low) | (values > self._high)
        if stuck is None and not outside.any():
            return None
        faults = np.where(outside, np.uint8(UNDECIDED), np.uint8(NO_FAULT))
        if stuck is not None:
            faults[stuck] = STUCK
        return faults

    def _stuck(self, values: NDArray[np.float32]) -> Flags | None:
        """Which values only repeat the one before, for too long; None: none does."""
        before = np.concatenate([self._last[None], values[:-1]])
        rows = np.arange(len(values))[:, None]
        changed = np.maximum.accumulate(np.where(values != before, rows, -1), axis=0)
        n_equal = np.where(changed < 0, self._n_equal + rows + 1, rows - changed + 1)
        self._last, self._n_equal = values[-1].copy(), n_equal[-1]
        stuck = n_equal >= self._still_rows
        if not stuck.any():
            return None
        stuck[2 * stuck.sum(axis=1) > stuck.shape[1]] = False  # the device rests
        return stuck if stuck.any() else None

    def _settled(self, rows: Rows, ends: bool) -> Rows:
        assert rows.faults is not None
        faults, n_rows = rows.faults, rows.clock.size
        in_most = 2 * np.isin(faults, (UNDECIDED, OUTSIDE, LONG_OUTSIDE)).sum(axis=1) > max(faults.shape[1], 2)
        first = self._n_rows - n_rows
        n_settled = n_rows
        for c in range(faults.shape[1]):
            column = faults[:, c]
            is_long, self._is_long[c] = bool(self._is_long[c]), False
            for start, stop in _runs(column == UNDECIDED, rows.begins):
                follows = is_long if start == 0 else column[start - 1] == LONG_OUTSIDE
                is_open = stop == n_rows and not ends
                if (follows and not rows.begins[start]) or stop - start > self._max_gap:
                    column[start:stop] = LONG_OUTSIDE
                    self._is_long[c] = is_open
                elif is_open:
                    n_settled = min(n_settled, start)
                else:
                    column[start:stop] = self._verdict(c, stop - start, first + stop, bool(in_most[start:stop].all()))
        self._held = [joined([rows.part(n_settled)])] if n_settled < n_rows else []
        settled = rows.part(0, n_settled)
        assert settled.faults is not None
        if not settled.faults.any():
            return settled._replace(faults=None)
        is_gone = (settled.faults == OUTSIDE) | (settled.faults == STUCK)
        return settled._replace(values=np.where(is_gone, np.float32(np.nan), settled.values))

    def _verdict(self, channel: int, n_values: int, n_rows: int, is_in_most: bool) -> int:
        """Of a short run of values outside, the last of them in row `n_rows` of the stream."""
        allowed = self._max_gap + (MOST_ROWS if is_in_most else MOST_JUNK) * n_rows
        if self._n_removed[channel] + n_values > allowed:
            return NO_FAULT
        self._n_removed[channel] += n_values
        return OUTSIDE

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly."""
        tensors: dict[str, NDArray[np.generic]] = {
            **joined([Rows.none(self._low.size), *self._held]).state(),
            "last": self._last.copy(),
        }
        counts = {"removed": self._n_removed, "equal": self._n_equal, "long": self._is_long}
        return tensors, {"rows": self._n_rows} | {name: count.tolist() for name, count in counts.items()}

    def load(self, tensors: Tensors, plain: Mapping[str, Any]) -> None:
        """Go on from this state."""
        held = Rows.restored(tensors)
        self._held = [held] if held.clock.size else []
        self._last, self._n_rows = np.array(tensors["last"], np.float32), int(plain["rows"])
        self._n_removed, self._n_equal = (np.array(plain[name], np.int64) for name in ("removed", "equal"))
        self._is_long = np.array(plain["long"], np.bool_)


def _runs(flags: Flags, begins: Flags) -> Iterator[tuple[int, int]]:
    """Runs [start, stop) of flags within pieces."""
    if not flags.any():
        return
    edges = np.flatnonzero((flags[1:] != flags[:-1]) | begins[1:]) + 1
    starts, stops = np.append(0, edges), np.append(edges, flags.size)
    kept = flags[starts]
    yield from zip(starts[kept].tolist(), stops[kept].tolist(), strict=True)
