"""The networks of E2USD and Time2State against loops, and the online mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rondo.checks.encoders import planted, windows_of
from rondo_bench.baselines.e2usd import E2USD, E2USDConfig, read_online
from rondo_bench.baselines.time2state import Time2StateConfig
from rondo_bench.baselines.window_nets import CausalNet, TwoViewNet
from rondo_bench.baselines.window_states import Groups, StateWindows
from tests import naive_e2usd, naive_time2state
from tests.bench.baselines.signals import signal_of

TINY = E2USDConfig(
    windows=StateWindows(length=16, step=4), pooled_dim=7, output_dim=3, n_groups=4, group_size=3, n_steps=4
)

CAUSAL = Time2StateConfig(hidden_dim=5, depth=3, pooled_dim=7, output_dim=3, n_groups=4, group_size=3, n_steps=4)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def method(**updates: object) -> E2USD:
    return E2USD(TINY.model_copy(update=updates))


@pytest.mark.parametrize(("length", "n_channels"), [(4, 1), (63, 3), (64, 1), (65, 3), (256, 3)])
def test_the_network_of_e2usd_is_the_published_one(length: int, n_channels: int) -> None:
    net = TwoViewNet(n_channels, TINY, generator()).double()
    stream = torch.randn(300, n_channels, generator=generator(1), dtype=torch.float64)
    starts = torch.tensor([0, 1, 20, 20, 7])
    windows = torch.stack([stream[s : s + length].T for s in starts.tolist()])
    plain = naive_e2usd.embeddings(net.state_dict(), windows, TINY.n_bins)
    for ours, theirs in zip(net(net.pooled(stream, starts, length)), plain, strict=True):
        npt.assert_allclose(ours.detach(), theirs, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "config", "twin", "more"),
    [(TwoViewNet, TINY, naive_e2usd, (TINY.n_bins,)), (CausalNet, CAUSAL, naive_time2state, ())],
)
def test_training_is_the_published_one_step_by_step(kind: Any, config: Any, twin: Any, more: tuple[int, ...]) -> None:
    windows = windows_of(planted(200), length=20, step=7, spans=((0, 90), (100, 200)))
    config, source = config.model_copy(update={"learning_rate": 0.02}), generator(3)
    net = kind(3, config, source)
    fits = [first for first in range(200) if first + 22 <= 90 or 100 <= first <= 178]
    draws = [
        [fits[i] for i in torch.randint(len(fits), (config.n_groups,), generator=source).tolist()]
        for _ in range(config.n_steps)
    ]
    stream = torch.from_numpy(windows.values)
    weights, losses = twin.train(net.state_dict(), stream, draws, 20, config.group_size, 0.02, *more)
    assert len(set(losses)) == config.n_steps
    contents = torch.stack([stream[start : start + 20].T for start in windows.grid.starts.tolist()])
    plain = twin.embeddings(weights, contents, *more)
    ours = kind.trained(windows.values, Groups(np.array(fits), 20), config, seed=3)
    npt.assert_allclose(ours.embed(windows), plain[0] if more else plain, atol=2e-4)


@given(st.integers(0, 1000), st.integers(0, 40), st.integers(1, 3), st.sampled_from([0.3, 1.0, 3.0]))
def test_online_reading_is_that_of_the_loop(seed: int, n_windows: int, n_dims: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    embeddings = size * np.cumsum(rng.normal(size=(n_windows, n_dims)), axis=0)
    states, n_asked = read_online(embeddings, lambda one: int(one[0] // 2), E2USDConfig())
    assert (states.tolist(), n_asked) == naive_e2usd.online(
        embeddings.tolist(), lambda one: int(one[0] // 2), 0.08, 0.1
    )


def test_online_learns_from_nothing_after_its_share() -> None:
    values = planted(400)
    changed = values.copy()
    changed[200:] = planted(200, seed=9) * 50
    one, other = (
        method(online=True, fit_share=0.5).fit(signal_of(given), np.random.default_rng(0)).learned
        for given in (values, changed)
    )
    npt.assert_array_equal(one.net.joint.weight.detach(), other.net.joint.weight.detach())  # type: ignore[attr-defined]
    npt.assert_array_equal(one.components.mixture.means_, other.components.mixture.means_)
    assert one.scale == other.scale


def test_online_is_fit_then_predict() -> None:
    baseline, signal = method(online=True, fit_share=0.5), signal_of(planted(400), ((0, 150), (170, 400)))
    labels = baseline.fit_predict(signal, np.random.default_rng(2))
    fitted = baseline.fit(signal, np.random.default_rng(2))
    npt.assert_array_equal(fitted.predict(signal), labels)
    assert (fitted.learned.predict(signal) != labels).any()  # asking about every window gives other labels
    npt.assert_array_equal(labels == -1, np.r_[np.zeros(150), np.ones(20), np.zeros(230)] == 1)


# Dilations reach 8, and a tap 16; 5 = hidden_dim: no projection in the first block.
@pytest.mark.parametrize(("length", "n_channels"), [(1, 5), (8, 1), (16, 5), (17, 1), (40, 5)])
def test_the_network_of_time2state_is_the_published_one_forth_and_back(length: int, n_channels: int) -> None:
    net = CausalNet(n_channels, CAUSAL, generator()).double()
    stream = torch.randn(60, n_channels, generator=generator(1), dtype=torch.float64)
    starts = torch.tensor([0, 1, 20, 20, 7])
    weights = {name: weight.detach().clone().requires_grad_() for name, weight in net.named_parameters()}
    ours = net(stream, starts, length)
    plain = naive_time2state.embeddings(weights, torch.stack([stream[s : s + length].T for s in starts.tolist()]))
    npt.assert_allclose(ours.detach(), plain.detach(), atol=1e-12)
    ours.square().sum().backward()
    plain.square().sum().backward()
    for name, weight in net.named_parameters():
        assert weight.grad is not None
        npt.assert_allclose(weight.grad, weights[name].grad, atol=1e-11, err_msg=name)
