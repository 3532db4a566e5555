"""MantisV2 as its description reads: one series, one token, one head, one scale at a time, in double precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Mapping[str, Array]


def spelled_out(state: Mapping[str, Any]) -> dict[str, Array]:
    """Weights of a torch network in double precision."""
    return {name: np.asarray(weight, dtype=np.float64) for name, weight in state.items()}


def planted(name: str, shape: Sequence[int], index: int) -> Array:
    """Weights by a formula, so that other implementations can be given the same: waves of a falling period."""
    j = np.arange(np.prod(shape))
    wave = np.sin(1.7 * j + 1e-3 * j**2 + index).reshape(shape)
    if name.endswith("scales"):
        return 10.0 ** np.arange(-4, 5)
    if name.endswith(("norm.weight", "norm1.scale", "norm2.scale")) or ".layer_norms." in name:
        return 1 + 0.3 * wave
    return wave * (1.5 / np.sqrt(shape[-1]) if len(shape) > 1 and shape[0] > 1 else 0.5)


def resized(series: Sequence[float], n_frames: int) -> list[float]:
    """Linear interpolation between the middles of frames, level beyond the first and the last."""
    length = len(series)
    out = []
    for i in range(n_frames):
        place = min(max((i + 0.5) * length / n_frames - 0.5, 0.0), length - 1.0)
        before = int(place)
        after = min(before + 1, length - 1)
        share = place - before
        out.append((1 - share) * series[before] + share * series[after])
    return out


def layer_norm(x: Array, scale: Array, shift: Array, eps: float) -> Array:
    return (x - x.mean()) / np.sqrt(x.var() + eps) * scale + shift


def standardised(series: Array) -> Array:
    return (series - series.mean()) / (series.std(ddof=1) + 1e-5)


def shapes(weights: Weights, branch: int, series: Array, n_patches: int) -> list[Array]:
    """Convolution, LayerNorm over its outputs at each frame, mean over each patch."""
    at = "tokgen_unit."
    kernel, bias = weights[f"{at}convs.{branch}.conv.weight"][:, 0], weights[f"{at}convs.{branch}.conv.bias"]
    scale, shift = (weights[f"{at}layer_norms.{branch}.{part}"] for part in ("weight", "bias"))
    reach = kernel.shape[1] // 2
    padded = np.concatenate([np.zeros(reach), series, np.zeros(reach)])
    frames = []
    for t in range(len(series)):
        outputs = kernel @ padded[t : t + kernel.shape[1]] + bias
        frames.append(layer_norm(outputs, scale, shift, 1e-5))
    per_patch = len(series) // n_patches
    return [np.mean(frames[p * per_patch : (p + 1) * per_patch], axis=0) for p in range(n_patches)]


def scalar(weights: Weights, which: int, x: float, offset: float) -> Array:
    """One number as a vector: an embedding per scale, mixed by closeness to that scale."""
    at = f"tokgen_unit.scalar_encoders.{which}."
    scales = weights[f"{at}scales"]
    closeness = [abs(1 / np.log(abs(x) / k + offset)) for k in scales]
    mixed = np.zeros_like(weights[f"{at}encoders.0.w"][0])
    for i, k in enumerate(scales):
        one = f"{at}encoders.{i}."
        z = x * weights[f"{one}w"][0] + k * weights[f"{one}b"][0]
        norm = layer_norm(z, weights[f"{one}layer_norm.weight"], weights[f"{one}layer_norm.bias"], 1e-15)
        mixed += closeness[i] / sum(closeness) * norm
    return mixed


def tokens(weights: Weights, series: Array, n_patches: int, offset: float) -> list[Array]:
    """One token per patch."""
    steps = np.append(np.diff(series), 0.0)
    of_steps = shapes(weights, 0, standardised(steps), n_patches)
    of_series = shapes(weights, 1, standardised(series), n_patches)
    out = []
    for p, patch in enumerate(np.split(series, n_patches)):
        level, spread = scalar(weights, 0, patch.mean(), offset), scalar(weights, 1, patch.std(ddof=1), offset)
        joined = np.concatenate([of_steps[p], of_series[p], level, spread])
        at = "tokgen_unit.linear_encoder."
        token = weights[f"{at}linear.weight"] @ joined + weights[f"{at}linear.bias"]
        out.append(layer_norm(token, weights[f"{at}layer_norm.weight"], weights[f"{at}layer_norm.bias"], 1e-15))
    return out


def turned(x: Array, t: int, n_tokens: int, sign: int) -> Array:
    """One query (sign = 1) or key (−1) at position t: pairs turned, then every entry scaled."""
    dim = len(x)
    out = np.empty(dim)
    for i in range(dim // 2):
        angle = t / 10_000 ** (2 * i / dim)
        out[2 * i] = x[2 * i] * np.cos(angle) - x[2 * i + 1] * np.sin(angle)
        out[2 * i + 1] = x[2 * i + 1] * np.cos(angle) + x[2 * i] * np.sin(angle)
    for j in range(dim):
        base = (2 * (j % (dim // 2)) + 0.4 * dim) / (1.4 * dim)
        out[j] *= base ** (sign * (t - (n_tokens - 1) // 2) / 512)
    return out


def attention(weights: Weights, at: str, x: Sequence[Array], n_heads: int) -> list[Array]:
    """Softmax attention, a head at a time; row (part · head_dim + d) · n_heads + h of the packed weights is head h."""
    packed = [weights[f"{at}wQKV.weight"] @ token + weights[f"{at}wQKV.bias"] for token in x]
    n_tokens, head_dim = len(x), len(packed[0]) // 3 // n_heads
    heads: list[list[Array]] = [[] for _ in x]
    for h in range(n_heads):
        q, k, v = (
            [np.array([token[(part * head_dim + d) * n_heads + h] for d in range(head_dim)]) for token in packed]
            for part in range(3)
        )
        q = [turned(query, t, n_tokens, 1) for t, query in enumerate(q)]
        k = [turned(key, t, n_tokens, -1) for t, key in enumerate(k)]
        for t in range(n_tokens):
            shares = np.exp([q[t] @ k[u] / np.sqrt(head_dim) for u in range(n_tokens)])
            heads[t].append(
                sum((share * value for share, value in zip(shares / shares.sum(), v, strict=True)), 0 * v[0])
            )
    return [weights[f"{at}wO.weight"] @ np.concatenate(parts) + weights[f"{at}wO.bias"] for parts in heads]


def gated(weights: Weights, at: str, x: Array) -> Array:
    gate, value = np.split(weights[f"{at}0.weight"] @ x + weights[f"{at}0.bias"], 2)
    return weights[f"{at}2.weight"] @ (gate / (1 + np.exp(-gate)) * value) + weights[f"{at}2.bias"]


def outputs(weights: Weights, series: Array, n_patches: int, n_heads: int, n_layers: int, offset: float = 1.1) -> Array:
    """[class token, mean of the patch tokens] of one series after `n_layers` layers."""
    stream = [*tokens(weights, series, n_patches, offset), weights["transf_unit.cls_token"]]
    for i in range(n_layers):
        at = f"transf_unit.transformer.layers.{i}."

        def normed(which: str, at: str = at, stream: list[Array] = stream) -> list[Array]:
            return [x / np.sqrt(np.mean(x * x) + 1e-8) * weights[f"{at}{which}.scale"] for x in stream]

        mixed = attention(weights, f"{at}attention.", normed("norm1"), n_heads)
        stream[:] = [x + m for x, m in zip(stream, mixed, strict=True)]
        stream[:] = [x + gated(weights, f"{at}mlp.", n) for x, n in zip(stream, normed("norm2"), strict=True)]
    return np.concatenate([stream[-1], np.mean(stream[:-1], axis=0)])
