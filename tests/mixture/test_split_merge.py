from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import approx_fprime

from rondo.paper.split_merge import (
    Moments,
    NormalInverseWishart,
    accepted_merges,
    accepted_splits,
    log_split_ratio,
    merge,
    moments_of,
    partition_of,
    pooled,
    principal_halves,
    split,
)
from tests import naive_niw

Floats = NDArray[np.float64]


def drawn(n: int, n_dims: int, seed: int) -> Floats:
    """Correlated points off the origin."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_dims)) @ rng.normal(size=(n_dims, n_dims)) + rng.normal(size=n_dims)


def full_prior(n_dims: int, seed: int = 0) -> tuple[NormalInverseWishart, dict[str, Any]]:
    """A prior, and the same as arguments of the naive twin."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_dims, n_dims))
    named = {"mean": rng.normal(size=n_dims), "scatter": root @ root.T + np.eye(n_dims)}
    kappa, freedom = float(rng.uniform(0.1, 2)), n_dims + float(rng.uniform(0.5, 4))
    mean, scatter = torch.as_tensor(named["mean"])[None], torch.as_tensor(named["scatter"])[None]
    return NormalInverseWishart(mean, scatter, kappa, freedom), named | {"kappa": kappa, "freedom": freedom}


def one_block(x: Floats) -> torch.Tensor:
    return torch.as_tensor(x)[:, None, :]


def all_of(x: Floats) -> Moments:
    return moments_of(one_block(x), torch.ones(len(x), 1, dtype=torch.float64))


def parts_of(x: Floats, labels: NDArray[np.integer], n_parts: int) -> Moments:
    return moments_of(one_block(x), torch.as_tensor(np.eye(n_parts)[labels]))


def assert_same_moments(a: Moments, b: Moments) -> None:
    for name in ("n", "mean", "scatter"):
        npt.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9, atol=1e-9, err_msg=name)


@given(st.integers(0, 12), st.integers(1, 5), st.integers(0, 10**6))
def test_marginal_is_the_product_of_predictives(n: int, n_dims: int, seed: int) -> None:
    prior, named = full_prior(n_dims, seed)
    x = drawn(n, n_dims, seed)
    npt.assert_allclose(prior.log_marginal(all_of(x)), [naive_niw.log_marginal(x, **named)], rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_marginal_is_the_integral_over_the_parameters() -> None:
    prior = NormalInverseWishart(
        torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, 1, dtype=torch.float64), 0.5, 3
    )
    x = np.array([0.3, -0.4, 1.1, 0.2])
    expected = naive_niw.log_marginal_by_quadrature(x, mean=0.0, scatter=1.0, kappa=0.5, freedom=3.0)
    assert float(prior.log_marginal(all_of(x[:, None]))[0]) == pytest.approx(expected, abs=1e-4)


def test_blocks_of_one_dimension_are_independent_priors() -> None:
    x = drawn(20, 3, seed=1)
    scatter = torch.full((3, 1, 1), 0.7, dtype=torch.float64)
    prior = NormalInverseWishart(torch.zeros(3, 1, dtype=torch.float64), scatter, 0.2, 3)
    found = prior.log_marginal(moments_of(torch.as_tensor(x)[:, :, None], torch.ones(20, 1, dtype=torch.float64)))
    one = {"mean": np.zeros(1), "scatter": np.array([[0.7]]), "kappa": 0.2, "freedom": 3.0}
    expected = sum(naive_niw.log_marginal(x[:, [j]], **one) for j in range(3))
    assert float(found[0]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("n", [0, 1, 30])
def test_no_density_is_above_the_mode(n: int) -> None:
    prior, named = full_prior(2, seed=3)
    x = drawn(n, 2, seed=4)
    means, covariances = prior.mode(all_of(x))
    mu, sigma = means[0, 0].numpy(), covariances[0, 0].numpy()

    def density(theta: Floats) -> float:
        root = np.array([[theta[2], 0.0], [theta[3], theta[4]]])
        args = (named["mean"], named["scatter"], named["kappa"], named["freedom"])
        return naive_niw.mode_density(theta[:2], root @ root.T, x, *args)

    root = np.linalg.cholesky(sigma)
    mode = np.array([*mu, root[0, 0], root[1, 0], root[1, 1]])
    npt.assert_allclose(approx_fprime(mode, density, 1e-6), 0, atol=1e-3)
    nearby = mode + 0.05 * np.random.default_rng(0).normal(size=(200, 5))
    assert max(density(theta) for theta in nearby) < density(mode)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 4), st.integers(0, 10**6))
def test_pooled_moments_are_those_of_the_union(n: int, m: int, n_dims: int, seed: int) -> None:
    x = drawn(n + m, n_dims, seed)
    assert_same_moments(pooled(all_of(x[:n]), all_of(x[n:])), all_of(x))


@given(st.integers(2, 14), st.integers(1, 3), st.floats(0.05, 20), st.integers(0, 10**6))
def test_ratio_is_that_of_the_two_partitions(n: int, n_dims: int, alpha: float, seed: int) -> None:
    x = drawn(n, n_dims, seed)
    prior, named = full_prior(n_dims, seed)
    labels = np.random.default_rng(seed).integers(2, size=n)
    labels[:2] = (0, 1)
    expected = naive_niw.log_partition(x, labels, alpha, **named)
    expected -= naive_niw.log_partition(x, np.zeros(n, dtype=int), alpha, **named)
    halves = parts_of(x, labels, 2)
    npt.assert_allclose(log_split_ratio(halves[[0]], halves[[1]], prior, alpha), [expected], rtol=1e-8, atol=1e-8)


def test_ratio_of_an_empty_half_is_unknown() -> None:
    prior, _ = full_prior(2)
    halves = parts_of(drawn(8, 2, 0), np.zeros(8, dtype=int), 2)
    assert math.isnan(log_split_ratio(halves[[0]], halves[[1]], prior, 1.0)[0])


@pytest.mark.slow
def test_acceptance_has_the_probability_of_the_ratio() -> None:
    """alpha is set so that H = 0.3."""
    prior, _ = full_prior(2)
    halves = parts_of(drawn(40, 2, 0), np.arange(40) % 2, 2)
    alpha = 0.3 / math.exp(log_split_ratio(halves[[0]], halves[[1]], prior, 1.0)[0])
    rng = np.random.default_rng(0)
    n_splits = sum(accepted_splits(halves, prior, alpha, 9, rng) == [0] for _ in range(400))
    assert 0.23 < n_splits / 400 < 0.37
    n_merges = sum(accepted_merges(halves, prior, alpha / 0.09, rng) == [(0, 1)] for _ in range(400))
    assert 0.23 < n_merges / 400 < 0.37


def centres(*places: float) -> tuple[Floats, NDArray[np.integer]]:
    """Twenty points around each place on a line in the plane."""
    labels = np.repeat(np.arange(len(places)), 20)
    x = np.random.default_rng(0).normal(size=(labels.size, 2))
    x[:, 0] += 20 * np.array(places)[labels]
    return x, labels


def vague_prior() -> NormalInverseWishart:
    return NormalInverseWishart(torch.zeros(1, 2).double(), torch.eye(2).double()[None], 1e-4, 4)


def test_split_apart_and_merged_together() -> None:
    prior = vague_prior()
    rng = np.random.default_rng(0)
    x, labels = centres(0, 1, 5, 6)
    halves = parts_of(x, labels, 4)
    assert accepted_splits(halves, prior, 1.0, 9, rng) == [0, 1]
    assert accepted_merges(halves, prior, 1.0, rng) == []
    x, labels = centres(0, 0, 5, 5)
    assert accepted_splits(parts_of(x, labels, 4), prior, 1.0, 9, rng) == []
    assert accepted_merges(parts_of(x, labels, 4), prior, 1.0, rng) == [(0, 1), (2, 3)]


def test_the_cap_leaves_the_best_splits() -> None:
    prior = vague_prior()
    x, labels = centres(0, 0.5, 5, 7, 12, 12.6)  # components of two halves: the second is widest
    halves = parts_of(x, labels, 6)
    for cap, expected in ((9, [0, 1, 2]), (4, [1]), (3, []), (2, [])):
        assert accepted_splits(halves, prior, 1.0, cap, np.random.default_rng(0)) == expected


def test_small_halves_are_not_split_off() -> None:
    prior = vague_prior()
    x, labels = centres(0, 1)
    assert accepted_splits(parts_of(x[:25], labels[:25], 2), prior, 1.0, 9, np.random.default_rng(0)) == []
    assert accepted_splits(parts_of(x[:26], labels[:26], 2), prior, 1.0, 9, np.random.default_rng(0)) == [0]


def test_an_empty_component_merges_and_none_merges_twice() -> None:
    prior = vague_prior()
    x, labels = centres(0, 0, 0)
    assert len(accepted_merges(parts_of(x, labels, 3), prior, 1.0, np.random.default_rng(0))) == 1
    x, labels = centres(0, 9)
    pairs = accepted_merges(parts_of(x, labels, 3), prior, 1.0, np.random.default_rng(0))
    assert len(pairs) == 1
    assert 2 in pairs[0]
    assert accepted_merges(parts_of(x, 0 * labels, 1), prior, 1.0, np.random.default_rng(0)) == []


@given(st.integers(2, 25), st.integers(0, 10**6))
def test_principal_halves_are_the_best_cut(n: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=n)
    halves = principal_halves(torch.as_tensor(x)[:, None]).numpy()

    def within(left: NDArray[np.bool_]) -> float:
        return sum(float(((x[side] - x[side].mean()) ** 2).sum()) for side in (left, ~left))

    best = min(within(x <= cut) for cut in np.sort(x)[:-1])
    assert within(halves == 0) == pytest.approx(best, rel=1e-9, abs=1e-12)


def test_split_then_merge_gives_the_components_back() -> None:
    x, labels = centres(0, 1, 5)
    points, fine = one_block(x), torch.as_tensor(labels)
    whole = torch.where(fine == 2, 1, 0)  # components {0, 1} and {2}
    start = partition_of(points, parts_of(x, whole.numpy(), 2), whole, torch.zeros(60, 2, dtype=torch.float64))
    apart = split(points, start, [0])
    assert (apart.origins, apart.n_kept) == ([1, 0, 0], 1)
    assert len({(int(a), int(b)) for a, b in zip(apart.partition.labels, fine, strict=True)}) == 3
    assert_same_moments(apart.partition.moments, apart.partition.counted(points))
    npt.assert_array_equal(apart.partition.halves[whole == 1], start.halves[whole == 1])
    together = merge(points, apart.partition, [(1, 2)])
    assert (together.n_kept, len(together.origins)) == (1, 2)
    assert_same_moments(together.partition.moments, start.moments[[1, 0]])
    npt.assert_array_equal(together.partition.labels, 1 - whole)


@pytest.mark.parametrize("blocks", [(5, 1), (1, 5)])
def test_halves_have_the_moments_of_their_windows_one_by_one(blocks: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    points, labels = torch.as_tensor(drawn(60, 5, 0)).reshape(60, *blocks), torch.as_tensor(rng.integers(3, size=60))
    shares = torch.softmax(torch.as_tensor(rng.normal(size=(60, 2))), dim=1)
    parts = moments_of(points, torch.nn.functional.one_hot(labels, 3).double())
    partition = partition_of(points, parts, labels, shares)
    assert torch.equal(partition.halves, shares.argmax(1))
    for part in range(6):
        members = labels == part // 2
        weight, x = shares[members, part % 2], points[members]
        mean = (weight[:, None, None] * x).sum(0) / weight.sum()
        apart = x - mean
        scatter = torch.einsum("i,ibd,ibe->bde", weight, apart, apart)
        expected = Moments(weight.sum()[None], mean[None], scatter[None])
        assert_same_moments(partition.half_moments[[part]], expected)
