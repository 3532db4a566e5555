"""A fitted mixture: what applying it needs, whoever fitted it (`dp_gaussian`, `deep_dpm`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
