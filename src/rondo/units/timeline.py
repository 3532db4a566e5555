"""Timeline: the entry of every window after smoothing, and how well it fits. Used for units and for motifs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER, Labels
from rondo.data.windows import Span
from rondo.units.viterbi import smooth
from rondo.vocabulary import Vocabulary

FARTHEST = 3.0
"""A window is OTHER farther than this many radii from the centre of its unit, or from every exemplar.

The slow projection keeps what tells units apart; a burst may differ from them in everything else, and then only its
distance from all known windows shows it (`exemplars.py`). Of the windows of six public data sets at most 0.2 % lie
beyond 3 radii, of those of other people in the same sets none; a burst at ten times the amplitude lies at 4 exemplar
radii, where statistics are cut off.
"""


@dataclass(frozen=True, eq=False)
class Timeline:
    """One id and one normalised distance r = d / R per window; r <= 1 means inside the entry's radius."""

    ids: Labels  # (n_windows,)
    distances: NDArray[np.float64]  # (n_windows,)
    spans: tuple[Span, ...]  # contiguous spans of the window axis
    strangeness: NDArray[np.float64] | None = None  # (n_windows,), distance to the nearest exemplar in radii

    @property
    def scores(self) -> NDArray[np.float64]:
        """exp(-r): 1 at the centre of the entry, 0.37 at its radius."""
        return np.exp(-self.distances)

    @property
    def labels(self) -> Labels:
        """The ids, OTHER where nothing fits (FARTHEST)."""
        farthest = self.distances if self.strangeness is None else np.maximum(self.distances, self.strangeness)
        return np.where(farthest > FARTHEST, np.int32(OTHER), self.ids)

    @property
    def share_accepted(self) -> float:
        return float((self.distances <= 1).mean()) if self.distances.size else 0.0


def joined(timelines: Sequence[Timeline]) -> Timeline:
    """Timelines laid one after the other; their spans stay apart."""
    offsets = np.cumsum([0, *(timeline.ids.size for timeline in timelines)]).tolist()
    spans = tuple(
        (start + offset, stop + offset)
        for timeline, offset in zip(timelines, offsets, strict=False)
        for start, stop in timeline.spans
    )
    ids, distances = (
        np.concatenate([getattr(timeline, name) for timeline in timelines]) for name in ("ids", "distances")
    )
    return Timeline(ids, distances, spans)


def typical_step(latents: NDArray[np.floating], spans: Sequence[Span]) -> float:
    """Median distance between the latents of consecutive windows (paper: "typical embedding change")."""
    steps = [np.linalg.norm(np.diff(latents[a:b], axis=0), axis=1) for a, b in spans]
    joined = np.concatenate(steps) if steps else np.zeros(0)
    return float(np.median(joined)) if joined.size else 0.0


def centre_distances(latents: NDArray[np.floating], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Euclidean distance of every latent to every centre, (n_windows, n_entries)."""
    return np.stack([np.sqrt(((latents - centre) ** 2).sum(axis=1)) for centre in centres], axis=1)


def smooth_spans(costs: NDArray[np.floating], spans: Sequence[Span], penalty: float) -> NDArray[np.int64]:
    """Viterbi smoothing inside each span; nothing is carried over a gap."""
    if not spans:
        return np.zeros(0, dtype=np.int64)
    return np.concatenate([smooth(costs[start:stop], penalty) for start, stop in spans])


def decode(latents: NDArray[np.floating], spans: Sequence[Span], vocabulary: Vocabulary, penalty: float) -> Timeline:
    """Smoothed entry of each window: emission cost is the distance to the entry's centre."""
    ids = np.array(vocabulary.ids, dtype=np.int32)
    costs = centre_distances(latents, vocabulary.centres)
    chosen = smooth_spans(costs, spans, penalty)
    distances = costs[np.arange(chosen.size), chosen] / vocabulary.radii[chosen]
    return Timeline(ids[chosen], distances, tuple(spans))
