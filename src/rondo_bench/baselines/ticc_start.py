"""Where TICC starts: a Gaussian mixture with full covariances, whose components are the first labels.

It is scikit-learn's, by its definition and with its defaults: k-means, then expectation and maximisation until the mean
log-likelihood gains less than a tolerance. scikit-learn's own takes four fifths of the time of a whole run of TICC on a
recording of MoCap; with the costs of `ticc_solver` the same steps take a third of that.
"""

from __future__ import annotations

import warnings

import numpy as np

from rondo_bench.baselines.ticc_path import Path
from rondo_bench.baselines.ticc_solver import Matrix, States

_VARIANCE_FLOOR = 1e-6  # this and the next two: scikit-learn's defaults
_LEAST_GAIN = 1e-3
_MOST_ROUNDS = 100


def first_labels(rows: Matrix, n_states: int, draws: np.random.RandomState) -> Path:
    """The component of each window. Where covariances are so singular that the floor is lost, that of k-means."""
    labels = _k_means(rows, n_states, draws)
    memberships = (labels == np.arange(n_states)[:, None]).astype(np.float64).T
    bound, gain, n_rounds = -np.inf, np.inf, 0
    try:
        log_weights, states = _maximised(rows, memberships)
        while gain >= _LEAST_GAIN and n_rounds < _MOST_ROUNDS:
            log_likelihood, memberships = _expected(rows, log_weights, states)
            log_weights, states = _maximised(rows, memberships)
            gain, bound, n_rounds = abs(log_likelihood - bound), log_likelihood, n_rounds + 1
    except np.linalg.LinAlgError:
        return labels
    return np.asarray((log_weights - states.costs(rows) / 2).argmax(axis=1), dtype=np.int64)


def _k_means(rows: Matrix, n_states: int, draws: np.random.RandomState) -> Path:
    from sklearn.cluster import KMeans  # slow to import
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different windows than states: some stay empty
        return np.asarray(KMeans(n_states, n_init=1, random_state=draws).fit(rows).labels_, dtype=np.int64)


def _expected(rows: Matrix, log_weights: Matrix, states: States) -> tuple[float, Matrix]:
    """The mean log-likelihood, but for a constant, and the share of each component in each window."""
    log_joint = states.costs(rows)
    log_joint *= -0.5
    log_joint += log_weights
    most = log_joint.max(axis=1, keepdims=True)
    shares = np.exp(log_joint - most)
    total = shares.sum(axis=1, keepdims=True)
    shares /= total
    return float((most + np.log(total)).mean()), shares


def _maximised(rows: Matrix, memberships: Matrix) -> tuple[Matrix, States]:
    """Log-weights, means and inverse covariances of the components, given the share that each window has in them."""
    sizes = memberships.sum(axis=0) + 10 * np.finfo(np.float64).eps
    means = memberships.T @ rows / sizes[:, None]
    covariances = np.empty((len(sizes), rows.shape[1], rows.shape[1]))
    for covariance, share, mean, size in zip(covariances, memberships.T, means, sizes, strict=True):
        away = rows - mean
        covariance[:] = (away * share[:, None]).T @ away / size
    covariances += _VARIANCE_FLOOR * np.eye(rows.shape[1])
    np.linalg.cholesky(covariances)  # refuses what is not positive definite
    return np.log(sizes / sizes.sum()), States(means, np.asarray(np.linalg.inv(covariances), dtype=np.float64))
