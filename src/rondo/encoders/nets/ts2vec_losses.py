"""The hierarchical contrast of TS2Vec: instance and temporal contrast at every time scale.

Both are one and the same: 2m vectors in a group, m from each view, and each must be told from the other 2m − 1 as
the partner of its own in the other view. Instance contrast groups by frame, temporal contrast by window.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# Similarities held at once: what fits a core's cache on a CPU; few launches on a GPU.
_CELLS_AT_ONCE = {"cpu": 1 << 18, "cuda": 1 << 26}


def hierarchical_contrast(one: Tensor, other: Tensor) -> Tensor:
    """Mean over time scales of ½ instance + ½ temporal contrast (TS2Vec, equations 1 to 3 and algorithm 1).

    `one` and `other` are the outputs of two views for the same frames, (n_frames, n_windows, n_dims). Each next scale
    takes the maximum of two neighbouring frames; at one frame only instance contrast is left.
    """
    both = torch.stack([one, other], dim=1)  # (n_frames, 2, n_windows, n_dims)
    total, n_scales = both[:0].sum(), 0  # a zero with a gradient: one frame of one window has nothing to contrast
    while True:
        n_frames, _, n_windows, _ = both.shape
        n_scales += 1
        if n_windows > 1:
            total = total + 0.5 * contrast(both.flatten(1, 2))  # groups (n_frames, 2 n_windows, n_dims)
        if n_frames == 1:
            return total / n_scales
        total = total + 0.5 * contrast(both.permute(2, 1, 0, 3).flatten(1, 2))  # groups (n_windows, 2 n_frames, n_dims)
        both = cast(Tensor, _Halved.apply(both))


def contrast(groups: Tensor) -> Tensor:
    """Mean cross-entropy of finding one's partner among all others of a group by the dot product.

    `groups` is (n_groups, 2m, n_dims); the partner of vector i is i + m modulo 2m. With P the softmax of the
    similarities z zᵀ without the diagonal, and E the partners, the gradient is (P − E + (P − E)ᵀ) z: it is worked out
    together with the value, while the similarities are at hand, and they are not kept.
    """
    return cast(Tensor, _Contrast.apply(groups))


class _Contrast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, groups: Tensor) -> Tensor:
        n_groups, n_members, _ = groups.shape
        m, n_terms = n_members // 2, n_groups * n_members
        grad = torch.empty(groups.shape, dtype=groups.dtype, device=groups.device)
        total = groups.new_zeros(())
        step = max(1, _CELLS_AT_ONCE[groups.device.type] // n_members**2)
        for first in range(0, n_groups, step):
            z = groups[first : first + step]
            similarity = torch.bmm(z, z.mT)
            similarity.diagonal(dim1=1, dim2=2).fill_(-torch.inf)
            log_p = torch.log_softmax(similarity, dim=2)
            total -= sum(log_p.diagonal(offset, dim1=1, dim2=2).sum() for offset in (m, -m))
            p_minus_e = log_p.exp_()
            for offset in (m, -m):
                p_minus_e.diagonal(offset, dim1=1, dim2=2).sub_(1.0)
            torch.bmm(p_minus_e + p_minus_e.mT, z, out=grad[first : first + step])
        ctx.save_for_backward(grad.div_(n_terms))
        return total / n_terms

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        (grad,) = ctx.saved_tensors
        return cast(Tensor, grad * upstream[0])


class _Halved(torch.autograd.Function):
    """Maximum of each two neighbouring frames, an odd last one left out; of equals the first takes the gradient."""

    @staticmethod
    def forward(ctx: Any, z: Tensor) -> Tensor:
        early, late = z[:-1:2], z[1::2]
        ctx.n_frames = len(z)
        ctx.save_for_backward(early >= late)
        return torch.maximum(early, late)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> Tensor:
        (early_wins,) = ctx.saved_tensors
        grad = upstream[0].new_zeros((ctx.n_frames, *upstream[0].shape[1:]))
        torch.mul(upstream[0], early_wins, out=grad[:-1:2])
        torch.sub(upstream[0], grad[:-1:2], out=grad[1::2])
        return grad
