"""Dirichlet-process Gaussian mixture: truncated variational inference with weighted samples, on torch.

The model and its updates are those of Blei & Jordan (2006) with the normal-Wishart conventions of Bishop
(2006), chapter 10; scikit-learn's BayesianGaussianMixture, which has no sample weights, is the oracle of the
tests. A sample of weight w counts as w copies of it: the number of components is decided by evidence, not by
the number of rows.

The work is done in coordinates y = L^-1 (x - mean) in which the prior has mean 0 and scatter I. There the
M-step needs only sums of y and of the products y_i y_j, and the E-step is linear in the same numbers, so one
pass over blocks of points is an iteration; and no component is tighter than the prior allows, so that sums
cannot cancel to nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from rondo.config.schema import MixtureConfig
from rondo.errors import RecordingError, RondoWarning, SettingError
from rondo.mixture.fitted import FittedMixture as FittedMixture

_REGULARISER = 1e-6  # added to every covariance, as in scikit-learn
_RELATIVE_REGULARISER = 1e-12  # keeps collinear latents of any scale solvable; far below what a result shows
_LARGEST_LATENT = 1e100  # its square, summed, is still a number
_BLOCK_NUMBERS = 1 << 17  # products held at once, 1 MB: they stay in the cache, and memory does not grow
_SMALLEST = torch.finfo(torch.float64).tiny  # stands for 0 in 0 log 0
_DOUBLE = torch.float64


def fit_mixture(
    latents: NDArray[np.floating],
    config: MixtureConfig,
    rng: np.random.Generator,
    sample_weight: NDArray[np.floating] | None = None,
    responsibilities: NDArray[np.floating] | None = None,
    device: str = "cpu",
) -> FittedMixture:
    """Fit on latents (n, n_dims) by coordinate ascent, until the bound changes by less than `tolerance`.

    `responsibilities` (n, n_components), if given, replace the k-means start.
    """
    rows = checked_latents(latents)
    counts = _checked_weights(sample_weight, rows.shape[0])
    if responsibilities is None:
        responsibilities = kmeans_start(rows, counts, config.component_cap, rng)
    points = _whitened(rows, counts, config.covariance, device)
    start = torch.as_tensor(np.asarray(responsibilities, dtype=np.float64).T, device=device)
    n_components = start.shape[0]
    moments = _moments(points, n_components, lambda span, y, products: start[:, span])
    state = _maximise(moments, points, config.concentration)
    n_iterations, bound, change = 0, -math.inf, math.inf
    while n_iterations < config.max_iterations and change >= config.tolerance:
        moments = _moments(points, n_components, _assignment(state))
        state = _maximise(moments, points, config.concentration)
        before, bound = bound, _bound(moments, state) / float(counts.sum())
        n_iterations, change = n_iterations + 1, abs(bound - before)
    if change >= config.tolerance:
        warnings.warn(
            f"the mixture did not settle in {n_iterations} iterations (last change {change:.2g}); "
            "raise mixture.max_iterations or mixture.tolerance",
            RondoWarning,
            stacklevel=2,
        )
    return _kept(state, points, config.min_weight, bound, n_iterations)


# ---------------------------------------------------------------- points, and where they start


@dataclass(frozen=True)
class _Points:
    """Weighted points in coordinates y of the prior: x = origin + scale y, points along the second axis."""

    y: torch.Tensor  # (D, N)
    w: torch.Tensor  # (N,)
    covariance: str
    origin: torch.Tensor  # (D,), weighted mean of x
    scale: torch.Tensor  # (D, D), lower triangular root of the prior scatter
    noise: torch.Tensor  # _REGULARISER * I in these coordinates: (D, D) full, (D,) otherwise

    @property
    def n_dims(self) -> int:
        return self.y.shape[0]

    @property
    def n_products(self) -> int:
        return self.n_dims * (self.n_dims + 1) // 2 if self.covariance == "full" else self.n_dims

    def blocks(self) -> Iterator[tuple[slice, torch.Tensor, torch.Tensor]]:
        """Spans of points, their y (D, b), its products (n_products, b): all pairs if full, else squares."""
        above, below = _pairs(self.n_dims, self.y.device)
        size = min(max(_BLOCK_NUMBERS // self.n_products, 128), 4096)
        for first in range(0, self.y.shape[1], size):
            span = slice(first, first + size)
            y = self.y[:, span].contiguous()
            full = self.covariance == "full"
            yield span, y, y.index_select(0, above).mul_(y.index_select(0, below)) if full else y * y


def _pairs(n_dims: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows and columns of the upper triangle: the order in which the products of all pairs are kept."""
    above, below = torch.triu_indices(n_dims, n_dims, device=device)
    return above, below


def checked_latents(latents: NDArray[np.floating]) -> NDArray[np.float64]:
    rows = np.ascontiguousarray(latents, dtype=np.float64)
    if rows.ndim != 2 or rows.size == 0:
        raise RecordingError(
            f"the mixture expects latents (n_windows, n_dims), got {rows.shape}; give at least one window"
        )
    usable = np.abs(rows) <= _LARGEST_LATENT  # false for NaN too
    if not usable.all():
        row, column = (int(i) for i in np.argwhere(~usable)[0])
        raise RecordingError(
            f"non-finite (or beyond {_LARGEST_LATENT:g}) latent {rows[row, column]} in window {row}, "
            f"dimension {column}; the mixture expects finite numbers: look at the recording there"
        )
    return rows


def _checked_weights(weights: NDArray[np.floating] | None, n_points: int) -> NDArray[np.float64]:
    counts = np.ones(n_points) if weights is None else np.asarray(weights, dtype=np.float64)
    if counts.shape != (n_points,):
        raise SettingError(f"sample_weight of shape {counts.shape} for {n_points} windows; give one weight each")
    if not (np.isfinite(counts).all() and counts.min() >= 0 and counts.sum() > 0):
        raise SettingError("sample_weight must be finite, not negative and not all zero; mend it or leave it out")
    return counts


def kmeans_start(
    points: NDArray[np.float64], counts: NDArray[np.float64], cap: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Hard responsibilities from weighted k-means; never more components than distinct points that count."""
    from sklearn.cluster import KMeans  # slow to import, and not needed to load or apply a model
    from sklearn.exceptions import ConvergenceWarning

    n_components = min(cap, np.unique(points[counts > 0], axis=0).shape[0])
    if n_components == 1:
        return np.ones((points.shape[0], 1))
    start = KMeans(n_clusters=n_components, n_init=1, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        # Points nearer to each other than rounding leave clusters empty; empty components do no harm.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels: NDArray[np.int32] = start.fit(points - points.mean(axis=0), sample_weight=counts).labels_
    return np.eye(n_components)[labels]


def _whitened(rows: NDArray[np.float64], counts: NDArray[np.float64], covariance: str, device: str) -> _Points:
    """Points in the coordinates of the prior: scikit-learn's mean and scatter of the data, regularised.

    The scatter is unbiased, as numpy.cov with frequency weights; a single point has none of its own.
    """
    x = torch.as_tensor(rows, device=device)
    w = torch.as_tensor(counts, device=device)
    total = w.sum()
    origin = w @ x / total
    centred = x - origin
    identity = torch.eye(x.shape[1], dtype=_DOUBLE, device=device)
    scatter = (w[:, None] * centred).T @ centred / torch.clamp(total - 1, min=1.0)
    variances = torch.diagonal(scatter)
    scatter = scatter + (_REGULARISER + _RELATIVE_REGULARISER * variances.mean()) * identity
    if covariance == "diagonal":
        scatter = scatter * identity
    elif covariance == "spherical":
        scatter = torch.diagonal(scatter).mean() * identity
    scale = torch.linalg.cholesky(scatter)
    unscale = torch.linalg.solve_triangular(scale, identity, upper=False)
    noise = _REGULARISER * unscale @ unscale.T
    y = torch.linalg.solve_triangular(scale, centred.T, upper=False)
    return _Points(y, w, covariance, origin, scale, noise if covariance == "full" else torch.diagonal(noise))


# ---------------------------------------------------------------- one iteration


@dataclass(frozen=True)
class _Moments:
    """What the points say to each component, weighted by responsibility."""

    n: torch.Tensor  # (K,)
    first: torch.Tensor  # (K, D), sums of y
    second: torch.Tensor  # (K, n_products), sums of the products of y
    entropy: float  # of the responsibilities


@dataclass(frozen=True)
class _State:
    """Variational parameters after one M-step; the prior has mean precision 1 and freedom D."""

    stick_a: torch.Tensor  # (K,) beta parameters of the stick-breaking weights
    stick_b: torch.Tensor
    mean_precision: torch.Tensor  # (K,)
    means: torch.Tensor  # (K, D), in y
    freedom: torch.Tensor  # (K,)
    root: torch.Tensor  # lower triangular root of the scatter in y: (K, D, D), or (K, D) where it is diagonal
    log_det: torch.Tensor  # (K,), log determinant of the inverse of that root, in x


_Assignment = Callable[[slice, torch.Tensor, torch.Tensor], torch.Tensor]


def _moments(points: _Points, n_components: int, assignment: _Assignment) -> _Moments:
    """One pass over the points; `assignment` maps (span, y, products) to responsibilities (K, b)."""
    n = points.y.new_zeros(n_components)
    first = points.y.new_zeros(n_components, points.n_dims)
    second = points.y.new_zeros(n_components, points.n_products)
    entropy = points.y.new_zeros(())
    for span, y, products in points.blocks():
        r = assignment(span, y, products)
        weighted = r * points.w[span]
        n += weighted.sum(1)
        first.addmm_(weighted, y.T)
        second.addmm_(weighted, products.T)
        entropy -= (weighted * r.clamp_min(_SMALLEST).log()).sum()
    return _Moments(n, first, second, float(entropy))


def _maximise(moments: _Moments, points: _Points, concentration: float) -> _State:
    """Variational parameters given the moments of the responsibilities.

    With prior mean 0, mean precision 1 and scatter I: mean = first / (1 + n), and
    scatter = I + second + n * noise - (1 + n) * mean mean^T.
    """
    n, n_dims = moments.n, points.n_dims
    after = n.flip(0).cumsum(0).flip(0) - n  # weight in later components: sum_{j>k} n_j
    mean_precision = 1 + n
    means = moments.first / mean_precision[:, None]
    if points.covariance == "full":
        above, below = _pairs(n_dims, n.device)
        scatter = n[:, None, None] * points.noise + torch.eye(n_dims, dtype=_DOUBLE, device=n.device)
        scatter -= mean_precision[:, None, None] * means[:, :, None] * means[:, None, :]
        scatter[:, below, above] += moments.second  # the lower triangle is all that the root reads
        root = torch.linalg.cholesky(scatter)
        log_diagonal = torch.diagonal(root, dim1=1, dim2=2).log()
    else:
        variances = 1 + moments.second + n[:, None] * points.noise - mean_precision[:, None] * means**2
        if points.covariance == "spherical":
            variances = variances.mean(1, keepdim=True).expand(-1, n_dims)
        root = variances.sqrt()
        log_diagonal = root.log()
    log_det = -log_diagonal.sum(1) - torch.diagonal(points.scale).log().sum()
    return _State(1 + n, concentration + after, mean_precision, means, n_dims + n, root, log_det)


def _assignment(state: _State) -> _Assignment:
    """The E-step: responsibilities r_k = softmax_k(E[log pi_k] + E[log N(y; mu_k, Lambda_k)]).

    -1/2 (y - m)^T P (y - m) = products @ quadratic + y @ linear - 1/2 m^T P m, with P the expected precision.
    """
    if state.root.ndim == 3:
        above, below = _pairs(state.means.shape[1], state.means.device)
        precisions = state.freedom[:, None, None] * torch.cholesky_inverse(state.root)
        quadratic = -precisions[:, above, below]
        quadratic[:, above == below] /= 2  # every other product stands for two entries of P
        linear = (precisions @ state.means[:, :, None])[:, :, 0]
    else:
        precisions = state.freedom[:, None] / state.root**2
        quadratic = -precisions / 2
        linear = precisions * state.means
    constants = (_log_constants(state) - (linear * state.means).sum(1) / 2)[:, None]

    def responsibilities(_: slice, y: torch.Tensor, products: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.addmm(constants, quadratic, products).addmm_(linear, y), dim=0)

    return responsibilities


def _log_constants(state: _State) -> torch.Tensor:
    """What of E[log pi_k] + E[log N(x; mu_k, Lambda_k)] does not depend on x, (K,)."""
    n_dims = state.means.shape[1]
    log_lambda = 2 * state.log_det + torch.digamma(_halves(state)).sum(1) + n_dims * math.log(2.0)
    return _log_weights(state) + (log_lambda - n_dims / state.mean_precision - n_dims * math.log(2 * math.pi)) / 2


def _log_weights(state: _State) -> torch.Tensor:
    """E[log pi_k] of the stick-breaking construction."""
    both = torch.digamma(state.stick_a + state.stick_b)
    rest = (torch.digamma(state.stick_b) - both).cumsum(0)
    return torch.digamma(state.stick_a) - both + torch.cat([rest.new_zeros(1), rest[:-1]])


def _halves(state: _State) -> torch.Tensor:
    """(freedom - j) / 2 for j = 0 .. D-1, (K, D)."""
    n_dims = state.means.shape[1]
    return (state.freedom[:, None] - torch.arange(n_dims, dtype=_DOUBLE, device=state.freedom.device)) / 2


def _bound(moments: _Moments, state: _State) -> float:
    """Evidence lower bound up to a constant, as scikit-learn computes it, with the entropy weighted.

    It holds only for a state that is the M-step of the same responsibilities.
    """
    n_dims, log_gamma = state.means.shape[1], torch.lgamma
    log_wishart = state.freedom * (state.log_det + n_dims / 2 * math.log(2.0)) + log_gamma(_halves(state)).sum(1)
    log_beta = log_gamma(state.stick_a) + log_gamma(state.stick_b) - log_gamma(state.stick_a + state.stick_b)
    return moments.entropy + float((log_wishart + log_beta - n_dims / 2 * state.mean_precision.log()).sum())


def _kept(state: _State, points: _Points, min_weight: float, bound: float, n_iterations: int) -> FittedMixture:
    """Back to x, without the components lighter than `min_weight`; the heaviest always stays."""
    share = state.stick_a / (state.stick_a + state.stick_b)
    left = torch.cumprod(1 - share, 0)
    weights = share * torch.cat([left.new_ones(1), left[:-1]])
    weights = weights / weights.sum()
    keep = weights >= min(min_weight, float(weights.max()))
    root = state.root[keep] if state.root.ndim == 3 else torch.diag_embed(state.root[keep])
    covariance_roots = points.scale @ root / state.freedom[keep].sqrt()[:, None, None]
    identity = torch.eye(points.n_dims, dtype=_DOUBLE, device=root.device).expand_as(root)
    precision_roots = torch.linalg.solve_triangular(covariance_roots, identity, upper=False).transpose(1, 2)
    return FittedMixture(
        weights[keep].cpu().numpy(),
        (points.origin + state.means[keep] @ points.scale.T).cpu().numpy(),
        np.ascontiguousarray(precision_roots.cpu().numpy()),
        _log_constants(state)[keep].cpu().numpy(),
        bound,
        n_iterations,
    )
