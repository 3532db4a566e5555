"""Signals for the tests of methods that learn from windows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.data.signal import Signal
from rondo.data.windows import Span


def signal_of(values: NDArray[np.floating], spans: tuple[Span, ...] | None = None, id: str = "walk") -> Signal:
    n_frames, n_channels = values.shape
    names = tuple(f"c{i}" for i in range(n_channels))
    return Signal(id, values.astype(np.float32), None, names, spans or ((0, n_frames),), n_frames)


def three_states() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """A stream that visits each of three states three times, and which state each frame is in."""
    rng = np.random.default_rng(0)
    truth = np.tile(np.repeat([0, 1, 2], 200), 3)
    time = np.arange(truth.size)
    rates, levels = np.array([0.05, 0.3, 1.0])[truth], np.array([0.0, 1.5, -1.5])[truth]
    values = np.column_stack([np.sin(rates * time) + levels, np.cos(rates * time)]) + rng.normal(size=(1800, 2)) * 0.1
    return values.astype(np.float32), truth
