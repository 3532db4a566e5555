from __future__ import annotations

from collections.abc import Iterator

import numpy.testing as npt
import pytest
import torch

from rondo.paper.training import Descent, small_steps

N_STEPS = 40
DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device here")
    ),
]


def drawn(n_steps: int = N_STEPS) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Inputs of two shapes in turn, as full and last batches have."""
    generator = torch.Generator().manual_seed(1)
    for step in range(n_steps):
        x = torch.randn(8 if step % 5 else 3, 4, generator=generator)
        yield x, x.sum(1, keepdim=True).tanh()


def network(device: str) -> torch.nn.Module:
    weights = torch.Generator().manual_seed(2)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.GELU(), torch.nn.Linear(16, 1))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=weights))
    return net.to(device)


def descended(device: str, n_steps: int = N_STEPS) -> tuple[torch.nn.Module, torch.Tensor]:
    net = network(device)

    def terms_of(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        found = net(x)
        return torch.stack([(found - target).square().mean(), found.square().mean()])

    descent = Descent(terms_of, torch.tensor([1.0, 0.1], device=device), small_steps(net.parameters(), 1e-2, 0.01))
    return net, descent.steps(drawn(n_steps))


@pytest.mark.parametrize("device", DEVICES)
def test_steps_are_those_of_a_plain_loop(device: str) -> None:
    net = network("cpu")
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0.01)
    expected = []
    for x, target in drawn():
        found = net(x)
        fit, size = (found - target).square().mean(), found.square().mean()
        optimiser.zero_grad()
        (fit + 0.1 * size).backward()
        optimiser.step()
        expected.append([float(fit.detach()), float(size.detach())])
    own, terms = descended(device)
    npt.assert_allclose(terms.cpu(), expected, rtol=1e-4, atol=1e-6)
    for weight, plain in zip(own.parameters(), net.parameters(), strict=True):
        npt.assert_allclose(weight.detach().cpu(), plain.detach(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_steps_go_down_and_leave_no_gradients_in_their_terms(device: str) -> None:
    terms = descended(device, 100)[1]
    assert terms.shape == (100, 2)
    assert not terms.requires_grad
    assert terms[-20:, 0].mean() < 0.3 * terms[:5, 0].mean()


def test_no_inputs_are_no_steps() -> None:
    before, (net, terms) = network("cpu"), descended("cpu", 0)
    assert terms.shape == (0, 2)
    for weight, untouched in zip(net.parameters(), before.parameters(), strict=True):
        npt.assert_array_equal(weight.detach(), untouched.detach())
