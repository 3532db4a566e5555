"""Rest: the unit in which hardly anything moves. What lies between two rests is one cycle or gesture, whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rondo.arrays import Flags
from rondo.data.own_scaling import log_deviations, thinned_places
from rondo.data.windows import Windows
from rondo.motifs.base import UnitRuns
from rondo.motifs.phrases import Phrase
from rondo.units.viterbi import Timeline

_SHORT, _LONG = 0.5, 0.9  # a short rest lasts less than half of what nine in ten do not exceed; ours, not measured
_QUIET = 0.6  # at most so much of the deviation of the next-quietest unit; chosen on planted gestures


def rest_of(windows: Sequence[Windows], timelines: Sequence[Timeline], unit_ids: Sequence[int]) -> int | None:
    """The unit that is rest; None where no unit is clearly quieter than all others."""
    sums, counts = np.zeros(len(unit_ids)), np.zeros(len(unit_ids))
    for own, units in zip(windows, timelines, strict=True):
        codes = np.searchsorted(np.array(unit_ids), units.ids[thinned_places(own)[1]])
        moved = np.sqrt(np.square(np.exp(log_deviations(own))).mean(axis=1))
        sums += np.bincount(codes, moved, minlength=sums.size)
        counts += np.bincount(codes, minlength=counts.size)
    if np.count_nonzero(counts) < 3:  # a rest and two others, or there is nothing to compare
        return None
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)
    quietest, next_one = np.argsort(means)[:2]
    return int(unit_ids[quietest]) if means[quietest] <= _QUIET * means[next_one] else None


def between_rests(runs: UnitRuns, rest: int) -> tuple[Flags, list[Phrase]]:
    """Where a stretch begins: with every span, every rest, and after every rest; and what is done between two rests.

    A rest that is short beside the others is a pause in something.
    """
    resting = runs.units == rest
    long = resting & (runs.lengths >= _SHORT * np.quantile(runs.lengths[resting], _LONG))
    opened = np.asarray(runs.first | long | np.append(False, long[:-1]))
    stretches = np.split(np.arange(runs.units.size), np.flatnonzero(opened)[1:])
    return opened, [tuple(runs.units[own].tolist()) for own in stretches if not long[own[0]]]
