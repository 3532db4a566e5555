from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.baselines import time2state
from rondo.baselines.time2state import Time2State, Time2StateConfig, standardised, states_of, voted
from rondo.baselines.time2state_net import CausalNet, learned_embeddings, lse_loss
from rondo.data.labels import OTHER
from rondo.data.signal import Signal
from rondo.data.windows import Span, WindowGrid
from rondo.errors import RecordingError, RondoWarning, SettingError
from rondo.metrics import evaluate
from tests import naive_time2state as naive
from tests.contracts import planted, windows_of

TINY = Time2StateConfig(hidden_dim=5, depth=3, pooled_dim=7, output_dim=3, n_groups=4, group_size=3, n_steps=4)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def signal_of(values: NDArray[np.float32], spans: tuple[Span, ...] | None = None) -> Signal:
    n_frames, n_channels = values.shape
    names = tuple(f"c{i}" for i in range(n_channels))
    return Signal("walk", values, None, names, spans or ((0, n_frames),), n_frames)


# ---------------------------------------------------------------- loss


@given(st.integers(2, 5), st.integers(2, 4), st.integers(1, 3), st.sampled_from([0.1, 1.0, 30.0]), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_loss_is_that_of_the_loops(n_groups: int, group_size: int, n_dims: int, size: float, seed: int) -> None:
    embeddings = torch.randn(n_groups, group_size, n_dims, generator=generator(seed), dtype=torch.float64) * size
    npt.assert_allclose(float(lse_loss(embeddings)), naive.lse_loss_by_loops(embeddings.tolist()), rtol=1e-12)


def test_loss_wants_groups_together_and_apart() -> None:
    nothing = torch.zeros(2, 3, 2)
    assert float(lse_loss(nothing)) == pytest.approx(2 * math.log(2))
    apart = torch.tensor([5.0, 0.0]).expand(3, 2) * torch.tensor([1.0, -1.0])[:, None, None]
    together = torch.tensor([5.0, 0.0]).expand(2, 3, 2)
    assert float(lse_loss(apart)) < 1e-6
    assert float(lse_loss(together)) == pytest.approx(25, abs=1e-6)


# ---------------------------------------------------------------- network


@pytest.mark.parametrize("length", [1, 2, 3, 8, 15, 16, 17, 40])  # dilations reach 8, and a tap 16
@pytest.mark.parametrize("n_channels", [1, 5])  # 5 = hidden_dim: no projection in the first block
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


def test_network_has_the_original_size() -> None:
    net = CausalNet(4, Time2StateConfig(), generator())
    dilations = [block.dilation for block in net.blocks]
    assert dilations == [2**j for j in range(11)]
    first = 3 * 4 * 30 + 3 * 30 * 30 + 2 * 2 * 30 + (4 * 30 + 30)
    middle = 2 * 3 * 30 * 30 + 2 * 2 * 30
    last = 3 * 30 * 80 + 3 * 80 * 80 + 2 * 2 * 80 + (30 * 80 + 80)
    assert sum(weight.numel() for weight in net.parameters()) == first + 9 * middle + last + 80 * 4 + 4


def test_weights_start_within_their_bounds_and_with_the_length_of_their_direction() -> None:
    taps = CausalNet(4, Time2StateConfig(), generator()).blocks[3].first
    bound = 1 / math.sqrt(90)
    for drawn in (taps.direction, taps.bias):
        assert 0.9 * bound < float(drawn.detach().abs().max()) <= bound
    npt.assert_allclose(taps.weight().detach(), taps.direction.detach(), rtol=1e-5)


# ---------------------------------------------------------------- training


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
    npt.assert_allclose(learned_embeddings(windows, config, seed=3), plain, atol=2e-4)


def test_progress_counts_the_steps() -> None:
    seen: list[tuple[str, int, int]] = []
    learned_embeddings(windows_of(planted()), TINY, 0, lambda *told: seen.append(told))
    assert seen == [("training", done, 4) for done in range(1, 5)]


def test_seeds_differ() -> None:
    windows = windows_of(planted())
    assert not np.allclose(learned_embeddings(windows, TINY, 0), learned_embeddings(windows, TINY, 1))


# ---------------------------------------------------------------- states


def test_separate_heaps_of_windows_are_states_in_order_of_appearance() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2, 1, 0], 30)
    heaps = rng.normal(size=(150, 2)) * 0.1 + 10 * rng.permutation(np.eye(3, 2) - np.eye(3, 2, k=-1))[truth]
    config = Time2StateConfig(component_cap=3)
    npt.assert_array_equal(states_of(heaps, config, seed=1), truth)


@pytest.mark.parametrize("n_windows", [0, 1, 2, 3, 19, 21])
def test_fewer_windows_than_components_are_enough(n_windows: int) -> None:
    embeddings = np.random.default_rng(0).normal(size=(n_windows, 4))
    states = states_of(embeddings, Time2StateConfig(), seed=0)
    assert states.shape == (n_windows,)
    assert states.dtype == np.int32


@pytest.mark.parametrize("n_different", [1, 2])
@pytest.mark.parametrize("n_dims", [1, 4])
def test_few_different_windows_are_as_few_states(n_different: int, n_dims: int) -> None:
    truth = np.arange(60) // 5 % n_different
    embeddings = np.random.default_rng(0).normal(size=(n_different, n_dims))[truth]
    states = states_of(embeddings, Time2StateConfig(), seed=0)
    assert len(set(zip(states.tolist(), truth.tolist(), strict=True))) == n_different


def test_a_mixture_that_has_not_settled_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time2state, "_MIXTURE_ITERATIONS", 1)
    embeddings = np.random.default_rng(0).normal(size=(100, 4))
    with pytest.warns(RondoWarning, match="time2state: the mixture had not settled after 1 iterations") as caught:
        states_of(embeddings, Time2StateConfig(), seed=0)
    assert len(caught) == 1


# ---------------------------------------------------------------- vote


@given(
    st.integers(1, 12).flatmap(lambda length: st.tuples(st.just(length), st.integers(1, length))),
    st.integers(0, 40),
    st.integers(0, 5),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_vote_is_that_of_the_matrix(lengths: tuple[int, int], n_frames: int, hole: int, data: st.DataObject) -> None:
    length, step = lengths
    middle = n_frames // 2
    grid = WindowGrid(length, step, n_frames, ((0, middle), (min(middle + hole, n_frames), n_frames)))
    states = data.draw(st.lists(st.integers(0, 3), min_size=grid.n_windows, max_size=grid.n_windows))
    track = voted(np.array(states, dtype=np.int32), grid)
    assert track.shape == (n_frames,)
    covered = np.zeros(n_frames, dtype=np.bool_)
    if states:
        counted = naive.votes(states, grid.starts.tolist(), length, n_frames)
        covered = counted.any(axis=1)
        npt.assert_array_equal(track[covered], counted.argmax(axis=1)[covered])
    npt.assert_array_equal(track[~covered], grid.project(states, "start")[~covered])


def test_ties_go_to_the_first_state_tails_to_the_last_window_and_holes_to_other() -> None:
    grid = WindowGrid(4, 2, 14, ((0, 9), (11, 14)))
    assert grid.starts.tolist() == [0, 2, 4]
    assert voted(np.array([1, 0, 2], dtype=np.int32), grid).tolist() == [1, 1, 0, 0, 0, 0, 2, 2, 2] + [OTHER] * 5


# ---------------------------------------------------------------- the whole


def test_all_channels_share_one_mean_and_one_deviation() -> None:
    values = planted(100) * np.float32([1, 10, 100])
    values[40:60] = 1e6  # outside the spans: must not count
    spans = ((0, 40), (60, 100))
    signal = signal_of(values, spans)
    scaled = standardised(signal)
    usable = np.r_[0:40, 60:100]
    assert scaled.dtype == np.float32
    npt.assert_allclose(scaled[usable].mean(), 0, atol=1e-6)
    npt.assert_allclose(scaled[usable].std(), 1, atol=1e-6)
    ratio = scaled[usable].std(axis=0) / values[usable].std(axis=0)
    npt.assert_allclose(ratio, ratio[0], rtol=1e-5)
    moved = standardised(replace(signal, values=values * 8 + 64))
    npt.assert_allclose(moved[usable], scaled[usable], atol=1e-5)


@pytest.mark.parametrize("level", [0.0, 0.1, -3e5])
def test_a_signal_without_change_is_refused(level: float) -> None:
    with pytest.raises(RecordingError, match=r"^recording 'walk': all values are the same, nothing can recur; check"):
        standardised(signal_of(np.full((50, 2), level, dtype=np.float32)))


def method(**windows: int) -> Time2State:
    return Time2State(TINY.model_copy(update={"windows": time2state.Time2StateWindows(**windows)}))


def test_a_stretch_too_short_to_train_on_is_refused_by_name() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(RecordingError, match=r"'walk': .* 3 windows one frame apart, which takes 18 frames, .* has 17"):
        method(length=16, step=4).fit_predict(signal_of(planted(17)), rng)
    assert (method(length=16, step=4).fit_predict(signal_of(planted(18)), rng) == 0).all()  # one window, one state
    with pytest.raises(SettingError, match=r"windows\.length is 16 frames, .* recording 'walk' has 15"):
        method(length=16, step=4).fit_predict(signal_of(planted(15)), rng)


def test_one_scale_for_all_channels_does_not_matter_and_the_generator_does() -> None:
    values = planted()
    labels, scaled, other = (
        method(length=16, step=4).fit_predict(signal_of(given), np.random.default_rng(seed))
        for given, seed in ((values, 0), (values * np.float32(64), 0), (values, 1))
    )
    npt.assert_array_equal(scaled, labels)
    assert (other != labels).any()


def test_states_that_differ_are_found() -> None:
    rng = np.random.default_rng(0)
    truth = np.tile(np.repeat([0, 1, 2], 200), 3)
    time = np.arange(truth.size)
    rates, levels = np.array([0.05, 0.3, 1.0])[truth], np.array([0.0, 1.5, -1.5])[truth]
    values = np.column_stack([np.sin(rates * time) + levels, np.cos(rates * time)]) + rng.normal(size=(1800, 2)) * 0.1
    config = Time2StateConfig(hidden_dim=10, depth=5, pooled_dim=20, component_cap=6)
    windows = time2state.Time2StateWindows(length=40, step=10)
    found = Time2State(config.model_copy(update={"windows": windows}))
    labels = found.fit_predict(signal_of(values.astype(np.float32)), rng)
    assert evaluate({"walk": (truth, labels)}).average.ami > 60
