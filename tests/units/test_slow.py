from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from rondo.config.settings import SlowUnitsConfig
from rondo.units.slow import SlowProjection, fit_slow
from tests import naive_units as naive

Floats = NDArray[np.float64]
Spans = tuple[tuple[int, int], ...]


def walk(n_windows: int, n_dims: int, seed: int) -> Floats:
    """Representations that change at a different speed in each of some mixed directions."""
    rng = np.random.default_rng(seed)
    keep = np.linspace(0.98, 0.1, n_dims)
    state, rows = rng.normal(size=n_dims), np.empty((n_windows, n_dims))
    for t in range(n_windows):
        state = keep * state + np.sqrt(1 - keep**2) * rng.normal(size=n_dims)
        rows[t] = state
    return rows @ rng.normal(size=(n_dims, n_dims))


def fitted(
    y: NDArray[np.floating], spans: Spans | None = None, pca_dim: int = 30, dimension: int = 4, ridge: float = 0.1
) -> SlowProjection:
    config = SlowUnitsConfig(pca_dim=pca_dim, dimension=dimension, ridge=ridge)
    return fit_slow(y, spans or ((0, len(y)),), config, 0.25)


def latents(y: NDArray[np.floating], dimension: int = 4) -> Floats:
    return fitted(y, dimension=dimension).apply(y)


# ---------------------------------------------------------------- by the definition


@pytest.mark.parametrize(
    ("n_windows", "n_dims", "spans", "pca_dim", "dimension", "ridge"),
    [
        (120, 6, ((0, 120),), 30, 4, 0.1),
        (120, 6, ((0, 50), (50, 53), (53, 54), (54, 120)), 30, 3, 0.1),
        (121, 6, ((0, 121),), 3, 2, 1.0),
        (40, 20, ((0, 40),), 30, 4, 0.1),
        (100, 1, ((0, 60), (60, 100)), 30, 4, 0.1),
        (90, 5, ((0, 90),), 30, 5, 0.0),
    ],
)
def test_same_as_the_definition(
    n_windows: int, n_dims: int, spans: Spans, pca_dim: int, dimension: int, ridge: float
) -> None:
    y = walk(n_windows, n_dims, seed=n_dims)
    projection = fitted(y, spans, pca_dim, dimension, ridge)
    expected, slowness = naive.slow_latents(y, spans, pca_dim, dimension, ridge)
    found = projection.apply(y)
    npt.assert_allclose(projection.slowness, slowness, rtol=1e-8, atol=1e-8)
    signs = np.sign((found * expected).sum(axis=0))
    npt.assert_allclose(found, expected * np.where(signs == 0, 1, signs), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", ["sine", "levels"])
@pytest.mark.parametrize("seed", [0])
def test_a_planted_slow_latent_hidden_in_fast_noise_is_found(shape: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    slow = np.sin(np.arange(1500) / 15) if shape == "sine" else np.repeat(rng.choice([-1.0, 1.0], 50), 30)
    louder = 3 * rng.normal(size=(1500, 9))
    turn = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    y = np.column_stack([slow, louder]) @ turn
    loudest = np.linalg.svd(y - y.mean(axis=0), full_matrices=False)[0][:, 0]
    assert abs(np.corrcoef(loudest, slow)[0, 1]) < 0.2
    assert abs(np.corrcoef(latents(y, dimension=1)[:, 0], slow)[0, 1]) > 0.95


def test_drift_does_not_win() -> None:
    rng = np.random.default_rng(2)
    time = np.arange(1000)
    recurring = np.sign(np.sin(time / 20))
    y = np.column_stack([recurring, 0.002 * time, rng.normal(size=(1000, 3))])
    found = latents(y, dimension=1)[:, 0]
    assert abs(np.corrcoef(found, recurring)[0, 1]) > 0.95


# ---------------------------------------------------------------- invariances


@settings(max_examples=15)
@given(st.integers(0, 50), arrays(np.float64, 6, elements=st.floats(-1e4, 1e4)))
def test_translation(seed: int, offset: Floats) -> None:
    y = walk(100, 6, seed)
    npt.assert_allclose(latents(y + offset), latents(y), rtol=1e-6, atol=1e-6)


@settings(max_examples=15)
@given(st.integers(0, 50))
def test_rotation_keeps_distances(seed: int) -> None:
    y = walk(100, 6, seed)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0]
    npt.assert_allclose(pdist(latents(y @ turn)), pdist(latents(y)), rtol=1e-6, atol=1e-8)


@given(st.integers(0, 50), st.integers(-100, 100))
def test_scale(seed: int, power: int) -> None:
    y = walk(100, 6, seed)
    npt.assert_allclose(latents(y * 2.0**power), latents(y), rtol=1e-8, atol=1e-10)


def test_single_precision_is_nearly_double() -> None:
    y = walk(300, 6, seed=3)
    npt.assert_allclose(latents(y.astype(np.float32)), latents(y), rtol=1e-4, atol=1e-4)


def test_input_is_not_changed_and_fit_is_deterministic() -> None:
    y = walk(100, 6, seed=6)
    before = y.copy()
    once, again = latents(y), latents(y)
    npt.assert_array_equal(y, before)
    npt.assert_array_equal(once, again)


# ---------------------------------------------------------------- spans


def test_neighbours_are_never_counted_across_spans() -> None:
    """Recordings in another order are the same statistics: nothing of one touches the next."""
    first, second, third = walk(80, 5, seed=7), walk(60, 5, seed=8) + 3, walk(70, 5, seed=9) - 5
    there = fitted(np.concatenate([first, second, third]), ((0, 80), (80, 140), (140, 210)), 30, 3, 0.1)
    back = fitted(np.concatenate([third, first, second]), ((0, 70), (70, 150), (150, 210)), 30, 3, 0.1)
    npt.assert_allclose(back.slowness, there.slowness, rtol=1e-10)
    npt.assert_allclose(back.matrix, there.matrix, rtol=1e-6, atol=1e-8)


def test_a_false_neighbour_would_be_seen() -> None:
    """One span over two recordings counts their meeting, and gives something else."""
    y = np.concatenate([walk(60, 4, seed=11), walk(60, 4, seed=12) + 8])
    apart = fitted(y, ((0, 60), (60, 120)), 4, 2, 0.1)
    together = fitted(y, ((0, 120),), 4, 2, 0.1)
    assert np.abs(apart.slowness - together.slowness).max() > 1e-3


# ---------------------------------------------------------------- degenerate


def assert_usable(projection: SlowProjection, y: NDArray[np.floating]) -> None:
    found = projection.apply(y)
    assert found.shape == (len(y), projection.slowness.size)
    assert projection.slowness.size >= 1
    assert np.isfinite(found).all()
    assert np.isfinite(projection.slowness).all()
    assert (projection.slowness >= 0).all()


@pytest.mark.parametrize("value", [0.0, -1e6, 1e-30])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_constant_representations_have_constant_latents(value: float, ridge: float) -> None:
    y = np.full((60, 4), value)
    projection = fitted(y, ((0, 60),), 30, 4, ridge)
    assert_usable(projection, y)
    npt.assert_allclose(projection.apply(y), 0.0, atol=1e-6)


def test_rounding_is_not_slow() -> None:
    last_digit = np.repeat(np.random.default_rng(0).integers(0, 2, (20, 3)), 10, axis=0)
    y = 1.0 + np.finfo(np.float64).eps * last_digit
    assert fitted(y, ((0, 200),), 30, 3, 0.1).slowness.max() < 1e-3


@pytest.mark.parametrize(("n_windows", "n_dims"), [(1, 1), (1, 50), (2, 5), (3, 50), (9, 1), (9, 50)])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_few_windows(n_windows: int, n_dims: int, ridge: float) -> None:
    y = np.random.default_rng(0).normal(size=(n_windows, n_dims))
    assert_usable(fitted(y, ((0, n_windows),), 30, 4, ridge), y)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 25), st.integers(1, 4)),
        elements=st.floats(-1e6, 1e6) | st.integers(-1, 1).map(float),
    ),
    st.sampled_from([0.0, 0.1]),
)
def test_any_finite_representations(y: Floats, ridge: float) -> None:
    assert_usable(fitted(y, ((0, len(y)),), 30, 4, ridge), y)


# ---------------------------------------------------------------- how many dimensions


def stays(n_windows: int, corr_lengths: list[float], step_share: float, seed: int) -> Floats:
    """Independent unit processes x' = a x + noise whose correlation falls to 1/e after that many window lengths."""
    rng = np.random.default_rng(seed)
    a = np.exp(-step_share / np.array(corr_lengths))
    noise = rng.normal(size=(n_windows, a.size)) * np.sqrt(1 - a**2)
    x = np.zeros_like(noise)
    for t in range(1, n_windows):
        x[t] = a * x[t - 1] + noise[t]
    return x


@pytest.mark.parametrize(("n_slow", "step_share"), [(3, 0.1), (5, 0.25), (8, 0.5)])
def test_as_many_dimensions_as_stay_correlated_for_a_window(n_slow: int, step_share: float) -> None:
    y = stays(20_000, [1.6] * n_slow + [0.6] * 6, step_share, seed=n_slow)
    spans = ((0, 8_000), (8_000, 20_000))
    chosen = fit_slow(y, spans, SlowUnitsConfig(ridge=0.02), step_share)
    assert chosen.slowness.size == n_slow
    npt.assert_array_equal(chosen.matrix, fitted(y, spans, dimension=8, ridge=0.02).matrix[:, :n_slow])


def test_never_fewer_than_asked_for_nor_more_than_eight_dimensions() -> None:
    fast, slow = stays(500, [0.2] * 8, 0.25, seed=0), stays(9000, [5.0] * 12, 0.25, seed=1)
    auto = SlowUnitsConfig()
    assert fit_slow(fast, ((0, 500),), auto, 0.25).slowness.size == 3
    assert fit_slow(fast, ((0, 500),), auto, 0.25, fewest=5).slowness.size == 5
    assert fit_slow(fast, ((0, 500),), SlowUnitsConfig(dimension=4), 0.25, fewest=5).slowness.size == 4
    assert fit_slow(slow, ((0, 9000),), SlowUnitsConfig(ridge=0.0), 0.25).slowness.size == 8
    assert fit_slow(fast[:, :1], ((0, 500),), auto, 0.25).slowness.size == 1  # there is but one
