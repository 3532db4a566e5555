"""Dirichlet-process Gaussian mixture: truncated variational inference with weighted samples, in NumPy.

The model and its updates are those of Blei & Jordan (2006) with the normal-Wishart conventions of Bishop
(2006), chapter 10; scikit-learn's BayesianGaussianMixture, which has no sample weights, is the oracle of the
tests. A sample of weight w counts as w copies of it: the number of components is decided by evidence, not by
the number of rows.

The work is done in coordinates y = L^-1 (x - mean) in which the prior has mean 0 and scatter I. There the
M-step needs only sums of the products y_i y_j, of y and of 1, the *terms* of a point, and the E-step is linear in
the same numbers, so one pass over blocks of points, with two matrix products each, is an iteration; and no component
is tighter than the prior allows, so that sums cannot cancel to nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import digamma, gammaln

from rondo.arrays import Floats as Floats
from rondo.config.settings import AcceptanceConfig, MixtureConfig
from rondo.errors import RecordingError, RondoWarning, SettingError
from rondo.registry import MIXTURES
from rondo.units.kmeans import weighted_kmeans

# ----------------------------------------------------------------
# A fitted mixture: what applying it needs, whoever fitted it (`dp_gaussian`, `deep_dpm`).


@dataclass(frozen=True, eq=False)
class FittedMixture:
    """The components that were heavy enough to keep, in no particular order; arrays are float64.

    log p(x, k) = log_constants[k] - 1/2 ||(x - means[k]) precision_roots[k]||^2
    """

    weights: NDArray[np.float64]  # (n_components,), expected weights, over all components of the fit
    means: NDArray[np.float64]  # (n_components, n_dims)
    precision_roots: NDArray[np.float64]  # (n_components, n_dims, n_dims), upper triangular
    log_constants: NDArray[np.float64]  # (n_components,)
    bound: float = math.nan  # evidence lower bound per unit of weight, up to a constant
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
        joint /= joint.sum(axis=1, keepdims=True)
        return joint


_REGULARISER = 1e-6  # added to every covariance, as in scikit-learn
_RELATIVE_REGULARISER = 1e-12  # keeps collinear latents of any scale solvable; far below what a result shows
_LARGEST_LATENT = 1e100  # its square, summed, is still a number
_BLOCK_NUMBERS = 1 << 17  # terms held at once, 1 MB: they stay in the cache, and memory does not grow


def fit_mixture(
    latents: NDArray[np.floating],
    config: MixtureConfig,
    rng: np.random.Generator,
    sample_weight: NDArray[np.floating] | None = None,
    responsibilities: NDArray[np.floating] | None = None,
) -> FittedMixture:
    """Fit on latents (n, n_dims) by coordinate ascent, until the bound changes by less than `tolerance`.

    `responsibilities` (n, n_components), if given, replace the k-means start.
    """
    rows = checked_latents(latents)
    counts = _checked_weights(sample_weight, rows.shape[0])
    if responsibilities is None:
        responsibilities = kmeans_start(rows, counts, config.component_cap, rng)
    points = _whitened(rows, counts, config.covariance)
    state = _maximise(_given_moments(points, responsibilities), points, config.concentration)
    n_iterations, bound, change = 0, -math.inf, math.inf
    while n_iterations < config.max_iterations and change >= config.tolerance:
        moments = _expected_moments(points, state)
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

    y: Floats  # (D, N)
    w: Floats  # (N,)
    covariance: str
    origin: Floats  # (D,), weighted mean of x
    scale: Floats  # (D, D), lower triangular root of the prior scatter
    noise: Floats  # _REGULARISER * I in these coordinates: (D, D) full, (D,) otherwise

    @property
    def n_dims(self) -> int:
        return int(self.y.shape[0])

    @property
    def n_products(self) -> int:
        return self.n_dims * (self.n_dims + 1) // 2 if self.covariance == "full" else self.n_dims

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Spans of points and their terms (n_products + D + 1, b), valid until the next block.

        Terms are the products of y, all pairs if full, else squares; then y; then 1.
        """
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
    n_components = min(cap, np.unique(points[counts > 0], axis=0).shape[0])
    if n_components == 1:
        return np.ones((points.shape[0], 1))
    draws = np.random.RandomState(int(rng.integers(2**31)))  # as scikit-learn, whose starts these are, would draw
    labels = weighted_kmeans(points - points.mean(axis=0), counts, n_components, draws)
    return np.eye(n_components)[labels]


def _whitened(rows: Floats, counts: Floats, covariance: str) -> _Points:
    """Points in the coordinates of the prior: scikit-learn's mean and scatter of the data, regularised.

    The scatter is unbiased, as numpy.cov with frequency weights; a single point has none of its own.
    """
    total = counts.sum()
    origin = counts @ rows / total
    centred = rows - origin
    identity = np.eye(rows.shape[1])
    scatter = (counts[:, None] * centred).T @ centred / max(total - 1, 1.0)
    variances = np.diagonal(scatter)
    scatter = scatter + (_REGULARISER + _RELATIVE_REGULARISER * variances.mean()) * identity
    if covariance == "diagonal":
        scatter = scatter * identity
    scale = np.linalg.cholesky(scatter)
    unscale = solve_triangular(scale, identity, lower=True)
    noise = _REGULARISER * unscale @ unscale.T
    y = np.ascontiguousarray(solve_triangular(scale, centred.T, lower=True))
    return _Points(y, counts, covariance, origin, scale, noise if covariance == "full" else np.diagonal(noise))


# ---------------------------------------------------------------- one iteration


@dataclass(frozen=True)
class _Moments:
    """What the points say to each component: their terms, weighted by responsibility."""

    terms: Floats  # (K, n_products + D + 1)
    n_dims: int
    entropy: float  # of the responsibilities; NaN for those given, whose bound nobody needs

    @property
    def n(self) -> Floats:
        """(K,)"""
        return self.terms[:, -1]

    @property
    def first(self) -> Floats:
        """Sums of y, (K, D)."""
        return self.terms[:, -1 - self.n_dims : -1]

    @property
    def second(self) -> Floats:
        """Sums of the products of y, (K, n_products)."""
        return self.terms[:, : -1 - self.n_dims]


@dataclass(frozen=True)
class _State:
    """Variational parameters after one M-step; the prior has mean precision 1 and freedom D."""

    stick_a: Floats  # (K,) beta parameters of the stick-breaking weights
    stick_b: Floats
    mean_precision: Floats  # (K,)
    means: Floats  # (K, D), in y
    freedom: Floats  # (K,)
    root: Floats  # lower triangular root of the scatter in y: (K, D, D), or (K, D) where it is diagonal
    log_det: Floats  # (K,), log determinant of the inverse of that root, in x


def _given_moments(points: _Points, responsibilities: NDArray[np.floating]) -> _Moments:
    """Moments of responsibilities (n, K) that a fit starts with."""
    weighted = np.asarray(responsibilities, dtype=np.float64) * points.w[:, None]
    sums = np.zeros((weighted.shape[1], points.n_products + points.n_dims + 1))
    for span, terms in points.blocks():
        sums += weighted[span].T @ terms.T
    return _Moments(sums, points.n_dims, math.nan)


def _expected_moments(points: _Points, state: _State) -> _Moments:
    """The E-step and its moments in one pass: responsibilities are the softmax of log joints (K, b).

    With log joints a_k less their maximum, and t = sum_k exp(a_k), log r_k = a_k - log t: that is the entropy.
    """
    log_joint = _log_joint(state)
    sums, entropy = np.zeros_like(log_joint), 0.0
    for span, terms in points.blocks():
        joint = log_joint @ terms
        joint -= joint.max(axis=0)
        weighted = np.exp(joint)
        totals = weighted.sum(axis=0)
        weighted *= points.w[span] / totals
        sums += weighted @ terms.T
        entropy += float(points.w[span] @ np.log(totals)) - float(np.vdot(weighted, joint))
    return _Moments(sums, points.n_dims, entropy)


def _maximise(moments: _Moments, points: _Points, concentration: float) -> _State:
    """Variational parameters given the moments of the responsibilities.

    With prior mean 0, mean precision 1 and scatter I: mean = first / (1 + n), and
    scatter = I + second + n * noise - (1 + n) * mean mean^T.
    """
    n, n_dims = moments.n, points.n_dims
    after = n[::-1].cumsum()[::-1] - n  # weight in later components: sum_{j>k} n_j
    mean_precision = 1 + n
    means = moments.first / mean_precision[:, None]
    if points.covariance == "full":
        above, below = np.triu_indices(n_dims)
        scatter = n[:, None, None] * points.noise + np.eye(n_dims)
        scatter -= mean_precision[:, None, None] * means[:, :, None] * means[:, None, :]
        scatter[:, below, above] += moments.second  # the lower triangle is all that the root reads
        root = np.asarray(np.linalg.cholesky(scatter), dtype=np.float64)
        log_diagonal = np.log(np.diagonal(root, axis1=1, axis2=2))
    else:
        variances = 1 + moments.second + n[:, None] * points.noise - mean_precision[:, None] * means**2
        root = np.sqrt(variances)
        log_diagonal = np.log(root)
    log_det = -log_diagonal.sum(axis=1) - np.log(np.diagonal(points.scale)).sum()
    return _State(1 + n, concentration + after, mean_precision, means, n_dims + n, root, log_det)


def _log_joint(state: _State) -> Floats:
    """E[log pi_k] + E[log N(y; mu_k, Lambda_k)] as weights of the terms of a point, (K, n_products + D + 1).

    -1/2 (y - m)^T P (y - m) = products @ quadratic + y @ linear - 1/2 m^T P m, with P the expected precision.
    """
    if state.root.ndim == 3:
        above, below = np.triu_indices(state.means.shape[1])
        unrooted = np.linalg.inv(state.root)
        precisions = state.freedom[:, None, None] * (unrooted.transpose(0, 2, 1) @ unrooted)
        quadratic = -precisions[:, above, below]
        quadratic[:, above == below] /= 2  # every other product stands for two entries of P
        linear = (precisions @ state.means[:, :, None])[:, :, 0]
    else:
        precisions = state.freedom[:, None] / state.root**2
        quadratic = -precisions / 2
        linear = precisions * state.means
    constants = _log_constants(state) - (linear * state.means).sum(axis=1) / 2
    return np.concatenate([quadratic, linear, constants[:, None]], axis=1)


def _log_constants(state: _State) -> Floats:
    """What of E[log pi_k] + E[log N(x; mu_k, Lambda_k)] does not depend on x, (K,)."""
    n_dims = state.means.shape[1]
    log_lambda = 2 * state.log_det + digamma(_halves(state)).sum(axis=1) + n_dims * math.log(2.0)
    spread = (log_lambda - n_dims / state.mean_precision - n_dims * math.log(2 * math.pi)) / 2
    return np.asarray(_log_weights(state) + spread)


def _log_weights(state: _State) -> Floats:
    """E[log pi_k] of the stick-breaking construction."""
    both = digamma(state.stick_a + state.stick_b)
    rest = np.cumsum(digamma(state.stick_b) - both)
    return np.asarray(digamma(state.stick_a) - both + np.concatenate([[0.0], rest[:-1]]))


def _halves(state: _State) -> Floats:
    """(freedom - j) / 2 for j = 0 .. D-1, (K, D)."""
    return np.asarray((state.freedom[:, None] - np.arange(state.means.shape[1])) / 2)


def _bound(moments: _Moments, state: _State) -> float:
    """Evidence lower bound up to a constant, as scikit-learn computes it, with the entropy weighted.

    It holds only for a state that is the M-step of the same responsibilities.
    """
    n_dims = state.means.shape[1]
    log_wishart = state.freedom * (state.log_det + n_dims / 2 * math.log(2.0)) + gammaln(_halves(state)).sum(axis=1)
    log_beta = gammaln(state.stick_a) + gammaln(state.stick_b) - gammaln(state.stick_a + state.stick_b)
    return moments.entropy + float((log_wishart + log_beta - n_dims / 2 * np.log(state.mean_precision)).sum())


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
    precision_roots = [solve_triangular(own, identity, lower=True).T for own in covariance_roots]
    return FittedMixture(
        weights[keep],
        points.origin + state.means[keep] @ points.scale.T,
        np.stack(precision_roots),
        _log_constants(state)[keep],
        bound,
        n_iterations,
    )


# ----------------------------------------------------------------
# The mixture that a configuration names, fitted.
#
# The *acceptance* of an entry: how far from it, and how sure, its own members are; for units, motifs and updates
# alike.
#
# Radius R = P95 of the members' distances to the centre; posterior floor = P5 of the members' posteriors (paper, Table
# Motif discovery).

_LEAST_RADIUS = 1e-9  # members that coincide would give r = 0/0
_HIGHEST_FLOOR = 0.99  # posteriors saturate at 1; a floor of exactly 1 would reject by rounding


def fit_components(
    latents: NDArray[np.floating],
    config: MixtureConfig,
    rng: np.random.Generator,
    window_weight: float = 1.0,
    device: str = "cpu",  # of DeepDPM's nets
    start: NDArray[np.int64] | None = None,
) -> FittedMixture:
    """Components of latents (n_windows, n_dims), as many as the data ask for.

    A window counts as `window_weight` observations: windows that overlap are not independent of each other. `start`
    is a component for each window, from 0, to begin with; DeepDPM, which splits and merges, has no use for it.
    """
    return MIXTURES[config.kind].fit(latents, config, rng, window_weight, device, start)


def fit_dp_gaussian(
    latents: NDArray[np.floating],
    config: MixtureConfig,
    rng: np.random.Generator,
    window_weight: float,
    device: str,
    start: NDArray[np.int64] | None,
) -> FittedMixture:
    """The variational mixture, on the processor."""
    responsibilities = None if start is None else np.eye(int(start.max()) + 1)[start]
    return fit_mixture(latents, config, rng, np.full(len(latents), window_weight), responsibilities)


class Acceptance(NamedTuple):
    """What an entry accepts: distance up to `radius` and posterior from `posterior_floor`."""

    radius: float
    posterior_floor: float


def acceptance_of(
    distances: NDArray[np.floating], posteriors: NDArray[np.floating], config: AcceptanceConfig
) -> Acceptance:
    """Acceptance from the distances and posteriors (n_members,) of the members of one entry.

    >>> widest = AcceptanceConfig(radius_quantile=1.0)
    >>> acceptance_of(np.array([1.0, 2.0, 3.0]), np.array([0.9, 1.0, 1.0]), widest)
    Acceptance(radius=3.0, posterior_floor=0.91)
    """
    radius = max(float(np.quantile(distances, config.radius_quantile)), _LEAST_RADIUS)
    floor = min(float(np.quantile(posteriors, config.posterior_quantile)), _HIGHEST_FLOOR)
    return Acceptance(radius, floor)
