from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture

from rondo.checks.rounding import assert_equal_but_for_rounding
from rondo.config.settings import MixtureConfig
from rondo.errors import RecordingError, RondoWarning, SettingError
from rondo.units import mixture as dp_gaussian
from rondo.units.mixture import FittedMixture, fit_mixture

Floats = NDArray[np.float64]
COVARIANCES = ("full", "diagonal")
_REGULARISER = 1e-6


class Oracle(BayesianGaussianMixture):
    """scikit-learn's mixture from given responsibilities instead of its own start."""

    start: Floats

    def _initialize_parameters(self, X: Floats, random_state: object, xp: object = None) -> None:
        self._initialize(X, self.start)


def oracle(x: Floats, start: Floats, covariance: str, n_iterations: int, concentration: float = 1.0) -> Oracle:
    scatter = np.atleast_2d(np.cov(x.T)) + _REGULARISER * np.eye(x.shape[1])
    # Ours is proper also where the scatter of the data, their default, is singular.
    prior = {"full": scatter, "diagonal": np.diag(scatter)}[covariance]
    mixture = Oracle(
        n_components=start.shape[1],
        covariance_type="diag" if covariance == "diagonal" else covariance,
        weight_concentration_prior_type="dirichlet_process",
        weight_concentration_prior=concentration,
        mean_precision_prior=1.0,
        covariance_prior=prior,
        reg_covar=_REGULARISER,
        max_iter=n_iterations,
        tol=1e-300,
    )
    mixture.start = start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit(x)


def ours(
    x: NDArray[np.floating],
    start: Floats | None = None,
    n_iterations: int = 500,
    weights: NDArray[np.floating] | None = None,
    seed: int = 0,
    **settings: Any,
) -> FittedMixture:
    """Our fit, all components kept, exactly `n_iterations` where a start is given."""
    exactly = {"tolerance": 1e-300} if start is not None else {}
    config = MixtureConfig(**({"min_weight": 0.0, "max_iterations": n_iterations} | exactly | settings))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RondoWarning)
        return fit_mixture(x, config, np.random.default_rng(seed), weights, start=start)


def blobs(n: int, n_dims: int, seed: int, n_blobs: int = 4, spread: float = 0.4) -> Floats:
    """Points around a few centres, correlated inside each, in random order."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 2, (n_blobs, n_dims))
    mixing = rng.normal(0, spread, (n_blobs, n_dims, n_dims))
    which = rng.integers(n_blobs, size=n)
    return centres[which] + np.einsum("nd,nde->ne", rng.normal(size=(n, n_dims)), mixing[which])


def random_start(n: int, n_components: int, seed: int) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.full(n_components, 0.3), size=n)


def assert_same_fit(a: FittedMixture, b: FittedMixture, rtol: float = 1e-8) -> None:
    for name in ("weights", "means", "precision_roots", "log_constants"):
        npt.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol, atol=rtol, err_msg=name)
    assert a.bound == pytest.approx(b.bound, rel=rtol, abs=rtol)


def assert_finite(mixture: FittedMixture, x: NDArray[np.floating]) -> None:
    assert mixture.n_components >= 1
    for name in ("weights", "means", "precision_roots", "log_constants"):
        assert np.isfinite(getattr(mixture, name)).all(), name
    assert np.isfinite(mixture.bound)
    posterior = mixture.posterior(x)
    assert np.isfinite(posterior).all()
    npt.assert_allclose(posterior.sum(axis=1), 1.0)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize(("n", "n_dims", "n_components"), [(200, 1, 3), (300, 4, 8), (250, 9, 5), (60, 3, 20)])
@pytest.mark.parametrize("n_iterations", [1, 10])
def test_same_as_scikit_learn(covariance: str, n: int, n_dims: int, n_components: int, n_iterations: int) -> None:
    x, start = blobs(n, n_dims, seed=n), random_start(n, n_components, seed=1)
    expected = oracle(x, start, covariance, n_iterations)
    found = ours(x, start, n_iterations, covariance=covariance)
    assert found.n_iterations == n_iterations
    assert found.bound * n == pytest.approx(expected.lower_bound_, rel=1e-8, abs=1e-6)
    npt.assert_allclose(found.weights, expected.weights_, rtol=1e-8, atol=1e-10)
    npt.assert_allclose(found.means, expected.means_, rtol=1e-8, atol=1e-8)
    npt.assert_allclose(found.posterior(x), expected.predict_proba(x), rtol=0, atol=1e-8)
    if covariance == "full":
        npt.assert_allclose(found.precision_roots, expected.precisions_cholesky_, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("concentration", [1e-3, 1.0, 1e3])
def test_concentration_means_what_it_means_there(concentration: float) -> None:
    x, start = blobs(150, 3, seed=5), random_start(150, 6, seed=2)
    expected = oracle(x, start, "full", 8, concentration)
    found = ours(x, start, 8, concentration=concentration)
    npt.assert_allclose(found.weights, expected.weights_, rtol=1e-8, atol=1e-10)
    assert found.bound * 150 == pytest.approx(expected.lower_bound_, rel=1e-8)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("seed", range(2))
def test_bound_never_falls(covariance: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, start = blobs(150, 1 + seed, seed), random_start(150, 6, seed)
    weights = rng.uniform(0.1, 3, size=150)
    bounds = [ours(x, start, n, weights, covariance=covariance).bound for n in range(1, 25)]
    assert np.diff(bounds).min() >= -1e-10
    assert bounds[-1] > bounds[0]


def test_a_fit_that_does_not_settle_says_so() -> None:
    with pytest.warns(RondoWarning, match=r"2 iterations.*mixture\.max_iterations"):
        fit_mixture(blobs(200, 3, seed=1), MixtureConfig(max_iterations=2), np.random.default_rng(0))


@pytest.mark.parametrize("covariance", COVARIANCES)
@settings(max_examples=15, deadline=None)
@given(counts=arrays(np.int64, 40, elements=st.integers(0, 5)), seed=st.integers(0, 100))
def test_weights_equal_repetition(covariance: str, counts: NDArray[np.int64], seed: int) -> None:
    counts[0] += 1
    x, start = blobs(40, 2, seed), random_start(40, 4, seed)
    weighted = ours(x, start, 6, counts, covariance=covariance)
    repeated = ours(np.repeat(x, counts, axis=0), np.repeat(start, counts, axis=0), 6, covariance=covariance)
    assert_same_fit(weighted, repeated)


def test_a_scale_of_weights_is_evidence() -> None:
    """Two near blobs: a few observations do not tell them apart, the same a hundred times over do."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-1.2, 1, (12, 1)), rng.normal(1.2, 1, (12, 1))])
    start = np.repeat(np.eye(2), 12, axis=0)
    once, a_hundred_times = (
        ours(x, start, 1000, np.full(24, scale)).posterior(x).argmax(axis=1) for scale in (1.0, 100.0)
    )
    assert len(set(once)) == 1
    assert len(set(a_hundred_times)) == 2


def test_points_without_weight_are_not_there() -> None:
    x = blobs(80, 2, seed=4)
    outliers = np.full((5, 2), 1e3) * np.arange(1, 6)[:, None]
    start = random_start(85, 4, seed=4)
    counts = np.r_[np.ones(80), np.zeros(5)]
    with_them = ours(np.concatenate([x, outliers]), start, 6, counts)
    assert_same_fit(with_them, ours(x, start[:80], 6), rtol=1e-7)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("offset", [-3.0, 1e6])
def test_translation(covariance: str, offset: float) -> None:
    x, start = blobs(200, 3, seed=6), random_start(200, 6, seed=6)
    here = ours(x, start, 20, covariance=covariance)
    there = ours(x + offset, start, 20, covariance=covariance)
    lost = 1e-10 * max(1.0, abs(offset))  # what x + offset no longer holds of x
    npt.assert_allclose(there.means - offset, here.means, rtol=0, atol=lost)
    npt.assert_allclose(there.weights, here.weights, rtol=lost)
    npt.assert_allclose(there.posterior(x + offset), here.posterior(x), rtol=0, atol=10 * lost)
    assert there.bound == pytest.approx(here.bound, rel=lost)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_neither_the_order_nor_the_type_of_points_matters_and_nothing_given_is_changed(covariance: str) -> None:
    x = blobs(200, 3, seed=9).astype(np.float32)
    given = x.astype(np.float64), random_start(200, 5, seed=9), 15, np.random.default_rng(1).uniform(0.5, 2.0, 200)
    before = [np.copy(own) for own in given]
    whole, ends = ours(*given, covariance=covariance), ours(given[0], covariance=covariance)
    for now, then in zip(given, before, strict=True):
        npt.assert_array_equal(now, then)
    assert_same_fit(ours(x, *given[1:], covariance=covariance), whole, rtol=0)
    assert_same_fit(ours(x, covariance=covariance), ends, rtol=0)
    order = np.random.default_rng(0).permutation(200)
    assert_same_fit(ours(x[order], given[1][order], 15, given[3][order], covariance=covariance), whole)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_blocks_of_points_do_not_matter(covariance: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, start = blobs(700, 3, seed=10), random_start(700, 5, seed=10)
    whole = ours(x, start, 10, covariance=covariance)
    monkeypatch.setattr(dp_gaussian, "_BLOCK_NUMBERS", 1)
    assert_same_fit(ours(x, start, 10, covariance=covariance), whole)


def test_finds_as_many_components_as_there_are_blobs() -> None:
    rng = np.random.default_rng(0)
    centres = 10 * np.eye(4)
    x = np.concatenate([centre + rng.normal(0, 0.3, (150, 4)) for centre in centres])
    fitted = fit_mixture(x, MixtureConfig(), rng)
    assert fitted.n_components == 4
    found = fitted.posterior(x).argmax(axis=1).reshape(4, 150)
    assert (found == found[:, :1]).all()
    assert len(set(found[:, 0])) == 4


def test_light_components_are_dropped_and_the_rest_unchanged() -> None:
    x, start = blobs(200, 2, seed=14), random_start(200, 8, seed=14)
    everything = ours(x, start, 30)
    cut = float(np.sort(everything.weights)[4])
    some = ours(x, start, 30, min_weight=cut)
    keep = everything.weights >= cut
    assert some.n_components == keep.sum() == 4
    npt.assert_array_equal(some.weights, everything.weights[keep])
    assert_equal_but_for_rounding(some.log_joint(x), everything.log_joint(x)[:, keep])  # a product of another shape
    npt.assert_allclose(some.posterior(x).sum(axis=1), 1.0)


def test_the_heaviest_component_stays_whatever_the_least_weight() -> None:
    x, start = blobs(100, 2, seed=15), random_start(100, 8, seed=15)
    only = ours(x, start, 3, min_weight=0.99)
    assert only.n_components == 1
    assert only.weights[0] == ours(x, start, 3).weights.max()
    npt.assert_array_equal(only.posterior(x), np.ones((100, 1)))


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6, 1e12])
@pytest.mark.parametrize(
    "x",
    [
        pytest.param(np.zeros((1, 3)), id="one point"),
        pytest.param(np.ones((1, 1)), id="one number"),
        pytest.param(np.ones((2, 3)), id="two coincident points"),
        pytest.param(np.ones((50, 3)), id="coincident points"),
        pytest.param(np.repeat(np.eye(3), 30, axis=0), id="duplicated points"),
        pytest.param(np.arange(6.0).reshape(3, 2), id="fewer points than the cap"),
        pytest.param(np.column_stack([np.linspace(0, 1, 40), np.full(40, 7.0)]), id="a constant column"),
        pytest.param(np.outer(np.linspace(-1, 1, 60), [1.0, 2.0, -3.0]), id="collinear columns"),
        pytest.param(np.r_[np.zeros((60, 2)), [[1.0, 1.0]]], id="one point apart"),
        pytest.param(np.r_[np.full((40, 2), 1.0), np.full((40, 2), 1.0 + 1e-15)], id="apart by rounding"),
    ],
)
def test_degenerate_latents_give_finite_components(x: Floats, scale: float, covariance: str) -> None:
    assert_finite(ours(x * scale, covariance=covariance), x * scale)


@settings(max_examples=60, deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.integers(1, 3)),
        elements=st.floats(-1e9, 1e9) | st.integers(-2, 2).map(float),
    ),
    st.sampled_from(COVARIANCES),
)
def test_any_finite_latents_give_finite_components(x: Floats, covariance: str) -> None:
    assert_finite(ours(x, n_iterations=30, covariance=covariance), x)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_non_finite_latents_are_refused_where_they_are(bad: float) -> None:
    x = blobs(30, 3, seed=0)
    x[17, 2] = bad
    with pytest.raises(RecordingError, match=r"non-finite.*window 17, dimension 2") as caught:
        fit_mixture(x, MixtureConfig(), np.random.default_rng(0))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (5,)])
def test_no_latents_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(RecordingError, match=r"expects latents \(n_windows, n_dims\)"):
        fit_mixture(np.zeros(shape), MixtureConfig(), np.random.default_rng(0))


@pytest.mark.parametrize(
    "weights", [np.zeros(20), np.full(20, -1.0), np.full(20, np.nan), np.ones(19), np.ones((20, 1))]
)
def test_weights_that_count_nothing_are_refused(weights: Floats) -> None:
    with pytest.raises(SettingError, match="weights"):
        fit_mixture(blobs(20, 2, seed=0), MixtureConfig(), np.random.default_rng(0), weights)
