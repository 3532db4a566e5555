"""Mixes of units as a stream has counted them: contexts that refine, stretches that none explains, new contexts.

A context is a mix, how likely each unit is in it (`motifs/contexts.py`). Here the mixes are counts that go on: those of
the fit, and every window that was read since. *No context explains* a stretch whose units would cost less as those of
some mix nobody knows: twice as many units, equally likely, as the broadest context has,

    cost of a window = weight * (max_k H_k + log 2),     H_k the entropy of the mix of context k

where going there and back costs two changes of context. Such stretches gather in candidates, each with those that its
mix explains better than that; a candidate with support, extent and recurrence becomes a context. If its own mix would
gain less than a change of context per visit over a mix joined with a known one, it becomes part of that context. Units
that came since the fit become part only of contexts that grew with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints, Tensors
from rondo.config.schema import ContinualConfig
from rondo.continual.novelty import MicroCluster, is_eligible
from rondo.motifs.contexts import CHANGE_NATS, log_shares

_MOST_CANDIDATES = 64  # the weakest makes room
_FORGOTTEN = 0.5  # support below which a candidate is given up


class Stretch(NamedTuple):
    """Windows [first, last] that no context explains, and how many of them each unit has."""

    counts: Ints  # (n_units,)
    first: int
    last: int


class MixCounts:
    """Windows of each unit in each context, (n_contexts, n_units); both may grow."""

    def __init__(self, counts: Ints, window_weight: float) -> None:
        self.counts, self.weight = counts.astype(np.int64), window_weight
        self._logs: Floats | None = None  # until a count changes

    def add_unit(self) -> None:
        self._set(np.pad(self.counts, ((0, 0), (0, 1))))

    def add_context(self, counts: Ints) -> None:
        self._set(np.vstack([self.counts, counts]))

    def see(self, context: int, code: int) -> None:
        """One more window of a unit in a context."""
        self.counts[context, code] += 1
        self._logs = None

    def join(self, context: int, counts: Ints, n_fitted: int) -> None:
        """These windows become part of a context."""
        self.counts[context] = self.joined(counts, n_fitted)[context]
        self._logs = None

    def _set(self, counts: Ints) -> None:
        self.counts, self._logs = counts, None

    @property
    def logs(self) -> Floats:
        """Log-shares of units in contexts."""
        if self._logs is None:
            self._logs = log_shares(self.counts, self.weight)
        return self._logs

    def costs(self, codes: Ints) -> Floats:
        """Of windows in each context, (n_windows, n_contexts); nothing where no context has the unit, or -1."""
        costs = -self.weight * self.logs[:, codes].T
        costs[(codes < 0) | (self.counts.sum(axis=0) == 0)[codes]] = 0.0
        return np.asarray(costs)

    def gate_costs(self, codes: Ints) -> Floats:
        """Of windows as those of a mix nobody knows, the first column, and in each context; nothing for -1.

        A unit that no context has costs there what any unit costs that was never seen in it.
        """
        costs = np.column_stack([np.full(len(codes), self.unknown), -self.weight * self.logs[:, codes].T])
        costs[codes < 0] = 0.0
        return costs

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


class Candidates:
    """Stretches that no context explains, each kind with its micro-cluster and its mix."""

    def __init__(self, n_units: int, half_life: float, config: ContinualConfig) -> None:
        self.half_life, self.config = half_life, config
        self.clusters: list[MicroCluster] = []
        self.counts: Ints = np.zeros((0, n_units), np.int64)
        self.next_id = 0

    def add_unit(self) -> None:
        self.counts = np.pad(self.counts, ((0, 0), (0, 1)))

    def add(self, found: Stretch, mixes: MixCounts) -> tuple[int, list[MicroCluster]]:
        """File a stretch; gives where, and the candidates that were given up."""
        expired = self._expire(found.first)
        n_windows = int(found.counts.sum())
        if len(self.clusters):
            costs = [mixes.coded(found.counts, logs) for logs in log_shares(self.counts, mixes.weight)]
            nearest = int(np.argmin(costs))
            if costs[nearest] < n_windows * mixes.unknown:
                self.counts[nearest] += found.counts
                self.clusters[nearest] = self._visited(self.clusters[nearest], found, n_windows)
                return nearest, expired
        if len(self.clusters) == _MOST_CANDIDATES:
            supports = [own.support_at(found.first, self.half_life) for own in self.clusters]
            expired.append(self.take(int(np.argmin(supports)))[0])
        self.clusters.append(MicroCluster(self.next_id, float(n_windows), found.first, found.last, 1))
        self.counts = np.vstack([self.counts, found.counts])
        self.next_id += 1
        return len(self.clusters) - 1, expired

    def take(self, index: int) -> tuple[MicroCluster, Ints]:
        """Remove a candidate."""
        counts, self.counts = self.counts[index], np.delete(self.counts, index, axis=0)
        return self.clusters.pop(index), counts

    def is_eligible(self, index: int, window: int) -> bool:
        """Support, extent and recurrence, as of a unit."""
        supports = [own.support_at(window, self.half_life) for own in self.clusters]
        return is_eligible(self.clusters[index], supports, self.config)

    def _visited(self, cluster: MicroCluster, found: Stretch, n_windows: int) -> MicroCluster:
        support = cluster.support_at(found.last, self.half_life) + n_windows
        regions = cluster.regions + (found.first - cluster.last > self.config.apart)
        return replace(cluster, support=support, last=found.last, regions=regions)

    def _expire(self, window: int) -> list[MicroCluster]:
        weak = [i for i, own in enumerate(self.clusters) if own.support_at(window, self.half_life) < _FORGOTTEN]
        return [self.take(index)[0] for index in weak[::-1]][::-1]

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything that changes, exactly."""
        clusters = [asdict(cluster) for cluster in self.clusters]
        return {"counts": self.counts.copy()}, {"clusters": clusters, "next_id": self.next_id}

    def restored(self, tensors: Tensors, plain: Mapping[str, Any]) -> Candidates:
        """This one, which has only begun, as it was when it gave that state."""
        self.counts = np.array(tensors["counts"], np.int64)
        self.clusters = [MicroCluster(**cluster) for cluster in plain["clusters"]]
        self.next_id = plain["next_id"]
        return self


def is_part_of(gain_nats: float, n_visits: int) -> bool:
    """Whether a mix of its own gains a candidate too little: less than a change of context for each visit."""
    return gain_nats <= CHANGE_NATS * n_visits
