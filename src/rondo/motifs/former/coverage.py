"""Coverage: which windows motifs have claimed, and how much of a candidate lies in them (paper, app. MotifFormer).

    rho(q) = |I(q) ∩ C| / |I(q)|,   w(q) = 1 - rho(q)

with I(q) the windows of candidate q and C the claimed windows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Coverage:
    """The claimed windows of the joined window axis.

    >>> coverage = Coverage.none(n_windows=6).claim(np.array([1]), length=3)
    >>> coverage.claimed.astype(int).tolist()
    [0, 1, 1, 1, 0, 0]
    >>> coverage.ratio(np.array([0, 1, 4]), length=2).tolist()
    [0.5, 1.0, 0.0]
    """

    claimed: NDArray[np.bool_]  # (n_windows,)

    @classmethod
    def none(cls, n_windows: int) -> Coverage:
        """Nothing claimed yet."""
        return cls(np.zeros(n_windows, dtype=np.bool_))

    def ratio(self, starts: NDArray[np.int64], length: int) -> NDArray[np.float64]:
        """rho of the candidates [start, start + length), (n_candidates,)."""
        before = np.concatenate([[0], np.cumsum(self.claimed)])  # claimed windows before each window
        return np.asarray((before[starts + length] - before[starts]) / length, dtype=np.float64)

    def claim(self, starts: NDArray[np.int64], length: int) -> Coverage:
        """The coverage once the candidates [start, start + length) have claimed their windows too."""
        n_windows = self.claimed.size
        opened = np.bincount(starts, minlength=n_windows + 1)
        closed = np.bincount(starts + length, minlength=n_windows + 1)
        return Coverage(self.claimed | (np.cumsum(opened - closed)[:n_windows] > 0))
