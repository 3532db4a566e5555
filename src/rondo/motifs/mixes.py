"""Mixes: of which units contexts are made, in which share of their time, in which order, and how often they come.

    u3 45%, u1 30%, u7 10%; mostly u3 → u1 → u7, 6 times per occurrence

A unit *leads* to another if most of its runs are followed by it, and more often than they would be in any order. In any
order, with every unit as often as it is and never twice in a row, which unit follows which is quasi-independent
(Goodman 1968): expected counts are a_u b_v off the diagonal, with the sums of rows and columns that were counted. Two
units in turn, or one that comes between all others, follow from that alone and are no order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags, Floats, Ints
from rondo.data.labels import runs_of
from rondo.motifs.base import Kept

_TOLD, _MOST_TOLD = 0.9, 5  # units are named until they make up so much of the time, and at most so many
_SIGNIFICANT = 0.01  # for all pairs of units of a context together
_FEWEST = 5  # times that a unit follows on another, and in half of the occurrences: fewer are no order
_ROUNDS = 100  # of fitting the sums of rows and columns


@dataclass(frozen=True, eq=False)
class Mixes:
    """What was counted in the fitted recordings, for each context; every field is a sum over recordings."""

    windows: Ints  # (n_contexts, n_units) windows of each unit
    first: Ints  # (n_contexts, n_units) occurrences that begin with each unit
    follows: Ints  # (n_contexts, n_units, n_units) runs of the second unit right after a run of the first

    @classmethod
    def counted(cls, spans: Iterable[tuple[Ints, Ints]], n_contexts: int, n_units: int) -> Mixes:
        """Of the windows of some spans: place of the context and of the unit of each."""
        windows, first = np.zeros((2, n_contexts, n_units), np.int64)
        follows = np.zeros((n_contexts, n_units, n_units), np.int64)
        for contexts, units in spans:
            np.add.at(windows, (contexts, units), 1)
            runs = runs_of(contexts * n_units + units)  # of one unit in one context
            context, unit = contexts[runs.starts], units[runs.starts]
            begins = np.diff(context, prepend=-1) != 0
            np.add.at(first, (context[begins], unit[begins]), 1)
            later = np.flatnonzero(~begins)
            np.add.at(follows, (context[later], unit[later - 1], unit[later]), 1)
        return cls(windows, first, follows)

    def told(self, context: int, unit_ids: tuple[int, ...], kept: Kept = int) -> str:
        """The mix of a context in one line, in units under the ids that are kept."""
        ids, columns = np.unique([kept(unit) for unit in unit_ids], return_inverse=True)
        as_kept = np.zeros((len(unit_ids), ids.size), np.int64)
        as_kept[np.arange(len(unit_ids)), columns] = 1
        follows = as_kept.T @ self.follows[context] @ as_kept
        np.fill_diagonal(follows, 0)  # what was merged is one run
        first, windows = self.first[context] @ as_kept, self.windows[context] @ as_kept
        names = [f"u{id}" for id in ids.tolist()]
        shares = windows / windows.sum()
        most = np.argsort(-shares, kind="stable")
        most = most[: min(_MOST_TOLD, max(1, int(np.searchsorted(np.cumsum(shares[most]), _TOLD)) + 1))]
        told = ", ".join(f"{names[i]} {shares[i]:.0%}" for i in most)
        n_occurrences = int(first.sum())
        order = typical_order(follows, first)
        if order:
            n_rounds = min(int(follows[a, b]) for a, b in pairwise(order))
            in_order = " → ".join(names[i] for i in order)
            return f"{told}; mostly {in_order}, {_times(n_rounds / n_occurrences)}"
        if most.size == 1:
            return told
        n_runs = int(first[most[0]] + follows[:, most[0]].sum())
        none_shown = most.size > 2 and follows[most[0]].sum() >= 2 * _FEWEST  # fewer could not show one
        which = "no fixed order, " if none_shown else ""
        return f"{told}; {which}{names[most[0]]} {_times(n_runs / n_occurrences)}"

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything, as arrays, for the model folder."""
        return {"windows": self.windows, "first": self.first, "follows": self.follows}

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> Mixes:
        """The mixes that wrote these tensors."""
        windows, first, follows = (np.asarray(tensors[name], np.int64) for name in ("windows", "first", "follows"))
        if first.shape != windows.shape or follows.shape != (*windows.shape, windows.shape[-1]):
            raise ValueError("which unit follows which does not fit the units of contexts")
        return cls(windows, first, follows)


def typical_order(follows: Ints, first: Ints) -> tuple[int, ...]:
    """The units that lead to each other, by their columns; of several such chains the one that is seen most.

    A chain ends where no unit leads on, or where it would come back to one of its own: a round is written once, from
    where most occurrences begin.

    >>> typical_order(np.array([[0, 30, 2], [1, 0, 29], [28, 2, 0]]), first=np.array([0, 3, 0]))
    (1, 2, 0)
    >>> typical_order(np.array([[0, 15, 16], [17, 0, 14], [15, 15, 0]]), first=np.array([0, 3, 0]))
    ()
    """
    next_of = {int(a): int(b) for a, b in np.argwhere(leading(follows, int(first.sum())))}
    best: tuple[int, ...] = ()
    most_seen = 0
    for start in sorted(next_of, key=lambda unit: -int(first[unit])):
        chain = [start]
        while (unit := next_of.get(chain[-1])) is not None and unit not in chain:
            chain.append(unit)
        seen = sum(int(follows[a, b]) for a, b in pairwise(chain))
        seen += int(follows[chain[-1], start]) if next_of.get(chain[-1]) == start else 0
        if seen > most_seen:
            best, most_seen = tuple(chain), seen
    return best


def leading(follows: Ints, n_occurrences: int) -> Flags:
    """Where the unit of a row leads to that of a column; at most one in every row."""
    from scipy.special import bdtrc  # P(X > k) of a binomial, without the slow import of scipy.stats

    n_after = follows.sum(axis=1, keepdims=True)
    often = (follows >= _FEWEST) & (2 * follows >= n_occurrences)
    likely = (2 * follows > n_after) & (follows > 2 * follows.T)  # what goes to and fro has no order
    candidates = often & likely
    if not candidates.any():
        return np.asarray(candidates)
    chance = in_any_order(follows) / np.maximum(1, n_after)
    p = np.where(follows > 0, bdtrc(np.maximum(follows - 1, 0), n_after, np.minimum(1.0, chance)), 1.0)
    return np.asarray(candidates & (p <= _SIGNIFICANT / np.count_nonzero(chance)))


def in_any_order(follows: Ints) -> Floats:
    """How often each unit follows on each other if all come as often as they do, in any order, never twice in a row.

    >>> in_any_order(np.array([[0, 9, 1], [1, 0, 9], [9, 1, 0]])).round(3).tolist()
    [[0.0, 5.0, 5.0], [5.0, 0.0, 5.0], [5.0, 5.0, 0.0]]
    """
    after, before = follows.sum(axis=1, keepdims=True), follows.sum(axis=0)
    expected = np.where(np.eye(len(follows), dtype=np.bool_), 0.0, 1.0) * (after > 0) * (before > 0)
    for _ in range(_ROUNDS):
        expected = expected * (after / np.maximum(expected.sum(axis=1, keepdims=True), 1e-12))
        expected = expected * (before / np.maximum(expected.sum(axis=0), 1e-12))
    return np.asarray(expected, np.float64)


def _times(n: float) -> str:
    """How often, in words.

    >>> _times(1.2), _times(5.8)
    ('once per occurrence', '6 times per occurrence')
    """
    whole = max(1, round(n))
    return "once per occurrence" if whole == 1 else f"{whole} times per occurrence"
