"""Time-MAE written plainly: a convolution over patches, heads one by one, losses and momentum by the definition.

The published formulation for the weights and the random draws of ours, which must be drawn in the same order: hidden
patches, dropout of the encoder, Gumbel noise, dropout of the momentum encoder, dropout of the regressor.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from rondo.paper.time_mae import dropout_factors

Weights = Mapping[str, Tensor]

# ---------------------------------------------------------------- something to compare on


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=generator(seed))


def loud(net: nn.Module, seed: int = 9) -> None:
    """Gains and norms away from where they start, so that every part is heard."""
    source = generator(seed)
    with torch.no_grad():
        for name, weight in net.named_parameters():
            if "gain" in name or "norm" in name:
                weight.copy_(0.5 + torch.rand(weight.shape, generator=source))


# ---------------------------------------------------------------- by loops


def attention_by_loops(weights: Weights, name: str, x: Tensor, memory: Tensor, factors: Tensor | None) -> Tensor:
    """One window: x (n, dim) takes from memory (m, dim); factors (4, n, m) of the attention weights."""
    query = _linear(weights, f"{name}.query", x)
    key, value = (_linear(weights, f"{name}.{part}", memory) for part in ("key", "value"))
    width = x.shape[1] // 4
    rows = []
    for i in range(len(x)):
        row = []
        for head in range(4):
            dims = range(head * width, (head + 1) * width)
            scores = [sum(query[i, d] * key[j, d] for d in dims) / math.sqrt(width) for j in range(len(memory))]
            exps = [math.exp(score) for score in scores]
            shares = [e / math.fsum(exps) for e in exps]
            if factors is not None:
                shares = [share * float(factors[head, i, j]) for j, share in enumerate(shares)]
            row += [sum(share * value[j, d] for j, share in enumerate(shares)) for d in dims]
        rows.append(torch.stack([torch.as_tensor(v) for v in row]))
    return _linear(weights, f"{name}.output", torch.stack(rows))


def layer_norm_by_loops(weights: Weights, name: str, x: Tensor) -> Tensor:
    rows = []
    for row in x:
        mean = sum(row) / len(row)
        variance = sum((v - mean) ** 2 for v in row) / len(row)
        rows.append((row - mean) / math.sqrt(float(variance) + 1e-5))
    return torch.stack(rows) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def block_by_loops(weights: Weights, name: str, x: Tensor, memory: Tensor) -> Tensor:
    """One window through one block, nothing dropped."""
    mixed = attention_by_loops(weights, f"{name}.attention", x, memory, None)
    x = layer_norm_by_loops(weights, f"{name}.attention_norm", x + weights[f"{name}.attention_gain"] * mixed)
    wide = _linear(weights, f"{name}.widen", x)
    active = wide * 0.5 * (1 + torch.erf(wide / math.sqrt(2)))
    inner = _linear(weights, f"{name}.narrow", active)
    return layer_norm_by_loops(weights, f"{name}.perceptron_norm", x + weights[f"{name}.perceptron_gain"] * inner)


def squared_error_by_loops(predicted: Sequence[float], targets: Sequence[float]) -> float:
    return math.fsum((p - t) ** 2 for p, t in zip(predicted, targets, strict=True)) / len(targets)


def smoothed_cross_entropy_by_loops(
    logits: Sequence[Sequence[float]], codewords: Sequence[int], smoothing: float
) -> float:
    """Mean of −Σ_v q_v log p_v, where q is smoothing / V everywhere and 1 − smoothing more at the codeword."""
    losses = []
    for row, codeword in zip(logits, codewords, strict=True):
        normaliser = math.log(math.fsum(math.exp(v) for v in row))
        for v, logit in enumerate(row):
            wanted = smoothing / len(row) + (1 - smoothing if v == codeword else 0)
            losses.append(wanted * (normaliser - logit))
    return math.fsum(losses) / len(codewords)


def patches_by_loops(window: Sequence[Sequence[float]], patch_frames: int) -> list[list[float]]:
    patches = []
    for first in range(0, len(window), patch_frames):
        patch: list[float] = []
        for frame in range(first, first + patch_frames):
            patch += window[frame] if frame < len(window) else [0.0] * len(window[0])
        patches.append(patch)
    return patches


def channel_statistics(windows: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation over all windows and frames of (n_windows, length, n_channels)."""
    rows = windows.reshape(-1, windows.shape[2]).astype(np.float64)
    spread = rows.std(axis=0)
    return rows.mean(axis=0), np.where(np.ptp(rows, axis=0) > 0, spread, 1.0)


# ---------------------------------------------------------------- training


def tokens_of(weights: Weights, windows: Tensor, patch_frames: int) -> Tensor:
    """Patch embeddings (n_windows, n_patches, dim) of windows (n_windows, length, n_channels), without positions."""
    n_channels = windows.shape[2]
    padded = functional.pad(windows, (0, 0, 0, -windows.shape[1] % patch_frames))
    kernel = weights["embedding.weight"].unflatten(1, (patch_frames, n_channels)).transpose(1, 2)  # torch's order
    embedded = functional.conv1d(padded.transpose(1, 2), kernel, weights["embedding.bias"], stride=patch_frames)
    return embedded.transpose(1, 2)


def through_blocks(
    weights: Weights, x: Tensor, memory: Tensor | None, dropout: float, noise: torch.Generator | None
) -> Tensor:
    """Blocks named `blocks.<i>` on x (n_windows, n, dim), heads one by one."""
    n_layers = sum(name.endswith("attention_gain") for name in weights)
    for i in range(n_layers):
        name, source = f"blocks.{i}", x if memory is None else memory
        query = _linear(weights, f"{name}.attention.query", x)
        key, value = (_linear(weights, f"{name}.attention.{part}", source) for part in ("key", "value"))
        width = x.shape[2] // 4
        shape = (x.shape[0], 4, x.shape[1], source.shape[1])
        factors = dropout_factors(shape, dropout, noise) if noise and dropout else torch.ones(shape)
        mixed = []
        for head in range(4):
            part = slice(head * width, (head + 1) * width)
            scores = query[..., part] @ key[..., part].transpose(1, 2) / math.sqrt(width)
            mixed.append((scores.softmax(dim=-1) * factors[:, head]) @ value[..., part])
        taken = weights[f"{name}.attention_gain"] * _linear(weights, f"{name}.attention.output", torch.cat(mixed, -1))
        x = _layer_norm(weights, f"{name}.attention_norm", x + _dropped(taken, dropout, noise))
        inner = _linear(weights, f"{name}.narrow", functional.gelu(_linear(weights, f"{name}.widen", x)))
        inner = weights[f"{name}.perceptron_gain"] * inner
        x = _layer_norm(weights, f"{name}.perceptron_norm", x + _dropped(inner, 1 - (1 - dropout) ** 2, noise))
    return x


def losses(
    net: Weights, momentum: Weights, pretext: Weights, windows: Tensor, patch_frames: int, dropout: float,
    noise: torch.Generator,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Representation and codeword loss; every window gets queries of its own, every patch an embedding."""
    embedded = tokens_of(net, windows, patch_frames)
    n_windows, n_patches, dim = embedded.shape
    order = torch.randperm(n_patches, generator=noise)
    hidden, visible = order[: math.floor(0.6 * n_patches)], order[math.floor(0.6 * n_patches) :]
    x = embedded + net["position"]
    seen = through_blocks(net, x[:, visible], None, dropout, noise)
    logits = _linear(pretext, "tokenizer", embedded[:, hidden])
    gumbel = -torch.log(-torch.log(torch.rand(logits.shape, generator=noise)))
    codewords = (logits + gumbel).softmax(dim=-1).argmax(dim=-1)
    targets = through_blocks(momentum, x[:, hidden], None, dropout, noise).detach()
    queries = pretext["mask_token"].repeat(n_windows, len(hidden), 1) + net["position"][hidden]
    predicted = through_blocks(pretext, queries, seen, 0.1, noise)
    log_shares = _linear(pretext, "tokenizer", predicted).log_softmax(dim=-1).reshape(-1, 192)
    of_codeword = log_shares[torch.arange(len(log_shares)), codewords.flatten()]
    codeword = -(0.8 * of_codeword + 0.2 * log_shares.mean(dim=1)).mean()
    return ((predicted - targets) ** 2).sum() / (n_windows * len(hidden) * dim), codeword


def train(
    net: Weights, pretext: Weights, windows: Tensor, steps: Iterable[Tensor], patch_frames: int, dropout: float,
    learning_rate: float, noise: torch.Generator,
) -> tuple[dict[str, Tensor], list[tuple[float, float, float]]]:  # fmt: skip
    """The encoder's weights after all steps, and the losses; the given weights stay as they are."""
    net, pretext = ({k: v.detach().clone().requires_grad_() for k, v in w.items()} for w in (net, pretext))
    slow = {name: weight.detach().clone() for name, weight in net.items() if name.startswith("blocks")}
    optimiser = torch.optim.AdamW([*net.values(), *pretext.values()], lr=learning_rate, weight_decay=0.01)
    log = []
    for i, batch in enumerate(steps):
        representation, codeword = losses(net, slow, pretext, windows[batch], patch_frames, dropout, noise)
        total = 5 * representation + 1 * codeword
        optimiser.zero_grad()
        total.backward()
        optimiser.step()
        for name, weight in slow.items():
            slow[name] = net[name].detach().clone() if i == 0 else 0.99 * weight + 0.01 * net[name].detach()
        log.append((representation.item(), codeword.item(), total.item()))
    return {name: weight.detach() for name, weight in net.items()}, log


def representations(weights: Weights, windows: Tensor, patch_frames: int) -> Tensor:
    x = tokens_of(weights, windows, patch_frames) + weights["position"]
    encoded = through_blocks(weights, x, None, 0.0, None)
    return encoded.sum(dim=1) / x.shape[1]


def _linear(weights: Weights, name: str, x: Tensor) -> Tensor:
    return x @ weights[f"{name}.weight"].t() + weights[f"{name}.bias"]


def _layer_norm(weights: Weights, name: str, x: Tensor) -> Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    scaled = centred / (centred.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _dropped(x: Tensor, share: float, noise: torch.Generator | None) -> Tensor:
    return x * dropout_factors(x.shape, share, noise) if noise is not None and share else x
