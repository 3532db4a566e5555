"""Slow twins of the window grid: frame by frame, with nothing but comparisons and lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

Span = tuple[int, int]


def starts(length: int, step: int, spans: Sequence[Span]) -> list[int]:
    """Walk through each span and note every place where a whole window fits."""
    return [start for span in spans for start in _starts_in(length, step, span)]


def window_spans(length: int, step: int, spans: Sequence[Span]) -> list[Span]:
    """Number the windows one by one; windows of the same frame span belong together."""
    groups: list[Span] = []
    seen = 0
    for span in spans:
        n_windows = len(_starts_in(length, step, span))
        if n_windows:
            groups.append((seen, seen + n_windows))
        seen += n_windows
    return groups


def project(
    labels: Sequence[int], length: int, step: int, n_frames: int, spans: Sequence[Span], rule: str
) -> list[int]:
    """One label per frame, each found on its own."""
    track = [-1] * n_frames
    seen = 0
    for span in spans:
        own = _starts_in(length, step, span)
        windows = list(zip(own, labels[seen : seen + len(own)], strict=True))
        seen += len(own)
        for frame in range(*span):
            if windows:
                track[frame] = {"vote": _vote, "centre": _centre, "start": _start}[rule](frame, windows, length)
    return track


def spread(scores: Sequence[float], length: int, step: int, n_frames: int, spans: Sequence[Span]) -> list[float]:
    """The score of the window whose centre is nearest, 0 for frames that have no window."""
    index = project(range(len(scores)), length, step, n_frames, spans, "centre")
    return [0.0 if i == -1 else scores[i] for i in index]


def _starts_in(length: int, step: int, span: Span) -> list[int]:
    found = []
    start = span[0]
    while start + length <= span[1]:
        found.append(start)
        start += step
    return found


def _vote(frame: int, windows: Sequence[tuple[int, int]], length: int) -> int:
    """Most frequent label of the windows that hold the frame (else of the last); ties as the rule says."""
    holding = [label for start, label in windows if start <= frame < start + length] or [windows[-1][1]]
    votes = Counter(holding)
    tied = {label for label, count in votes.items() if count == max(votes.values())}
    favourite = _centre(frame, windows, length)
    return favourite if favourite in tied else min(tied)


def _centre(frame: int, windows: Sequence[tuple[int, int]], length: int) -> int:
    def distance(window: tuple[int, int]) -> Fraction:
        return abs(frame - (window[0] + Fraction(length - 1, 2)))

    return min(windows, key=distance)[1]  # min keeps the first, hence the earlier, of two


def _start(frame: int, windows: Sequence[tuple[int, int]], length: int) -> int:
    return [label for start, label in windows if start <= frame][-1]
