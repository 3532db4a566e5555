"""Slow twin of `rondo.encoders.convolution_shares`: one window, one kernel, one frame at a time, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray


def responses(values: Sequence[float], dilation: int) -> list[list[Fraction]]:
    """The response of each kernel wherever all nine taps lie inside the values."""
    exact = [Fraction(float(value)) for value in values]
    found = []
    for raised in combinations(range(9), 3):
        weights = [2 if tap in raised else -1 for tap in range(9)]
        places = range(len(exact) - 8 * dilation)
        found.append([sum(w * exact[t + tap * dilation] for tap, w in enumerate(weights)) for t in places])
    return found


def shares(
    window: NDArray[np.floating], dilations: Sequence[int], thresholds: NDArray[np.floating]
) -> list[list[list[float]]]:
    """Share of responses above the threshold for each channel, dilation and kernel of one window."""
    return [
        [
            [
                sum(response > threshold for response in of_kernel) / len(of_kernel)
                for of_kernel, threshold in zip(responses(channel, dilation), own, strict=True)
            ]
            for dilation, own in zip(dilations, of_channel, strict=True)
        ]
        for channel, of_channel in zip(window.tolist(), thresholds.tolist(), strict=True)
    ]
