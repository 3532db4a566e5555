"""Smoothing while the stream goes on: Viterbi with a fixed delay.

    minimise  sum_t cost[t, s_t] + penalty * #{t : s_t != s_{t-1}}

over all windows up to now; the state of the window `lag` windows ago is then read off the best path and never changes.
States may be added at any time. Only the last `lag` windows are kept.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.continual.point_sets import Floats


class Smoother:
    """The only state there is: the least cost of every state now, and where the last paths came from."""

    def __init__(self, n_states: int, penalty: float, lag: int) -> None:
        self.penalty = penalty
        self.has_begun = False
        self.lag = lag
        self.totals: Floats = np.zeros(n_states)
        self._states = np.arange(n_states)
        # Of each of the last windows: the state before, for every state.
        self.origins: deque[NDArray[np.int64]] = deque()

    def add_state(self) -> None:
        """One state more, the last; no path so far has been in it."""
        self.totals = np.append(self.totals, np.inf)
        self._states = np.arange(self.totals.size)

    def push(self, costs: Floats) -> int | None:
        """The costs of one window, one per state; gives the state of the window `lag` windows ago, if there is one."""
        cheapest = int(self.totals.argmin())
        changed = self.totals[cheapest] + (self.penalty if self.has_begun else 0.0)
        self.origins.append(np.where(self.totals <= changed, self._states, cheapest))
        self.totals = np.minimum(self.totals, changed)
        self.totals += costs
        self.totals -= self.totals.min()
        self.has_begun = True
        if len(self.origins) <= self.lag:
            return None
        state = self._state_before(len(self.origins) - 1)
        self.origins.popleft()
        return state

    def flush(self) -> list[int]:
        """The states of the windows that are still open, in order; then forget everything."""
        states = [self._state_before(back) for back in range(len(self.origins) - 1, -1, -1)]
        self.totals = np.zeros(self.totals.size)
        self.origins.clear()
        self.has_begun = False
        return states

    def _state_before(self, back: int) -> int:
        """The state `back` windows before the last one on the best path now."""
        state = int(self.totals.argmin())
        for origin in islice(reversed(self.origins), back):
            state = int(origin[state])
        return state

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly."""
        n_states = self.totals.size
        origins = [np.pad(own, (0, n_states - own.size)) for own in self.origins]  # states that came later have no path
        sizes = [own.size for own in self.origins]
        table = np.array(origins, np.int64).reshape(-1, n_states)
        tensors: dict[str, NDArray[np.generic]] = {"totals": np.nan_to_num(self.totals, posinf=-1.0), "origins": table}
        return tensors, {"penalty": self.penalty, "lag": self.lag, "sizes": sizes, "has_begun": self.has_begun}

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[np.generic]], plain: dict[str, Any]) -> Smoother:
        """The smoother that gave this state."""
        totals = np.asarray(tensors["totals"], np.float64)
        smoother = cls(totals.size, plain["penalty"], plain["lag"])
        smoother.totals = np.where(totals < 0, np.inf, totals)
        smoother.has_begun = plain["has_begun"]
        rows = np.asarray(tensors["origins"], np.int64)
        smoother.origins = deque(row[:size].copy() for row, size in zip(rows, plain["sizes"], strict=True))
        return smoother
