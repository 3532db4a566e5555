"""Whether recordings of a data set hold one activity each, so that scaling each by itself takes away what differs.

Each recording is cut into four parts. Where the deviations of a channel differ far more between recordings than between
the parts of one, every recording is alike from beginning to end and unlike the others: one rests, one walks, one runs.
Scaled each by its own statistics, all look the same. Means are not asked, as they also tell how a sensor was worn.

Measured with labels, of which the rule sees none, as spread of the logarithm and share of it between recordings:
recordings of many activities have at most 0.73 and 0.75 together (PTE), those of USC-HAD cut into single activities
1.79 and 0.94. In 300 draws of 2 to 8 recordings each, the note never comes for whole recordings of USC-HAD, MoCap,
Suturing, OpenPack, ActRecTut, MoCap6 and Billboard, and in 0 to 6 % of draws for PTE. For single activities it comes in
55 % (2 recordings), 92 % (5) and 98 % (8) of draws from USC-HAD, in 26 to 67 % from PTE, in 25 to 41 % from MoCap.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from rondo.config.settings import PreprocessConfig
from rondo.data.moments import ChannelMoments, Matrix
from rondo.data.signal import Signal
from rondo.data.windows import Span

N_PARTS = 4
_LEAST_FRAMES = 16  # of a recording: fewer tell no deviation of a part
_LEAST_SPREAD = 0.85  # of the logarithm: recordings differ by a factor of 2.3 from one to the next
_LEAST_SHARE = 0.75  # of that spread, between recordings and not within them
_LEAST_DEVIATION = 1e-3  # of that of all recordings: stillness is no further away

ONE_EACH = (
    "recordings are alike from beginning to end and differ in how much they move, as if each held one activity; scaled "
    "each by itself they look the same: try --set preprocess.statistics=dataset"
)
_NO_PLACES = ", together with --group-by (whose recordings they are) or --set units.places=false"


def part_deviations(signal: Signal) -> Matrix:
    """The deviation of each channel in each part (N_PARTS, n_channels); (0, n_channels) of a recording too short."""
    if sum(stop - start for start, stop in signal.spans) < _LEAST_FRAMES:
        return np.zeros((0, signal.values.shape[1]))
    found = []
    for spans in _parts(signal.spans):
        part = Signal(signal.id, signal.values, signal.rate, signal.channels, spans, signal.n_rows)
        moments = ChannelMoments.of(part)
        found.append(np.sqrt(moments.squares / moments.count))
    return np.stack(found)


def _parts(spans: Sequence[Span]) -> list[tuple[Span, ...]]:
    """The spans cut into parts of as many usable frames each.

    >>> _parts([(0, 6), (10, 12)])
    [((0, 2),), ((2, 4),), ((4, 6),), ((10, 12),)]
    """
    before = np.cumsum([0, *(stop - start for start, stop in spans)]).tolist()
    edges = np.linspace(0, before[-1], N_PARTS + 1).astype(np.int64).tolist()
    parts = []
    for first, last in pairwise(edges):
        cut = [
            (max(start, start + first - passed), min(stop, start + last - passed))
            for (start, stop), passed in zip(spans, before, strict=False)
        ]
        parts.append(tuple((start, stop) for start, stop in cut if start < stop))
    return parts


def note_on_levels(deviations: Sequence[Matrix], config: PreprocessConfig, *, has_own_places: bool) -> str:
    """What to say where recordings, by their `part_deviations`, seem to hold one activity each; "" otherwise.

    `has_own_places`: whether each recording also has a place of its own for the units, which takes levels away again.
    """
    if config.scaling == "none" or config.statistics == "dataset" or not hold_one_each(deviations):
        return ""
    return ONE_EACH + (_NO_PLACES if has_own_places else "")


def hold_one_each(deviations: Sequence[Matrix]) -> bool:
    """Whether recordings are homogeneous, and differ."""
    told = [own for own in deviations if len(own)]
    if len(told) < 2 or 2 * len(told) < len(deviations):
        return False
    every = np.stack(told)  # (n_recordings, N_PARTS, n_channels)
    usual = np.sqrt((every**2).mean(axis=(0, 1)))
    every, usual = every[..., usual > 0], usual[usual > 0]
    if not usual.size:
        return False
    levels = np.log(np.maximum(every / usual, _LEAST_DEVIATION))
    within = levels.var(axis=1, ddof=1).mean(axis=0)
    between = np.maximum(levels.mean(axis=1).var(axis=0, ddof=1) - within / N_PARTS, 0.0)
    share = np.divide(between, between + within, out=np.zeros_like(between), where=between > 0)
    return bool(np.median(np.sqrt(between)) >= _LEAST_SPREAD and np.median(share) >= _LEAST_SHARE)
