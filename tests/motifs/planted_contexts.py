"""A signal in which contexts are mixes of units: no unit belongs to one context alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.data.windows import Span, WindowGrid, Windows
from rondo.units.viterbi import Timeline

MIXES = ((0, 1), (1, 2), (2, 0))  # the units of each context
UNIT_FRAMES, LENGTH, STEP, LONG = 40, 20, 5, 160
N_UNITS = 3
Ints = NDArray[np.int64]


def planted(n_frames: int = 12_000, seed: int = 0) -> tuple[NDArray[np.float32], Ints, Ints]:
    """Values of four channels; unit and context of every frame. A context lasts for 12 to 19 units."""
    rng = np.random.default_rng(seed)
    units: list[int] = []
    contexts: list[int] = []
    context = 0
    while len(units) * UNIT_FRAMES < n_frames:
        n = int(rng.integers(12, 20))
        units += [MIXES[context][(i + len(units)) % 2] for i in range(n)]
        contexts += [context] * n
        context = (context + int(rng.integers(1, 3))) % 3
    of_unit = np.repeat(units, UNIT_FRAMES)[:n_frames]
    of_context = np.repeat(contexts, UNIT_FRAMES)[:n_frames]
    postures = np.array([[2.0, 0.0, 0.0, 1.0], [0.0, 2.0, 0.0, -1.0], [0.0, 0.0, 2.0, 0.0]])
    waves = np.sin(np.arange(n_frames) * np.array([0.3, 0.6, 0.9])[of_unit])
    values = postures[of_unit] + 0.3 * waves[:, None] + 0.1 * rng.normal(size=(n_frames, 4))
    return values.astype(np.float32), of_unit, of_context


def cut(values: NDArray[np.float32], units: Ints, spans: tuple[Span, ...] = ()) -> tuple[Windows, Timeline]:
    """Windows of these values, and the unit in the middle of each."""
    windows = Windows(values, WindowGrid(LENGTH, STEP, len(values), spans or ((0, len(values)),)))
    ids = units[middles(windows)].astype(np.int32)
    return windows, Timeline(ids, np.full(ids.size, 0.5), windows.grid.window_spans)


def middles(windows: Windows) -> Ints:
    return windows.grid.starts + windows.grid.length_frames // 2
