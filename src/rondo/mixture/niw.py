"""The normal-inverse-Wishart prior of a Gaussian: its mode and its marginal likelihood, from moments alone.

    Sigma ~ IW(freedom, scatter),   mu | Sigma ~ N(mean, Sigma / kappa)

Points are given in blocks of dimensions, (n, n_blocks, d), and a Gaussian is a product over its blocks: one block
of all dimensions is a full covariance, blocks of one dimension are a diagonal one (where the inverse Wishart is an
inverse gamma). All tensors are float64. (Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution".)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

_LEAST_WEIGHT = 1e-300  # divides the sums of a part that has no points


@dataclass(frozen=True)
class Moments:
    """Weight, mean and scatter about that mean of K parts of the points."""

    n: torch.Tensor  # (K,)
    mean: torch.Tensor  # (K, n_blocks, d)
    scatter: torch.Tensor  # (K, n_blocks, d, d), not divided by n

    def __getitem__(self, parts: list[int] | slice | torch.Tensor) -> Moments:
        return Moments(self.n[parts], self.mean[parts], self.scatter[parts])

    def weighted(self, weight: float) -> Moments:
        """The moments if every point counted `weight` times."""
        return Moments(self.n * weight, self.mean, self.scatter * weight)


def joined(several: Sequence[Moments]) -> Moments:
    """The parts of all, one after the other."""
    n, mean, scatter = zip(*((some.n, some.mean, some.scatter) for some in several), strict=True)
    return Moments(torch.cat(n), torch.cat(mean), torch.cat(scatter))


def moments_of(points: torch.Tensor, weights: torch.Tensor) -> Moments:
    """Moments of points (n, n_blocks, d) for each column of weights (n, K)."""
    n = weights.sum(0)
    by_block = points.transpose(0, 1).contiguous()  # (n_blocks, n, d)
    shares = weights / n.clamp_min(_LEAST_WEIGHT)
    means = torch.einsum("nk,nbd->kbd", shares, points)
    scatters = []
    for weight, mean in zip(weights.T, means, strict=True):
        centred = by_block - mean[:, None]
        scatters.append((centred * weight[:, None]).transpose(1, 2) @ centred)
    return Moments(n, means, torch.stack(scatters))


def pooled(first: Moments, second: Moments) -> Moments:
    """Moments of the unions of the k-th parts of both."""
    n = first.n + second.n
    share = (second.n / n.clamp_min(_LEAST_WEIGHT))[:, None, None]
    apart = second.mean - first.mean
    between = (first.n[:, None, None] * share)[..., None] * apart[..., :, None] * apart[..., None, :]
    return Moments(n, first.mean + share * apart, first.scatter + second.scatter + between)


@dataclass(frozen=True)
class NormalInverseWishart:
    """A prior on the mean and covariance of each block."""

    mean: torch.Tensor  # (n_blocks, d)
    scatter: torch.Tensor  # (n_blocks, d, d)
    kappa: float
    freedom: float

    def mode(self, moments: Moments) -> tuple[torch.Tensor, torch.Tensor]:
        """Means (K, n_blocks, d) and covariances (K, n_blocks, d, d) of greatest posterior density.

        mu = (kappa m + n xbar) / (kappa + n),  Sigma = scatter* / (freedom + n + d + 2)
        """
        pull = (moments.n / (self.kappa + moments.n))[:, None, None]
        means = self.mean + pull * (moments.mean - self.mean)
        spread = (self.freedom + moments.n + self.mean.shape[1] + 2)[:, None, None, None]
        return means, self._posterior_scatter(moments) / spread

    def log_marginal(self, moments: Moments) -> torch.Tensor:
        """log p(points of the part), parameters integrated out, (K,); 0 for a part without points.

        With kappa* = kappa + n, freedom* = freedom + n, per block
            - n d/2 log(pi) + lnG_d(freedom*/2) - lnG_d(freedom/2)
            + freedom/2 log|scatter| - freedom*/2 log|scatter*| + d/2 (log(kappa) - log(kappa*))
        """
        n, (n_blocks, d) = moments.n, self.mean.shape
        freedom = self.freedom + n
        log_gamma = torch.special.multigammaln(freedom / 2, d)
        log_gamma = log_gamma - torch.special.multigammaln(freedom.new_tensor(self.freedom) / 2, d)
        log_kappa = math.log(self.kappa) - torch.log(self.kappa + n)
        same_for_all = -n * d / 2 * math.log(math.pi) + log_gamma + d / 2 * log_kappa
        before, after = _log_det(self.scatter).sum(), _log_det(self._posterior_scatter(moments)).sum(1)
        log_marginal: torch.Tensor = n_blocks * same_for_all + self.freedom / 2 * before - freedom / 2 * after
        return log_marginal

    def _posterior_scatter(self, moments: Moments) -> torch.Tensor:
        """scatter* = scatter + S + kappa n / (kappa + n) (xbar - m)(xbar - m)^T"""
        apart = moments.mean - self.mean
        pull = (self.kappa * moments.n / (self.kappa + moments.n))[:, None, None, None]
        return self.scatter + moments.scatter + pull * apart[..., :, None] * apart[..., None, :]


def _log_det(positive: torch.Tensor) -> torch.Tensor:
    return 2 * torch.diagonal(torch.linalg.cholesky(positive), dim1=-2, dim2=-1).log().sum(-1)
