"""Rows of a stream -> frames on a regular grid, by the rules of `rondo.data.signal`.

The batch path looks at the whole recording and decides once whether rows can stand for frames as they are: either all
steps are near 1, or every row lies nearest to its own frame. A stream cannot look ahead, so the same question is asked
of the rows so far. Until the answer is no, rows are frames. From the row that makes it no, and for good, values are
interpolated linearly onto the grid, as the batch path does to the whole recording. Where the answer stays yes, and
where timestamps lie on the grid but rows are missing, both paths give the same frames.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.continual.bridging import LOST, SOUND, Flags, Floats, Ints, StreamRows, extremes, steps_of
from rondo.data.recording import Values
from rondo.tensors import Tensors


class RowsOnGrid(NamedTuple):
    """Where rows lie that are not frames themselves."""

    frame_of_row: Ints  # (n_rows,) the first frame at or after each row
    n_frames_missing: Ints  # (n_rows,) frames since the row before that had no row of their own


class Laid(NamedTuple):
    """Consecutive frames, and which of them the rows that gave them are."""

    values: Values  # (n_frames, n_channels)
    lost: Flags | None  # (n_frames,); None: none is
    first_frame: int
    clock: Floats  # (n_frames,)
    numbers: Ints  # (n_frames,) of the row at or before each frame
    on_grid: RowsOnGrid | None  # None: frame i is row i of those that gave them

    @property
    def n_rows(self) -> int:
        return self.clock.size if self.on_grid is None else self.on_grid.frame_of_row.size

    def frame_of_row(self, row: int) -> int:
        """The first frame at or after a row."""
        return self.first_frame + row if self.on_grid is None else int(self.on_grid.frame_of_row[row])


class Gridding:
    """Where the next frame lies, and what is needed to go on: one row."""

    def __init__(self, n_channels: int) -> None:
        self.next_frame = 0
        self.rows_are_frames = True
        self.has_clock = True  # without one, rows are frames and nothing needs to be asked
        self._steps_are_near_one = True  # so far, as in the next line
        self._rows_are_near_frames = True
        self._n_channels = n_channels
        self._last_values = np.zeros((1, n_channels), np.float32)  # of the last row, as in the next three lines
        self._last_clock: float | None = None  # None: no row yet in this piece
        self._last_number = 0
        self._last_flaw = SOUND
        self._begin_piece()

    def _begin_piece(self) -> None:
        self._last_clock = None
        self._earliest, self._latest = np.inf, -np.inf  # extremes of row clock - row number in this piece
        self._anchor_clock, self._anchor_frame = 0.0, self.next_frame

    def push(self, rows: StreamRows) -> list[Laid]:
        """Rows of the same piece, in which time does not jump."""
        if not rows.clock.size:
            return []
        if self._last_clock is None:
            self._anchor_clock, self._anchor_frame = float(rows.clock[0]), self.next_frame
        if not self.rows_are_frames:
            return [self._interpolated(rows)]
        n_fitting = self._n_fitting(rows.clock) if self.has_clock else rows.clock.size
        laid = (
            [self._as_they_are(rows.part(0, n_fitting) if n_fitting < rows.clock.size else rows)] if n_fitting else []
        )
        if n_fitting < rows.clock.size:
            self._leave_rows()
            laid.append(self._interpolated(rows.part(n_fitting)))
        return laid

    def end(self) -> list[Laid]:
        """The piece ends here; on the grid its last frame is the one nearest to its last row."""
        laid: list[Laid] = []
        if self._last_clock is not None and not self.rows_are_frames:
            n_frames = round(self._last_clock - self._anchor_clock) + self._anchor_frame + 1 - self.next_frame
            if n_frames > 0:
                last = self._last_row()
                laid = [self._frames_between(last, n_frames, last.part(1))]
        self._begin_piece()
        return laid

    def _as_they_are(self, rows: StreamRows) -> Laid:
        lost = None if rows.flaws is None else rows.flaws == LOST
        laid = Laid(rows.values, lost, self.next_frame, rows.clock, rows.numbers, None)
        self.next_frame += rows.clock.size
        self._keep(rows)
        return laid

    def _keep(self, rows: StreamRows) -> None:
        self._last_values[0] = rows.values[-1]
        self._last_clock, self._last_number = float(rows.clock[-1]), int(rows.numbers[-1])
        self._last_flaw = SOUND if rows.flaws is None else int(rows.flaws[-1])

    def _last_row(self) -> StreamRows:
        flaws = None if self._last_flaw == SOUND else np.array([self._last_flaw], np.uint8)
        return StreamRows(self._last_values, np.array([self._last_clock]), np.array([self._last_number]), flaws)

    def _n_fitting(self, clock: Floats) -> int:
        """How many of these rows can stand for frames, as the batch path would judge from the rows so far."""
        before = clock[0] - 1 if self._last_clock is None else self._last_clock  # a first row has no step
        steps = steps_of(clock, before)
        shortest, longest = extremes(steps)
        is_odd = shortest <= 0.5 or longest >= 1.5
        late = clock - np.arange(self.next_frame, self.next_frame + clock.size)
        earliest, latest = extremes(late)
        earliest, latest = min(self._earliest, earliest), max(self._latest, latest)
        far = self._rows_are_near_frames and latest - earliest >= 1
        if (self._steps_are_near_one and not is_odd) or (self._rows_are_near_frames and not far):
            self._steps_are_near_one = self._steps_are_near_one and not is_odd
            self._rows_are_near_frames = self._rows_are_near_frames and not far
            self._earliest, self._latest = earliest, latest
            return int(clock.size)
        spread = np.maximum.accumulate(np.maximum(late, self._latest)) - np.minimum.accumulate(
            np.minimum(late, self._earliest)
        )
        no_steps = np.logical_or.accumulate((steps <= 0.5) | (steps >= 1.5)) | (not self._steps_are_near_one)
        no_place = (np.maximum.accumulate(spread) >= 1) | (not self._rows_are_near_frames)
        return int((no_steps & no_place).argmax())

    def _leave_rows(self) -> None:
        """From here on frames lie on the grid of this piece, or of its last row where the clock has drifted off."""
        self.rows_are_frames = self._steps_are_near_one = self._rows_are_near_frames = False
        self._earliest, self._latest = np.inf, -np.inf
        assert self._last_clock is not None  # a first row always fits
        last_frame = self.next_frame - 1
        if abs((self._last_clock - self._anchor_clock) - (last_frame - self._anchor_frame)) >= 1:
            self._anchor_clock, self._anchor_frame = self._last_clock, last_frame

    def _interpolated(self, rows: StreamRows) -> Laid:
        knots = rows if self._last_clock is None else self._last_row().then(rows)
        n_frames = math.floor(rows.clock[-1] - self._anchor_clock) + self._anchor_frame + 1 - self.next_frame
        laid = self._frames_between(knots, max(0, n_frames), rows)
        self._keep(rows)
        return laid

    def _frames_between(self, knots: StreamRows, n_frames: int, rows: StreamRows) -> Laid:
        """The next frames, from the polyline through the knots; a frame beside a lost row is lost."""
        first = self.next_frame - self._anchor_frame
        frames = np.arange(first, first + n_frames, dtype=np.float64)
        clock = knots.clock - self._anchor_clock
        values = np.empty((n_frames, self._n_channels), np.float32)
        lost = None
        if n_frames:
            for c in range(self._n_channels):
                values[:, c] = np.interp(frames, clock, knots.values[:, c])
            if knots.flaws is not None:
                lost = np.interp(frames, clock, knots.flaws == LOST) > 0
        numbers = knots.numbers[clock.searchsorted(frames, side="right") - 1]
        laid = Laid(values, lost, self.next_frame, frames + self._anchor_clock, numbers, self._places(knots, rows))
        self.next_frame += n_frames
        return laid

    def _places(self, knots: StreamRows, rows: StreamRows) -> RowsOnGrid:
        n_rows = rows.clock.size
        places = np.ceil(rows.clock - self._anchor_clock).astype(np.int64) + self._anchor_frame
        places = np.maximum(places, self.next_frame)  # rows that were frames may have been ahead of the grid
        missing = np.zeros(n_rows, np.int64)
        steps = knots.clock[1:] - knots.clock[:-1]
        missing[n_rows - steps.size :] = np.maximum(np.rint(steps) - 1, 0)
        return RowsOnGrid(places, missing)

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly."""
        has_spread = np.isfinite(self._earliest)
        plain = {
            "next_frame": self.next_frame,
            "rows_are_frames": self.rows_are_frames,
            "has_clock": self.has_clock,
            "steps_are_near_one": self._steps_are_near_one,
            "rows_are_near_frames": self._rows_are_near_frames,
            "spread": [self._earliest, self._latest] if has_spread else None,
            "anchor": [self._anchor_clock, self._anchor_frame],
            "last": [self._last_clock, self._last_number, self._last_flaw],
        }
        return {"last_values": self._last_values.copy()}, plain

    def load(self, tensors: Tensors, plain: Mapping[str, Any]) -> None:
        """Go on from this state."""
        self.next_frame = plain["next_frame"]
        self.rows_are_frames, self.has_clock = plain["rows_are_frames"], plain["has_clock"]
        self._steps_are_near_one = plain["steps_are_near_one"]
        self._rows_are_near_frames = plain["rows_are_near_frames"]
        self._earliest, self._latest = plain["spread"] or (np.inf, -np.inf)
        self._anchor_clock, self._anchor_frame = plain["anchor"]
        self._last_clock, self._last_number, self._last_flaw = plain["last"]
        self._last_values = np.array(tensors["last_values"], np.float32)
