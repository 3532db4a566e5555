"""Hidden Markov models by loops over every step and state, in log probabilities, one stretch after another."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def stretches(begins: NDArray[np.bool_]) -> list[tuple[int, int]]:
    firsts = [t for t, new in enumerate(begins) if new]
    return list(pairwise([*firsts, len(begins)]))


def log_sum(terms: list[float]) -> float:
    top = max(terms)
    return top + math.log(sum(math.exp(term - top) for term in terms))


def posterior(
    log_emissions: Array, begins: NDArray[np.bool_], initial: Array, transitions: Array
) -> tuple[Array, Array, float]:
    """How probable each state is at each step, expected moves, and the log likelihood."""
    n_steps, n_states = log_emissions.shape
    states, moves, total = np.zeros((n_steps, n_states)), np.zeros((n_states, n_states)), 0.0
    every = range(n_states)
    for first, stop in stretches(begins):
        e = log_emissions[first:stop].tolist()
        move = [[math.log(transitions[i, j]) for j in every] for i in every]
        alpha = [[math.log(initial[k]) + e[0][k] for k in every]]
        for t in range(1, stop - first):
            alpha.append([log_sum([alpha[-1][i] + move[i][j] for i in every]) + e[t][j] for j in every])
        beta = [[0.0] * n_states]
        for t in range(stop - first - 1, 0, -1):
            beta.insert(0, [log_sum([move[i][j] + e[t][j] + beta[0][j] for j in every]) for i in every])
        likelihood = log_sum(alpha[-1])
        total += likelihood
        for t in range(stop - first):
            for k in every:
                states[first + t, k] = math.exp(alpha[t][k] + beta[t][k] - likelihood)
        for t in range(1, stop - first):
            for i, j in product(every, every):
                moves[i, j] += math.exp(alpha[t - 1][i] + move[i][j] + e[t][j] + beta[t][j] - likelihood)
    return states, moves, total


def path_score(path: list[int], log_emissions: Array, initial: Array, transitions: Array) -> float:
    """The log probability of the path and the observations, of one stretch."""
    score = math.log(initial[path[0]]) + sum(float(log_emissions[t, k]) for t, k in enumerate(path))
    return score + sum(math.log(transitions[i, j]) for i, j in pairwise(path))


def best_score(log_emissions: Array, initial: Array, transitions: Array) -> float:
    """That of the best path, found by stepping."""
    best = [math.log(p) + float(e) for p, e in zip(initial, log_emissions[0], strict=True)]
    for e in log_emissions[1:]:
        best = [
            max(b + math.log(transitions[i, j]) for i, b in enumerate(best)) + float(e[j]) for j in range(len(best))
        ]
    return max(best)
