"""FrameClock: which frame a second falls on, and what the clock of a recording shows at a frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.arrays import Ints


@dataclass(frozen=True, eq=False)
class FrameClock:
    """Frame numbers known at some `seconds` (of the recording's own clock), straight lines between them.

    Before the first and after the last known place the clock runs at `rate`. Where a recording has a gap, the frame
    after it stands twice: at the end of what came before, and where the clock goes on. `start_s` is what the clock
    shows at the first frame, from which other programs count.

    >>> clock = FrameClock.from_rate(50)
    >>> clock.frames_at([0.0, 0.5, 0.509, 2.0]).tolist()
    [0, 25, 25, 100]
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
        """What the clock shows at frames; where a gap ends, what it shows after the gap.

        >>> FrameClock.from_rate(50, 10.0).seconds_at([0, 25]).tolist()
        [10.0, 10.5]
        """
        at = np.asarray(frames, dtype=np.float64)
        known, last = np.unique(self.frames[::-1], return_index=True)
        seconds = self.seconds[::-1][last]
        found = np.interp(at, known, seconds)
        found = np.where(at < known[0], seconds[0] + (at - known[0]) / self.rate, found)
        return np.where(at > known[-1], seconds[-1] + (at - known[-1]) / self.rate, found)
