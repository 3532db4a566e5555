from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo_bench.baselines.time2state import Time2StateConfig
from rondo_bench.baselines.window_nets import CausalNet, lse_loss
from rondo_bench.baselines.window_states import Groups
from tests import naive_time2state as naive
from tests.contracts import planted, windows_of

TINY = Time2StateConfig(hidden_dim=5, depth=3, pooled_dim=7, output_dim=3, n_groups=4, group_size=3, n_steps=4)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(st.integers(2, 5), st.integers(2, 4), st.integers(1, 3), st.sampled_from([0.1, 1.0, 30.0]), st.integers(0, 99))
@settings(max_examples=25)
def test_loss_is_that_of_the_loops(n_groups: int, group_size: int, n_dims: int, size: float, seed: int) -> None:
    embeddings = torch.randn(n_groups, group_size, n_dims, generator=generator(seed), dtype=torch.float64) * size
    npt.assert_allclose(float(lse_loss(embeddings)), naive.lse_loss_by_loops(embeddings.tolist()), rtol=1e-12)


# Dilations reach 8, and a tap 16; 5 = hidden_dim: no projection in the first block.
@pytest.mark.parametrize(("length", "n_channels"), [(1, 5), (8, 1), (16, 5), (17, 1), (40, 5)])
def test_network_is_the_published_one_forth_and_back(length: int, n_channels: int) -> None:
    net = CausalNet(n_channels, TINY, generator()).double()
    stream = torch.randn(60, n_channels, generator=generator(1), dtype=torch.float64)
    starts = torch.tensor([0, 1, 20, 20, 7])
    weights = {name: weight.detach().clone().requires_grad_() for name, weight in net.named_parameters()}
    ours = net(stream, starts, length)
    plain = naive.embeddings(weights, torch.stack([stream[s : s + length].T for s in starts.tolist()]))
    npt.assert_allclose(ours.detach(), plain.detach(), atol=1e-12)
    ours.square().sum().backward()
    plain.square().sum().backward()
    for name, weight in net.named_parameters():
        assert weight.grad is not None
        npt.assert_allclose(weight.grad, weights[name].grad, atol=1e-11, err_msg=name)


def test_training_is_the_published_one_step_by_step() -> None:
    windows = windows_of(planted(200), length=20, step=7, spans=((0, 90), (100, 200)))
    config = TINY.model_copy(update={"learning_rate": 0.02})
    source = generator(3)
    net = CausalNet(3, config, source)
    fits = [first for first in range(200) if first + 22 <= 90 or 100 <= first <= 178]
    draws = [
        [fits[i] for i in torch.randint(len(fits), (config.n_groups,), generator=source).tolist()]
        for _ in range(config.n_steps)
    ]
    stream = torch.from_numpy(windows.values)
    weights, losses = naive.train(dict(net.named_parameters()), stream, draws, 20, config.group_size, 0.02)
    assert losses[-1] < losses[0]
    plain = naive.embeddings(weights, torch.stack([stream[s : s + 20].T for s in windows.grid.starts.tolist()]))
    ours = CausalNet.trained(windows.values, Groups(np.array(fits), 20), config, seed=3)
    npt.assert_allclose(ours.embed(windows), plain, atol=2e-4)
