"""Speed of Viterbi smoothing, beside the textbook recursion in which every entry looks at every other.

    OMP_NUM_THREADS=1 python benchmarks/bench_viterbi.py

Wanted: 14,000 windows x 30 entries in under 50 ms on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rondo.units.viterbi import smooth

SIZES = ((14_000, 30, 0.0), (14_000, 30, 1.0), (14_000, 30, 10.0), (1_000, 8, 1.0))


def textbook(costs: NDArray[np.float64], penalty: float) -> NDArray[np.int64]:
    """O(n_windows * n_entries^2), vectorised over pairs of entries."""
    n_windows, n_entries = costs.shape
    change = penalty * (1 - np.eye(n_entries))
    total = costs[0].copy()
    came_from = np.empty((n_windows, n_entries), dtype=np.int64)
    for t in range(1, n_windows):
        through = total[:, None] + change
        came_from[t] = through.argmin(axis=0)
        total = through.min(axis=0) + costs[t]
    path = np.empty(n_windows, dtype=np.int64)
    path[-1] = total.argmin()
    for t in range(n_windows - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path


def milliseconds(action: Callable[[], object], n_runs: int) -> float:
    took = []
    for _ in range(n_runs):
        start = time.perf_counter()
        action()
        took.append(time.perf_counter() - start)
    return 1e3 * min(took)


def main() -> None:
    rng = np.random.default_rng(0)
    print(" windows  entries  penalty      ours   textbook   textbook / ours")
    for n_windows, n_entries, penalty in SIZES:
        costs = rng.random((n_windows, n_entries))
        if not np.array_equal(smooth(costs, penalty), textbook(costs, penalty)):
            raise SystemExit("the two paths differ")
        ours = milliseconds(lambda c=costs, p=penalty: smooth(c, p), n_runs=9)
        plain = milliseconds(lambda c=costs, p=penalty: textbook(c, p), n_runs=3)
        print(f"{n_windows:>8,} {n_entries:>8} {penalty:>8} {ours:>6.1f} ms {plain:>7.1f} ms {plain / ours:>14.1f} x")


if __name__ == "__main__":
    main()
