"""Contexts while the stream goes on, read from the units as in a whole recording; they refine, and new ones come.

The context of a window is decided by the cheapest path some windows later (`Viterbi`); what was said is never changed.
A window that was read counts for its context from then on, so that mixes follow what is labelled. A second path, which
may also be in no context, finds stretches that none explains (`Candidates`): they are labelled with the nearest
context all the same, and become a context under a fresh id when they have come back, or part of a known one.

A unit that was promoted meanwhile stands for itself, under a motif id of its own, until a context that has grown holds
it: what it is part of shows in what comes with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints, Tensors, owned, owned_by
from rondo.config.settings import ContinualConfig
from rondo.continual.novelty import ClusterBuffer, MicroCluster, is_eligible
from rondo.continual.phrases import ChangeKind, GrowingMotifs, Motif, MotifReader
from rondo.continual.reading import straddling_windows
from rondo.data.labels import OTHER
from rondo.motifs.base import Motifs
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.contexts import CHANGE_NATS, context_costs, log_shares
from rondo.units.viterbi import Viterbi, smooth_spans

if TYPE_CHECKING:
    from rondo.motifs.contexts import ContextModel


_LAG = 32  # windows of units that the path looks ahead: about two long windows
_REFINED_PER_EVENT = 256  # windows that refine a context before the journal says so
_MOST_NAMED = 5  # units of a mix in the journal
_UNKNOWN = 0  # column of the second path: no context


class MixCounts:
    """Windows of each unit in each context, (n_contexts, n_units): those of the fit, and every window read since.

    *No context explains* a stretch whose units would cost less as those of some mix nobody knows: twice as many units,
    equally likely, as the broadest context has,

        cost of a window = weight * (max_k H_k + log 2),     H_k the entropy of the mix of context k

    where going there and back costs two changes of context.
    """

    def __init__(self, counts: Ints, window_weight: float) -> None:
        self.counts, self.weight = counts.astype(np.int64), window_weight
        self._logs: Floats | None = None  # until a count changes

    def add_unit(self) -> None:
        self.counts, self._logs = np.pad(self.counts, ((0, 0), (0, 1))), None

    def add_context(self, counts: Ints) -> None:
        self.counts, self._logs = np.vstack([self.counts, counts]), None

    def see(self, context: int, code: int) -> None:
        self.counts[context, code] += 1
        self._logs = None

    def join(self, context: int, counts: Ints, n_fitted: int) -> None:
        self.counts[context] = self.joined(counts, n_fitted)[context]
        self._logs = None

    @property
    def logs(self) -> Floats:
        if self._logs is None:
            self._logs = log_shares(self.counts, self.weight)
        return self._logs

    def costs(self, codes: Ints) -> Floats:
        """Of windows in each context, (n_windows, n_contexts); nothing where no context has the unit, or -1."""
        is_held = (codes >= 0) & (self.counts.sum(axis=0) > 0)[codes]
        return context_costs(np.where(is_held, codes, -1), self.logs, self.weight)

    def gate_costs(self, codes: Ints) -> Floats:
        """Of windows as those of a mix nobody knows, the first column, and in each context; nothing for -1.

        A unit that no context has costs there what any unit costs that was never seen in it.
        """
        unknown = np.where(codes < 0, 0.0, self.unknown)
        return np.column_stack([unknown, context_costs(codes, self.logs, self.weight)])

    @property
    def unknown(self) -> float:
        """What a window costs as one of a mix that nobody knows."""
        entropies = -(np.exp(self.logs) * self.logs).sum(axis=1)
        return float(self.weight * (entropies.max() + np.log(2.0)))

    def coded(self, counts: Ints, logs: Floats) -> float:
        """What so many windows of each unit cost, in nats, where units have these log-shares."""
        return float(-self.weight * (counts @ logs))

    def joined(self, counts: Ints, n_fitted: int) -> Ints:
        """Every context with these windows as a part of it; of units after the first `n_fitted` only those it has."""
        is_held = (np.arange(counts.size) < n_fitted) | (self.counts > 0)
        return np.asarray(self.counts + counts * is_held)

    def nearest(self, counts: Ints, n_fitted: int) -> tuple[int, float]:
        """The context that these windows would best be part of, and how many nats a mix of their own gains over it."""
        own = self.coded(counts, log_shares(counts[None], self.weight)[0])
        joined = log_shares(self.joined(counts, n_fitted), self.weight)
        losses = [self.coded(counts, logs) - own for logs in joined]
        nearest = int(np.argmin(losses))
        return nearest, losses[nearest]


class Candidates(ClusterBuffer):
    """Stretches that no context explains, each kind with its micro-cluster and its mix.

    A stretch joins the candidate whose mix explains it better than one that nobody knows.
    """

    def __init__(self, n_units: int, half_life: float, config: ContinualConfig) -> None:
        super().__init__(half_life, config.apart)
        self.config, self.counts = config, np.zeros((0, n_units), np.int64)

    def drop(self, indices: Sequence[int]) -> None:
        self.counts = np.delete(self.counts, indices, axis=0)

    def add_unit(self) -> None:
        self.counts = np.pad(self.counts, ((0, 0), (0, 1)))

    def add(self, counts: Ints, first: int, last: int, mixes: MixCounts) -> tuple[int, list[MicroCluster]]:
        """File the windows [first, last], so many of each unit (n_units,); gives where, and what was given up."""
        expired = self.expire(first)
        n_windows = int(counts.sum())
        if self.clusters:
            costs = [mixes.coded(counts, logs) for logs in log_shares(self.counts, mixes.weight)]
            nearest = int(np.argmin(costs))
            if costs[nearest] < n_windows * mixes.unknown:
                self.counts[nearest] += counts
                self.visit(nearest, first, last, n_windows)
                return nearest, expired
        expired += self.open(first, last, n_windows)
        self.counts = np.vstack([self.counts, counts])
        return len(self.clusters) - 1, expired

    def take(self, index: int) -> tuple[MicroCluster, Ints]:
        counts = self.counts[index]
        return self.remove([index])[0], counts

    def is_eligible(self, index: int, window: int) -> bool:
        return is_eligible(self.clusters[index], self.supports(window), self.config)


def is_part_of(gain_nats: float, n_visits: int) -> bool:
    """Whether a mix of its own gains a candidate too little: less than a change of context for each visit."""
    return gain_nats <= CHANGE_NATS * n_visits


class ContextReader(GrowingMotifs):
    """Units whose context is not decided, the mixes so far, and what no context explains."""

    def __init__(
        self,
        contexts: ContextModel,
        next_id: int,
        config: ContinualConfig | None = None,
        half_life: float = 1.0,
    ) -> None:
        """Without `config` nothing is learned."""
        super().__init__(next_id)
        self.model, self.learns = contexts, config is not None
        self.units = list(contexts.unit_ids)  # of the columns
        self.contexts = list(contexts.ids)  # of the rows
        self.mixes = MixCounts(contexts.mixes.windows, contexts.window_weight)
        self.candidates = Candidates(len(self.units), half_life, config or ContinualConfig())
        self.viterbi = Viterbi(len(self.contexts), CHANGE_NATS, _LAG)
        self.gate = Viterbi(1 + len(self.contexts), CHANGE_NATS, _LAG)
        self.refined = [0] * len(self.contexts)
        self._open: deque[tuple[int, bool]] = deque()  # units of windows without a context, and whether they teach
        self._unexplained = np.zeros(len(self.units), np.int64)  # windows of each unit, of the last ones in a row
        self._unexplained_from: int | None = None  # the first of them
        self._n_read = 0

    @property
    def ids(self) -> tuple[int, ...]:
        """Every motif there is: those of the model, then those that have come since."""
        grown = self.contexts[len(self.model.ids) :]
        return (*self.model.ids, *sorted([*self.own.values(), *grown]))

    def add_unit(self, unit: int) -> int:
        """A motif for a unit that was promoted; it stands for itself until a context that has grown holds it."""
        self.units.append(unit)
        self.mixes.add_unit()
        self.candidates.add_unit()
        self._unexplained = np.append(self._unexplained, 0)
        return super().add_unit(unit)

    def read(self, units: NDArray[np.int32]) -> list[Motif]:
        """The motif of each window of a whole stretch, by the motifs there are now; nothing is learned."""
        codes = self._codes(units.tolist())
        path = smooth_spans(self.mixes.costs(codes), ((0, codes.size),) if codes.size else (), CHANGE_NATS)
        return [self._shown(int(code), int(row)) for code, row in zip(codes, path, strict=True)]

    def push(self, unit: int, learns: bool = True) -> list[Motif]:
        """The unit of the next window; gives the motifs that have become final, of the windows that waited longest.

        A window without `learns` counts for no context.
        """
        self._open.append((unit, learns))
        codes = self._codes([unit])
        due = self.viterbi.push(self.mixes.costs(codes))
        gated = self.gate.push(self.mixes.gate_costs(codes)) if self.learns else due
        return self._decided(due, gated)

    def boundary(self) -> list[Motif]:
        due = self.viterbi.flush()
        final = self._decided(due, self.gate.flush() if self.learns else due)
        self._end_unexplained(self._n_read)
        return final

    def _codes(self, units: list[int]) -> Ints:
        """The column of each unit; -1 for OTHER."""
        place = {unit: column for column, unit in enumerate(self.units)}
        return np.array([place.get(unit, -1) for unit in units], np.int64)

    def _decided(self, path: NDArray[np.int64], gated: NDArray[np.int64]) -> list[Motif]:
        opened = [self._open.popleft() for _ in path]
        codes = self._codes([unit for unit, _ in opened])
        final: list[Motif] = []
        for code, row, column, (_, learns) in zip(codes.tolist(), path.tolist(), gated.tolist(), opened, strict=True):
            final.append(self._shown(code, row))
            if self.learns:
                self._learn(code, column, learns)
        return final

    def _shown(self, code: int, row: int) -> Motif:
        """What labels show, with how typical the unit is of its context: its share there over its largest one."""
        if code < 0:
            return OTHER, 0.0
        if self.units[code] in self.own and not self.mixes.counts[row, code]:
            return self.own[self.units[code]], 1.0
        logs = self.mixes.logs[:, code]
        return self.contexts[row], float(np.exp(logs[row] - logs.max()))

    def _learn(self, code: int, column: int, counts: bool) -> None:
        """Count a window for its context, or as one that none explains; or, without `counts`, for nothing."""
        number, self._n_read = self._n_read, self._n_read + 1
        if counts and column == _UNKNOWN:
            self._unexplained_from = number if self._unexplained_from is None else self._unexplained_from
            self._unexplained[code] += code >= 0
            return
        self._end_unexplained(number)
        row = column - 1
        if not counts or code < 0 or (self.units[code] in self.own and not self.mixes.counts[row, code]):
            return
        self.mixes.see(row, code)
        self.refined[row] += 1
        if self.refined[row] % _REFINED_PER_EVENT == 0:
            mix = self._mix(self.mixes.counts[row])
            self.changed("refine", self.contexts[row], {"units": mix, "refined": self.refined[row]})

    def _end_unexplained(self, stop: int) -> None:
        """The row of windows that no context explains has ended before window `stop`: it is filed."""
        first, self._unexplained_from = self._unexplained_from, None
        if first is None or not self._unexplained.any():
            return
        last = stop - 1
        index, expired = self.candidates.add(self._unexplained.copy(), first, last, self.mixes)
        self._unexplained[:] = 0
        for gone in expired:
            self.changed("expire", gone.id, {"support": gone.support})
        if self.candidates.is_eligible(index, last):
            self._promote(*self.candidates.take(index))

    def _promote(self, cluster: MicroCluster, counts: Ints) -> None:
        """As part of a context that explains it nearly as well, or as a new one."""
        n_fitted = len(self.model.unit_ids)
        row, gain = self.mixes.nearest(counts, n_fitted)
        kind: ChangeKind = "merge" if is_part_of(gain, cluster.regions) else "promote"
        if kind == "merge":
            self.mixes.join(row, counts, n_fitted)
        else:
            row = len(self.contexts)
            self.contexts.append(self.fresh_id())
            self.refined.append(0)
            self.mixes.add_context(counts)
            self.viterbi.add_entry()
            self.gate.add_entry()
        mix = self._mix(counts)
        self.changed(kind, self.contexts[row], {"units": mix, **cluster.evidence(), "gain_nats": gain})

    def _mix(self, counts: Ints) -> str:
        """The commonest units and their shares, for people."""
        most = np.argsort(-counts, kind="stable")[:_MOST_NAMED]
        total = counts.sum()
        return ", ".join(f"u{self.units[code]} {counts[code] / total:.0%}" for code in most if counts[code])

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        tensors, viterbi = self.viterbi.state()
        gate, gate_plain = self.gate.state()
        tensors |= owned("gate", gate)
        tensors |= {"candidates.counts": self.candidates.counts.copy(), "mixes": self.mixes.counts.copy()}
        own = [list(pair) for pair in sorted(self.own.items())]
        return tensors, {
            "viterbi": viterbi,
            "own": own,
            "next_id": self.next_id,
            "open": [unit for unit, _ in self._open],
            "doubted": [i for i, (_, learns) in enumerate(self._open) if not learns],
            "gate": gate_plain,
            "candidates": self.candidates.plain(),
            "units": list(self.units),
            "contexts": list(self.contexts),
            "refined": list(self.refined),
            "unexplained": [self._unexplained_from, self._unexplained.tolist()],
            "n_read": self._n_read,
        }

    def restored(self, tensors: Tensors, plain: Mapping[str, Any]) -> ContextReader:
        self.viterbi = Viterbi.restore(tensors, plain["viterbi"])
        self.gate = Viterbi.restore(owned_by("gate", tensors), plain["gate"])
        self.candidates.load(plain["candidates"])
        self.candidates.counts = np.array(tensors["candidates.counts"], np.int64)
        self.own = {int(unit): int(motif) for unit, motif in plain["own"]}
        doubted = set(plain.get("doubted", ()))  # earlier versions have none
        self.next_id = plain["next_id"]
        self._open = deque((unit, i not in doubted) for i, unit in enumerate(plain["open"]))
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
