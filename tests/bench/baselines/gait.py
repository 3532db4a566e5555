"""A series with known changes, and what claspy makes of it.

It is drawn by the legacy generator of numpy, which never changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LENGTHS, KINDS = (500, 420, 560, 450), (0, 1, 0, 2)


class Found(NamedTuple):
    """Windows by SuSS, change points and states of segments in order of appearance."""

    lengths: list[int]
    changes: list[int]
    states: list[int]


CLASPY = {
    (1, 0): Found([30], [476, 912, 1474], [0, 1, 0, 2]),
    (2, 1): Found([30, 30], [497, 920, 1476], [0, 1, 0, 2]),
    (3, 0): Found([28, 30, 32], [495, 928, 1473], [0, 1, 2, 3]),
}
"""By number of channels and seed; recorded with claspy 0.2.8 and aeon 1.6.0 (numpy 2.2.6), on one thread."""


def gait(n_channels: int, seed: int) -> NDArray[np.float64]:
    """Four segments of three kinds; the first and the third are nearly alike.

    Something small grows from segment to segment: where one recurs exactly, ClaSP finds no change beside it.
    """
    rng = np.random.RandomState(seed)
    phase = rng.uniform(0, 6, n_channels)
    pieces = []
    for i, (n_frames, kind) in enumerate(zip(LENGTHS, KINDS, strict=True)):
        t = np.arange(n_frames)[:, None] / 3.0 + phase
        wave = (np.sin(t), np.sign(np.sin(1.6 * t)), np.sin(t) + np.sin(2 * t + 1))[kind]
        pieces.append(wave + 0.1 * i * np.sin(2.3 * t))
    return np.asarray(np.concatenate(pieces) + 0.2 * rng.standard_normal((sum(LENGTHS), n_channels)))
