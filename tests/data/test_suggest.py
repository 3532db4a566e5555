"""A window for recordings whose owner gave none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from rondo.config.settings import WindowsConfig
from rondo.data.signal import Signal
from rondo.data.window_lengths import suggest_window, typical_period, window_and_step, window_curve
from rondo.data.windows import Span, WindowGrid
from rondo.errors import SettingError


def signal_of(values: ArrayLike, rate: float | None = None, spans: tuple[Span, ...] = (), id: str = "day1") -> Signal:
    single = np.asarray(values, dtype=np.float32)
    single = single if single.ndim == 2 else single[:, None]
    n_frames = single.shape[0]
    return Signal(id, single, rate, tuple(map(str, range(single.shape[1]))), spans or ((0, n_frames),), n_frames)


def waves(n_frames: int, *periods: float) -> np.ndarray:
    return np.stack([np.sin(2 * np.pi * np.arange(n_frames) / period) for period in periods], axis=1)


# ---------------------------------------------------------------- the rules


@pytest.mark.parametrize(("rate", "window"), [(50.0, 75), (100.0, 150), (11.0, 16), (1000.0, 1500)])
def test_where_the_rate_is_known_a_window_is_one_and_a_half_seconds(rate: float, window: int) -> None:
    assert suggest_window([signal_of(waves(40_000, 64), rate)]) == window


def test_a_handful_of_frames_is_no_window() -> None:
    """1.5 s at 4 Hz are 6 frames: then the period counts, and at least 16 frames."""
    assert suggest_window([signal_of(waves(4096, 64, 64, 64, 64), rate=4.0)]) == 64
    assert suggest_window([signal_of(waves(4096, 5, 5, 5, 5), rate=4.0)]) == 16


@pytest.mark.parametrize("n_channels", [1, 2, 3])
@pytest.mark.parametrize(("rate", "n_periods"), [(None, 20), (4.0, 1)])
def test_a_window_of_few_channels_without_a_rate_holds_twenty_typical_periods(
    n_channels: int, rate: float | None, n_periods: int
) -> None:
    values = waves(40_000, *[32] * n_channels)
    assert suggest_window([signal_of(values, rate)]) == pytest.approx(n_periods * 32, rel=0.05)
    short = values[: 200 * n_periods]
    assert suggest_window([signal_of(short, rate)]) == 10 * n_periods  # no more than a twentieth of the recording


def test_a_suggested_window_fits_twenty_times() -> None:
    assert suggest_window([signal_of(waves(1000, 64), rate=50.0)]) == 50
    assert suggest_window([signal_of(waves(1000, 64), rate=50.0, spans=((0, 300), (300, 1000)))]) == 35
    assert suggest_window([signal_of(waves(7, 3))]) == 1


@pytest.mark.parametrize(
    ("length", "step", "expected"),
    [
        ("auto", "auto", (75, 18)),
        (100, "auto", (100, 25)),
        ("2s", "500ms", (100, 25)),
        (64, 16, (64, 16)),
        (3, "auto", (3, 1)),
        (1, "auto", (1, 1)),
    ],
)
def test_window_and_step(length: int | str, step: int | str, expected: tuple[int, int]) -> None:
    signals = [signal_of(waves(4000, 20), 50.0)]
    assert window_and_step(signals, WindowsConfig(length=length, step=step)) == expected


def test_a_window_that_fits_nowhere_is_refused_by_name() -> None:
    one = signal_of(waves(100, 20), spans=((0, 40), (60, 100)))
    with pytest.raises(SettingError, match=r"windows\.length is 50 .*'day1' has 40.*--window"):
        window_and_step([one], WindowsConfig(length=50))
    with pytest.raises(SettingError, match="2 recordings has 40"):
        window_and_step([one, one], WindowsConfig(length=50))
    assert window_and_step([one], WindowsConfig(length=40)) == (40, 10)


def test_seconds_need_a_rate() -> None:
    with pytest.raises(SettingError, match=r"windows\.length = '2s'"):
        window_and_step([signal_of(waves(1000, 20))], WindowsConfig(length="2s"))


@given(st.integers(1, 400), st.integers(1, 3), st.sampled_from([None, 0.1, 5.0, 50.0, 2000.0]), st.integers(0, 99))
def test_a_suggestion_always_makes_a_grid(n_frames: int, n_channels: int, rate: float | None, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(n_frames, n_channels))
    length, step = window_and_step([signal_of(values, rate)], WindowsConfig())
    assert 1 <= step <= length <= n_frames
    assert WindowGrid(length, step, n_frames, ((0, n_frames),)).n_windows >= min(n_frames, 20)


# ---------------------------------------------------------------- the typical period


@pytest.mark.parametrize("period", [8, 25, 64, 200])
def test_the_period_of_a_wave_is_found(period: float) -> None:
    assert typical_period([signal_of(waves(8192, period))]) == pytest.approx(period, rel=0.05)


def test_of_two_equal_waves_the_geometric_mean() -> None:
    assert typical_period([signal_of(waves(8192, 16, 64))]) == pytest.approx(32, rel=0.05)


@pytest.mark.parametrize("values", [np.zeros((100, 2)), np.ones((100, 1)), np.zeros((3, 1)), np.ones((9, 1))])
def test_silence_has_a_finite_period(values: np.ndarray) -> None:
    assert 1 <= typical_period([signal_of(values)]) <= 100


# ---------------------------------------------------------------- the curve behind it


def test_the_curve_holds_the_suggestion_and_grows() -> None:
    signals = [signal_of(waves(8192, 16, 90), 50.0), signal_of(waves(3000, 30, 30), 50.0)]
    curve = window_curve(signals)
    assert [one.length_frames for one in curve] == [19, 38, 50, 75, 100, 150, 225, 300]
    assert window_and_step(signals, WindowsConfig()) in [(one.length_frames, one.step_frames) for one in curve]
    for before, after in pairwise(curve):
        assert after.n_windows < before.n_windows
        assert after.cycles > before.cycles
        assert after.power_within >= before.power_within
    grids = [WindowGrid(75, 18, n, ((0, n),)).n_windows for n in (8192, 3000)]
    assert curve[3].n_windows == sum(grids)


@pytest.mark.parametrize("period", [20, 64, 200])
def test_power_comes_within_when_a_cycle_fits(period: int) -> None:
    for one in window_curve([signal_of(waves(8192, period), 50.0)]):
        if one.length_frames < 0.8 * period:
            assert one.power_within < 0.1
        if one.length_frames > 1.2 * period:
            assert one.power_within > 0.9


def test_the_curve_of_very_little() -> None:
    assert [one.length_frames for one in window_curve([signal_of(waves(5, 3))])] == [1, 2, 3, 4]
    assert all(one.power_within == 0 for one in window_curve([signal_of(np.zeros((400, 2)))]))
