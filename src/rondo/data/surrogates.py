"""Surrogate streams: what a recording might have been if nothing in it recurred.

A figure that is as high on surrogates as on the recording itself is no finding (Theiler et al. 1992). Both kinds keep
what is easy to have by chance:

- `phase_randomised` keeps the values of every channel, how slow it is (its spectrum) and how channels move together
  (their cross-spectra, Prichard & Theiler 1994): what a linear Gaussian process, seen through a bent scale, would make;
- `block_shuffled` keeps whole blocks, hence values, shapes and what lies inside a block, and loses their order.

Nothing crosses the end of a span, and frames outside of spans stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft
from scipy.special import ndtri

from rondo.data.windows import Span

_LARGEST_SEAM = 0.05  # of the power of all steps from frame to frame


def phase_randomised(
    values: NDArray[np.float32], spans: Sequence[Span], rng: np.random.Generator
) -> NDArray[np.float32]:
    """Values (n_frames, n_channels) in a new order that has about the same spectra, span by span.

    Each channel is laid on a normal distribution by its ranks, every frequency is turned by a random phase, the same
    for all channels, X_c(f) <- X_c(f) exp(i phi(f)), and the channel's own values are put back by rank (amplitude
    adjusted, AAFT). Without the adjustment noise with heavy tails would pass for structure. Values are kept exactly;
    spectra nearly, less so in a random walk, whose surrogates are rougher. The iterated variant (IAAFT) was tried: no
    better there, and worse on skewed noise. Memory beyond the result is that of one channel of a span.
    """
    surrogate = values.copy()
    for start, stop in spans:
        n_frames = stop - start
        turns = np.exp(2j * np.pi * rng.random(n_frames // 2 + 1))
        for channel in range(values.shape[1]):
            column = values[start:stop, channel]
            bell = _normal_scores(column)
            ramp = _ramp(bell)
            turned = irfft(rfft(bell - ramp) * turns, n_frames) + ramp
            surrogate[start + np.argsort(turned, kind="stable"), channel] = np.sort(column)
    return surrogate


def block_shuffled(
    values: NDArray[np.float32], spans: Sequence[Span], block_frames: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Values (n_frames, n_channels) with the blocks of each span in random order, all channels alike.

    The first block may be shorter, by chance, so that cuts do not fall on the same frames every time.
    """
    if block_frames < 1:
        raise ValueError(f"expected blocks of at least 1 frame, got {block_frames}")
    order = np.arange(values.shape[0])
    for start, stop in spans:
        cuts = np.arange(start + int(rng.integers(1, block_frames + 1)), stop, block_frames)
        blocks = np.split(np.arange(start, stop), cuts - start)
        order[start:stop] = np.concatenate([blocks[i] for i in rng.permutation(len(blocks))])
    return values[order]


def _normal_scores(column: NDArray[np.float32]) -> NDArray[np.float64]:
    """The quantiles of a normal distribution that have the ranks of the column; equal values stay equal."""
    _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * counts) / column.size
    return np.asarray(ndtri(ranks)[codes])


def _ramp(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """The straight line from the first frame to the last where the signal drifts, else zeros.

    To a Fourier transform the last frame is followed by the first. In a stationary signal that jump drowns among the
    other steps; where it does not, as in a random walk, its power would spread over all frequencies. The line takes it
    out, and the surrogate drifts as the signal did.
    """
    seam, steps = column[-1] - column[0], np.diff(column)
    if column.size < 3 or seam**2 <= _LARGEST_SEAM * float(steps @ steps):
        return np.zeros(column.size)
    return np.asarray(seam * np.linspace(-0.5, 0.5, column.size))
