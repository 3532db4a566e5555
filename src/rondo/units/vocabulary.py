"""Vocabulary: the entries of one level, units or motifs. Ids come from a counter and are never used again."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER, Labels
from rondo.data.windows import Span
from rondo.errors import ModelError, RecordingError, SettingError

Level = Literal["unit", "motif"]


@dataclass(frozen=True, eq=False)
class Entry:
    """One unit or motif: where its members lie in the latent space, and what it accepts."""

    id: int
    centre: NDArray[np.float64]  # (n_dims,), mean of the members in the mixture's latent space
    radius: float  # P95 of the members' distances to the centre
    posterior_floor: float  # P5 of the members' posteriors
    support: float  # windows that back the entry
    prototype: NDArray[np.float64]  # (n_embedding_dims,), mean of the members' embeddings

    def __repr__(self) -> str:
        return f"Entry({self.id}, support={self.support:g}, radius={self.radius:.3g})"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Entries in the order of their ids, and the next id to give.

    >>> empty = Vocabulary("unit")
    >>> one = empty.with_entry(np.zeros(2), radius=1.0, posterior_floor=0.5, support=3)
    >>> one.ids, one.next_id, len(empty)
    ((0,), 1, 0)
    """

    level: Level
    entries: tuple[Entry, ...] = ()
    next_id: int = 0

    def with_entry(
        self,
        centre: NDArray[np.float64],
        radius: float,
        posterior_floor: float,
        support: float,
        prototype: NDArray[np.float64] | None = None,
    ) -> Vocabulary:
        """This vocabulary and one entry more, under a fresh id; its prototype is its centre if none is given."""
        entry = Entry(
            self.next_id, centre, radius, posterior_floor, support, centre if prototype is None else prototype
        )
        return Vocabulary(self.level, (*self.entries, entry), self.next_id + 1)

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(entry.id for entry in self.entries)

    @property
    def centres(self) -> NDArray[np.float64]:
        """(n_entries, n_dims)"""
        return np.stack([entry.centre for entry in self.entries]) if self.entries else np.zeros((0, 0))

    @property
    def prototypes(self) -> NDArray[np.float64]:
        """(n_entries, n_embedding_dims)"""
        return np.stack([entry.prototype for entry in self.entries]) if self.entries else np.zeros((0, 0))

    @property
    def radii(self) -> NDArray[np.float64]:
        return np.array([entry.radius for entry in self.entries])

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything in it, as arrays, for the model folder."""
        return {
            "ids": np.array(self.ids, dtype=np.int64),
            "next_id": np.array([self.next_id], dtype=np.int64),
            "centres": self.centres,
            "prototypes": self.prototypes,
            "radii": self.radii,
            "posterior_floors": np.array([entry.posterior_floor for entry in self.entries]),
            "supports": np.array([entry.support for entry in self.entries], dtype=np.float64),
        }

    @classmethod
    def restore(cls, level: Level, tensors: Mapping[str, NDArray[np.generic]]) -> Vocabulary:
        """The vocabulary that wrote these tensors; refused if an id could be given twice."""
        try:
            names = ("ids", "centres", "radii", "posterior_floors", "supports", "prototypes")
            columns = [tensors[name] for name in names]
            next_id = int(tensors["next_id"][0])
            entries = tuple(
                Entry(
                    int(id),
                    np.asarray(centre, np.float64),
                    float(radius),
                    float(floor),
                    float(support),
                    np.asarray(prototype, np.float64),
                )
                for id, centre, radius, floor, support, prototype in zip(*columns, strict=True)
            )
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ModelError(
                f"the tensors of the {level} vocabulary are not complete ({error}); fit and save the model again"
            ) from error
        ids = [entry.id for entry in entries]
        if ids != sorted(set(ids)) or any(not 0 <= id < next_id for id in ids):
            raise ModelError(
                f"the {level} vocabulary expects rising ids below its next id {next_id}, got {ids}; "
                "fit and save the model again"
            )
        wrong = next((one for one in entries if not (one.support > 0 and one.radius >= 0)), None)
        if wrong is not None:
            raise ModelError(
                f"{level} {wrong.id} has a support of {wrong.support:g} and a radius of {wrong.radius:g}, expected "
                "more than no window and no negative distance; fit and save the model again"
            )
        return cls(level, entries, next_id)


# ----------------------------------------------------------------
# Which entries are confused with each other, and the tree of merges that mends it.
#
# Entries are fine by design, and a fine entry is often a part of something that recurs as a whole. If so, the windows
# of two entries lie among each other: let the five nearest windows that share no frame with a window predict its
# entry, and merge the pair that is confused most while
#
#     macro-F1 of the prediction - 1/K
#
# does not fall (K entries; 1/K is what a prediction without information would reach). The tree goes on until nothing
# is confused with anything, so that a user can look at both layers, and at any layer between.
#
# Neighbours are looked up in blocks, among at most 8,192 windows spread evenly over all: beyond those neither time nor
# memory grows.

_NEIGHBOURS = 5  # of each window; chosen by hand, not measured
_MOST_WINDOWS = 8192  # bounds time and memory, see above
_BLOCK_NUMBERS = 1 << 20  # distances held at once, 8 MB
_ROUNDING = 1e-12  # a criterion that falls by less has not fallen
_NOBODY = -1  # a mark, not a number


@dataclass(frozen=True)
class MergeStep:
    """Entry `absorbed` joins entry `kept`, the one that appears first of the two."""

    kept: int
    absorbed: int
    confusion: float  # share of the one taken for the other, both ways added: 0 (never) to 2 (always)
    before: float  # macro-F1 - 1/K
    after: float


@dataclass(frozen=True, eq=False)
class MergeTree:
    """The fine entries and their merges in order: layer 0 is fine, layer `best` is where to stop."""

    ids: tuple[int, ...]
    steps: tuple[MergeStep, ...]

    @property
    def best(self) -> int:
        """Number of merges before the first that lets the criterion fall."""
        falls = (i for i, step in enumerate(self.steps) if step.after < step.before - _ROUNDING)
        return next(falls, len(self.steps))

    def kept_at(self, n_merges: int) -> dict[int, int]:
        """For every fine entry the entry it is part of after `n_merges` merges."""
        if not 0 <= n_merges <= len(self.steps):
            raise SettingError(f"this merge tree has {len(self.steps)} merges, got n_merges = {n_merges}")
        kept = {id: id for id in self.ids}
        for step in self.steps[:n_merges]:
            kept = {id: step.kept if group == step.absorbed else group for id, group in kept.items()}
        return kept

    def coarsened(self, labels: NDArray[np.integer], n_merges: int) -> Labels:
        """Fine labels after `n_merges` merges; OTHER stays OTHER."""
        kept = self.kept_at(n_merges) | {OTHER: OTHER}
        ids, codes = np.unique(labels, return_inverse=True)
        return np.array([kept[int(id)] for id in ids], dtype=np.int32)[codes]

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """The tree as arrays, for the model folder."""
        steps = np.array([dataclasses.astuple(step) for step in self.steps], dtype=np.float64).reshape(-1, 5)
        return {"ids": np.array(self.ids, dtype=np.int64), "steps": steps}

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> MergeTree:
        """The tree that wrote these tensors; refused if a step merges what is not there."""
        ids = tuple(int(id) for id in np.asarray(tensors["ids"], dtype=np.int64))
        rows = np.asarray(tensors["steps"], dtype=np.float64)
        steps = tuple(MergeStep(int(row[0]), int(row[1]), *row[2:]) for row in rows.tolist())
        left = set(ids)
        for step in steps:
            if not {step.kept, step.absorbed} <= left or step.kept == step.absorbed:
                raise ModelError(f"the merge tree merges {step.kept} and {step.absorbed}; fit and save the model again")
            left.remove(step.absorbed)
        return cls(ids, steps)


def merge_tree(
    embeddings: NDArray[np.floating], labels: NDArray[np.integer], spans: Sequence[Span], exclude: int
) -> MergeTree:
    """The merges of entries that are confused in embeddings (n_windows, n_dims), labels (n_windows,).

    Windows of the same span that are at most `exclude` positions apart share frames, and do not predict each other:
    (length - 1) // step for windows of `length` frames every `step`. Windows that are OTHER take no part.

    >>> rng = np.random.default_rng(0)
    >>> where = np.repeat([0.0, 0.0, 9.0], 50)  # the first two entries are one thing
    >>> tree = merge_tree(where[:, None] + rng.normal(size=(150, 3)), np.repeat([4, 7, 2], 50), [(0, 150)], exclude=3)
    >>> tree.best, tree.steps[0].kept, tree.steps[0].absorbed, tree.coarsened(np.array([4, 7, 2]), 1).tolist()
    (1, 4, 7, [4, 4, 2])
    """
    fine = _checked(embeddings, labels, spans, exclude)
    members = np.flatnonzero(fine != OTHER)
    if members.size == 0:
        return MergeTree((), ())
    ids, first, codes = np.unique(fine[members], return_index=True, return_inverse=True)
    order = np.argsort(first)  # entries in order of appearance: what they are called decides nothing
    names = ids[order]
    sampled = np.arange(0, members.size, -(-members.size // _MOST_WINDOWS))
    entries = np.argsort(order)[codes[sampled]]
    neighbours = _neighbours(_of_size_one(embeddings[members[sampled]]), members[sampled], spans, exclude)
    steps = tuple(
        MergeStep(int(names[kept]), int(names[absorbed]), confusion, before, after)
        for kept, absorbed, confusion, before, after in _merges(entries, neighbours)
    )
    return MergeTree(tuple(ids.tolist()), steps)


def _checked(
    embeddings: NDArray[np.floating], labels: NDArray[np.integer], spans: Sequence[Span], exclude: int
) -> Labels:
    """The labels as int32."""
    fine, shape = np.array(labels, dtype=np.int32), np.shape(embeddings)
    if len(shape) != 2 or fine.shape != shape[:1]:
        raise SettingError(
            f"expected embeddings (n_windows, n_dims) and a label for each window, got {shape} and {fine.shape}"
        )
    if exclude < 0:
        raise SettingError(f"exclude must be at least 0 windows, got {exclude}")
    edges = [0, *(edge for span in spans for edge in span), fine.size]
    if any(a > b for a, b in spans) or edges[::2] != edges[1::2]:
        raise SettingError(f"expected window spans that cover 0 to {fine.size} without gaps, got {list(spans)[:5]}")
    finite = np.isfinite(embeddings).all(axis=1)
    if not finite.all():
        raise RecordingError(
            f"non-finite embedding in window {int(finite.argmin())}; "
            "the confusion of entries expects finite numbers: look at the recording there"
        )
    return fine


def _of_size_one(embeddings: NDArray[np.floating]) -> NDArray[np.float64]:
    """Centred, else products of far-off points would round distances away, and scaled, so that none overflows."""
    points = np.asarray(embeddings, dtype=np.float64)
    points = points / (np.abs(points).max(initial=0.0) or 1.0)
    return np.asarray(points - points.mean(axis=0))


# ---------------------------------------------------------------- who is near whom


def _neighbours(
    points: NDArray[np.float64], positions: NDArray[np.int64], spans: Sequence[Span], exclude: int
) -> NDArray[np.int64]:
    """The nearest windows that share no frame with each, nearest first, (n, 5); _NOBODY where there are no more."""
    n = points.shape[0]
    starts, stops = np.array(spans, dtype=np.int64).T
    span = np.searchsorted(stops, positions, side="right")
    # Windows lie in order, so those that share frames with one of them are a run of columns.
    first = np.searchsorted(positions, np.maximum(positions - exclude, starts[span]))
    last = np.searchsorted(positions, np.minimum(positions + exclude + 1, stops[span]))
    widest = np.arange((last - first).max())
    half_norms = np.einsum("nd,nd->n", points, points) / 2
    k = min(_NEIGHBOURS, n)
    nearest = np.full((n, _NEIGHBOURS), _NOBODY, dtype=np.int64)
    size = max(1, _BLOCK_NUMBERS // n)
    for block in (slice(i, i + size) for i in range(0, n, size)):
        distances = half_norms - points[block] @ points.T  # less |point|^2 / 2, which changes no order
        row, offset = np.nonzero(widest < (last - first)[block, None])
        distances[row, first[block][row] + offset] = np.inf
        found = np.sort(np.argpartition(distances, k - 1, axis=1)[:, :k], axis=1)
        lengths = np.take_along_axis(distances, found, axis=1)
        by_length = np.argsort(lengths, axis=1, kind="stable")
        found, lengths = np.take_along_axis(found, by_length, axis=1), np.take_along_axis(lengths, by_length, axis=1)
        nearest[block, :k] = np.where(np.isfinite(lengths), found, _NOBODY)
    return nearest


def _predicted(entries: NDArray[np.int64], neighbours: NDArray[np.int64]) -> NDArray[np.int64]:
    """Most frequent entry among the neighbours of each window, of several the nearest one's; _NOBODY without any."""
    seen = np.where(neighbours >= 0, entries[neighbours], _NOBODY)
    votes = (seen[:, :, None] == seen[:, None, :]).sum(axis=2)
    votes[seen == _NOBODY] = 0
    return np.take_along_axis(seen, votes.argmax(axis=1)[:, None], axis=1)[:, 0]


# ---------------------------------------------------------------- who is taken for whom


def _confusions(entries: NDArray[np.int64], neighbours: NDArray[np.int64], n_entries: int) -> NDArray[np.int64]:
    """Windows of entry i that are predicted to be of entry j, (n_entries, n_entries)."""
    predicted = _predicted(entries, neighbours)
    known = predicted != _NOBODY
    cells = np.bincount(entries[known] * n_entries + predicted[known], minlength=n_entries**2)
    return cells.reshape(n_entries, n_entries)


def _criterion(confusions: NDArray[np.int64], n_left: int) -> float:
    """macro-F1 - 1/K; rows of entries that were absorbed are empty."""
    sizes = confusions.sum(axis=0) + confusions.sum(axis=1)
    return float((2 * confusions.diagonal() / np.maximum(sizes, 1)).sum() / n_left - 1 / n_left)


def _merges(
    entries: NDArray[np.int64], neighbours: NDArray[np.int64]
) -> Iterator[tuple[int, int, float, float, float]]:
    """Kept, absorbed, confusion, criterion before and after, merge by merge, until nothing is confused."""
    n_entries = n_left = int(entries.max()) + 1
    confusions = _confusions(entries, neighbours, n_entries)
    before = _criterion(confusions, n_left)
    while n_left > 1:
        taken = confusions / np.maximum(confusions.sum(axis=1, keepdims=True), 1)
        mutual = np.triu(taken + taken.T, 1)
        kept, absorbed = (int(i) for i in np.unravel_index(mutual.argmax(), mutual.shape))
        if mutual[kept, absorbed] == 0:
            return
        entries = np.where(entries == absorbed, kept, entries)
        confusions, n_left = _confusions(entries, neighbours, n_entries), n_left - 1
        after = _criterion(confusions, n_left)
        yield kept, absorbed, float(mutual[kept, absorbed]), before, after
        before = after
