"""Two losses that keep a space from collapsing (VICReg, Bardes et al. 2022), of a batch h of B items in D dimensions.

Each is finite, with a finite gradient, for any batch: the spread of a single item is 0.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - what torch itself calls it

_SPREAD_FLOOR = 1e-4  # inside the root, as published: the gradient of a collapsed dimension stays finite


def variance_hinge(h: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    """What the spread of each dimension of h (B, D) lacks to 1, averaged (eq. 1); a weight is a repetition.

    L_var = 1/D sum_d max(0, 1 - sqrt(Var_w(h_d) + 1e-4)),    Var_w(x) = sum_i w_i (x_i - mean_w x)^2 / (sum_i w_i - 1)
    """
    if weights is None:
        variances = _centred(h).square().sum(0) / _freedom(h)  # (D,)
    else:
        total = weights.sum()
        variances = weights @ (h - weights @ h / total).square() / (total - 1).clamp_min(1)
    return F.relu(1 - (variances + _SPREAD_FLOOR).sqrt()).mean()


def covariance_penalty(h: torch.Tensor) -> torch.Tensor:
    """How much the dimensions of h (B, D) say the same (eq. 3-4).

    L_cov = 1/D sum_{d != e} Cov(h)_de^2
    """
    centred = _centred(h)
    covariance = centred.T @ centred / _freedom(h)  # (D, D)
    return (covariance.square().sum() - covariance.diagonal().square().sum()) / h.shape[1]


def _centred(h: torch.Tensor) -> torch.Tensor:
    return h - h.mean(0)


def _freedom(h: torch.Tensor) -> int:
    return max(h.shape[0] - 1, 1)
