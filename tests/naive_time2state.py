"""Time2State written plainly: padded convolutions that are cut to size, pairs by loops, a matrix of votes.

The published formulation (github.com/Lab-ANT/Time2State) with windows (n_windows, n_channels, n_frames), for the
weights and the random draws of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

Weights = Mapping[str, Tensor]


def embeddings(weights: Weights, windows: Tensor) -> Tensor:
    """Embeddings (n_windows, output_dim) of windows (n_windows, n_channels, n_frames)."""
    z = windows
    for j in range(sum(name.endswith("first.bias") for name in weights)):
        name = f"blocks.{j}"
        inner = _causal(weights, f"{name}.first", z, 2**j)
        outer = _causal(weights, f"{name}.second", inner, 2**j)
        if f"{name}.skip.weight" in weights:
            z = functional.conv1d(z, weights[f"{name}.skip.weight"][:, :, None], weights[f"{name}.skip.bias"])
        z = outer + z
    pooled = functional.adaptive_max_pool1d(z, 1).squeeze(2)
    return functional.linear(pooled, weights["readout.weight"], weights["readout.bias"])


def _causal(weights: Weights, name: str, z: Tensor, dilation: int) -> Tensor:
    direction = weights[f"{name}.direction"].permute(2, 1, 0)  # torch's own order: (n_out, n_in, n_taps)
    lengths = direction.square().sum(dim=(1, 2), keepdim=True).sqrt()
    kernel = weights[f"{name}.gain"][:, None, None] * direction / lengths
    padding = 2 * dilation
    padded = functional.conv1d(z, kernel, weights[f"{name}.bias"], padding=padding, dilation=dilation)
    return functional.leaky_relu(padded[:, :, :-padding])


def train(
    weights: Weights, values: Tensor, draws: Sequence[Sequence[int]], length: int, group_size: int, rate: float
) -> tuple[dict[str, Tensor], list[float]]:
    """Weights after one step of Adam per list of group starts, and the loss of each step; `values` (n_frames, …)."""
    now = {name: weight.detach().clone().requires_grad_() for name, weight in weights.items()}
    optimiser = torch.optim.Adam(now.values(), lr=rate)
    losses = []
    for firsts in draws:
        optimiser.zero_grad()
        near, centres = values.new_tensor(0.0), []
        for first in firsts:
            group = embeddings(now, torch.stack([values[first + i : first + i + length].T for i in range(group_size)]))
            pairs = [(i, j) for i in range(group_size) for j in range(i)]
            near = near - sum(functional.logsigmoid(group[i] @ group[j]) for i, j in pairs) / len(pairs) / len(firsts)
            centres.append(group.mean(dim=0))
        pairs = [(i, j) for i in range(len(centres)) for j in range(i)]
        loss = near - sum(functional.logsigmoid(-centres[i] @ centres[j]) for i, j in pairs) / len(pairs)
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return {name: weight.detach() for name, weight in now.items()}, losses


def votes(states: Sequence[int], starts: Sequence[int], length: int, n_frames: int) -> NDArray[np.int64]:
    """How many windows of each state cover each frame, (n_frames, n_states)."""
    counted = np.zeros((n_frames, max(states) + 1), dtype=np.int64)
    for state, start in zip(states, starts, strict=True):
        for frame in range(start, start + length):
            counted[frame, state] += 1
    return counted
