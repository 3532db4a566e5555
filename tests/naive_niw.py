"""Slow, obvious twins of the normal-inverse-Wishart prior: predictive densities one point after the other, in loops."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import multivariate_t

Floats = NDArray[np.float64]


def log_marginal(x: Floats, mean: Floats, scatter: Floats, kappa: float, freedom: float) -> float:
    """log p(x_1) + log p(x_2 | x_1) + ...: each predictive is a Student t, and each point updates the prior."""
    total = 0.0
    d = mean.size
    for point in x:
        t_freedom = freedom - d + 1
        shape = scatter * (kappa + 1) / (kappa * t_freedom)
        total += float(multivariate_t.logpdf(point, loc=mean, shape=shape, df=t_freedom))
        apart = point - mean
        scatter = scatter + kappa / (kappa + 1) * np.outer(apart, apart)
        mean = (kappa * mean + point) / (kappa + 1)
        kappa, freedom = kappa + 1, freedom + 1
    return total


def log_marginal_by_quadrature(x: Floats, mean: float, scatter: float, kappa: float, freedom: float) -> float:
    """The integral of the likelihood over the prior in one dimension, as a sum over a grid of (mu, log sigma^2)."""
    mu = np.linspace(x.mean() - 12, x.mean() + 12, 3001)[:, None]
    log_variance = np.linspace(-9, 9, 2001)[None, :]
    variance = np.exp(log_variance)
    log_prior = (
        freedom / 2 * math.log(scatter / 2)
        - math.lgamma(freedom / 2)
        - (freedom / 2 + 1) * log_variance
        - scatter / (2 * variance)
    )
    log_prior = log_prior - 0.5 * (np.log(2 * math.pi * variance / kappa) + kappa * (mu - mean) ** 2 / variance)
    log_likelihood = sum(-0.5 * (np.log(2 * math.pi * variance) + (v - mu) ** 2 / variance) for v in x)
    log_density = log_prior + log_likelihood + log_variance  # d sigma^2 = sigma^2 d log sigma^2
    cell = (mu[1, 0] - mu[0, 0]) * (log_variance[0, 1] - log_variance[0, 0])
    peak = float(log_density.max())
    return peak + math.log(float(np.exp(log_density - peak).sum()) * cell)


def log_partition(x: Floats, labels: NDArray[np.integer], alpha: float, **prior: object) -> float:
    """log of the Chinese-restaurant probability of a partition times the marginal likelihood of its parts.

    Windows take seats one after the other: an old table with its count, a new one with alpha, over their sum.
    """
    seated: dict[int, int] = {}
    total = 0.0
    for i, label in enumerate(labels.tolist()):
        total += math.log(seated.get(label, 0) or alpha) - math.log(i + alpha)
        seated[label] = seated.get(label, 0) + 1
    return total + sum(log_marginal(x[labels == k], **prior) for k in seated)  # type: ignore[arg-type]


def mode_density(mu: Floats, sigma: Floats, x: Floats, mean: Floats, scatter: Floats, kappa: float, nu: float) -> float:
    """log of likelihood times prior at (mu, sigma), up to a constant."""
    d, inverse = mean.size, np.linalg.inv(sigma)
    log_det = np.linalg.slogdet(sigma)[1]
    value = -(nu + d + 1) / 2 * log_det - np.trace(scatter @ inverse) / 2
    value += -log_det / 2 - kappa / 2 * (mu - mean) @ inverse @ (mu - mean)
    for point in x:
        value += -log_det / 2 - (point - mu) @ inverse @ (point - mu) / 2
    return float(value)
