"""DeepDPM: a clustering net that learns a Dirichlet-process Gaussian mixture, and splits and merges its components.

Ronen, Finder & Freifeld (CVPR 2022); own implementation; the published schedule has 500 epochs and image sets in mind.
An epoch here is one pass over the windows in eight batches, more where one would have over 512:

    every epoch       the clustering net learns the responsibilities of the Gaussians (a KL divergence), and the
                      subclustering net of each component learns which of its two halves a window is nearer to
    from epoch 3      the Gaussians and the halves follow the nets (M-step: the mode under the prior)
    epoch 10, 16 ...  proposals (`rondo.mixture.split_merge`), splits and merges in turn; after an accepted one
                      nothing follows for 3 epochs, while the nets learn to tell the new components apart
    the end           once two rounds in a row, one of splits and one of merges, change nothing; `max_iterations`
                      epochs at most

Latents are centred and scaled to mean square norm 1, so that the published prior (mean 0, kappa 1e-4, freedom D + 2,
scatter 0.005 I) means the same for latents of any scale; diagonal covariances have that prior in each dimension. With
full covariances it is the prior, not the search, that finds few components where there are many dimensions: of six
clear blobs of 67 points in 32 dimensions the evidence itself prefers one component. Diagonal covariances find six.
The weights that are handed out are plain shares, and `tolerance` plays no role: a fit ends when proposals do.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from rondo.config.schema import MixtureConfig
from rondo.errors import RondoWarning, SettingError
from rondo.mixture.dp_gaussian import checked_latents, kmeans_start
from rondo.mixture.fitted import FittedMixture
from rondo.mixture.niw import Moments, NormalInverseWishart, moments_of
from rondo.mixture.split_merge import Change, Partition, accepted_merges, accepted_splits, merge, partition_of, split
from rondo.training.loop import batches, minimise

_FOLLOW_FROM, _PROPOSE_FROM, _PROPOSE_EVERY, _STAND_STILL = 3, 10, 6, 3  # epochs; see above
_BATCH, _LEAST_BATCHES = 512, 8
_RATE = 2e-2  # of Adam, for all nets; published: 5e-4 and 5e-3, for ten times the epochs
_HIDDEN = 50  # as published
_KAPPA, _SCATTER = 1e-4, 0.005  # as published
_WEIGHT_PRIOR = 0.1  # added to every share while fitting, as published: a light component does not starve
_SMOOTHING = 1e-5  # added to both sides of the KL divergence, as published
_CONSTANT = 1e-12  # spread, relative to size, below which latents are one point and rounding
_BLOCK = 4096  # windows that the nets see at once where nothing is learnt


def fit_deep_dpm(
    latents: NDArray[np.floating],
    config: MixtureConfig,
    rng: np.random.Generator,
    device: str = "cpu",
    start_components: int = 1,
    window_weight: float = 1.0,
) -> FittedMixture:
    """Fit on latents (n_windows, n_dims), from `start_components` (at most the cap) found by k-means.

    A window counts as `window_weight` observations where evidence decides: in the modes and in the Hastings ratios.
    """
    if start_components < 1:
        raise SettingError(f"start_components must be at least 1, got {start_components}")
    rows = checked_latents(latents)
    space = _space_of(rows, config.covariance, window_weight, device)
    start = kmeans_start(rows, np.ones(len(rows)), min(start_components, config.component_cap), rng)
    partition = _started(space.points, torch.as_tensor(start, device=device))
    training = _Training(space.codes, partition.n_components, rng)
    still_until, n_quiet, n_epochs = _FOLLOW_FROM, 0, 0
    while n_epochs < config.max_iterations and n_quiet < 2:
        training.epoch(_targets(space, partition), partition.labels, _half_distances(space, partition))
        if n_epochs >= still_until:
            partition = _followed(space, training)
        n_epochs += 1
        n_rounds, since = divmod(n_epochs - _PROPOSE_FROM, _PROPOSE_EVERY)
        if n_rounds >= 0 and since == 0:
            change = _proposed(space, partition, config, rng, n_rounds)
            n_quiet = n_quiet + 1 if change is None else 0
            if change is not None:
                partition = change.partition
                training.rearrange(change.origins, change.n_kept)
                still_until = n_epochs + _STAND_STILL
    if n_quiet < 2:
        warnings.warn(
            f"DeepDPM had not settled after {n_epochs} epochs; raise mixture.max_iterations",
            RondoWarning,
            stacklevel=2,
        )
    return _kept(space, partition, config, n_epochs)


# ---------------------------------------------------------------- the space of the fit


@dataclass(frozen=True)
class _Space:
    """Points y of latents x = origin + scale y, in blocks of dimensions that vary together, and their prior."""

    points: torch.Tensor  # (n, n_blocks, d): one block where covariances are full, blocks of one where diagonal
    origin: NDArray[np.float64]  # (n_dims,)
    scale: float
    prior: NormalInverseWishart
    window_weight: float

    @property
    def codes(self) -> torch.Tensor:
        """What the nets see, (n, n_dims): a mean variance of 1 is what their first weights are drawn for."""
        return (self.points.flatten(1) * math.sqrt(self.origin.size)).float()


def _space_of(rows: NDArray[np.float64], covariance: str, window_weight: float, device: str) -> _Space:
    origin = rows.mean(axis=0)
    centred = rows - origin
    scale = math.sqrt(float((centred**2).sum(axis=1).mean()))
    if scale <= _CONSTANT * float(np.abs(rows).max()):
        scale = 1.0
    points = torch.as_tensor(centred / scale, device=device)
    points = points[:, None, :] if covariance == "full" else points[:, :, None]
    n_blocks, d = points.shape[1:]
    scatter = _SCATTER * torch.eye(d, dtype=points.dtype, device=device).expand(n_blocks, d, d)
    prior = NormalInverseWishart(points.new_zeros(n_blocks, d), scatter, _KAPPA, d + 2)
    return _Space(points, origin, scale, prior, window_weight)


# ---------------------------------------------------------------- the nets


class _Nets(nn.Module):
    """Clustering net D -> 50 -> K, and a subclustering net D -> 50 -> 2 for each of the K components."""

    def __init__(self, n_dims: int, n_components: int, generator: torch.Generator, device: str) -> None:
        super().__init__()
        self.generator, self.device = generator, device
        self.hidden = self._drawn(n_dims, n_dims, _HIDDEN)
        self.hidden_bias = self._drawn(n_dims, _HIDDEN)
        self.out = self._drawn(_HIDDEN, n_components, _HIDDEN)
        self.out_bias = self._drawn(_HIDDEN, n_components)
        self.half_hidden = self._drawn(n_dims, n_components, n_dims, _HIDDEN)
        self.half_hidden_bias = self._drawn(n_dims, n_components, 1, _HIDDEN)
        self.half_out = self._drawn(_HIDDEN, n_components, _HIDDEN, 2)
        self.half_out_bias = self._drawn(_HIDDEN, n_components, 1, 2)

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        """Responsibilities of the components."""
        hidden = torch.relu(codes @ self.hidden + self.hidden_bias)  # (b, 50)
        return torch.softmax(hidden @ self.out.T + self.out_bias, dim=1)  # (b, K)

    def halves(self, codes: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Responsibilities of the two halves of the component that each code is in."""
        hidden = torch.relu(codes @ self.half_hidden + self.half_hidden_bias)  # (K, b, 50)
        logits = hidden @ self.half_out + self.half_out_bias  # (K, b, 2)
        own = logits[labels, torch.arange(labels.shape[0], device=labels.device)]  # (b, 2)
        return torch.softmax(own, dim=1)

    def rearrange(self, origins: list[int], n_kept: int) -> None:
        """Component k becomes a copy of what `origins[k]` was; from `n_kept` on the subclustering nets are new."""
        for name, parameter in self.named_parameters():
            if name.startswith("hidden"):
                continue
            moved = parameter.detach()[origins]
            if name.startswith("half"):
                n_inputs = _HIDDEN if "out" in name else self.hidden.shape[0]
                moved[n_kept:] = self._drawn(n_inputs, *moved[n_kept:].shape).detach()
            setattr(self, name, nn.Parameter(moved))

    def _drawn(self, n_inputs: int, *shape: int) -> nn.Parameter:
        """Uniform in +-1/sqrt(n_inputs), as torch's own linear layers."""
        uniform = torch.rand(shape, generator=self.generator) * 2 - 1
        return nn.Parameter((uniform / math.sqrt(n_inputs)).to(self.device))


class _Training:
    """The nets, how they learn, and what they say about all windows."""

    def __init__(self, codes: torch.Tensor, n_components: int, rng: np.random.Generator) -> None:
        self.codes = codes
        self.generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        self.nets = _Nets(codes.shape[1], n_components, self.generator, str(codes.device))
        self.optimiser = torch.optim.Adam(self.nets.parameters(), _RATE, fused=True)

    def epoch(self, targets: torch.Tensor, labels: torch.Tensor, half_distances: torch.Tensor) -> None:
        """One pass over the windows; the mean of KL(targets || net) + sum_j halves_j half_distances_j goes down.

        targets (n, K), labels (n,), half_distances (n, 2) squared. The two terms share no parameter.
        """
        n = self.codes.shape[0]
        size = min(max(n // _LEAST_BATCHES, 2), _BATCH)
        picks = [pick.to(labels.device) for pick in batches(n, size, 1, self.generator)]

        def loss_of_step(step: int) -> torch.Tensor:
            pick = picks[step]
            codes, target = self.codes[pick], targets[pick]
            divergence = target * (target.log() - _smoothed(self.nets(codes)).log())
            spread = self.nets.halves(codes, labels[pick]) * half_distances[pick]
            return (divergence.sum() + spread.sum()) / pick.shape[0]

        minimise(loss_of_step, self.optimiser, len(picks))

    @torch.no_grad()
    def responsibilities(self) -> torch.Tensor:
        """Of the components, (n, K)."""
        return torch.cat([self.nets(codes) for codes in torch.split(self.codes, _BLOCK)]).double()

    @torch.no_grad()
    def half_responsibilities(self, labels: torch.Tensor) -> torch.Tensor:
        """Of the halves of each window's component, (n, 2)."""
        blocks = zip(torch.split(self.codes, _BLOCK), torch.split(labels, _BLOCK), strict=True)
        return torch.cat([self.nets.halves(codes, own) for codes, own in blocks]).double()

    def rearrange(self, origins: list[int], n_kept: int) -> None:
        self.nets.rearrange(origins, n_kept)
        self.optimiser = torch.optim.Adam(self.nets.parameters(), _RATE, fused=True)


def _smoothed(probabilities: torch.Tensor) -> torch.Tensor:
    return (probabilities + _SMOOTHING) / (1 + _SMOOTHING * probabilities.shape[1])


# ---------------------------------------------------------------- the partition and its Gaussians


def _started(points: torch.Tensor, responsibilities: torch.Tensor) -> Partition:
    """From responsibilities (n, K); no share in any half, so that all are found."""
    moments, shares = moments_of(points, responsibilities), responsibilities.new_zeros(points.shape[0], 2)
    return partition_of(points, moments, responsibilities.argmax(1), shares)


def _followed(space: _Space, training: _Training) -> Partition:
    """The partition that the nets see now."""
    responsibilities = training.responsibilities()
    labels = responsibilities.argmax(1)
    moments = moments_of(space.points, responsibilities)
    return partition_of(space.points, moments, labels, training.half_responsibilities(labels))


def _proposed(
    space: _Space, partition: Partition, config: MixtureConfig, rng: np.random.Generator, n_rounds: int
) -> Change | None:
    """What a round of proposals changes: splits in even rounds, merges in odd ones."""
    if n_rounds % 2 == 0:
        halves = partition.counted_halves(space.points).weighted(space.window_weight)
        chosen = accepted_splits(halves, space.prior, config.concentration, config.component_cap, rng)
        return split(space.points, partition, chosen) if chosen else None
    parts = partition.counted(space.points).weighted(space.window_weight)
    pairs = accepted_merges(parts, space.prior, config.concentration, rng)
    return merge(space.points, partition, pairs) if pairs else None


def _gaussians(space: _Space, moments: Moments) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Means (K, n_blocks, d), precision roots (K, n_blocks, d, d) and log normalisers (K,) of the components."""
    means, covariances = space.prior.mode(moments.weighted(space.window_weight))
    roots = torch.linalg.cholesky(covariances)
    identity = torch.eye(roots.shape[-1], dtype=roots.dtype, device=roots.device).expand_as(roots)
    precision_roots = torch.linalg.solve_triangular(roots, identity, upper=False).transpose(-1, -2)
    n_dims = means[0].numel()
    log_det = torch.diagonal(precision_roots, dim1=-2, dim2=-1).log().sum((1, 2))
    return means, precision_roots, log_det - n_dims / 2 * math.log(2 * math.pi)


def _targets(space: _Space, partition: Partition) -> torch.Tensor:
    """r_k = softmax_k(log pi_k + log N(y; mu_k, Sigma_k)), smoothed, (n, K), float32."""
    means, precision_roots, log_normalisers = _gaussians(space, partition.moments)
    shares = partition.moments.n / partition.moments.n.sum() + _WEIGHT_PRIOR
    by_block = space.points.transpose(0, 1)  # (n_blocks, n, d)
    joint = torch.stack(
        [
            constant - ((by_block - mean[:, None]) @ root).square().sum((0, 2)) / 2
            for constant, mean, root in zip(shares.log() + log_normalisers, means, precision_roots, strict=True)
        ],
        dim=1,
    )
    return _smoothed(torch.softmax(joint, dim=1).float())


def _half_distances(space: _Space, partition: Partition) -> torch.Tensor:
    """Squared distance of each window to the centres of the halves of its component, (n, 2), float32."""
    halves = partition.half_moments.weighted(space.window_weight)
    centres = space.prior.mode(halves)[0].flatten(1)  # (2K, n_dims)
    own = centres.reshape(-1, 2, centres.shape[1])[partition.labels]  # (n, 2, n_dims)
    return (space.points.flatten(1)[:, None] - own).square().sum(2).float()


# ---------------------------------------------------------------- the result


def _kept(space: _Space, partition: Partition, config: MixtureConfig, n_epochs: int) -> FittedMixture:
    """Back to x, without the components lighter than `min_weight`; the heaviest always stays.

    The bound is the log posterior of the partition: sum_k log(alpha Gamma(n_k) m(X_k)), per window.
    """
    n, n_dims = space.points.shape[0], space.origin.size
    weights = partition.moments.n / n
    keep = weights >= min(config.min_weight, float(weights.max()))
    means, roots, log_normalisers = (part[keep] for part in _gaussians(space, partition.moments))
    counted = partition.counted(space.points).weighted(space.window_weight)
    counted = counted[counted.n > 0]
    evidence = math.log(config.concentration) + torch.lgamma(counted.n) + space.prior.log_marginal(counted)
    log_volume = n_dims * math.log(space.scale)
    full_roots = roots[:, 0] if roots.shape[1] == 1 else torch.diag_embed(roots[:, :, 0, 0])
    return FittedMixture(
        weights[keep].cpu().numpy(),
        space.origin + space.scale * means.flatten(1).cpu().numpy(),
        np.ascontiguousarray(full_roots.cpu().numpy()) / space.scale,
        (weights[keep].log() + log_normalisers).cpu().numpy() - log_volume,
        float(evidence.sum()) / (n * space.window_weight) - log_volume,
        n_epochs,
    )
