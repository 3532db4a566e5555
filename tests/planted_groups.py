"""Groups whose units are known, at the level of representations, and an encoder that only looks them up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Tensors
from rondo.data.windows import WindowGrid, Windows
from rondo.encoders.base import Curves

LENGTH, STEP = 16, 4
N_DIMS = 6
CENTRES = 3 * np.random.default_rng(17).normal(size=(6, N_DIMS))


class PlantedGroup(NamedTuple):
    """Representations of the windows of one group, and the unit that each was drawn from."""

    rows: NDArray[np.float32]  # (n_windows, n_dims)
    truth: NDArray[np.int64]  # (n_windows,)


def planted_group(seed: int, n_windows: int = 400, n_units: int = 4, style: float = 0.3) -> PlantedGroup:
    """Units last 12 to 25 windows; each group has them a little elsewhere."""
    rng = np.random.default_rng(1_000 + seed)
    runs: list[int] = []
    while len(runs) < n_windows:
        others = [k for k in range(n_units) if not runs or k != runs[-1]]
        runs += [int(rng.choice(others))] * int(rng.integers(12, 26))
    truth = np.array(runs[:n_windows])
    own = CENTRES + style * rng.normal(size=CENTRES.shape)
    noise = 0.3 * rng.normal(size=(n_windows, N_DIMS))
    return PlantedGroup((own[truth] + noise).astype(np.float32), truth)


def windows_of_rows(rows: NDArray[np.float32]) -> Windows:
    """Windows of which `Remembered` gives these representations."""
    values = np.repeat(rows, STEP, axis=0)
    values = np.concatenate([values, np.repeat(rows[-1:], LENGTH - STEP, axis=0)])
    return Windows(values, WindowGrid(LENGTH, STEP, len(values), ((0, len(values)),)))


class Remembered:
    """An encoder whose representation of a window is its first frame."""

    curves: Curves = {}  # noqa: RUF012 - as the protocol has it

    def encode(self, windows: Windows) -> NDArray[np.float32]:
        return np.asarray(windows.values[windows.grid.starts], np.float32)

    def tensors(self) -> Tensors:
        return {}
