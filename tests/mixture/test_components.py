"""The start by k-means, what a window counts, and what a component accepts."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

from rondo.arrays import Floats, Ints
from rondo.config.settings import AcceptanceConfig, MixtureConfig
from rondo.paper import deep_dpm
from rondo.registry import MIXTURES
from rondo.units import kmeans as module
from rondo.units.kmeans import weighted_kmeans
from rondo.units.mixture import acceptance_of, fit_mixture


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


def blobs(seed: int, n_each: int, centres: list[tuple[float, float]]) -> Floats:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(centre, 0.3, size=(n_each, 2)) for centre in centres])


def fitted(latents: Floats, kind: str, window_weight: float) -> int:
    config = MixtureConfig(kind=kind, component_cap=12)
    fit = MIXTURES[kind].fit
    return int(fit(latents, config, np.random.default_rng(0), window_weight, "cpu", None).n_components)


def test_a_window_of_half_weight_beside_its_copy_is_one_window() -> None:
    """k-means starts from other rows where there are more of them, so from one component both start the same."""
    latents = blobs(0, 40, [(0, 0), (4, 0), (0, 5)])
    config = MixtureConfig(component_cap=1)
    once = fit_mixture(latents, config, np.random.default_rng(0))
    twice = fit_mixture(np.repeat(latents, 2, axis=0), config, np.random.default_rng(0), 0.5)
    npt.assert_allclose(twice.means, once.means, atol=1e-9)
    npt.assert_allclose(twice.log_joint(latents), once.log_joint(latents), rtol=1e-9)
    assert twice.bound == pytest.approx(once.bound)


@pytest.mark.parametrize("kind", ["dp_gaussian", "deep_dpm"])
def test_clear_components_are_found_whatever_a_window_is_worth(kind: str) -> None:
    latents = blobs(1, 120, [(0, 0), (4, 0), (0, 5)])
    assert fitted(latents, kind, 1.0) == fitted(latents, kind, 0.3) == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")  # what has no components does not settle
@pytest.mark.parametrize("kind", ["dp_gaussian", "deep_dpm"])
def test_overlapping_windows_counted_as_independent_fragment(kind: str) -> None:
    """A slow walk has no components; the more its windows count, the more pieces it seems to have."""
    n_found = {0.3: 0, 1.0: 0}
    for seed in range(3):
        steps = np.random.default_rng(seed).normal(size=(600, 2))
        walk = np.cumsum(steps, axis=0) - np.linspace(0, 1, 600)[:, None] * steps.sum(axis=0)
        for window_weight in n_found:
            n_found[window_weight] += fitted(walk, kind, window_weight)
    assert n_found[0.3] < n_found[1.0]


@pytest.mark.parametrize(("window_weight", "splits"), [(1.0, True), (0.5, False)])
def test_proposals_of_deep_dpm_count_windows_by_their_weight(window_weight: float, splits: bool) -> None:
    """A gap that 60 observations show, 30 do not."""
    latents = np.concatenate([np.linspace(-1.6, -0.2, 30), np.linspace(0.2, 1.6, 30)])[:, None]
    space = deep_dpm._space_of(latents, "full", window_weight, "cpu")
    whole = deep_dpm._started(space.points, torch.ones(60, 1, dtype=torch.float64))
    change = deep_dpm._proposed(space, whole, MixtureConfig(), np.random.default_rng(0), n_rounds=0)
    assert (change is not None) == splits


_members = st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1)), min_size=1, max_size=30)


def columns(members: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    distances, posteriors = np.array(members).T
    return distances, posteriors


def quantile(values: list[float], share: float) -> float:
    """Linear between the order statistics, by hand."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


@settings(max_examples=100, deadline=None)
@given(_members)
def test_radius_and_floor_are_the_papers_quantiles(members: list[tuple[float, float]]) -> None:
    radius, floor = acceptance_of(*columns(members), AcceptanceConfig())
    assert radius == pytest.approx(max(quantile([d for d, _ in members], 0.95), 1e-9))
    assert floor == pytest.approx(quantile([p for _, p in members], 0.05))


def test_coincident_members_leave_a_radius_to_divide_by() -> None:
    assert acceptance_of(np.zeros(5), np.ones(5), AcceptanceConfig()) == (pytest.approx(1e-9), 1.0)
