"""Statistics from cumulative sums are those of the encoder, without its shapes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rondo.data.windows import WindowGrid, Windows
from rondo.encoders.summary_stats import SummaryStats, SummaryStatsConfig
from rondo.evidence.surrogates import window_statistics


@pytest.mark.parametrize(("n_channels", "length"), [(1, 20), (2, 3), (6, 25)])
def test_they_equal_those_of_the_encoder(n_channels: int, length: int) -> None:
    rng = np.random.default_rng(length)
    values = (np.cumsum(rng.normal(size=(400, n_channels)), axis=0) + 50).astype(np.float32)
    values[:, 0] = 3.5 if n_channels > 1 else values[:, 0]  # a dead sensor
    windows = Windows(values, WindowGrid(length, max(1, length // 4), 400, ((0, 180), (190, 400))))
    expected = SummaryStats(SummaryStatsConfig(shape_channels=0)).fit_encode([windows])
    assert_allclose(window_statistics(values, windows.grid.starts, length), expected, atol=2e-4)
