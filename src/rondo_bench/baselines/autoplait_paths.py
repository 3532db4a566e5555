"""The best path through the states of a hidden Markov model, in about sqrt(n_frames) steps of Python.

A recursion over frames is a product of one small matrix per frame, and products can be bracketed. Frames are cut into
about sqrt(n_frames) chunks of as many frames. One loop over the frames of a chunk multiplies the matrices of all chunks
side by side, one loop over chunks carries the state of the recursion from chunk to chunk, and a second loop over the
frames of a chunk fills in what lies between. Here a product is a maximum of sums; `autoplait_hmm` does the same with
sums of products. It costs n_states times the arithmetic, so that many states take the plain loop.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CHUNKED_STATES = 12  # above, one step of a plain loop costs less than n_states ** 3 sums (measured)


def best_score(log_start: Floats, log_transition: Floats, log_density: Floats) -> float:
    """max over paths q of log_start[q_0] + sum_t log_density[t, q_t] + sum_t log_transition[q_t-1, q_t]."""
    n_frames, k = log_density.shape
    score = log_start + log_density[0]
    if k == 1:
        return float(score[0] + (n_frames - 1) * log_transition[0, 0] + log_density[1:].sum())
    steps = log_density[1:]
    length = _chunk_length(len(steps), k)
    n_chunks = len(steps) // length
    if length > 1:
        for product in _path_products(log_transition, steps[: n_chunks * length].reshape(n_chunks, length, k)):
            score = (score[:, None] + product).max(axis=0)
        steps = steps[n_chunks * length :]
    for density in steps:
        score = (score[:, None] + log_transition).max(axis=0) + density
    return float(score.max())


def best_path(log_start: Floats, log_transition: Floats, log_density: Floats) -> NDArray[np.uint8]:
    """The path of the best score, a state for each frame; of several equal predecessors the lowest."""
    n_frames, k = log_density.shape
    length = _chunk_length(n_frames - 1, k)
    n_chunks = (n_frames - 1) // length if length > 1 else 1
    length = length if length > 1 else n_frames - 1
    steps = log_density[1 : 1 + n_chunks * length].reshape(n_chunks, length, k)
    scores = np.empty((n_chunks, k))
    score = log_start + log_density[0]
    scores[0] = score
    if n_chunks > 1:
        for chunk, product in enumerate(_path_products(log_transition, steps[:-1]), start=1):
            scores[chunk] = score = (score[:, None] + product).max(axis=0)
    before = np.empty((n_frames, k), dtype=np.uint8)
    inside = before[1 : 1 + n_chunks * length].reshape(n_chunks, length, k)
    into = np.ascontiguousarray(log_transition.T)
    for step in range(length):
        reached = scores[:, None, :] + into  # (n_chunks, to, from)
        origin = reached.argmax(axis=2)
        inside[:, step] = origin
        scores = np.take_along_axis(reached, origin[:, :, None], axis=2)[:, :, 0] + steps[:, step]
    score = scores[-1]
    for frame in range(1 + n_chunks * length, n_frames):
        reached = score + into
        before[frame] = reached.argmax(axis=1)
        score = reached.max(axis=1) + log_density[frame]
    return _traced(before, int(score.argmax()))


def _chunk_length(n_steps: int, k: int) -> int:
    """Frames per chunk; 1 where the plain loop is quicker."""
    return math.isqrt(n_steps) if k <= _CHUNKED_STATES and n_steps >= 16 else 1


def _path_products(log_transition: Floats, log_density: Floats) -> Floats:
    """(n_chunks, k, k): the best score from each state before a chunk to each state at its end.

    `log_density` is (n_chunks, length, k). Chunks lie on the last axis in the loop, where numpy runs along them.
    """
    densities_last = np.ascontiguousarray(log_density.transpose(1, 2, 0))  # (length, k, n_chunks)
    best = log_transition[:, :, None] + densities_last[0]  # (from, to, n_chunks)
    for density in densities_last[1:]:
        best = (best[:, :, None, :] + log_transition[None, :, :, None]).max(axis=1) + density
    return np.ascontiguousarray(best.transpose(2, 0, 1))


def _traced(before: NDArray[np.uint8], last: int) -> NDArray[np.uint8]:
    """The path that ends in `last`, where `before[t, i]` is the state at t - 1 of the best path to i at t."""
    n_frames, k = before.shape
    flat, path, state = before.tobytes(), bytearray(n_frames), last
    for frame in range(n_frames - 1, 0, -1):
        path[frame] = state
        state = flat[frame * k + state]
    path[0] = state
    return np.frombuffer(path, dtype=np.uint8)
