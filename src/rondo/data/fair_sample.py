"""A fair sample of recordings that are too many to learn from at once: whole stretches, each frame as likely as any.

The usable frames of all recordings, laid one after the other, are cut into pieces of equal length. Of every k pieces
that follow each other one is drawn. So each frame has the same chance, every recording gives its share, and recordings
of one length are not always met at the same place, as every k-th piece from one start would meet them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from rondo.data.signal import Signal
from rondo.data.windows import Span

MOST_VALUES = 1 << 25
"""Frames x channels that a vocabulary is learned from: 134 MB."""

MOST_WINDOWS = 1 << 17
"""Windows that it is learned from: about 0.5 GB while it is. What is smaller in both is taken whole."""

STRETCH_WINDOWS = 40  # long windows in a piece: enough to see contexts change
_FEWEST_WINDOWS, _FEWEST_PIECES = 4, 64


def most_frames(n_dims: int, step_frames: int) -> int:
    """Frames that are learned from, at most."""
    return max(1, min(MOST_VALUES // n_dims, MOST_WINDOWS * step_frames))


def stretch_frames(motif_window_frames: int, most: int) -> int:
    """Frames of a piece: 40 long windows; fewer where 64 such pieces would be more than the `most` frames.

    >>> stretch_frames(300, 3_728_270), stretch_frames(6_000, 335_544)
    (12000, 24000)
    """
    share = most // _FEWEST_PIECES
    fewest = max(_FEWEST_WINDOWS * motif_window_frames, share)
    return max(1, min(most, STRETCH_WINDOWS * motif_window_frames, fewest))


def fair_sample(
    spans_of_each: Sequence[Sequence[Span]], stretch: int, most: int, rng: np.random.Generator
) -> list[tuple[Span, ...]]:
    """The stretches of each recording to learn from: at most so many frames, or all spans where there are no more.

    >>> fair_sample([[(0, 50)], [(0, 10), (20, 40)]], 10, 30, np.random.default_rng(0))
    [((20, 30), (40, 50)), ((30, 40),)]
    """
    total = sum(stop - start for spans in spans_of_each for start, stop in spans)
    if total <= most:
        return [tuple(spans) for spans in spans_of_each]
    n_pieces = -(-total // stretch)
    every = -(-n_pieces // max(1, most // stretch))
    firsts = np.arange(0, n_pieces, every)
    pieces = firsts + rng.integers(0, every, firsts.size)
    pieces = pieces[pieces < n_pieces]
    return _cut(spans_of_each, [(int(piece) * stretch, (int(piece) + 1) * stretch) for piece in pieces])


def _cut(spans_of_each: Sequence[Sequence[Span]], chosen: Sequence[Span]) -> list[tuple[Span, ...]]:
    """The parts of spans that lie in the chosen stretches of the axis on which all spans follow each other."""
    at, place, found = 0, 0, []
    for spans in spans_of_each:
        own: list[Span] = []
        for start, stop in spans:
            end = at + stop - start
            while place < len(chosen) and chosen[place][1] <= at:
                place += 1
            for first, past in _overlapping(chosen, place, at, end):
                own.append((first - at + start, past - at + start))
            at = end
        found.append(_merged(own, spans))
    return found


def _overlapping(chosen: Sequence[Span], place: int, at: int, end: int) -> Iterable[Span]:
    while place < len(chosen) and chosen[place][0] < end:
        yield max(chosen[place][0], at), min(chosen[place][1], end)
        place += 1


def _merged(stretches: Sequence[Span], spans: Sequence[Span]) -> tuple[Span, ...]:
    """Stretches that follow each other within one span as one."""
    begins = {start for start, _ in spans}
    merged: list[Span] = []
    for start, stop in stretches:
        if merged and merged[-1][1] == start and start not in begins:
            merged[-1] = (merged[-1][0], stop)
        else:
            merged.append((start, stop))
    return tuple(merged)


def n_taken(n_frames: int, spans: Sequence[Span], stretches: Sequence[Span]) -> int:
    """Frames of the signal that `taken` gives."""
    return n_frames if tuple(stretches) == tuple(spans) else sum(stop - start for start, stop in stretches)


def taken(signal: Signal, stretches: Sequence[Span]) -> Signal:
    """The signal of these stretches alone, each a span of its own; the very signal where they are all its spans."""
    if tuple(stretches) == signal.spans:
        return signal
    values = np.concatenate([signal.values[:0], *(signal.values[start:stop] for start, stop in stretches)])
    return replace(signal, values=values, spans=rebased(stretches), n_rows=len(values), frame_of_row=None)


def rebased(stretches: Sequence[Span]) -> tuple[Span, ...]:
    """Where stretches lie once they follow each other.

    >>> rebased([(10, 20), (30, 35)])
    ((0, 10), (10, 15))
    """
    stops = list(accumulate(stop - start for start, stop in stretches))
    return tuple(zip([0, *stops[:-1]], stops, strict=True)) if stops else ()
