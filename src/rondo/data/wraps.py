"""Channels that wrap: an angle at 360 degrees, a number at the end of its bits.

They jump from one end of their range to the other, again and again, and such a jump is no movement. A valve that opens
and shuts may jump in the same way, so the values stay as they are, and a note names the channel.
"""

from __future__ import annotations

import math

import numpy as np

from rondo.data.recording import Recording, Values

_TURNS = (360.0, 2 * math.pi)  # degrees and radians
_BITS = (8, 10, 12, 14, 16, 24, 32)  # of converters and integers
_NEARLY = 0.98  # of a turn, or of what the bits hold, that a recording must reach; ours, not measured
_FAR = 0.75  # of the range: a jump; ours, not measured
_FEWEST, _MOST = 10, 0.05  # jumps, and jumps per row: more are noise over the whole range; ours, not measured


def with_wraps_noted(recording: Recording) -> Recording:
    """The recording with a note on each channel that seems to wrap."""
    notes = []
    for place, name in enumerate(recording.channels):
        values = recording.values[:, place]
        period = _period(values)
        if period is None:
            continue
        n_jumps = int(np.count_nonzero(np.abs(np.diff(values)) > _FAR * period))
        if _FEWEST <= n_jumps <= _MOST * len(values):
            notes.append(
                f"channel '{name}' jumps from one end of its range to the other {n_jumps} times: if its numbers wrap "
                f"at {period:g}, unwrap them (numpy.unwrap(values, period={period:g}))"
            )
    return recording.noted(*notes) if notes else recording


def _period(values: Values) -> float | None:
    """At which its numbers may wrap, by their range."""
    given = values[np.isfinite(values)]
    if not given.size:
        return None
    spread = float(given.max()) - float(given.min())
    for turn in _TURNS:
        if _NEARLY * turn <= spread <= turn:
            return turn
    held = next((2.0**bits for bits in _BITS if _NEARLY * 2**bits <= spread < 2**bits), None)
    return held if held is not None and bool((given == np.rint(given)).all()) else None
