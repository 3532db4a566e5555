"""The motifs that labels show, from the finest to two: which pair to merge next.

Windows are described (`rondo.motifs.described`) and labelled with the motif at their middle. A ridge regression that
gives every motif the same weight predicts the motif of windows that it has not seen, in five folds: the windows of each
motif are cut into five stretches of time. The pair that is confused most is merged, both ways added; of pairs that are
never confused, the one whose scores are nearest. So on, down to two motifs.

The regression needs sums over the windows of a motif only. Those of merged motifs are added, so a merge costs
milliseconds. Motifs keep the lowest id of a group, as they do where people merge them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rondo.arrays import Floats, Ints
from rondo.data.labels import OTHER
from rondo.data.windows import Windows
from rondo.motifs.base import Motifs
from rondo.motifs.described import RIDGE, WindowDescriber, described_grid, middles, principal_axes
from rondo.units.viterbi import Timeline
from rondo.units.vocabulary import MergeStep, MergeTree, criterion

N_FOLDS = 5  # ours, as in most cross-validations
_MOST_WINDOWS = 4000  # evenly spread over all recordings; chosen by hand, so that time and memory are bounded
_DIMENSIONS = 60  # of descriptions, by their principal axes (40, 60 and 120: the same scores)
_SHAPE_AXES = 1  # strongest axes on which shapes are described: of 1, 2 and 4 the quickest, with the same scores
_MOST_FOR_AXES = 1000  # windows; chosen by hand for speed, not measured
_UNSEEN = -1e6  # score of a motif that has windows in one fold only, where that one is predicted


def suggested(tree: MergeTree) -> int:
    """How many merges of a tree are suggested: all before the first that lets macro-F1 - 1/K fall."""
    return tree.best


def motif_tree(
    windows: Sequence[Windows], timelines: Sequence[Timeline], motifs: Motifs, motif_window_frames: int
) -> MergeTree:
    """The merges of motifs in recordings, given as windows with their units."""
    long, codes = list[Windows](), list[Ints]()
    least_step = -(-sum(own.grid.n_frames for own in windows) // _MOST_WINDOWS)
    for own, units in zip(windows, timelines, strict=True):
        found = np.where(units.labels == OTHER, OTHER, motifs.timeline(units).ids)
        grid = described_grid(motif_window_frames, own.grid.n_frames, own.grid.spans)
        grid = replace(grid, step_frames=min(grid.length_frames, max(grid.step_frames, least_step)))
        long.append(Windows(own.values, grid))
        codes.append(_codes(own.grid.project(found, "centre").astype(np.int64), middles(grid)))
    labels = np.concatenate(codes)
    if np.unique(labels[labels != OTHER]).size < 2:
        return MergeTree(tuple(sorted({*labels.tolist()} - {OTHER})), ())
    _, described = WindowDescriber.fit(long, _SHAPE_AXES)
    points = np.concatenate(described)
    every = slice(None, None, -(-len(points) // _MOST_WINDOWS))
    axes = principal_axes(points, _DIMENSIONS, _MOST_FOR_AXES)
    return tree_of_confusions(points[every] @ axes, labels[every])


def _codes(motifs: Ints, middle: Ints) -> Ints:
    """The motif at the middle of each window; one that lies between all middles gets the window that is nearest."""
    codes = motifs[middle]
    for missing in np.setdiff1d(motifs, np.append(codes, OTHER))[: codes.size]:
        where = np.flatnonzero(motifs == missing)
        codes[np.abs(middle - where[where.size // 2]).argmin()] = missing
    return codes


def tree_of_confusions(points: Floats, labels: Ints) -> MergeTree:
    """The merges of entries that are confused in points (n_windows, n_dims), in order of time; OTHER takes no part.

    >>> rng = np.random.default_rng(0)
    >>> where = np.repeat([0.0, 9.0, 0.0], 50)  # the first and the last entry are one thing
    >>> tree = tree_of_confusions(where[:, None] + rng.normal(size=(150, 3)), np.repeat([2, 4, 7], 50))
    >>> suggested(tree), tree.steps[0].kept, tree.steps[0].absorbed
    (1, 2, 7)
    """
    is_known = labels != OTHER
    found, codes = np.unique(labels[is_known], return_inverse=True)
    ids = found.tolist()
    sums = _Sums.of(points[is_known], codes, len(ids))
    groups, steps = [[entry] for entry in range(len(ids))], list[MergeStep]()
    read = sums.predicted(groups)
    while len(groups) > 2:
        one, other = _most_confused(read)
        before, rate = criterion(read.confusions, len(groups)), _mutual(_rates(read.confusions))[one, other]
        kept, absorbed = ids[groups[one][0]], ids[groups[other][0]]  # groups are in the order of their lowest ids
        groups[one] += groups.pop(other)
        read = sums.predicted(groups)
        steps.append(MergeStep(kept, absorbed, float(rate), before, criterion(read.confusions, len(groups))))
    return MergeTree(tuple(ids), tuple(steps))


def folds_of(codes: Ints) -> Ints:
    """The fold of each window: the windows of each entry cut into five stretches of time."""
    folds = np.zeros(codes.size, np.int64)
    for entry in np.unique(codes):
        own = np.flatnonzero(codes == entry)
        folds[own] = np.arange(own.size) * N_FOLDS // own.size
    return folds


class _Predicted(NamedTuple):
    """What windows that were not seen are taken for, (n_groups, n_groups): rows hold the windows of a group."""

    confusions: Ints
    scores: Floats  # sums


class _Sums(NamedTuple):
    """What a regression needs of the windows of each entry in each fold; the last dimension of points is 1."""

    points: Floats  # (n_windows, n_dims)
    codes: Ints
    folds: Ints
    products: Floats  # (n_entries, n_folds, n_dims, n_dims)
    totals: Floats  # (n_entries, n_folds, n_dims); the last of them counts windows

    @classmethod
    def of(cls, points: Floats, codes: Ints, n_entries: int) -> _Sums:
        points, folds = np.column_stack([points - points.mean(axis=0), np.ones(len(points))]), folds_of(codes)
        n_dims = points.shape[1]
        products, totals = np.zeros((n_entries, N_FOLDS, n_dims, n_dims)), np.zeros((n_entries, N_FOLDS, n_dims))
        for entry, fold in np.ndindex(n_entries, N_FOLDS):
            own = points[(codes == entry) & (folds == fold)]
            products[entry, fold], totals[entry, fold] = own.T @ own, own.sum(axis=0)
        return cls(points, codes, folds, products, totals)

    def predicted(self, groups: Sequence[Sequence[int]]) -> _Predicted:
        """Each fold read by a regression on the others; a group is a list of entries."""
        n, penalty = len(groups), RIDGE * np.eye(self.points.shape[1])
        penalty[-1, -1] = 0.0
        group_of = np.zeros(len(self.totals), np.int64)
        for group, entries in enumerate(groups):
            group_of[entries] = group
        products, totals = (np.stack([own[entries].sum(axis=0) for entries in groups]) for own in self[3:])
        read = _Predicted(np.zeros((n, n), np.int64), np.zeros((n, n)))
        for fold in range(N_FOLDS):
            seen, own = np.arange(N_FOLDS) != fold, self.folds == fold
            sums, counts = totals[:, seen].sum(axis=1), totals[:, seen, -1].sum(axis=1)
            weights = np.where(counts > 0, 1 / np.maximum(counts, 1), 0) / max(1, np.count_nonzero(counts))
            normal = np.tensordot(weights, products[:, seen].sum(axis=1), 1) + penalty
            if not counts.any():  # all other windows lie in this fold: there is nothing to learn from
                normal[-1, -1] = 1.0
            by_group = np.linalg.solve(normal, (sums * weights[:, None]).T)
            scores = np.where(counts > 0, self.points[own] @ by_group, _UNSEEN)
            rows = group_of[self.codes[own]]
            np.add.at(read.confusions, (rows, scores.argmax(axis=1)), 1)
            np.add.at(read.scores, rows, scores)
        return read


def _most_confused(read: _Predicted) -> tuple[int, int]:
    """The pair to merge; of pairs that are equal, the first."""
    sizes = np.maximum(read.confusions.sum(axis=1, keepdims=True), 1)
    rates, nearness = _mutual(_rates(read.confusions)), _mutual(read.scores / sizes)
    nearness[rates < rates.max()] = -np.inf
    one, other = np.unravel_index(nearness.argmax(), nearness.shape)
    return int(one), int(other)


def _rates(confusions: Ints) -> Floats:
    return np.asarray(confusions / np.maximum(confusions.sum(axis=1, keepdims=True), 1))


def _mutual(taken: Floats) -> Floats:
    """Both ways added, for each pair once: above the diagonal, elsewhere less than any."""
    return np.where(np.triu(np.ones(taken.shape, np.bool_), 1), taken + taken.T, -np.inf)
