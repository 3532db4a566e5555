"""DeepDPM: components found, split, merged and kept; the autoencoder in front of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

from rondo.config.settings import MixtureConfig
from rondo.errors import ModelError, RecordingError, RondoWarning, SettingError
from rondo.paper import deep_dpm
from rondo.paper import deep_dpm as module
from rondo.paper.deep_dpm import FittedAutoencoder, fit_autoencoder, fit_deep_dpm
from rondo.paper.training import batches
from rondo.units.mixture import FittedMixture
from tests import naive_niw

Floats = NDArray[np.float64]


Ints = NDArray[np.int64]


def blobs(n: int, n_dims: int, n_blobs: int, seed: int, spread: float = 0.2) -> tuple[Floats, Ints]:
    """Round blobs at corners that are at least 3 apart, in random order."""
    rng = np.random.default_rng(seed)
    corners = 3.0 * np.eye(n_blobs, n_dims)
    labels = rng.permutation(np.arange(n) % n_blobs)
    return corners[labels] + spread * rng.normal(size=(n, n_dims)), labels


def fit(x: NDArray[np.floating], seed: int = 0, start: int = 1, **settings: Any) -> FittedMixture:
    return fit_deep_dpm(x, MixtureConfig(**settings), np.random.default_rng(seed), start_components=start)


def assert_finite(mixture: FittedMixture, x: NDArray[np.floating]) -> None:
    assert mixture.n_components >= 1
    for name in ("weights", "means", "precision_roots", "log_constants"):
        assert np.isfinite(getattr(mixture, name)).all(), name
    assert np.isfinite(mixture.bound)
    posterior = mixture.posterior(x)
    assert np.isfinite(posterior).all()
    npt.assert_allclose(posterior.sum(axis=1), 1.0)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("start", [1, 4])
def test_three_blobs_from_too_few_and_from_too_many(covariance: str, start: int) -> None:
    x, labels = blobs(120, 3, 3, seed=1)
    found = fit(x, start=start, covariance=covariance)
    assert found.n_components == 3
    assert adjusted_rand_score(labels, found.posterior(x).argmax(axis=1)) == 1.0
    npt.assert_allclose(np.sort(found.weights), 1 / 3, atol=0.01)
    for mean in found.means:
        assert np.linalg.norm(3.0 * np.eye(3) - mean, axis=1).min() < 0.15


def test_100_windows_in_32_dimensions_with_diagonal_covariances() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=100)
    x = 0.5 * rng.normal(size=(4, 32))[labels] + 0.2 * rng.normal(size=(100, 32))
    found = fit(x, covariance="diagonal")
    assert found.n_components == 4
    assert adjusted_rand_score(labels, found.posterior(x).argmax(axis=1)) == 1.0


def test_the_cap_refuses_splits() -> None:
    x, _ = blobs(160, 4, 4, seed=4)
    assert fit(x).n_components == 4
    assert fit(x, component_cap=2).n_components == 2
    assert fit(x, component_cap=1, start=3).n_components == 1


def test_light_components_are_dropped_and_weights_stay_shares_of_all() -> None:
    x, labels = blobs(140, 3, 3, seed=5)
    x = np.concatenate([x[labels == 0], x[labels == 1], x[labels == 2][:10]])
    kept, dropped = fit(x, min_weight=0.01), fit(x, min_weight=0.2)
    assert (kept.n_components, dropped.n_components) == (3, 2)
    assert kept.weights.sum() == pytest.approx(1)
    npt.assert_allclose(dropped.weights, kept.weights[kept.weights > 0.2])
    assert fit(x, min_weight=0.99).n_components == 1  # the heaviest always stays


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_log_joint_is_that_of_the_gaussians(covariance: str) -> None:
    x, _ = blobs(90, 3, 3, seed=6)
    x = 7 * x @ np.array([[1, 0.4, 0], [0, 1, 0], [0, 0, 0.5]]) + 100
    found = fit(x, covariance=covariance)
    for k in range(found.n_components):
        precision = found.precision_roots[k] @ found.precision_roots[k].T
        gaussian = multivariate_normal(found.means[k], np.linalg.inv(precision))
        npt.assert_allclose(found.log_joint(x)[:, k], np.log(found.weights[k]) + gaussian.logpdf(x), rtol=1e-8)
        npt.assert_array_equal(found.precision_roots[k], np.triu(found.precision_roots[k]))


def test_one_component_is_the_mode_under_the_prior() -> None:
    x = np.random.default_rng(0).normal(size=(60, 2)) + 5
    found = fit(x, component_cap=1)
    scale = np.sqrt(((x - x.mean(0)) ** 2).sum(1).mean())
    scatter = 0.005 * np.eye(2) + len(x) * np.cov(x.T, bias=True) / scale**2
    covariance = scale**2 * scatter / (2 + 2 + len(x) + 2 + 2)  # freedom D + 2, and D + 2 more for the joint mode
    npt.assert_allclose(np.linalg.inv(found.precision_roots[0] @ found.precision_roots[0].T), covariance, rtol=1e-8)
    npt.assert_allclose(found.means[0], x.mean(0))


def test_bound_is_the_evidence_of_the_partition() -> None:
    x, labels = blobs(60, 3, 3, seed=7)
    found = fit(x, concentration=2.5)
    scale = np.sqrt(((x - x.mean(0)) ** 2).sum(1).mean())
    prior = {"mean": np.zeros(3), "scatter": 0.005 * np.eye(3), "kappa": 1e-4, "freedom": 5.0}
    evidence = naive_niw.log_partition((x - x.mean(0)) / scale, labels, 2.5, **prior)
    seating = sum(np.log(i + 2.5) for i in range(60))  # the same for all partitions, and left out of the bound
    assert found.bound == pytest.approx((evidence + seating) / 60 - 3 * np.log(scale), rel=1e-8)


def test_same_fit_wherever_and_however_large_the_latents_are() -> None:
    x, _ = blobs(90, 3, 3, seed=8)
    a, b = fit(x), fit(1024.0 * x + 4096.0)
    npt.assert_allclose(b.means, 1024 * a.means + 4096, rtol=1e-6)
    npt.assert_allclose(b.precision_roots, a.precision_roots / 1024, rtol=1e-4, atol=1e-9)
    npt.assert_allclose(b.posterior(1024 * x + 4096), a.posterior(x), atol=1e-4)


def test_same_seed_same_fit_and_no_global_state() -> None:
    x, _ = blobs(80, 2, 2, seed=9)
    before = torch.get_rng_state()
    a, b = fit(x, seed=3), fit(x, seed=3)
    for name in ("weights", "means", "precision_roots", "log_constants"):
        npt.assert_array_equal(getattr(a, name), getattr(b, name))
    assert (a.bound, a.n_iterations) == (b.bound, b.n_iterations)
    assert not np.array_equal(a.weights, fit(x, seed=4).weights)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device here")
def test_cuda_finds_what_the_cpu_finds() -> None:
    x, _ = blobs(120, 3, 3, seed=1)
    here, there = (
        fit_deep_dpm(x, MixtureConfig(), np.random.default_rng(0), device=device) for device in ("cpu", "cuda")
    )
    by_place = [np.argsort(mixture.means[:, 0]) for mixture in (here, there)]  # components come in no particular order
    npt.assert_allclose(there.means[by_place[1]], here.means[by_place[0]], atol=1e-3)
    npt.assert_allclose(there.weights[by_place[1]], here.weights[by_place[0]], atol=1e-3)
    assert there.bound == pytest.approx(here.bound, rel=1e-6)


def nets(n_dims: int = 3, n_components: int = 4) -> deep_dpm._Nets:
    return deep_dpm._Nets(n_dims, n_components, torch.Generator().manual_seed(0), "cpu")


def test_halves_come_from_the_net_of_the_own_component_only() -> None:
    net, codes = nets(), torch.randn(20, 3, generator=torch.Generator().manual_seed(1))
    labels = torch.arange(20) % 4
    torch.testing.assert_close(net.halves(codes, labels), naive_halves(net.weights, codes, labels))


def naive_halves(w: dict[str, torch.Tensor], codes: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Window by window."""
    halves = []
    for code, k in zip(codes, labels.tolist(), strict=True):
        hidden = torch.relu(code @ w["half_hidden"][k] + w["half_hidden_bias"][k, 0])
        halves.append(torch.softmax(hidden @ w["half_out"][k] + w["half_out_bias"][k, 0], dim=0))
    return torch.stack(halves)


@pytest.mark.parametrize("n", [2, 40, 161])
def test_an_epoch_is_that_of_autograd_and_a_plain_optimiser(n: int) -> None:
    generator = torch.Generator().manual_seed(n)
    codes, labels = torch.randn(n, 3, generator=generator), torch.randint(4, (n,), generator=generator)
    targets = torch.softmax(3 * torch.randn(n, 4, generator=generator), dim=1)
    distances = torch.rand(n, 2, generator=generator)
    training = deep_dpm._Training(codes, 4, np.random.default_rng(0))
    w = {name: weight.clone().requires_grad_() for name, weight in training.nets.weights.items()}
    optimiser, drawn = torch.optim.Adam(w.values(), deep_dpm._RATE), training.generator.clone_state()
    training.epoch(targets, labels, distances)
    for pick in batches(n, max(n // 8, 2), 1, drawn):
        hidden = torch.relu(codes[pick] @ w["hidden"] + w["hidden_bias"])
        shares = torch.softmax(hidden @ w["out"].T + w["out_bias"], dim=1)
        divergence = -targets[pick] * ((shares + 1e-5) / (1 + 4e-5)).log()
        spread = naive_halves(w, codes[pick], labels[pick]) * distances[pick]
        optimiser.zero_grad()
        ((divergence.sum() + spread.sum()) / len(pick)).backward()
        optimiser.step()
    for name, weight in training.nets.weights.items():
        torch.testing.assert_close(weight, w[name].detach(), rtol=1e-4, atol=1e-5, msg=name)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_what_the_nets_learn_is_the_e_step_and_the_nearer_half(covariance: str) -> None:
    x, labels = blobs(60, 3, 3, seed=10, spread=2.0)
    labels = np.minimum(labels, 1)  # components of 20 and 40 windows
    space = deep_dpm._space_of(x, covariance, 1.0, "cpu")
    partition = deep_dpm._started(space.points, torch.as_tensor(np.eye(2)[labels]))
    y = space.points.flatten(1).numpy()
    means, covariances = (part.numpy() for part in space.prior.mode(partition.moments))
    density = np.empty((60, 2))
    for k, share in enumerate((1 / 3, 2 / 3)):
        sigma = covariances[k, 0] if covariance == "full" else np.diag(covariances[k, :, 0, 0])
        density[:, k] = (share + 0.1) * multivariate_normal(means[k].ravel(), sigma).pdf(y)
    expected = density / density.sum(axis=1, keepdims=True)
    npt.assert_allclose(deep_dpm._targets(space, partition), (expected + 1e-5) / (1 + 2e-5), rtol=1e-4)
    distances = deep_dpm._half_distances(space, partition).numpy()
    for k, half in ((k, half) for k in range(2) for half in range(2)):
        members = (labels == k) & (partition.halves.numpy() == half)
        npt.assert_allclose(distances[members, half], ((y[members] - y[members].mean(0)) ** 2).sum(1), rtol=1e-3)


def test_rearranged_nets_keep_what_stays() -> None:
    net, codes = nets(), torch.randn(20, 3, generator=torch.Generator().manual_seed(1))
    responsibilities = net.responsibilities(codes)[:, [3, 0, 1, 1]]
    halves = net.halves(codes, torch.full((20,), 3))
    net.rearrange([3, 0, 1, 1], n_kept=2)
    torch.testing.assert_close(net.responsibilities(codes), responsibilities / responsibilities.sum(1, keepdim=True))
    torch.testing.assert_close(net.halves(codes, torch.zeros(20, dtype=torch.int64)), halves)
    new = net.halves(codes, torch.full((20,), 2))
    assert not torch.allclose(new, net.halves(codes, torch.full((20,), 3)))


_RNG = np.random.default_rng(0)


EDGES = {
    "one window": np.ones((1, 3)),
    "two windows": np.array([[0.0, 1.0], [1.0, 0.0]]),
    "constant": np.full((30, 4), 0.1),
    "duplicates": np.repeat(_RNG.normal(size=(3, 3)), 10, axis=0),
    "one dimension": _RNG.normal(size=(40, 1)),
    "more dimensions than windows": _RNG.normal(size=(20, 32)),
    "100 windows in 32 dimensions": _RNG.normal(size=(100, 32)),
    "a constant dimension": np.column_stack([_RNG.normal(size=40), np.zeros(40)]),
    "an outlier": np.concatenate([_RNG.normal(size=(40, 2)), [[1e9, 0.0]]]),
    "huge": 1e90 * _RNG.normal(size=(30, 2)),
    "tiny": 1e-200 * _RNG.normal(size=(30, 2)),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_are_fitted(name: str) -> None:
    assert_finite(fit(EDGES[name]), EDGES[name])


def test_bad_input_is_refused_in_one_line() -> None:
    x, _ = blobs(20, 2, 2, seed=0)
    for value in (np.nan, np.inf, 1e200):
        broken = x.copy()
        broken[7, 1] = value
        with pytest.raises(RecordingError, match="in window 7, dimension 1"):
            fit(broken)
    with pytest.raises(RecordingError, match="at least one window"):
        fit(np.zeros((0, 3)))
    with pytest.raises(SettingError, match=r"start_components .*1, got 0"):
        fit(x, start=0)


def test_too_few_epochs_are_told() -> None:
    x, _ = blobs(60, 2, 2, seed=0)
    with pytest.warns(RondoWarning, match=r"12 epochs; .*mixture\.max_iterations"):
        found = fit(x, max_iterations=12)
    assert found.n_iterations == 12
    assert_finite(found, x)


SMALL = MixtureConfig(latent_dim=3, autoencoder_epochs=2)


def embeddings(n_windows: int, n_dims: int = 8, n_factors: int = 3, seed: int = 0) -> NDArray[np.float32]:
    """Unit rows that lie in a few dimensions, as embeddings do."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_windows, n_factors)) @ rng.normal(size=(n_factors, n_dims))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_training_restores_what_a_random_projection_does_not() -> None:
    z = embeddings(300)
    short = fit_autoencoder(z, SMALL, 0, "cpu")
    long = fit_autoencoder(z, MixtureConfig(latent_dim=3, autoencoder_epochs=150), 0, "cpu")
    assert long.unexplained < 0.1 < short.unexplained < 1


@pytest.mark.parametrize(
    ("n_windows", "epochs", "expected"), [(20, 10, 40), (90, 10, 40), (300, 10, 40), (1300, 10, 60), (1300, 20, 120)]
)
def test_short_recordings_get_a_minimum_of_steps(
    n_windows: int, epochs: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    monkeypatch.setattr(module.Descent, "steps", lambda self, each: taken.append(len(list(each))))
    fit_autoencoder(embeddings(n_windows), MixtureConfig(latent_dim=2, autoencoder_epochs=epochs), 0, "cpu")
    assert taken == [expected]


def test_scale_and_place_of_the_embeddings_do_not_matter() -> None:
    z = embeddings(60).astype(np.float64)
    moved = 1024 * z + 3
    plain = fit_autoencoder(z, SMALL, 0, "cpu").encode(z)
    npt.assert_allclose(fit_autoencoder(moved, SMALL, 0, "cpu").encode(moved), plain, rtol=1e-3, atol=1e-4)


def test_repeats_per_seed_and_leaves_everything_else_alone() -> None:
    z = embeddings(50)
    before, state = z.copy(), torch.random.get_rng_state()
    once, again, other = (fit_autoencoder(z, SMALL, seed, "cpu").encode(z) for seed in (5, 5, 6))
    npt.assert_array_equal(once, again)
    assert np.abs(once - other).max() > 1e-3
    npt.assert_array_equal(z, before)
    npt.assert_array_equal(torch.random.get_rng_state(), state)


def test_tensors_round_trip_to_the_bit() -> None:
    z = embeddings(40)
    fitted = fit_autoencoder(z, SMALL, 0, "cpu")
    restored = FittedAutoencoder.restore({name: tensor.copy() for name, tensor in fitted.tensors().items()})
    npt.assert_array_equal(restored.encode(z), fitted.encode(z))
    assert (restored.scale, restored.unexplained) == (fitted.scale, fitted.unexplained)
    again = restored.tensors()
    assert again.keys() == fitted.tensors().keys()
    for name, tensor in fitted.tensors().items():
        npt.assert_array_equal(again[name], tensor)


@pytest.mark.parametrize("name", ["centre", "scale", "latent.bias", "inward.weight"])
@pytest.mark.parametrize("fault", ["missing", "shape"])
def test_foreign_tensors_are_refused_in_one_line(name: str, fault: str) -> None:
    tensors = fit_autoencoder(embeddings(20), SMALL, 0, "cpu").tensors()
    if fault == "missing":
        del tensors[name]
    else:
        tensors[name] = np.zeros(7, dtype=np.float32)
    with pytest.raises(ModelError, match="autoencoder's tensor") as caught:
        FittedAutoencoder.restore(tensors)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("n_windows", [1, 2, 7, 65])
@pytest.mark.parametrize("value", [0.0, 0.3, 1e6])
def test_constant_embeddings_have_one_latent(n_windows: int, value: float) -> None:
    z = np.full((n_windows, 4), value, dtype=np.float32)
    latents = fit_autoencoder(z, SMALL, 0, "cpu").encode(z)
    assert np.isfinite(latents).all()
    npt.assert_allclose(latents, np.broadcast_to(latents[0], latents.shape), rtol=0, atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 12), st.integers(1, 4)),
        elements=st.floats(-(2.0**100), 2.0**100, width=32) | st.integers(-1, 1).map(float),
    )
)
def test_any_finite_embeddings(z: NDArray[np.float32]) -> None:
    fitted = fit_autoencoder(z, SMALL, 0, "cpu")
    assert np.isfinite(fitted.encode(z)).all()
    assert np.isfinite(fitted.unexplained)


def test_no_latent_dimension_is_refused() -> None:
    with pytest.raises(SettingError, match="latent_dim = 0"):
        fit_autoencoder(embeddings(5), MixtureConfig(latent_dim=0), 0, "cpu")
