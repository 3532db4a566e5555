"""Channels that wrap: an angle at 360 degrees, a number at the end of its bits.

They jump from one end of their range to the other, again and again, and such a jump is no movement. A valve that opens
and shuts may jump in the same way, so the values stay as they are, and a note names the channel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rondo.data.recording import Recording, Values

_TURNS = (360.0, 2 * math.pi)  # degrees and radians
_BITS = (8, 10, 12, 14, 16, 24, 32)  # of converters and integers
_NEARLY = 0.98  # of a turn, or of what the bits hold, that a recording must reach; ours, not measured
_FAR = 0.75  # of the range: a jump; ours, not measured
_FEWEST = 10  # jumps; ours, not measured


def wrap_notes(recording: Recording, channels: Sequence[str]) -> list[str]:
    """A note on each of these channels that seems to wrap."""
    notes = []
    for name in channels:
        values = recording.values[:, recording.channels.index(name)]
        period = _period(values)
        n_jumps = 0 if period is None else int(np.count_nonzero(np.abs(np.diff(values)) > _FAR * period))
        if n_jumps >= _FEWEST:
            notes.append(
                f"channel '{name}' jumps from one end of its range to the other {n_jumps} times: if its numbers wrap "
                f"at {period:g}, unwrap them (numpy.unwrap(values, period={period:g}))"
            )
    return notes


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
