"""The losses of MotifFormer, of a batch of B distinct items that each count as w_i candidates.

Pure functions. A weight is a repetition: a loss is that of the batch with item i repeated w_i times. Each is finite,
with a finite gradient, for any batch, and 0 where it has nothing to say: no token masked, nothing to contrast with, no
confident label.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - what torch itself calls it


def reconstruction_loss(restored: torch.Tensor, centroids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """How far restored tokens (M, n_dims) are from the centroids that were masked; weights (M,) are their items'.

    L_rec = sum_m w_m ||x'_m - c_m||^2 / n_dims / sum_m w_m
    """
    return _weighted_mean((restored - centroids).square().mean(1), weights)


def contrast(
    first: torch.Tensor, second: torch.Tensor, kinds: torch.Tensor, weights: torch.Tensor, temperature: float
) -> torch.Tensor:
    """Each descriptor in `first` (B, D) should be nearer to its partner in `second` than to those of other kinds.

        l_i(a, b) = log(1 + sum_{k: kind_k != kind_i} w_k exp((cos(a_i, b_k) - cos(a_i, b_i)) / tau))
        L = sum_i w_i (l_i(first, second) + l_i(second, first)) / 2 / sum_i w_i

    InfoNCE both ways. L_view has two views of each item, and the item as kind. L_cross has the descriptors of two
    lengths at one start, and as kind (B,) the item at the shorter one: what begins alike is not pushed apart.
    """
    cosines = F.normalize(first, dim=1) @ F.normalize(second, dim=1).T / temperature  # (B, B)
    alike = kinds[:, None] == kinds[None, :]
    both_ways = [_surprise(logits, alike, weights) for logits in (cosines, cosines.T)]
    return _weighted_mean((both_ways[0] + both_ways[1]) / 2, weights)


def pseudo_label_loss(logits: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of logits (B, K) to pseudo-labels (B,); items without one, labelled negative, are left out.

    L_pseudo = sum_{i: y_i >= 0} -w_i log softmax(logits_i)_{y_i} / sum_{i: y_i >= 0} w_i
    """
    known = labels >= 0
    return _weighted_mean(F.cross_entropy(logits[known], labels[known], reduction="none"), weights[known])


def _surprise(logits: torch.Tensor, alike: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """-log of the share of the diagonal among itself and the others that are not alike, (B,)."""
    own = logits.diagonal()[:, None]
    # The least number, not -inf: a row with nothing to differ from has a gradient of 0, not of 0/0.
    others = (logits + weights.log()).masked_fill(alike, torch.finfo(logits.dtype).min)
    return torch.cat([own, others], dim=1).logsumexp(1) - own[:, 0]


def _weighted_mean(losses: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    total = weights.sum()
    return losses @ weights / torch.where(total > 0, total, 1.0)
