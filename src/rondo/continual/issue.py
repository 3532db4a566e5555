"""Issue: the decisions of a stream that learns, in the order of their windows, with their frames and their motifs.

Both rules (`updater.py`, `published/published_reader.py`) give the unit of one window after the other. A decision waits
here until its motif is known too. Until then the frames that it speaks for may still change: where the unit of the next
window is another, the signal says at which frame, and those that wait give way or reach up to it. What has been issued
stays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from rondo.arrays import Floats
from rondo.continual.journal import Event
from rondo.continual.motif_reader import Change, Motif
from rondo.continual.reading import Decision
from rondo.data.labels import OTHER
from rondo.units.boundaries import Cuts


class MotifsInOrder(Protocol):
    """What reads motifs from units as they come."""

    def push(self, unit: int) -> list[Motif]: ...
    def boundary(self) -> list[Motif]: ...
    def take_changes(self) -> list[Change]: ...


class Opened(NamedTuple):
    """Of a window that awaits its label: its number, its place, and what a boundary is found from."""

    window: int
    start_frame: int
    blocks: Floats  # (n_blocks, n_dims)
    is_first: bool  # of its stretch: it speaks for the frames before its middle too


class Issue:
    """Decisions that wait for their motifs."""

    def __init__(self, motifs: MotifsInOrder, cuts: Cuts, step_frames: int) -> None:
        self._motifs, self._cuts, self._step_frames = motifs, cuts, step_frames
        self._waiting: deque[Decision] = deque()

    def add(self, opened: Opened, unit: int, score: float) -> list[Decision]:
        """The unit of the next window; gives the windows that thereby have a motif too."""
        start, stop = self._frames(opened, unit)
        self._waiting.append(Decision(opened.window, start, stop, unit, OTHER, score, 0.0))
        return self._with_motifs(self._motifs.push(unit))

    def end(self, frame: int, decided: list[Decision]) -> list[Decision]:
        """The stretch ends before this frame: what was decided with its last windows, and all that still wait."""
        decisions = decided + self._with_motifs(self._motifs.boundary())
        if decisions:  # the last window speaks for the frames after its middle too
            decisions[-1] = decisions[-1]._replace(stop_frame=max(decisions[-1].stop_frame, frame))
        return decisions

    def events(self, frame: int) -> list[Event]:
        """What has happened to motifs since this was last asked."""
        changes = self._motifs.take_changes()
        return [Event(change.kind, "motif", frame, None, (change.id,), change.evidence) for change in changes]

    def _frames(self, opened: Opened, unit: int) -> tuple[int, int]:
        stop = self._cuts.middle(opened.start_frame + self._step_frames)
        if opened.is_first:
            self._cuts.last = opened.start_frame
            return opened.start_frame, stop
        before = self._waiting[-1]  # it always waits: for what follows it
        if before.unit == unit:
            return self._cuts.middle(opened.start_frame), stop
        start = self._cuts.between(before.unit, unit, opened.start_frame, opened.blocks)
        start = max(start, self._waiting[0].start_frame)  # what is issued stays
        for i, own in enumerate(self._waiting):
            if own.stop_frame > start:
                self._waiting[i] = own._replace(start_frame=min(own.start_frame, start), stop_frame=start)
        self._waiting[-1] = self._waiting[-1]._replace(stop_frame=start)
        return start, stop

    def _with_motifs(self, motifs: list[Motif]) -> list[Decision]:
        return [self._waiting.popleft()._replace(motif=motif, motif_score=score) for motif, score in motifs]

    def state(self) -> dict[str, Any]:
        """What waits, exactly, for JSON."""
        return {"waiting": [list(decision) for decision in self._waiting], "last_cut": self._cuts.last}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """What waited when it gave that state."""
        self._waiting = deque(Decision(*values) for values in plain["waiting"])
        self._cuts.last = plain["last_cut"]
