"""E2USD written plainly: a transform per window, pairs by loops, one window after another.

The published formulation (github.com/AI4CTS/E2Usd) with windows (n_windows, n_channels, n_frames), for the weights and
the random draws of ours; the online mode as its paper's appendix describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional

Weights = Mapping[str, Tensor]


def compressed(windows: Tensor, n_bins: int) -> Tensor:
    """The lowest frequencies, back in time."""
    length = windows.shape[-1]
    return torch.fft.irfft(torch.fft.rfft(windows, dim=-1)[..., :n_bins], dim=-1) * n_bins / length


def decomposed(windows: Tensor) -> tuple[Tensor, Tensor]:
    """Trend (mean of five, ends repeated) and what is left."""
    padded = torch.cat([windows[..., :1].repeat(1, 1, 2), windows, windows[..., -1:].repeat(1, 1, 2)], dim=-1)
    trend = functional.avg_pool1d(padded, 5, stride=1)
    return trend, windows - trend


def embeddings(weights: Weights, windows: Tensor, n_bins: int) -> tuple[Tensor, Tensor, Tensor]:
    """Embeddings (n_windows, output_dim): joint, of the trend, of the season."""
    parts = []
    for k, (name, view) in enumerate(zip(("trend", "seasonal"), decomposed(compressed(windows, n_bins)), strict=True)):
        kernel = weights["taps"][k].permute(2, 1, 0)  # torch's own order: (n_out, n_in, n_taps)
        pooled = functional.adaptive_max_pool1d(functional.conv1d(view, kernel, weights["bias"][k]), 1).squeeze(2)
        parts.append(functional.linear(pooled, weights[f"{name}.weight"], weights[f"{name}.bias"]))
    joint = functional.linear(torch.cat(parts, dim=-1), weights["joint.weight"], weights["joint.bias"])
    return joint, parts[0], parts[1]


def fncc_loss_by_loops(joint: Tensor, trend: Tensor, seasonal: Tensor) -> Tensor:
    """Embeddings (n_groups, group_size, output_dim); half of the pairs are kept."""
    n_groups, group_size, _ = joint.shape
    near = joint.new_tensor(0.0)
    for group in joint:
        for i in range(group_size):
            for j in range(i + 1, group_size):
                near = near - functional.logsigmoid(group[i] @ group[j])
    alike, products = [], []
    for i in range(n_groups):
        for ii in range(group_size):
            for j in range(i + 1, n_groups):
                for jj in range(group_size):
                    alike.append(((trend[i, ii] @ trend[j, jj]) * (seasonal[i, ii] @ seasonal[j, jj])).item())
                    products.append(joint[i, ii] @ joint[j, jj])
    least = sorted(range(len(alike)), key=lambda k: alike[k])[: len(alike) // 2]
    far = joint.new_tensor(0.0)
    for k in least:
        far = far + products[k]
    return near / (n_groups * group_size * (group_size - 1) / 2) + far / (len(alike) / 2)


def train(
    weights: Weights,
    values: Tensor,
    draws: Sequence[Sequence[int]],
    length: int,
    group_size: int,
    rate: float,
    n_bins: int,
) -> tuple[dict[str, Tensor], list[float]]:
    """Weights after one step of Adam per list of group starts, and the loss of each step; `values` (n_frames, …)."""
    now = {name: weight.detach().clone() for name, weight in weights.items()}
    learning = [weight.requires_grad_() for name, weight in now.items() if name not in ("taps", "bias")]
    optimiser = torch.optim.Adam(learning, lr=rate)
    losses = []
    for firsts in draws:
        optimiser.zero_grad()
        groups = [
            embeddings(now, torch.stack([values[first + i : first + i + length].T for i in range(group_size)]), n_bins)
            for first in firsts
        ]
        loss = fncc_loss_by_loops(*(torch.stack(kind) for kind in zip(*groups, strict=True)))
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return {name: weight.detach() for name, weight in now.items()}, losses


def online(
    stream: Sequence[Sequence[float]], ask: Callable[[Sequence[float]], int], rise: float, fall: float
) -> tuple[list[int], int]:
    """States of the windows of a stream, and how often the clustering was asked; the threshold starts at 1."""
    states: list[int] = []
    n_asked, threshold = 0, 1.0
    for window in stream:
        if not states:
            kept, state = window, ask(window)
            n_asked += 1
        elif sum(a * b for a, b in zip(kept, window, strict=True)) >= threshold:
            threshold *= 1 + rise
        else:
            n_asked += 1
            found = ask(window)
            if found == state:
                threshold *= 1 - fall
            else:
                kept, state = window, found
                threshold *= 1 + rise
        states.append(state)
    return states, n_asked
