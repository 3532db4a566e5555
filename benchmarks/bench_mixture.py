"""Speed of the Dirichlet-process mixture, beside scikit-learn's, from the same start for the same iterations.

    OMP_NUM_THREADS=1 python benchmarks/bench_mixture.py

Wanted: at least twice as fast at 4,000 points x 32 dimensions x 30 components, full covariances, one thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_limits

from rondo.config.settings import MixtureConfig
from rondo.errors import RondoWarning
from rondo.units.mixture import FittedMixture, fit_mixture

N_ITERATIONS = 20
SIZES = (
    (4_000, 32, 30, "full"),
    (1_000, 4, 20, "full"),
    (14_000, 4, 20, "full"),
    (4_000, 32, 30, "diagonal"),
)


class Peer(BayesianGaussianMixture):
    """scikit-learn's mixture from given responsibilities."""

    start: NDArray[np.float64]

    def _initialize_parameters(self, X: NDArray[np.float64], random_state: object, xp: object = None) -> None:
        self._initialize(X, self.start)


def fit_peer(x: NDArray[np.float64], start: NDArray[np.float64], covariance: str) -> Peer:
    peer = Peer(
        n_components=start.shape[1],
        covariance_type="diag" if covariance == "diagonal" else covariance,
        weight_concentration_prior_type="dirichlet_process",
        weight_concentration_prior=1.0,
        max_iter=N_ITERATIONS,
        tol=1e-300,
    )
    peer.start = start
    return peer.fit(x)


def fit_ours(x: NDArray[np.float64], start: NDArray[np.float64], covariance: str) -> FittedMixture:
    config = MixtureConfig(covariance=covariance, max_iterations=N_ITERATIONS, tolerance=1e-300, min_weight=0.0)
    return fit_mixture(x, config, np.random.default_rng(0), responsibilities=start)


def milliseconds(action: Callable[[], object], n_runs: int = 3) -> float:
    took = []
    for _ in range(n_runs):
        start = time.perf_counter()
        action()
        took.append(time.perf_counter() - start)
    return 1e3 * min(took)


def main() -> None:
    threadpool_limits(1)
    warnings.simplefilter("ignore", RondoWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    rng = np.random.default_rng(0)
    print(f"{N_ITERATIONS} iterations")
    print("  points  dimensions  components  covariance       ours   scikit-learn   scikit-learn / ours")
    for n, n_dims, n_components, covariance in SIZES:
        centres = rng.normal(0, 3, (n_components // 2, n_dims))
        x = centres[rng.integers(len(centres), size=n)] + rng.normal(size=(n, n_dims))
        start = rng.dirichlet(np.full(n_components, 0.3), size=n)
        ours, peer = fit_ours(x, start, covariance), fit_peer(x, start, covariance)
        if not np.allclose(ours.posterior(x), peer.predict_proba(x), atol=1e-3):
            raise SystemExit("the two fits differ")
        ours_ms = milliseconds(lambda x=x, s=start, c=covariance: fit_ours(x, s, c))
        peer_ms = milliseconds(lambda x=x, s=start, c=covariance: fit_peer(x, s, c))
        print(
            f"{n:>8,} {n_dims:>11} {n_components:>11}  {covariance:<10}"
            f"{ours_ms:>9.1f} ms {peer_ms:>11.1f} ms {peer_ms / ours_ms:>18.1f} x"
        )


if __name__ == "__main__":
    main()
