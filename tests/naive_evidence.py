"""Closeness of windows and surprise of phrases by loops, as the modules that they check define them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def naive_closeness(
    statistics: NDArray[np.floating], labels: Sequence[int], spans: Sequence[tuple[int, int]], apart: int, same: float
) -> tuple[float, dict[int, float]]:
    """Mean closeness of all windows, and of each label's windows to the same label in another run; -1 is no label."""
    n = len(statistics)
    span_of = [next(i for i, (a, b) in enumerate(spans) if a <= w < b) for w in range(n)]
    run_of = [0] * n
    for w in range(1, n):
        run_of[w] = run_of[w - 1] + (labels[w] != labels[w - 1] or span_of[w] != span_of[w - 1])
    distance = [[math.dist(a, b) for b in statistics] for a in statistics]
    typical = float(np.median(distance))
    anywhere: list[float] = []
    elsewhere: dict[int, list[float]] = {}
    for w in range(n):
        others = [v for v in range(n) if span_of[v] != span_of[w] or abs(v - w) >= apart]
        if others:
            anywhere.append(min(distance[w][v] for v in others))
        alike = [v for v in others if labels[v] == labels[w] and run_of[v] != run_of[w]]
        if alike and labels[w] != -1:
            elsewhere.setdefault(labels[w], []).append(min(distance[w][v] for v in alike))

    def mean(distances: list[float]) -> float:
        return -sum(math.log(max(d / typical, same)) for d in distances) / len(distances) if distances else 0.0

    return mean(anywhere), {label: mean(distances) for label, distances in elsewhere.items()}


def naive_surprises(
    spans: Sequence[Sequence[int]], follows: Mapping[tuple[int, int], float], longest: int
) -> dict[tuple[int, ...], float]:
    """-log P(Poisson(e) >= c) of every phrase of 2 to `longest` units that lies in a span; 0 where it occurs once.

    e is never smaller than the number of times that the phrase occurs backwards.

    `follows` holds the probability that the second unit of a pair follows the first.
    """
    surprises = {}
    every = [unit for span in spans for unit in span]
    for length in range(2, longest + 1):
        places = [tuple(span[i : i + length]) for span in spans for i in range(len(span) - length + 1)]
        for phrase in set(places):
            count = places.count(phrase)
            expected = len(places) * every.count(phrase[0]) / len(every)
            for pair in pairwise(phrase):
                expected *= follows[pair]
            expected = max(expected, float(places.count(phrase[::-1])))
            terms = (count + i for i in range(200))
            tail = sum(math.exp(k * math.log(expected) - expected - math.lgamma(k + 1)) for k in terms)
            surprises[phrase] = -math.log(tail) if count > 1 else 0.0
    return surprises


def naive_visits(labels: Sequence[int], spans: Sequence[tuple[int, int]], apart: int) -> dict[int, list[list[int]]]:
    """The visits [start, stop) of each label; an absence of fewer than `apart` windows inside a span ends none."""
    visits: dict[int, list[list[int]]] = {}
    for start, stop in spans:
        fresh = set(labels)  # labels whose first window of the span is still to come
        for window in range(start, stop):
            label = labels[window]
            own = visits.setdefault(label, [])
            if label not in fresh and window - own[-1][1] < apart:
                own[-1][1] = window + 1
            else:
                own.append([window, window + 1])
            fresh.discard(label)
    return {label: own for label, own in visits.items() if label != -1}


def naive_margins(
    points: NDArray[np.floating],
    visits: Mapping[int, list[list[int]]],
    sampled: Mapping[tuple[int, int], Sequence[int]],
) -> dict[int, tuple[list[float], int]]:
    """The margin of each visit of each label that is compared, and the nearest other label.

    `sampled[label, i]` are the windows that stand for its i-th visit; `points` is by window, already whitened.
    """
    found = {}
    windows = {label: [w for i in range(len(own)) for w in sampled[label, i]] for label, own in visits.items()}
    for label, own in visits.items():

        def cycle(window: int, own: list[list[int]] = own) -> int:
            return sum(start <= window for start, _ in own[1:])

        margins, far = [], {}
        for fold in (0, 1):
            known = {k: [w for w in rows if cycle(w) % 2 != fold] for k, rows in windows.items()}
            centres = {k: np.mean([points[w] for w in rows], axis=0) for k, rows in known.items() if rows}
            tested = [i for i in range(len(own)) if i % 2 == fold]
            if label not in centres or len(centres) < 2 or not tested or len(own) < 2:
                continue
            logs: dict[int, list[float]] = {}
            for i in tested:
                ratios = []
                for w in sampled[label, i]:
                    distance = {k: math.dist(points[w], centre) for k, centre in centres.items()}
                    ratios.append(math.log(min(d for k, d in distance.items() if k != label) / distance[label]))
                    for k, d in distance.items():
                        logs.setdefault(k, []).append(math.log(d))
                margins.append(sum(ratios) / len(ratios))
            for k in set(logs) - {label}:
                far[k] = min(far.get(k, math.inf), sum(logs[k]) / len(logs[k]))
        if margins:
            found[label] = margins, min(sorted(far), key=far.__getitem__)
    return found
