from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo_bench.baselines.denstream import DenStreamClusters, DenStreamConfig
from tests.bench.baselines.streams import HALF_LIVES, N_INITIAL, RADII, STREAMS, labels_of, naive_labels
from tests.naive_denstream import NaiveDenStream


def empty(
    n_dims: int, radius: float = 1.0, half_life: int = 50, core: float = 4, share: float = 0.5, capacity: int = 200
) -> DenStreamClusters:
    config = DenStreamConfig(core_weight=core, potential_share=share, capacity=capacity)
    return DenStreamClusters(n_dims, radius, half_life, config)


def state(clusters: DenStreamClusters) -> list[NDArray[np.generic]]:
    n = clusters.n_rows
    return [clusters.centres[:n], clusters.radii[:n], clusters.potential[:n], clusters.clusters[:n]]


@given(STREAMS, RADII, HALF_LIVES, N_INITIAL, st.sampled_from([(4.0, 0.5), (10.0, 0.2), (2.0, 0.75), (1.0, 1.0)]))
def test_labels_and_micro_clusters_are_those_of_the_definitions(
    points: NDArray[np.float64], radius: float, half_life: int, n_initial: int, weights: tuple[float, float]
) -> None:
    core, share = weights
    clusters = empty(points.shape[1], radius, half_life, core, share)
    naive = NaiveDenStream(radius, half_life, core, core * share)
    assert labels_of(clusters, points, n_initial) == naive_labels(naive, points, n_initial)
    assert clusters.n_clusters == naive.n_clusters
    npt.assert_allclose(
        clusters.faded_weights, [micro.weight(naive.time, half_life) for micro in naive.micros], rtol=1e-9
    )
    centres, radii, potential, ids = state(clusters)
    assert len(naive.micros) > 0
    npt.assert_allclose(centres, [micro.centre(naive.time, half_life) for micro in naive.micros], atol=1e-9)
    npt.assert_allclose(radii, [micro.radius(naive.time, half_life) for micro in naive.micros], atol=1e-6)
    npt.assert_array_equal(potential, [micro.potential for micro in naive.micros])
    npt.assert_array_equal(ids, [micro.cluster for micro in naive.micros])


@pytest.mark.parametrize("n_dims", [1, 32, 128])
def test_the_radius_is_the_root_of_the_total_variance_wherever_the_centre_lies(n_dims: int) -> None:
    points = np.random.default_rng(0).normal(size=(200, n_dims)) + 1e4
    clusters = empty(n_dims, radius=100.0, half_life=10**9)
    for point in points:
        clusters.learn_one(point)
    assert clusters.n_rows == 1
    npt.assert_allclose(clusters.radii[0], np.sqrt(points.var(axis=0).sum()), rtol=1e-6)


@given(STREAMS, st.integers(1, 12), N_INITIAL)
@settings(max_examples=20)
def test_the_tables_are_never_overfull_and_ids_never_come_again(
    points: NDArray[np.float64], capacity: int, n_initial: int
) -> None:
    clusters = empty(points.shape[1], radius=0.4, capacity=capacity)
    labels = labels_of(clusters, points, n_initial)
    assert clusters.n_rows <= capacity
    assert (clusters.faded_weights > 0).all()
    assert max(labels) < clusters.n_clusters
    assert len(set(clusters.serials[: clusters.n_rows].tolist())) == clusters.n_rows
