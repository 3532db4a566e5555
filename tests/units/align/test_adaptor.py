"""The adaptor of UnitAlign and its losses, against their definitions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.paper.settings import UnitAlignConfig
from rondo.paper.unit_align import Adaptor, covariance_penalty, geometry_loss, supervised_contrast, variance_hinge
from tests import naive_align as naive

SMALL = UnitAlignConfig(bottleneck_dim=6, output_dim=4, alpha=0.7)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def trained(n_dims: int, seed: int) -> Adaptor:
    """An adaptor whose every weight says something."""
    adaptor = Adaptor(n_dims, SMALL, seeded(seed)).double()
    with torch.no_grad():
        for parameter in adaptor.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=seeded(seed + 1), dtype=torch.float64))
    return adaptor


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans())
def test_same_as_the_equations(seed: int, n_dims: int, training: bool) -> None:
    adaptor = trained(n_dims, seed)
    y = torch.randn(3, n_dims, generator=seeded(seed), dtype=torch.float64)
    mask = adaptor.dropout_mask(3, seeded(seed)) if training else None
    h, z = adaptor(y, mask)
    weights = {name: tensor.numpy() for name, tensor in adaptor.state_dict().items()}
    for i in range(3):
        masked = np.ones(6) if mask is None else mask[i].numpy()
        expected_h, expected_z = naive.adapted(y[i].tolist(), weights, SMALL.alpha, list(masked))
        npt.assert_allclose(h[i].detach().numpy(), expected_h, rtol=1e-9, atol=1e-9)
        npt.assert_allclose(z[i].detach().numpy(), expected_z, rtol=1e-9, atol=1e-9)


def test_starts_as_the_normalised_representation() -> None:
    y = torch.randn(5, 8, generator=seeded(0))
    h, z = Adaptor(8, SMALL, seeded(1))(y)
    npt.assert_allclose(h.detach(), torch.nn.functional.layer_norm(y, (8,)), atol=1e-6)
    npt.assert_allclose(z.detach().norm(dim=1), 1.0, rtol=1e-6)
    assert z.shape == (5, 4)


def test_dropout_keeps_the_mean_and_repeats() -> None:
    adaptor = Adaptor(8, UnitAlignConfig(), seeded(0))
    mask = adaptor.dropout_mask(400, seeded(3))
    npt.assert_array_equal(mask, adaptor.dropout_mask(400, seeded(3)))
    assert mask.shape == (400, 256)
    npt.assert_allclose(sorted(set(mask.flatten().tolist())), [0, 1 / 0.9], rtol=1e-6)
    npt.assert_allclose(float(mask.mean()), 1.0, atol=0.01)


def test_one_dimension_and_constant_input_are_finite() -> None:
    for n_dims in (1, 5):
        h, z = Adaptor(n_dims, SMALL, seeded(0))(torch.zeros(3, n_dims))
        assert torch.isfinite(h).all()
        npt.assert_allclose(z.detach().norm(dim=1), 1.0, rtol=1e-6)


Floats = NDArray[np.float64]


Loss = Callable[[torch.Tensor], torch.Tensor]


TAU = 0.5


Y = np.random.default_rng(1).normal(size=(6, 3))


LABELS = [0, 1, 0, -1, 2, 1]


TWINS: dict[str, tuple[Loss, Callable[[Floats], float]]] = {
    "geometry": (lambda x: geometry_loss(torch.from_numpy(Y), x), lambda x: naive.geometry_loss(Y, x)),
    "variance": (variance_hinge, naive.variance_hinge),
    "covariance": (covariance_penalty, naive.covariance_penalty),
    "contrast": (
        lambda x: supervised_contrast(x, torch.tensor(LABELS), TAU),
        lambda x: naive.supervised_contrast(x, LABELS, TAU),
    ),
}


def value_and_gradient(loss: Loss, at: NDArray[np.floating]) -> tuple[float, Floats]:
    x = torch.tensor(at, requires_grad=True)
    value = loss(x)
    value.backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    return float(value.detach()), x.grad.numpy()


@pytest.mark.parametrize("name", TWINS)
@settings(max_examples=5)
@given(st.integers(0, 10**6), st.sampled_from([0.3, 1.0, 2.0]))
def test_value_and_gradient_are_the_definitions(name: str, seed: int, spread: float) -> None:
    loss, twin = TWINS[name]
    x = spread * np.random.default_rng(seed).normal(size=(6, 4))
    value, gradient = value_and_gradient(loss, x)
    npt.assert_allclose(value, twin(x), rtol=1e-9, atol=1e-12)
    # A hinge has no slope at its corner: no dimension of these batches may stand on it.
    if name != "variance" or np.abs(np.sqrt(x.var(axis=0, ddof=1) + 1e-4) - 1).min() > 1e-3:
        npt.assert_allclose(gradient, naive.gradient(twin, x), rtol=1e-4, atol=1e-6)


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=8), st.integers(0, 10**6))
def test_contrast_of_any_labels(labels: list[int], seed: int) -> None:
    z = np.random.default_rng(seed).normal(size=(len(labels), 3))
    value, gradient = value_and_gradient(lambda x: supervised_contrast(x, torch.tensor(labels), TAU), z)
    npt.assert_allclose(value, naive.supervised_contrast(z, labels, TAU), rtol=1e-9, atol=1e-12)
    npt.assert_allclose(
        gradient, naive.gradient(lambda x: naive.supervised_contrast(x, labels, TAU), z), rtol=1e-4, atol=1e-6
    )


def test_noise_changes_nothing_and_gets_no_gradient() -> None:
    z = np.random.default_rng(4).normal(size=(5, 3))
    labels = torch.tensor([0, 0, 1, 1, 2])
    alone = supervised_contrast(torch.from_numpy(z), labels, 0.1)
    padded = np.concatenate([z, 100 * np.ones((3, 3))])
    noise = torch.cat([labels, torch.full((3,), -1)])
    value, gradient = value_and_gradient(lambda x: supervised_contrast(x, noise, 0.1), padded)
    npt.assert_allclose(value, float(alone), rtol=1e-12)
    npt.assert_array_equal(gradient[5:], 0.0)


def test_a_singleton_is_no_anchor_but_a_negative() -> None:
    z = np.random.default_rng(5).normal(size=(3, 3))
    pair = supervised_contrast(torch.from_numpy(z[:2]), torch.tensor([0, 0]), 1.0)
    with_single = supervised_contrast(torch.from_numpy(z), torch.tensor([0, 0, 1]), 1.0)
    assert float(pair) == 0.0
    assert float(with_single) > 0


@pytest.mark.parametrize("name", ["geometry", "variance", "covariance", "contrast"])
@pytest.mark.parametrize("n_windows", [1, 2])
@pytest.mark.parametrize("kind", ["normal", "constant", "zero"])
def test_small_batches_are_finite(name: str, n_windows: int, kind: str) -> None:
    rng = np.random.default_rng(6)
    rows = {"normal": rng.normal(size=(n_windows, 5)), "constant": np.ones((n_windows, 5))}
    x = rows.get(kind, np.zeros((n_windows, 5))).astype(np.float32)
    y = torch.from_numpy(rng.normal(size=(n_windows, 5)).astype(np.float32))
    losses: dict[str, Loss] = {
        "geometry": lambda z: geometry_loss(y, z),
        "variance": variance_hinge,
        "covariance": covariance_penalty,
        "contrast": lambda z: supervised_contrast(z, torch.arange(n_windows) // 2, 0.1),
    }
    value, gradient = value_and_gradient(losses[name], x)
    assert np.isfinite(value)
    assert value >= 0
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("labels", [[-1, -1, -1], [0, 1, 2], [-1, -1, 0]])
def test_nothing_to_contrast_is_zero(labels: list[int]) -> None:
    z = np.random.default_rng(7).normal(size=(3, 2)).astype(np.float32)
    value, gradient = value_and_gradient(lambda x: supervised_contrast(x, torch.tensor(labels), 0.1), z)
    assert value == 0.0
    npt.assert_array_equal(gradient, 0.0)
