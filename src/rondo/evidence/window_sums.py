"""The statistics of all windows of a signal at once, from cumulative sums: for surrogates, of which there are many.

They are those of `encoders/summary_stats.py`, fitted and applied to the same windows, up to rounding. Windows overlap,
so that every frame is in several of them; sums over windows are differences of two cumulative sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints
from rondo.encoders import Representations
from rondo.encoders.summary_stats import SummaryStatsConfig

_LEAST_VARIATION = 1e-6  # of a statistic, relative to its size
_CONFIG = SummaryStatsConfig()


def window_statistics(values: NDArray[np.float32], starts: Ints, length: int) -> Representations:
    """Balanced, standardised statistics (n_windows, n_dims) of windows that begin at `starts`."""
    wide = np.ascontiguousarray(values.T, dtype=np.float64)  # (n_channels, n_frames)
    wide -= wide.mean(axis=1, keepdims=True)  # sums of squares lose digits far from zero
    mean = _sums(wide, starts, length) / length
    variance = np.maximum(_sums(np.square(wide), starts, length) / length - np.square(mean), 0.0)
    change = _sums(np.abs(np.diff(wide, axis=1)), starts, length - 1) / max(1, length - 1)
    blocks = [mean, np.sqrt(variance), change]
    if len(wide) > 1:
        scale = np.sqrt(variance) + _CONFIG.correlation_floor
        for first in range(len(wide) - 1):
            rest = slice(first + 1, None)
            products = _sums(wide[first] * wide[rest], starts, length) / length
            correlation = (products - mean[first] * mean[rest]) / (scale[first] * scale[rest])
            blocks.append(correlation)
        blocks[3:] = [np.concatenate(blocks[3:])]
    return np.concatenate([_balanced(block) for block in blocks]).T.copy()


def _sums(series: Floats, starts: Ints, length: int) -> Floats:
    """Sums over `length` columns from each start, (n_series, n_windows)."""
    summed = np.zeros((len(series), series.shape[1] + 1))
    np.cumsum(series, axis=1, out=summed[:, 1:])
    return np.asarray(summed[:, starts + length] - summed[:, starts])


def _balanced(block: Floats) -> Representations:
    centre, spread = block.mean(axis=1, keepdims=True), block.std(axis=1, keepdims=True)
    spread[spread <= _LEAST_VARIATION * np.maximum(np.abs(centre), 1.0)] = 0.0
    factor = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    scaled = np.clip((block - centre) * factor, -_CONFIG.clip, _CONFIG.clip)
    return np.asarray(scaled / np.sqrt(max(1, int(np.count_nonzero(factor)))), np.float32)
