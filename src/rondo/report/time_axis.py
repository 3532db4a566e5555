"""The axis of time of a still picture: from frames to places on it, and round marks.

Where the clock runs on, places are its readings: seconds, or seconds since 1970. Where it jumps, as between two days,
places are frames, so that hours without data take no room; marks are still readings, part by part.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.data.frame_clock import FrameClock
from rondo.report.ticks import Counts, Ticks, ticks
from rondo.run.wall_clock import clock_of
from rondo.times import is_date

if TYPE_CHECKING:
    from rondo.result import Result
    from rondo.run.summary import RecordingSummary

_JUMP_FRAMES = 5.0  # from which on the clock jumps, as on the page


@dataclass(frozen=True)
class TimeAxis:
    """`counts` is what marks read; `jumps` are the frames at which the clock goes on after a gap."""

    counts: Counts
    clock: FrameClock | None
    jumps: NDArray[np.int64]

    @classmethod
    def of(cls, result: Result, about: RecordingSummary) -> TimeAxis:
        clock = clock_of(result, about.id)
        if clock is None:
            return FRAMES
        counts: Counts = "dates" if is_date(clock.start_s) else "seconds"
        jumps = _jumps(about)
        if jumps.size and about.clock is not None:  # the knots tell both sides of each gap
            frames, seconds = (np.array(part, np.float64) for part in (about.clock.frames, about.clock.seconds))
            clock = FrameClock(seconds, frames, clock.rate, float(seconds[0]))
        return cls(counts, clock, jumps)

    def at(self, frames: ArrayLike) -> NDArray[np.float64]:
        """Where frames lie."""
        if self.clock is None or self.jumps.size:
            return np.asarray(frames, np.float64)
        return self.clock.seconds_at(frames)

    def frame_after(self, seconds: float) -> int:
        """The frame at a time since the start of the recording."""
        if self.clock is None:
            raise ValueError("a recording without a clock has no seconds")
        return int(self.clock.frames_at(self.clock.start_s + seconds))

    def marks(self, start: int, end: int, most: int) -> Ticks:
        """Round readings between two frames, at their places."""
        if self.clock is None or not self.jumps.size:
            first, last = self.at(np.array([start, end])).tolist()
            return ticks(first, last, self.counts, most)
        edges = [start, *(int(frame) for frame in self.jumps if start < frame < end), end]
        parts = [self._part(a, b, most * (b - a) / (end - start)) for a, b in pairwise(edges)]
        at, words = [place for part in parts for place in part.at], [word for part in parts for word in part.words]
        return Ticks(at, words, parts[0].unit if self.counts == "seconds" else self._days(start, end))

    def _part(self, start: int, end: int, most: float) -> Ticks:
        """Marks of a stretch without a jump, at frames; a short one has no room for any."""
        assert self.clock is not None
        first = float(self.clock.seconds_at([start])[0])
        last = first + (end - start) / self.clock.rate
        found = ticks(first, last, self.counts, max(1, round(most)))
        if most < 0.7:
            return Ticks([], [], found.unit)
        places = [start + (end - start) * (second - first) / (last - first) for second in found.at]
        return Ticks(places, found.words, found.unit)

    def _days(self, start: int, end: int) -> str:
        assert self.clock is not None
        first, last = self.clock.seconds_at([start, end - 1]).tolist()
        return ticks(first, last, self.counts).unit


FRAMES = TimeAxis("frames", None, np.zeros(0, np.int64))
"""Of recordings without a clock."""


def _jumps(about: RecordingSummary) -> NDArray[np.int64]:
    if about.clock is None or about.rate is None:
        return np.zeros(0, np.int64)
    frames, seconds = np.array(about.clock.frames), np.array(about.clock.seconds)
    wide = (np.diff(frames) <= 2) & (np.diff(seconds) > _JUMP_FRAMES * np.diff(frames) / about.rate)
    return frames[1:][wide].astype(np.int64)
