"""Prototype, radius, floor and distribution follow the points: incrementally as if from all of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.arrays import Floats
from rondo.paper.latent_entries import SAMPLE, LatentEntries
from rondo.units.mixture import FittedMixture
from tests import naive_published as naive


def begun(n_dims: int, n_entries: int = 3, seed: int = 0) -> LatentEntries:
    """Entries five apart, each with sixty members."""
    rng = np.random.default_rng(seed)
    centres = 5.0 * rng.normal(size=(n_entries, n_dims))
    members = [centre + rng.normal(size=(60, n_dims)) * rng.uniform(0.5, 1.5, n_dims) for centre in centres]
    supports = np.full(n_entries, 60.0)
    radii = np.array(
        [np.quantile(np.linalg.norm(own - c, axis=1), 0.95) for own, c in zip(members, centres, strict=True)]
    )
    return LatentEntries.of_members(list(range(n_entries)), centres, supports, radii, np.full(n_entries, 0.9), members)


def dense(entries: LatentEntries) -> Floats:
    """Scatters as (n_entries, n_dims, n_dims)."""
    return entries.scatters if entries.full else entries.scatters[:, None] * np.eye(entries.n_dims)


@given(n_dims=st.sampled_from([1, 3, 12]), n=st.integers(1, 60), seed=st.integers(0, 100))
def test_moments_are_those_of_all_points(n_dims: int, n: int, seed: int) -> None:
    entries = begun(n_dims, seed=seed)
    start = entries.counts[1], entries.means[1].copy(), dense(entries)[1].copy()
    points = entries.prototypes[1] + np.random.default_rng(seed).normal(size=(n, n_dims))
    for point in points:
        entries.accept(1, point)
    count, mean, scatter = naive.moments(*start, points)
    assert entries.full == (n_dims <= 8)
    npt.assert_allclose(entries.counts[1], count)
    npt.assert_allclose(entries.means[1], mean, atol=1e-10)
    npt.assert_allclose(entries.prototypes[1], mean, atol=1e-10)  # units begin with the same centre for both
    npt.assert_allclose(dense(entries)[1], scatter if entries.full else np.diag(np.diag(scatter)), atol=1e-8)


@settings(max_examples=20)
@given(n_dims=st.sampled_from([2, 12]), seed=st.integers(0, 100))
def test_posteriors_follow_the_moments(n_dims: int, seed: int) -> None:
    entries = begun(n_dims, seed=seed)
    rng = np.random.default_rng(seed)
    for index in rng.integers(3, size=40).tolist():
        entries.accept(index, entries.prototypes[index] + rng.normal(size=n_dims))
    between = entries.prototypes.mean(axis=0) + rng.normal(size=n_dims)
    expected = naive.posterior(between, entries.counts, entries.means, dense(entries))
    npt.assert_allclose(entries.judge(between).posterior, expected, atol=1e-6)


def test_radius_and_floor_are_quantiles_of_the_members_that_are_kept() -> None:
    entries = begun(3)
    rng = np.random.default_rng(1)
    members = [*entries.members.kept(0)]
    for point in entries.prototypes[0] + rng.normal(size=(48, 3)):  # 60 and 48: all are kept
        entries.see(0, point)
        entries.accept(0, point)
        members.append(point)
    entries.measure(0)
    distances = [float(np.linalg.norm(point - entries.prototypes[0])) for point in members]
    posteriors = [entries.posteriors(point[None])[0, 0] for point in members]
    assert entries.radii[0] == pytest.approx(np.quantile(distances, 0.95))
    assert entries.floors[0] == pytest.approx(min(np.quantile(posteriors, 0.05), 0.99))


def test_a_point_within_the_radius_is_rejected_where_its_posterior_is_below_the_floor() -> None:
    """Two entries that overlap: between them a point lies within both radii, and is certain to be of neither."""
    rng = np.random.default_rng(5)
    members = [rng.normal(size=(60, 3)), np.array([2.0, 0, 0]) + rng.normal(size=(60, 3))]
    centres, supports = np.stack([own.mean(axis=0) for own in members]), np.full(2, 60.0)
    entries = LatentEntries.of_members([0, 1], centres, supports, np.full(2, 3.0), np.full(2, 1e-6), members)
    assert entries.floors.tolist() == [1e-6, 1e-6]  # as the vocabulary stores them
    assert entries.judge(centres.mean(axis=0)).accepted.all()
    entries.floors[:] = 0.99
    between = entries.judge(centres.mean(axis=0))
    assert (between.r <= 1).all() and not between.accepted.any() and between.best is None


def test_the_radius_of_what_does_not_change_stays() -> None:
    """Were members only what is accepted, the P95 would shrink by a twentieth of its points again and again."""
    entries = begun(3, n_entries=1)
    rng = np.random.default_rng(2)
    spread = entries.members.kept(0).std(axis=0)
    centre, radius = entries.prototypes[0].copy(), float(entries.radii[0])
    for point in centre + spread * rng.normal(size=(6_000, 3)):
        judged = entries.judge(point)
        if judged.r[0] <= 1.25:
            entries.see(0, point)
        if judged.accepted[0]:
            entries.accept(0, point)
    npt.assert_allclose(entries.prototypes[0], centre, atol=0.1)
    assert 0.85 * radius < entries.radii[0] < 1.15 * radius
    assert len(entries.members.kept(0)) == SAMPLE


def test_a_new_entry_accepts_its_own_points_and_not_those_of_others() -> None:
    entries = begun(12)
    rng = np.random.default_rng(3)
    points = 8.0 + rng.normal(size=(30, 12))
    assert not any(entries.judge(point).accepted.any() for point in points)
    entries.add(7, points, seen=40)
    assert entries.ids == [0, 1, 2, 7] and entries.counts[3] == 40
    accepted = np.array([entries.judge(point).accepted for point in points])
    assert accepted[:, 3].mean() > 0.85 and not accepted[:, :3].any()
    others = [entries.judge(point).accepted for point in entries.members.kept(0)]
    assert not np.array(others)[:, 3].any()


def test_a_merged_candidate_widens_the_entry() -> None:
    entries = begun(3)
    centre, radius, count = entries.prototypes[0].copy(), float(entries.radii[0]), float(entries.counts[0])
    points = centre + np.array([1.2 * radius, 0, 0]) + 0.05 * np.random.default_rng(4).normal(size=(40, 3))
    entries.merge(0, points)
    assert entries.counts[0] == count + 40 and entries.accepted[0] == 0
    assert np.mean([entries.judge(point).accepted[0] for point in points]) > 0.8
    npt.assert_allclose(entries.prototypes[0], (60 * centre + points.sum(axis=0)) / 100, atol=1e-10)


@pytest.mark.parametrize("diagonal", [True, False])
def test_a_mixture_begins_with_its_own_posteriors(diagonal: bool) -> None:
    rng = np.random.default_rng(5)
    roots = np.array(
        [np.triu(rng.normal(size=(4, 4)), 1) * (not diagonal) + np.diag(rng.uniform(0.5, 2, 4)) for _ in "abc"]
    )
    mixture = FittedMixture(np.full(3, 1 / 3), rng.normal(size=(3, 4)), roots, rng.normal(size=3))
    one = np.ones(3)
    entries = LatentEntries.of_mixture([4, 5, 6], mixture, mixture.means, 50 * one, one, 0.5 * one)
    points = rng.normal(size=(20, 4))
    assert entries.full != diagonal
    npt.assert_allclose(entries.posteriors(points), mixture.posterior(points), atol=1e-8)


@pytest.mark.parametrize("n_dims", [3, 12])
def test_written_down_and_restored_it_is_the_same(n_dims: int) -> None:
    entries = begun(n_dims)
    rng = np.random.default_rng(6)
    entries.add(9, 8 + rng.normal(size=(20, n_dims)), 25)
    tensors, plain = entries.state()
    copied: dict[str, Any] = {name: tensor.copy() for name, tensor in tensors.items()}
    other = LatentEntries.restore(copied, json.loads(json.dumps(plain)))
    for point in entries.prototypes[0] + rng.normal(size=(100, n_dims)):
        for own in (entries, other):
            own.accept(0, point)
            own.see(0, point)
        for one, two in zip(entries.judge(point), other.judge(point), strict=True):
            npt.assert_array_equal(one, two)
    with pytest.raises(ValueError, match="for 4 entries"):
        LatentEntries.restore(copied | {"radii": np.ones(3)}, plain)
