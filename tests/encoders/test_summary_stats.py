from __future__ import annotations

import itertools

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from rondo.checks.encoders import planted, windows_of
from rondo.data.windows import WindowGrid, Windows
from rondo.encoders import summary_stats
from rondo.encoders.base import Representations
from rondo.encoders.convolution_shares import fit_convolution_shares
from rondo.encoders.summary_stats import SummaryStats, SummaryStatsConfig, describes_few_channels
from rondo.errors import ModelError
from tests import naive_units as naive

ENCODER = SummaryStats(SummaryStatsConfig(shape_channels=0))
WITH_SHAPES = SummaryStats(SummaryStatsConfig())


def encoded(windows: Windows, encoder: SummaryStats = ENCODER) -> Representations:
    return encoder.fit([windows]).encode(windows)


@pytest.mark.parametrize(("n_channels", "length", "step"), [(1, 16, 4), (2, 1, 1), (3, 2, 1), (4, 25, 5), (6, 9, 9)])
def test_statistics_are_the_ones_by_definition(n_channels: int, length: int, step: int) -> None:
    windows = windows_of(planted(150, n_channels), length, step)
    contents = [window for batch in windows.batches() for window in batch]
    npt.assert_allclose(encoded(windows), naive.statistics_encoding(contents, 0.1, 5.0), rtol=2e-4, atol=2e-4)


def test_single_precision_sums_of_long_windows_keep_their_digits() -> None:
    windows = windows_of(3 + np.random.default_rng(0).normal(size=(40_000, 2)), length=20_000, step=20_000)
    raw = np.concatenate(ENCODER._blocks(windows, np.zeros((0, 2))), axis=1)
    twins = [naive.window_statistics(window, 0.1) for batch in windows.batches() for window in batch]
    npt.assert_allclose(raw, [[*itertools.chain(*twin.values())] for twin in twins], rtol=2e-6, atol=2e-6)


@given(st.integers(2, 8), st.randoms(use_true_random=False))
def test_channel_permutation_keeps_distances(n_channels: int, random: object) -> None:
    values = planted(200, n_channels, seed=n_channels)
    order = list(range(n_channels))
    random.shuffle(order)  # type: ignore[attr-defined]
    here, there = encoded(windows_of(values)), encoded(windows_of(values[:, order]))
    npt.assert_allclose(pdist(there), pdist(here), rtol=1e-4, atol=1e-5)
    npt.assert_array_equal(there[:, :n_channels], here[:, order])  # means move with their channels


@given(st.integers(-60, 60))
def test_scale_of_one_channel_does_not_matter(power: int) -> None:
    values = planted(200, 1)
    npt.assert_allclose(encoded(windows_of(values * 2.0**power)), encoded(windows_of(values)), rtol=1e-5, atol=1e-6)


def test_offset_of_a_channel_does_not_matter() -> None:
    values = planted(200, 3)
    npt.assert_allclose(encoded(windows_of(values + 8.0)), encoded(windows_of(values)), rtol=1e-3, atol=1e-3)


def test_blocks_weigh_the_same_whatever_their_number_of_columns() -> None:
    rng = np.random.default_rng(0)
    representation = encoded(windows_of(rng.normal(size=(5000, 6)), length=20, step=20))
    for columns in (slice(0, 6), slice(6, 12), slice(12, 18), slice(18, 33)):
        assert np.square(representation[:, columns]).sum(axis=1).mean() == pytest.approx(1.0, abs=0.02)


def test_a_statistic_that_never_varied_stays_silent() -> None:
    still = windows_of(np.column_stack([planted(200, 2), np.full(200, 5.0)]))
    fitted = ENCODER.fit([still])
    moving = windows_of(planted(200, 3, seed=1))
    npt.assert_array_equal(fitted.encode(moving)[:, [2, 5, 8]], 0.0)  # mean, spread and change of the third


def test_a_silent_channel_changes_no_distance() -> None:
    values = planted(200, 3)
    padded = np.column_stack([values, np.zeros(200), np.full(200, 3.0)])
    npt.assert_allclose(pdist(encoded(windows_of(padded))), pdist(encoded(windows_of(values))), rtol=1e-5)


def test_the_last_digit_of_a_mean_is_not_a_variation() -> None:
    jitter = np.random.default_rng(0).integers(0, 5, size=(200, 1)) * np.spacing(np.float32(1000))
    npt.assert_array_equal(encoded(windows_of(1000 + jitter))[:, 0], 0.0)


def test_clip_is_the_limit() -> None:
    spike = planted(400, 1)
    spike[200] = 1e4
    tight, wide = (
        encoded(windows_of(spike), SummaryStats(SummaryStatsConfig(clip=clip, shape_channels=0))) for clip in (1.5, 1e6)
    )
    assert np.abs(tight).max() == pytest.approx(1.5)
    npt.assert_allclose(tight, np.clip(wide, -1.5, 1.5), rtol=1e-6)


def test_forty_channels_are_correlated_on_their_main_axes() -> None:
    windows = windows_of(planted(400, 40))
    fitted = ENCODER.fit([windows])
    assert fitted.axes.shape == (32, 40)
    npt.assert_allclose(fitted.axes @ fitted.axes.T, np.eye(32), atol=1e-10)
    assert fitted.encode(windows).shape == (len(windows), 3 * 40 + 32 * 31 // 2)
    contents = np.concatenate(list(windows.batches())).astype(np.float64)
    on_axes = [naive.window_statistics(fitted.axes @ window, 0.1)["correlation"] for window in contents[:5]]
    raw = ENCODER._blocks(windows, fitted.axes)[3][:5]
    npt.assert_allclose(raw, on_axes, rtol=1e-3, atol=1e-4)


def test_offsets_of_many_channels_do_not_turn_the_axes() -> None:
    values = planted(400, 40)
    here = ENCODER.fit([windows_of(values)])
    there = ENCODER.fit([windows_of(values + np.linspace(-50, 50, 40))])
    npt.assert_allclose(there.axes[:5], here.axes[:5], atol=1e-3)


@pytest.mark.parametrize("spoil", ["axes", "centre", "spread", "dilations", "thresholds"])
def test_tensors_that_do_not_belong_together_are_refused(spoil: str) -> None:
    tensors = dict(WITH_SHAPES.fit([windows_of(planted(300, 2), length=30)]).tensors())
    with pytest.raises(ModelError, match="do not belong together"):
        WITH_SHAPES.restore(tensors | {spoil: tensors[spoil][..., :-1]})
    del tensors[spoil]
    with pytest.raises(ModelError, match=r"missing|do not belong"):
        WITH_SHAPES.restore(tensors)


# ---------------------------------------------------------------- shapes, where channels are few


@pytest.mark.parametrize("n_channels", [1, 2, 3])
def test_few_channels_have_a_block_of_shapes_behind_the_statistics(n_channels: int) -> None:
    windows = windows_of(planted(600, n_channels), length=40, step=10)
    plain, shaped = encoded(windows), encoded(windows, WITH_SHAPES)
    npt.assert_array_equal(shaped[:, : plain.shape[1]], plain)
    shares = fit_convolution_shares([windows]).of(windows).astype(np.float64)
    varies = shares.std(axis=0) > 1e-6 * shares.mean(axis=0)
    expected = np.clip((shares - shares.mean(axis=0)) / np.where(varies, shares.std(axis=0), np.inf), -5, 5)
    expected *= 3.0 / np.sqrt(varies.sum())
    npt.assert_allclose(shaped[:, plain.shape[1] :], expected, rtol=1e-4, atol=1e-5)


def test_four_channels_have_statistics_only() -> None:
    windows = windows_of(planted(200, 4))
    npt.assert_array_equal(encoded(windows, WITH_SHAPES), encoded(windows))
    assert not describes_few_channels(WITH_SHAPES.fit([windows]))
    assert sorted(WITH_SHAPES.fit([windows]).tensors()) == ["axes", "centre", "spread"]
    assert describes_few_channels(WITH_SHAPES.fit([windows_of(planted(200, 3), length=40)]))


@pytest.mark.parametrize("length", [8, 26, 27])
def test_windows_shorter_than_three_kernels_have_statistics_only(length: int) -> None:
    windows = windows_of(planted(300, 1), length=length)
    fitted = WITH_SHAPES.fit([windows])
    assert (fitted.shapes is not None) == (length == 27) and describes_few_channels(fitted)


def test_shapes_are_restored_as_they_were() -> None:
    windows = windows_of(planted(300, 2), length=30)
    fitted = WITH_SHAPES.fit([windows])
    npt.assert_array_equal(WITH_SHAPES.restore(fitted.tensors()).encode(windows), fitted.encode(windows))


# ---------------------------------------------------------------- computed once, computed together


def test_fitted_windows_are_encoded_once_and_as_any_others() -> None:
    some, other = (windows_of(planted(200, 4, seed=seed)) for seed in (0, 1))
    fitted = ENCODER.fit([some, other])
    again = Windows(other.values, other.grid)  # the same windows, which the fit has not seen
    assert fitted.encode(other) is fitted.encode(other) and fitted.encode(again) is not fitted.encode(other)
    npt.assert_array_equal(fitted.encode(other), fitted.encode(again))
    refitted = ENCODER.fit([other])  # now another encoder has the last word
    npt.assert_array_equal(fitted.encode(other), fitted.encode(again))
    npt.assert_array_equal(refitted.encode(other), refitted.encode(again))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([1, 2, 3, 5, 12, 32, 33, 50]), st.integers(1, 70), st.integers(0, 99))
def test_a_batch_is_encoded_exactly_as_each_window_alone(n_channels: int, length: int, seed: int) -> None:
    """A stream relies on it: what it decides must not depend on how many rows arrive at once."""
    values = np.random.default_rng(seed).normal(size=(length + 40, n_channels)).astype(np.float32)
    windows = windows_of(values, length, 7 if length > 7 else 1)
    fitted = ENCODER.fit([windows])
    assert fitted.encodes_batches_exactly
    batch = np.concatenate(list(windows.batches()))
    alone = [fitted.encode(windows_of(window.T, length, length)) for window in batch]
    assert np.array_equal(fitted.encode_batch(batch), np.concatenate(alone))


@pytest.mark.parametrize("level", [0.0, 1000.0])
def test_channels_scatter_around_the_means_of_windows(level: float) -> None:
    rng = np.random.default_rng(0)
    values = (level + rng.normal(size=(160, 40)) @ rng.normal(size=(40, 40))).astype(np.float32)
    values[100:110] = np.nan  # in no window
    windows = Windows(values, WindowGrid(12, 5, 160, ((0, 100), (110, 160))))
    contents = np.concatenate(list(windows.batches())).astype(np.float64)
    centred = contents - contents.mean(axis=2, keepdims=True)
    expected = sum(window @ window.T for window in centred)
    npt.assert_allclose(summary_stats._scatter_within(windows), expected, rtol=1e-8, atol=1e-6)
