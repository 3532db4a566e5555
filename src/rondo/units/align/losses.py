"""The losses of UnitAlign: keep the encoder's geometry, pull windows of one component together.

Pure functions of one batch of B windows. Each is finite, with a finite gradient, for any batch: one without two windows
of one component has nothing to contrast. Those that keep from collapsing stand in `rondo.training.vicreg`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - what torch itself calls it


def geometry_loss(y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """How far the cosine similarities of embeddings z (B, E) are from those of representations y (B, D).

        L_geom = 1/B^2 ||S(Y) - S(Z)||_F^2,    S(X)_ij = cos(x_i, x_j)

    >>> y = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> float(geometry_loss(y, 3 * y)), float(geometry_loss(y, torch.ones(2, 2)).round(decimals=4))
    (0.0, 0.5)
    """
    return (_cosines(y) - _cosines(z)).square().mean()


def supervised_contrast(z: torch.Tensor, labels: torch.Tensor, temperature: float) -> torch.Tensor:
    """Supervised contrastive loss of unit embeddings z (B, E) with labels (B,) (Khosla et al. 2020, L_out).

        L_sup = mean_i  -1/|P(i)| sum_{p in P(i)} log( exp(z_i z_p / tau) / sum_{a != i} exp(z_i z_a / tau) )

    P(i) are the other windows with the label of i. Noise, any negative label, is neither i, p nor a; a window that is
    alone with its label is no i, but still something that others differ from.
    """
    itself = torch.eye(z.shape[0], dtype=torch.bool, device=z.device)
    known = labels >= 0
    compared = known[:, None] & known[None, :] & ~itself  # (B, B)
    alike = compared & (labels[:, None] == labels[None, :])
    # The least number, not -inf: a row that compares with nothing has a gradient of 0, not of 0/0.
    logits = (z @ z.T / temperature).masked_fill(~compared, torch.finfo(z.dtype).min)
    log_share = logits - logits.logsumexp(dim=1, keepdim=True)
    n_alike = alike.sum(1)
    of_each = -log_share.masked_fill(~alike, 0.0).sum(1) / n_alike.clamp_min(1)  # (B,)
    return of_each.sum() / (n_alike > 0).sum().clamp_min(1)


def _cosines(x: torch.Tensor) -> torch.Tensor:
    units = F.normalize(x, dim=1)
    return units @ units.T
