"""Motifs while the stream goes on: read from the units so far, and final two units later.

What a unit belongs to shows in what follows it, so a window waits for its motif until two more units have begun, or
ninety-six more windows have come, or a gap; then it is final (planted streams, motif AMI 79.5; 60.7 without waiting). A
unit that was promoted after the motifs were learned stands for itself, under a motif id of its own. Learning the
grammar anew from the labels of the stream, ids kept, was tried and is worse, for they are noisier than those it was
learned from: 77.4 after every hundred runs, 77.1 only when a unit was new.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from rondo.data.labels import OTHER, runs_of
from rondo.motifs.base import Motifs
from rondo.units.timeline import Timeline

_MOST_WAITING = 96  # windows
_CONTEXT = 96  # windows before those that wait, which are read with them
_UNITS_LATER = 2

Motif = tuple[int, float]
"""An id and its score."""


class MotifReader:
    """The units of the last windows, the motifs there are, and those of units that the motif model does not know."""

    def __init__(self, motifs: Motifs) -> None:
        self.model = motifs
        self.past: deque[int] = deque(maxlen=_CONTEXT + _MOST_WAITING + 1)  # the last `n_waiting` of them wait
        self.n_waiting = 0
        self.own: dict[int, int] = {}  # promoted unit -> its motif
        self.next_id = max(motifs.ids, default=-1) + 1

    def add_unit(self, unit: int) -> int:
        """A motif for a unit that was promoted; gives its id."""
        self.own[unit] = self.next_id
        self.next_id += 1
        return self.own[unit]

    def push(self, unit: int) -> list[Motif]:
        """One more window; gives the motifs that have become final, of the windows that have waited longest."""
        before = self.past[-1] if self.past else OTHER
        self.past.append(unit)
        self.n_waiting += 1
        n_final = self._n_final() if unit != before else 0
        return self._final(max(n_final, self.n_waiting - _MOST_WAITING))

    def boundary(self) -> list[Motif]:
        """A gap: all that wait are read, and nothing is carried over."""
        final = self._final(self.n_waiting)
        self.past.clear()
        return final

    def _n_final(self) -> int:
        """Windows, of those that wait, after which enough units have begun."""
        units = np.array(self.past)[-self.n_waiting :]
        begins = np.flatnonzero(np.diff(units) != 0) + 1
        return int(begins[-_UNITS_LATER]) if begins.size >= _UNITS_LATER else 0

    def _final(self, n: int) -> list[Motif]:
        if n <= 0:
            return []
        read = self._read()[len(self.past) - self.n_waiting :][:n]
        self.n_waiting -= n
        return read

    def _read(self) -> list[Motif]:
        """The motif of each remembered window; units that the model does not know are bounds of what it reads."""
        units = np.array(self.past, dtype=np.int32)
        known = np.isin(units, self.model.unit_ids)
        motifs = [(self.own.get(unit, OTHER), 1.0 if unit in self.own else 0.0) for unit in units.tolist()]
        stretches = runs_of(known)
        for start, stop, is_known in zip(stretches.starts, stretches.stops, stretches.ids, strict=True):
            if is_known:
                part = Timeline(units[start:stop], np.zeros(stop - start), ((0, int(stop - start)),))
                read = self.model.timeline(part)
                motifs[start:stop] = zip(read.ids.tolist(), read.scores.tolist(), strict=True)
        return motifs

    def state(self) -> dict[str, Any]:
        """Everything that changed since it began, exactly, as plain values."""
        own = sorted(self.own.items())
        return {"past": list(self.past), "n_waiting": self.n_waiting, "own": own, "next_id": self.next_id}

    @classmethod
    def restore(cls, motifs: Motifs, plain: Mapping[str, Any]) -> MotifReader:
        """The reader that gave this state, with the motifs it had."""
        reader = cls(motifs)
        reader.past.extend(plain["past"])
        reader.own = {int(unit): int(motif) for unit, motif in plain["own"]}
        reader.n_waiting, reader.next_id = plain["n_waiting"], plain["next_id"]
        return reader
