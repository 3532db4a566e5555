"""Two scales: the long window follows the recording, the window of units is a quarter of it."""

from __future__ import annotations

from typing import Any

import pytest

from rondo.config.settings import resolve
from rondo.data.window_lengths import (
    choose_scales,
    suggest_motif_window,
    suggest_window,
    typical_period,
    window_and_step,
)
from rondo.errors import SettingError
from tests.data.test_suggest import signal_of, waves


def chosen(n_frames: int, rate: float | None, n_channels: int = 4, **settings: Any) -> tuple[int, int, int]:
    signal = signal_of(waves(n_frames, *[64.0] * n_channels), rate)
    overrides = {name.replace("_", ".", 1): value for name, value in settings.items()}
    return tuple(choose_scales([signal], resolve(overrides=overrides)))


@pytest.mark.parametrize("rate", [20.0, 50.0, 100.0])
@pytest.mark.parametrize(("seconds", "long"), [(30, 1.5), (60, 1.5), (120, 3.0), (200, 5.0), (240, 6.0), (1000, 6.0)])
def test_the_long_window_is_a_fortieth_of_the_recording_between_bounds(rate: float, seconds: int, long: float) -> None:
    unit, step, motif = chosen(int(seconds * rate), rate)
    assert motif == round(long * rate)
    assert unit == max(8, round(0.3 * rate), round(motif / 4))
    assert step == max(1, unit // 4)


def test_a_window_of_units_is_at_least_three_tenths_of_a_second_and_eight_frames() -> None:
    assert chosen(100 * 300, 100.0, motifs_window=80)[0] == 30
    assert chosen(12 * 300, 12.0, motifs_window=18)[0] == 8
    unit, _, motif = chosen(12 * 40, 12.0)
    assert (unit, motif) == (8, 18)


def test_a_typical_recording_counts_where_there_are_several() -> None:
    signals = [signal_of(waves(n, *[64] * 4), 50.0) for n in (2_000, 6_000, 90_000)]
    assert suggest_motif_window(signals) == 6_000 // 40


def test_a_window_of_units_fits_twenty_times_into_the_longest_stretch() -> None:
    unit, _, motif = chosen(200, 50.0)
    assert unit == 10  # a quarter of 75 would be 19
    assert motif == 75


@pytest.mark.parametrize("rate", [None, 1.0, 9.9])
def test_where_seconds_mean_little_the_bounds_are_periods(rate: float | None) -> None:
    for n_frames, periods in ((1_000, 1), (6_400, 2.5), (100_000, 4)):
        signal = signal_of(waves(n_frames, *[64] * 4), rate)
        period = typical_period([signal])
        assert period == pytest.approx(64, rel=0.1)
        motif = choose_scales([signal], resolve()).motif_frames
        assert motif == pytest.approx(n_frames / 40 if periods == 2.5 else periods * period, abs=1)


def test_at_ten_hertz_seconds_count() -> None:
    assert chosen(100_000, 10.0)[2] == 60


@pytest.mark.parametrize("n_channels", [1, 3])
def test_few_channels_without_a_rate_are_told_apart_by_shapes(n_channels: int) -> None:
    signal = signal_of(waves(40_000, *[32] * n_channels), None)
    window = suggest_window([signal])
    unit, step, motif = choose_scales([signal], resolve())
    assert window == pytest.approx(20 * 32, rel=0.05)
    assert (unit, step, motif) == (window, window // 4, 4 * window)


def test_few_channels_with_a_rate_follow_the_rule() -> None:
    slow = [signal_of(waves(1_440, *[80] * n_channels), 1 / 60) for n_channels in (1, 4)]
    assert choose_scales(slow[:1], resolve()) == choose_scales(slow[1:], resolve()) == (20, 5, 80)
    assert chosen(50 * 200, 50.0, n_channels=1) == chosen(50 * 200, 50.0)


def test_given_windows_are_taken() -> None:
    assert chosen(50 * 200, 50.0, windows_length=40) == (40, 10, 250)
    assert chosen(50 * 200, 50.0, windows_length="0.5s", windows_step="0.1s") == (25, 5, 250)
    assert chosen(50 * 200, 50.0, motifs_window="4s") == (50, 12, 200)
    assert chosen(50 * 200, 50.0, windows_length=40, windows_step=20, motifs_window=90) == (40, 20, 90)


def test_the_long_window_holds_two_windows_of_units_unless_it_was_given() -> None:
    assert chosen(50 * 200, 50.0, windows_length=200) == (200, 50, 400)
    assert chosen(50 * 200, 50.0, windows_length=200, motifs_window=250) == (200, 50, 250)


def test_a_window_that_no_stretch_holds_is_refused() -> None:
    with pytest.raises(SettingError, match=r"windows\.length is 300 frames"):
        chosen(250, 50.0, windows_length=300)


@pytest.mark.parametrize("method", ["none", "motif_former"])
def test_without_contexts_there_is_one_scale(method: str) -> None:
    signal = signal_of(waves(50 * 200, *[64] * 4), 50.0)
    config = resolve(overrides={"motifs.method": method})
    length, step = window_and_step([signal], config.windows)
    assert choose_scales([signal], config) == (length, step, length)
