"""Contexts while the stream goes on, read from the units as in a whole recording; they refine, and new ones come.

The context of a window is decided by the cheapest path some windows later (`Viterbi`); what was said is never changed.
A window that was read counts for its context from then on, so that mixes follow what is labelled. A second path, which
may also be in no context, finds stretches that none explains (`grown_mixes.py`): they are labelled with the nearest
context all the same, and become a context under a fresh id when they have come back, or part of a known one.

A unit that was promoted meanwhile stands for itself, under a motif id of its own, until a context that has grown holds
it: what it is part of shows in what comes with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Ints, Tensors, owned, owned_by
from rondo.config.schema import ContinualConfig
from rondo.continual.grown_mixes import Candidates, MixCounts, Stretch, is_part_of
from rondo.continual.journal import Evidence
from rondo.continual.motif_reader import Change, Motif, MotifReader
from rondo.continual.novelty import MicroCluster
from rondo.continual.reading import straddling_windows
from rondo.data.labels import OTHER
from rondo.motifs.base import Motifs
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.contexts import CHANGE_NATS
from rondo.units.timeline import Viterbi, smooth_spans

if TYPE_CHECKING:
    from rondo.motifs.contexts import ContextModel

_LAG = 32  # windows of units that the path looks ahead: about two long windows
_REFINED_PER_EVENT = 256  # windows that refine a context before the journal says so
_MOST_NAMED = 5  # units of a mix in the journal
_UNKNOWN = 0  # column of the second path: no context


class ContextReader:
    """Units whose context is not decided, the mixes so far, and what no context explains."""

    def __init__(
        self,
        contexts: ContextModel,
        next_id: int,
        config: ContinualConfig | None = None,
        half_life: float = 1.0,
    ) -> None:
        """`next_id` is the first motif that nobody has; without `config` nothing is learned."""
        self.model, self.learns = contexts, config is not None
        self.own: dict[int, int] = {}  # promoted unit -> its motif
        self.next_id = next_id
        self.units = list(contexts.unit_ids)  # of the columns
        self.contexts = list(contexts.ids)  # of the rows
        self.mixes = MixCounts(contexts.mixes.windows, contexts.window_weight)
        self.candidates = Candidates(len(self.units), half_life, config or ContinualConfig())
        self.viterbi = Viterbi(len(self.contexts), CHANGE_NATS, _LAG)
        self.gate = Viterbi(1 + len(self.contexts), CHANGE_NATS, _LAG)
        self.refined = [0] * len(self.contexts)
        self._open: deque[int] = deque()  # units of windows without a context
        self._unexplained = np.zeros(len(self.units), np.int64)  # windows of each unit, of the last ones in a row
        self._unexplained_from: int | None = None  # the first of them
        self._n_read = 0
        self._changes: list[Change] = []

    @property
    def ids(self) -> tuple[int, ...]:
        """Every motif there is: those of the model, then those that have come since."""
        grown = self.contexts[len(self.model.ids) :]
        return (*self.model.ids, *sorted([*self.own.values(), *grown]))

    def add_unit(self, unit: int) -> int:
        """A motif for a unit that was promoted; gives its id."""
        self.own[unit] = self._fresh_id()
        self.units.append(unit)
        self.mixes.add_unit()
        self.candidates.add_unit()
        self._unexplained = np.append(self._unexplained, 0)
        return self.own[unit]

    def take_changes(self) -> list[Change]:
        """What has happened to the contexts since it was last asked."""
        changes, self._changes = self._changes, []
        return changes

    # ------------------------------------------------------------ reading

    def read(self, units: NDArray[np.int32]) -> list[Motif]:
        """The motif of each window of a whole stretch, by the motifs there are now; nothing is learned."""
        codes = self._codes(units.tolist())
        path = smooth_spans(self.mixes.costs(codes), ((0, codes.size),) if codes.size else (), CHANGE_NATS)
        return [self._told(int(code), int(row)) for code, row in zip(codes, path, strict=True)]

    def push(self, unit: int) -> list[Motif]:
        """The unit of the next window; gives the motifs that have become final, of the windows that waited longest."""
        self._open.append(unit)
        codes = self._codes([unit])
        due = self.viterbi.push(self.mixes.costs(codes))
        gated = self.gate.push(self.mixes.gate_costs(codes)) if self.learns else due
        return self._decided(due, gated)

    def boundary(self) -> list[Motif]:
        """The stretch ends: all that wait are read, and nothing is carried over."""
        due = self.viterbi.flush()
        final = self._decided(due, self.gate.flush() if self.learns else due)
        self._end_unexplained(self._n_read)
        return final

    def _codes(self, units: list[int]) -> Ints:
        """The column of each unit; -1 for OTHER."""
        place = {unit: column for column, unit in enumerate(self.units)}
        return np.array([place.get(unit, -1) for unit in units], np.int64)

    def _decided(self, path: NDArray[np.int64], gated: NDArray[np.int64]) -> list[Motif]:
        codes = self._codes([self._open.popleft() for _ in path])
        final: list[Motif] = []
        for code, row, column in zip(codes.tolist(), path.tolist(), gated.tolist(), strict=True):
            final.append(self._told(code, row))
            if self.learns:
                self._learn(code, column)
        return final

    def _told(self, code: int, row: int) -> Motif:
        """What labels show, with how typical the unit is of its context: its share there over its largest one."""
        if code < 0:
            return OTHER, 0.0
        if self.units[code] in self.own and not self.mixes.counts[row, code]:
            return self.own[self.units[code]], 1.0
        logs = self.mixes.logs[:, code]
        return self.contexts[row], float(np.exp(logs[row] - logs.max()))

    # ------------------------------------------------------------ learning

    def _learn(self, code: int, column: int) -> None:
        """Count a window for its context, or as one that none explains."""
        number, self._n_read = self._n_read, self._n_read + 1
        if column == _UNKNOWN:
            self._unexplained_from = number if self._unexplained_from is None else self._unexplained_from
            self._unexplained[code] += code >= 0
            return
        self._end_unexplained(number)
        row = column - 1
        if code < 0 or (self.units[code] in self.own and not self.mixes.counts[row, code]):
            return
        self.mixes.see(row, code)
        self.refined[row] += 1
        if self.refined[row] % _REFINED_PER_EVENT == 0:
            evidence: Evidence = {"units": self._mix(self.mixes.counts[row]), "refined": self.refined[row]}
            self._changes.append(Change("refine", self.contexts[row], evidence))

    def _end_unexplained(self, stop: int) -> None:
        """The row of windows that no context explains has ended before window `stop`: it is filed."""
        first, self._unexplained_from = self._unexplained_from, None
        if first is None or not self._unexplained.any():
            return
        last = stop - 1
        index, expired = self.candidates.add(Stretch(self._unexplained.copy(), first, last), self.mixes)
        self._unexplained[:] = 0
        self._changes += [Change("expire", gone.id, {"support": gone.support}) for gone in expired]
        if self.candidates.is_eligible(index, last):
            self._promote(*self.candidates.take(index))

    def _promote(self, cluster: MicroCluster, counts: Ints) -> None:
        """As part of a context that explains it nearly as well, or as a new one."""
        n_fitted = len(self.model.unit_ids)
        row, gain = self.mixes.nearest(counts, n_fitted)
        kind: Literal["merge", "promote"] = "merge" if is_part_of(gain, cluster.regions) else "promote"
        if kind == "merge":
            self.mixes.join(row, counts, n_fitted)
        else:
            row = len(self.contexts)
            self.contexts.append(self._fresh_id())
            self.refined.append(0)
            self.mixes.add_context(counts)
            self.viterbi.add_entry()
            self.gate.add_entry()
        evidence: Evidence = {
            "units": self._mix(counts),
            "micro_cluster": cluster.id,
            "support": cluster.support,
            "regions": cluster.regions,
            "extent_windows": cluster.extent,
            "first_window": cluster.first,
            "gain_nats": gain,
        }
        self._changes.append(Change(kind, self.contexts[row], evidence))

    def _mix(self, counts: Ints) -> str:
        """The commonest units and their shares, for people."""
        most = np.argsort(-counts, kind="stable")[:_MOST_NAMED]
        total = counts.sum()
        return ", ".join(f"u{self.units[code]} {counts[code] / total:.0%}" for code in most if counts[code])

    def _fresh_id(self) -> int:
        id, self.next_id = self.next_id, self.next_id + 1
        return id

    # ------------------------------------------------------------ keeping

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything that changed since it began, exactly."""
        tensors, viterbi = self.viterbi.state()
        gate, gate_plain = self.gate.state()
        candidates, candidates_plain = self.candidates.state()
        tensors |= owned("gate", gate) | owned("candidates", candidates) | {"mixes": self.mixes.counts.copy()}
        own = [list(pair) for pair in sorted(self.own.items())]
        return tensors, {
            "viterbi": viterbi,
            "own": own,
            "next_id": self.next_id,
            "open": list(self._open),
            "gate": gate_plain,
            "candidates": candidates_plain,
            "units": list(self.units),
            "contexts": list(self.contexts),
            "refined": list(self.refined),
            "unexplained": [self._unexplained_from, self._unexplained.tolist()],
            "n_read": self._n_read,
        }

    def restored(self, tensors: Tensors, plain: Mapping[str, Any]) -> ContextReader:
        """This reader, which has only begun, as it was when it gave that state."""
        self.viterbi = Viterbi.restore(tensors, plain["viterbi"])
        self.gate = Viterbi.restore(owned_by("gate", tensors), plain["gate"])
        self.candidates = self.candidates.restored(owned_by("candidates", tensors), plain["candidates"])
        self.own = {int(unit): int(motif) for unit, motif in plain["own"]}
        self.next_id, self._open = plain["next_id"], deque(plain["open"])
        self.units, self.contexts = list(plain["units"]), list(plain["contexts"])
        self.refined, self._n_read = list(plain["refined"]), plain["n_read"]
        self._unexplained_from, counts = plain["unexplained"]
        self._unexplained = np.array(counts, np.int64)
        self.mixes = MixCounts(np.array(tensors["mixes"], np.int64), self.model.window_weight)
        if self.mixes.counts.shape != (len(self.contexts), len(self.units)):
            raise ValueError(f"mixes {self.mixes.counts.shape} of {len(self.contexts)} contexts")
        return self


def reader_of(
    motifs: Motifs, config: ContinualConfig, half_life: float, grid: tuple[int, int], *, learns: bool = True
) -> MotifReader | ContextReader:
    """What reads, in a stream, the motifs that labels show; without `learns` nothing grows."""
    next_id = max([*motifs.ids, *motifs.unshown_ids], default=-1) + 1
    if isinstance(motifs, ComposedMotifs):
        if motifs.shown_contexts is not None:
            return ContextReader(motifs.shown_contexts, next_id, config if learns else None, half_life)
        motifs = motifs.by_units
    return MotifReader(motifs, config, half_life, straddling_windows(*grid), next_id, learns=learns)
