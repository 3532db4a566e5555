"""Slow twin of a stream's frames: the whole stream at once, row by row, with lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from tests import naive_preprocess

Row = Sequence[float]
Frame = tuple[int, list[float]]  # number and values


def kept_rows(times: Sequence[float], rate: float, max_gap: int) -> list[int]:
    """Rows that a stream takes: each later than the ones before, but for those after a jump that later rows refute."""
    # frames beyond are not told apart
    times = [time_s if abs(time_s) * rate <= 2**53 else math.nan for time_s in times]

    def jumps(before: float, after: float) -> bool:
        return not math.isfinite(before) or round((after - before) * rate) - 1 > max_gap

    def after(kept: list[int], waits: list[int], back: list[int], rows: list[int]) -> list[int]:
        """`waits` are held, `back` is the row right after them that came before a jump."""
        if not rows:
            return kept + waits
        now, rest = rows[0], rows[1:]
        so_far = [-math.inf, *(times[i] for i in kept[-1:] + waits)]
        if kept:
            so_far = so_far[1:]
        if not math.isfinite(times[now]) or times[now] <= so_far[0]:
            return after(kept, waits, back, rest)
        if times[now] > so_far[-1]:
            if not waits and not jumps(so_far[-1], times[now]):
                return after([*kept, now], [], [], rest)
            waits = [*waits, now]
            runs = [i for i in range(len(waits)) if i and jumps(times[waits[i - 1]], times[waits[i]])]
            if len(waits) - max(runs, default=0) >= 8:
                return after(kept + waits, [], [], rest)
            n_taken = runs[0] if len(waits) > 64 else 0
            return after(kept + waits[:n_taken], waits[n_taken:], [], rest)
        place = next(i for i, time_s in enumerate(so_far[1:]) if time_s >= times[now])
        if so_far[place + 1] == times[now] or not jumps(so_far[place], so_far[place + 1]):
            return after(kept, waits, back, rest)
        if back and so_far[place] < times[back[0]] < times[now]:
            return after(kept, waits[:place], [], [*back, *rows])
        return after(kept, waits, [now], rest)

    kept = after([], [], [], list(range(len(times))))
    first = max((i for i in range(1, min(8, len(kept))) if times[kept[i]] - times[kept[i - 1]] > 3.2e9), default=0)
    return kept[first:]


def stretches(rows: Sequence[Row], clock: Sequence[float], max_gap: int) -> list[list[Frame]]:
    """Contiguous frames of a stream whose rows lie at these places of the frame axis.

    Whether rows are frames is asked again for every row, of all rows up to it.
    """
    pieces = _pieces(clock, max_gap)
    fits = [_rows_are_frames(clock, _pieces(clock[: n + 1], max_gap)) for n in range(len(rows))]
    n_fitting = fits.index(False) if False in fits else len(rows)
    found: list[list[Frame]] = []
    first_frame = 0
    for start, stop in pieces:
        own = [clock[i] for i in range(start, stop)]
        columns = [_filled(column, own, max_gap) for column in zip(*rows[start:stop], strict=True)]
        values = [list(row) for row in zip(*(filled for filled, _ in columns), strict=True)]
        lost = [any(flags) for flags in zip(*(flags for _, flags in columns), strict=True)]
        n_as_they_are = min(max(n_fitting - start, 0), stop - start)
        frames = [None if lost[i] else values[i] for i in range(n_as_they_are)]
        if n_as_they_are < stop - start:
            frames += _interpolated(own, values, lost, n_as_they_are)
        found += _runs(frames, first_frame)
        first_frame += len(frames)
    return found


def _filled(column: Sequence[float], clock: Sequence[float], max_gap: int) -> tuple[list[float], list[bool]]:
    """As the batch path fills it; a channel without a single value in a piece is lost there."""
    if all(value != value for value in column):
        return [0.0] * len(column), [True] * len(column)
    return naive_preprocess.filled(column, clock, max_gap)


def _pieces(clock: Sequence[float], max_gap: int) -> list[tuple[int, int]]:
    edges = [0, *(i for i in range(1, len(clock)) if round(clock[i] - clock[i - 1]) - 1 > max_gap), len(clock)]
    return list(pairwise(edges))


def _rows_are_frames(clock: Sequence[float], pieces: Sequence[tuple[int, int]]) -> bool:
    steps = [clock[i] - clock[i - 1] for start, stop in pieces for i in range(start + 1, stop)]
    if all(0.5 < step < 1.5 for step in steps):
        return True
    late = [[clock[i] - i for i in range(*piece)] for piece in pieces]
    return all(max(own) - min(own) < 1 for own in late)


def _interpolated(
    clock: Sequence[float], values: Sequence[Row], lost: Sequence[bool], n_frames: int
) -> list[list[float] | None]:
    """Frames n_frames, n_frames + 1 … of a piece whose first n_frames rows were taken as they are."""
    origin, first = clock[0], 0
    if n_frames and abs(clock[n_frames - 1] - clock[0] - (n_frames - 1)) >= 1:
        origin, first = clock[n_frames - 1], n_frames - 1
    own = [place - origin for place in clock]
    frames: list[list[float] | None] = []
    for frame in range(n_frames - first, round(own[-1]) + 1):
        gone = naive_preprocess.interpolated(frame, own, [float(flag) for flag in lost]) > 0
        at = [naive_preprocess.interpolated(frame, own, column) for column in zip(*values, strict=True)]
        frames.append(None if gone else at)
    return frames


def _runs(frames: Sequence[list[float] | None], first_frame: int) -> list[list[Frame]]:
    spans = naive_preprocess.spans_of([frame is not None for frame in frames])
    return [[(first_frame + i, frames[i] or []) for i in range(*span)] for span in spans]
