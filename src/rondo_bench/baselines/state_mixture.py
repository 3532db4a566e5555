"""The mixture that turns embedded windows into states, for Time2State and E2USD, kept so that it can read more.

Both released codes fit scikit-learn's truncated Dirichlet-process mixture and throw it away. What it needs to place
another window is three arrays: with D dimensions, factors F_k of the mean precisions (F_k F_kᵀ), and everything in its
variational bound that does not depend on the window summed up in one number c_k,

    component of z  =  argmax_k  c_k − ½ ‖(z − m_k) F_k‖²
    c_k = E[log π_k] + log |F_k| − ½ D log ν_k + ½ (D log 2 + Σ_d ψ(½ (ν_k − d)) − D / κ_k)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import Labels
from rondo.errors import ModelError, RondoWarning

_MIXTURE_ITERATIONS = 1000  # released code of both
_VARIANCE_FLOOR = 1e-6  # scikit-learn's default


@dataclass(frozen=True, eq=False)
class Components:
    """Gaussian components that divide embeddings among them; the number of a component is its state."""

    offsets: NDArray[np.float64]  # (n_components,)
    means: NDArray[np.float64]  # (n_components, n_dims)
    factors: NDArray[np.float64]  # (n_components, n_dims, n_dims)

    def states_of(self, embeddings: NDArray[np.float64]) -> Labels:
        """The state of each embedding, (n_windows, n_dims) -> (n_windows,)."""
        scores = np.empty((len(embeddings), len(self.means)))
        for k, (mean, factor) in enumerate(zip(self.means, self.factors, strict=True)):
            scores[:, k] = self.offsets[k] - 0.5 * np.square(embeddings @ factor - mean @ factor).sum(axis=1)
        return np.asarray(scores.argmax(axis=1), dtype=np.int32)

    def in_order(self, states: Labels) -> Components:
        """The same components, numbered as they appear in these states; those that do not appear come after."""
        absent = np.setdiff1d(np.arange(len(self.means)), states)
        seen, firsts = np.unique(states, return_index=True)
        order = np.concatenate([seen[firsts.argsort()], absent])
        return Components(self.offsets[order], self.means[order], self.factors[order])

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        return {"offsets": self.offsets, "means": self.means, "factors": self.factors}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[np.generic]]) -> Components:
        for name in ("offsets", "means", "factors"):
            if name not in tensors:
                raise ModelError(f"the mixture's tensor '{name}' is missing; fit and save the model again")
        offsets, means, factors = (np.asarray(tensors[name], np.float64) for name in ("offsets", "means", "factors"))
        n_dims = means.shape[-1]
        if means.shape != (len(offsets), n_dims) or factors.shape != (len(offsets), n_dims, n_dims):
            raise ModelError(
                f"the mixture's tensors disagree: offsets {offsets.shape}, means {means.shape}, factors "
                f"{factors.shape}; fit and save the model again"
            )
        return cls(offsets, means, factors)


def fitted_components(
    embeddings: NDArray[np.float64], component_cap: int, concentration: float, seed: int, method: str
) -> Components:
    """A truncated Dirichlet-process mixture of the embeddings (n_windows, n_dims).

    The prior of the covariances is scikit-learn's own, the covariance of all embeddings, with the floor that it gives
    to variances added, so that few different windows do not make it singular.
    """
    n_windows, n_dims = embeddings.shape
    if n_windows < 2:
        return Components(np.zeros(1), np.zeros((1, n_dims)), np.eye(n_dims)[None])
    from sklearn.exceptions import ConvergenceWarning  # slow to import
    from sklearn.mixture import BayesianGaussianMixture

    mixture = BayesianGaussianMixture(
        n_components=min(component_cap, n_windows),
        weight_concentration_prior=concentration,
        covariance_prior=np.atleast_2d(np.cov(embeddings.T)) + _VARIANCE_FLOOR * np.eye(n_dims),
        reg_covar=_VARIANCE_FLOOR,
        max_iter=_MIXTURE_ITERATIONS,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said below, in one line
        mixture.fit(embeddings)
    if not mixture.converged_:
        warnings.warn(
            f"{method}: the mixture had not settled after {_MIXTURE_ITERATIONS} iterations; its states may be "
            "arbitrary, try another seed",
            RondoWarning,
            stacklevel=2,
        )
    return Components(_offsets(mixture, n_dims), mixture.means_, mixture.precisions_cholesky_)


def _offsets(mixture: Any, n_dims: int) -> NDArray[np.float64]:
    """c_k of the module's equation; E[log π_k] is that of breaking a stick, Beta(a_k, b_k) of the rest each time."""
    from scipy.special import digamma

    a, b = mixture.weight_concentration_
    freedom, precision = mixture.degrees_of_freedom_, mixture.mean_precision_
    left = np.cumsum(digamma(b) - digamma(a + b))
    weights = digamma(a) - digamma(a + b) + np.concatenate([[0.0], left[:-1]])
    volumes = np.log(np.diagonal(mixture.precisions_cholesky_, axis1=1, axis2=2)).sum(axis=1)
    spread = digamma(0.5 * (freedom[:, None] - np.arange(n_dims))).sum(axis=1)
    expected = n_dims * np.log(2) + spread - n_dims / precision
    return np.asarray(weights + volumes - 0.5 * n_dims * np.log(freedom) + 0.5 * expected)
