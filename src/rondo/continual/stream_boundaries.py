"""Cuts: the frame at which one unit ends and the next begins, found in the signal while the stream learns.

Windows tell that two units meet, not where (`units/boundaries.py`). When the first window of a new run is decided, its
own blocks are at hand: the cut is put at the likeliest of their edges, by the alignment of `Boundaries`. Units that the
model was fitted with have their Gaussians from there. Units promoted since, and OTHER, have none: there the cut is half
way between the middles of the two windows. A cut never lies before the last one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.continual.novelty import Floats
from rondo.units.boundaries import Boundaries, likeliest_edge, summed_up


class Cuts:
    """The last cut is the only thing that changes."""

    def __init__(self, boundaries: Boundaries | None, length_frames: int, step_frames: int) -> None:
        self.boundaries = boundaries  # None: always half way
        self.codes = {} if boundaries is None else {id: code for code, id in enumerate(boundaries.unit_ids)}
        self.to_middle = (length_frames - step_frames + 1) // 2
        self.last = 0

    def blocks(self, window: NDArray[np.float32]) -> Floats:
        """What a window (n_channels, length) must leave behind to be cut later, (n_blocks, n_dims)."""
        if self.boundaries is None:
            return np.zeros((0, 0))
        return self.boundaries.points(np.ascontiguousarray(window.T))

    def middle(self, start_frame: int) -> int:
        """The first frame that a window beginning at `start_frame` speaks for when its neighbours agree with it."""
        return max(self.last, start_frame + self.to_middle)

    def between(self, before: int, after: int, start_frame: int, blocks: Floats) -> int:
        """The first frame of unit `after`, whose first window begins at `start_frame`."""
        cut = start_frame + self.to_middle
        if self.boundaries is not None and before in self.codes and after in self.codes and len(blocks):
            summed = summed_up(self.boundaries.gaussians.log_joint(blocks))
            drawn = self.to_middle / self.boundaries.block_frames
            edge = likeliest_edge(summed, np.arange(len(summed)), self.codes[before], self.codes[after], drawn)
            cut = start_frame + edge * self.boundaries.block_frames
        self.last = max(self.last, cut)
        return self.last
