"""Whether a new recording is scaled by its own statistics or by those that are typical of the fitted recordings.

Own statistics remove how a sensor is worn and how strongly a person moves. They also remove what tells one activity
from another: scaled by itself, a recording of walking alone looks like one of everything. So they are used where a
recording varies about as much as the fitted ones did, or fits the known units far better by them:

    min(1, variety) * better  >=  0.6 (1 + 15 / n)
    better = strangeness by typical statistics / strangeness by its own

`variety` is the deviation over windows of the logarithm of the deviation in a window, root mean square over channels,
relative to the fitted recordings; gain and offset do not change it. `strangeness` is the mean distance of windows to
the nearest exemplar, in radii, cut at 3.5; n counts window lengths. A recording with its own statistics also has its
own place (`rondo.units.places`); the others are read in the common one. Recall by set: docs/results/streams.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rondo.arrays import Floats
from rondo.data.scaling import Typical
from rondo.data.windows import WindowGrid, Windows

# Chosen on MoCap6, USC-HAD, PTE and planted people; MoCap and OpenPack are held out (same page). 0.75 (1 + 10 / n) gave
# one planted person in six typical statistics and so wrong units; 0.55 (1 + 20 / n) and 0.5 (1 + 30 / n) are alike.
_LEAST, _LENGTHS = 0.6, 15.0
_BACK = 0.8  # of the evidence for own statistics, below which a stream returns to typical ones; chosen like _LEAST
_FLOOR = 1e-3  # of the deviation of a channel; less is stillness
_MOST_STRANGE = 3.5  # as in rondo.units.viterbi.STRANGEST: farther windows are OTHER anyway
_MOST_WINDOWS = 1_000  # that are compared; ours, for the cost


class Choice(NamedTuple):
    """Whose statistics a recording gets, and why."""

    is_own: bool
    variety: float
    evidence: float  # for its own statistics; enough at 1

    @classmethod
    def of(
        cls, variety: float, by_typical: Floats, by_own: Floats, n_lengths: float, *, was_own: bool = False
    ) -> Choice:
        """By how strange its windows are in each scaling; `was_own`: a stream that has its own statistics now."""
        costs = [float(np.minimum(own, _MOST_STRANGE).mean()) for own in (by_typical, by_own)]
        better = costs[0] / max(costs[1], 1e-9)
        evidence = min(1.0, variety) * better / (_LEAST * (1 + _LENGTHS / n_lengths))
        return cls(evidence >= (_BACK if was_own else 1.0), variety, evidence)

    @property
    def note(self) -> str:
        """Why a recording is scaled by typical statistics."""
        varies = f"it varies {min(self.variety, 1):.0%} as much as they do"
        return f"scaled by the statistics of the fitted recordings, not its own: {varies} and fits them better so"


def variety_of(by_own: Windows, typical: Typical) -> float:
    """How much the deviation in windows varies, relative to the fitted recordings."""
    squares = float(np.square(typical.spread).sum())
    return float(np.sqrt(np.square(log_spread(by_own)).sum() / squares)) if squares > 0 else 1.0


def common_spread(levels: Sequence[Floats]) -> Floats:
    """How much the deviation in windows usually varies, in each channel: root mean square over recordings."""
    return np.asarray(np.sqrt(np.mean([own.var(axis=0) for own in levels], axis=0)))


def log_spread(windows: Windows) -> Floats:
    """How much the logarithm of the deviation in a window varies, (n_channels,)."""
    return np.asarray(log_deviations(windows).std(axis=0))


def log_deviations(windows: Windows) -> Floats:
    """Logarithm of the deviation of each channel in each window, relative to that in all of them."""
    deviations = np.concatenate([batch.std(axis=2, dtype=np.float64) for batch in thinned(windows).batches()])
    frames = np.concatenate([windows.values[start:stop] for start, stop in windows.grid.spans])
    usual = frames.std(axis=0, dtype=np.float64)
    usual = np.where(usual > 0, usual, 1.0)
    return np.asarray(np.log(np.maximum(deviations / usual, _FLOOR)))


def thinned(windows: Windows) -> Windows:
    """At most a thousand of them, evenly spaced, laid end to end."""
    return thinned_places(windows)[0]


def thinned_places(windows: Windows) -> tuple[Windows, slice]:
    """The same, and which they are."""
    grid = windows.grid
    places = slice(0, None, max(1, -(-grid.n_windows // _MOST_WINDOWS)))
    starts, length = grid.starts[places], grid.length_frames
    frames, n = (starts[:, None] + np.arange(length)).ravel(), len(starts) * length
    return Windows(windows.values[frames], WindowGrid(length, length, n, ((0, n),))), places
