"""Shares of convolution responses: which shapes a window holds, without training.

Mean, deviation and roughness describe few channels poorly: a rising and a falling saw tooth have equal statistics. The
kernels of MiniRocket (Dempster, Schmidt & Webb, KDD 2021) describe shapes. A kernel has nine taps, of which three weigh
2 and six weigh -1; there are 84 of them. With dilation d the response of kernel {a, b, c} at frame t is

    r(t) = 3 (x[t + a d] + x[t + b d] + x[t + c d]) - sum_{i = 0..8} x[t + i d]

and the feature is the share of the window's responses that exceed a threshold. Dilations run from 1 to an eighth of the
window, so that every kernel fits. The threshold is a quantile of the response over the fitted signals; kernels take
different quantiles in turn, so that 84 kernels of one dilation look at loud and quiet passages.

A window counts only the frames at which the whole kernel lies inside it. Responses are therefore computed once for a
stretch and counted by differences of a running sum: the result is that of each window on its own, and the cost is
linear in the frames. Sums of nine float32 values of like size are exact in float64, so neither the chunk nor a constant
added to the channel changes a response.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Values
from rondo.data.windows import Windows

TAPS = 9  # MiniRocket (Dempster et al. 2021): kernels of nine taps
KERNELS = np.array(list(combinations(range(TAPS), 3)))  # (84, 3): the taps that weigh 2
_DILATIONS = 5  # at most; chosen by hand, not measured (MiniRocket: up to 32)
_GOLDEN = (np.sqrt(5.0) - 1) / 2  # multiples modulo 1 spread evenly, however many there are
_FRAMES_PER_BLOCK = 1 << 13  # responses of all kernels to these many frames are held at once, 6 MB
_MOST_SAMPLED = 1 << 13  # frames whose responses give the quantiles


@dataclass(frozen=True, eq=False)
class ConvolutionShares:
    """Thresholds of every kernel; `of` gives the shares above them."""

    dilations: NDArray[np.int64]  # (n_dilations,)
    thresholds: NDArray[np.float64]  # (n_channels, n_dilations, 84)

    @property
    def n_columns(self) -> int:
        return int(self.thresholds.size)

    def of(self, windows: Windows) -> NDArray[np.float32]:
        """Shares (n_windows, n_channels x n_dilations x 84), each from 0 to 1."""
        shares = np.zeros((len(windows), *self.thresholds.shape), np.float32)
        length = windows.grid.length_frames
        for rows, frames, starts in _blocks(windows):
            for j, dilation in enumerate(self.dilations.tolist()):
                n_responses = length - (TAPS - 1) * dilation
                if n_responses < 1:
                    continue  # a window shorter than those that were fitted
                for channel in range(windows.n_channels):
                    above = responses(frames[:, channel], dilation) > self.thresholds[channel, j][:, None]
                    counts = np.zeros((above.shape[0], above.shape[1] + 1), np.int32)
                    np.cumsum(above, axis=1, out=counts[:, 1:])
                    shares[rows, channel, j] = ((counts[:, starts + n_responses] - counts[:, starts]) / n_responses).T
        return shares.reshape(len(windows), self.n_columns)


def fit_convolution_shares(windows: Sequence[Windows]) -> ConvolutionShares:
    """Thresholds from the windows of one or many signals; without columns where a window holds no kernel."""
    length, n_channels = windows[0].grid.length_frames, windows[0].n_channels
    dilations = dilations_of(length)
    stretches = [stretch for own in windows for stretch in _stretches(own)]
    thresholds = np.zeros((n_channels, len(dilations), len(KERNELS)))
    for j, dilation in enumerate(dilations):
        quantiles = (np.arange(1, len(KERNELS) + 1) + j * len(KERNELS)) * _GOLDEN % 1.0
        taps = _sampled_taps(stretches, dilation)  # (9, n_sampled, n_channels)
        for channel in range(n_channels):
            sampled = np.sort(_responses(taps[:, :, channel]), axis=1)
            # A response itself, not a value between two: scaling the channel then scales the threshold exactly.
            at = (quantiles * sampled.shape[1]).astype(np.int64)
            thresholds[channel, j] = sampled[np.arange(len(KERNELS)), at]
    return ConvolutionShares(np.array(dilations, np.int64), thresholds)


def dilations_of(length: int) -> list[int]:
    """Up to five dilations from 1 to the largest that fits into `length` frames, evenly on a logarithmic axis.

    >>> dilations_of(100), dilations_of(20), dilations_of(8)
    ([1, 2, 3, 6, 12], [1, 2], [])
    """
    largest = (length - 1) // (TAPS - 1)
    if largest < 1:
        return []
    steps = largest ** (np.arange(_DILATIONS) / (_DILATIONS - 1))
    return sorted({round(step) for step in steps.tolist()})


def responses(values: NDArray[np.floating], dilation: int) -> NDArray[np.float64]:
    """The response of every kernel wherever it lies inside values (n_frames,): (84, n_frames - 8 dilation)."""
    n = max(0, len(values) - (TAPS - 1) * dilation)
    exact = values.astype(np.float64)
    return _responses(np.stack([exact[i * dilation : i * dilation + n] for i in range(TAPS)]))


def _responses(taps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Responses (84, n) to taps (9, n)."""
    raised = taps[KERNELS[:, 0]]
    raised += taps[KERNELS[:, 1]]
    raised += taps[KERNELS[:, 2]]
    raised *= 3.0
    total = taps[0].copy()
    for tap in taps[1:]:  # one after the other: numpy's own sum has another order where n is 1
        total += tap
    raised -= total
    return np.asarray(raised)


def _stretches(windows: Windows) -> Iterator[Values]:
    """The frames that windows cover, one array (n_frames, n_channels) for each unbroken stretch."""
    for first, stop in windows.grid.window_spans:
        starts = windows.grid.starts
        yield windows.values[starts[first] : starts[stop - 1] + windows.grid.length_frames]


def _sampled_taps(stretches: Sequence[Values], dilation: int) -> NDArray[np.float64]:
    """What the taps see at frames spread evenly over all stretches, (9, n_sampled, n_channels)."""
    reach = (TAPS - 1) * dilation
    n_places = sum(len(stretch) - reach for stretch in stretches)
    stride = -(-n_places // _MOST_SAMPLED)
    parts, skipped = [], 0
    for stretch in stretches:
        at = np.arange(skipped, len(stretch) - reach, stride)
        skipped = int(at[-1] + stride if at.size else skipped) - (len(stretch) - reach)
        parts.append(stretch[at + dilation * np.arange(TAPS)[:, None]].astype(np.float64))
    return np.concatenate(parts, axis=1)


def _blocks(windows: Windows) -> Iterator[tuple[slice, Values, NDArray[np.int64]]]:
    """Neighbouring windows, the frames they cover and where in these each window begins."""
    grid = windows.grid
    per_block = max(1, (_FRAMES_PER_BLOCK - grid.length_frames) // grid.step_frames + 1)
    for first, stop in grid.window_spans:
        for a in range(first, stop, per_block):
            starts = grid.starts[a : min(a + per_block, stop)]
            frames = windows.values[starts[0] : starts[-1] + grid.length_frames]
            yield slice(a, a + starts.size), frames, starts - starts[0]
