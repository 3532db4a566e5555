"""Slow, obvious twins of MotifFormer: subsequences, network and losses by the definition, in loops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tests.naive_align import covariance, gelu

Floats = NDArray[np.float64]


def subsequences(
    codes: Sequence[int], spans: Sequence[tuple[int, int]], length: int
) -> tuple[list[int], list[tuple[int, ...]], list[int]]:
    """Starts, distinct sequences in order of first appearance, and which of them stands at each start."""
    starts, items, item_of = [], [], []
    for first, stop in spans:
        for start in range(first, stop):
            if start + length <= stop:
                item = tuple(codes[start : start + length])
                if item not in items:
                    items.append(item)
                starts.append(start)
                item_of.append(items.index(item))
    return starts, items, item_of


# ---------------------------------------------------------------- the network


def outputs(
    codes: Sequence[int], masked: Sequence[int], dropped: Sequence[int], weights: Mapping[str, Floats], heads: int
) -> dict[int, Floats]:
    """Output of every token that is not dropped, by position; [CLS] is 0. Dropped tokens are really not there."""
    length = len(codes)
    tokens = {0: weights["cls"][0] + weights["length"][length]}
    for i, code in enumerate(codes):
        unit = linear(weights, "project", weights["centroids"][code]) if i not in masked else weights["mask"][0]
        if i not in dropped:
            tokens[i + 1] = unit + weights["position"][i] + weights["length"][length]
    n_layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    for number in range(n_layers):
        tokens = {p: layer(tokens, p, weights, f"layers.{number}", heads) for p in tokens}
    return tokens


def layer(tokens: dict[int, Floats], own: int, weights: Mapping[str, Floats], name: str, heads: int) -> Floats:
    query = np.split(linear(weights, f"{name}.query", tokens[own]), heads)
    keys = {p: np.split(linear(weights, f"{name}.key", x), heads) for p, x in tokens.items()}
    values = {p: np.split(linear(weights, f"{name}.value", x), heads) for p, x in tokens.items()}
    seen = []
    for head in range(heads):
        fit = {p: math.exp(float(query[head] @ keys[p][head]) / math.sqrt(query[head].size)) for p in tokens}
        seen.append(sum(fit[p] * values[p][head] for p in tokens) / math.fsum(fit.values()))
    x = norm(weights, f"{name}.norm_seen", tokens[own] + linear(weights, f"{name}.seen", np.concatenate(seen)))
    wide = np.array([gelu(v) for v in linear(weights, f"{name}.widen", x)])
    return norm(weights, f"{name}.norm_out", x + linear(weights, f"{name}.narrow", wide))


def linear(weights: Mapping[str, Floats], name: str, x: Floats) -> Floats:
    return np.asarray(weights[f"{name}.weight"] @ x + weights[f"{name}.bias"])


def norm(weights: Mapping[str, Floats], name: str, x: Floats) -> Floats:
    return np.asarray((x - x.mean()) / math.sqrt(x.var() + 1e-5) * weights[f"{name}.weight"] + weights[f"{name}.bias"])


# ---------------------------------------------------------------- losses: what counts twice is there twice


def reconstruction_loss(restored: Floats, centroids: Floats) -> float:
    errors = [float(np.mean((x - c) ** 2)) for x, c in zip(restored, centroids, strict=True)]
    return math.fsum(errors) / len(errors) if errors else 0.0


def contrast(first: Floats, second: Floats, kinds: Sequence[int], temperature: float) -> float:
    def cosine(a: Floats, b: Floats) -> float:
        return float(a @ b) / (math.hypot(*a) * math.hypot(*b))

    losses = []
    for anchors, others in ((first, second), (second, first)):
        for i, anchor in enumerate(anchors):
            own = math.exp(cosine(anchor, others[i]) / temperature)
            apart = [k for k in range(len(others)) if kinds[k] != kinds[i]]
            rest = math.fsum(math.exp(cosine(anchor, others[k]) / temperature) for k in apart)
            losses.append(-math.log(own / (own + rest)))
    return math.fsum(losses) / len(losses)


def pseudo_label_loss(logits: Floats, labels: Sequence[int]) -> float:
    losses = [
        -math.log(math.exp(row[label]) / math.fsum(map(math.exp, row)))
        for row, label in zip(logits, labels, strict=True)
        if label >= 0
    ]
    return math.fsum(losses) / len(losses) if losses else 0.0


def variance_hinge(h: Floats) -> float:
    lacks = [max(0.0, 1 - math.sqrt(covariance(column, column) + 1e-4)) for column in h.T]
    return math.fsum(lacks) / len(lacks)


def repeated(counts: Sequence[int], first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Row i of both, counts[i] times."""
    return np.repeat(first, counts, axis=0), np.repeat(second, counts, axis=0)
