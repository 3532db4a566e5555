"""CompILE by the textbook: one sequence, one frame and one segment at a time, in numpy. Slow and obvious."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Mapping[str, Array]


@dataclass(frozen=True)
class NaiveSegment:
    boundary: Array  # (n_frames,)
    mean: Array
    log_variance: Array
    picture: Array
    share: Array  # (n_frames,)
    logits: Array | None


def segments(
    weights: Weights, frames: Array, n_segments: int, gumbel: Array | None = None, normal: Array | None = None
) -> list[NaiveSegment]:
    """The segments of one sequence (n_frames, n_channels); with noise as in training, without as in reading."""
    n_frames = len(frames)
    mask = np.ones(n_frames)
    found = []
    for s in range(n_segments):
        states = masked_states(weights, frames, mask)
        logits = None
        boundary = np.zeros(n_frames)
        if s == n_segments - 1:
            boundary[-1] = 1.0
        else:
            logits = np.array([-1e30] + [float(_head(weights, "boundary", h)[0]) for h in states[1:]])
            if gumbel is None:
                boundary[int(np.argmax(logits))] = 1.0
            else:
                boundary = softmax(logits + gumbel[s])
        readout = sum((boundary[t + 1] * states[t] for t in range(n_frames - 1)), np.zeros(states.shape[1]))
        mean, log_variance = np.split(_head(weights, "latent", readout), 2)
        z = mean if normal is None else mean + np.exp(log_variance / 2) * normal[s]
        passed = [sum(boundary[: t + 1]) for t in range(n_frames)]
        share = np.array([mask[t] * (1 - passed[t]) for t in range(n_frames)])
        found.append(NaiveSegment(boundary, mean, log_variance, _head(weights, "decode", z), share, logits))
        mask = np.array([mask[t] * passed[t] for t in range(n_frames)])
    return found


def loss(found: list[NaiveSegment], frames: Array, prior_rate: float) -> float:
    """The loss of one sequence."""
    n_frames = len(frames)
    error = divergence = 0.0
    for segment in found:
        for t in range(n_frames - 1):
            error += segment.share[t] * float(np.sum((frames[t] - segment.picture) ** 2))
        for mean, log_variance in zip(segment.mean, segment.log_variance, strict=True):
            divergence += 0.5 * (mean**2 + math.exp(log_variance) - 1 - log_variance)
    assert found[0].logits is not None
    chance = softmax(found[0].logits)
    weight = [prior_rate**k * math.exp(-prior_rate) / math.factorial(k) for k in range(1, 100)]
    prior = [weight[t] / sum(weight) for t in range(n_frames)]
    first = sum(chance[t] * math.log(chance[t] / prior[t]) for t in range(1, n_frames))
    return float(error + 0.1 * divergence + 0.1 * len(found) * first)


def masked_states(weights: Weights, frames: Array, mask: Array) -> Array:
    """The LSTM's states (n_frames, hidden), each multiplied by the mask, as is the cell."""
    hidden = weights["recurrent"].shape[1]
    state, cell = np.zeros(hidden), np.zeros(hidden)
    states = []
    for x, m in zip(frames, mask, strict=True):
        embedded = weights["embed.weight"] @ x + weights["embed.bias"]
        gates = weights["feed"] @ embedded + weights["recurrent"] @ state + weights["bias"].sum(axis=0)
        into, forget, out, new = np.split(gates, 4)
        cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(new)
        state = sigmoid(out) * np.tanh(cell)
        state, cell = m * state, m * cell
        states.append(state)
    return np.array(states)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max())
    return np.asarray(powers / powers.sum())


def _head(weights: Weights, name: str, x: Array) -> Array:
    inner = np.maximum(weights[f"{name}_1.weight"] @ x + weights[f"{name}_1.bias"], 0)
    return np.asarray(weights[f"{name}_2.weight"] @ inner + weights[f"{name}_2.bias"])
