"""Whether recordings hold one activity each, so that scaling each by itself removes what differs between them.

In such a recording windows vary little, and recordings differ among themselves in how much they move. Both are read
from the logarithm of the deviation of each channel in each window; means are left out, as they also depend on how a
sensor is worn. Of eight public sets, in draws of 2 to 8 recordings, whole recordings of many activities have a spread
of at least 0.87 and a share between recordings of at most 0.44. Cut into single activities, the medians are 0.55 to
0.80 and 0.36 to 0.91 (Suturing, where gestures are cut out, 1.30 and 0.25: no note).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rondo.arrays import Floats
from rondo.data.moments import ChannelMoments

# By hand between the figures above: MoCap6, PTE, MoCap and USC-HAD chose them, OpenPack and ActRecTut agree.
_MOST_SPREAD, _LEAST_SHARE = 0.85, 0.4

ONE_EACH = (
    "recordings vary little and differ from each other, as if each held one activity; scaled each by itself they look "
    "the same: try --set preprocess.statistics=dataset, together with --group-by (people or machines) or --set "
    "units.places=false"
)


def hold_one_each(levels: Sequence[Floats], moments: Sequence[ChannelMoments]) -> bool:
    """By the logarithms of deviations in windows (n_windows, n_channels), scaled, and the moments of each recording."""
    if len(levels) < 2:
        return False
    deviations = np.array([np.sqrt(own.squares / max(1, own.count)) for own in moments])
    varying = (deviations > 0).all(axis=0)
    if not varying.any():
        return False
    within = np.mean([own[:, varying].var(axis=0) for own in levels], axis=0)
    means = np.array([own[:, varying].mean(axis=0) for own in levels]) + np.log(deviations[:, varying])
    between = means.var(axis=0, ddof=1)
    share = np.divide(between, between + within, out=np.zeros_like(between), where=between > 0)
    return bool(np.sqrt(within.mean()) <= _MOST_SPREAD and np.median(share) >= _LEAST_SHARE)
