"""Pieces of two regimes that alternate within stretches, and the removal of those that are mere noise.

A piece may go to the other regime, and then joins its neighbours there, where that costs less than a share of all that
the recording costs. How large a share is found by doubling it, while the two pieces that are least certain of their
regime become better seeds for a search.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.windows import Span


class Piece(NamedTuple):
    """Frames [start, stop) of one stretch, which belong to regime 0 or 1."""

    start: int
    stop: int
    side: int
    stretch: int


PieceCosts = Callable[[int, int], tuple[float, float]]
"""The bits of frames [start, stop) as one segment of regime 0, and of regime 1."""


def pieces_of(sides: NDArray[np.generic], stretches: Sequence[Span]) -> list[Piece]:
    """Runs of frames of one side, which end where a stretch does.

    >>> [tuple(piece) for piece in pieces_of(np.array([0, 0, 1, 1, 1]), [(0, 3), (3, 5)])]
    [(0, 2, 0, 0), (2, 3, 1, 0), (3, 5, 1, 1)]
    """
    starts = {start for start, _ in stretches} | set((np.flatnonzero(np.diff(sides)) + 1).tolist())
    edges = [*sorted(starts), len(sides)]
    stretch_of = np.searchsorted([start for start, _ in stretches], edges[:-1], side="right") - 1
    track = sides[edges[:-1]].tolist()
    return [Piece(*piece) for piece in zip(edges[:-1], edges[1:], track, stretch_of.tolist(), strict=True)]


def spans_of(pieces: Sequence[Piece], side: int) -> tuple[Span, ...]:
    return tuple((piece.start, piece.stop) for piece in pieces if piece.side == side)


def without_noise(pieces: Sequence[Piece], threshold: float, costs: PieceCosts) -> list[Piece]:
    """Move the piece that loses least by it to the other regime, while it loses less than the threshold.

    A move that joins no pieces is the last, as in the released code. Frames of a piece that was moved go on being
    compared as part of the piece that it joined.
    """
    heap = [(_loss(piece, costs), i) for i, piece in enumerate(pieces)]
    heapq.heapify(heap)
    alive: dict[int, Piece] = dict(enumerate(pieces))
    left, right = list(range(-1, len(pieces) - 1)), [*range(1, len(pieces)), -1]  # neighbours, -1 for none
    while heap:
        loss, i = heapq.heappop(heap)
        if i not in alive:
            continue
        if loss >= threshold:
            break
        moved = alive.pop(i)
        start, stop, joined = moved.start, moved.stop, False
        before, after = left[i], right[i]
        if before in alive and alive[before].stretch == moved.stretch:
            start, before, joined = alive.pop(before).start, left[before], True
        if after in alive and alive[after].stretch == moved.stretch:
            stop, after, joined = alive.pop(after).stop, right[after], True
        new = len(left)
        alive[new] = Piece(start, stop, 1 - moved.side, moved.stretch)
        left.append(before)
        right.append(after)
        if before >= 0:
            right[before] = new
        if after >= 0:
            left[after] = new
        heapq.heappush(heap, (_loss(alive[new], costs), new))
        if not joined:
            break
    return sorted(alive.values())


def _loss(piece: Piece, costs: PieceCosts) -> float:
    both = costs(piece.start, piece.stop)
    return both[1 - piece.side] - both[piece.side]


def pruning(
    pieces: Sequence[Piece], costs: PieceCosts, total: float, noise_share: float
) -> Generator[tuple[Span, Span], float, list[Piece]]:
    """What is left once noise is removed; yields the two least certain pieces and wants the cost of a search from them.

    The share begins at `noise_share`, is doubled at least once where both regimes have two pieces or more, and then for
    as long as that cost falls, up to ten times. A generator, so that many prunings can share one search.
    """
    n_pieces = [len(spans_of(pieces, side)) for side in (0, 1)]
    if max(n_pieces) <= 1:
        return list(pieces)
    best = pieces = without_noise(pieces, noise_share * total, costs)
    cheapest, share = math.inf, noise_share
    while share <= 10 * noise_share and all(spans_of(best, side) for side in (0, 1)):
        share *= 2
        pieces = without_noise(pieces, share * total, costs)
        if min(len(spans_of(pieces, side)) for side in (0, 1)) <= 1:
            break
        cost = yield _least_certain(pieces, costs, 0), _least_certain(pieces, costs, 1)
        if cost >= cheapest:
            break
        best, cheapest = pieces, cost
    return best


def _least_certain(pieces: Sequence[Piece], costs: PieceCosts, side: int) -> Span:
    piece = min((piece for piece in pieces if piece.side == side), key=lambda piece: _loss(piece, costs))
    return piece.start, piece.stop
