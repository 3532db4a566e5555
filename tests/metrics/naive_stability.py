"""A slow twin: sets of frames, and every way to match entries tried."""

from __future__ import annotations

from itertools import permutations

from rondo.data.labels import OTHER


def naive_jaccard(one: list[int], other: list[int]) -> dict[int, set[float]]:
    """For each entry of `one`, its Jaccard index under every matching that shares as many frames as any can."""
    frames = {id: {t for t, label in enumerate(one) if label == id} for id in set(one) - {OTHER}}
    partners = {id: {t for t, label in enumerate(other) if label == id} for id in set(other) - {OTHER}}
    mine = sorted(frames)
    theirs: list[int | None] = [*sorted(partners), *([None] * len(mine))]
    best, found = -1, {id: set[float]() for id in mine}
    for matching in permutations(theirs, len(mine)):
        pairs = [(frames[id], partners[to] if to is not None else set()) for id, to in zip(mine, matching, strict=True)]
        shared = sum(len(own & its) for own, its in pairs)
        if shared > best:
            best, found = shared, {id: set() for id in mine}
        if shared == best:
            for id, (own, its) in zip(mine, pairs, strict=True):
                found[id].add(len(own & its) / len(own | its))
    return found
