"""Micro-clusters of rejected points: absorbed by prototype, forgotten, consolidated, bounded."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.paper.micro_clusters import MicroClusters, bootstrap_radius, coherent
from tests import naive_published as naive


@settings(max_examples=20)
@given(n=st.integers(4, 30), seed=st.integers(0, 1_000))
def test_the_radius_is_the_mean_p95_over_draws(n: int, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(n, 3))
    rng = np.random.default_rng(0)
    draws = [rng.integers(n, size=n).tolist() for _ in range(20)]
    assert bootstrap_radius(points) == pytest.approx(
        naive.bootstrap_radius(points, [d for d in draws if len(set(d)) > 1])
    )


def test_what_is_coherent_lies_around_its_own_mean() -> None:
    rng = np.random.default_rng(1)
    points = np.vstack([rng.normal(size=(20, 4)) * 0.1, 3 + rng.normal(size=(6, 4)) * 0.1])
    npt.assert_array_equal(coherent(points, 1.0), np.arange(26) < 20)
    assert coherent(points, 100.0).all()
    assert coherent(points, 0.0).sum() == 1  # nothing is near anything: the middle one is left


def test_points_are_absorbed_by_prototype_and_carried_numbers_are_no_distance() -> None:
    novel = MicroClusters(2, 1, radius=1.0, half_life=100.0, apart=5)
    first, _ = novel.add(np.array([0.0, 0.0, 7.0]), 0)
    same, _ = novel.add(np.array([0.8, 0.0, -900.0]), 1)
    assert same.id == first.id and same.support == pytest.approx(1 + 0.5**0.01)
    npt.assert_allclose(novel.prototypes[0], [0.4, 0.0, -446.5])
    other, _ = novel.add(np.array([1.5, 0.0, 7.0]), 2)  # within reach of a point, not of the prototype
    assert other.id != first.id and novel.n_points == 3


def test_regions_are_visits_and_support_decays_until_it_expires() -> None:
    novel = MicroClusters(1, 0, radius=1.0, half_life=10.0, apart=5)
    for window in (0, 1, 20, 21, 40):
        cluster, _ = novel.add(np.zeros(1), window)
    assert (cluster.regions, cluster.extent) == (3, 41)
    far, expired = novel.add(np.array([9.0]), 41)
    assert not expired and novel.supports(51)[1] == pytest.approx(0.5)
    _, expired = novel.add(np.array([-9.0]), 200)
    assert [gone.id for gone in expired] == [cluster.id, far.id] and len(novel.clusters) == 1


def test_consolidation_keeps_the_coherent_part_and_its_share_of_the_support() -> None:
    novel = MicroClusters(1, 0, radius=1.0, half_life=1e9, apart=5)
    for window, value in enumerate([0.0, 0.9, 1.4, 1.7, 1.8]):  # the prototype wanders with what comes
        novel.add(np.array([value]), window)
    assert len(novel.clusters) == 1
    kept = novel.consolidate(0)
    assert kept.support == pytest.approx(5 * 4 / 5) and len(novel.points(0)) == 4
    assert 0.0 not in novel.points(0) and novel.prototypes[0] == pytest.approx(1.45)


def test_memory_is_bounded() -> None:
    novel = MicroClusters(3, 2, radius=0.1, half_life=1e9, apart=5)
    rng = np.random.default_rng(2)
    for window in range(1_500):
        novel.add(rng.normal(size=5) * (1 if window % 2 else 0.01), window)
    tensors, _ = novel.state()
    assert len(novel.clusters) <= 64 and sum(tensor.nbytes for tensor in tensors.values()) < 64 * 48 * 5 * 8 * 1.5
    assert len({cluster.id for cluster in novel.clusters}) == len(novel.clusters)


def test_written_down_and_restored_it_is_the_same() -> None:
    rng = np.random.default_rng(3)
    points = rng.integers(4, size=(300, 1)) * 3 + rng.normal(size=(300, 4)) * 0.3
    novel = MicroClusters(3, 1, radius=0.6, half_life=50.0, apart=5)
    for window, point in enumerate(points[:150]):
        novel.add(point, window)
    tensors, plain = novel.state()
    copied: dict[str, Any] = {name: tensor.copy() for name, tensor in tensors.items()}
    other = MicroClusters.restore(copied, json.loads(json.dumps(plain)))
    for window, point in enumerate(points[150:], start=150):
        assert novel.add(point, window) == other.add(point, window)
    npt.assert_array_equal(novel.state()[0]["prototypes"], other.state()[0]["prototypes"])
    with pytest.raises(ValueError, match="prototypes"):
        MicroClusters.restore(copied | {"prototypes": copied["prototypes"][1:]}, plain)
