"""Windows, scale, groups, mixture and vote, which E2USD and Time2State share."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.checks.encoders import planted
from rondo.data.labels import Labels
from rondo.data.windows import WindowGrid
from rondo.errors import RecordingError, RondoWarning, SettingError
from rondo_bench.baselines import window_states
from rondo_bench.baselines.e2usd import E2USD, E2USDConfig, FittedE2USD
from rondo_bench.baselines.window_states import (
    Components,
    Groups,
    Scale,
    StateWindows,
    WindowStatesConfig,
    fitted_components,
    voted,
)
from tests import naive_time2state
from tests.bench.baselines.signals import signal_of

TINY = E2USDConfig(windows=StateWindows(length=16, step=4), pooled_dim=7, n_groups=4, group_size=3, n_steps=2)


def changed(**updates: object) -> E2USD:
    return E2USD(TINY.model_copy(update=updates))


def weights_of(fitted: FittedE2USD) -> NDArray[np.float32]:
    weights: NDArray[np.float32] = fitted.learned.net.joint.weight.detach().numpy()  # type: ignore[attr-defined]
    return weights


@given(
    st.integers(1, 12).flatmap(lambda length: st.tuples(st.just(length), st.integers(1, length))),
    st.integers(0, 40),
    st.integers(0, 5),
    st.data(),
)
def test_vote_is_that_of_the_matrix(lengths: tuple[int, int], n_frames: int, hole: int, data: st.DataObject) -> None:
    length, step = lengths
    middle = n_frames // 2
    grid = WindowGrid(length, step, n_frames, ((0, middle), (min(middle + hole, n_frames), n_frames)))
    states = data.draw(st.lists(st.integers(0, 3), min_size=grid.n_windows, max_size=grid.n_windows))
    track = voted(np.array(states, dtype=np.int32), grid)
    assert track.shape == (n_frames,)
    covered = np.zeros(n_frames, dtype=np.bool_)
    if states:
        counted = naive_time2state.votes(states, grid.starts.tolist(), length, n_frames)
        covered = counted.any(axis=1)
        npt.assert_array_equal(track[covered], counted.argmax(axis=1)[covered])
    npt.assert_array_equal(track[~covered], grid.project(states, "start")[~covered])


def test_all_channels_share_one_mean_and_one_deviation() -> None:
    values = planted(100) * np.float32([1, 10, 100])
    values[40:60] = 1e6  # outside the spans: must not count
    spans = ((0, 40), (60, 100))
    signal = signal_of(values, spans)
    scaled = Scale.of(signal).apply(signal)
    usable = np.r_[0:40, 60:100]
    assert scaled.dtype == np.float32
    npt.assert_allclose(scaled[usable].mean(), 0, atol=1e-6)
    npt.assert_allclose(scaled[usable].std(), 1, atol=1e-6)
    ratio = scaled[usable].std(axis=0) / values[usable].std(axis=0)
    npt.assert_allclose(ratio, ratio[0], rtol=1e-5)
    moved = replace(signal, values=values * 8 + 64)
    npt.assert_allclose(Scale.of(moved).apply(moved)[usable], scaled[usable], atol=1e-5)


def test_groups_lie_in_one_span_and_in_the_share_that_is_learned_from() -> None:
    config = WindowStatesConfig(group_size=3, fit_share=0.5)
    signal = signal_of(planted(40), ((0, 9), (11, 40)))
    groups = Groups.within(signal, 6, config, "e2usd")
    assert groups.starts.tolist() == [0, 1, 11, 12]  # 8 frames each, within frames 0-8 and 11-19
    with pytest.raises(RecordingError, match=r"'walk': e2usd .* 12 frames.* has 9"):
        Groups.within(signal, 10, config, "e2usd")


def test_training_windows_may_have_another_length() -> None:
    signal = signal_of(planted(100))
    same, set_the_same, longer = (
        changed(windows=StateWindows(length=16, step=4, training=training)).fit(signal, np.random.default_rng(0))
        for training in ("auto", 16, 40)
    )
    one, two, three = (weights_of(fitted) for fitted in (same, set_the_same, longer))
    npt.assert_array_equal(one, two)
    assert (one != three).any()
    assert longer.learned.length == 16
    with pytest.raises(RecordingError, match="takes 102 frames"):
        changed(windows=StateWindows(length=16, step=4, training=100)).fit(signal, np.random.default_rng(0))
    with pytest.raises(SettingError, match=r"windows\.training"):
        changed(windows=StateWindows(length=16, step=4, training="2s")).fit(signal, np.random.default_rng(0))


def test_network_and_mixture_learn_from_the_share_alone() -> None:
    """Frames after the share in another order leave the scale as it is, but for rounding; nothing else sees them."""
    values = planted(400)
    shuffled = np.concatenate([values[:200], np.random.default_rng(1).permutation(values[200:])])
    one, other = (
        changed(fit_share=0.5).fit(signal_of(given), np.random.default_rng(0)) for given in (values, shuffled)
    )
    npt.assert_allclose(weights_of(one), weights_of(other), rtol=1e-4)
    weights = (np.sort(fitted.learned.components.mixture.weights_) for fitted in (one, other))
    npt.assert_allclose(next(weights), next(weights), rtol=1e-3)


def test_a_recording_that_does_not_fit_is_refused() -> None:
    fitted = changed().fit(signal_of(planted(200)), np.random.default_rng(0))
    with pytest.raises(RecordingError, match=r"'walk': .* 3 channels .* has 2"):
        fitted.predict(signal_of(planted(200, 2)))
    with pytest.raises(RecordingError, match=r"'walk': .* 16 frames .* 15 frames"):
        fitted.predict(signal_of(planted(40), ((0, 15), (20, 34))))


def states_of(embeddings: NDArray[np.float64], cap: int = 20, seed: int = 0) -> Labels:
    components = fitted_components(embeddings, cap, 1e3, seed, "e2usd")
    return components.in_order(components.states_of(embeddings)).states_of(embeddings)


@pytest.mark.parametrize("n_windows", [0, 1, 19])
def test_fewer_windows_than_components_are_enough(n_windows: int) -> None:
    states = states_of(np.random.default_rng(0).normal(size=(n_windows, 4)))
    assert states.shape == (n_windows,)
    assert states.dtype == np.int32


def test_numbers_follow_appearance_and_the_unseen_come_last() -> None:
    nearest = SimpleNamespace(predict=lambda embeddings: (embeddings[:, 0] // 10).astype(int))
    components = Components(nearest, np.arange(4, dtype=np.int32))
    numbered = components.in_order(np.array([2, 2, 0, 2], dtype=np.int32))
    assert numbered.states_of(np.array([[29.0], [1.0], [11.0], [31.0]])).tolist() == [0, 1, 2, 3]
    again = numbered.in_order(np.array([3, 1], dtype=np.int32))
    assert again.states_of(np.array([[31.0], [1.0], [29.0], [11.0]])).tolist() == [0, 1, 2, 3]


def test_a_mixture_that_has_not_settled_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_states, "_MIXTURE_ITERATIONS", 1)
    embeddings = np.random.default_rng(0).normal(size=(100, 4))
    with pytest.warns(RondoWarning, match="not settled after 1 iterations") as caught:
        states_of(embeddings)
    assert len(caught) == 1
