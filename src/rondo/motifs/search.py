"""The search for a grammar: many starts, then moves that an ascent cannot make, for as long as the bound rises.

The bound is a good judge and a poor guide: from most starts the ascent ends on a ledge. So all starts get a short
trial, the best few go on, and from each of them two kinds of moves are tried side by side:

- *removal*: one motif is taken away, and the others must explain what it explained;
- *join*: two or three motifs that follow one another oftener than chance become one.

One thing the bound cannot judge. A motif that swallows the rest between its occurrences, u0 (u1 u2 u0)*, describes the
same runs as u0 and u1 u2 apart and is cheaper by the price of one motif, however long the recording. People want the
two apart: a unit with which most occurrences of a motif both begin and end is *lifted* out, if the bound allows.

The ascent is variational Bayes for grammars, and its bound never falls. All rows of a grammar have sparse symmetric
Dirichlet priors, so a motif pays for every transition it uses and for none that it does not. With expected counts n of
a row, its posterior is Dirichlet(prior + n), and

    bound = log p(units | E[log grammar]) - sum over rows of KL(Dirichlet(prior + n) || Dirichlet(prior))

(Beal 2003, chapter 3). Several starts climb side by side; each stops on its own, so company changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from rondo.arrays import Flags, Floats, Ints
from rondo.motifs.grammar import Grammar, PairTables, RunPairs, forward_backward, most_likely

_LEAST_LOG = -230.0  # three such factors in a row are still a number; only priors below 0.005 come near
_TRIAL_ITERATIONS = 5
_FINALISTS = 3
_JOINS = 16  # tried from each finalist
_JOINED = (2, 3)  # motifs that one join makes into one
_LEAST_GAIN = 0.5  # nats; below it the search is over, and two bounds are the same place
_USED = 1.0  # expected occurrences above which a motif is in use
_LIFT_PRICE = 15.0  # nats; a lifted unit costs the rows of one motif, about 7


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


def search_grammar(
    units: Ints, first: Flags, n_units: int, starts: Sequence[Ints], n_motifs: int, prior: float
) -> tuple[Grammar, float]:
    """The best grammar found from several starts (each a motif per run), and the best bound met on the way.

    `units` (n_runs,) holds the unit of each run as 0 .. n_units-1; `first` marks runs that begin a span.
    """
    pairs = RunPairs.of(units, first, n_units)
    motifs = np.stack(starts)
    begins = first | (np.diff(motifs, axis=1, prepend=-1) != 0)
    found = _finalists(pairs, Counts.of_paths(pairs, motifs, begins, n_motifs), prior)
    gain = np.inf
    while gain > _LEAST_GAIN:
        moved = Counts.joined([_removals(pairs, found.counts, prior), _joins(pairs, found.counts, prior)])
        if not moved.n_starts:
            break
        tried = _finalists(pairs, moved, prior)
        gain = tried.bounds.max() - found.bounds[0]
        bounds = np.concatenate([found.bounds, tried.bounds])
        found = _best(Ascent(Counts.joined([found.counts, tried.counts]), bounds[None]))
    bound = float(found.bounds[0])
    counts = _without_rests(pairs, found.counts.chosen(np.array([0])), bound, prior)
    return counts.expected_log(prior).alone(0), bound


def _finalists(pairs: RunPairs, counts: Counts, prior: float) -> Ascent:
    """A short trial for all, a full ascent for the best of them."""
    trial = _best(ascend(pairs, counts, prior, _TRIAL_ITERATIONS))
    return _best(ascend(pairs, trial.counts, prior))


def _best(ascent: Ascent) -> Ascent:
    """The starts with the highest bounds, highest first; of those that arrived at the same place, one."""
    chosen: list[int] = []
    for start in np.argsort(-ascent.bounds, kind="stable"):
        if not chosen or ascent.bounds[chosen[-1]] - ascent.bounds[start] > _LEAST_GAIN:
            chosen.append(int(start))
    return ascent.chosen(np.array(chosen[:_FINALISTS]))


# ---------------------------------------------------------------- moves


def _removals(pairs: RunPairs, counts: Counts, prior: float) -> Counts:
    """For each start and each motif that it uses beside others: the counts if that motif could not be used."""
    used = counts.start.sum(axis=2) > _USED
    start, motif = np.nonzero(used & (used.sum(axis=1, keepdims=True) > 1))
    batch = counts.chosen(start).expected_log(prior)
    batch.go[np.arange(start.size), motif] = -np.inf
    batch.start[np.arange(start.size), motif] = -np.inf
    return expected_counts(pairs, batch)[0]


def _joins(pairs: RunPairs, counts: Counts, prior: float) -> Counts:
    """For each start and each sequence of motifs that stands out: the counts if that sequence were one motif."""
    motifs, begins = [np.zeros((0, pairs.n_runs), np.int64)], [np.zeros((0, pairs.n_runs), np.bool_)]
    grammars = counts.expected_log(prior)
    for start in range(counts.n_starts):
        path, begun = most_likely(pairs, grammars.alone(start))
        unused = np.setdiff1d(np.arange(counts.n_motifs), path)
        at = np.append(np.flatnonzero(begun), pairs.n_runs)
        for sequence in _standing_out(path[at[:-1]].tolist(), pairs.first[at[:-1]].tolist()) if unused.size else ():
            joined, opened = path.copy(), begun.copy()
            for occurrence in _places(sequence, path[at[:-1]].tolist(), pairs.first[at[:-1]].tolist()):
                runs = slice(at[occurrence], at[occurrence + len(sequence)])
                joined[runs], opened[runs] = unused[0], False
                opened[runs.start] = True
            motifs.append(joined[None])
            begins.append(opened[None])
    return Counts.of_paths(pairs, np.concatenate(motifs), np.concatenate(begins), counts.n_motifs)


def _standing_out(occurrences: list[int], first: list[bool]) -> list[tuple[int, ...]]:
    """The sequences of motifs with the most surprise, n log(n / expected n), that no span boundary breaks."""
    share = {motif: n / len(occurrences) for motif, n in Counter(occurrences).items()}
    surprise: dict[tuple[int, ...], float] = {}
    for length in _JOINED:
        windows = zip(*(occurrences[i:] for i in range(length)), strict=False)
        whole = (not any(first[i + 1 : i + length]) for i in range(len(occurrences)))
        for sequence, n in Counter(w for w, unbroken in zip(windows, whole, strict=False) if unbroken).items():
            expected = len(occurrences) * float(np.prod([share[motif] for motif in sequence]))
            surprise[sequence] = n * float(np.log(n / expected)) if n > 1 else 0.0
    return sorted((s for s in surprise if surprise[s] > 0), key=lambda s: (-surprise[s], s))[:_JOINS]


def _places(sequence: tuple[int, ...], occurrences: list[int], first: list[bool]) -> Iterator[int]:
    """Where a sequence stands in the occurrences, from the left and without overlap."""
    at = 0
    while at + len(sequence) <= len(occurrences):
        stop = at + len(sequence)
        found = tuple(occurrences[at:stop]) == sequence and not any(first[at + 1 : stop])
        if found:
            yield at
        at = stop if found else at + 1


# ---------------------------------------------------------------- rests


def _without_rests(pairs: RunPairs, counts: Counts, bound: float, prior: float) -> Counts:
    """The counts (of one start) after every rest that hides in a motif has been lifted out of it."""
    while True:
        motifs, begins = most_likely(pairs, counts.expected_log(prior).alone(0))
        rests, unused = _rests(pairs, motifs, begins), np.setdiff1d(np.arange(counts.n_motifs), motifs)
        if not (rests.any() and unused.size):
            return counts
        begins = begins | rests | np.append(False, rests[:-1])
        motifs = np.where(rests, unused[0], motifs)
        lifted = ascend(pairs, Counts.of_paths(pairs, motifs[None], begins[None], counts.n_motifs), prior)
        if lifted.bounds[0] < bound - _LIFT_PRICE:
            return counts
        counts, bound = lifted.counts, float(lifted.bounds[0])


def _rests(pairs: RunPairs, motifs: Ints, begins: Flags) -> Flags:
    """The runs of the first unit found with which most occurrences of a motif of several units begin and end."""
    opening = np.flatnonzero(begins)
    closing = np.append(opening[1:], pairs.n_runs) - 1
    for motif in np.unique(motifs):
        own = motifs[opening] == motif
        opens, closes = pairs.units[opening[own]], pairs.units[closing[own]]
        around = np.bincount(opens[opens == closes], minlength=pairs.n_units)
        rests = (motifs == motif) & (pairs.units == around.argmax())
        if 2 * around.max() > own.sum() and (rests != (motifs == motif)).any():
            return np.asarray(rests)
    return np.zeros(pairs.n_runs, dtype=np.bool_)
