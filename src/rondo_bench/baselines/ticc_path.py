"""The cheapest path through few states and many windows: blocks of windows side by side instead of one after another.

The problem is that of `rondo.units.viterbi`, whose recursion takes one step after another:

    total[t, k] = cost[t, k] + min(total[t-1, k], min_j total[t-1, j] + penalty)

TICC solves it a hundred times for every frame of a recording. Here a recording is cut into about √n_windows blocks. A
first pass runs through all blocks at once and finds what each costs from every state before it to every state at its
end; a short chain over the blocks then gives the totals before each; a second pass, again through all at once, gives
the totals within. That is n_states times the arithmetic in √n_windows steps instead of n_windows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.units.viterbi import bytes_of, runs_back, smooth

_FEWEST_WINDOWS = 1000  # with fewer, one step after another is as quick
_MOST_STATES = 24  # with more, the arithmetic outweighs what fewer steps save

Path = NDArray[np.int64]  # a state for each window
_Totals = NDArray[np.float64]


def cheapest_path(costs: NDArray[np.float64], penalty: float) -> Path:
    """Column of each row of `costs` (n_windows, n_states) on the cheapest path when each change costs `penalty`.

    >>> cheapest_path(np.array([[0.0, 9.0], [1.0, 0.9], [0.0, 9.0]]), penalty=1.0).tolist()
    [0, 0, 0]
    """
    if len(costs) < _FEWEST_WINDOWS or not 1 < costs.shape[1] <= _MOST_STATES:
        return smooth(costs, penalty)
    return cheapest_path_in_blocks(costs, penalty, round(len(costs) ** 0.5))


def cheapest_path_in_blocks(costs: NDArray[np.float64], penalty: float, block_length: int) -> Path:
    """The same in blocks of this many windows."""
    n_windows, n_states = costs.shape
    n_blocks = -(-n_windows // block_length)
    padded = np.zeros((n_blocks * block_length, n_states))
    padded[:n_windows] = costs
    steps = np.ascontiguousarray(padded.reshape(n_blocks, block_length, n_states).transpose(1, 2, 0))
    totals = _totals_within(steps, _totals_before(steps, penalty), penalty)
    in_time = totals.transpose(1, 2, 0).reshape(n_states, -1)[:, :n_windows]
    return _traced_back(in_time, penalty)


def _totals_before(steps: _Totals, penalty: float) -> _Totals:
    """Least cost of each state before each block, (n_states, n_blocks); costs: (block_length, n_states, n_blocks)."""
    _, n_states, n_blocks = steps.shape
    through = np.full((n_states, n_states, n_blocks), np.inf)  # to each state at the end, from each before the block
    through[np.arange(n_states), np.arange(n_states)] = 0.0
    for costs in steps:
        np.minimum(through, through.min(axis=0) + penalty, out=through)
        through += costs[:, None]
    before = np.zeros((n_states, n_blocks))
    for block in range(1, n_blocks):
        before[:, block] = (through[:, :, block - 1] + before[:, block - 1]).min(axis=1)
    return before


def _totals_within(steps: _Totals, before: _Totals, penalty: float) -> _Totals:
    """Least cost of reaching each window in each state, (block_length, n_states, n_blocks)."""
    totals = np.empty_like(steps)
    reached = before
    for costs, row in zip(steps, totals, strict=True):
        np.minimum(reached, reached.min(axis=0) + penalty, out=row)
        row += costs
        reached = row
    return totals


def _traced_back(totals: _Totals, penalty: float) -> Path:
    """The path, run by run from its end, from totals (n_states, n_windows)."""
    left = bytes_of(totals > totals.min(axis=0) + penalty)
    path = np.empty(totals.shape[1], dtype=np.int64)
    for start, stop, state in runs_back(left, totals.argmin(axis=0), path.size):
        path[start:stop] = state
    return path
