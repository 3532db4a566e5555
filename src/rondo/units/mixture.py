"""Dirichlet-process Gaussian mixture: truncated variational inference with weighted samples, in NumPy.

The model and its updates are those of Blei & Jordan (2006) with the normal-Wishart conventions of Bishop (2006),
chapter 10; scikit-learn's BayesianGaussianMixture, which has no sample weights, is the oracle of the tests. A sample of
weight w counts as w copies of it: the number of components is decided by evidence, not by the number of rows.

The work is done in coordinates y = L^-1 (x - mean) in which the prior has mean 0 and scatter I. There the M-step needs
only sums of the products y_i y_j, of y and of 1, the *terms* of a point, and the E-step is linear in the same numbers,
so one pass over blocks of points, with two matrix products each, is an iteration; and no component is tighter than the
prior allows, so that sums cannot cancel to nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import digamma, gammaln

from rondo.arrays import Floats as Floats
from rondo.arrays import Ints
from rondo.config.settings import AcceptanceConfig, MixtureConfig
from rondo.errors import RecordingError, RondoWarning, SettingError
from rondo.units.kmeans import weighted_kmeans

_REGULARISER = 1e-6  # added to every covariance, as in scikit-learn
_RELATIVE_REGULARISER = 1e-12  # keeps collinear latents of any scale solvable; far below what a result shows
_LARGEST_LATENT = 1e100  # its square, summed, is still a number
_BLOCK_NUMBERS = 1 << 17  # terms held at once, 1 MB: they stay in the cache, and memory does not grow
_LEAST_RADIUS = 1e-9  # members that coincide would give r = 0/0


@dataclass(frozen=True, eq=False)
class FittedMixture:
    """The components that were heavy enough to keep, in no particular order, whichever kind of mixture was fitted.

    log p(x, k) = log_constants[k] - 1/2 ||(x - means[k]) precision_roots[k]||^2
    """

    weights: Floats  # (n_components,), expected weights, over all components of the fit
    means: Floats  # (n_components, n_dims)
    precision_roots: Floats  # (n_components, n_dims, n_dims), upper triangular
    log_constants: Floats  # (n_components,)
    bound: float = math.nan  # evidence lower bound per unit of weight, up to a constant
    n_iterations: int = 0

    @property
    def n_components(self) -> int:
        return int(self.means.shape[0])

    def log_joint(self, latents: NDArray[np.floating]) -> Floats:
        """log p(x, component), (n, n_components)."""
        points = np.asarray(latents, dtype=np.float64)
        joint = np.empty((points.shape[0], self.n_components))
        for k in range(self.n_components):
            scaled = (points - self.means[k]) @ self.precision_roots[k]
            joint[:, k] = self.log_constants[k] - 0.5 * np.einsum("nd,nd->n", scaled, scaled)
        return joint

    def posterior(self, latents: NDArray[np.floating]) -> Floats:
        """Probability of each kept component, (n, n_components); rows sum to one."""
        joint = self.log_joint(latents)
        joint -= joint.max(axis=1, keepdims=True)
        np.exp(joint, out=joint)
        joint /= joint.sum(axis=1, keepdims=True)
        return joint


class Acceptance(NamedTuple):
    """An entry accepts distances up to `radius` and posteriors from `posterior_floor`."""

    radius: float
    posterior_floor: float


def acceptance_of(
    distances: NDArray[np.floating], posteriors: NDArray[np.floating], config: AcceptanceConfig
) -> Acceptance:
    """P95 of the members' distances to the centre, P5 of their posteriors (paper, Table Motif discovery).

    >>> widest = AcceptanceConfig(radius_quantile=1.0)
    >>> acceptance_of(np.array([1.0, 2.0, 3.0]), np.array([0.9, 1.0, 1.0]), widest)
    Acceptance(radius=3.0, posterior_floor=0.91)
    """
    radius = max(float(np.quantile(distances, config.radius_quantile)), _LEAST_RADIUS)
    return Acceptance(radius, float(np.quantile(posteriors, config.posterior_quantile)))


def fit_mixture(
    latents: NDArray[np.floating],
    config: MixtureConfig,
    rng: np.random.Generator,
    weights: NDArray[np.floating] | float | None = None,
    device: str = "cpu",
    start: Ints | Floats | None = None,
) -> FittedMixture:
    """Fit on latents (n, n_dims) by coordinate ascent, until the bound changes by less than `tolerance`.

    `weights` are of each window, or of every window: windows that overlap are not independent of each other. `start`
    holds the component of each window, (n,) from 0, or responsibilities (n, n_components) in place of the k-means
    start. It runs on the processor, whatever the device.
    """
    rows = checked_latents(latents)
    counts = np.asarray(1.0 if weights is None else weights, dtype=np.float64)
    if counts.shape not in ((), rows.shape[:1]):
        raise SettingError(f"weights of shape {counts.shape} for {len(rows)} windows; give one weight each")
    counts = np.full(len(rows), counts)
    if not (np.isfinite(counts).all() and counts.min() >= 0 and counts.sum() > 0):
        raise SettingError("weights must be finite, not negative and not all zero; mend them or leave them out")
    if start is None:
        responsibilities: NDArray[Any] = kmeans_start(rows, counts, config.component_cap, rng)
    else:
        responsibilities = start if start.ndim == 2 else np.eye(int(start.max()) + 1)[start]
    points = _whitened(rows, counts, config.covariance)
    weighted = responsibilities * counts[:, None]
    terms = np.zeros((weighted.shape[1], points.n_products + points.n_dims + 1))
    for span, block in points.blocks():
        terms += weighted[span].T @ block.T
    state = _maximise(terms, math.nan, points, config.concentration)
    n_iterations, bound, change = 0, -math.inf, math.inf
    while n_iterations < config.max_iterations and change >= config.tolerance:
        state = _maximise(*_expected_terms(points, state), points, config.concentration)
        before, bound = bound, state.bound / float(counts.sum())
        n_iterations, change = n_iterations + 1, abs(bound - before)
    if change >= config.tolerance:
        warnings.warn(
            f"the mixture did not settle in {n_iterations} iterations (last change {change:.2g}); "
            "raise mixture.max_iterations or mixture.tolerance",
            RondoWarning,
            stacklevel=2,
        )
    return _kept(state, points, config.min_weight, bound, n_iterations)


def checked_latents(latents: NDArray[np.floating]) -> Floats:
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


def kmeans_start(points: Floats, counts: Floats, cap: int, rng: np.random.Generator) -> Floats:
    """Hard responsibilities from weighted k-means; never more components than distinct points that count."""
    n_components = min(cap, np.unique(points[counts > 0], axis=0).shape[0])
    if n_components == 1:
        return np.ones((points.shape[0], 1))
    draws = np.random.RandomState(int(rng.integers(2**31)))  # as scikit-learn, whose starts these are, would draw
    labels = weighted_kmeans(points - points.mean(axis=0), counts, n_components, draws)
    return np.eye(n_components)[labels]


@dataclass(frozen=True)
class _Points:
    """Weighted points in coordinates y of the prior: x = origin + scale y, points along the second axis."""

    y: Floats  # (D, N)
    w: Floats  # (N,)
    covariance: str
    origin: Floats  # (D,), weighted mean of x
    scale: Floats  # (D, D), lower triangular root of the prior scatter
    noise: Floats  # _REGULARISER * I in these coordinates: (D, D) full, (D,) otherwise
    n_dims: int
    n_products: int  # of two coordinates: all pairs if full, else squares

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Spans of points and their terms (n_products + D + 1, b), valid until the next block: products, y, 1."""
        n_dims, n_points, n_products = self.n_dims, self.y.shape[1], self.n_products
        size = min(max(_BLOCK_NUMBERS // n_products, 128), 4096, n_points)
        held = np.empty((n_products + n_dims + 1, size))
        held[-1] = 1.0
        for first in range(0, n_points, size):
            y = self.y[:, first : first + size]
            terms = held[:, : y.shape[1]]
            if self.covariance == "full":
                begin = 0
                for i in range(n_dims):
                    np.multiply(y[i:], y[i], out=terms[begin : begin + n_dims - i])
                    begin += n_dims - i
            else:
                np.multiply(y, y, out=terms[:n_products])
            terms[n_products:-1] = y
            yield slice(first, first + size), terms


def _whitened(rows: Floats, counts: Floats, covariance: str) -> _Points:
    """Points in the coordinates of the prior: scikit-learn's mean and scatter of the data, regularised.

    The scatter is unbiased, as numpy.cov with frequency weights; a single point has none of its own.
    """
    total, n_dims = counts.sum(), rows.shape[1]
    origin = counts @ rows / total
    centred = rows - origin
    identity = np.eye(n_dims)
    scatter = (counts[:, None] * centred).T @ centred / max(total - 1, 1.0)
    variances = np.diagonal(scatter)
    scatter = scatter + (_REGULARISER + _RELATIVE_REGULARISER * variances.mean()) * identity
    if covariance == "diagonal":
        scatter = scatter * identity
    scale = np.linalg.cholesky(scatter)
    unscale = solve_triangular(scale, identity, lower=True)
    noise = _REGULARISER * unscale @ unscale.T
    y = np.ascontiguousarray(solve_triangular(scale, centred.T, lower=True))
    if covariance == "full":
        return _Points(y, counts, covariance, origin, scale, noise, n_dims, n_dims * (n_dims + 1) // 2)
    return _Points(y, counts, covariance, origin, scale, np.diagonal(noise), n_dims, n_dims)


class _State(NamedTuple):
    """Variational parameters after one M-step; the prior has mean precision 1 and freedom D."""

    stick_a: Floats  # (K,) beta parameters of the stick-breaking weights
    stick_b: Floats
    means: Floats  # (K, D), in y
    freedom: Floats  # (K,)
    root: Floats  # lower triangular root of the scatter in y: (K, D, D), or (K, D) where it is diagonal
    log_constants: Floats  # (K,), what of E[log pi_k] + E[log N(x; mu_k, Lambda_k)] does not depend on x
    bound: float  # evidence lower bound up to a constant, as scikit-learn computes it, with the entropy weighted


def _expected_terms(points: _Points, state: _State) -> tuple[Floats, float]:
    """The E-step in one pass: terms of the points weighted by responsibility, (K, n_products + D + 1), and entropy.

    Responsibilities are the softmax over k of E[log pi_k] + E[log N(y; mu_k, Lambda_k)], which is linear in the terms:
    -1/2 (y - m)^T P (y - m) = products @ quadratic + y @ linear - 1/2 m^T P m, with P the expected precision.
    """
    if points.covariance == "full":
        above, below = np.triu_indices(points.n_dims)
        unrooted = np.linalg.inv(state.root)
        precisions = state.freedom[:, None, None] * (unrooted.transpose(0, 2, 1) @ unrooted)
        quadratic = -precisions[:, above, below]
        quadratic[:, above == below] /= 2  # every other product stands for two entries of P
        linear = (precisions @ state.means[:, :, None])[:, :, 0]
    else:
        precisions = state.freedom[:, None] / state.root**2
        quadratic = -precisions / 2
        linear = precisions * state.means
    constants = state.log_constants - (linear * state.means).sum(axis=1) / 2
    log_joint = np.concatenate([quadratic, linear, constants[:, None]], axis=1)
    sums, entropy = np.zeros_like(log_joint), 0.0
    for span, terms in points.blocks():
        joint = log_joint @ terms
        joint -= joint.max(axis=0)
        weighted = np.exp(joint)
        totals = weighted.sum(axis=0)  # log r_k = joint_k - log totals: that is the entropy
        weighted *= points.w[span] / totals
        sums += weighted @ terms.T
        entropy += float(points.w[span] @ np.log(totals)) - float(np.vdot(weighted, joint))
    return sums, entropy


def _maximise(terms: Floats, entropy: float, points: _Points, concentration: float) -> _State:
    """The M-step: variational parameters from the weighted terms and the entropy of the responsibilities.

    With prior mean 0, mean precision 1 and scatter I: mean = first / (1 + n), and
    scatter = I + second + n * noise - (1 + n) * mean mean^T.
    """
    n_dims = points.n_dims
    second, first, n = terms[:, : points.n_products], terms[:, points.n_products : -1], terms[:, -1]
    stick_a, stick_b = 1 + n, concentration + (n[::-1].cumsum()[::-1] - n)  # the weight in later components
    mean_precision, freedom = 1 + n, n_dims + n
    means = first / mean_precision[:, None]
    if points.covariance == "full":
        above, below = np.triu_indices(n_dims)
        scatter = n[:, None, None] * points.noise + np.eye(n_dims)
        scatter -= mean_precision[:, None, None] * means[:, :, None] * means[:, None, :]
        scatter[:, below, above] += second  # the lower triangle is all that the root reads
        root = np.asarray(np.linalg.cholesky(scatter), dtype=np.float64)
        log_diagonal = np.log(np.diagonal(root, axis1=1, axis2=2))
    else:
        root = np.sqrt(1 + second + n[:, None] * points.noise - mean_precision[:, None] * means**2)
        log_diagonal = np.log(root)
    log_det = -log_diagonal.sum(axis=1) - np.log(np.diagonal(points.scale)).sum()  # of the inverse root, in x
    both = digamma(stick_a + stick_b)
    rest = np.cumsum(digamma(stick_b) - both)
    log_weights = digamma(stick_a) - both + np.concatenate([[0.0], rest[:-1]])
    halves = (freedom[:, None] - np.arange(n_dims)) / 2
    log_lambda = 2 * log_det + digamma(halves).sum(axis=1) + n_dims * math.log(2.0)
    spread = (log_lambda - n_dims / mean_precision - n_dims * math.log(2 * math.pi)) / 2
    log_wishart = freedom * (log_det + n_dims / 2 * math.log(2.0)) + gammaln(halves).sum(axis=1)
    log_beta = gammaln(stick_a) + gammaln(stick_b) - gammaln(stick_a + stick_b)
    bound = entropy + float((log_wishart + log_beta - n_dims / 2 * np.log(mean_precision)).sum())
    return _State(stick_a, stick_b, means, freedom, root, np.asarray(log_weights + spread), bound)


def _kept(state: _State, points: _Points, min_weight: float, bound: float, n_iterations: int) -> FittedMixture:
    """Back to x, without the components lighter than `min_weight`; the heaviest always stays."""
    share = state.stick_a / (state.stick_a + state.stick_b)
    left = np.cumprod(1 - share)
    weights = share * np.concatenate([[1.0], left[:-1]])
    weights = weights / weights.sum()
    keep = weights >= min(min_weight, float(weights.max()))
    identity = np.eye(points.n_dims)
    root = state.root[keep] if state.root.ndim == 3 else state.root[keep][:, :, None] * identity
    covariance_roots = points.scale @ root / np.sqrt(state.freedom[keep])[:, None, None]
    precision_roots = np.stack([solve_triangular(own, identity, lower=True).T for own in covariance_roots])
    means = points.origin + state.means[keep] @ points.scale.T
    return FittedMixture(weights[keep], means, precision_roots, state.log_constants[keep], bound, n_iterations)
