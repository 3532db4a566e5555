"""Slow, obvious twin of the tree of motifs: at every step the classifier is fitted again to all windows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rondo.motifs.described import ridge

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
N_FOLDS, NOWHERE = 5, -1e6


def folds(labels: Ints) -> Ints:
    found = np.zeros(labels.size, np.int64)
    for entry in set(labels.tolist()):
        own = [i for i in range(labels.size) if labels[i] == entry]
        for place, i in enumerate(own):
            found[i] = int(N_FOLDS * place / len(own))
    return found


def scores_of(points: Floats, labels: Ints, names: list[int], fold_of: Ints) -> Floats:
    """The score of every name for every window, by a fit that has not seen its fold."""
    scores = np.zeros((labels.size, len(names)))
    for fold in range(N_FOLDS):
        seen = fold_of != fold
        there = [name for name in names if name in labels[seen]]
        codes = np.array([there.index(label) for label in labels[seen]], np.int64)
        weights, bias = ridge(points[seen], codes, len(there))
        for column, name in enumerate(names):
            own = there.index(name) if name in there else None
            scores[~seen, column] = NOWHERE if own is None else points[~seen] @ weights[:, own] + bias[own]
    return scores


def criterion(labels: Ints, predicted: Ints, names: list[int]) -> float:
    f1 = []
    for name in names:
        hits = np.sum((labels == name) & (predicted == name))
        f1.append(2 * hits / max(1, np.sum(labels == name) + np.sum(predicted == name)))
    return float(np.mean(f1)) - 1 / len(names)


def merges(points: Floats, labels: Ints) -> list[tuple[int, int, float, float, float]]:
    """Kept, absorbed, confusion, criterion before and after, of every merge; labels hold no OTHER."""
    fold_of, labels, found = folds(labels), labels.copy(), []
    while len(names := sorted(set(labels.tolist()))) > 2:
        scores = scores_of(points, labels, names, fold_of)
        predicted = np.array(names)[scores.argmax(axis=1)]
        before, best = criterion(labels, predicted, names), (-1.0, -np.inf, 0, 0)
        for i, one in enumerate(names):
            for j, other in enumerate(names[:i]):
                rate = np.mean(predicted[labels == other] == one) + np.mean(predicted[labels == one] == other)
                near = np.mean(scores[labels == other, i]) + np.mean(scores[labels == one, j])
                if rate > best[0] + 1e-12 or (abs(rate - best[0]) <= 1e-12 and near > best[1]):
                    best = (float(rate), float(near), other, one)
        rate, _, kept, absorbed = best
        labels[labels == absorbed] = kept
        left = sorted(set(labels.tolist()))
        read = np.array(left)[scores_of(points, labels, left, fold_of).argmax(axis=1)]
        found.append((kept, absorbed, rate, before, criterion(labels, read, left)))
    return found
