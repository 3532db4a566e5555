from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.data.signal import Signal
from rondo.data.windows import Span
from rondo.errors import RecordingError, RondoWarning, SettingError
from rondo_bench.baselines.base import build_baseline, in_order_of_appearance
from rondo_bench.baselines.clap import (
    CLaP,
    CLaPConfig,
    block_means,
    classification_gain,
    estimated_seconds,
    merged,
    out_of_fold,
    samples,
    states_of_segments,
    warn_long,
)
from tests import naive_clap as naive
from tests.bench.baselines.gait import CLASPY, KINDS, LENGTHS, gait

QUICK = CLaPConfig(n_kernels=200)
Array = NDArray[np.float64]


def signal_of(values: Array, spans: tuple[Span, ...] | None = None) -> Signal:
    n_frames, n_channels = values.shape
    names = tuple(f"c{i}" for i in range(n_channels))
    return Signal("walk", values.astype(np.float32), None, names, spans or ((0, n_frames),), n_frames)


def predicted(signal: Signal, config: CLaPConfig = QUICK) -> NDArray[np.int32]:
    return CLaP(config).fit_predict(signal, np.random.default_rng(0))


def right(labels: NDArray[np.int32], truth: NDArray[np.int64]) -> float:
    return float((in_order_of_appearance(labels) == truth).mean())


TRUTH = np.repeat(KINDS, LENGTHS)


# ---------------------------------------------------------------- the whole


@pytest.mark.parametrize("n_channels", [1, 2])
def test_what_recurs_is_found_again(n_channels: int) -> None:
    assert right(predicted(signal_of(gait(n_channels, 0))), TRUTH) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("n_channels", "seed"), [(1, 0), (2, 1)])  # with (3, 0) it hangs on the draw of kernels
def test_states_are_those_of_claspy(n_channels: int, seed: int) -> None:
    labels = predicted(signal_of(gait(n_channels, seed)), CLaPConfig())
    recorded = CLASPY[n_channels, seed]
    segments = np.diff([0, *recorded.changes, len(labels)])
    npt.assert_array_equal(in_order_of_appearance(labels), np.repeat(recorded.states, segments))


def test_gaps_are_closed_up_and_never_seen() -> None:
    values = gait(2, 0)
    holed = np.insert(values, 600, np.full((50, 2), 1e6), axis=0)
    labels = predicted(signal_of(holed, ((0, 600), (650, 1980))))
    assert (labels[600:650] == OTHER).all()
    npt.assert_array_equal(np.delete(labels, np.s_[600:650]), predicted(signal_of(values)))


def test_constant_channels_change_nothing() -> None:
    values = gait(2, 0)
    npt.assert_array_equal(predicted(signal_of(np.insert(values, 1, 7, axis=1))), predicted(signal_of(values)))


def test_units_of_measurement_do_not_matter_where_nothing_was_scaled() -> None:
    values = gait(2, 0)
    npt.assert_array_equal(predicted(signal_of(values * 2.0**-20)), predicted(signal_of(values)))


def test_downsampling_gives_a_state_to_each_frame_still() -> None:
    values = np.repeat(gait(2, 0), 3, axis=0)[:-1]  # the last block is short
    labels = predicted(signal_of(values), QUICK.model_copy(update={"downsample": 3}))
    assert right(labels, np.repeat(TRUTH, 3)[:-1]) > 0.97


def test_seed_of_the_caller_does_not_matter_and_random_state_does() -> None:
    values = np.random.default_rng(0).normal(size=(600, 2)).cumsum(axis=0)
    config = CLaPConfig(n_kernels=20, significance=1.0)
    first = CLaP(config).fit_predict(signal_of(values), np.random.default_rng(1))
    npt.assert_array_equal(first, CLaP(config).fit_predict(signal_of(values), np.random.default_rng(2)))
    others = [predicted(signal_of(values), config.model_copy(update={"random_state": s})) for s in range(5)]
    assert any((other != first).any() for other in others)


@pytest.mark.parametrize(
    ("n_frames", "change", "needed"),
    [(19, {}, 20), (79, {"downsample": 4}, 80), (39, {"window": 40}, 40)],
)
def test_a_recording_shorter_than_a_window_is_refused(n_frames: int, change: dict[str, int], needed: int) -> None:
    signal = signal_of(gait(1, 0)[:n_frames])
    with pytest.raises(RecordingError, match=rf"^recording 'walk': clap needs at least {needed} .* are {n_frames}$"):
        predicted(signal, QUICK.model_copy(update=change))


@pytest.mark.parametrize("n_frames", [20, 21, 60, 99])
def test_a_recording_too_short_for_a_change_is_one_state(n_frames: int) -> None:
    npt.assert_array_equal(predicted(signal_of(gait(1, 0)[:n_frames])), np.zeros(n_frames))


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(SettingError, match=r"^setting 'window' must be"):
        build_baseline("clap", {"window": 3})
    with pytest.raises(SettingError, match=r"^setting 'significance' must be"):
        build_baseline("clap", {"significance": 2})


def test_progress_ends_with_all_folds() -> None:
    told: list[tuple[str, int, int]] = []
    CLaP(QUICK).fit_predict(signal_of(gait(1, 0)), np.random.default_rng(0), lambda *what: told.append(what))
    states = [(done, total) for what, done, total in told if what == "states"]
    assert states[-1] == (205, 205)
    assert all(a <= b for a, b in pairwise(states))
    assert told[0][0] == "change points (0 found)"


def test_estimated_time_grows_with_the_square_of_the_frames_that_are_left() -> None:
    config = CLaPConfig()
    assert estimated_seconds(400_000, 4, config) / estimated_seconds(200_000, 4, config) == pytest.approx(4, rel=0.2)
    assert estimated_seconds(400_000, 4, CLaPConfig(downsample=8)) == estimated_seconds(50_000, 4, config)


def test_a_long_run_is_said_with_what_would_help() -> None:
    told = r"^recording 'walk': clap will take about 31 min for 130,000 .* with downsample = 4 about 2 min$"
    with pytest.warns(RondoWarning, match=told):
        warn_long("walk", 130_000, 9, CLaPConfig())
    warn_long("walk", 130_000, 9, CLaPConfig(downsample=4))  # nothing to say: warnings are errors here


def test_block_means_are_those_of_a_loop() -> None:
    series = np.random.default_rng(0).normal(size=(23, 3))
    for factor in (1, 2, 5, 22, 23, 24):
        blocks = [series[i : i + factor].mean(axis=0) for i in range(0, 23, factor)]
        npt.assert_allclose(block_means(series, factor), blocks, rtol=1e-12)


# ---------------------------------------------------------------- what is classified


def test_samples_lie_half_a_window_apart_and_mostly_in_their_segment() -> None:
    starts, segments = samples(200, [53, 120], 20, CLaPConfig())
    kept = [start for start in range(0, 181, 10) if not any(change - 9 <= start < change for change in (53, 120))]
    assert sorted(starts.tolist()) == kept
    npt.assert_array_equal(segments, np.digitize(starts, [53, 120]))
    assert starts.tolist() != kept  # shuffled: neighbours in time go to different folds


def test_long_segments_give_so_many_samples_only() -> None:
    _, segments = samples(3000, [2500], 10, CLaPConfig(samples_per_segment=150))
    npt.assert_array_equal(np.bincount(segments), [150, 99])


def test_guesses_are_right_where_windows_differ_and_not_where_they_do_not() -> None:
    rng = np.random.default_rng(0)
    segments = rng.integers(0, 3, 150)
    t = np.arange(40)
    waves = np.stack([np.sin(t / 2), np.sin(t / 4), np.sin(t / 4)])
    phase = rng.integers(0, 40, 150)
    rolled = np.stack([np.roll(waves[s], p) for s, p in zip(segments.tolist(), phase.tolist(), strict=True)])
    windows = (rolled + 0.1 * rng.normal(size=rolled.shape))[:, None].astype(np.float32)
    guesses = out_of_fold(windows, segments, QUICK)
    npt.assert_array_equal(guesses == 0, segments == 0)
    assert 0.25 < (guesses[segments > 0] == segments[segments > 0]).mean() < 0.75


def test_segments_without_windows_stay_alone() -> None:
    series = gait(1, 0)
    states = states_of_segments(series, [420, 425, 750], 34, QUICK)
    assert (states == states[1]).sum() == 1
    npt.assert_array_equal(states_of_segments(series[:100], [50], 200, QUICK), [0, 1])


# ---------------------------------------------------------------- merging


@pytest.mark.slow
@given(st.integers(1, 6), st.integers(0, 999), st.sampled_from([0.2, 0.5, 0.9]))
@settings(max_examples=25, deadline=None)
def test_merging_is_that_of_relabelling(n_segments: int, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(n_segments), rng.integers(0, n_segments, 40)])
    guess = np.where(rng.random(truth.size) < share, truth, rng.integers(0, n_segments, truth.size))
    confusion = np.zeros((n_segments, n_segments), dtype=np.int64)
    np.add.at(confusion, (truth, guess), 1)
    npt.assert_array_equal(
        in_order_of_appearance(merged(confusion)), in_order_of_appearance(naive.merged(truth, guess))
    )


def test_what_is_always_told_apart_is_never_merged() -> None:
    npt.assert_array_equal(merged(np.diag([5, 9, 2, 7])), [0, 1, 2, 3])


def test_what_is_confused_is_merged() -> None:
    states = merged(np.array([[5, 0, 6], [0, 9, 0], [4, 0, 5]]))
    assert states[0] == states[2] != states[1]


def test_gain_is_that_over_guesses_by_frequency() -> None:
    assert classification_gain(np.diag([30.0, 10.0])) == pytest.approx(1 / 2)
    by_chance = np.outer([30, 10], [30, 10]) / 40
    assert classification_gain(by_chance) == pytest.approx(0)
