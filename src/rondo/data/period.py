"""The typical period of a signal: the power-weighted geometric mean over its spectrum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Values

FEWEST_FRAMES = 16  # of a period where nothing moves
_MOST_FRAMES = 1 << 18  # from the beginning of a span: more would say the same


def period_of(values: Values) -> float:
    """In frames, over all channels of one unbroken stretch."""
    seen = values[:_MOST_FRAMES]
    if seen.shape[0] < 8:
        return float(seen.shape[0])
    frequency, weight = spectrum(seen, 1024)
    if weight.sum() <= 0:
        return float(FEWEST_FRAMES)
    return float(np.exp(-(weight * np.log(frequency)).sum() / weight.sum()))


def spectrum(values: Values, most_frames: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Frequencies (cycles per frame, without 0) and the power there, over all channels."""
    from scipy.signal import welch  # slow to import, and only needed where no window was given

    seen = values[:_MOST_FRAMES]
    frequency, power = welch(seen, axis=0, nperseg=min(most_frames, seen.shape[0] // 2))
    return frequency[1:], power.sum(axis=1)[1:]
