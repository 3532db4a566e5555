"""What surrogates keep and what they lose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.signal import lfilter

from rondo.data.windows import WindowGrid, Windows
from rondo.encoders.summary_stats import SummaryStats, SummaryStatsConfig
from rondo.evidence.surrogates import LoudnessRandomiser, PhaseRandomiser, evened, window_statistics


def coloured(n_frames: int, n_channels: int, seed: int, kept: float = 0.95) -> NDArray[np.float32]:
    """Correlated channels of AR(1) noise."""
    rng = np.random.default_rng(seed)
    noise = lfilter([1.0], [1.0, -kept], rng.standard_normal((n_frames + 500, n_channels)), axis=0)[500:]
    return (noise @ (np.eye(n_channels) + 0.5)).astype(np.float32)


def phase_randomised(
    values: NDArray[np.float32], spans: list[tuple[int, int]], rng: np.random.Generator
) -> NDArray[np.float32]:
    return PhaseRandomiser.of(values, spans).draw(rng)


def cut_into_spans(n_frames: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Some spans with frames between them that belong to none."""
    edges = np.unique(rng.integers(0, n_frames + 1, 6))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))[::2]


@given(n_frames=st.integers(1, 60), n_channels=st.integers(1, 3), seed=st.integers(0, 2**16))
def test_every_span_keeps_its_values_and_the_rest_stays(n_frames: int, n_channels: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.standard_normal((n_frames, n_channels)), 1).astype(np.float32)  # with ties
    before, spans = values.copy(), cut_into_spans(n_frames, rng)
    outside = np.ones(n_frames, dtype=np.bool_)
    surrogate = phase_randomised(values, spans, rng)
    assert surrogate.dtype == values.dtype
    for start, stop in spans:
        assert_array_equal(np.sort(surrogate[start:stop], axis=0), np.sort(values[start:stop], axis=0))
        outside[start:stop] = False
    assert_array_equal(surrogate[outside], values[outside])
    assert_array_equal(values, before)


def test_phase_randomised_keeps_how_slow_channels_are_and_how_they_move_together() -> None:
    values = coloured(40_000, 3, seed=1)
    surrogate = phase_randomised(values, [(0, 40_000)], np.random.default_rng(2))
    for lag in (0, 1, 5, 20, 60):
        own, other = (np.corrcoef(x[: 40_000 - lag].T, x[lag:].T)[:3, 3:] for x in (values, surrogate))
        assert_allclose(other, own, atol=0.02)


def test_phase_randomised_keeps_which_channel_comes_first() -> None:
    values = coloured(20_000, 1, seed=3, kept=0.8)
    led = np.concatenate([values[7:], values[:-7]], axis=1)  # the first channel is seven frames ahead
    surrogate = phase_randomised(led, [(0, len(led))], np.random.default_rng(4))
    lagged = [np.corrcoef(surrogate[: len(led) - lag, 0], surrogate[lag:, 1])[0, 1] for lag in range(15)]
    assert np.argmax(lagged) == 7
    assert max(lagged) > 0.99


def test_drift_stays_and_its_ends_are_not_joined() -> None:
    drift = np.linspace(0, 10, 2_000) + 0.05 * np.random.default_rng(7).standard_normal(2_000)
    values = drift.astype(np.float32)[:, None]
    surrogate = phase_randomised(values, [(0, 2_000)], np.random.default_rng(8))
    assert np.corrcoef(values[:, 0], surrogate[:, 0])[0, 1] > 0.9
    assert np.abs(np.diff(surrogate[:, 0])).max() < 2  # a seam would jump by 10


def loud_and_quiet(n_frames: int, seed: int) -> NDArray[np.float32]:
    """Noise whose loudness wanders, that of both channels alike."""
    noise = np.random.default_rng(seed).standard_normal((n_frames, 2))
    slow = coloured(n_frames, 1, seed + 1, kept=0.997)
    return (noise * np.exp(slow / slow.std())).astype(np.float32)


def loudness(values: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.sqrt(np.square(values.reshape(-1, 100, values.shape[1]).astype(np.float64)).mean(axis=1))


def test_loudness_wanders_in_surrogates_that_keep_it_and_only_there() -> None:
    values = loud_and_quiet(20_000, seed=1)
    keeping = LoudnessRandomiser.of(values, [(0, 20_000)], 200).draw(np.random.default_rng(2))
    losing = phase_randomised(values, [(0, 20_000)], np.random.default_rng(2))
    own, kept, lost = (loudness(x) for x in (values, keeping, losing))
    assert lost.std() < 0.5 * own.std()
    assert kept.std() > 0.7 * own.std()
    assert np.corrcoef(kept.T)[0, 1] > 0.8  # channels are loud together
    assert abs(np.corrcoef(kept[:, 0], own[:, 0])[0, 1]) < 0.3  # but at other times


def test_surrogates_with_loudness_keep_means_spans_and_silence() -> None:
    values = coloured(600, 3, seed=3) + np.float32(7)
    values[:, 1] = 2.5
    spans = [(10, 300), (300, 301), (320, 600)]
    surrogate = LoudnessRandomiser.of(values, spans, 50).draw(np.random.default_rng(0))
    assert surrogate.dtype == np.float32
    assert_array_equal(surrogate[:10], values[:10])
    assert_array_equal(surrogate[301:320], values[301:320])
    assert_allclose(surrogate[:, 1], values[:, 1])
    for start, stop in (spans[0], spans[2]):
        assert_allclose(surrogate[start:stop, 0].mean(), values[start:stop, 0].mean(), atol=1.5)
        assert not np.array_equal(surrogate[start:stop, 0], values[start:stop, 0])


@pytest.mark.parametrize(("n_channels", "length"), [(1, 20), (2, 3), (6, 25)])
def test_statistics_from_cumulative_sums_are_those_of_the_encoder(n_channels: int, length: int) -> None:
    rng = np.random.default_rng(length)
    values = (np.cumsum(rng.normal(size=(400, n_channels)), axis=0) + 50).astype(np.float32)
    values[:, 0] = 3.5 if n_channels > 1 else values[:, 0]  # a dead sensor
    windows = Windows(values, WindowGrid(length, max(1, length // 4), 400, ((0, 180), (190, 400))))
    expected = SummaryStats(SummaryStatsConfig(shape_channels=0)).fit_encode([windows])
    assert_allclose(window_statistics(values, windows.grid.starts, length), expected, atol=2e-4)


def test_common_loudness_is_divided_out_inside_spans_and_what_stands_still_stays_quiet() -> None:
    rng = np.random.default_rng(0)
    carrier = rng.standard_normal((2_000, 4))
    loudness = np.where(np.arange(2_000) // 250 % 2, 10.0, 1.0)[:, None]
    values = (5 + carrier * loudness).astype(np.float32)
    even = evened(values, ((0, 1_000), (1_000, 1_900)), 50)
    middle = [even[start + 60 : start + 190].std() for start in range(0, 1_750, 250)]
    assert max(middle) / min(middle) < 1.5  # of ten
    assert_array_equal(even[1_900:], values[1_900:])
    still = np.concatenate([carrier[:500], np.zeros((500, 4))]).astype(np.float32)
    quiet = evened(still, ((0, 1_000),), 50)
    assert np.isfinite(quiet).all() and quiet[600:].std(axis=0).max() < 1e-3
    assert np.isfinite(evened(np.ones((100, 2), np.float32), ((0, 100),), 500)).all()
