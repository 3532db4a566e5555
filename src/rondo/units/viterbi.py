"""Viterbi smoothing: the cheapest labelling when each change of label costs the same penalty.

    minimise  sum_t cost[t, u_t] + penalty * #{t : u_t != u_{t-1}}
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def smooth(costs: NDArray[np.floating], penalty: float) -> NDArray[np.int64]:
    """Column of each row of `costs` (n_windows, n_entries) on the cheapest path.

    >>> smooth(np.array([[0.0, 9.0], [1.0, 0.9], [0.0, 9.0]]), penalty=1.0).tolist()
    [0, 0, 0]
    """
    n_windows, n_entries = costs.shape
    if n_windows == 0 or n_entries == 1:
        return np.zeros(n_windows, dtype=np.int64)
    # With one penalty for all changes the best predecessor is either the same entry or the cheapest one,
    # so a step costs n_entries, not its square.
    stays = np.empty((n_windows, n_entries), dtype=np.bool_)
    best_before = np.empty(n_windows, dtype=np.int64)
    total = costs[0].astype(np.float64)
    for t in range(1, n_windows):
        best = int(total.argmin())
        switch = total[best] + penalty
        best_before[t] = best
        np.less_equal(total, switch, out=stays[t])
        total = np.minimum(total, switch) + costs[t]
    path = np.empty(n_windows, dtype=np.int64)
    path[-1] = total.argmin()
    for t in range(n_windows - 1, 0, -1):
        path[t - 1] = path[t] if stays[t, path[t]] else best_before[t]
    return path
