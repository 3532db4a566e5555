from __future__ import annotations

import numpy as np
import numpy.testing as npt
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.paper.settings import UnitAlignConfig
from rondo.paper.unit_align import Adaptor
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


def test_the_residual_can_learn_from_zero() -> None:
    adaptor = Adaptor(8, SMALL, seeded(1))
    adaptor(torch.randn(5, 8, generator=seeded(0)))[1][:, 0].sum().backward()
    assert adaptor.up.weight.grad is not None
    assert float(adaptor.up.weight.grad.abs().max()) > 0


def test_weights_come_from_the_generator_alone() -> None:
    before = torch.random.get_rng_state()
    once, again, other = (Adaptor(8, SMALL, seeded(seed)) for seed in (1, 1, 2))
    npt.assert_array_equal(torch.random.get_rng_state(), before)
    npt.assert_array_equal(once.down.weight.detach(), again.down.weight.detach())
    assert not torch.equal(once.down.weight, other.down.weight)


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
