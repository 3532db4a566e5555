"""Does a unit come back at regular intervals?

The intervals d_1 .. d_m from one onset of a unit to the next, inside a span, are regular where they vary by clearly
less than half their mean. With the coefficient of variation v = deviation / mean,

    p = P(chi2_{m-1} <= (m - 1) (v / 0.5)^2)

is the chance that intervals which vary by half their mean look this regular. Random onsets vary by their whole mean,
but units last for a while, and slow noise crosses a level at intervals that vary by 0.5 to 1: a test against random
onsets would call it regular.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from rondo.evidence.occurrences import Occurrences, Tested

_REGULAR = 0.5  # coefficient of variation
_FEWEST = 4  # intervals


def spacing_test(occurrences: Occurrences) -> Tested:
    """p of each unit with at least four intervals, times their number; seen is the median interval in windows."""
    found: dict[int, tuple[float, float]] = {}
    for id in occurrences.ids:
        before, after = occurrences.successive(id)
        intervals = occurrences.starts[after] - occurrences.starts[before]
        if intervals.size >= _FEWEST:
            variation = intervals.std(ddof=1) / intervals.mean()
            freedom = intervals.size - 1
            found[id] = float(chi2.cdf(freedom * (variation / _REGULAR) ** 2, freedom)), float(np.median(intervals))
    return Tested(
        {id: min(1.0, len(found) * p) for id, (p, _) in found.items()}, {id: d for id, (_, d) in found.items()}
    )
