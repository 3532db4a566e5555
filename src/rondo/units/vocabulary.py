"""Vocabulary: the units of a model. Merge tree: which of them are confused with each other.

Units are fine by design, and a fine unit is often a part of something that recurs as a whole. If so, the windows of two
units lie among each other: let the five nearest windows that share no frame with a window predict its unit, and merge
the pair that is confused most while

    macro-F1 of the prediction - 1/K

does not fall (K units; 1/K is what a prediction without information would reach). The tree goes on until nothing is
confused with anything, so that a user can look at both layers, and at any layer between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints
from rondo.data.labels import OTHER, Labels
from rondo.data.windows import Span
from rondo.errors import ModelError, RecordingError, SettingError

Level = Literal["unit", "motif"]

_NEIGHBOURS = 5  # of each window; chosen by hand, not measured
_MOST_WINDOWS = 8192  # evenly spread, among which neighbours are looked up: beyond, neither time nor memory grows
_BLOCK_NUMBERS = 1 << 20  # distances held at once, 8 MB
_ROUNDING = 1e-12  # a criterion that falls by less has not fallen
_NOBODY = -1  # a mark, not a number


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Entries in the order of their ids: where their members lie in the latent space, and what they accept.

    Ids come from a counter and are never used again.
    """

    ids: tuple[int, ...]
    next_id: int
    centres: Floats  # (n_entries, n_dims), mean of the members in the mixture's latent space
    prototypes: Floats  # (n_entries, n_embedding_dims), mean of the members' embeddings
    radii: Floats  # P95 of the members' distances to the centre
    posterior_floors: Floats  # P5 of the members' posteriors
    supports: Floats  # windows that back the entry

    def __len__(self) -> int:
        return len(self.ids)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        return {
            "ids": np.array(self.ids, dtype=np.int64),
            "next_id": np.array([self.next_id], dtype=np.int64),
            "centres": self.centres,
            "prototypes": self.prototypes,
            "radii": self.radii,
            "posterior_floors": self.posterior_floors,
            "supports": self.supports,
        }

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> Vocabulary:
        """The vocabulary that wrote these tensors; refused if an id could be given twice."""
        names = ("centres", "prototypes", "radii", "posterior_floors", "supports")
        try:
            ids, next_id = np.asarray(tensors["ids"], np.int64).tolist(), int(tensors["next_id"][0])
            columns = [np.asarray(tensors[name], np.float64) for name in names]
            if any(len(column) != len(ids) for column in columns) or any(column.ndim != 1 for column in columns[2:]):
                raise ValueError(f"{[column.shape for column in columns]} for {len(ids)} ids")
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ModelError(
                f"the tensors of the unit vocabulary are not complete ({error}); fit and save the model again"
            ) from error
        if ids != sorted(set(ids)) or any(not 0 <= id < next_id for id in ids):
            raise ModelError(
                f"the unit vocabulary expects rising ids below its next id {next_id}, got {ids}; "
                "fit and save the model again"
            )
        vocabulary = cls(tuple(ids), next_id, *columns)
        for id, support, radius in zip(ids, vocabulary.supports, vocabulary.radii, strict=True):
            if not (support > 0 and radius >= 0):
                raise ModelError(
                    f"unit {id} has a support of {support:g} and a radius of {radius:g}, expected more than no window "
                    "and no negative distance; fit and save the model again"
                )
        return vocabulary


@dataclass(frozen=True)
class MergeStep:
    """Entry `absorbed` joins entry `kept`: of units the one that appears first, of motifs the one of the lower id."""

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
        steps = np.array([astuple(step) for step in self.steps], np.float64).reshape(-1, 5)
        return {"ids": np.array(self.ids, np.int64), "steps": steps}

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
    fine = np.array(labels, dtype=np.int32)
    _refuse_misfits(embeddings, fine, spans, exclude)
    members = np.flatnonzero(fine != OTHER)
    if members.size == 0:
        return MergeTree((), ())
    ids, first, codes = np.unique(fine[members], return_index=True, return_inverse=True)
    order = np.argsort(first)  # entries in order of appearance: what they are called decides nothing
    names = ids[order].tolist()
    sampled = np.arange(0, members.size, -(-members.size // _MOST_WINDOWS))
    entries = np.argsort(order)[codes[sampled]]
    neighbours = _neighbours(embeddings[members[sampled]], members[sampled], spans, exclude)
    n_entries = n_left = int(entries.max()) + 1
    confusions = _confusions(entries, neighbours, n_entries)
    before, steps = criterion(confusions, n_left), []
    while n_left > 1:
        taken = confusions / np.maximum(confusions.sum(axis=1, keepdims=True), 1)
        mutual = np.triu(taken + taken.T, 1)
        kept, absorbed = (int(i) for i in np.unravel_index(mutual.argmax(), mutual.shape))
        if mutual[kept, absorbed] == 0:
            break
        entries = np.where(entries == absorbed, kept, entries)
        confusions, n_left = _confusions(entries, neighbours, n_entries), n_left - 1
        after = criterion(confusions, n_left)
        steps.append(MergeStep(names[kept], names[absorbed], float(mutual[kept, absorbed]), before, after))
        before = after
    return MergeTree(tuple(ids.tolist()), tuple(steps))


def _refuse_misfits(embeddings: NDArray[np.floating], fine: Labels, spans: Sequence[Span], exclude: int) -> None:
    shape = np.shape(embeddings)
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


def _neighbours(embeddings: NDArray[np.floating], positions: Ints, spans: Sequence[Span], exclude: int) -> Ints:
    """The nearest windows that share no frame with each, nearest first, (n, 5); _NOBODY where there are no more."""
    points = np.asarray(embeddings, dtype=np.float64)
    points = points / (np.abs(points).max(initial=0.0) or 1.0)  # scaled, so that no product overflows,
    points = np.asarray(points - points.mean(axis=0))  # and centred, else distances of far-off points would round away
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


def _confusions(entries: Ints, neighbours: Ints, n_entries: int) -> Ints:
    """Windows of entry i that are predicted to be of entry j, (n_entries, n_entries).

    The prediction is the most frequent entry among the neighbours, of several the nearest one's.
    """
    seen = np.where(neighbours >= 0, entries[neighbours], _NOBODY)
    votes = (seen[:, :, None] == seen[:, None, :]).sum(axis=2)
    votes[seen == _NOBODY] = 0
    predicted = np.take_along_axis(seen, votes.argmax(axis=1)[:, None], axis=1)[:, 0]
    known = predicted != _NOBODY
    cells = np.bincount(entries[known] * n_entries + predicted[known], minlength=n_entries**2)
    return cells.reshape(n_entries, n_entries)


def criterion(confusions: Ints, n_left: int) -> float:
    """macro-F1 - 1/K; rows of entries that were absorbed are empty."""
    sizes = confusions.sum(axis=0) + confusions.sum(axis=1)
    return float((2 * confusions.diagonal() / np.maximum(sizes, 1)).sum() / n_left - 1 / n_left)
