"""ROCKET: what random convolutions make of windows, as features for a linear classifier.

A. Dempster, F. Petitjean, G. I. Webb, "ROCKET: exceptionally fast and accurate time series classification using random
convolutional kernels", DMKD 2020. Constants and the draw for several channels are those of the library aeon, which CLaP
uses. Kernels of one length, dilation and padding are applied together, as one matrix product.

A kernel has 7, 9 or 11 taps per channel, drawn from N(0, 1) and centred; 2^U(0, log2(C + 1)) of the C channels (no more
than it has taps); a bias from U(-1, 1); a dilation of 2^U(0, log2((L - 1) / (taps - 1))) frames; and padding with zeros
that keeps the length, or none. Its features are the largest output and the share of outputs above 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TAPS = (7, 9, 11)
_STILL = 1e-8  # a channel of a window with a smaller deviation is constant
_BLOCK = 1 << 22  # numbers in memory at a time, of patches and of outputs

Windows = NDArray[np.float32]  # (n_windows, n_channels, length)


@dataclass(frozen=True, eq=False)
class Kernels:
    """Kernels that differ in weights and bias only."""

    weights: NDArray[np.float32]  # (n_kernels, n_channels, n_taps), 0 in the channels that a kernel does not read
    biases: NDArray[np.float32]  # (n_kernels,)
    dilation: int
    padding: int

    @property
    def reach(self) -> int:
        """From the first tap to the last, in frames."""
        return int(self.weights.shape[2] - 1) * self.dilation


def draw_kernels(n_kernels: int, n_channels: int, length: int, rng: np.random.RandomState) -> list[Kernels]:
    """Random kernels for windows of this length, by kind."""
    n_taps = np.minimum(rng.choice(TAPS, n_kernels), length)
    dilations = np.array([_dilation(length, taps, rng) for taps in n_taps.tolist()])
    paddings = np.where(rng.randint(2, size=n_kernels) == 1, (n_taps - 1) * dilations // 2, 0)
    kinds, kind_of = np.unique(np.stack([n_taps, dilations, paddings]), axis=1, return_inverse=True)
    kernels = []
    for kind, (taps, dilation, padding) in enumerate(kinds.T.tolist()):
        count = int((kind_of.ravel() == kind).sum())
        weights = rng.standard_normal((count, n_channels, taps))
        weights -= weights.mean(axis=2, keepdims=True)
        weights *= _channels_read(count, n_channels, taps, rng)[:, :, None]
        biases = rng.uniform(-1, 1, count)
        kernels.append(Kernels(weights.astype(np.float32), biases.astype(np.float32), dilation, padding))
    return kernels


def _dilation(length: int, n_taps: int, rng: np.random.RandomState) -> int:
    if length <= n_taps or n_taps < 2:
        return 1
    return int(2 ** rng.uniform(0, np.log2((length - 1) / (n_taps - 1))))


def _channels_read(n_kernels: int, n_channels: int, n_taps: int, rng: np.random.RandomState) -> NDArray[np.bool_]:
    n_read = (2 ** rng.uniform(0, np.log2(min(n_channels, n_taps) + 1), n_kernels)).astype(np.int64)
    rank = rng.uniform(size=(n_kernels, n_channels)).argsort(axis=1).argsort(axis=1)
    return np.asarray(rank < n_read[:, None])


def features(
    windows: Windows, kernels: list[Kernels], told: Callable[[int], None] = lambda done: None
) -> NDArray[np.float32]:
    """Two numbers for each window and kernel, (n_windows, 2 n_kernels); every window is standardised first."""
    values = standardised(windows)
    found = np.empty((len(values), 2 * sum(len(kind.biases) for kind in kernels)), dtype=np.float32)
    column = 0
    for kind in kernels:
        n_kernels = len(kind.biases)
        for rows, outputs in _outputs(values, kind):
            found[rows, column : column + n_kernels] = outputs.max(axis=1)
            found[rows, column + n_kernels : column + 2 * n_kernels] = (outputs > 0).mean(axis=1, dtype=np.float32)
        column += 2 * n_kernels
        told(column // 2)
    return found


def standardised(windows: Windows) -> Windows:
    """Each channel of each window with mean 0 and deviation 1; 0 where it stands still."""
    centred = windows - windows.mean(axis=2, keepdims=True, dtype=np.float64)
    deviation = centred.std(axis=2, keepdims=True)
    moving = np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > _STILL)
    return np.asarray(moving, dtype=np.float32)


def _outputs(values: Windows, kind: Kernels) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """What the kernels make of some windows at a time: (n_windows, n_positions, n_kernels)."""
    n_windows, n_channels, length = values.shape
    n_kernels, _, n_taps = kind.weights.shape
    n_positions = length + 2 * kind.padding - kind.reach
    matrix = kind.weights.reshape(n_kernels, n_channels * n_taps).T
    at_once = max(1, _BLOCK // (n_positions * max(n_kernels, n_channels * n_taps)))
    taps = np.arange(n_positions)[:, None] + np.arange(n_taps) * kind.dilation
    for first in range(0, n_windows, at_once):
        rows = slice(first, min(first + at_once, n_windows))
        padded = np.pad(values[rows], ((0, 0), (0, 0), (kind.padding, kind.padding)))
        patches = padded[:, :, taps].transpose(0, 2, 1, 3).reshape(-1, n_channels * n_taps)
        outputs = patches @ matrix
        outputs += kind.biases
        yield rows, outputs.reshape(-1, n_positions, n_kernels)
