"""Channels that units would follow for what they are not: a steady drift, or a scale on which a few values are all.

Neither is mended. Every stream of the model would have to take out the line, or logarithms, too; and of 1,314 channels
of eleven development sets three drift so (temperatures that warm up) and none is skewed so: nothing real could show
whether it helps. On planted units a drift of 20 deviations costs 14 AMI points, exponentials of the signal 33.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats
from rondo.wording import quoted

_SAMPLED, _FEWEST = 2_000, 100  # rows, evenly spaced; ours: enough for moments, too few to tell anything
_MOST_DRIFT = 0.9  # of the variance of a channel that a straight line explains; ours, met by the three channels above
_SKEWED, _EVEN = 2.0, 0.5  # skewness of positive values, and of their logarithms; ours: an exponential has 2


def drift_notes(values: NDArray[np.floating], channels: dict[str, int]) -> list[str]:
    """Notes on channels, given with their places, that drift or are skewed."""
    sample = values[:: max(1, -(-len(values) // _SAMPLED))].astype(np.float64)
    drifting = [name for name, place in channels.items() if _drifts(sample[:, place])]
    skewed = [name for name, place in channels.items() if _is_skewed(sample[:, place])]
    notes = []
    if drifting:
        notes.append(f"steady drift in {quoted(drifting)}: units may follow it; take it out first if it means nothing")
    if skewed:
        notes.append(
            f"a few values are far larger than the rest in {quoted(skewed)}: units may miss the rest; take logarithms"
        )
    return notes


def _drifts(column: Floats) -> bool:
    rows = np.flatnonzero(np.isfinite(column))
    known = column[rows]
    if rows.size < _FEWEST or np.ptp(known) == 0:
        return False
    known, at = known - known.mean(), rows - rows.mean()
    return bool((known @ at) ** 2 > _MOST_DRIFT * (known @ known) * (at @ at))


def _is_skewed(column: Floats) -> bool:
    known = column[np.isfinite(column)]
    if known.size < _FEWEST or known.min() <= 0 or np.ptp(known) == 0:
        return False
    return _skewness(known) > _SKEWED and abs(_skewness(np.log(known))) < _EVEN


def _skewness(values: Floats) -> float:
    centred = values - values.mean()
    return float((centred**3).mean() / (centred**2).mean() ** 1.5)
