"""Slow twins of matching, linking and fusion: every candidate, window and motif by itself, by the equations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rondo.paper.candidates import LengthMotifs, Matches


def normalised_distance(motifs: LengthMotifs, latent: NDArray[np.float64], component: int) -> float | None:
    """r = d / R of one latent and one motif; None where it is not accepted."""
    distance = math.sqrt(sum((a - b) ** 2 for a, b in zip(latent, motifs.centres[component], strict=True)))
    posterior = float(motifs.mixture.posterior(latent[None])[0, component])
    if distance <= motifs.radii[component] and posterior >= motifs.floors[component] * (1 - 1e-9):
        return distance / float(motifs.radii[component])
    return None


def fused_score(
    matches: Sequence[Matches], motif_ids: Sequence[Sequence[int]], window: int, motif: int, bonus: float
) -> float:
    """s(t, m); 0 where no length supports the motif."""
    best = []
    for own, ids in zip(matches, motif_ids, strict=True):
        here = [
            float(own.distances[item, component])
            for start, item in zip(own.candidates.starts, own.candidates.item_of, strict=True)
            for component, id in enumerate(ids)
            if id == motif and start <= window < start + own.candidates.length
        ]
        if min(here, default=math.inf) < math.inf:
            best.append(min(here))
    factor = 1 + bonus * min(len(best) - 1, 5)
    return factor * sum(math.exp(-r) for r in best) / len(best) if best else 0.0


def longest_support(matches: Sequence[Matches], motif_ids: Sequence[Sequence[int]], window: int, motif: int) -> int:
    """The longest length that supports the motif at the window; 0 where none does."""
    alone = [(own, ids) for own, ids in zip(matches, motif_ids, strict=True)]
    return max(
        (own.candidates.length for own, ids in alone if fused_score([own], [ids], window, motif, 0.0) > 0), default=0
    )


def fuse(
    matches: Sequence[Matches], motif_ids: Sequence[Sequence[int]], n_windows: int, bonus: float
) -> list[tuple[int, float]]:
    """(motif, score) of every window; (-1, 0) where nothing is accepted. Of equals the longer, then the smaller id."""
    track = []
    for window in range(n_windows):
        options = []
        for motif in {id for ids in motif_ids for id in ids}:
            score = round(fused_score(matches, motif_ids, window, motif, bonus), 9)
            if score > 0:
                options.append((-score, -longest_support(matches, motif_ids, window, motif), motif))
        track.append((min(options)[2], -min(options)[0]) if options else (-1, 0.0))
    return track


def jaccard_distance(some: set[int], others: set[int]) -> float:
    return 1 - len(some & others) / len(some | others)


def average_linkage(distances: Sequence[Sequence[float]], cut: float) -> set[frozenset[int]]:
    """Join the two groups with the smallest mean distance between members, while it is at most `cut`."""
    groups = [frozenset([i]) for i in range(len(distances))]
    while len(groups) > 1:
        mean, a, b = min(
            (sum(distances[i][j] for i in a for j in b) / (len(a) * len(b)), sorted(a), sorted(b))
            for k, a in enumerate(groups)
            for b in groups[k + 1 :]
        )
        if mean > cut:
            break
        groups = [g for g in groups if g not in (frozenset(a), frozenset(b))] + [frozenset(a) | frozenset(b)]
    return set(groups)
