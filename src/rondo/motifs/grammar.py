"""A two-level Markov model of unit runs: motifs are small grammars over units, found by their evidence.

The unit timeline is read as a sequence of runs u_1 u_2 ... (one unit each, whatever its duration). Inside motif m,
unit u is followed by unit v with probability go[m, u, v] or the motif ends, go[m, u, END]; then motif n follows,
follow[m, n], and begins with unit v, start[n, v]. All rows have sparse Dirichlet priors, so a motif pays for every
transition it uses and for none that it does not. Fitting is variational Bayes (forward-backward, then counts); the
evidence bound decides how many motifs there are and whether there is any composition at all: the flat model, in which
every unit is its own motif, is always among the candidates.

Several starts run side by side as one batch (axis 0): the recursion is a loop in Python, and a step of it costs nearly
the same for one start as for many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

_TRIAL_ITERATIONS, _FINALISTS = 10, 5

Float = NDArray[np.float64]
Runs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grammar:
    """Expected log-probabilities of one fitted model; E[log p] of a Dirichlet row, so rows sum to less than one."""

    go: Float  # (n_motifs, n_units, n_units + 1); the last column is END
    start: Float  # (n_motifs, n_units)
    follow: Float  # (n_motifs, n_motifs)

    @property
    def n_motifs(self) -> int:
        return int(self.follow.shape[0])

    def kept(self, motifs: Sequence[int]) -> Grammar:
        """The same grammar with these motifs only, in this order."""
        index = list(motifs)
        return Grammar(self.go[index], self.start[index], self.follow[np.ix_(index, index)])


@dataclass(frozen=True, eq=False)
class _Evidence:
    """Per run and motif, for each start in the batch: the factors of the recursion, (n_starts, n_runs, n_motifs)."""

    stay: Float
    end: Float
    begin: Float
    follow: Float  # (n_starts, n_motifs, n_motifs)
    first: NDArray[np.bool_]  # (n_runs,), True where a span begins and nothing is known of what came before


def fit_grammar(
    units: Runs,
    first: NDArray[np.bool_],
    n_units: int,
    starts: Sequence[Runs],
    n_motifs: int,
    prior: float,
    max_iterations: int = 100,
    tolerance: float = 1e-5,
) -> tuple[Grammar, float]:
    """The best of several starts (each a motif per run), and its evidence bound.

    `units` (n_runs,) holds the unit of each run as 0 .. n_units-1; `first` marks runs that begin a span. All starts get
    a few trial iterations; the most promising go on until their bounds change by less than `tolerance` per run.
    """
    counts = _counts_of_starts(units, first, n_units, np.stack(starts), n_motifs)
    bounds = np.full(len(starts), -np.inf)
    for iteration in range(max_iterations):
        if iteration == _TRIAL_ITERATIONS:
            finalists = np.sort(np.argsort(-bounds, kind="stable")[:_FINALISTS])
            counts, bounds = tuple(table[finalists] for table in counts), bounds[finalists]
        go, start, follow = (_expected_log(prior + table) for table in counts)
        evidence = _evidence(units, first, go, start, follow)
        alpha, scale = _forward(evidence)
        beta = _backward(evidence, scale)
        before = bounds
        bounds = np.log(scale).sum(axis=1) - sum(_divergence(prior + table, prior) for table in counts)
        if (bounds - before < tolerance * units.size).all():
            break
        counts = _expected_counts(units, n_units, evidence, alpha, beta, scale)
    best = int(bounds.argmax())
    return Grammar(go[best], start[best], follow[best]), float(bounds[best])


def decode_runs(units: Runs, first: NDArray[np.bool_], grammar: Grammar) -> tuple[Runs, NDArray[np.bool_], Float]:
    """Most likely motif of each run, whether an occurrence begins there, and the posterior of that motif."""
    batch = [table[None] for table in (grammar.go, grammar.start, grammar.follow)]
    evidence = _evidence(units, first, *batch)
    alpha, scale = _forward(evidence)
    posterior = (alpha * _backward(evidence, scale))[0]
    motifs, begins = _viterbi(evidence)
    return motifs, begins, posterior[np.arange(units.size), motifs] / posterior.sum(axis=1)


def _evidence(units: Runs, first: NDArray[np.bool_], go: Float, start: Float, follow: Float) -> _Evidence:
    before = np.concatenate([[0], units[:-1]])
    stay = np.exp(go[:, :, before, units]).swapaxes(1, 2)
    end = np.exp(go[:, :, before, -1]).swapaxes(1, 2)
    begin = np.exp(start[:, :, units]).swapaxes(1, 2)
    return _Evidence(stay, end, begin, np.exp(follow), first)


def _forward(evidence: _Evidence) -> tuple[Float, Float]:
    """Filtered motif probabilities (n_starts, n_runs, n_motifs) and the scale of each step."""
    n_starts, n_runs, n_motifs = evidence.stay.shape
    alpha = np.empty((n_starts, n_runs, n_motifs))
    scale = np.empty((n_starts, n_runs))
    for i in range(n_runs):
        if evidence.first[i]:
            now = evidence.begin[:, i] / n_motifs
        else:
            last = alpha[:, i - 1]
            entered = np.matmul((last * evidence.end[:, i])[:, None], evidence.follow)[:, 0]
            now = last * evidence.stay[:, i] + entered * evidence.begin[:, i]
        scale[:, i] = now.sum(axis=1)
        alpha[:, i] = now / scale[:, i, None]
    return alpha, scale


def _backward(evidence: _Evidence, scale: Float) -> Float:
    beta = np.ones_like(evidence.stay)
    for i in range(evidence.stay.shape[1] - 1, 0, -1):
        if evidence.first[i]:
            continue  # the run before ends a span: nothing is known of what comes after, beta stays 1
        later = beta[:, i] / scale[:, i, None]
        entered = np.matmul(evidence.follow, (evidence.begin[:, i] * later)[:, :, None])[:, :, 0]
        beta[:, i - 1] = evidence.stay[:, i] * later + evidence.end[:, i] * entered
    return beta


def _expected_counts(
    units: Runs, n_units: int, evidence: _Evidence, alpha: Float, beta: Float, scale: Float
) -> tuple[Float, Float, Float]:
    """How often each transition was used, in expectation: counts for go, start and follow."""
    n_starts, _, n_motifs = alpha.shape
    inner = np.flatnonzero(~evidence.first)
    last, later = alpha[:, inner - 1], beta[:, inner] / scale[:, inner, None]
    stayed = last * evidence.stay[:, inner] * later
    left, came = last * evidence.end[:, inner], evidence.begin[:, inner] * later
    follow = np.matmul(left.swapaxes(1, 2), came) * evidence.follow
    ended = left * np.matmul(came, evidence.follow.swapaxes(1, 2))
    began = came * np.matmul(left, evidence.follow)
    start = _tally(began, units[inner], n_units)
    opening = np.flatnonzero(evidence.first)
    start += _tally(alpha[:, opening] * beta[:, opening], units[opening], n_units)
    pairs = units[inner - 1] * n_units + units[inner]
    go = np.empty((n_starts, n_motifs, n_units, n_units + 1))
    go[..., :n_units] = _tally(stayed, pairs, n_units * n_units).reshape(n_starts, n_motifs, n_units, n_units)
    go[..., n_units] = _tally(ended, units[inner - 1], n_units)
    return go, start, follow


def _tally(weights: Float, index: Runs, n_bins: int) -> Float:
    """Sum weights (n_starts, n, n_motifs) over equal `index` (n,) -> (n_starts, n_motifs, n_bins)."""
    used, codes = np.unique(index, return_inverse=True)
    indicator = np.zeros((index.size, used.size))
    indicator[np.arange(index.size), codes] = 1.0
    table = np.zeros((weights.shape[0], weights.shape[2], n_bins))
    table[:, :, used] = np.matmul(weights.swapaxes(1, 2), indicator)
    return table


def _counts_of_starts(
    units: Runs, first: NDArray[np.bool_], n_units: int, starts: Runs, n_motifs: int
) -> tuple[Float, Float, Float]:
    """Counts if the motif of every run were as the start says."""
    n_starts = starts.shape[0]
    go = np.zeros((n_starts, n_motifs, n_units, n_units + 1))
    start = np.zeros((n_starts, n_motifs, n_units))
    follow = np.zeros((n_starts, n_motifs, n_motifs))
    for s, motifs in enumerate(starts):
        changed = np.concatenate([[True], motifs[1:] != motifs[:-1]]) | first
        inner = np.flatnonzero(~first)
        same, other = inner[~changed[inner]], inner[changed[inner]]
        np.add.at(go[s], (motifs[same], units[same - 1], units[same]), 1.0)
        np.add.at(go[s, :, :, n_units], (motifs[other - 1], units[other - 1]), 1.0)
        np.add.at(follow[s], (motifs[other - 1], motifs[other]), 1.0)
        np.add.at(start[s], (motifs[changed], units[changed]), 1.0)
    return go, start, follow


def _viterbi(evidence: _Evidence) -> tuple[Runs, NDArray[np.bool_]]:
    """Most likely motif of each run and where occurrences begin, for a batch of one."""
    with np.errstate(divide="ignore"):
        stay, end, begin, follow = (
            np.log(table[0]) for table in (evidence.stay, evidence.end, evidence.begin, evidence.follow)
        )
    n_runs, n_motifs = stay.shape
    every = np.arange(n_motifs)
    came_from = np.empty((n_runs, n_motifs), dtype=np.int64)
    began = np.ones((n_runs, n_motifs), dtype=np.bool_)
    total = np.zeros(n_motifs)
    for i in range(n_runs):
        if evidence.first[i]:
            came_from[i] = int(total.argmax())
            total = total.max() + begin[i]
            continue
        entering = (total + end[i])[:, None] + follow
        source = entering.argmax(axis=0)
        enter, remain = entering[source, every] + begin[i], total + stay[i]
        began[i] = enter > remain
        came_from[i] = np.where(began[i], source, every)
        total = np.maximum(enter, remain)
    path = np.empty(n_runs, dtype=np.int64)
    path[-1] = total.argmax()
    for i in range(n_runs - 1, 0, -1):
        path[i - 1] = came_from[i, path[i]]
    return path, began[np.arange(n_runs), path]


def _expected_log(counts: Float) -> Float:
    return np.asarray(digamma(counts) - digamma(counts.sum(axis=-1, keepdims=True)))


def _divergence(counts: Float, prior: float) -> Float:
    """KL(Dirichlet(counts) || Dirichlet(prior, ..., prior)) summed over rows, one number per start."""
    n = counts.shape[-1]
    rows = (
        gammaln(counts.sum(axis=-1))
        - gammaln(counts).sum(axis=-1)
        - gammaln(n * prior)
        + n * gammaln(prior)
        + ((counts - prior) * _expected_log(counts)).sum(axis=-1)
    )
    return np.asarray(rows.reshape(rows.shape[0], -1).sum(axis=1))
