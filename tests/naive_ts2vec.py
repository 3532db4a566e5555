"""TS2Vec written plainly: full dilated convolutions, similarities without their diagonal, loops where they explain.

The published formulation (github.com/zhihanyue/ts2vec) with batch-major tensors (n_windows, n_frames, n_dims), for the
weights and the random draws of ours: value and gradient must agree, step by step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from rondo.paper.ts2vec import CroppedView, TrainingStep

# ---------------------------------------------------------------- losses


def contrast_by_loops(groups: Sequence[Sequence[Sequence[float]]]) -> float:
    """Mean over all vectors of −log softmax(similarity to the partner among all others)."""
    losses = []
    for group in groups:
        n_members = len(group)
        for i, vector in enumerate(group):
            similar = [math.fsum(a * b for a, b in zip(vector, other, strict=True)) for other in group]
            others = math.fsum(math.exp(similar[j]) for j in range(n_members) if j != i)
            losses.append(math.log(others) - similar[(i + n_members // 2) % n_members])
    return math.fsum(losses) / len(losses)


def instance_contrast(one: Tensor, other: Tensor) -> Tensor:
    if one.shape[0] == 1:
        return one.new_tensor(0.0)
    return _cross_entropy(torch.cat([one, other], dim=0).transpose(0, 1))


def temporal_contrast(one: Tensor, other: Tensor) -> Tensor:
    if one.shape[1] == 1:
        return one.new_tensor(0.0)
    return _cross_entropy(torch.cat([one, other], dim=1))


def _cross_entropy(z: Tensor) -> Tensor:
    similarity = torch.matmul(z, z.transpose(1, 2))
    logits = torch.tril(similarity, diagonal=-1)[:, :, :-1]  # the diagonal drops out: row i loses its entry i
    logits += torch.triu(similarity, diagonal=1)[:, :, 1:]
    losses = -functional.log_softmax(logits, dim=-1)
    m = z.shape[1] // 2
    i = torch.arange(m, device=z.device)
    return (losses[:, i, m + i - 1].mean() + losses[:, m + i, i].mean()) / 2


def hierarchical_contrast(one: Tensor, other: Tensor) -> Tensor:
    loss, n_scales = one.new_tensor(0.0), 0
    while one.shape[1] > 1:
        loss = loss + 0.5 * instance_contrast(one, other) + 0.5 * temporal_contrast(one, other)
        n_scales += 1
        one, other = (functional.max_pool1d(z.transpose(1, 2), 2).transpose(1, 2) for z in (one, other))
    return (loss + 0.5 * instance_contrast(one, other)) / (n_scales + 1)


# ---------------------------------------------------------------- network


def outputs(weights: Mapping[str, Tensor], x: Tensor, masked: Tensor | None = None) -> Tensor:
    """Outputs (n_windows, n_frames, output_dim) of windows (n_windows, n_frames, n_channels)."""
    z = x @ weights["entry.weight"][0] + weights["entry.bias"]
    if masked is not None:
        z = z.masked_fill(masked[:, :, None], 0.0)
    z = z.transpose(1, 2)
    depth = sum(name.endswith("first.weight") for name in weights)
    for i in range(depth):
        block = f"blocks.{i}"
        residual = _conv(weights, f"{block}.skip", z, 1) if f"{block}.skip.weight" in weights else z
        inner = _conv(weights, f"{block}.first", functional.gelu(z), 2**i)
        z = _conv(weights, f"{block}.second", functional.gelu(inner), 2**i) + residual
    return z.transpose(1, 2)


def _conv(weights: Mapping[str, Tensor], name: str, z: Tensor, dilation: int) -> Tensor:
    kernel = weights[f"{name}.weight"].permute(2, 1, 0)  # torch's own order: (n_out, n_in, n_taps)
    padding = dilation * (kernel.shape[2] // 2)
    return functional.conv1d(z, kernel, weights[f"{name}.bias"], padding=padding, dilation=dilation)


def representations(weights: Mapping[str, Tensor], x: Tensor) -> Tensor:
    return outputs(weights, x).max(dim=1).values


# ---------------------------------------------------------------- training


def loss_of_step(weights: Mapping[str, Tensor], windows: Tensor, step: TrainingStep) -> Tensor:
    """Loss of one step on windows (n_windows, n_frames, n_channels)."""
    one, other = (_kept(weights, windows, step, view) for view in step.views)
    return hierarchical_contrast(one, other)


def _kept(weights: Mapping[str, Tensor], windows: Tensor, step: TrainingStep, view: CroppedView) -> Tensor:
    n_frames = view.masked.shape[0]
    crops = []
    for window, shift in zip(step.batch.tolist(), step.shifts.tolist(), strict=True):
        start = view.start + shift
        assert 0 <= start <= start + n_frames <= windows.shape[1]
        crops.append(windows[window, start : start + n_frames])
    everything = outputs(weights, torch.stack(crops), view.masked.t())
    return everything[:, view.kept] * view.dropout.transpose(0, 1)


def train(
    weights: Mapping[str, Tensor], windows: Tensor, steps: Iterable[TrainingStep], learning_rate: float
) -> tuple[dict[str, Tensor], list[float]]:
    """Mean of the weights before and after each step, and the losses; the given weights stay as they are."""
    now = {name: weight.detach().clone().requires_grad_() for name, weight in weights.items()}
    optimiser = torch.optim.AdamW(now.values(), lr=learning_rate)
    mean = {name: weight.detach().clone() for name, weight in now.items()}
    losses = []
    for n_averaged, step in enumerate(steps, start=1):
        optimiser.zero_grad()
        loss = loss_of_step(now, windows, step)
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
        for name, weight in now.items():
            mean[name] += (weight.detach() - mean[name]) / (n_averaged + 1)
    return mean, losses
