"""Which channels a page draws first: those that set units apart most. Channels that never change are left out.

Of up to twelve channels the order is that of the file; of more, the most telling twelve come first, in that order, so
that x, y and z of a sensor stay together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rondo.analysis.shape import Sums, standardised
from rondo.report.contents import DRAWN_AT_FIRST
from rondo.run.segments import labels_in, segments_of

if TYPE_CHECKING:
    from rondo.result import Result
    from rondo.run.summary import RecordingSummary

_LOOKED_AT = 8  # recordings: the channels of the others are taken to be alike
_FRAMES = 20_000  # of each: an order needs no third digit of d


def telling_first(result: Result, recordings: Sequence[RecordingSummary]) -> dict[str, list[int]]:
    """The channels of each recording in the order in which a page draws them, without those that are constant."""
    if result.summary.stream is not None and not result.summary.stream.finished:
        return {it.id: [*range(len(it.channels))] for it in recordings}  # rows that change places while one looks
    telling: dict[str, float] = {}
    for recording in recordings[:_LOOKED_AT]:
        for name, d in _differences(result, recording).items():
            telling[name] = max(telling.get(name, -1.0), d)
    constant = {name for name, d in telling.items() if d < 0} if len(recordings) <= _LOOKED_AT else set()
    return {it.id: _ordered(it.channels, telling, constant) for it in recordings}


def _ordered(channels: Sequence[str], telling: Mapping[str, float], constant: set[str]) -> list[int]:
    own = [place for place, name in enumerate(channels) if name not in constant] or [*range(len(channels))]
    if len(own) <= DRAWN_AT_FIRST:
        return own
    most = sorted(own, key=lambda place: -telling.get(channels[place], 0.0))[:DRAWN_AT_FIRST]
    return [*sorted(most), *(place for place in own if place not in most)]


def _differences(result: Result, recording: RecordingSummary) -> dict[str, float]:
    """The largest d of each channel between a unit and the rest; -1 where the channel never changes."""
    overview = result.run.overviews[recording.id]
    if not overview.codes.size:  # nothing is kept
        return {}
    d = np.zeros(len(overview.channels))
    if d.size > DRAWN_AT_FIRST:  # else the order is that of the file
        own = segments_of(result, [recording.id]).filter(recording=recording.id)
        ids, track = np.unique(labels_in(own, "unit", recording.n_frames), return_inverse=True)
        sums = Sums.empty(ids.size, d.size)
        sums.add(standardised(overview, _FRAMES), track.astype(np.int32), _FRAMES)
        d = np.abs(sums.differences()).max(axis=(0, 1))
    return dict(zip(overview.channels, np.where(overview.high > overview.low, d, -1.0).tolist(), strict=True))
