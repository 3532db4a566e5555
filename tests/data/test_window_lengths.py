"""Window lengths that nobody gave: one scale and two, the typical period, and recordings that are too short."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

import rondo
from rondo.config.settings import WindowsConfig, resolve
from rondo.data.recording import Recording
from rondo.data.signal import Signal
from rondo.data.window_lengths import (
    choose_scales,
    refuse_too_short,
    suggest_motif_window,
    suggest_window,
    too_few_windows,
    typical_period,
    window_and_step,
    window_curve,
)
from rondo.data.windows import Span, WindowGrid
from rondo.errors import RecordingError, SettingError


def signal_of(values: ArrayLike, rate: float | None = None, spans: tuple[Span, ...] = (), id: str = "day1") -> Signal:
    single = np.asarray(values, dtype=np.float32)
    single = single if single.ndim == 2 else single[:, None]
    n_frames = single.shape[0]
    return Signal(id, single, rate, tuple(map(str, range(single.shape[1]))), spans or ((0, n_frames),), n_frames)


def waves(n_frames: int, *periods: float) -> np.ndarray:
    return np.stack([np.sin(2 * np.pi * np.arange(n_frames) / period) for period in periods], axis=1)


def chosen(n_frames: int, rate: float | None, n_channels: int = 4, **settings: Any) -> tuple[int, int, int]:
    signal = signal_of(waves(n_frames, *[64.0] * n_channels), rate)
    overrides = {name.replace("_", ".", 1): value for name, value in settings.items()}
    return tuple(choose_scales([signal], resolve(overrides=overrides)))


# ---------------------------------------------------------------- one scale


@pytest.mark.parametrize(
    ("rate", "periods", "window"),
    [
        (50.0, [64], 75),  # 1.5 s
        (11.0, [64], 16),
        (50.0, [32] * 40, 75),
        (None, [64] * 4, 64),  # a typical period
        (4.0, [64] * 4, 64),  # 1.5 s would be 6 frames
        (4.0, [5] * 4, 16),  # the least
    ],
)
def test_a_window_that_nobody_gave(rate: float | None, periods: list[float], window: int) -> None:
    assert suggest_window([signal_of(waves(8192, *periods), rate)]) == window


@pytest.mark.parametrize("n_channels", [1, 3])
@pytest.mark.parametrize(("rate", "n_periods"), [(None, 20), (4.0, 1)])
def test_a_window_of_few_channels_without_a_rate_holds_twenty_typical_periods(
    n_channels: int, rate: float | None, n_periods: int
) -> None:
    values = waves(40_000, *[32] * n_channels)
    assert suggest_window([signal_of(values, rate)]) == pytest.approx(n_periods * 32, rel=0.05)
    short = values[: 200 * n_periods]
    assert suggest_window([signal_of(short, rate)]) == 10 * n_periods  # no more than a twentieth of the recording


def test_a_suggested_window_fits_twenty_times_into_the_longest_span() -> None:
    assert suggest_window([signal_of(waves(1000, 64), rate=50.0)]) == 50
    assert suggest_window([signal_of(waves(1000, 64), rate=50.0, spans=((0, 300), (300, 1000)))]) == 35
    assert suggest_window([signal_of(waves(7, 3))]) == 1
    assert suggest_window([signal_of(waves(100, 20), 50.0), signal_of(waves(2000, 20), 50.0)]) == 75


@pytest.mark.parametrize(
    ("length", "step", "expected"),
    [("auto", "auto", (75, 18)), ("2s", "500ms", (100, 25)), (64, 16, (64, 16)), (3, "auto", (3, 1))],
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
    with pytest.raises(SettingError, match=r"windows\.length = '2s'"):  # seconds need a rate
        window_and_step([one], WindowsConfig(length="2s"))


@given(st.integers(1, 400), st.integers(1, 3), st.sampled_from([None, 0.1, 5.0, 50.0, 2000.0]), st.integers(0, 99))
def test_a_suggestion_always_makes_a_grid(n_frames: int, n_channels: int, rate: float | None, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(n_frames, n_channels))
    length, step = window_and_step([signal_of(values, rate)], WindowsConfig())
    assert 1 <= step <= length <= n_frames
    assert WindowGrid(length, step, n_frames, ((0, n_frames),)).n_windows >= min(n_frames, 20)


@pytest.mark.parametrize(("periods", "expected"), [([8], 8), ([200], 200), ([16, 64], 32)])
def test_the_typical_period_is_the_geometric_mean_of_waves(periods: list[float], expected: float) -> None:
    assert typical_period([signal_of(waves(8192, *periods))]) == pytest.approx(expected, rel=0.05)


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


@pytest.mark.parametrize("period", [20, 200])
def test_power_comes_within_when_a_cycle_fits(period: int) -> None:
    for one in window_curve([signal_of(waves(8192, period), 50.0)]):
        if one.length_frames < 0.8 * period:
            assert one.power_within < 0.1
        if one.length_frames > 1.2 * period:
            assert one.power_within > 0.9


def test_the_curve_of_very_little() -> None:
    assert [one.length_frames for one in window_curve([signal_of(waves(5, 3))])] == [1, 2, 3, 4]
    assert all(one.power_within == 0 for one in window_curve([signal_of(np.zeros((400, 2)))]))


# ---------------------------------------------------------------- two scales


@pytest.mark.parametrize(
    ("n_frames", "long"),
    [
        (1_000, lambda n, period: n / 30),
        (5_000, lambda n, period: n / 30),
        (20_000, lambda n, period: 3 * period),
        (100_000, lambda n, period: n / 265),
        (1_000_000, lambda n, period: 24 * period),
    ],
)
def test_the_long_window_follows_the_recording_and_its_period(
    n_frames: int, long: Callable[[int, float], float]
) -> None:
    signal = signal_of(waves(n_frames, *[64] * 4), None)
    unit, step, motif = choose_scales([signal], resolve())
    assert motif == pytest.approx(long(n_frames, typical_period([signal])), abs=1)
    most = max(0.65 * typical_period([signal]), n_frames / 1060)
    assert unit == pytest.approx(max(8, min(motif / 4, most)), abs=1) and step == max(1, unit // 4)


@pytest.mark.parametrize("n_channels", [1, 3, 4])
def test_the_rate_changes_no_window(n_channels: int) -> None:
    values = waves(20_000, *[64] * n_channels)
    scales = {choose_scales([signal_of(values, rate)], resolve()) for rate in (None, 1 / 60, 2.5, 50.0, 50_000.0)}
    assert len(scales) == 1


def test_one_channel_is_told_apart_by_shapes_which_take_many_periods() -> None:
    signal = signal_of(waves(40_000, 32), 50.0)
    period = typical_period([signal])
    unit, _, motif = choose_scales([signal], resolve())
    assert unit == pytest.approx(20 * period, abs=1) and motif == pytest.approx(2 * unit, abs=1)
    short = choose_scales([signal_of(waves(2_000, 32), 50.0)], resolve())
    assert short == (100, 25, 200)  # a twentieth of the recording


def test_a_window_of_units_fits_twenty_times_into_the_longest_stretch() -> None:
    unit, _, motif = chosen(120, 50.0)
    assert (unit, motif) == (6, 12)  # the least is 8


def test_a_typical_recording_counts_where_there_are_several() -> None:
    signals = [signal_of(waves(n, *[64] * 4), 50.0) for n in (2_000, 4_500, 90_000)]
    assert suggest_motif_window(signals) == 4_500 // 30


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"windows_length": 40}, (40, 10, 192)),
        ({"windows_length": "0.5s", "windows_step": "0.1s"}, (25, 5, 192)),
        ({"motifs_window": "4s"}, (50, 12, 200)),
        ({"motifs_window": 40}, (10, 2, 40)),
        ({"windows_length": 200}, (200, 50, 400)),  # a long window holds two windows of units unless it was given
        ({"windows_length": 200, "motifs_window": 250}, (200, 50, 250)),
        ({"windows_length": 40, "windows_step": 20, "motifs_window": 90}, (40, 20, 90)),
    ],
)
def test_given_windows_are_taken(settings: dict[str, Any], expected: tuple[int, int, int]) -> None:
    assert chosen(50 * 200, 50.0, **settings) == expected


@pytest.mark.parametrize("method", ["none", "motif_former"])
def test_without_contexts_there_is_one_scale(method: str) -> None:
    signal = signal_of(waves(50 * 200, *[64] * 4), 50.0)
    config = resolve(overrides={"motifs.method": method})
    length, step = window_and_step([signal], config.windows)
    assert choose_scales([signal], config) == (length, step, length)


# ---------------------------------------------------------------- too short


@pytest.mark.parametrize("n_frames", [2, 19])
def test_fewer_frames_than_windows_are_refused(n_frames: int) -> None:
    values = np.random.default_rng(0).normal(size=(n_frames, 2))
    with pytest.raises(RecordingError, match=rf"{n_frames} frames .* 160 frames"):
        rondo.discover(values, rate=10)


def test_many_short_recordings_count_together_and_a_window_too_long_is_noted() -> None:
    refuse_too_short([Recording([[0.0], [1.0]])] * 10)
    assert too_few_windows([8] * 25, 8) == ""
    assert "only 5 windows of 8 frames" in too_few_windows([15] * 5, 8)
    result = rondo.discover(np.random.default_rng(0).normal(size=(300, 2)), rate=10, window=60)
    notes = " ".join(result.summary.recordings[0].notes)
    assert "short: only 5 windows of 60" in notes and "record 1200 frames or more" in notes
