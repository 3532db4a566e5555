from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from rondo.arrays import Floats, Ints
from rondo.units import kmeans as module
from rondo.units.kmeans import weighted_kmeans


def of_scikit_learn(points: Floats, weights: Floats, n_clusters: int, seed: int) -> Ints:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = KMeans(n_clusters, n_init=1, random_state=seed).fit(points, sample_weight=weights)
    return np.asarray(fitted.labels_)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 6), st.integers(30, 400))
def test_clusters_are_those_of_scikit_learn(seed: int, n_clusters: int, n_dims: int, n_points: int) -> None:
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=3.0, size=(5, n_dims))
    points = centres[rng.integers(5, size=n_points)] + rng.normal(size=(n_points, n_dims)) + 10.0
    weights = rng.uniform(size=n_points) * (rng.uniform(size=n_points) < 0.9)
    clusters = weighted_kmeans(points, weights, n_clusters, np.random.RandomState(seed))
    np.testing.assert_array_equal(clusters, of_scikit_learn(points, weights, n_clusters, seed))


@pytest.mark.parametrize("n_clusters", [2, 9, 40])
def test_the_first_centres_are_those_of_scikit_learn(n_clusters: int) -> None:
    rng = np.random.default_rng(n_clusters)
    points, weights = rng.normal(size=(500, 4)), rng.uniform(size=500)
    centres = module._first_centres(points, weights, n_clusters, np.random.RandomState(3))
    expected, _ = kmeans_plusplus(points, n_clusters, sample_weight=weights, random_state=3)
    np.testing.assert_array_equal(centres, expected)


@pytest.mark.parametrize("seed", range(8))
def test_points_that_are_nearest_to_each_other_are_drawn_as_in_scikit_learn(seed: int) -> None:
    """Of two such points of the same weight, either leaves the same distance: rounding decides."""
    points = np.random.default_rng(seed).normal(size=(14, 1)) ** 3
    clusters = weighted_kmeans(points, np.ones(14), 6, np.random.RandomState(seed))
    np.testing.assert_array_equal(clusters, of_scikit_learn(points, np.ones(14), 6, seed))


@pytest.mark.parametrize("seed", range(4))
def test_an_empty_cluster_moves_to_a_far_point_as_in_scikit_learn(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(60, 2)), rng.uniform(0.1, 1.0, size=60)
    points -= points.mean(axis=0)
    centres = np.concatenate([points[:4], [[50.0, 50.0], [-70.0, 9.0]]])  # two that are nearest to no point
    expected = KMeans(6, init=centres, n_init=1).fit(points, sample_weight=weights).labels_
    monkeypatch.setattr(module, "_first_centres", lambda *_: centres)
    np.testing.assert_array_equal(weighted_kmeans(points, weights, 6, np.random.RandomState(0)), expected)
    assert np.unique(expected).size == 6


def test_the_mean_of_each_cluster_by_hand() -> None:
    points = np.array([[0.0], [2.0], [10.0], [11.0], [50.0]])
    moved = module._moved(points, np.array([1.0, 3.0, 1.0, 1.0, 1.0]), np.array([0, 0, 1, 1, 1]), np.zeros((3, 1)))
    assert moved[:, 0].tolist() == [1.5, 10.5, 50.0]  # the third cluster is empty, and 50 is farthest from its centre


def test_two_far_clouds_are_told_apart() -> None:
    points = np.concatenate([np.random.default_rng(0).normal(size=(40, 2)) + level for level in (0.0, 100.0)])
    clusters = weighted_kmeans(points, np.ones(80), 2, np.random.RandomState(0))
    assert adjusted_rand_score(np.arange(80) < 40, clusters) == 1.0
