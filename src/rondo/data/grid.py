"""Rows -> frames on a regular grid.

Rows can stand for frames as they are where all steps in time are near 1, which holds through slow drift of the clock,
or where every row lies nearest to its own frame, which holds through jitter that shakes steps between 0 and 2.
Elsewhere values are interpolated linearly onto the grid of each piece. The whole of a recording tells which of the two
it is. A stream cannot look ahead: its rows are frames until the first one that does not fit, and for good no longer.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.arrays import Flags, Floats, Ints, Tensors
from rondo.data.admission import Rows
from rondo.data.gaps import LOST
from rondo.data.recording import Values


class FrameFit(NamedTuple):
    """Whether the rows so far can stand for frames, by either reason."""

    steps_are_near_one: bool = True
    rows_are_near_frames: bool = True
    earliest: float = math.inf  # of row clock - row number in the present piece, as in the next line
    latest: float = -math.inf

    @property
    def holds(self) -> bool:
        return self.steps_are_near_one or self.rows_are_near_frames

    def after(self, clock: Floats, begins: Flags, first_frame: int, last_clock: float | None) -> FrameFit:
        """With more rows, which would be the frames from `first_frame` on; `last_clock` is that of the row before."""
        steps = steps_within(clock, begins, last_clock)
        late = clock - np.arange(first_frame, first_frame + clock.size)
        pieces = np.append(0, np.flatnonzero(begins[1:]) + 1)
        earliest, latest = np.minimum.reduceat(late, pieces), np.maximum.reduceat(late, pieces)
        if not begins[0]:
            earliest[0], latest[0] = min(earliest[0], self.earliest), max(latest[0], self.latest)
        return FrameFit(
            self.steps_are_near_one and bool(steps.min() > 0.5 and steps.max() < 1.5),
            self.rows_are_near_frames and bool((latest - earliest).max() < 1),
            float(earliest[-1]),
            float(latest[-1]),
        )


class Anchor(NamedTuple):
    """From this row of a block on, frame f lies at clock + (f - frame)."""

    row: int
    clock: float
    frame: int


class Frames(NamedTuple):
    """Consecutive frames, and the rows that gave them."""

    rows: Rows
    values: Values  # (n_frames, n_channels)
    lost: Flags | None  # (n_frames,); None: none is
    begins: Flags  # (n_frames,) whether a new piece begins
    clock: Floats  # (n_frames,)
    first_frame: int
    anchors: tuple[Anchor, ...] = ()  # empty: frame i is row i

    @property
    def frame_of_row(self) -> Ints | None:
        """The frame nearest to each row, counted from the first of all; None where frame i is row i."""
        if not self.anchors:
            return None
        frames = np.empty(self.rows.clock.size, np.int64)
        edges = [*(anchor.row for anchor in self.anchors), frames.size]
        for anchor, (start, stop) in zip(self.anchors, pairwise(edges), strict=True):
            frames[start:stop] = np.rint(self.rows.clock[start:stop] - anchor.clock) + anchor.frame
        return frames

    def frame_from(self, row: int) -> int:
        """The first of these frames, or of those to come, at or after a row."""
        if not self.anchors:
            return self.first_frame + row
        anchor = self.anchors[bisect_right(self.anchors, row, key=lambda at: at.row) - 1]
        # Rows that were frames may have been ahead of the grid.
        return max(math.ceil(float(self.rows.clock[row]) - anchor.clock) + anchor.frame, self.first_frame)


class FrameGrid:
    """Where the next frame lies, and what is needed to go on: one row."""

    def __init__(self, n_channels: int, rows_are_frames: bool | None) -> None:
        """`rows_are_frames`: None where only the rows to come can tell."""
        self.next_frame = 0
        self.fit = FrameFit() if rows_are_frames is None else None  # None: nothing needs to be asked (any more)
        self.rows_are_frames = rows_are_frames is not False
        self._last_clock: float | None = None  # of the last row of the open piece; None where no piece is open
        self._last_values = np.zeros((1, n_channels), np.float32)
        self._last_is_lost = False
        self._anchor = Anchor(0, 0.0, 0)

    def push(self, rows: Rows, *, ends: bool = False) -> list[Frames]:
        """The next rows; `ends`: a piece ends with them."""
        laid: list[Frames] = []
        if rows.clock.size:
            if rows.begins[0]:
                laid += self._closed()
            n_fitting = self._n_fitting(rows) if self.rows_are_frames else 0
            if n_fitting == rows.clock.size:
                laid.append(self._as_they_are(rows))
            else:
                if n_fitting:
                    laid.append(self._as_they_are(rows.part(0, n_fitting)))
                if self.rows_are_frames:  # from here on frames lie on the grid of this piece
                    self.fit, self.rows_are_frames = None, False
                    clock, frame = self._last_clock, self.next_frame - 1
                    assert clock is not None  # a first row always fits
                    if abs((clock - self._anchor.clock) - (frame - self._anchor.frame)) >= 1:
                        self._anchor = Anchor(0, clock, frame)  # the clock has drifted off: on that of its last row
                laid.append(self._interpolated(rows.part(n_fitting), ends))
        if ends:
            laid += self._closed()
        return laid

    def _n_fitting(self, rows: Rows) -> int:
        """How many of these rows can stand for frames, as the whole of the rows so far would be judged."""
        if self.fit is None:
            return rows.clock.size
        fit, last = self.fit, self._last_clock
        whole = fit.after(rows.clock, rows.begins, self.next_frame, last)
        if whole.holds:
            self.fit = whole
            return rows.clock.size
        fits, fails = 0, rows.clock.size  # rows that surely do and do not fit together
        while fails - fits > 1:
            n = (fits + fails) // 2
            holds = fit.after(rows.clock[:n], rows.begins[:n], self.next_frame, last).holds
            fits, fails = (n, fails) if holds else (fits, n)
        return fits

    def _as_they_are(self, rows: Rows) -> Frames:
        lost = None if rows.flaws is None else rows.flaws == LOST
        laid = Frames(rows, rows.values, lost, rows.begins, rows.clock, self.next_frame)
        if self.fit is not None:
            if rows.begins.any():
                row = int(np.flatnonzero(rows.begins)[-1])
                self._anchor = Anchor(0, float(rows.clock[row]), self.next_frame + row)
            self._keep(rows)
        self.next_frame += rows.clock.size
        return laid

    def _keep(self, rows: Rows) -> None:
        self._last_clock = float(rows.clock[-1])
        self._last_is_lost = rows.flaws is not None and bool(rows.flaws[-1] == LOST)
        # A value that is lost is of no use to anybody, and it may depend on chunks.
        self._last_values[0] = 0.0 if self._last_is_lost else rows.values[-1]

    def _interpolated(self, rows: Rows, ends: bool) -> Frames:
        """The frames up to the last row, from the polyline through the rows of each piece."""
        n_rows, first_frame = rows.clock.size, self.next_frame
        inner = (np.flatnonzero(rows.begins[1:]) + 1).tolist()
        pieces: list[tuple[int, int, Anchor, int, int]] = []
        for start, stop in pairwise([0, *inner, n_rows]):
            begun = Anchor(start, float(rows.clock[start]), self.next_frame)
            self._anchor = begun if rows.begins[start] else self._anchor._replace(row=start)
            reach = float(rows.clock[stop - 1]) - self._anchor.clock
            last = round(reach) if stop < n_rows or ends else math.floor(reach)
            past = max(self.next_frame, self._anchor.frame + last + 1)
            pieces.append((start, stop, self._anchor, self.next_frame, past))
            self.next_frame = past
        n_frames = self.next_frame - first_frame
        values, clock = np.empty((n_frames, rows.values.shape[1]), np.float32), np.empty(n_frames)
        lost, begins = np.zeros(n_frames, np.bool_), np.zeros(n_frames, np.bool_)
        for start, stop, anchor, first, past in pieces:
            here = slice(first - first_frame, past - first_frame)
            knots, known = rows.clock[start:stop], rows.values[start:stop]
            is_lost = np.zeros(stop - start, np.bool_) if rows.flaws is None else rows.flaws[start:stop] == LOST
            if rows.begins[start]:
                begins[here.start] = True
            elif self._last_clock is not None:
                knots, known = np.append(self._last_clock, knots), np.concatenate([self._last_values, known])
                is_lost = np.append(self._last_is_lost, is_lost)
            frames = np.arange(first - anchor.frame, past - anchor.frame, dtype=np.float64)
            np.add(frames, anchor.clock, out=clock[here])
            for c in range(values.shape[1]):
                values[here, c] = np.interp(frames, knots - anchor.clock, known[:, c])
            if is_lost.any():  # a frame beside a lost row is lost
                lost[here] = np.interp(frames, knots - anchor.clock, is_lost) > 0
        self._keep(rows)
        anchors = tuple(anchor for _, _, anchor, _, _ in pieces)
        return Frames(rows, values, lost if lost.any() else None, begins, clock, first_frame, anchors)

    def _closed(self) -> list[Frames]:
        """The open piece ends: on the grid, its last frame is the one nearest to its last row."""
        clock, self._last_clock = self._last_clock, None
        if clock is None or self.rows_are_frames:
            return []
        past = self._anchor.frame + round(clock - self._anchor.clock) + 1
        n_frames = past - self.next_frame
        if n_frames <= 0:
            return []
        laid = Frames(
            Rows.none(self._last_values.shape[1]),
            np.repeat(self._last_values, n_frames, axis=0),
            np.full(n_frames, self._last_is_lost),
            np.zeros(n_frames, np.bool_),
            self._anchor.clock + np.arange(self.next_frame, past, dtype=np.float64) - self._anchor.frame,
            self.next_frame,
            (self._anchor._replace(row=0),),
        )
        self.next_frame = past
        return [laid]

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Where the grid stands, exactly."""
        fit = None if self.fit is None else [*self.fit[:2], *(x if math.isfinite(x) else None for x in self.fit[2:])]
        plain = {
            "next_frame": self.next_frame,
            "rows_are_frames": self.rows_are_frames,
            "fit": fit,
            "anchor": list(self._anchor[1:]),
            "last": [self._last_clock, self._last_is_lost],
        }
        return {"last_values": self._last_values.copy()}, plain

    def load(self, tensors: Tensors, plain: Mapping[str, Any]) -> None:
        """Go on from this state."""
        self.next_frame, self.rows_are_frames = plain["next_frame"], plain["rows_are_frames"]
        self.fit = None
        if plain["fit"] is not None:
            steps, places, earliest, latest = plain["fit"]
            self.fit = FrameFit(steps, places, *((math.inf, -math.inf) if earliest is None else (earliest, latest)))
        self._anchor = Anchor(0, *plain["anchor"])
        self._last_clock, self._last_is_lost = plain["last"]
        self._last_values = np.array(tensors["last_values"], np.float32)


def steps_within(clock: Floats, begins: Flags, last_clock: float | None) -> Floats:
    """Frames from the row before to each row; 1, which says nothing, where a piece begins."""
    steps = np.diff(clock, prepend=clock[0] - 1 if last_clock is None else last_clock)
    steps[begins] = 1.0
    return steps


@dataclass(frozen=True, eq=False)
class FrameClock:
    """Which frame a second of the recording's own clock falls on: straight lines between known places.

    Before the first and after the last of these the clock runs at `rate`. Where a recording has a gap, the frame after
    it stands twice: at the end of what came before, and where the clock goes on. `start_s` is what the clock shows at
    the first frame, from which other programs count.
    """

    seconds: NDArray[np.float64]
    frames: NDArray[np.float64]
    rate: float
    start_s: float = 0.0

    @classmethod
    def from_rate(cls, rate: float, start_s: float = 0.0) -> FrameClock:
        return cls(np.array([start_s]), np.zeros(1), rate, start_s)

    def frames_at(self, seconds: ArrayLike) -> Ints:
        """The frame boundary nearest to each reading of the recording's own clock."""
        at = np.asarray(seconds, dtype=np.float64)
        frames = np.interp(at, self.seconds, self.frames)
        before, after = at < self.seconds[0], at > self.seconds[-1]
        frames = np.where(before, self.frames[0] + (at - self.seconds[0]) * self.rate, frames)
        frames = np.where(after, self.frames[-1] + (at - self.seconds[-1]) * self.rate, frames)
        return np.rint(frames).astype(np.int64)

    def seconds_at(self, frames: ArrayLike) -> NDArray[np.float64]:
        """What the clock shows at frames; where a gap ends, what it shows after the gap."""
        at = np.asarray(frames, dtype=np.float64)
        known, last = np.unique(self.frames[::-1], return_index=True)
        seconds = self.seconds[::-1][last]
        found = np.interp(at, known, seconds)
        found = np.where(at < known[0], seconds[0] + (at - known[0]) / self.rate, found)
        return np.where(at > known[-1], seconds[-1] + (at - known[-1]) / self.rate, found)
