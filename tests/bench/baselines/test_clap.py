"""ClaSP, ROCKET and CLaP against loops, and against what claspy found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import ranksums

from rondo.data.labels import OTHER
from rondo.data.signal import Signal
from rondo_bench.baselines import clap, clasp
from rondo_bench.baselines.baseline import in_order_of_appearance
from rondo_bench.baselines.clap import (
    CLaP,
    CLaPConfig,
    Kernels,
    RocketWindows,
    draw_kernels,
    features,
    merged,
    standardised,
)
from rondo_bench.baselines.clasp import change_points, neighbours, p_value, profile
from tests import naive_clap as naive
from tests.bench.baselines.signals import signal_of

LENGTHS, KINDS = (500, 420, 560, 450), (0, 1, 0, 2)


class Found(NamedTuple):
    """Windows by SuSS, change points and states of segments in order of appearance."""

    lengths: list[int]
    changes: list[int]
    states: list[int]


CLASPY = {
    (1, 0): Found([30], [476, 912, 1474], [0, 1, 0, 2]),
    (2, 1): Found([30, 30], [497, 920, 1476], [0, 1, 0, 2]),
    (3, 0): Found([28, 30, 32], [495, 928, 1473], [0, 1, 2, 3]),
}
"""By number of channels and seed; recorded with claspy 0.2.8 and aeon 1.6.0 (numpy 2.2.6), on one thread."""


def gait(n_channels: int, seed: int) -> NDArray[np.float64]:
    """Four segments of three kinds; the first and the third are nearly alike.

    Something small grows from segment to segment: where one recurs exactly, ClaSP finds no change beside it.
    """
    rng = np.random.RandomState(seed)
    phase = rng.uniform(0, 6, n_channels)
    pieces = []
    for i, (n_frames, kind) in enumerate(zip(LENGTHS, KINDS, strict=True)):
        t = np.arange(n_frames)[:, None] / 3.0 + phase
        wave = (np.sin(t), np.sign(np.sin(1.6 * t)), np.sin(t) + np.sin(2 * t + 1))[kind]
        pieces.append(wave + 0.1 * i * np.sin(2.3 * t))
    return np.asarray(np.concatenate(pieces) + 0.2 * rng.standard_normal((sum(LENGTHS), n_channels)))


@pytest.mark.parametrize(("n_frames", "period"), [(300, 5), (300, 20), (300, 60), (90, 20), (40, 400)])
def test_window_is_the_shortest_that_is_alike(n_frames: int, period: float) -> None:
    channel = np.sin(2 * np.pi * np.arange(n_frames) / period)
    assert clasp.suss(channel) == naive.suss(channel)


@pytest.mark.parametrize("block", [1, 1 << 19])
@pytest.mark.parametrize(("n_channels", "width"), [(1, 4), (2, 7)])
def test_neighbours_are_those_of_loops(
    n_channels: int, width: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clasp, "_BLOCK", block)
    series = np.random.default_rng(0).normal(size=(48, n_channels)).cumsum(axis=0)
    intervals = [(0, 48), (10, 40)]
    for interval, found in zip(intervals, neighbours(series, width, intervals), strict=True):
        assert [set(row) for row in found.tolist()] == naive.neighbours(series, width, interval)


def test_a_channel_that_stands_still_has_no_say() -> None:
    rng = np.random.default_rng(0)
    series = rng.normal(size=(80, 2))
    series[20:50, 1] = 3.0 + 1e-5 * rng.normal(size=30)
    (found,) = neighbours(series, 8, [(0, 80)])
    (alone,) = neighbours(series[:, :1], 8, [(0, 80)])
    npt.assert_array_equal(np.sort(found[20:43]), np.sort(alone[20:43]))


@given(st.integers(2, 6), st.integers(0, 40), st.integers(0, 999))
@settings(max_examples=20)
def test_profile_is_that_of_the_labels(width: int, more: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 10 * width + more
    near = np.clip(np.arange(n)[:, None] + rng.integers(-3 * width, 3 * width + 1, (n, 3)), 0, n - 1)
    npt.assert_allclose(profile(near, width), naive.profile(near, width), atol=1e-12)


@given(st.lists(st.booleans(), min_size=2, max_size=60), st.data())
def test_p_value_is_that_of_the_rank_sums(labels: list[bool], data: st.DataObject) -> None:
    split = data.draw(st.integers(1, len(labels) - 1))
    ones = np.array(labels)
    assert p_value(ones, split) == pytest.approx(ranksums(ones[:split], ones[split:]).pvalue, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("n_channels", "seed"), CLASPY)
def test_windows_and_change_points_are_those_of_claspy(n_channels: int, seed: int) -> None:
    series, recorded = gait(n_channels, seed), CLASPY[n_channels, seed]
    assert [clasp.suss(channel) for channel in series.T] == recorded.lengths
    assert change_points(series, min(recorded.lengths) // 2, 2357) == recorded.changes


def drawn(n_kernels: int, n_channels: int, length: int, seed: int = 0) -> list[Kernels]:
    return draw_kernels(n_kernels, n_channels, length, np.random.RandomState(seed))


def windows_of(n_windows: int, n_channels: int, length: int) -> RocketWindows:
    return np.random.default_rng(0).normal(size=(n_windows, n_channels, length)).astype(np.float32)


@pytest.mark.parametrize("block", [1, 1 << 22])
@pytest.mark.parametrize(("n_channels", "length"), [(1, 30), (3, 24), (2, 8), (1, 5)])
def test_features_are_those_of_loops(n_channels: int, length: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clap, "_BLOCK", block)
    windows, kernels = windows_of(3, n_channels, length), drawn(12, n_channels, length)
    found, column = features(windows, kernels), 0
    for kind in kernels:
        n_kernels = len(kind.biases)
        for k in range(n_kernels):
            for i, window in enumerate(standardised(windows)):
                loop = naive.rocket_features(window, kind.weights[k], kind.biases[k], kind.dilation, kind.padding)
                npt.assert_allclose(found[i, [column + k, column + n_kernels + k]], loop, atol=1e-5)
        column += 2 * n_kernels
    assert column == found.shape[1] == 24


QUICK = CLaPConfig(n_kernels=200)
Array = NDArray[np.float64]


def labels_of(signal: Signal, config: CLaPConfig = QUICK) -> NDArray[np.int32]:
    return CLaP(config).fit_predict(signal, np.random.default_rng(0))


def right(labels: NDArray[np.int32], truth: NDArray[np.int64]) -> float:
    return float((in_order_of_appearance(labels) == truth).mean())


TRUTH = np.repeat(KINDS, LENGTHS)


@pytest.mark.parametrize("n_channels", [1, 2])
def test_what_recurs_is_found_again(n_channels: int) -> None:
    assert right(labels_of(signal_of(gait(n_channels, 0))), TRUTH) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("n_channels", "seed"), [(1, 0), (2, 1)])  # with (3, 0) it hangs on the draw of kernels
def test_states_are_those_of_claspy(n_channels: int, seed: int) -> None:
    labels = labels_of(signal_of(gait(n_channels, seed)), CLaPConfig())
    recorded = CLASPY[n_channels, seed]
    segments = np.diff([0, *recorded.changes, len(labels)])
    npt.assert_array_equal(in_order_of_appearance(labels), np.repeat(recorded.states, segments))


def test_gaps_are_closed_up_and_never_seen() -> None:
    values = gait(2, 0)
    holed = np.insert(values, 600, np.full((50, 2), 1e6), axis=0)
    labels = labels_of(signal_of(holed, ((0, 600), (650, 1980))))
    assert (labels[600:650] == OTHER).all()
    npt.assert_array_equal(np.delete(labels, np.s_[600:650]), labels_of(signal_of(values)))


def test_downsampling_gives_a_state_to_each_frame_still() -> None:
    values = np.repeat(gait(2, 0), 3, axis=0)[:-1]  # the last block is short
    labels = labels_of(signal_of(values), QUICK.model_copy(update={"downsample": 3}))
    assert right(labels, np.repeat(TRUTH, 3)[:-1]) > 0.97


@pytest.mark.slow
@given(st.integers(1, 6), st.integers(0, 999), st.sampled_from([0.2, 0.5, 0.9]))
@settings(max_examples=25)
def test_merging_is_that_of_relabelling(n_segments: int, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(n_segments), rng.integers(0, n_segments, 40)])
    guess = np.where(rng.random(truth.size) < share, truth, rng.integers(0, n_segments, truth.size))
    confusion = np.zeros((n_segments, n_segments), dtype=np.int64)
    np.add.at(confusion, (truth, guess), 1)
    npt.assert_array_equal(
        in_order_of_appearance(merged(confusion)), in_order_of_appearance(naive.merged(truth, guess))
    )
