from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest

from rondo.checks.encoders import planted, windows_of
from rondo.data.windows import Windows
from rondo.encoders.convolution_shares import (
    ConvolutionShares,
    dilations_of,
    fit_convolution_shares,
    responses,
)
from tests import naive_shapes as naive


def contents(windows: Windows) -> list[np.ndarray]:
    return [window for batch in windows.batches() for window in batch]


def test_responses_are_the_ones_by_definition() -> None:
    values = planted(40, 1)[:, 0]
    for dilation in (1, 2, 4):
        npt.assert_array_equal(responses(values, dilation), np.array(naive.responses(values, dilation), dtype=float))


@pytest.mark.parametrize(("n_channels", "length", "step"), [(1, 9, 3), (1, 33, 8), (2, 25, 25)])
def test_shares_are_the_ones_by_definition(n_channels: int, length: int, step: int) -> None:
    windows = windows_of(planted(90, n_channels), length, step)
    fitted = fit_convolution_shares([windows])
    twins = [naive.shares(window, fitted.dilations.tolist(), fitted.thresholds) for window in contents(windows)]
    npt.assert_array_equal(fitted.of(windows), np.array(twins, np.float32).reshape(len(windows), -1))


def test_a_window_on_its_own_has_the_shares_it_has_in_the_recording() -> None:
    windows = windows_of(planted(20_000, 2), length=70, step=17)  # more frames than one block
    fitted = fit_convolution_shares([windows])
    whole = fitted.of(windows)
    for i, start in enumerate(windows.grid.starts.tolist()):
        if i % 40 == 0:
            alone = windows_of(windows.values[start : start + 70], length=70, step=70)
            npt.assert_array_equal(fitted.of(alone), whole[i : i + 1])


@pytest.mark.parametrize(("offset", "factor"), [(8, 1), (0, 2.0**-20), (0, 2.0**30)])
def test_offset_and_scale_of_a_channel_change_nothing(offset: float, factor: float) -> None:
    values = np.round(planted(400, 1) * 64) / 64  # so that the sum with 8 is exact in single precision
    here, there = (windows_of(v, length=40) for v in (values, (values + offset) * np.float32(factor)))
    npt.assert_array_equal(fit_convolution_shares([there]).of(there), fit_convolution_shares([here]).of(here))


def test_waves_of_equal_statistics_and_other_shape_are_told_apart() -> None:
    time = np.arange(2000) % 40
    rising, falling = time / 40, 1 - (time + 1) / 40  # saw teeth: equal mean, deviation and mean change
    windows = windows_of(np.concatenate([rising, falling])[:, None], length=200, step=200)
    shares = fit_convolution_shares([windows]).of(windows)
    within, between = np.abs(shares[0] - shares[5]).max(), np.abs(shares[0] - shares[15]).max()
    assert within < 0.15
    assert between > 0.5


def test_a_recording_with_a_gap_is_two_recordings() -> None:
    values = planted(400, 1)
    joined = fit_convolution_shares([windows_of(values, spans=((0, 190), (200, 400)))])
    apart = fit_convolution_shares([windows_of(values[:190]), windows_of(values[200:])])
    npt.assert_array_equal(apart.thresholds, joined.thresholds)


def test_thresholds_of_a_long_recording_come_from_frames_all_over_it() -> None:
    values = np.random.default_rng(0).normal(size=(60_000, 1)).astype(np.float32)
    fitted = fit_convolution_shares([windows_of(values, length=64, step=16)])
    above = (responses(values[:, 0], 1) > fitted.thresholds[0, 0][:, None]).mean(axis=1)
    expected = 1 - np.arange(1, 85) * ((5**0.5 - 1) / 2) % 1.0
    npt.assert_allclose(above, expected, atol=0.03)


def test_dilations_fit_into_the_window() -> None:
    assert dilations_of(8) == []
    for length in range(9, 500):
        dilations = dilations_of(length)
        assert dilations[0] == 1
        assert 8 * dilations[-1] < length
        assert dilations == sorted(set(dilations))


def test_shorter_windows_than_fitted_are_silent_where_a_kernel_does_not_fit() -> None:
    fitted = ConvolutionShares(np.array([1, 10]), np.zeros((1, 2, 84)))
    shares = fitted.of(windows_of(planted(100, 1), length=20)).reshape(-1, 2, 84)
    assert shares[:, 0].any()
    npt.assert_array_equal(shares[:, 1], 0.0)
