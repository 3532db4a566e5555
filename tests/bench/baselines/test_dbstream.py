from __future__ import annotations

import numpy as np
import numpy.testing as npt
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo_bench.baselines.dbstream import DBStreamClusters, DBStreamConfig
from tests.bench.baselines.streams import HALF_LIVES, N_INITIAL, RADII, STREAMS, labels_of, naive_labels
from tests.naive_dbstream import NaiveDBStream


def empty(
    n_dims: int, radius: float = 1.0, half_life: int = 50, least: float = 3, share: float = 0.1, capacity: int = 200
) -> DBStreamClusters:
    config = DBStreamConfig(minimum_weight=least, shared_share=share, capacity=capacity)
    return DBStreamClusters(n_dims, radius, half_life, config)


def faded_shared(clusters: DBStreamClusters) -> NDArray[np.float64]:
    return np.asarray(clusters.shared[: clusters.n_rows, : clusters.n_rows] / clusters.unit)


@given(STREAMS, RADII, HALF_LIVES, N_INITIAL, st.sampled_from([(3.0, 0.1), (1.0, 0.3), (2.5, 0.0)]))
def test_labels_micro_clusters_and_shared_densities_are_those_of_the_definitions(
    points: NDArray[np.float64], radius: float, half_life: int, n_initial: int, rules: tuple[float, float]
) -> None:
    least, share = rules
    clusters = empty(points.shape[1], radius, half_life, least, share)
    naive = NaiveDBStream(radius, half_life, least, share)
    assert labels_of(clusters, points, n_initial) == naive_labels(naive, points, n_initial)
    assert clusters.n_clusters == naive.n_clusters
    n, micros = clusters.n_rows, naive.micros
    npt.assert_allclose(clusters.faded_weights, [naive.weight(micro) for micro in micros], rtol=1e-9)
    npt.assert_allclose(clusters.centres[:n], [naive.centres[id(micro)] for micro in micros], atol=1e-9)
    npt.assert_array_equal(clusters.clusters[:n], [micro.cluster for micro in micros])
    pairs = [[naive.shared(one, other) for other in micros] for one in micros]
    npt.assert_allclose(faded_shared(clusters), pairs, rtol=1e-9)


# What river 0.26.1 (PyPI) gave for `drifting()`: DBSTREAM(clustering_threshold=1, fading_factor=1/20,
# cleanup_interval=20, intersection_factor=0.1, minimum_weight=3); centre and weight of each micro-cluster, and shared
# densities, all faded to time 300.
RIVER_MICRO_CLUSTERS = [
    (5.231492160, 0.684862409, 0.552786284),
    (5.803353167, -0.787950001, 1.532710048),
    (6.352472417, 0.319683082, 3.703390612),
    (7.225240059, -0.786742743, 7.391130557),
    (7.644062288, 0.615503523, 6.245920077),
    (8.369444460, -0.711285219, 8.699450618),
    (9.064213340, 0.671930529, 7.806305178),
    (9.427098562, -0.365715810, 7.154152838),
]
RIVER_SHARED = {
    (0, 1): 0.147013609,
    (0, 2): 0.253409068,
    (1, 2): 0.542901261,
    (1, 3): 0.937649419,
    (2, 3): 1.700967628,
    (2, 4): 2.270012019,
    (3, 4): 1.356794270,
    (3, 5): 3.407192234,
    (4, 5): 0.203063099,
    (4, 6): 0.969125597,
    (5, 6): 0.341510064,
    (5, 7): 2.302153528,
    (6, 7): 2.078701280,
}


def drifting() -> NDArray[np.float64]:
    time = np.arange(300)
    return np.column_stack([0.03 * time + 0.9 * np.sin(2.3 * time**2), 0.9 * np.cos(1.7 * time**2)])


def test_micro_clusters_are_those_of_river() -> None:
    clusters = empty(2, radius=1.0, half_life=20)
    labels_of(clusters, drifting())
    assert (clusters.n_founded, clusters.n_rows) == (15, 8)  # seven were too weak
    found = np.column_stack([clusters.centres[:8], clusters.faded_weights])
    npt.assert_allclose(found, RIVER_MICRO_CLUSTERS, atol=1e-8)
    shared = np.zeros((8, 8))
    for (one, other), density in RIVER_SHARED.items():
        shared[one, other] = shared[other, one] = density
    npt.assert_allclose(faded_shared(clusters), shared, atol=1e-8)
