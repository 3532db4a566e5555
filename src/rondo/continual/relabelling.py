"""A recording read anew, with the vocabularies as a stream has grown them; the stream itself stays as it is.

Labels of a stream freeze when they are issued, so what it had not learned by then reads OTHER for ever. Read anew,
every window is compared with the exemplars of all units there are now, by the rule of the stream (`updater.py`)

    q_k = distance to the nearest exemplar of unit k / how far it reaches,  OTHER at 1

and smoothed over each whole stretch instead of a few windows: nothing waits, nothing is learned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rondo.data.labels import OTHER
from rondo.motifs.base import MotifTimeline
from rondo.units.timeline import Timeline, smooth_spans

if TYPE_CHECKING:
    from rondo.continual.updater import Updater
    from rondo.data.windows import Windows


def read_anew(updater: Updater, windows: Windows) -> tuple[Timeline, MotifTimeline]:
    """Unit and motif of every window of one signal; the distance of a window of no unit is that to the nearest one."""
    units = _units(updater, windows)
    return units, _motifs(updater, units)


def _units(updater: Updater, windows: Windows) -> Timeline:
    spans = windows.grid.window_spans
    if not spans:
        return Timeline(np.zeros(0, np.int32), np.zeros(0), ())
    points = updater.encoder.encode(windows).astype(np.float64)
    q = np.array([updater.units.distances(point) for point in points]) / updater.reaches()
    states = smooth_spans(np.column_stack([np.ones(len(q)), q]), spans, updater.viterbi.penalty)  # state 0 is OTHER
    ids = np.array([OTHER, *updater.units.ids], dtype=np.int32)[states]
    of_state = np.column_stack([q.min(axis=1), q])
    return Timeline(ids, of_state[np.arange(len(q)), states], tuple(spans))


def _motifs(updater: Updater, units: Timeline) -> MotifTimeline:
    """Each stretch is read as a whole."""
    read = [motif for start, stop in units.spans for motif in updater.motifs.read(units.ids[start:stop])]
    ids = np.array([motif for motif, _ in read], dtype=np.int32)
    begins = np.diff(ids, prepend=OTHER - 1) != 0
    begins[[start for start, _ in units.spans]] = True
    return MotifTimeline(ids, np.array([score for _, score in read]), begins)
