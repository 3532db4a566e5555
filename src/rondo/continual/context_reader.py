"""Contexts while the stream goes on, read from the units as in a whole recording.

The context of a window is decided by the cheapest path some windows later (`Viterbi`); what was said is never changed.
A unit that was promoted meanwhile belongs to no context: it stands for itself, under a motif id of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Tensors
from rondo.config.schema import ContinualConfig
from rondo.continual.motif_reader import Change, Motif, MotifReader
from rondo.continual.reading import straddling_windows
from rondo.data.labels import OTHER
from rondo.motifs.base import Motifs
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.contexts import CHANGE_NATS
from rondo.units.timeline import Timeline, Viterbi

if TYPE_CHECKING:
    from rondo.motifs.contexts import ContextModel

_LAG = 32  # windows of units that the path looks ahead: about two long windows


class ContextReader:
    """Units whose context is not decided, and the motifs of units that have come since the fit."""

    def __init__(self, contexts: ContextModel, next_id: int) -> None:
        """`next_id` is the first motif that nobody has."""
        self.model = contexts
        self.own: dict[int, int] = {}  # promoted unit -> its motif
        self.next_id = next_id
        self.viterbi = Viterbi(len(contexts.ids), CHANGE_NATS, _LAG)
        self._open: deque[int] = deque()  # units of windows without a context

    @property
    def ids(self) -> tuple[int, ...]:
        """Every motif there is: those of the model, then those that have come since."""
        return (*self.model.ids, *sorted(self.own.values()))

    def add_unit(self, unit: int) -> int:
        """A motif for a unit that was promoted; gives its id."""
        self.own[unit], self.next_id = self.next_id, self.next_id + 1
        return self.own[unit]

    def take_changes(self) -> list[Change]:
        """Contexts do not change in a stream."""
        return []

    def read(self, units: NDArray[np.int32]) -> list[Motif]:
        """The motif of each window of a whole stretch, by the motifs there are now."""
        read = self.model.timeline(Timeline(units, np.zeros(units.size), ((0, units.size),) if units.size else ()))
        return self._told(units.tolist(), read.ids.astype(np.int64))

    def push(self, unit: int) -> list[Motif]:
        """The unit of the next window; gives the motifs that have become final, of the windows that waited longest."""
        self._open.append(unit)
        return self._decided(self.viterbi.push(self.model.costs(self.model.codes(np.array([unit])))))

    def boundary(self) -> list[Motif]:
        """The stretch ends: all that wait are read, and nothing is carried over."""
        return self._decided(self.viterbi.flush())

    def _decided(self, path: NDArray[np.int64]) -> list[Motif]:
        return self._told([self._open.popleft() for _ in path], path)

    def _told(self, units: list[int], path: NDArray[np.int64]) -> list[Motif]:
        """What the labels show: the context of each window, or the motif of a unit that has come since the fit."""
        scores = self.model.scores(self.model.codes(np.array(units, np.int64)), path).tolist()
        told: list[Motif] = []
        for unit, context, score in zip(units, path.tolist(), scores, strict=True):
            told.append((OTHER, 0.0) if unit == OTHER else (self.own.get(unit, context), score))
        return told

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything that changed since it began, exactly."""
        tensors, viterbi = self.viterbi.state()
        own = [list(pair) for pair in sorted(self.own.items())]
        return tensors, {"viterbi": viterbi, "own": own, "next_id": self.next_id, "open": list(self._open)}

    def restored(self, tensors: Tensors, plain: Mapping[str, Any]) -> ContextReader:
        """This reader, which has only begun, as it was when it gave that state."""
        self.viterbi = Viterbi.restore(tensors, plain["viterbi"])
        self.own = {int(unit): int(motif) for unit, motif in plain["own"]}
        self.next_id, self._open = plain["next_id"], deque(plain["open"])
        return self


def reader_of(
    motifs: Motifs, config: ContinualConfig, half_life: float, grid: tuple[int, int], *, learns: bool = True
) -> MotifReader | ContextReader:
    """What reads, in a stream, the motifs that labels show; without `learns` nothing grows."""
    next_id = max([*motifs.ids, *motifs.unshown_ids], default=-1) + 1
    if isinstance(motifs, ComposedMotifs):
        if motifs.shown_contexts is not None:
            return ContextReader(motifs.shown_contexts, next_id)
        motifs = motifs.by_units
    return MotifReader(motifs, config, half_life, straddling_windows(*grid), next_id, learns=learns)
