"""Doubtful channels, which units would follow for what they are not. They stay as they are, and a note names them.

- too large for their digits, so that they move in steps;
- a steady drift, or a scale on which a few values are all. Every stream of the model would have to take out the line,
  or logarithms, too; and of 1,314 channels of eleven development sets three drift so (temperatures that warm up) and
  none is skewed so: nothing real could show whether it helps. On planted units a drift of 20 deviations costs 14 AMI
  points, exponentials of the signal 33;
- numbers that wrap: an angle at 360 degrees, a count at the end of its bits. A valve may jump in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rondo.arrays import Floats
from rondo.data.precision import too_coarse
from rondo.data.recording import Recording, Values
from rondo.wording import quoted

_SAMPLED, _FEWEST = 2_000, 100  # rows, evenly spaced; ours: enough for moments, too few to tell anything
_MOST_DRIFT = 0.9  # of the variance of a channel that a straight line explains; ours, met by the three channels above
_SKEWED, _EVEN = 2.0, 0.5  # skewness of positive values, and of their logarithms; ours: an exponential has 2
_TURNS = (360.0, 2 * math.pi)  # degrees and radians
_WRAPS = (*_TURNS, *(2.0**bits for bits in (8, 10, 12, 14, 16, 24, 32)))  # and of converters and integers
_NEARLY = 0.98  # of a turn, or of what the bits hold, that a recording must reach; ours, not measured
_FAR, _FEWEST_JUMPS = 0.75, 10  # of the range: a jump; how many of them; ours, not measured


def doubtful_notes(recording: Recording, channels: Sequence[str]) -> list[str]:
    """Notes on those of these channels that are doubtful."""
    places = {name: recording.channels.index(name) for name in channels}
    sample = recording.values[:: max(1, -(-recording.n_frames // _SAMPLED))].astype(np.float64)
    is_coarse = too_coarse(recording.values)
    kinds = {
        "too large for the digits of its numbers, so that it moves in steps: {}; store as float64": [
            name for name, place in places.items() if is_coarse[place]
        ],
        "steady drift in {}: units may follow it; take it out first if it means nothing": [
            name for name, place in places.items() if _drifts(sample[:, place])
        ],
        "a few values are far larger than the rest in {}: units may miss the rest; take logarithms": [
            name for name, place in places.items() if _is_skewed(sample[:, place])
        ],
    }
    notes = [text.format(quoted(names)) for text, names in kinds.items() if names]
    for name, place in places.items():
        period, n_jumps = _wraps(recording.values[:, place])
        if n_jumps >= _FEWEST_JUMPS:
            notes.append(
                f"channel '{name}' jumps from one end of its range to the other {n_jumps} times: if its numbers wrap "
                f"at {period:g}, unwrap them (numpy.unwrap(values, period={period:g}))"
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


def _wraps(values: Values) -> tuple[float, int]:
    """Where its numbers may wrap, by their range, and how often they jump so far; (0, 0) if nowhere."""
    given = values[np.isfinite(values)]
    spread = float(given.max()) - float(given.min()) if given.size else 0.0
    period = next((period for period in _WRAPS if _NEARLY * period <= spread <= period), 0.0)
    if not period or (period not in _TURNS and (given != np.rint(given)).any()):
        return 0.0, 0
    return period, int(np.count_nonzero(np.abs(np.diff(values)) > _FAR * period))
