"""Split and merge proposals of a Dirichlet-process mixture, judged by their Hastings ratios.

Splitting a component with points X into X1 and X2 multiplies the posterior of the partition by

    H = alpha Gamma(n1) m(X1) Gamma(n2) m(X2) / (Gamma(n) m(X))

with m the normal-inverse-Wishart marginal likelihood (Chang & Fisher 2013; Ronen et al. 2022); merging two components
multiplies it by 1/H of their union. A proposal is accepted with probability min(1, H). The code published with DeepDPM
puts a fitted mean into m(X) where the sample mean belongs; here m is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

# The normal-inverse-Wishart prior of a Gaussian: its mode and its marginal likelihood, from moments alone.
#
#     Sigma ~ IW(freedom, scatter),   mu | Sigma ~ N(mean, Sigma / kappa)
#
# Points are given in blocks of dimensions, (n, n_blocks, d), and a Gaussian is a product over its blocks: one block of
# all dimensions is a full covariance, blocks of one dimension are a diagonal one (where the inverse Wishart is an
# inverse gamma). All tensors are float64. (Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution".)

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
    n, mean, scatter = zip(*((some.n, some.mean, some.scatter) for some in several), strict=True)
    return Moments(torch.cat(n), torch.cat(mean), torch.cat(scatter))


def moments_of(points: torch.Tensor, weights: torch.Tensor) -> Moments:
    """Moments of points (n, n_blocks, d) for each column of weights (n, K)."""
    n = weights.sum(0)
    shares = weights / n.clamp_min(_LEAST_WEIGHT)
    means = torch.einsum("nk,nbd->kbd", shares, points)
    if points.shape[2] == 1:  # points lie about the origin, so that the difference of sums of squares is exact enough
        squares = weights.T @ points[:, :, 0].square() - n[:, None] * means[:, :, 0].square()
        return Moments(n, means, squares.clamp_min(0)[:, :, None, None])
    by_block, scatters = points.transpose(0, 1).contiguous(), []  # (n_blocks, n, d)
    for weight, mean in zip(weights.T, means, strict=True):
        own = weight.nonzero()[:, 0]
        centred = by_block[:, own] - mean[:, None]
        scatters.append((centred * weight[own, None]).transpose(1, 2) @ centred)
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


_LEAST_HALF = 6  # points; a smaller half says too little about a covariance (as published)
_NEIGHBOURS = 2  # nearest other components with which each proposes to merge (as published)


@dataclass(frozen=True)
class Partition:
    """Moments of the components and of the two halves of each, and where each point is."""

    moments: Moments  # K parts, weighted by responsibility
    half_moments: Moments  # 2K parts: the halves of component k are 2k and 2k + 1
    labels: torch.Tensor  # (n,), component
    halves: torch.Tensor  # (n,), 0 or 1

    @property
    def n_components(self) -> int:
        return int(self.moments.n.shape[0])

    def counted_halves(self, points: torch.Tensor) -> Moments:
        """Moments of the points in each half, each point in one half only: what proposals are judged by."""
        parts = 2 * self.labels + self.halves
        return moments_of(points, _one_hot(parts, 2 * self.n_components))

    def counted(self, points: torch.Tensor) -> Moments:
        """Moments of the points in each component, each point in one component only."""
        halves = self.counted_halves(points)
        return pooled(halves[::2], halves[1::2])


def partition_of(points: torch.Tensor, moments: Moments, labels: torch.Tensor, shares: torch.Tensor) -> Partition:
    """Components as given, halves by shares (n, 2); where a half has less than one point, both are found again."""
    n_components = moments.n.shape[0]
    columns = 2 * labels[:, None] + torch.arange(2, device=labels.device)  # (n, 2)
    weights = shares.new_zeros(labels.shape[0], 2 * n_components).scatter_(1, columns, shares)
    light = weights.sum(0).view(n_components, 2).amin(1) < 1
    for k in light.nonzero()[:, 0].tolist():
        members = (labels == k).nonzero()[:, 0]
        weights[members, 2 * k : 2 * k + 2] = _one_hot(principal_halves(points[members].flatten(1)), 2)
    return Partition(moments, moments_of(points, weights), labels, weights.gather(1, columns).argmax(1))


def principal_halves(points: torch.Tensor) -> torch.Tensor:
    """0 or 1 for each of points (n, n_dims): the best 2-means of their first principal coordinate, exactly."""
    n = points.shape[0]
    halves = torch.zeros(n, dtype=torch.int64, device=points.device)
    if n < 2:
        return halves
    centred = points - points.mean(0)
    axis = torch.linalg.eigh(centred.T @ centred)[1][:, -1]
    along, order = (centred @ axis).sort()
    n_left = torch.arange(1, n, dtype=along.dtype, device=along.device)
    # The coordinates sum to 0, so the scatter between the two sides of a cut is left^2 (1/n_left + 1/n_right).
    between = along.cumsum(0)[:-1] ** 2 * (1 / n_left + 1 / (n - n_left))
    halves[order[int(between.argmax()) + 1 :]] = 1
    return halves


def _one_hot(parts: torch.Tensor, n_parts: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(parts, n_parts).double()


def log_split_ratio(
    first: Moments, second: Moments, prior: NormalInverseWishart, concentration: float
) -> NDArray[np.float64]:
    """log H of splitting each union of the k-th parts into these two parts, (K,); NaN where one has no points."""

    def log_table(part: Moments) -> torch.Tensor:
        return torch.lgamma(part.n) + prior.log_marginal(part)

    ratio = math.log(concentration) + log_table(first) + log_table(second) - log_table(pooled(first, second))
    ratio[(first.n <= 0) | (second.n <= 0)] = math.nan
    return np.asarray(ratio.cpu().numpy(), dtype=np.float64)


def accepted_splits(
    halves: Moments, prior: NormalInverseWishart, concentration: float, component_cap: int, rng: np.random.Generator
) -> list[int]:
    """Components to split, in order; parts 2k and 2k + 1 of `halves` are the points of the halves of component k.

    Where more are accepted than the cap has room for, those of the highest ratio win.
    """
    first, second = halves[::2], halves[1::2]
    ratios = log_split_ratio(first, second, prior, concentration)
    draws = np.log1p(-rng.random(ratios.size))  # log of a uniform number in (0, 1]
    large = torch.minimum(first.n, second.n).cpu().numpy() >= _LEAST_HALF
    accepted = np.flatnonzero(large & (draws < ratios))
    room = max(0, component_cap - ratios.size)
    by_ratio = accepted[np.argsort(-ratios[accepted], kind="stable")]
    return sorted(int(k) for k in by_ratio[:room])


def accepted_merges(
    parts: Moments, prior: NormalInverseWishart, concentration: float, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Pairs of components to merge; no component is in two pairs.

    Candidates are each component with its nearest ones, in the order of the components. A component without
    points merges with whatever it meets: a partition has no empty part.
    """
    pairs = _candidates(parts.mean.flatten(1))
    if not pairs:
        return []
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    ratios = -log_split_ratio(parts[left], parts[right], prior, concentration)
    ratios[np.isnan(ratios)] = math.inf
    draws = np.log1p(-rng.random(ratios.size))
    merged: set[int] = set()
    accepted = []
    for pair, ratio, draw in zip(pairs, ratios, draws, strict=True):
        if draw < ratio and merged.isdisjoint(pair):
            merged.update(pair)
            accepted.append(pair)
    return accepted


def _candidates(centres: torch.Tensor) -> list[tuple[int, int]]:
    """Each component with its nearest others, lower index first, no pair twice."""
    distances = torch.cdist(centres, centres)
    distances.fill_diagonal_(math.inf)
    n_neighbours = min(_NEIGHBOURS, centres.shape[0] - 1)
    nearest = distances.argsort(dim=1, stable=True)[:, :n_neighbours].tolist()
    return list(dict.fromkeys((min(k, j), max(k, j)) for k, others in enumerate(nearest) for j in others))


@dataclass(frozen=True)
class Change:
    """A partition after a round of proposals: components that stay come first, in their order."""

    partition: Partition
    origins: list[int]  # for each component the old one whose place in the clustering net it takes
    n_kept: int  # components that stay as they were


def split(points: torch.Tensor, partition: Partition, chosen: list[int]) -> Change:
    """The halves of the chosen components become components, with the moments they were fitted with."""
    kept = [k for k in range(partition.n_components) if k not in chosen]
    children = [half for k in chosen for half in (2 * k, 2 * k + 1)]
    moments = joined([partition.moments[kept], partition.half_moments[children]])
    groups = [[2 * k, 2 * k + 1] for k in kept] + [[half] for half in children]
    regrouped = _regrouped(points, partition, moments, groups, len(kept))
    return Change(regrouped, kept + [half // 2 for half in children], len(kept))


def merge(points: torch.Tensor, partition: Partition, pairs: list[tuple[int, int]]) -> Change:
    """Each pair becomes one component, which takes the place of its heavier part in the clustering net."""
    kept = [k for k in range(partition.n_components) if not any(k in pair for pair in pairs)]
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    moments = joined([partition.moments[kept], pooled(partition.moments[left], partition.moments[right])])
    groups = [[2 * k, 2 * k + 1] for k in kept] + [[2 * i, 2 * i + 1, 2 * j, 2 * j + 1] for i, j in pairs]
    weights = partition.moments.n.tolist()
    origins = kept + [max(pair, key=weights.__getitem__) for pair in pairs]
    return Change(_regrouped(points, partition, moments, groups, len(kept)), origins, len(kept))


def _regrouped(
    points: torch.Tensor, partition: Partition, moments: Moments, groups: list[list[int]], n_kept: int
) -> Partition:
    """Components that are these groups of halves; the first `n_kept` keep their halves, the others get new ones."""
    group_of = torch.empty(2 * partition.n_components, dtype=torch.int64)
    for group, parts in enumerate(groups):
        group_of[parts] = group
    labels = group_of.to(partition.labels.device)[2 * partition.labels + partition.halves]
    shares = _one_hot(partition.halves, 2) * (labels < n_kept)[:, None]
    return partition_of(points, moments, labels, shares)
