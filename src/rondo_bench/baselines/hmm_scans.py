"""Forward, backward and Viterbi over blocks of time side by side.

A chain is stepped through one observation after another, which in numpy costs the calls. Time is therefore cut into
blocks that take their steps together. A block must begin with what the one before it ends with; that is guessed, the
blocks run, and run again from the ends they reached until both agree (`_AGREED`), as a chain forgets how it began.
After as many runs as there are blocks it is so in any case: the result is that of one run from end to end.

Several stretches of observations lie one after another; where one begins, the chain starts again. Arrays over time are
(n_steps, n_states); the blocks are made in here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Kind = TypeVar("Kind", np.float64, np.bool_)

_AGREED = 1e-10  # at seams, for probabilities and for differences of log probabilities
_SHORTEST = 64  # steps of a block


@dataclass(frozen=True)
class Posterior:
    """What the observations say of the states."""

    states: Array  # (n_steps, n_states), how probable each state is at each step
    moves: Array  # (n_states, n_states), how often each is expected to follow each
    log_likelihood: float


def posterior(log_emissions: Array, begins: Flags, initial: Array, transitions: Array) -> Posterior:
    """States and moves given all observations; `begins` marks the first step of each stretch."""
    top = log_emissions.max(axis=1)
    emissions = _blocks(np.exp(log_emissions - top[:, None]), 1.0)
    restarts = _blocks(begins, True)
    filtered, predicted, scales = _forward(emissions, restarts, initial, transitions)
    later = _backward(emissions, restarts, transitions)
    n_steps = len(begins)
    alpha, prior, beta = (_flat(part, n_steps) for part in (filtered, predicted, later))
    states = alpha * beta
    states /= states.sum(axis=1, keepdims=True)
    arriving = _flat(emissions, n_steps) * beta
    arriving /= (prior * arriving).sum(axis=1, keepdims=True)
    arriving[begins] = 0
    moves = transitions * (alpha[:-1].T @ arriving[1:])
    return Posterior(states, moves, float(np.log(_flat(scales, n_steps)).sum() + top.sum()))


def most_probable_path(log_emissions: Array, begins: Flags, initial: Array, transitions: Array) -> NDArray[np.int64]:
    """The most probable states, one for each step."""
    emissions, restarts = _blocks(log_emissions, 0.0), _blocks(begins, True)
    length, n_blocks, n_states = emissions.shape
    log_moves, log_initial = np.log(transitions), np.log(initial)
    came_from = np.empty((length, n_blocks, n_states), dtype=np.int64)

    def run(best: Array) -> Array:
        for t in range(length):
            ways = best[:, :, None] + log_moves  # (n_blocks, from, to)
            came_from[t] = ways.argmax(axis=1)
            ahead = np.take_along_axis(ways, came_from[t][:, None], axis=1)[:, 0]
            new = restarts[t]
            if new.any():
                came_from[t, new] = best[new].argmax(axis=1)[:, None]
                ahead[new] = log_initial
            best = ahead + emissions[t]
            best -= best.max(axis=1, keepdims=True)
        return best

    ends = _until_agreed(run, np.zeros((n_blocks, n_states)), later=True)
    return _traced(came_from, int(ends[-1].argmax()))[: len(begins)]


def _forward(emissions: Array, restarts: Flags, initial: Array, transitions: Array) -> tuple[Array, Array, Array]:
    """Of each step, given those up to it: its state, its state before it was observed, and how probable it was."""
    length, n_blocks, n_states = emissions.shape
    filtered, predicted = np.empty_like(emissions), np.empty_like(emissions)
    scales = np.empty((length, n_blocks))

    def run(state: Array) -> Array:
        for t in range(length):
            prior = np.matmul(state, transitions, out=predicted[t])
            prior[restarts[t]] = initial
            state = np.multiply(prior, emissions[t], out=filtered[t])
            state.sum(axis=1, out=scales[t])
            state /= scales[t][:, None]
        return state

    _until_agreed(run, np.full((n_blocks, n_states), 1 / n_states), later=True)
    return filtered, predicted, scales


def _backward(emissions: Array, restarts: Flags, transitions: Array) -> Array:
    """How probable the observations after a step are, given its state, up to a factor."""
    n_blocks, n_states = emissions.shape[1:]
    later = np.empty_like(emissions)

    def run(after: Array) -> Array:
        for t in range(len(emissions) - 1, -1, -1):
            later[t] = after
            after = (emissions[t] * after) @ transitions.T
            after[restarts[t]] = 1.0
            after /= after.sum(axis=1, keepdims=True)
        return after

    _until_agreed(run, np.full((n_blocks, n_states), 1 / n_states), later=False)
    return later


def _until_agreed(run: Callable[[Array], Array], start: Array, later: bool) -> Array:
    """Run all blocks until each began with what its neighbour (the one before, if `later`) ended with."""
    outer = start[:1].copy()
    ends = start
    for _ in range(len(start)):
        ends = run(start)
        reached = np.concatenate([outer, ends[:-1]] if later else [ends[1:], outer])
        if np.abs(reached - start).max() <= _AGREED:
            break
        start = reached
    return ends


def _traced(came_from: NDArray[np.int64], last: int) -> NDArray[np.int64]:
    """The path that ends in state `last`: all possible ends of all blocks are followed back together, then chained."""
    length, n_blocks, n_states = came_from.shape
    at = np.broadcast_to(np.arange(n_states), (n_blocks, n_states))
    paths = np.empty_like(came_from)
    for t in range(length - 1, -1, -1):
        paths[t] = at
        at = np.take_along_axis(came_from[t], at, axis=1)
    ends = np.empty(n_blocks, dtype=np.int64)
    for b in range(n_blocks - 1, -1, -1):
        ends[b] = last
        last = int(at[b, last])
    return np.asarray(np.take_along_axis(paths, ends[None, :, None], axis=2)[:, :, 0].T.ravel())


def _blocks(steps: NDArray[Kind], fill: float | bool) -> NDArray[Kind]:
    """(n_steps, …) as (length, n_blocks, …), filled up at the end."""
    n_steps = len(steps)
    length = max(_SHORTEST, 2 * int(np.sqrt(n_steps)))
    n_blocks = -(-n_steps // length)
    filled = np.full((n_blocks * length, *steps.shape[1:]), fill, dtype=steps.dtype)
    filled[:n_steps] = steps
    return np.ascontiguousarray(filled.reshape(n_blocks, length, *steps.shape[1:]).swapaxes(0, 1))


def _flat(blocks: Array, n_steps: int) -> Array:
    """The inverse of `_blocks`."""
    return np.ascontiguousarray(blocks.swapaxes(0, 1)).reshape(-1, *blocks.shape[2:])[:n_steps]
