"""The states of TICC: a mean and a sparse block-Toeplitz inverse covariance each, by the alternating direction method.

A window stacks `width` frames of n channels, p = n·width numbers. The inverse covariance Θ of a state has one block for
each lag between two of its frames, wherever in the window they lie, so it is symmetric and block-Toeplitz:

    Θ = argmin  -log det Θ + tr(SΘ) + λ·Σ|Θ_ij|      S: covariance of the windows of this state

which is split into Θ (anything positive definite) and Z (Toeplitz and sparse), held together by scaled duals U:

    Θ = Q·diag(d + √(d² + 4ρ))·Qᵀ / 2ρ       from the eigenvectors and eigenvalues of ρ(Z - U) - S
    Z = of Θ + U, in each class of entries that must be equal, the mean, drawn towards 0 by λ/ρ
    U = U + Θ - Z

All states are solved at once, in stacks of matrices. The released code takes ρ = 1 and starts from zeros, which takes
about 400 steps; `toeplitz_lasso` gets nearer to the same minimum in 25.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.data.windows import Span

Matrix = NDArray[np.float64]
Stack = NDArray[np.float64]  # (n_states, p, p)

_MOST_STEPS = 1000  # released code
_TOLERANCE = 1e-6  # released code, relative; it adds 1e-4, which leaves Θ up to 1e-3 from where it would come to rest
_RELAXATION = 1.6  # of each step beyond its end: 1.5 to 1.8 is usual
_STEPS_WITH_NEW_RHO = 200  # after which ρ stays, so that it must come to rest
_STEPS_BETWEEN_LOOKS = 5  # a look at whether all is at rest costs half as much as a step
_BLOCK = 1 << 12  # windows whose costs are computed at once: what they need stays in the cache


@dataclass(frozen=True, eq=False)
class States:
    """What is known of each state. An inverse covariance of zeros belongs to a state that never had a window."""

    means: Matrix  # (n_states, p)
    precisions: Stack

    def costs(self, rows: Matrix) -> Matrix:
        """(x - μ)ᵀΘ(x - μ) - log det Θ of each row x in each state, (n_rows, n_states): twice the negative
        log-likelihood without its constant, as in the released code. It is infinite in states without windows."""
        _, log_determinants = np.linalg.slogdet(self.precisions)
        costs = np.empty((len(self.means), len(rows)))  # states apart in memory: what follows compares whole columns
        for first in range(0, len(rows), _BLOCK):
            block = slice(first, first + _BLOCK)
            for state, (mean, precision) in enumerate(zip(self.means, self.precisions, strict=True)):
                away = rows[block] - mean
                np.einsum("ij,ij->i", away @ precision, away, out=costs[state, block])
        costs -= log_determinants[:, None]
        return costs.T

    def spreads(self) -> NDArray[np.float64]:
        """The Frobenius norm of each covariance Θ⁻¹; infinite in states without windows."""
        eigenvalues = np.linalg.eigvalsh(self.precisions)
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(np.sqrt(np.sum(eigenvalues**-2.0, axis=1)))


def stacked(values: NDArray[np.floating], spans: tuple[Span, ...], width: int) -> tuple[Matrix, tuple[Span, ...]]:
    """All windows of `width` frames as rows, the earliest frame first, and which rows are of each span."""
    n_channels = values.shape[1]
    pieces, row_spans, n_rows = [np.empty((0, n_channels * width))], [], 0
    for start, stop in spans:
        n_windows = max(0, stop - start - width + 1)
        if n_windows:
            windows = np.lib.stride_tricks.sliding_window_view(values[start:stop], width, axis=0)
            pieces.append(windows.transpose(0, 2, 1).reshape(n_windows, -1).astype(np.float64))
        row_spans.append((n_rows, n_rows + n_windows))
        n_rows += n_windows
    return np.concatenate(pieces), tuple(row_spans)


def mean_and_covariance(rows: Matrix) -> tuple[NDArray[np.float64], Matrix]:
    """The mean, and the unbiased covariance; of a single row it is 0."""
    mean = rows.mean(axis=0)
    away = rows - mean
    return mean, away.T @ away / max(1, len(rows) - 1)


def toeplitz_classes(n_channels: int, width: int) -> NDArray[np.int64]:
    """For each entry of Θ which others it must equal, (p, p): those of the same lag and the same pair of channels.

    >>> toeplitz_classes(n_channels=1, width=3).tolist()
    [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    """
    frame, channel = np.divmod(np.arange(n_channels * width), n_channels)
    lag = frame[None, :] - frame[:, None]
    first, second = np.broadcast_arrays(channel[:, None], channel[None, :])
    turned = (lag < 0) | ((lag == 0) & (first > second))  # entries that mirror one above the diagonal
    earlier, later = np.where(turned, second, first), np.where(turned, first, second)
    codes = (np.abs(lag) * n_channels + earlier) * n_channels + later
    return np.unique(codes, return_inverse=True)[1].reshape(codes.shape)


def toeplitz_lasso(covariances: Stack, sparsity: float, classes: NDArray[np.int64]) -> Stack:
    """Θ for each covariance (n_states, p, p); `classes` as from `toeplitz_classes`.

    Without penalties off the diagonal Θ would be (S + λI)⁻¹, with ρU = λI: there it starts. ρ begins as the geometric
    mean of the curvature of -log det there, and follows the ratio in which Θ and Z are still apart and on the move.
    """
    means_of_classes = _ClassMeans.of(classes)
    size = len(classes)
    shrunk = covariances + sparsity * np.eye(size)
    rho = np.exp(2 * np.linalg.slogdet(shrunk)[1] / size)[:, None, None]
    S, Z, U = covariances, np.linalg.inv(shrunk), sparsity * np.eye(size) / rho
    solved, running = np.empty_like(covariances), np.arange(len(covariances))
    for step in range(1, _MOST_STEPS + 1):
        d, Q = np.linalg.eigh(rho * (Z - U) - S)
        d = (d + np.sqrt(d * d + 4 * rho[:, 0])) / (2 * rho[:, 0])
        theta = (Q * d[:, None, :]) @ Q.transpose(0, 2, 1)
        mixed = _RELAXATION * theta + (1 - _RELAXATION) * Z
        previous, Z = Z, _drawn_to_zero(means_of_classes(mixed + U), sparsity / rho)
        U = U + mixed - Z
        if step % _STEPS_BETWEEN_LOOKS and step < _MOST_STEPS:
            continue
        solved[running] = theta
        apart, moved = _relative(theta - Z, Z), _relative(Z - previous, U)
        going = np.maximum(apart, moved) > _TOLERANCE
        running, S, Z, U, rho = running[going], S[going], Z[going], U[going], rho[going]
        if step <= _STEPS_WITH_NEW_RHO:
            factor = _balancing(apart[going], moved[going])
            rho, U = rho * factor, U / factor
        if not running.size:
            break
    return solved


def _drawn_to_zero(values: Stack, by: NDArray[np.float64]) -> Stack:
    return np.asarray(values - np.clip(values, -by, by))


def _balancing(apart: NDArray[np.float64], moved: NDArray[np.float64]) -> NDArray[np.float64]:
    """What ρ is multiplied by: more of it draws Θ and Z together, less lets them move. Small changes do not pay."""
    ratio = np.sqrt(apart / np.maximum(moved, np.finfo(np.float64).tiny))
    factor = np.where((ratio > 2) | (ratio < 0.5), np.clip(ratio, 0.2, 5), 1.0)
    return np.asarray(factor[:, None, None])


@dataclass(frozen=True, eq=False)
class _ClassMeans:
    """Each entry replaced by the mean of its class; as a class holds both an entry and its mirror, it symmetrises."""

    classes: NDArray[np.int64]
    order: NDArray[np.int64]
    firsts: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, classes: NDArray[np.int64]) -> _ClassMeans:
        counts = np.bincount(classes.ravel())
        return cls(classes, classes.ravel().argsort(kind="stable"), np.cumsum(counts) - counts, counts)

    def __call__(self, matrices: Stack) -> Stack:
        sums = np.add.reduceat(matrices.reshape(len(matrices), -1)[:, self.order], self.firsts, axis=1)
        return np.asarray((sums / self.counts)[:, self.classes])


def _relative(differences: Stack, to: Stack) -> NDArray[np.float64]:
    """Frobenius norms, relative to others."""
    norms = (np.sqrt(np.einsum("kij,kij->k", matrices, matrices)) for matrices in (differences, to))
    return np.asarray(next(norms) / np.maximum(next(norms), np.finfo(np.float64).tiny))
