"""Slow, obvious twin of the confusion of entries and its merge tree: by the definition, in loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

OTHER = -1


def share_frames(i: int, j: int, spans: Sequence[tuple[int, int]], exclude: int) -> bool:
    together = any(a <= i < b and a <= j < b for a, b in spans)
    return together and abs(i - j) <= exclude


def neighbours(x: NDArray[np.floating], labels: Sequence[int], spans: Sequence[tuple[int, int]], exclude: int) -> list:
    """The five nearest windows that are not OTHER and share no frame, for each window; None for OTHER windows."""
    lists: list[list[int] | None] = []
    for i in range(len(x)):
        others = [j for j in range(len(x)) if labels[j] != OTHER and not share_frames(i, j, spans, exclude)]
        others.sort(key=lambda j, i=i: (float(np.sum((x[i] - x[j]) ** 2)), j))
        lists.append(others[:5] if labels[i] != OTHER else None)
    return lists


def prediction(near: Sequence[int], labels: Sequence[int]) -> int:
    """Majority; of several entries with as many votes the one whose window is nearest."""
    votes = Counter(labels[j] for j in near)
    return next(labels[j] for j in near if votes[labels[j]] == max(votes.values()))


def pairs_of(lists: Sequence[Sequence[int] | None], labels: Sequence[int]) -> list[tuple[int, int]]:
    """(entry, predicted entry) of every window that has neighbours."""
    return [(labels[i], prediction(near, labels)) for i, near in enumerate(lists) if near]


def criterion(pairs: Sequence[tuple[int, int]], entries: Sequence[int]) -> float:
    """macro-F1 - 1/K"""
    scores = []
    for k in entries:
        hits = sum(1 for truth, found in pairs if truth == k and found == k)
        precision = hits / max(1, sum(1 for _, found in pairs if found == k))
        recall = hits / max(1, sum(1 for truth, _ in pairs if truth == k))
        scores.append(2 * precision * recall / (precision + recall) if hits else 0.0)
    return sum(scores) / len(entries) - 1 / len(entries)


def rate(pairs: Sequence[tuple[int, int]], a: int, b: int) -> float:
    """Share of the windows of a that are taken for b."""
    own = [found for truth, found in pairs if truth == a]
    return own.count(b) / max(1, len(own))


def merges(
    x: NDArray[np.floating], labels: Sequence[int], spans: Sequence[tuple[int, int]], exclude: int
) -> list[tuple[int, int, float, float, float]]:
    """(kept, absorbed, confusion, before, after) until no entry is taken for another."""
    labels = list(labels)
    entries = [k for k in dict.fromkeys(labels) if k != OTHER]  # in order of appearance
    lists = neighbours(x, labels, spans, exclude)
    steps = []
    while len(entries) > 1:
        pairs = pairs_of(lists, labels)
        mutual = {
            (a, b): rate(pairs, a, b) + rate(pairs, b, a) for i, a in enumerate(entries) for b in entries[i + 1 :]
        }
        kept, absorbed = max(mutual, key=lambda pair: mutual[pair])
        if mutual[kept, absorbed] == 0:
            break
        before = criterion(pairs, entries)
        labels = [kept if k == absorbed else k for k in labels]
        entries.remove(absorbed)
        after = criterion(pairs_of(lists, labels), entries)
        steps.append((kept, absorbed, mutual[kept, absorbed], before, after))
    return steps
