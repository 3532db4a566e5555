"""One identity across lengths: which components of different lengths are one motif.

The paper clusters each length on its own and then sums over "the lengths that support motif m", without saying when
components of two lengths are the same m. Three answers:

    none        they never are; every component is a motif
    overlap     their members lie at the same places: Jaccard distance of the sets of centre windows
    descriptor  their centres point the same way: cosine distance in the latent space

The last two group components by average linkage, cut at a distance of one half.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rondo.motifs.former.matching import LengthMotifs, Matches

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
    """0, 1, ... for the groups, by the first start among their components; of equals the component that stands first.

    >>> _by_first_appearance(np.array([7, 3, 7]), np.array([5, 2, 0])).tolist()
    [0, 1, 0]
    """
    order = np.argsort(first_starts, kind="stable")
    names, first_at, inverse = np.unique(groups[order], return_index=True, return_inverse=True)
    number = np.empty(names.size, dtype=np.int64)
    number[np.argsort(first_at)] = np.arange(names.size)
    ids = np.empty(groups.size, dtype=np.int64)
    ids[order] = number[inverse]
    return ids


def _offsets(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *sizes], dtype=np.int64)[:-1]
