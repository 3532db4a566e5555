"""Slow, obvious twins of TICC: windows, the Toeplitz graphical lasso, the cheapest path, the alternation, in loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Span = tuple[int, int]


def windows(values: NDArray[np.floating], spans: Sequence[Span], width: int) -> list[list[list[float]]]:
    """For each span its windows, each a list of channels of the first frame, then of the second, …"""
    return [
        [
            [float(value) for frame in range(first, first + width) for value in values[frame]]
            for first in range(start, stop - width + 1)
        ]
        for start, stop in spans
    ]


def equal_entries(n_channels: int, width: int) -> list[list[tuple[int, int]]]:
    """The places of Θ that hold one number: all pairs of frames of one lag, for one pair of channels, and mirrored."""
    classes = []
    for lag in range(width):
        for i in range(n_channels):
            for j in range(i if lag == 0 else 0, n_channels):
                above = [(f * n_channels + i, (f + lag) * n_channels + j) for f in range(width - lag)]
                classes.append(sorted({*above, *((column, row) for row, column in above)}))
    return classes


def distance_from_optimality(theta: Floats, covariance: Floats, sparsity: float, n_channels: int, width: int) -> float:
    """The most by which any class of entries differs within, or breaks the conditions of Karush, Kuhn and Tucker.

    With G = S - Θ⁻¹: the mean of G over a class is -λ·sign where its entry is not 0, and between -λ and λ where it is.
    The problem is strictly convex, so that only its minimum meets them. Relative to the largest entry, and to λ.
    """
    gradient = covariance - np.linalg.inv(theta)
    size, worst = np.abs(theta).max(), 0.0
    for places in equal_entries(n_channels, width):
        entries = [theta[place] for place in places]
        slope = math.fsum(gradient[place] for place in places) / len(places)
        excess = abs(slope) - sparsity
        if abs(entries[0]) > 1e-4 * size:
            excess = abs(slope + math.copysign(sparsity, entries[0]))
        worst = max(worst, (max(entries) - min(entries)) / size, excess / sparsity)
    return float(worst)


def released_lasso(covariance: Floats, sparsity: float, n_channels: int, width: int) -> Floats:
    """The alternating direction method with the constants of the released code: ρ = 1, from zeros, to its tolerance."""
    size = n_channels * width
    z, u = np.zeros((size, size)), np.zeros((size, size))
    for step in range(1000):
        values, vectors = np.linalg.eigh(z - u - covariance)
        x = vectors @ np.diag((values + np.sqrt(values**2 + 4)) / 2) @ vectors.T
        z_before, z = z, np.zeros((size, size))
        for places in equal_entries(n_channels, width):
            total = math.fsum((x + u)[place] for place in places)
            most = sparsity * len(places)
            drawn = math.copysign(max(abs(total) - most, 0.0), total) / len(places)
            for place in places:
                z[place] = drawn
        u = u + x - z
        above = np.triu_indices(size)
        floor = math.sqrt(above[0].size) * 1e-6 + 1e-4
        primal_bound = floor + 1e-6 * max(np.linalg.norm(x[above]), np.linalg.norm(z[above]))
        dual_bound = floor + 1e-6 * np.linalg.norm(u[above])
        still = np.linalg.norm((x - z)[above]) <= primal_bound and np.linalg.norm((z - z_before)[above]) <= dual_bound
        if step > 0 and still:
            break
    return np.asarray(x)


def path_backwards(costs: Floats, penalty: float) -> list[int]:
    """The recursion of the released code: from the end what each state will cost, then from the start the cheapest."""
    n_windows, n_states = costs.shape
    future = [[0.0] * n_states for _ in range(n_windows)]
    for t in range(n_windows - 2, -1, -1):
        for k in range(n_states):
            future[t][k] = min(future[t + 1][j] + costs[t + 1, j] + penalty * (j != k) for j in range(n_states))
    path: list[int] = []
    for t in range(n_windows):
        totals = [future[t][k] + costs[t, k] + penalty * (bool(path) and path[-1] != k) for k in range(n_states)]
        path.append(totals.index(min(totals)))
    return path


def alternate(
    pieces: list[list[list[float]]],
    labels: list[int],
    draws: np.random.RandomState,
    *,
    n_states: int,
    n_channels: int,
    width: int,
    sparsity: float,
    switch_cost: float,
    n_iterations: int,
    reassigned: int,
) -> tuple[list[int], list[int]]:
    """The last cheapest path and the same with windows given to empty states, by the steps of the released code."""
    rows = [row for piece in pieces for row in piece]
    means: dict[int, Floats] = {}
    precisions: dict[int, Floats] = {}
    before: list[int] | None = None
    for iteration in range(n_iterations):
        for k in range(n_states):
            members = np.array([row for row, label in zip(rows, labels, strict=True) if label == k])
            if len(members):
                means[k] = members.mean(axis=0)
                covariance = np.cov(members.T) if len(members) > 1 else np.zeros((len(rows[0]), len(rows[0])))
                precisions[k] = released_lasso(np.atleast_2d(covariance), sparsity, n_channels, width)
        path: list[int] = []
        for piece in pieces:
            costs = np.array(
                [[_cost(np.array(row), means[k], precisions[k]) for k in range(n_states)] for row in piece]
            )
            path += path_backwards(costs, switch_cost)
        labels = list(path)
        if iteration > 0:
            spreads = {k: float(np.linalg.norm(np.linalg.inv(precisions[k]))) for k in range(n_states)}
            donors = sorted((k for k in range(n_states) if k in path), key=lambda k: -spreads[k])
            for turn, empty in enumerate(k for k in range(n_states) if k not in path):
                donor = donors[turn % len(donors)]
                first = draws.choice([t for t, label in enumerate(path) if label == donor])
                for t in range(first, min(first + reassigned, len(labels))):
                    labels[t] = empty
        if labels == before:
            break
        before = path
    return path, labels


def _cost(row: Floats, mean: Floats, precision: Floats) -> float:
    away = row - mean
    return float(away @ precision @ away) + math.log(float(np.linalg.det(np.linalg.inv(precision))))
