"""Variational Bayes for grammars: expected counts, Dirichlet rows, and an evidence bound that never falls.

All rows of a grammar have sparse symmetric Dirichlet priors, so a motif pays for every transition it uses and for none
that it does not. With expected counts n of a row, its posterior is Dirichlet(prior + n), and

    bound = log p(units | E[log grammar]) - sum over rows of KL(Dirichlet(prior + n) || Dirichlet(prior))

(Beal 2003, chapter 3). Several starts climb side by side; each stops on its own, so company changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from rondo.arrays import Flags, Floats, Ints
from rondo.motifs.grammar import Grammar, PairTables, RunPairs, forward_backward

_LEAST_LOG = -230.0  # three such factors in a row are still a number; only priors below 0.005 come near


class Counts(NamedTuple):
    """How often each rule of a grammar was used; the axes of a batch of Grammars."""

    go: Floats  # (n_starts, n_motifs, n_units, n_units + 1)
    start: Floats  # (n_starts, n_motifs, n_units)
    follow: Floats  # (n_starts, n_motifs, n_motifs)

    @property
    def n_starts(self) -> int:
        return int(self.start.shape[0])

    @property
    def n_motifs(self) -> int:
        return int(self.start.shape[1])

    def chosen(self, index: Ints | Flags) -> Counts:
        """The counts of some starts."""
        return Counts(self.go[index], self.start[index], self.follow[index])

    @classmethod
    def joined(cls, several: Sequence[Counts]) -> Counts:
        """The starts of several batches in one."""
        return cls(*(np.concatenate(tables) for tables in zip(*several, strict=True)))

    def expected_log(self, prior: float) -> Grammar:
        """E[log p] of every rule under the posterior Dirichlet rows."""
        return Grammar(*(np.maximum(_expected_log(prior + table), _LEAST_LOG) for table in self))

    def divergence(self, prior: float) -> Floats:
        """KL(posterior || prior) over all rows, (n_starts,)."""
        return np.asarray(sum(_divergence(prior + table, prior) for table in self))

    @classmethod
    def of_paths(cls, pairs: RunPairs, motifs: Ints, begins: Flags, n_motifs: int) -> Counts:
        """Counts where the motif of every run, and where occurrences begin, are given: (n_starts, n_runs) each."""
        n_starts, n_units, units = motifs.shape[0], pairs.n_units, pairs.units
        go = np.zeros((n_starts, n_motifs, n_units, n_units + 1))
        start = np.zeros((n_starts, n_motifs, n_units))
        follow = np.zeros((n_starts, n_motifs, n_motifs))
        for s in range(n_starts):
            own, entered = motifs[s], np.flatnonzero(begins[s] & ~pairs.first)
            stayed = np.flatnonzero(~begins[s] & ~pairs.first)
            np.add.at(go[s], (own[stayed], units[stayed - 1], units[stayed]), 1.0)
            np.add.at(go[s, :, :, n_units], (own[entered - 1], units[entered - 1]), 1.0)
            np.add.at(follow[s], (own[entered - 1], own[entered]), 1.0)
            opened = np.concatenate([entered, pairs.opening])
            np.add.at(start[s], (own[opened], units[opened]), 1.0)
        return cls(go, start, follow)


@dataclass(frozen=True, eq=False)
class Ascent:
    """Where each start arrived, and its bound after every iteration: (n_iterations, n_starts), never falling."""

    counts: Counts
    history: Floats

    @property
    def bounds(self) -> Floats:
        return np.asarray(self.history[-1])

    def chosen(self, index: Ints) -> Ascent:
        """Some of the starts."""
        return Ascent(self.counts.chosen(index), self.history[:, index])


def ascend(pairs: RunPairs, counts: Counts, prior: float, max_iterations: int = 100, tolerance: float = 1e-4) -> Ascent:
    """Iterate each start until its bound gains less than `tolerance` per run."""
    reached = Counts(*(table.copy() for table in counts))
    bounds, climbing, ahead = np.full(counts.n_starts, -np.inf), np.arange(counts.n_starts), counts
    history: list[Floats] = []
    while climbing.size and len(history) < max_iterations:
        for table, new in zip(reached, ahead, strict=True):
            table[climbing] = new
        expected, log_likelihood = expected_counts(pairs, ahead.expected_log(prior))
        before = bounds.copy()
        bounds[climbing] = log_likelihood - ahead.divergence(prior)
        history.append(bounds.copy())
        gaining = (bounds - before)[climbing] >= tolerance * pairs.n_runs
        climbing, ahead = climbing[gaining], expected.chosen(gaining)
    return Ascent(reached, np.stack(history))


def chain_bound(units: Ints, first: Flags, n_units: int, prior: float) -> float:
    """The bound of the plain Markov chain of units, which is a grammar of one motif that never ends."""
    pairs = RunPairs.of(units, first, n_units)
    one_motif = Counts.of_paths(pairs, np.zeros((1, units.size), np.int64), first[None], n_motifs=1)
    return float(ascend(pairs, one_motif, prior).bounds[0])


def expected_counts(pairs: RunPairs, batch: Grammar) -> tuple[Counts, Floats]:
    """How often each rule was used, in expectation, and the log-likelihood under each grammar."""
    tables = PairTables.of(pairs, batch)
    passes = forward_backward(pairs, tables)
    later = passes.backward / passes.scale[:, :, None]
    n_units = batch.start.shape[-1]
    every = np.arange(batch.n_motifs)
    go, start, follow = (np.zeros(table.shape) for table in batch)
    order = np.argsort(pairs.pair, kind="stable")[pairs.opening.size :]
    for pair, runs in enumerate(np.split(order, np.flatnonzero(np.diff(pairs.pair[order])) + 1) if order.size else ()):
        u, v = pairs.before[pair], pairs.after[pair]
        moved = np.matmul(passes.forward[runs - 1].transpose(1, 2, 0), later[runs].transpose(1, 0, 2))
        entered = moved * tables.enter[pair]
        go[:, :, u, v] = moved[:, every, every] * tables.stay[pair]
        go[:, :, u, n_units] += entered.sum(axis=2)
        start[:, :, v] += entered.sum(axis=1)
        follow += entered
    for run in pairs.opening:
        start[:, :, pairs.units[run]] += passes.forward[run] * passes.backward[run]
    return Counts(go, start, follow), np.log(passes.scale).sum(axis=0)


def _expected_log(counts: Floats) -> Floats:
    return np.asarray(digamma(counts) - digamma(counts.sum(axis=-1, keepdims=True)))


def _divergence(counts: Floats, prior: float) -> Floats:
    """KL(Dirichlet(counts) || Dirichlet(prior, ..., prior)) summed over rows, one number per start."""
    n = counts.shape[-1]
    rows = (
        gammaln(counts.sum(axis=-1))
        - gammaln(counts).sum(axis=-1)
        - gammaln(n * prior)
        + n * gammaln(prior)
        + ((counts - prior) * _expected_log(counts)).sum(axis=-1)
    )
    return np.asarray(rows.sum(axis=tuple(range(1, rows.ndim))))
