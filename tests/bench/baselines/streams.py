"""Streams of points for the tests of DenStream and DBSTREAM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo_bench.baselines.micro_clusters import StreamClusters


class Learner(Protocol):
    def initialise(self, points: Sequence[Sequence[float]]) -> list[int]: ...

    def learn_one(self, point: Sequence[float]) -> int: ...


def heaps(seed: int, n_points: int = 60, n_dims: int = 2, n_heaps: int = 3, spread: float = 0.6) -> NDArray[np.float64]:
    """Heaps of points, ten in a row from one of them."""
    rng = np.random.default_rng(seed)
    which = rng.integers(n_heaps, size=n_points // 10 + 1).repeat(10)[:n_points]
    return 3 * rng.normal(size=(n_heaps, n_dims))[which] + spread * rng.normal(size=(n_points, n_dims))


STREAMS = st.builds(
    heaps,
    seed=st.integers(0, 10_000),
    n_dims=st.integers(1, 3),
    n_heaps=st.integers(1, 4),
    spread=st.sampled_from([0.3, 0.6, 1.2]),
)
RADII = st.floats(0.3, 2.0)
HALF_LIVES = st.integers(3, 60)
N_INITIAL = st.sampled_from([0, 1, 12, 25])


def labels_of(clusters: StreamClusters, points: NDArray[np.float64], n_initial: int = 0) -> list[int]:
    first = clusters.initialise(points[:n_initial]).tolist() if n_initial else []
    return [*first, *(clusters.learn_one(point) for point in points[n_initial:])]


def naive_labels(learner: Learner, points: NDArray[np.float64], n_initial: int = 0) -> list[int]:
    rows = points.tolist()
    first = learner.initialise(rows[:n_initial]) if n_initial else []
    return [*first, *(learner.learn_one(row) for row in rows[n_initial:])]
