"""Viterbi smoothing: the cheapest labelling when each change of label costs the same penalty.

    minimise  sum_t cost[t, u_t] + penalty * #{t : u_t != u_{t-1}}

With one penalty for all changes the best predecessor of an entry is either the same entry or the cheapest
one, so a step costs n_entries, not its square:

    total[t, k] = cost[t, k] + min(total[t-1, k], min_j total[t-1, j] + penalty)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 14  # windows whose running totals are held at once: 4 MB at 30 entries, whatever the recording


def smooth(costs: NDArray[np.floating], penalty: float) -> NDArray[np.int64]:
    """Column of each row of `costs` (n_windows, n_entries) on the cheapest path.

    Of paths that cost the same, one that stays longer wins, then the smaller column.

    >>> smooth(np.array([[0.0, 9.0], [1.0, 0.9], [0.0, 9.0]]), penalty=1.0).tolist()
    [0, 0, 0]
    """
    n_windows, n_entries = costs.shape
    if n_windows == 0 or n_entries == 1:
        return np.zeros(n_windows, dtype=np.int64)
    cheapest = np.empty(n_windows, dtype=np.int64)  # column of the least total at each window
    leaves = np.empty((n_entries, n_windows), dtype=np.bool_)  # is changing after it cheaper?
    before = np.zeros(n_entries)
    for first in range(0, n_windows, _BLOCK):
        totals = _running_totals(costs[first : first + _BLOCK], before, penalty)
        rows = slice(first, first + totals.shape[0])
        cheapest[rows] = totals.argmin(axis=1)
        leaves[:, rows] = (totals > totals.min(axis=1, keepdims=True) + penalty).T
        before = totals[-1]
    return _traced_back(leaves, cheapest)


def _running_totals(costs: NDArray[np.floating], before: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
    """Least cost of reaching each window in each column; only what must be sequential is done row by row."""
    totals = costs.astype(np.float64)
    reached, previous = np.empty(totals.shape[1]), before
    for row in totals:
        np.minimum(previous, previous[previous.argmin()] + penalty, out=reached)
        np.add(row, reached, out=row)
        previous = row
    return totals


def _traced_back(leaves: NDArray[np.bool_], cheapest: NDArray[np.int64]) -> NDArray[np.int64]:
    """The path, run by run from its end: each run has the column that is cheapest where the run ends."""
    left = [column.tobytes() for column in leaves]
    path = np.empty(cheapest.size, dtype=np.int64)
    stop = cheapest.size
    while stop > 0:
        k = cheapest[stop - 1]
        start = left[k].rfind(True, 0, stop - 1) + 1
        path[start:stop] = k
        stop = start
    return path
