"""From motifs of each length to one motif per window: which components are one motif, and which wins (eq. motif)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.windows import Span
from rondo.motifs.phrases import Phrase
from rondo.paper.candidates import LengthMotifs, Matches

# One identity across lengths: which components of different lengths are one motif.
#
# The paper clusters each length on its own and then sums over "the lengths that support motif m", without saying when
# components of two lengths are the same m. Three answers:
#
#     none        they never are; every component is a motif
#     overlap     their members lie at the same places: Jaccard distance of the sets of centre windows
#     descriptor  their centres point the same way: cosine distance in the latent space
#
# The last two group components by average linkage, cut at a distance of one half.

Rule = Literal["none", "overlap", "descriptor"]

_CUT = 0.5  # in a prototype, on MoCap, overlap: ARI 62 to 66 with 13 motifs; without linking 55 to 59 with 17


def link(
    lengths: Sequence[LengthMotifs], matches: Sequence[Matches], rule: Rule, next_id: int = 0
) -> tuple[NDArray[np.int64], ...]:
    """A motif id for each component of each length, from `next_id` on, in the order in which members first appear.

    `matches` are those of the recordings the motifs were found in; where members of two motifs begin at the same
    window, the one of the length that stands first in `lengths` comes first.
    """
    sizes = [motifs.n_components for motifs in lengths]
    n_components = sum(sizes)
    if rule == "none" or n_components < 2:
        groups = np.arange(n_components)
    elif rule == "overlap":
        groups = _linked(_overlap_distances(matches, sizes))
    else:
        groups = _linked(_descriptor_distances(lengths))
    ids = next_id + _by_first_appearance(groups, _first_starts(matches, sizes))
    return tuple(np.split(ids, np.cumsum(sizes)[:-1])) if sizes else ()


def _overlap_distances(matches: Sequence[Matches], sizes: Sequence[int]) -> NDArray[np.float64]:
    """1 - |A ∩ B| / |A ∪ B| of the centre windows (start + length // 2) of the members, over all pairs."""
    from scipy.sparse import csr_array  # only needed to fit

    rows = [offset + own.nearest[own.candidates.item_of] for own, offset in zip(matches, _offsets(sizes), strict=True)]
    columns = [own.candidates.starts + own.candidates.length // 2 for own in matches]
    row, column = np.concatenate(rows), np.concatenate(columns)
    members = csr_array((np.ones(row.size), (row, column)), shape=(sum(sizes), int(column.max(initial=0)) + 1))
    common = (members @ members.T).toarray()
    n_members = common.diagonal()
    union = n_members[:, None] + n_members - common
    return np.asarray(1.0 - common / np.maximum(union, 1.0))


def _descriptor_distances(lengths: Sequence[LengthMotifs]) -> NDArray[np.float64]:
    """1 - cosine of the latent centres, over all pairs; a centre at the origin points nowhere: 1."""
    centres = np.concatenate([motifs.centres for motifs in lengths])
    norms = np.linalg.norm(centres, axis=1, keepdims=True)
    directions = centres / np.where(norms > 0, norms, 1.0)
    return np.asarray(1.0 - np.clip(directions @ directions.T, -1.0, 1.0))


def _linked(distances: NDArray[np.float64]) -> NDArray[np.int64]:
    """Groups by average linkage, (n_components,)."""
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import, and only needed to fit
    from scipy.spatial.distance import squareform

    return np.asarray(fcluster(linkage(squareform(distances, checks=False), "average"), _CUT, "distance"), np.int64)


def _first_starts(matches: Sequence[Matches], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Where the first member of each component begins; a component without members comes last."""
    first = np.full(sum(sizes), np.iinfo(np.int64).max)
    for own, offset in zip(matches, _offsets(sizes), strict=True):
        np.minimum.at(first, offset + own.nearest[own.candidates.item_of], own.candidates.starts)
    return first


def _by_first_appearance(groups: NDArray[np.int64], first_starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, ... for the groups, by the first start among their components; of equals the first component."""
    order = np.argsort(first_starts, kind="stable")
    names, first_at, inverse = np.unique(groups[order], return_index=True, return_inverse=True)
    number = np.empty(names.size, dtype=np.int64)
    number[np.argsort(first_at)] = np.arange(names.size)
    ids = np.empty(groups.size, dtype=np.int64)
    ids[order] = number[inverse]
    return ids


def _offsets(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *sizes], dtype=np.int64)[:-1]


# Fusion: one motif per window from the matches of all lengths (paper, app. MotifFormer).
#
#     s(t, m) = b(|L(t, m)|) / |L(t, m)| * sum over L in L(t, m) of exp(-r(t, m, L)),   b(n) = 1 + bonus min(n - 1, 5)
#
# r(t, m, L) is the smallest normalised distance among the candidates of length L that cover window t and match m, and
# L(t, m) are the lengths that have one. The paper cuts r at tau_r; accepted candidates have r <= 1, so that no tau_r
# from 1 on changes anything. It gives no b: `motifs.length_bonus` is a reading (docs/paper.md).

_MOST_BONUSES = 5  # ours: a motif of six lengths has all there is
_DECIMALS = 9  # scores are compared so far: which of two centres is exactly met is a matter of rounding


class Fused(NamedTuple):
    """The motif of each window, OTHER where nothing is accepted, and its fused score; 0 for OTHER.

    No score is above 1 + 5 bonus.
    """

    ids: Labels  # (n_windows,)
    scores: NDArray[np.float64]  # (n_windows,)


class Occurrence(NamedTuple):
    """A motif on the windows [start, stop): the units of the runs in it, and the mean of the scores."""

    motif: int
    start: int
    stop: int
    phrase: Phrase
    score: float


def fuse(matches: Sequence[Matches], motif_ids: Sequence[NDArray[np.int64]], n_windows: int, bonus: float) -> Fused:
    """The motif with the highest fused score at each window; of equals the longer one there, then the smaller id.

    `motif_ids` holds, for each length, the motif of each component.
    """
    ids = np.full(n_windows, OTHER, dtype=np.int32)
    scores = np.zeros(n_windows)
    longest = np.zeros(n_windows, dtype=np.int64)
    # Motif after motif, so that memory grows with the windows only.
    for motif in np.unique(np.concatenate([*motif_ids, np.zeros(0, np.int64)])):
        own, own_longest = _fused_score(matches, [here == motif for here in motif_ids], n_windows, bonus)
        better = (own > scores) | ((own == scores) & (own_longest > longest))
        ids[better], scores[better], longest[better] = motif, own[better], own_longest[better]
    return Fused(ids, scores)


def _fused_score(
    matches: Sequence[Matches], components: Sequence[NDArray[np.bool_]], n_windows: int, bonus: float
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
    factor = 1 + bonus * np.minimum(n_lengths - 1, _MOST_BONUSES)
    return np.round(total / np.maximum(n_lengths, 1) * factor, _DECIMALS), longest


def fused_score(nearest: Sequence[float], bonus: float) -> float:
    """s(t, m) of one motif at one window from r(t, m, L) of the lengths that support it."""
    factor = 1 + bonus * min(len(nearest) - 1, _MOST_BONUSES)
    return float(np.round(np.exp(-np.array(nearest)).sum() / len(nearest) * factor, _DECIMALS))


def highest_score(bonus: float) -> float:
    """That of a motif whose centres are met at all lengths."""
    return 1 + bonus * _MOST_BONUSES


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


def occurrences(fused: Fused, codes: NDArray[np.int64], spans: Sequence[Span]) -> list[Occurrence]:
    """The runs of each motif with their units, in order; OTHER is left out and nothing crosses a span."""
    found = []
    for first, last in spans:
        runs = runs_of(fused.ids[first:last])
        for motif, start, stop in zip(runs.ids.tolist(), runs.starts + first, runs.stops + first, strict=True):
            if motif != OTHER:
                phrase = tuple(runs_of(codes[start:stop]).ids.tolist())
                found.append(Occurrence(motif, int(start), int(stop), phrase, float(fused.scores[start:stop].mean())))
    return found
