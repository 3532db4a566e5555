"""Fusion: one motif per window from the matches of all lengths (paper, app. MotifFormer).

    s(t, m) = b(|L(t, m)|) / |L(t, m)| * sum over L in L(t, m) of exp(-r(t, m, L)),   b(n) = 1 + 0.1 min(n - 1, 5)

r(t, m, L) is the smallest normalised distance among the candidates of length L that cover window t and match m, and
L(t, m) are the lengths that have one. The paper cuts r at tau_r; accepted candidates have r <= 1, so that no tau_r
from 1 on changes anything. It gives no b; in a prototype, on MoCap (one seed, linked motifs), F1@50 was 100 with it
and 96 without a bonus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.windows import Span
from rondo.motifs.former.matching import Matches
from rondo.motifs.phrases import Phrase

_BONUS, _MOST_BONUSES = 0.1, 5
HIGHEST_SCORE = 1 + _BONUS * _MOST_BONUSES
_DECIMALS = 9  # scores are compared so far: which of two centres is exactly met is a matter of rounding


class Fused(NamedTuple):
    """The motif of each window, OTHER where nothing is accepted, and its fused score in (0, 1.5]; 0 for OTHER."""

    ids: Labels  # (n_windows,)
    scores: NDArray[np.float64]  # (n_windows,)


class Occurrence(NamedTuple):
    """A motif on the windows [start, stop): the units of the runs in it, and the mean of the scores."""

    motif: int
    start: int
    stop: int
    phrase: Phrase
    score: float


def fuse(matches: Sequence[Matches], motif_ids: Sequence[NDArray[np.int64]], n_windows: int) -> Fused:
    """The motif with the highest fused score at each window; of equals the longer one there, then the smaller id.

    `motif_ids` holds, for each length, the motif of each component (`rondo.motifs.former.linking`).
    """
    ids = np.full(n_windows, OTHER, dtype=np.int32)
    scores = np.zeros(n_windows)
    longest = np.zeros(n_windows, dtype=np.int64)
    # Motif after motif, so that memory grows with the windows only.
    for motif in np.unique(np.concatenate([*motif_ids, np.zeros(0, np.int64)])):
        own, own_longest = _fused_score(matches, [here == motif for here in motif_ids], n_windows)
        better = (own > scores) | ((own == scores) & (own_longest > longest))
        ids[better], scores[better], longest[better] = motif, own[better], own_longest[better]
    return Fused(ids, scores)


def _fused_score(
    matches: Sequence[Matches], components: Sequence[NDArray[np.bool_]], n_windows: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """s(t, m) of one motif (0 where no length supports it), and the longest length that does; both (n_windows,)."""
    total = np.zeros(n_windows)
    n_lengths, longest = np.zeros(n_windows, dtype=np.int64), np.zeros(n_windows, dtype=np.int64)
    for own, chosen in zip(matches, components, strict=True):
        if chosen.any():
            nearest = _nearest_covering(own, chosen, n_windows)
            total += np.exp(-nearest)
            n_lengths += np.isfinite(nearest)
            longest = np.where(np.isfinite(nearest), np.maximum(longest, own.candidates.length), longest)
    bonus = 1 + _BONUS * np.minimum(n_lengths - 1, _MOST_BONUSES)
    return np.round(total / np.maximum(n_lengths, 1) * bonus, _DECIMALS), longest


def fused_score(nearest: Sequence[float]) -> float:
    """s(t, m) of one motif at one window from r(t, m, L) of the lengths that support it.

    >>> fused_score([0.0]), fused_score([0.0, 0.0])
    (1.0, 1.1)
    """
    bonus = 1 + _BONUS * min(len(nearest) - 1, _MOST_BONUSES)
    return float(np.round(np.exp(-np.array(nearest)).sum() / len(nearest) * bonus, _DECIMALS))


def _nearest_covering(matches: Matches, components: NDArray[np.bool_], n_windows: int) -> NDArray[np.float64]:
    """Smallest r among the candidates that cover each window, (n_windows,); infinite where there is none."""
    candidates = matches.candidates
    r = matches.distances[:, components].min(axis=1)
    begun = np.full(n_windows, np.inf)
    begun[candidates.starts] = r[candidates.item_of]
    covering = begun.copy()
    for age in range(1, candidates.length):
        np.minimum(covering[age:], begun[:-age], out=covering[age:])
    return covering


def occurrences(fused: Fused, codes: NDArray[np.int64], spans: Sequence[Span]) -> tuple[Occurrence, ...]:
    """The runs of each motif with their units, in order; OTHER is left out and nothing crosses a span."""
    return tuple(_occurrences(fused, codes, spans))


def _occurrences(fused: Fused, codes: NDArray[np.int64], spans: Sequence[Span]) -> Iterator[Occurrence]:
    for first, last in spans:
        runs = runs_of(fused.ids[first:last])
        for motif, start, stop in zip(runs.ids.tolist(), runs.starts + first, runs.stops + first, strict=True):
            if motif != OTHER:
                phrase = tuple(runs_of(codes[start:stop]).ids.tolist())
                yield Occurrence(motif, int(start), int(stop), phrase, float(fused.scores[start:stop].mean()))
