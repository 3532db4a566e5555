"""Which items an epoch of MotifFormer sees, and how often each counts.

An epoch is one pass over the distinct items of all lengths, each weighing as much as it has candidates. A batch has
items of one length, so it needs no padding, and a second length for L_cross: for each item one of its starts is drawn,
and what stands there at the second length is its partner. Partners that coincide are one row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rondo.arrays import Floats, Ints
from rondo.data.windows import Span
from rondo.errors import RecordingError
from rondo.motifs.former.subsequences import Subsequences, subsequences

_BATCH_SIZE = 256


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
