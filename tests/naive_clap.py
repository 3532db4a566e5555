"""ClaSP, ROCKET and the merging of CLaP by loops over windows, labels and taps; slow, and as they are described."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, f1_score

Array = NDArray[np.float64]


def unlikeness(channel: Array, length: int) -> float:
    """Of windows of this length, except the first, to the whole; the channel goes from 0 to 1."""
    apart = []
    for start in range(1, len(channel) - length + 1):
        window = channel[start : start + length]
        mean, deviation = window.mean() - channel.mean(), window.std() - channel.std()
        apart.append(math.sqrt(mean**2 + deviation**2 + (np.ptp(window) - 1) ** 2))
    return float(np.mean(apart)) / math.sqrt(length)


def suss(channel: Array) -> int:
    """Twice the shortest window that is alike enough; similarity is taken to grow with the length."""
    scaled = (channel - channel.min()) / np.ptp(channel)
    most, least = unlikeness(scaled, 1), unlikeness(scaled, len(channel) - 1)
    for length in range(10, len(channel)):
        if 1 - (unlikeness(scaled, length) - least) / (most - least) >= 0.89:
            return 2 * length
    raise AssertionError


def neighbours(series: Array, width: int, interval: tuple[int, int]) -> list[set[int]]:
    """The three windows of the interval nearest to each, counted from its start."""
    start, stop = interval
    n_windows, n_channels = len(series) - width + 1, series.shape[1]
    found = []
    for i in range(start, stop - width + 1):
        total = np.zeros(n_windows)
        for c in range(n_channels):
            distances = np.array(
                [_distance(series[i : i + width, c], series[j : j + width, c]) for j in range(n_windows)]
            )
            for j in range(n_windows):
                if abs(i - j) <= width // 2:
                    distances[j] = np.inf
            distances[np.isinf(distances)] = distances[~np.isinf(distances)].max()
            total += (distances - distances.mean()) / distances.std()
        inside = total[start : stop - width + 1]
        found.append(set(np.argsort(inside, kind="stable")[:3].tolist()))
    return found


def _distance(a: Array, b: Array) -> float:
    return float((((a - a.mean()) / a.std() - (b - b.mean()) / b.std()) ** 2).sum())


def profile(nearest: NDArray[np.int64], width: int) -> list[float]:
    """The area under the curve of each split, from the labels themselves; -inf near the ends."""
    n = len(nearest)
    scores = [-math.inf] * n
    for split in range(5 * width, n - 5 * width + width):
        side = np.arange(n) >= split
        guess = predicted(nearest, split, width)
        if 0 < sum(guess) < n:
            scores[split] = _area(side[guess], side[np.logical_not(guess)])
    return scores


def _area(ones: NDArray[np.bool_], zeros: NDArray[np.bool_]) -> float:
    """Under the ROC curve: how often one of the ones has the higher score, where they are equal half."""
    a, b = ones[:, None].astype(int), zeros[None, :].astype(int)
    return float(((a > b) + 0.5 * (a == b)).mean())


def predicted(nearest: NDArray[np.int64], split: int, width: int) -> list[bool]:
    return [split - width <= j < split or sum(k >= split for k in row) > len(row) / 2 for j, row in enumerate(nearest)]


def rocket_features(
    window: NDArray[np.float32], weights: NDArray[np.float32], bias: float, dilation: int, padding: int
) -> tuple[float, float]:
    """Largest output and share of outputs above 0, of one kernel on one window (n_channels, length)."""
    n_channels, length = window.shape
    n_taps = weights.shape[1]
    outputs = []
    for at in range(-padding, length + padding - (n_taps - 1) * dilation):
        output = float(bias)
        for c in range(n_channels):
            for tap in range(n_taps):
                frame = at + tap * dilation
                if 0 <= frame < length:
                    output += float(weights[c, tap]) * float(window[c, frame])
        outputs.append(output)
    return max(outputs), sum(output > 0 for output in outputs) / len(outputs)


def merged(truth: NDArray[np.int64], guess: NDArray[np.int64]) -> list[int]:
    """The state of each label, by relabelling what is classified; a pair that was refused is not tried again."""
    truth, guess = truth.copy(), guess.copy()
    labels = np.arange(truth.max() + 1)
    refused = []
    while np.unique(labels).size > 1:
        names = np.unique(labels)
        confusion = confusion_matrix(truth, guess, labels=names).astype(float)
        mistakes = confusion - np.diag(confusion.diagonal())
        for i in np.argsort(mistakes.max(axis=1) / confusion.sum(axis=1))[::-1]:
            a, b = names[i], names[mistakes[i].argmax()]
            either = (np.isin(truth, [a, b])).tolist()
            if a == b or either in refused:
                continue
            kept, gone = max(a, b), min(a, b)
            joined = np.where(truth == gone, kept, truth), np.where(guess == gone, kept, guess)
            if _gain(*joined) < _gain(truth, guess) - 1e-12:
                refused.append(either)
                continue
            truth, guess = joined
            labels[labels == gone] = kept
            break
        else:
            break
    return labels.tolist()


def _gain(truth: NDArray[np.int64], guess: NDArray[np.int64]) -> float:
    names, counts = np.unique(truth, return_counts=True)
    by_chance = np.mean([2 * p * p / (p + p) for p in counts / truth.size])
    return float(f1_score(truth, guess, labels=names, average="macro", zero_division=0) - by_chance)
