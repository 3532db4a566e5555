"""Slow, obvious twins of UnitAlign: losses, adaptor and agreement by the definition, in Python floats and loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return dot / (math.hypot(*a) * math.hypot(*b))


def geometry_loss(y: Floats, z: Floats) -> float:
    n = len(y)
    pairs = itertools.product(range(n), repeat=2)
    return math.fsum((cosine(y[i], y[j]) - cosine(z[i], z[j])) ** 2 for i, j in pairs) / n**2


def covariance(a: Sequence[float], b: Sequence[float]) -> float:
    n = len(a)
    mean_a, mean_b = math.fsum(a) / n, math.fsum(b) / n
    return math.fsum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / max(n - 1, 1)


def variance_hinge(h: Floats) -> float:
    lacks = [max(0.0, 1 - math.sqrt(covariance(column, column) + 1e-4)) for column in h.T]
    return math.fsum(lacks) / len(lacks)


def covariance_penalty(h: Floats) -> float:
    columns = list(h.T)
    pairs = itertools.permutations(range(len(columns)), 2)
    return math.fsum(covariance(columns[d], columns[e]) ** 2 for d, e in pairs) / len(columns)


def supervised_contrast(z: Floats, labels: Sequence[int], temperature: float) -> float:
    known = [i for i, label in enumerate(labels) if label >= 0]
    losses = []
    for i in known:
        others = [a for a in known if a != i]
        positives = [p for p in others if labels[p] == labels[i]]
        if positives:
            total = math.fsum(math.exp(float(z[i] @ z[a]) / temperature) for a in others)
            logs = [math.log(math.exp(float(z[i] @ z[p]) / temperature) / total) for p in positives]
            losses.append(-math.fsum(logs) / len(positives))
    return math.fsum(losses) / len(losses) if losses else 0.0


def gradient(function: Callable[[Floats], float], at: Floats, step: float = 1e-5) -> Floats:
    """Central differences, one number at a time."""
    slope = np.zeros_like(at)
    for index in np.ndindex(*at.shape):
        up, down = at.copy(), at.copy()
        up[index] += step
        down[index] -= step
        slope[index] = (function(up) - function(down)) / (2 * step)
    return slope


def gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def adapted(
    y: Sequence[float], weights: dict[str, Floats], alpha: float, mask: Sequence[float]
) -> tuple[list[float], list[float]]:
    """h and z of one window from the adaptor's named weights."""

    def linear(name: str, x: Sequence[float]) -> list[float]:
        rows = zip(weights[f"{name}.weight"], weights[f"{name}.bias"], strict=True)
        return [math.fsum(w * v for w, v in zip(row, x, strict=True)) + bias for row, bias in rows]

    inner = [gelu(v) * m for v, m in zip(linear("down", y), mask, strict=True)]
    residual = [a + alpha * b for a, b in zip(y, linear("up", inner), strict=True)]
    mean = math.fsum(residual) / len(residual)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in residual) / len(residual) + 1e-5)
    affine = zip(residual, weights["norm.weight"], weights["norm.bias"], strict=True)
    h = [(v - mean) / deviation * gain + shift for v, gain, shift in affine]
    raw = linear("head", h)
    return h, [v / math.hypot(*raw) for v in raw]


def adjusted_rand(first: Sequence[int], second: Sequence[int]) -> float:
    """Over all pairs of windows: (agreement - expected) / (most possible - expected)."""
    pairs = list(itertools.combinations(range(len(first)), 2))
    together_first = {(i, j) for i, j in pairs if first[i] == first[j]}
    together_second = {(i, j) for i, j in pairs if second[i] == second[j]}
    if together_first == together_second:
        return 1.0
    expected = len(together_first) * len(together_second) / len(pairs)
    most = (len(together_first) + len(together_second)) / 2
    return (len(together_first & together_second) - expected) / (most - expected)
