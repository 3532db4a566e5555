from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from rondo.config.settings import MixtureConfig
from rondo.errors import ModelError, RecordingError, SettingError
from rondo.paper import deep_dpm as module
from rondo.paper.deep_dpm import FittedAutoencoder, fit_autoencoder

SMALL = MixtureConfig(latent_dim=3, autoencoder_epochs=2)


def embeddings(n_windows: int, n_dims: int = 8, n_factors: int = 3, seed: int = 0) -> NDArray[np.float32]:
    """Unit rows that lie in a few dimensions, as embeddings do."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_windows, n_factors)) @ rng.normal(size=(n_factors, n_dims))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_latents_are_float64_of_the_asked_dimension() -> None:
    z = embeddings(30)
    latents = fit_autoencoder(z, SMALL, 0, "cpu").encode(z)
    assert latents.shape == (30, 3)
    assert latents.dtype == np.float64


def test_training_restores_what_a_random_projection_does_not() -> None:
    z = embeddings(300)
    short = fit_autoencoder(z, SMALL, 0, "cpu")
    long = fit_autoencoder(z, MixtureConfig(latent_dim=3, autoencoder_epochs=150), 0, "cpu")
    assert long.unexplained < 0.1 < short.unexplained < 1


def test_unexplained_is_measured_against_the_variance() -> None:
    z = embeddings(100).astype(np.float64)
    fitted = fit_autoencoder(z, SMALL, 0, "cpu")
    x = torch.from_numpy((z - fitted.centre) / fitted.scale)
    npt.assert_allclose(float(x.square().mean()), 1.0, rtol=1e-9)
    npt.assert_allclose(fitted.unexplained, float((fitted.network(x) - x).square().mean()), rtol=1e-4)


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


def test_a_subset_is_encoded_as_in_the_whole() -> None:
    z = embeddings(80)
    fitted = fit_autoencoder(z, SMALL, 0, "cpu")
    npt.assert_allclose(fitted.encode(z[17:23]), fitted.encode(z)[17:23], rtol=0, atol=1e-12)
    assert fitted.encode(z[:0]).shape == (0, 3)


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


# ---------------------------------------------------------------- degenerate


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


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_non_finite_embedding_is_named(bad: float) -> None:
    z = embeddings(10)
    z[4, 2] = bad
    with pytest.raises(RecordingError, match="window 4, dimension 2"):
        fit_autoencoder(z, SMALL, 0, "cpu")


@pytest.mark.parametrize("shape", [(0, 4), (5, 0), (5,)])
def test_no_embeddings_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(RecordingError, match="expects embeddings"):
        fit_autoencoder(np.zeros(shape), SMALL, 0, "cpu")


def test_no_latent_dimension_is_refused() -> None:
    with pytest.raises(SettingError, match="latent_dim = 0"):
        fit_autoencoder(embeddings(5), MixtureConfig(latent_dim=0), 0, "cpu")
