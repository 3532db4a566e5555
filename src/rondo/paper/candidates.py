"""All stretches of `length` consecutive windows, and the distinct unit sequences among them.

Neighbouring windows mostly carry the same unit, so that a few sequences stand at most starts. Whatever depends on the
units alone is computed once per distinct sequence (an *item*) and counted with its multiplicity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints
from rondo.data.labels import OTHER
from rondo.data.windows import Span
from rondo.errors import RecordingError
from rondo.units.mixture import FittedMixture
from rondo.units.viterbi import centre_distances

if TYPE_CHECKING:
    from rondo.paper.deep_dpm import FittedAutoencoder  # brings torch


@dataclass(frozen=True, eq=False)
class Subsequences:
    """All candidates of one length, and the distinct unit sequences among them."""

    length: int
    starts: NDArray[np.int64]  # (n_candidates,), first window of each on the joined window axis; none crosses a span
    items: NDArray[np.int64]  # (n_items, length), unit codes, distinct rows in order of first appearance
    item_of: NDArray[np.int64]  # (n_candidates,), row of `items`

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many candidates each item stands for, (n_items,)."""
        return np.bincount(self.item_of, minlength=len(self.items)).astype(np.int64)


def subsequences(codes: NDArray[np.int64], spans: Sequence[Span], length: int) -> Subsequences:
    """Every candidate of `length` windows, of unit codes 0 .. n_units-1 (n_windows,), in order of its start."""
    within = [np.arange(first, stop - length + 1) for first, stop in spans]
    starts = np.concatenate([*within, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    rows = codes[starts[:, None] + np.arange(length)].astype(np.int64)  # (n_candidates, length)
    _, first, item = np.unique(_row_keys(rows), return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    rank = np.empty_like(appearance)
    rank[appearance] = np.arange(appearance.size)
    return Subsequences(length, starts, rows[first[appearance]], rank[item])


def _row_keys(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """One integer per row, equal exactly where rows are; ranked again at each column, so that it cannot overflow."""
    n_codes = int(rows.max(initial=0)) + 1
    keys = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        keys = np.unique(keys * n_codes + column, return_inverse=True)[1]
    return keys


# Which items an epoch of MotifFormer sees, and how often each counts.
#
# An epoch is one pass over the distinct items of all lengths, each weighing as much as it has candidates. A batch has
# items of one length, so it needs no padding, and a second length for L_cross: for each item one of its starts is
# drawn, and what stands there at the second length is its partner. Partners that coincide are one row.

_BATCH_SIZE = 256  # not in the paper; chosen by hand, not measured


@dataclass(frozen=True, eq=False)
class Batch:
    """Distinct items of one length, and what stands at one start of each at another length."""

    codes: Ints  # (B, length)
    items: Ints  # (B,), their numbers in the pool
    weights: Floats  # (B,), candidates that each stands for
    paired: Ints  # (P,), rows that have a partner: those where it fits at the start that was drawn
    partner_codes: Ints  # (n_partners, partner_length), distinct
    partner_of: Ints  # (P,), row of `partner_codes`
    partner_kinds: Ints  # (P,), equal where the shorter of both is


@dataclass(frozen=True, eq=False)
class Pool:
    """The items of all lengths, shorter ones first, numbered throughout."""

    of_length: tuple[Subsequences, ...]  # ascending; each has candidates
    n_windows: int

    @classmethod
    def of(cls, codes: Ints, spans: Sequence[Span], lengths: Sequence[int]) -> Pool:
        found = [subsequences(codes, spans, length) for length in sorted(set(lengths))]
        fitting = tuple(of_length for of_length in found if of_length.starts.size)
        if not fitting:
            longest = max((stop - start for start, stop in spans), default=0)
            raise RecordingError(
                f"no motif fits: the longest stretch without a gap has {longest} windows, motifs.lengths starts at "
                f"{min(lengths)}; give a longer recording or a shorter window step"
            )
        return cls(fitting, len(codes))

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(found.length for found in self.of_length)

    @property
    def n_items(self) -> int:
        return sum(len(found.items) for found in self.of_length)

    @cached_property
    def counts(self) -> Ints:
        return np.concatenate([found.counts for found in self.of_length])

    @cached_property
    def first(self) -> Ints:
        """Number of the first item of each length, and the number of all."""
        return np.cumsum([0, *(len(found.items) for found in self.of_length)])

    @cached_property
    def item_at(self) -> Ints:
        """Which item of its length stands at a window, (n_lengths, n_windows); -1 where the length does not fit."""
        at = np.full((len(self.of_length), self.n_windows), -1)
        for row, found in zip(at, self.of_length, strict=True):
            row[found.starts] = found.item_of
        return at

    @cached_property
    def starts_by_item(self) -> Ints:
        """Starts of the candidates of item 0, then of item 1, and so on through the pool."""
        return np.concatenate([found.starts[np.argsort(found.item_of, kind="stable")] for found in self.of_length])

    def epoch(self, n_wanted: int, rng: np.random.Generator) -> list[Batch]:
        """Up to `n_wanted` items in batches of one length each, in random order."""
        drawn, weights = weighted_sample(self.counts, n_wanted, rng)
        batches = []
        for index in range(len(self.of_length)):
            own = np.flatnonzero((drawn >= self.first[index]) & (drawn < self.first[index + 1]))
            parts = np.array_split(rng.permutation(own), math.ceil(own.size / _BATCH_SIZE)) if own.size else []
            batches += [self._batch(index, drawn[part], weights[part], rng) for part in parts]
        return [batches[i] for i in rng.permutation(len(batches))]

    def _batch(self, index: int, items: Ints, weights: Floats, rng: np.random.Generator) -> Batch:
        own = items - self.first[index]
        offsets = (np.cumsum(self.counts) - self.counts)[items]
        starts = self.starts_by_item[offsets + rng.integers(self.counts[items])]
        others = [other for other in range(len(self.of_length)) if other != index]
        other = others[rng.integers(len(others))] if others else index
        partners = self.item_at[other, starts] if others else np.full(items.size, -1)
        paired = np.flatnonzero(partners >= 0)
        distinct, partner_of = np.unique(partners[paired], return_inverse=True)
        kinds = own[paired] if index < other else partner_of
        codes, partner_codes = self.of_length[index].items[own], self.of_length[other].items[distinct]
        return Batch(codes, items, weights, paired, partner_codes, partner_of, kinds)


def weighted_sample(counts: Ints, n_wanted: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """About `n_wanted` items and their weights, such that weighted sums over them are right in expectation.

    Item k is drawn with probability min(1, c_k / t) and weighs max(c_k, t), the inverse of it times its count
    (Horvitz & Thompson 1952); t is such that `n_wanted` are expected, and systematic draws give that number to within
    one. All items, with their counts, where they are no more than wanted.
    """
    if n_wanted >= counts.size:
        return np.arange(counts.size), counts.astype(np.float64)
    falling = np.sort(counts)[::-1]
    rest = np.cumsum(falling[::-1])[::-1]  # sum of the counts from each on
    thresholds = rest[:n_wanted] / (n_wanted - np.arange(n_wanted))
    threshold = float(thresholds[np.argmax(falling[:n_wanted] <= thresholds)])
    certain = np.flatnonzero(counts > threshold)
    order = rng.permutation(np.flatnonzero(counts <= threshold))
    marks = np.floor(np.cumsum(counts[order] / threshold) + rng.random())
    drawn = np.concatenate([certain, order[np.diff(marks, prepend=0.0) > 0]])
    return drawn, np.maximum(counts[drawn], threshold)


# Matching: which candidates a motif accepts, and how near to its centre they lie (paper, app. MotifFormer).
#
# Candidate q matches motif m of its own length when, in the mixture's latent space,
#
#     d(q, mu_m) <= R_m   and   p(m | q) >= the posterior floor of m,   with   r(q, m) = d(q, mu_m) / R_m.
#
# A candidate may match several motifs of its length. Everything is computed once per distinct unit sequence.

Describe = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""Descriptors (n_items, n_dims) of unit sequences (n_items, length)."""

_ROUNDING = 1e-9  # relative; a member that lies exactly on its radius, or at its floor, is inside
_AT_CENTRE = 1e-9  # members that coincide have a mean off them by rounding, and the least radius there is


@dataclass(frozen=True, eq=False)
class LengthMotifs:
    """The motifs of one length: component k of the mixture, its members' centre, and what it accepts."""

    length: int
    mixture: FittedMixture
    centres: NDArray[np.float64]  # (n_components, latent_dim), mean of the members
    radii: NDArray[np.float64]  # (n_components,)
    floors: NDArray[np.float64]  # (n_components,), posterior floors
    supports: NDArray[np.float64]  # (n_components,), candidates that are members
    autoencoder: FittedAutoencoder | None  # descriptors -> latents, one for all lengths; None: they are the same

    @property
    def n_components(self) -> int:
        return self.mixture.n_components


@dataclass(frozen=True, eq=False)
class Matches:
    """The candidates of one length, and what each of its motifs says to them."""

    candidates: Subsequences
    nearest: NDArray[np.int64]  # (n_items,), component with the largest posterior: an item is its member
    distances: NDArray[np.float64]  # (n_items, n_components), r; infinite where the item is not accepted

    @property
    def best(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The nearest of the components that accept a candidate, and r; both (n_candidates,).

        OTHER and infinity where none does; of equals the first component.
        """
        r = self.distances.min(axis=1, initial=np.inf)
        chosen = np.where(np.isfinite(r), self.distances.argmin(axis=1), OTHER)
        return chosen[self.candidates.item_of], r[self.candidates.item_of]


def match_lengths(
    describe: Describe, codes: NDArray[np.int64], spans: Sequence[Span], lengths: Sequence[LengthMotifs]
) -> tuple[Matches, ...]:
    """Matches of unit codes (n_windows,), one per length; no candidate crosses a span."""
    found = []
    for motifs in lengths:
        candidates = subsequences(codes, spans, motifs.length)
        if len(candidates.items):
            found.append(match(motifs, candidates, latents_of(describe(candidates.items), motifs.autoencoder)))
        else:
            found.append(Matches(candidates, np.zeros(0, np.int64), np.zeros((0, motifs.n_components))))
    return tuple(found)


def match(motifs: LengthMotifs, candidates: Subsequences, latents: NDArray[np.float64]) -> Matches:
    """Matches of the items whose latents (n_items, latent_dim) are given."""
    posterior = motifs.mixture.posterior(latents)
    distances = centre_distances(latents, motifs.centres)
    r = np.where(distances < _AT_CENTRE, 0.0, distances) / motifs.radii
    accepted = (r <= 1 + _ROUNDING) & (posterior >= motifs.floors * (1 - _ROUNDING))
    return Matches(candidates, posterior.argmax(axis=1), np.where(accepted, np.minimum(r, 1.0), np.inf))


def latents_of(descriptors: NDArray[np.float64], autoencoder: FittedAutoencoder | None) -> NDArray[np.float64]:
    """Where the mixture sees the descriptors (n_items, n_dims)."""
    return autoencoder.encode(descriptors) if autoencoder else np.asarray(descriptors, dtype=np.float64)
