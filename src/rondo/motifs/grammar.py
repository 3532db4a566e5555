"""A two-level Markov model of unit runs: motifs are small grammars over units.

The unit timeline is read as a sequence of runs u_1 u_2 ... (one unit each, whatever its duration). Inside motif m,
unit u is followed by unit v with probability go[m, u, v] or the motif ends, go[m, u, END]; then motif n follows,
follow[m, n], and begins with unit v, start[n, v]. The first motif of a span is any of them, equally likely.

From one run to the next, only the two units matter. So a step of every recursion is one matrix per *pair* of
neighbouring units (`PairTables`), of which there are few, and several grammars run side by side as one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rondo.arrays import Flags, Floats, Ints


class Grammar(NamedTuple):
    """Log-probabilities; expected ones of Dirichlet rows after a fit, so that rows sum to less than one.

    A batch of grammars has one axis more, in front.
    """

    go: Floats  # (n_motifs, n_units, n_units + 1); the last column is END
    start: Floats  # (n_motifs, n_units)
    follow: Floats  # (n_motifs, n_motifs)

    @property
    def n_motifs(self) -> int:
        return int(self.follow.shape[-1])

    def alone(self, index: int) -> Grammar:
        """One grammar of a batch."""
        return Grammar(self.go[index], self.start[index], self.follow[index])

    def kept(self, motifs: Sequence[int]) -> Grammar:
        """The same grammar with these motifs only, in this order."""
        index = list(motifs)
        return Grammar(self.go[index], self.start[index], self.follow[np.ix_(index, index)])


@dataclass(frozen=True, eq=False)
class RunPairs:
    """Runs of units 0 .. n_units-1, and the pairs of neighbours among them; no pair crosses the beginning of a span."""

    units: Ints  # (n_runs,)
    first: Flags  # (n_runs,), True where a span begins and nothing is known of what came before
    n_units: int
    before: Ints  # (n_pairs,), units of each distinct pair
    after: Ints
    pair: Ints  # (n_runs,), the pair that a run forms with the one before it; -1 where a span begins

    @classmethod
    def of(cls, units: Ints, first: Flags, n_units: int) -> RunPairs:
        pair = np.full(units.size, -1, dtype=np.int64)
        inner = np.flatnonzero(~first)
        codes, pair[inner] = np.unique(units[inner - 1] * n_units + units[inner], return_inverse=True)
        return cls(units, first, n_units, codes // n_units, codes % n_units, pair)

    @property
    def n_runs(self) -> int:
        return int(self.units.size)

    @property
    def opening(self) -> Ints:
        """The runs that begin a span."""
        return np.flatnonzero(self.first)


class PairTables(NamedTuple):
    """The factors of one step, for each distinct pair of units and each grammar of a batch."""

    stay: Floats  # (n_pairs, n_grammars, n_motifs)
    enter: Floats  # (n_pairs, n_grammars, n_motifs, n_motifs): end, follow, begin
    begin: Floats  # (n_units, n_grammars, n_motifs), where a span begins

    @classmethod
    def of(cls, pairs: RunPairs, batch: Grammar) -> PairTables:
        stay = np.moveaxis(batch.go[..., pairs.before, pairs.after], -1, 0)
        end = np.moveaxis(batch.go[..., -1], -1, 0)[pairs.before]
        begin = np.moveaxis(batch.start, -1, 0)
        enter = end[..., :, None] + batch.follow + begin[pairs.after][..., None, :]
        return cls(np.exp(stay), np.exp(enter), np.exp(begin) / batch.n_motifs)


class Passes(NamedTuple):
    """Forward and backward probabilities, (n_runs, n_grammars, n_motifs); their product is the posterior."""

    forward: Floats  # given the runs up to this one
    backward: Floats  # of the runs after this one, over what was expected of them
    scale: Floats  # (n_runs, n_grammars), probability of each run given the ones before


def forward_backward(pairs: RunPairs, tables: PairTables) -> Passes:
    """Scaled forward-backward recursion; the log-likelihood is the sum of log(scale)."""
    n_grammars, n_motifs = tables.begin.shape[1:]
    every = np.arange(n_motifs)
    step = tables.enter.copy()
    step[..., every, every] += tables.stay
    forward = np.empty((pairs.n_runs, n_grammars, n_motifs))
    backward = np.ones_like(forward)
    scale = np.empty((pairs.n_runs, n_grammars, 1))
    pair_of_run, units = pairs.pair.tolist(), pairs.units.tolist()
    for i, pair in enumerate(pair_of_run):
        now = tables.begin[units[i]] if pair < 0 else np.matmul(forward[i - 1][:, None], step[pair])[:, 0]
        scale[i] = now.sum(axis=1, keepdims=True)
        np.divide(now, scale[i], out=forward[i])
    for i in range(pairs.n_runs - 1, 0, -1):
        if pair_of_run[i] >= 0:  # else the run before ends a span: nothing is known of what comes after
            later = backward[i] / scale[i]
            np.matmul(step[pair_of_run[i]], later[:, :, None], out=backward[i - 1][:, :, None])
    return Passes(forward, backward, scale[:, :, 0])


def decode_runs(units: Ints, first: Flags, grammar: Grammar) -> tuple[Ints, Flags, Floats]:
    """Most likely motif of each run, whether an occurrence begins there, and the posterior of that motif."""
    pairs = RunPairs.of(units, first, grammar.start.shape[-1])
    motifs, begins = most_likely(pairs, grammar)
    passes = forward_backward(pairs, PairTables.of(pairs, _batch_of_one(grammar)))
    posterior = (passes.forward * passes.backward)[:, 0]
    return motifs, begins, posterior[np.arange(units.size), motifs] / posterior.sum(axis=1)


def most_likely(pairs: RunPairs, grammar: Grammar) -> tuple[Ints, Flags]:
    """Most likely motif of each run and where occurrences begin (Viterbi); of equals, staying, then the first motif."""
    stay, enter, begin = (np.log(table[:, 0]) for table in PairTables.of(pairs, _batch_of_one(grammar)))
    n_motifs = begin.shape[1]
    every = np.arange(n_motifs)
    came_from = np.empty((pairs.n_runs, n_motifs), dtype=np.int64)
    began = np.ones((pairs.n_runs, n_motifs), dtype=np.bool_)
    total = np.zeros(n_motifs)
    for i, pair in enumerate(pairs.pair.tolist()):
        if pair < 0:
            came_from[i] = int(total.argmax())
            total = total.max() + begin[pairs.units[i]]
            continue
        entering = total[:, None] + enter[pair]
        source = entering.argmax(axis=0)
        entered, stayed = entering[source, every], total + stay[pair]
        began[i] = entered > stayed
        came_from[i] = np.where(began[i], source, every)
        total = np.maximum(entered, stayed)
    path = np.empty(pairs.n_runs, dtype=np.int64)
    path[-1] = total.argmax()
    for i in range(pairs.n_runs - 1, 0, -1):
        path[i - 1] = came_from[i, path[i]]
    return path, began[np.arange(pairs.n_runs), path]


def _batch_of_one(grammar: Grammar) -> Grammar:
    return Grammar(grammar.go[None], grammar.start[None], grammar.follow[None])
