"""Slow, obvious twins of encoders, projections, smoothing and timelines: by the definition, in loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig

Floats = NDArray[np.float64]
Span = tuple[int, int]


# ---------------------------------------------------------------- statistics of one window


def window_statistics(window: NDArray[np.floating], correlation_floor: float) -> dict[str, list[float]]:
    """mean, spread, change and correlations of one window (n_channels, length), in Python floats."""
    channels = [[float(value) for value in channel] for channel in window]
    length = len(channels[0])
    means = [math.fsum(channel) / length for channel in channels]
    centred = [[value - mean for value in channel] for channel, mean in zip(channels, means, strict=True)]
    spreads = [math.sqrt(math.fsum(value**2 for value in channel) / length) for channel in centred]
    changes = [
        math.fsum(abs(b - a) for a, b in itertools.pairwise(channel)) / max(1, length - 1) for channel in channels
    ]
    correlations = [
        math.fsum(a * b for a, b in zip(centred[i], centred[j], strict=True))
        / (length * (spreads[i] + correlation_floor) * (spreads[j] + correlation_floor))
        for i, j in itertools.combinations(range(len(channels)), 2)
    ]
    return {"mean": means, "spread": spreads, "change": changes, "correlation": correlations}


def statistics_encoding(windows: Sequence[NDArray[np.floating]], correlation_floor: float, clip: float) -> Floats:
    """Statistics of every window, standardised over the windows, clipped, balanced by block."""
    rows = [window_statistics(window, correlation_floor) for window in windows]
    blocks = []
    for name in rows[0]:
        block = np.array([row[name] for row in rows])
        spread = block.std(axis=0)
        varies = spread > 1e-6 * np.abs(block).max(axis=0, initial=0)
        scaled = np.where(varies, (block - block.mean(axis=0)) / np.where(varies, spread, 1.0), 0.0)
        blocks.append(np.clip(scaled, -clip, clip) / math.sqrt(max(1, int(varies.sum()))))
    return np.concatenate(blocks, axis=1)


# ---------------------------------------------------------------- slow projection


def moving_mean(values: Floats, width: int) -> Floats:
    """Mean of the `width` values around each, the edges repeated; an even width leans to the past."""
    n = len(values)
    around = range(-(width // 2), width - width // 2)
    return np.array([np.mean([values[min(max(t + d, 0), n - 1)] for d in around], axis=0) for t in range(n)])


def slow_latents(
    representations: Floats, spans: Sequence[Span], pca_dim: int, dimension: int, ridge: float
) -> tuple[Floats, Floats]:
    """Latents and their slowness by the definition: covariances pair by pair, a general eigenproblem."""
    centred = representations - representations.mean(axis=0)
    p = max(1, min(pca_dim, centred.shape[1], centred.shape[0] // 5))
    q = centred @ np.linalg.svd(centred, full_matrices=False)[2][:p].T
    c0, c1, n_pairs = np.zeros((p, p)), np.zeros((p, p)), 0
    for a, b in spans:
        steady = q[a:b] - moving_mean(q[a:b], max(3, (b - a) // 2))
        steady = steady - steady.mean(axis=0)
        for t in range(b - a):
            c0 += np.outer(steady[t], steady[t]) / len(q)
        for t in range(b - a - 1):
            c1 += (np.outer(steady[t], steady[t + 1]) + np.outer(steady[t + 1], steady[t])) / 2
            n_pairs += 1
    damped = c0 + ridge * np.trace(c0) / p * np.eye(p)
    values, vectors = eig(c1 / n_pairs, damped)
    order = np.argsort(-values.real)[: min(dimension, p)]
    slowness, vectors = np.maximum(values.real[order], 0.0), vectors.real[:, order]
    for i in range(len(order)):
        vectors[:, i] /= math.sqrt(vectors[:, i] @ damped @ vectors[:, i])
    return q @ (vectors * slowness), slowness


# ---------------------------------------------------------------- smoothing and timelines


def path_cost(costs: Floats, penalty: float, path: Sequence[int]) -> float:
    spent = math.fsum(costs[t][k] for t, k in enumerate(path))
    return spent + penalty * sum(a != b for a, b in itertools.pairwise(path))


def least_path_cost(costs: Floats, penalty: float) -> float:
    """Cost of the cheapest of all n_entries ** n_windows paths."""
    n_windows, n_entries = costs.shape
    paths = itertools.product(range(n_entries), repeat=n_windows)
    return min(path_cost(costs, penalty, path) for path in paths)


def viterbi(costs: Floats, penalty: float) -> NDArray[np.int64]:
    """The textbook: every entry looks at every predecessor, O(n_windows * n_entries^2)."""
    n_windows, n_entries = costs.shape
    change = penalty * (1 - np.eye(n_entries))
    total = costs[0].astype(np.float64)
    came_from = np.empty((n_windows, n_entries), dtype=np.int64)
    for t in range(1, n_windows):
        through = total[:, None] + change
        came_from[t] = through.argmin(axis=0)
        total = through.min(axis=0) + costs[t]
    path = np.empty(n_windows, dtype=np.int64)
    path[-1] = total.argmin()
    for t in range(n_windows - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    return math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


def step_median(latents: Floats, spans: Sequence[Span]) -> float:
    """Median distance of consecutive latents, never across spans; 0 where there is no pair."""
    steps = sorted(distance(latents[t], latents[t + 1]) for a, b in spans for t in range(a, b - 1))
    if not steps:
        return 0.0
    middle = len(steps) // 2
    return steps[middle] if len(steps) % 2 else (steps[middle - 1] + steps[middle]) / 2


# ---------------------------------------------------------------- places and shared units


def moved_centres(centres: Floats, latents: Floats, spans: Sequence[Span], penalty: float, weight: float) -> Floats:
    """Centres where these windows have them: 3 window lengths stay, the rest is counted window by window."""

    def read(now: Floats) -> list[int]:
        costs = np.array([[distance(latent, centre) for centre in now] for latent in latents])
        return [int(k) for a, b in spans for k in viterbi(costs[a:b], penalty)]

    ids, now = read(centres), centres
    for _ in range(20):
        total, summed = np.full(len(centres), 3.0), 3.0 * centres
        for latent, k in zip(latents, ids, strict=True):
            total[k] += weight
            summed[k] += weight * latent
        now = summed / total[:, None]
        before, ids = ids, read(now)
        if ids == before:
            break
    return now


def joined_by_trying(units: Floats, prototypes: Floats, reach: float) -> tuple[float, list[int]]:
    """The least cost of all ways to give units prototypes, none twice; -1 stays alone and costs the reach."""
    best, chosen = math.inf, [-1] * len(units)
    for numbers in itertools.product(range(-1, len(prototypes)), repeat=len(units)):
        taken = [k for k in numbers if k >= 0]
        if len(taken) > len(set(taken)):
            continue
        cost = math.fsum(
            reach if k < 0 else distance(unit, prototypes[k]) for unit, k in zip(units, numbers, strict=True)
        )
        if cost < best:
            best, chosen = cost, list(numbers)
    return best, chosen


def matched_units(units: Sequence[Floats], shares: Sequence[Sequence[float]], reach: float) -> list[list[int]]:
    """The prototype of every unit of every group, from the group with the most units on, until nothing changes."""
    order = sorted(range(len(units)), key=lambda g: (-len(units[g]), units[g].sum()))
    prototypes = [list(unit) for unit in units[order[0]]]
    numbers: dict[int, list[int]] = {}
    for _ in range(10):
        before = dict(numbers)
        for g in order:
            _, numbers[g] = joined_by_trying(units[g], np.array(prototypes), reach)
            for k, unit in enumerate(units[g]):
                if numbers[g][k] < 0:
                    numbers[g][k] = len(prototypes)
                    prototypes.append(list(unit))
        members = [
            [(g, k) for g in order for k, own in enumerate(numbers[g]) if own == p] for p in range(len(prototypes))
        ]
        there = [p for p, own in enumerate(members) if own]
        prototypes = [
            list(
                sum(shares[g][k] * units[g][k] for g, k in members[p]) / math.fsum(shares[g][k] for g, k in members[p])
            )
            for p in there
        ]
        numbers = {g: [there.index(p) for p in own] for g, own in numbers.items()}
        if numbers == before:
            break
    return [numbers[g] for g in range(len(units))]


def agreeing_scatters(
    rows_of_groups: Sequence[Floats], spans_of_groups: Sequence[Sequence[Span]], labels: Sequence[Sequence[int]]
) -> tuple[Floats, Floats, Floats]:
    """S_b, S_w and S_1 of rows, groups counting alike: window by window."""
    n_dims = rows_of_groups[0].shape[1]
    mean, n_groups = np.zeros(n_dims), len(rows_of_groups)
    for rows in rows_of_groups:
        for row in rows:
            mean += row / len(rows) / n_groups
    weight: dict[int, float] = {}
    summed: dict[int, Floats] = {}
    for rows, own in zip(rows_of_groups, labels, strict=True):
        for row, k in zip(rows, own, strict=True):
            weight[k] = weight.get(k, 0.0) + 1 / len(rows)
            summed[k] = summed.get(k, np.zeros(n_dims)) + (row - mean) / len(rows)
    means = {k: summed[k] / weight[k] for k in weight}
    between = sum((weight[k] * np.outer(means[k], means[k]) for k in weight), np.zeros((n_dims, n_dims)))
    within, steps = np.zeros((n_dims, n_dims)), np.zeros((n_dims, n_dims))
    for rows, own, spans in zip(rows_of_groups, labels, spans_of_groups, strict=True):
        for row, k in zip(rows, own, strict=True):
            within += np.outer(row - mean - means[k], row - mean - means[k]) / len(rows)
        for a, b in spans:
            for t in range(a, b - 1):
                steps += np.outer(rows[t + 1] - rows[t], rows[t + 1] - rows[t]) / len(rows)
    return between, within, steps


def agreeing_directions(
    rows_of_groups: Sequence[Floats],
    spans_of_groups: Sequence[Sequence[Span]],
    labels: Sequence[Sequence[int]],
    pca_dim: int,
    ridge: float,
) -> tuple[Floats, Floats]:
    """lambda / (1 + lambda) of up to 10 directions, and the matrix, its signs open: a general eigenproblem."""
    between, within, steps = agreeing_scatters(rows_of_groups, spans_of_groups, labels)
    total = between + within
    p = max(1, min(pca_dim, len(total), sum(map(len, rows_of_groups)) // 5))
    axes = np.linalg.svd(total)[0][:, :p]
    noise = axes.T @ (within + steps) @ axes
    noise = noise + ridge * np.trace(noise) / p * np.eye(p)
    values, vectors = eig(axes.T @ between @ axes, noise)
    order = np.argsort(-values.real)[: min(10, p)]
    values, vectors = np.maximum(values.real[order], 0.0), vectors.real[:, order]
    for i in range(len(order)):
        vectors[:, i] /= math.sqrt(vectors[:, i] @ noise @ vectors[:, i])
    agreement = values / (1 + values)
    return agreement, axes @ (vectors * np.sqrt(agreement))
