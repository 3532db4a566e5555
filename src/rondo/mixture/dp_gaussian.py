"""Dirichlet-process Gaussian mixture: truncated variational inference with weighted samples, on torch.

The model and its updates are those of Blei & Jordan (2006) with the normal-Wishart conventions of Bishop (2006),
chapter 10; scikit-learn's BayesianGaussianMixture, which has no sample weights, is the oracle of the tests. A sample
of weight w counts as w copies of it: the number of components is decided by evidence, not by the number of rows.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from rondo.config import MixtureConfig
from rondo.errors import RondoWarning

_REGULARISER = 1e-6  # added to every covariance, as in scikit-learn
_DOUBLE = torch.float64


@dataclass(frozen=True, eq=False)
class FittedMixture:
    """Components that were kept, largest first is not implied; arrays are float64.

    log p(x, k) = log_constants[k] - 1/2 ||(x - means[k]) precision_roots[k]||^2
    """

    weights: NDArray[np.float64]  # (n_components,), expected weights, over all components of the fit
    means: NDArray[np.float64]  # (n_components, n_dims)
    precision_roots: NDArray[np.float64]  # (n_components, n_dims, n_dims), triangular
    log_constants: NDArray[np.float64]  # (n_components,)
    bound: float = math.nan
    n_iterations: int = 0

    @property
    def n_components(self) -> int:
        return int(self.means.shape[0])

    def log_joint(self, latents: NDArray[np.floating]) -> NDArray[np.float64]:
        """log p(x, component), (n, n_components)."""
        points = np.asarray(latents, dtype=np.float64)
        joint = np.empty((points.shape[0], self.n_components))
        for k in range(self.n_components):
            scaled = (points - self.means[k]) @ self.precision_roots[k]
            joint[:, k] = self.log_constants[k] - 0.5 * np.einsum("nd,nd->n", scaled, scaled)
        return joint

    def posterior(self, latents: NDArray[np.floating]) -> NDArray[np.float64]:
        """Probability of each kept component, (n, n_components); rows sum to one."""
        joint = self.log_joint(latents)
        joint -= joint.max(axis=1, keepdims=True)
        np.exp(joint, out=joint)
        return joint / joint.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class _Prior:
    concentration: float
    mean: torch.Tensor  # (D,)
    mean_precision: float
    freedom: float
    scatter: torch.Tensor  # (D, D) full, (D,) diagonal, () spherical


@dataclass(frozen=True)
class _State:
    """Variational parameters after one M-step."""

    stick_a: torch.Tensor  # (K,) beta parameters of the stick-breaking weights
    stick_b: torch.Tensor
    mean_precision: torch.Tensor  # (K,)
    means: torch.Tensor  # (K, D)
    freedom: torch.Tensor  # (K,)
    roots: torch.Tensor  # (K, D, D), Cholesky factor of the expected precision


def fit_mixture(
    latents: NDArray[np.floating],
    config: MixtureConfig,
    rng: np.random.Generator,
    sample_weight: NDArray[np.floating] | None = None,
    responsibilities: NDArray[np.floating] | None = None,
    device: str = "cpu",
) -> FittedMixture:
    """Fit by coordinate ascent until the bound per unit of weight changes by less than `tolerance`.

    `responsibilities` (n, n_components), if given, replace the k-means start.
    """
    points = np.ascontiguousarray(latents, dtype=np.float64)
    counts = np.ones(points.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if responsibilities is None:
        responsibilities = _kmeans_start(points, counts, config.component_cap, rng)
    x = torch.as_tensor(points, device=device)
    w = torch.as_tensor(counts, device=device)
    r = torch.as_tensor(np.asarray(responsibilities, dtype=np.float64), device=device)
    prior = _prior_of(x, w, config)
    bound, total = -math.inf, float(w.sum())
    for iteration in range(1, config.max_iterations + 1):
        state = _maximise(x, w, r, prior, config.covariance)
        log_joint = _log_joint(x, state)
        log_evidence = torch.logsumexp(log_joint, dim=1, keepdim=True)
        log_r = log_joint - log_evidence
        r = torch.exp(log_r)
        before, bound = bound, _bound(w, r, log_r, state) / total
        if abs(bound - before) < config.tolerance:
            break
    else:
        warnings.warn(
            f"the mixture did not settle in {config.max_iterations} iterations (last change {bound - before:.2g}); "
            "raise mixture.max_iterations or mixture.tolerance",
            RondoWarning,
            stacklevel=2,
        )
    return _kept(state, config.min_weight, bound, iteration)


def _kmeans_start(
    points: NDArray[np.float64], counts: NDArray[np.float64], cap: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Hard responsibilities from weighted k-means; never more components than distinct points."""
    from sklearn.cluster import KMeans  # slow to import, and not needed to load or apply a model

    n_distinct = np.unique(points, axis=0).shape[0]
    n_components = max(1, min(cap, n_distinct))
    if n_components == 1:
        return np.ones((points.shape[0], 1))
    start = KMeans(n_clusters=n_components, n_init=1, random_state=int(rng.integers(2**31)))
    labels = start.fit(points, sample_weight=counts).labels_
    return np.eye(n_components)[labels]


def _prior_of(x: torch.Tensor, w: torch.Tensor, config: MixtureConfig) -> _Prior:
    """scikit-learn's defaults: prior mean and scatter are those of the data, the weakest proper Wishart."""
    n_dims = x.shape[1]
    mean = (w[:, None] * x).sum(0) / w.sum()
    centred = x - mean
    # Unbiased, as numpy.cov with frequency weights; a single point has no scatter of its own.
    scatter = (w[:, None] * centred).T @ centred / torch.clamp(w.sum() - 1, min=1.0)
    scatter = scatter + _REGULARISER * torch.eye(n_dims, dtype=_DOUBLE, device=x.device)
    if config.covariance == "diagonal":
        scatter = ((w[:, None] * centred**2).sum(0) / torch.clamp(w.sum() - 1, min=1.0)) + _REGULARISER
    elif config.covariance == "spherical":
        scatter = torch.diagonal(scatter).mean()
    return _Prior(config.concentration, mean, 1.0, float(n_dims), scatter)


def _maximise(x: torch.Tensor, w: torch.Tensor, r: torch.Tensor, prior: _Prior, covariance: str) -> _State:
    """Variational parameters given responsibilities."""
    weighted = r * w[:, None]  # (N, K)
    n = weighted.sum(0) + 10 * torch.finfo(_DOUBLE).eps
    centres = weighted.T @ x / n[:, None]
    after = n.flip(0).cumsum(0).flip(0) - n  # weight in later components: sum_{j>k} n_j
    mean_precision = prior.mean_precision + n
    means = (prior.mean_precision * prior.mean + n[:, None] * centres) / mean_precision[:, None]
    freedom = prior.freedom + n
    pull = (n * prior.mean_precision / mean_precision)[:, None] * (centres - prior.mean) ** 2  # diagonal and spherical
    n_dims = x.shape[1]
    if covariance == "full":
        shift = centres - prior.mean
        moment = torch.einsum("nk,nd,ne->kde", weighted, x, x) if n_dims <= 8 else _second_moments(weighted, x)
        scatter = moment - n[:, None, None] * centres[:, :, None] * centres[:, None, :]
        scatter = scatter + n[:, None, None] * _REGULARISER * torch.eye(n_dims, dtype=_DOUBLE, device=x.device)
        outer = shift[:, :, None] * shift[:, None, :]
        spread = prior.scatter + scatter + (n * prior.mean_precision / mean_precision)[:, None, None] * outer
        covariances = spread / freedom[:, None, None]
        lower = torch.linalg.cholesky(covariances)
        identity = torch.eye(n_dims, dtype=_DOUBLE, device=x.device).expand_as(lower)
        roots = torch.linalg.solve_triangular(lower, identity, upper=False).transpose(1, 2)
    else:
        variance = weighted.T @ x**2 - n[:, None] * centres**2 + n[:, None] * _REGULARISER
        spread = prior.scatter + (variance + pull if covariance == "diagonal" else (variance + pull).mean(1, True))
        roots = torch.diag_embed((freedom[:, None] / spread).sqrt().expand(-1, n_dims))
    return _State(1 + n, prior.concentration + after, mean_precision, means, freedom, roots)


def _second_moments(weighted: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """sum_n w_nk x_n x_n^T for each component, one matrix product each: memory stays at one copy of x."""
    return torch.stack([(weighted[:, k, None] * x).T @ x for k in range(weighted.shape[1])])


def _log_joint(x: torch.Tensor, state: _State) -> torch.Tensor:
    """E[log pi_k] + E[log N(x; mu_k, Lambda_k)], (N, K)."""
    constants = _log_constants(state)
    scaled = torch.einsum("nd,kde->kne", x, state.roots) - torch.einsum("kd,kde->ke", state.means, state.roots)[:, None]
    return constants - 0.5 * (scaled**2).sum(2).T


def _log_constants(state: _State) -> torch.Tensor:
    n_dims = state.means.shape[1]
    return _log_weights(state) + 0.5 * (
        2 * _log_det_roots(state)
        - n_dims * state.freedom.log()
        + _log_lambda(state)
        - n_dims / state.mean_precision
        - n_dims * math.log(2 * math.pi)
    )


def _log_weights(state: _State) -> torch.Tensor:
    """E[log pi_k] of the stick-breaking construction."""
    both = torch.digamma(state.stick_a + state.stick_b)
    rest = (torch.digamma(state.stick_b) - both).cumsum(0)
    return torch.digamma(state.stick_a) - both + torch.cat([rest.new_zeros(1), rest[:-1]])


def _log_det_roots(state: _State) -> torch.Tensor:
    return torch.diagonal(state.roots, dim1=1, dim2=2).log().sum(1)


def _halves(state: _State) -> torch.Tensor:
    """(freedom - j) / 2 for j = 0 .. D-1, (K, D)."""
    n_dims = state.means.shape[1]
    return 0.5 * (state.freedom[:, None] - torch.arange(n_dims, dtype=_DOUBLE, device=state.freedom.device))


def _log_lambda(state: _State) -> torch.Tensor:
    return state.means.shape[1] * math.log(2.0) + torch.digamma(_halves(state)).sum(1)


def _bound(w: torch.Tensor, r: torch.Tensor, log_r: torch.Tensor, state: _State) -> float:
    """Evidence lower bound up to a constant, as scikit-learn computes it, with the entropy weighted."""
    n_dims = state.means.shape[1]
    entropy = -(w[:, None] * r * log_r).sum()
    log_det = _log_det_roots(state) - 0.5 * n_dims * state.freedom.log()
    wishart = -(
        state.freedom * log_det
        + state.freedom * n_dims * 0.5 * math.log(2.0)
        + torch.lgamma(_halves(state)).sum(1)
    ).sum()
    beta = torch.lgamma(state.stick_a) + torch.lgamma(state.stick_b) - torch.lgamma(state.stick_a + state.stick_b)
    return float(entropy - wishart + beta.sum() - 0.5 * n_dims * state.mean_precision.log().sum())


def _kept(state: _State, min_weight: float, bound: float, n_iterations: int) -> FittedMixture:
    """Drop components lighter than `min_weight`; the heaviest always stays."""
    share = state.stick_a / (state.stick_a + state.stick_b)
    left = torch.cumprod(1 - share, 0)
    weights = share * torch.cat([left.new_ones(1), left[:-1]])
    weights = weights / weights.sum()
    keep = weights >= min(min_weight, float(weights.max()))
    return FittedMixture(
        weights[keep].cpu().numpy(),
        state.means[keep].cpu().numpy(),
        state.roots[keep].cpu().numpy(),
        _log_constants(state)[keep].cpu().numpy(),
        bound,
        n_iterations,
    )
