"""ClaSP: where a series changes, by how well its windows tell on which side of a split they lie.

P. Schäfer, A. Ermshaus, U. Leser, "ClaSP: parameter-free time series segmentation", DMKD 2023. Own code after the
authors' library claspy (0.2.8, BSD-3), whose constants stand below; it finds the same change points (see `clap`).

A split is judged by the labels 0 (before) and 1 (after) of each window's nearest neighbours: where most of them lie on
the window's own side, the split is a change. The best split of the whole series is tested, then those of its two parts,
best first, until none passes the test. Time is O(T² C w) in matrix products.

What differs: a channel that stands still in a window says nothing of its neighbours (claspy divides the little that is
left by its deviation, or 0 by 0); the search for a window length ends at that of the series (claspy's may not).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from rondo.wording import Progress, silent

N_NEIGHBOURS = 3
MIN_SEGMENT_WINDOWS = 5  # a segment is at least so many windows long
N_INTERVALS = 10  # a series is judged in itself and in random parts of it
STILL = 1e-3  # a window of standardised values with a smaller deviation stands still
SHORTEST_WINDOW, SIMILARITY = 10, 0.89  # of SuSS
P_ONE_CHANNEL, P_MANY_CHANNELS = 1e-15, 1e-30
_BLOCK = 1 << 20  # similarities in memory at a time; fewer fit the cache, more make better products

Series = NDArray[np.float64]  # (n_frames, n_channels)
Interval = tuple[int, int]  # frames, half-open


def change_points(
    series: Series, width: int, random_state: int, p_most: float | None = None, progress: Progress = silent
) -> list[int]:
    """Frames at which a new segment begins, in order of time; `p_most` is that of the released code unless given."""
    shortest = MIN_SEGMENT_WINDOWS * width
    if p_most is None:
        p_most = P_ONE_CHANNEL if series.shape[1] == 1 else P_MANY_CHANNELS
    found: list[int] = []
    waiting: list[tuple[float, int, Interval, int]] = []  # best first, then oldest
    parts: list[Interval] = [(0, len(series))]
    n_tried = 0
    while parts:
        for first, last in parts:
            told = partial(progress, f"change points ({len(found)} found)")
            split = best_split(series[first:last], width, p_most, random_state, told)
            n_tried += 1
            if split is None:
                continue
            change = first + split.at
            if not any(other - shortest <= change < other + shortest for other in (0, *found, len(series))):
                heapq.heappush(waiting, (-split.score, n_tried, (first, last), change))
        parts = []
        if waiting and len(found) < len(series) // shortest - 1:
            *_, (first, last), change = heapq.heappop(waiting)
            found.append(change)
            parts = [(first, change), (change, last)]
    return sorted(found)


def _unheard(done: int, total: int) -> None:
    """For those who do not ask how many windows have been compared."""


def suss(channel: NDArray[np.float64]) -> int:
    """A window length in frames: twice the smallest whose mean, deviation and range are like those of the channel.

    Summary Statistics Subsequence: with d(v) the mean over windows of |(mean, deviation, range) - those of the whole|
    / sqrt(v), the similarity of v is 1 - (d(v) - d(T-1)) / (d(1) - d(T-1)).
    """
    longest = channel.size - 1
    if longest < SHORTEST_WINDOW or np.ptp(channel) == 0:
        return min(channel.size, SHORTEST_WINDOW)
    scaled = (channel - channel.min()) / np.ptp(channel)
    most, least = _unlikeness(scaled, 1), _unlikeness(scaled, longest)
    if most == least:
        return SHORTEST_WINDOW

    def similarity(length: int) -> float:
        return 1 - (_unlikeness(scaled, length) - least) / (most - least)

    bound = 16  # the first power of 2 that is not shorter than the shortest window
    while bound < longest and similarity(bound) <= SIMILARITY:
        bound *= 2
    low, high = max(SHORTEST_WINDOW, bound // 2), min(bound + 1, longest)
    while low <= high:
        middle = (low + high) // 2
        alike = similarity(middle)
        if alike == SIMILARITY:
            break
        low, high = (middle + 1, high) if alike < SIMILARITY else (low, middle - 1)
    return 2 * low


def _unlikeness(scaled: NDArray[np.float64], length: int) -> float:
    from scipy.ndimage import maximum_filter1d, minimum_filter1d

    centre = slice(1 + length // 2, 1 + length // 2 + scaled.size - length)  # of windows that start at 1, 2, …
    span = maximum_filter1d(scaled, length)[centre] - minimum_filter1d(scaled, length)[centre]
    mean, deviation = (moment[1:] for moment in _moments(scaled, length))
    apart = np.hypot(np.hypot(mean - scaled.mean(), deviation - scaled.std()), span - 1)
    return float(apart.mean() / math.sqrt(length))


def _moments(channel: NDArray[np.float64], length: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    sums, squares = (np.cumsum(np.concatenate([[0.0], channel**power])) for power in (1, 2))
    mean = (sums[length:] - sums[:-length]) / length
    return mean, np.sqrt(np.maximum((squares[length:] - squares[:-length]) / length - mean**2, 0))


def neighbours(
    series: Series, width: int, intervals: list[Interval], told: Callable[[int, int], None] = _unheard
) -> list[NDArray[np.int64]]:
    """The nearest windows of each window, within each interval: (n_windows, N_NEIGHBOURS), counted from its start.

    Windows are compared channel by channel by their correlation, standardised over all windows of the series so that
    channels weigh the same, and averaged. Those that overlap a window by half or more are no neighbours of it.
    """
    nearest = [np.empty((stop - start - width + 1, N_NEIGHBOURS), dtype=np.int64) for start, stop in intervals]
    for first, similar in _similarities(series, width):
        for (start, stop), found in zip(intervals, nearest, strict=True):
            a, b = max(first, start), min(first + len(similar), stop - width + 1)
            if a < b:
                rows = similar[a - first : b - first, start : stop - width + 1]
                found[a - start : b - start] = _largest(rows)
        told(first + len(similar), len(series) - width + 1)
    return nearest


def _similarities(series: Series, width: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Blocks of rows of the matrix of all windows against all, each with the first window of it.

    A row is right up to a constant, the means over windows, which its order does not need.
    """
    windows = [_standardised_windows(channel, width) for channel in series.T]
    n_windows = len(windows[0])
    n_rows = max(1, _BLOCK // n_windows)
    for first in range(0, n_windows, n_rows):
        rows = np.arange(first, min(first + n_rows, n_windows))
        own = np.clip(rows[:, None] + np.arange(-(width // 2), width // 2 + 1), 0, n_windows - 1)
        similar = np.zeros((len(rows), n_windows), dtype=np.float32)
        for channel in windows:
            products = channel[rows[0] : rows[-1] + 1] @ channel.T
            np.put_along_axis(products, own, products.min(axis=1, keepdims=True), axis=1)
            mean = products.mean(axis=1, dtype=np.float64)
            square = np.einsum("ij,ij->i", products, products) / n_windows
            deviation = np.sqrt(np.maximum(square - mean**2, 0))
            weight = np.divide(1, deviation, out=np.zeros(len(rows)), where=deviation > 0)
            products *= weight[:, None].astype(np.float32)
            similar += products
        yield first, similar


def _standardised_windows(channel: NDArray[np.float64], width: int) -> NDArray[np.float32]:
    mean, deviation = _moments(channel, width)
    windows = sliding_window_view(channel, width) - mean[:, None]
    windows *= np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation >= STILL)[:, None]
    return windows.astype(np.float32)


def _largest(rows: NDArray[np.float32]) -> NDArray[np.int64]:
    """Where the largest numbers of each row stand, of equal ones the first; rows are left as they were."""
    every = np.arange(len(rows))
    found = np.empty((len(rows), N_NEIGHBOURS), dtype=np.int64)
    values = np.empty((len(rows), N_NEIGHBOURS), dtype=np.float32)
    for k in range(N_NEIGHBOURS):
        found[:, k] = rows.argmax(axis=1)
        values[:, k] = rows[every, found[:, k]]
        rows[every, found[:, k]] = -np.inf
    for k in range(N_NEIGHBOURS):
        rows[every, found[:, k]] = values[:, k]
    return found


@dataclass(frozen=True)
class Split:
    """Where a series is best split, in frames from its start, and how good that is."""

    at: int
    score: float


def best_split(
    series: Series, width: int, p_most: float, random_state: int, told: Callable[[int, int], None] = _unheard
) -> Split | None:
    """The best split of a series in two, if there is one that passes the test.

    The series is judged as a whole, then in random parts of it, longest first, with (score + share of the series) / 2,
    until a split passes or the next part has none that is better.
    """
    n_frames, shortest = len(series), MIN_SEGMENT_WINDOWS * width
    if n_frames < 2 * shortest:
        return None
    intervals = random_intervals(n_frames, shortest, random_state)
    best: tuple[float, int, int, NDArray[np.int64]] | None = None
    for (start, stop), nearest in zip(intervals, neighbours(series, width, intervals, told), strict=True):
        scores = (profile(nearest, width) + (stop - start) / n_frames) / 2
        at = int(scores.argmax())
        if best is not None and not scores[at] > best[0]:
            break
        best = float(scores[at]), start, at, nearest
        if p_value(predicted(nearest, at, width), at) <= p_most:
            break
    if best is None or best[0] == -np.inf:
        return None
    score, start, at, nearest = best
    # The released code tests a split of a part as if the part began with the series. Kept, to find what it finds.
    passes = p_value(predicted(nearest, at, width), start + at) <= p_most
    return Split(start + at, score) if passes else None


def random_intervals(n_frames: int, shortest: int, random_state: int) -> list[Interval]:
    """The whole series and random parts of it that have room for two segments, longest first."""
    drawn = np.random.RandomState(random_state)  # the released code's generator, to find what it finds
    intervals = [(0, n_frames)]
    while len(intervals) < N_INTERVALS and n_frames > 3 * shortest:
        start, length = drawn.choice(n_frames, 2).tolist()
        stop = min(start + length, n_frames)
        if stop - start >= 2 * shortest:
            intervals.append((start, stop))
    return sorted(intervals, key=lambda interval: interval[0] - interval[1])


def profile(nearest: NDArray[np.int64], width: int) -> NDArray[np.float64]:
    """For each split, the area under the ROC curve of labels predicted by neighbours; -inf near the ends.

    A window is predicted to lie after split s if most of its neighbours do, that is if their median m >= s; the `width`
    windows that reach over the split always are. With t1 and f1 the shares of windows predicted 1 and 0 that lie after
    the split, the curve has one corner and the area (1 + t1 - f1) / 2. All counts come from cumulative sums, O(T).
    """
    n_windows, shortest = len(nearest), MIN_SEGMENT_WINDOWS * width
    window, median = np.arange(n_windows), np.median(nearest, axis=1).astype(np.int64)
    least = np.bincount(np.minimum(window, median), minlength=n_windows)
    after = least[::-1].cumsum()[::-1]  # windows j >= s with m_j >= s
    crossing = np.zeros(n_windows + 1, dtype=np.int64)  # windows j with j + width < s <= m_j
    far = window + width < median
    np.add.at(crossing, window[far] + width + 1, 1)
    np.add.at(crossing, median[far] + 1, -1)
    splits = np.arange(shortest, n_windows - shortest + width)
    ones = after[splits] + np.cumsum(crossing)[splits] + width
    zeros, zeros_after = n_windows - ones, n_windows - splits - after[splits]
    scores = np.full(n_windows, -np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        area = (1 + after[splits] / ones - zeros_after / zeros) / 2
    scores[splits] = np.where((ones > 0) & (zeros > 0), area, -np.inf)
    return scores


def predicted(nearest: NDArray[np.int64], split: int, width: int) -> NDArray[np.bool_]:
    """Whether each window is predicted to lie after the split."""
    ones: NDArray[np.bool_] = np.median(nearest, axis=1) >= split
    ones[split - width : split] = True
    return ones


def p_value(ones: NDArray[np.bool_], split: int) -> float:
    """Two-sided rank-sum test of the labels before the split against those after, by the normal approximation."""
    n, n_before = ones.size, min(split, ones.size)
    if n_before in (0, n):
        return 1.0
    n_ones, ones_before = int(ones.sum()), int(ones[:n_before].sum())
    rank_of_zero, rank_of_one = (n - n_ones + 1) / 2, n - n_ones + (n_ones + 1) / 2
    ranks = (n_before - ones_before) * rank_of_zero + ones_before * rank_of_one
    expected, deviation = n_before * (n + 1) / 2, math.sqrt(n_before * (n - n_before) * (n + 1) / 12)
    return math.erfc(abs(ranks - expected) / deviation / math.sqrt(2))
