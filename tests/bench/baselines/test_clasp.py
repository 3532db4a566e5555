from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ranksums

from rondo_bench.baselines import clasp
from rondo_bench.baselines.clasp import change_points, neighbours, p_value, predicted, profile
from tests import naive_clap as naive
from tests.bench.baselines.gait import CLASPY, gait


@given(st.integers(12, 90), st.integers(0, 99), st.sampled_from([0.05, 0.3, 2.0]))
@settings(max_examples=10)
def test_a_window_is_as_unlike_the_whole_as_by_loops(n_frames: int, seed: int, rate: float) -> None:
    channel = np.sin(rate * np.arange(n_frames)) + 0.2 * np.random.default_rng(seed).normal(size=n_frames)
    scaled = (channel - channel.min()) / np.ptp(channel)
    for length in (1, 2, 5, n_frames // 2, n_frames - 1):
        assert clasp._unlikeness(scaled, length) == pytest.approx(naive.unlikeness(scaled, length), rel=1e-6)


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


@given(st.integers(0, 999))
@settings(max_examples=20)
def test_labels_are_those_of_most_neighbours(seed: int) -> None:
    near = np.random.default_rng(seed).integers(0, 50, (50, 3))
    assert predicted(near, 25, 4).tolist() == naive.predicted(near, 25, 4)


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
