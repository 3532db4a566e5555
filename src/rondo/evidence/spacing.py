"""Does a unit come back at regular intervals?

The intervals d_1 .. d_m from one onset of a unit to the next, inside a span, are regular where many of them lie within
15 % of their median. The null hypothesis is that they vary by half their mean: a gamma distribution of shape 4, of
which a share q lies so near to the median. One interval is near because it is the median; of the others n are, and

    p = P(Binomial(m - 1, q) >= n).

An occurrence that was missed or cut in two spoils one or two intervals, not all, which a test of their variance would
not forgive. Random onsets vary by their whole mean, but units last for a while, and slow noise crosses a level at
intervals that vary by 0.5 to 1 of their mean: a test against random onsets would call it regular.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import bdtrc, gammainc, gammaincinv

from rondo.arrays import Ints
from rondo.evidence.occurrences import Occurrences, Tested

_NEAR = 0.15  # of the median
_SHAPE = 4.0  # of a gamma distribution; its coefficient of variation is 0.5
_FEWEST = 4  # intervals


def spacing_test(occurrences: Occurrences) -> Tested:
    """p of each unit with at least four intervals, times their number; seen is the median interval in windows."""
    found: dict[int, tuple[float, float]] = {}
    for id in occurrences.ids:
        before, after = occurrences.successive(id)
        intervals = occurrences.starts[after] - occurrences.starts[before]
        if intervals.size >= _FEWEST:
            found[id] = _p_of(intervals), float(np.median(intervals))
    return Tested(
        {id: min(1.0, len(found) * p) for id, (p, _) in found.items()}, {id: d for id, (_, d) in found.items()}
    )


def _p_of(intervals: Ints) -> float:
    """p of whole numbers; q is the share of those numbers that count as near."""
    middle = float(np.median(intervals))
    low, high = math.ceil((1 - _NEAR) * middle), math.floor((1 + _NEAR) * middle)
    in_medians = float(gammaincinv(_SHAPE, 0.5)) / middle
    q = float(gammainc(_SHAPE, (high + 0.5) * in_medians) - gammainc(_SHAPE, (low - 0.5) * in_medians))
    n_near = int(((intervals >= low) & (intervals <= high)).sum())
    return float(bdtrc(n_near - 2, intervals.size - 1, q)) if n_near > 1 else 1.0
