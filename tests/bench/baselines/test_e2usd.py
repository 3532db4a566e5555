from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.errors import RecordingError, SettingError
from rondo.metrics.scores import evaluate
from rondo_bench.baselines.e2usd import E2USD, E2USDConfig
from rondo_bench.baselines.e2usd_net import TwoViewNet, fncc_loss, trained, two_views
from rondo_bench.baselines.e2usd_online import Adaptation, read_online
from rondo_bench.baselines.window_states import Groups, StateWindows, voted
from tests import naive_e2usd as naive
from tests.bench.baselines.signals import signal_of, three_states
from tests.contracts import planted, windows_of

TINY = E2USDConfig(
    windows=StateWindows(length=16, step=4), pooled_dim=7, output_dim=3, n_groups=4, group_size=3, n_steps=4
)
ADAPTATION = Adaptation(1.0, 0.08, 0.1)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def method(**updates: object) -> E2USD:
    return E2USD(TINY.model_copy(update=updates))


# ---------------------------------------------------------------- loss


@given(st.integers(2, 5), st.integers(2, 4), st.integers(1, 3), st.sampled_from([0.1, 1.0, 30.0]), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
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


def test_pairs_that_look_alike_in_both_views_are_no_negatives() -> None:
    """Two groups of one state and one of another: only pairs of different states are pushed apart."""
    joint = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[:, None].expand(3, 2, 2).clone().requires_grad_()
    views = torch.tensor([[1.0], [1.0], [-1.0]])[:, None].expand(3, 2, 1)
    fncc_loss(joint, views, views.abs(), 2 / 3).backward()
    assert joint.grad is not None
    pushed = -joint.grad[0, 0]
    assert pushed[1] < 0  # away from the third group
    assert pushed[0] > 0  # towards its own, and not away from the second


# ---------------------------------------------------------------- network


@pytest.mark.parametrize("length", [4, 5, 16, 30, 63, 64, 65, 90, 100, 256])
@pytest.mark.parametrize("n_channels", [1, 3])
def test_network_is_the_published_one(length: int, n_channels: int) -> None:
    net = TwoViewNet(n_channels, TINY, generator()).double()
    stream = torch.randn(300, n_channels, generator=generator(1), dtype=torch.float64)
    starts = torch.tensor([0, 1, 20, 20, 7])
    windows = torch.stack([stream[s : s + length].T for s in starts.tolist()])
    plain = naive.embeddings(net.state_dict(), windows, TINY.n_bins)
    for ours, theirs in zip(net(net.pooled(stream, starts, length)), plain, strict=True):
        npt.assert_allclose(ours.detach(), theirs, atol=1e-12)


def test_views_of_a_window() -> None:
    views = two_views(256, 33).reshape(2, 64, 256)
    time = torch.arange(256, dtype=torch.float64)
    level, slow, fast = torch.ones(256), torch.sin(time * 4 * torch.pi / 128), torch.sin(time * torch.pi * 100 / 128)
    npt.assert_allclose(views[0] @ level.double(), 33 / 256 * 4, rtol=1e-5)  # 4: 256 frames become 64 samples
    npt.assert_allclose(views[1] @ level.double(), 0, atol=1e-5)
    npt.assert_allclose(views @ fast, 0, atol=1e-5)  # 100 of 128 bins: cut
    assert float((views[0] @ slow).abs().max()) > 0.3


def test_filters_are_drawn_within_their_bounds_and_never_learn() -> None:
    windows, groups = windows_of(planted()), Groups(np.arange(280), 16)
    start = TwoViewNet(3, TINY, generator(4))
    net = trained(windows.values, groups, TINY, seed=4)
    for frozen in ("taps", "bias"):
        npt.assert_array_equal(net.tensors()[frozen], start.tensors()[frozen])
        assert 0.2 < np.abs(net.tensors()[frozen]).max() <= 1 / 3
    for name in ("trend.weight", "seasonal.bias", "joint.weight"):
        assert (net.tensors()[name] != start.tensors()[name]).any()


def test_network_has_the_original_size() -> None:
    learning = sum(weight.numel() for weight in TwoViewNet(4, E2USDConfig(), generator()).parameters())
    assert learning == 2 * (80 * 4 + 4) + 8 * 4 + 4


# ---------------------------------------------------------------- training


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
    ours = trained(windows.values, Groups(np.array(fits), 20), config, seed=3)
    npt.assert_allclose(ours.embed(windows), plain, atol=2e-4)


# ---------------------------------------------------------------- online


@given(st.integers(0, 1000), st.integers(0, 40), st.integers(1, 3), st.sampled_from([0.3, 1.0, 3.0]))
@settings(max_examples=60, deadline=None)
def test_online_reading_is_that_of_the_loop(seed: int, n_windows: int, n_dims: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    embeddings = size * np.cumsum(rng.normal(size=(n_windows, n_dims)), axis=0)
    reading = read_online(embeddings, lambda one: int(one[0] // 2), ADAPTATION)
    states, n_asked = naive.online(embeddings.tolist(), lambda one: int(one[0] // 2), 0.08, 0.1)
    assert reading.states.tolist() == states
    assert reading.n_asked == n_asked == reading.watch.n_asked
    assert reading.watch.n_windows == n_windows


@given(st.integers(0, 1000), st.lists(st.integers(0, 40), max_size=4))
@settings(max_examples=40, deadline=None)
def test_a_stream_read_in_pieces_is_read_the_same(seed: int, cuts: list[int]) -> None:
    embeddings = np.cumsum(np.random.default_rng(seed).normal(size=(40, 2)), axis=0)
    whole = read_online(embeddings, lambda one: int(one[0] > 0), ADAPTATION)
    watch, states, n_asked = None, [], 0
    for piece in np.split(embeddings, sorted(cuts)):
        reading = read_online(piece, lambda one: int(one[0] > 0), ADAPTATION, watch)
        watch, n_asked = reading.watch, n_asked + reading.n_asked
        states += reading.states.tolist()
    assert states == whole.states.tolist()
    assert n_asked == whole.n_asked


def test_the_threshold_rises_with_reuse_and_falls_where_asking_was_no_use() -> None:
    steady = np.array([[2.0]] * 13)
    reading = read_online(steady, lambda _: 0, ADAPTATION)
    # 4 ≥ 1.08^k for k up to 18: never asked after the first
    assert reading.n_asked == 1
    npt.assert_allclose(reading.watch.threshold, 1.08**12)
    weak = read_online(np.array([[0.5]] * 20), lambda _: 0, ADAPTATION)  # 0.25 < 1: asked until 0.9^14 < 0.25
    assert weak.watch.threshold < 0.35
    assert 1 + 14 <= weak.n_asked < 20


def test_a_change_is_found_with_few_questions() -> None:
    """On a stream of three states, online labels nearly equal those of asking about every window."""
    values, truth = three_states()
    windows = StateWindows(length=40, step=5)
    settings = {
        "windows": windows,
        "output_dim": 4,
        "pooled_dim": 40,
        "n_groups": 10,
        "n_steps": 20,
        "component_cap": 6,
    }
    fitted = method(online=True, fit_share=0.5, **settings).fit(signal_of(values), np.random.default_rng(0))
    reading = fitted.read_online(signal_of(values))
    assert reading.n_asked < reading.states.size  # it saves questions
    labels = fitted.predict(signal_of(values))
    assert evaluate({"walk": (truth, labels)}).average.ami > 50


def test_online_learns_from_nothing_after_its_share() -> None:
    values = planted(400)
    changed = values.copy()
    changed[200:] = planted(200, seed=9) * 50
    one, other = (
        method(online=True, fit_share=0.5).fit(signal_of(given), np.random.default_rng(0)).tensors()
        for given in (values, changed)
    )
    for name in one:
        npt.assert_array_equal(one[name], other[name], err_msg=name)


def test_online_labels_never_change_because_more_came() -> None:
    values = planted(400)
    fitted = method(online=True, fit_share=0.4).fit(signal_of(values), np.random.default_rng(0))
    whole, part = fitted.read_online(signal_of(values)), fitted.read_online(signal_of(values[:300]))
    npt.assert_array_equal(part.states, whole.states[: part.states.size])


def test_online_is_fit_then_predict_and_is_restored() -> None:
    baseline, signal = method(online=True, fit_share=0.5), signal_of(planted(400), ((0, 150), (170, 400)))
    labels = baseline.fit_predict(signal, np.random.default_rng(2))
    fitted = baseline.fit(signal, np.random.default_rng(2))
    npt.assert_array_equal(fitted.predict(signal), labels)
    grid = fitted.learned.windows_of(signal).grid
    npt.assert_array_equal(voted(fitted.read_online(signal).states, grid), labels)
    assert (fitted.learned.predict(signal) != labels).any()  # asking about every window gives other labels
    npt.assert_array_equal(baseline.restore(fitted.tensors()).predict(signal), labels)
    npt.assert_array_equal(labels == -1, np.r_[np.zeros(150), np.ones(20), np.zeros(230)] == 1)


def test_a_share_without_anything_to_learn_is_refused() -> None:
    signal = signal_of(planted(400), ((300, 400),))
    with pytest.raises(
        RecordingError, match=r"^recording 'walk': the first 200 frames \(fit_share = 0.5\) hold nothing"
    ):
        method(online=True, fit_share=0.5).fit(signal, np.random.default_rng(0))


# ---------------------------------------------------------------- the whole


def test_windows_too_short_for_the_filters_are_refused() -> None:
    with pytest.raises(SettingError, match=r"^e2usd needs windows of at least 4 frames, got 3$"):
        method(windows=StateWindows(length=3, step=1)).fit(signal_of(planted()), np.random.default_rng(0))
    assert (
        method(windows=StateWindows(length=4, step=1)).fit_predict(signal_of(planted(60)), np.random.default_rng(0))
        >= 0
    ).all()


def test_states_that_differ_are_found() -> None:
    values, truth = three_states()
    config = E2USDConfig(windows=StateWindows(length=40, step=10), component_cap=6)
    labels = E2USD(config).fit_predict(signal_of(values), np.random.default_rng(0))
    assert evaluate({"walk": (truth, labels)}).average.ami > 60
