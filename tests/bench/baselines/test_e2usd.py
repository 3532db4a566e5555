from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.metrics.scores import evaluate
from rondo_bench.baselines.e2usd import E2USD, E2USDConfig, read_online
from rondo_bench.baselines.window_nets import TwoViewNet, fncc_loss
from rondo_bench.baselines.window_states import Groups, StateWindows
from tests import naive_e2usd as naive
from tests.bench.baselines.signals import signal_of, three_states
from tests.contracts import planted, windows_of

TINY = E2USDConfig(
    windows=StateWindows(length=16, step=4), pooled_dim=7, output_dim=3, n_groups=4, group_size=3, n_steps=4
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def method(**updates: object) -> E2USD:
    return E2USD(TINY.model_copy(update=updates))


@given(st.integers(2, 5), st.integers(2, 4), st.integers(1, 3), st.sampled_from([0.1, 1.0, 30.0]), st.integers(0, 99))
@settings(max_examples=20)
def test_loss_is_that_of_the_loops_forth_and_back(
    n_groups: int, group_size: int, n_dims: int, size: float, seed: int
) -> None:
    drawn = torch.randn(3, n_groups, group_size, n_dims, generator=generator(seed), dtype=torch.float64) * size
    ours, plain = drawn.clone().requires_grad_(), drawn.clone().requires_grad_()
    loss, by_loops = fncc_loss(*ours, 0.5), naive.fncc_loss_by_loops(*plain)
    npt.assert_allclose(loss.detach(), by_loops.detach(), rtol=1e-10, atol=1e-8)
    loss.backward()
    by_loops.backward()
    assert ours.grad is not None
    npt.assert_allclose(ours.grad, plain.grad, rtol=1e-10, atol=1e-7)  # torch's softplus is linear from 20 on


@pytest.mark.parametrize(("length", "n_channels"), [(4, 1), (63, 3), (64, 1), (65, 3), (256, 3)])
def test_network_is_the_published_one(length: int, n_channels: int) -> None:
    net = TwoViewNet(n_channels, TINY, generator()).double()
    stream = torch.randn(300, n_channels, generator=generator(1), dtype=torch.float64)
    starts = torch.tensor([0, 1, 20, 20, 7])
    windows = torch.stack([stream[s : s + length].T for s in starts.tolist()])
    plain = naive.embeddings(net.state_dict(), windows, TINY.n_bins)
    for ours, theirs in zip(net(net.pooled(stream, starts, length)), plain, strict=True):
        npt.assert_allclose(ours.detach(), theirs, atol=1e-12)


def test_training_is_the_published_one_step_by_step() -> None:
    windows = windows_of(planted(200), length=20, step=7, spans=((0, 90), (100, 200)))
    config = TINY.model_copy(update={"learning_rate": 0.02})
    source = generator(3)
    net = TwoViewNet(3, config, source)
    fits = [first for first in range(200) if first + 22 <= 90 or 100 <= first <= 178]
    draws = [
        [fits[i] for i in torch.randint(len(fits), (config.n_groups,), generator=source).tolist()]
        for _ in range(config.n_steps)
    ]
    stream = torch.from_numpy(windows.values)
    weights, losses = naive.train(net.state_dict(), stream, draws, 20, config.group_size, 0.02, config.n_bins)
    assert len(set(losses)) == config.n_steps
    starts = windows.grid.starts.tolist()
    plain = naive.embeddings(weights, torch.stack([stream[s : s + 20].T for s in starts]), config.n_bins)[0]
    ours = TwoViewNet.trained(windows.values, Groups(np.array(fits), 20), config, seed=3)
    npt.assert_allclose(ours.embed(windows), plain, atol=2e-4)


@given(st.integers(0, 1000), st.integers(0, 40), st.integers(1, 3), st.sampled_from([0.3, 1.0, 3.0]))
def test_online_reading_is_that_of_the_loop(seed: int, n_windows: int, n_dims: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    embeddings = size * np.cumsum(rng.normal(size=(n_windows, n_dims)), axis=0)
    states, n_asked = read_online(embeddings, lambda one: int(one[0] // 2), E2USDConfig())
    assert (states.tolist(), n_asked) == naive.online(embeddings.tolist(), lambda one: int(one[0] // 2), 0.08, 0.1)


def test_online_learns_from_nothing_after_its_share() -> None:
    values = planted(400)
    changed = values.copy()
    changed[200:] = planted(200, seed=9) * 50
    one, other = (
        method(online=True, fit_share=0.5).fit(signal_of(given), np.random.default_rng(0)).learned
        for given in (values, changed)
    )
    npt.assert_array_equal(one.net.joint.weight.detach(), other.net.joint.weight.detach())  # type: ignore[attr-defined]
    npt.assert_array_equal(one.components.means, other.components.means)
    assert one.scale == other.scale


def test_online_is_fit_then_predict() -> None:
    baseline, signal = method(online=True, fit_share=0.5), signal_of(planted(400), ((0, 150), (170, 400)))
    labels = baseline.fit_predict(signal, np.random.default_rng(2))
    fitted = baseline.fit(signal, np.random.default_rng(2))
    npt.assert_array_equal(fitted.predict(signal), labels)
    assert (fitted.learned.predict(signal) != labels).any()  # asking about every window gives other labels
    npt.assert_array_equal(labels == -1, np.r_[np.zeros(150), np.ones(20), np.zeros(230)] == 1)


def test_states_that_differ_are_found() -> None:
    values, truth = three_states()
    config = E2USDConfig(windows=StateWindows(length=40, step=10), component_cap=6)
    labels = E2USD(config).fit_predict(signal_of(values), np.random.default_rng(0))
    assert evaluate({"walk": (truth, labels)}).average.ami > 60
