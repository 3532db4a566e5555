from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo_bench.baselines.denstream import DenStreamClusters, DenStreamConfig, tidy_interval
from tests.bench.baselines.streams import (
    HALF_LIVES,
    N_INITIAL,
    RADII,
    STREAMS,
    faded_count,
    heaps,
    labels_of,
    naive_labels,
    rotated,
)
from tests.naive_denstream import NaiveDenStream


def empty(
    n_dims: int, radius: float = 1.0, half_life: int = 50, core: float = 4, share: float = 0.5, capacity: int = 200
) -> DenStreamClusters:
    config = DenStreamConfig(core_weight=core, potential_share=share, capacity=capacity)
    return DenStreamClusters(n_dims, radius, half_life, config)


def state(clusters: DenStreamClusters) -> list[NDArray[np.generic]]:
    n = clusters.n_rows
    return [clusters.centres[:n], clusters.radii[:n], clusters.potential[:n], clusters.clusters[:n]]


# ---------------------------------------------------------------- the slow twin


@given(STREAMS, RADII, HALF_LIVES, N_INITIAL, st.sampled_from([(4.0, 0.5), (10.0, 0.2), (2.0, 0.75), (1.0, 1.0)]))
@settings(max_examples=60, deadline=None)
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


# ---------------------------------------------------------------- weights, radii, time


@pytest.mark.parametrize("n_dims", [1, 32, 128])
def test_the_radius_is_the_root_of_the_total_variance_wherever_the_centre_lies(n_dims: int) -> None:
    points = np.random.default_rng(0).normal(size=(200, n_dims)) + 1e4
    clusters = empty(n_dims, radius=100.0, half_life=10**9)
    for point in points:
        clusters.learn_one(point)
    assert clusters.n_rows == 1
    npt.assert_allclose(clusters.radii[0], np.sqrt(points.var(axis=0).sum()), rtol=1e-6)


@given(st.integers(1, 200), st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_equal_points_are_one_micro_cluster_of_radius_0_and_faded_weight(n_points: int, half_life: int) -> None:
    point = np.array([0.1, -7.3, 1e3])
    clusters = empty(3, radius=0.0, half_life=half_life, core=1, share=1)
    assert labels_of(clusters, np.tile(point, (n_points, 1))) == [0] * n_points
    npt.assert_array_equal(clusters.centres[:1], point[None, :])
    assert clusters.n_rows == 1
    assert clusters.radii[0] == 0
    npt.assert_allclose(clusters.weights[0], faded_count(n_points, half_life) * 2 ** (-1 / half_life) * clusters.unit)


def test_the_initial_points_count_in_full_and_fade_from_then_on() -> None:
    clusters = empty(1, half_life=10)
    assert clusters.initialise(np.zeros((20, 1))).tolist() == [0] * 20
    clusters.learn_one(np.array([50.0]))
    npt.assert_allclose(clusters.faded_weights, [20 * 2 ** (-2 / 10), 2 ** (-1 / 10)])


def test_the_tidy_interval_is_that_in_which_a_point_makes_up_for_the_fading() -> None:
    for potential_weight, half_life in ((2.0, 7), (1.5, 100), (7.5, 1000)):
        interval = tidy_interval(potential_weight, half_life)
        left = [potential_weight * 2 ** (-age / half_life) + 1 for age in (interval - 1, interval)]
        assert left[1] <= potential_weight < left[0] or np.isclose(left[1], potential_weight)
    assert tidy_interval(0.5, 10) == 0


def test_what_nobody_feeds_goes_at_the_next_tidying() -> None:
    clusters = empty(1, half_life=10, core=4, share=0.5)  # tidied at times 10, 20, …
    for _ in range(3):
        clusters.learn_one(np.zeros(1))
    assert clusters.potential[0]
    serials = []
    for _ in range(40):
        clusters.learn_one(np.full(1, 9.0))
        serials.append(clusters.serials[: clusters.n_rows].tolist())
    assert serials[6] == [0, 1]  # time 9
    assert serials[7] == [1]
    assert serials[-1] == [1]


def test_a_micro_cluster_that_is_born_when_it_is_time_to_tidy_stays() -> None:
    for half_life in range(1, 60):
        clusters = empty(1, half_life=half_life, core=2, share=0.75)
        clusters.learn_one(np.zeros(1))
        while clusters.time % clusters.tidy_every:
            clusters.learn_one(np.zeros(1))
        clusters.learn_one(np.full(1, 9.0))
        assert 9.0 in clusters.centres[: clusters.n_rows], half_life


# ---------------------------------------------------------------- clusters


def test_a_chain_of_overlapping_micro_clusters_is_one_cluster() -> None:
    clusters = empty(1, radius=0.5)
    for place in (0.0, 0.8, 1.6, 2.4, 3.3, 4.1):
        clusters._found_one(np.full(1, place), weight=10.0, scatter=10 * 0.42**2)
    clusters._refresh()
    assert clusters.clusters[:6].tolist() == [0, 0, 0, 0, 1, 1]  # 0.9 is more than both radii


def test_micro_clusters_that_are_near_but_do_not_overlap_stay_apart() -> None:
    two = np.repeat([0.0, 1.5], 10)[:, None] + np.tile([0.0, 0.1], 10)[:, None]
    assert set(empty(1, radius=1.0).initialise(two).tolist()) == {0, 1}


def test_a_new_heap_is_noise_until_it_weighs_enough_and_then_a_new_cluster() -> None:
    clusters = empty(1, half_life=1000, core=4)
    clusters.initialise(np.zeros((10, 1)))
    labels = [clusters.learn_one(np.full(1, 9.0)) for _ in range(8)]
    assert labels == [OTHER] * 4 + [1] * 4  # weight 4 - a little after four points
    assert clusters.learn_one(np.zeros(1)) == 0


@given(STREAMS, st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_translation_and_rotation_do_not_matter(points: NDArray[np.float64], seed: int) -> None:
    n_dims = points.shape[1]
    labels = labels_of(empty(n_dims), points, 15)
    assert labels_of(empty(n_dims), points + 37.0, 15) == labels
    assert labels_of(empty(n_dims), rotated(points, seed), 15) == labels
    assert labels_of(empty(n_dims, radius=4.0), points * 4, 15) == labels


@given(STREAMS, st.integers(1, 12), N_INITIAL)
@settings(max_examples=20, deadline=None)
def test_the_tables_are_never_overfull_and_ids_never_come_again(
    points: NDArray[np.float64], capacity: int, n_initial: int
) -> None:
    clusters = empty(points.shape[1], radius=0.4, capacity=capacity)
    labels = labels_of(clusters, points, n_initial)
    assert clusters.n_rows <= capacity
    assert (clusters.faded_weights > 0).all()
    assert max(labels) < clusters.n_clusters
    assert len(set(clusters.serials[: clusters.n_rows].tolist())) == clusters.n_rows


def test_the_caller_keeps_its_points() -> None:
    points = heaps(0)
    before = points.copy()
    clusters = empty(2)
    labels_of(clusters, points, 20)
    npt.assert_array_equal(points, before)
    assert not np.shares_memory(clusters.centres, points)
