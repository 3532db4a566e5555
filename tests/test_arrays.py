from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest

from rondo.arrays import _by_products, leading_axes, leading_eigenvectors


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_axes"),
    [(50, 20, 7), (500, 260, 9), (60, 260, 9), (9, 260, 9), (5, 260, 9), (30, 20, 20), (300, 260, 260)],
)
def test_leading_axes_are_those_of_the_whole_decomposition(n_rows: int, n_columns: int, n_axes: int) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, n_columns)) * np.linspace(3, 0.1, n_columns)
    axes = leading_axes(rows, n_axes)
    assert axes.shape == (n_columns, n_axes)
    npt.assert_allclose(axes.T @ axes, np.eye(n_axes), atol=1e-9)
    values, vectors = np.linalg.eigh(rows.T @ rows)
    npt.assert_allclose(np.linalg.norm(rows @ axes, axis=0) ** 2, values[::-1][:n_axes], rtol=1e-8, atol=1e-9)
    n_held = min(n_axes, n_rows)  # beyond the number of rows any axis will do
    alike = np.abs((axes * vectors[:, ::-1][:, :n_axes]).sum(axis=0))
    npt.assert_allclose(alike[:n_held], 1.0, atol=1e-9)


@pytest.mark.parametrize("rank", [12, 400, 1_000])
def test_leading_eigenvectors_of_many_columns_are_those_of_the_whole_decomposition(rank: int) -> None:
    factors = np.random.default_rng(0).normal(size=(1_000, rank)) * np.linspace(1, 0.01, rank) ** 3
    symmetric = factors @ factors.T
    found, (values, vectors) = leading_eigenvectors(symmetric, 9), np.linalg.eigh(symmetric)
    assert _by_products(symmetric, 9) is not None
    npt.assert_allclose(np.abs((found * vectors[:, ::-1][:, :9]).sum(axis=0)), 1.0, atol=1e-9)
    npt.assert_allclose(found.T @ symmetric @ found, np.diag(values[::-1][:9]), atol=1e-9 * values[-1])


def test_where_eigenvalues_lie_too_near_to_each_other_all_are_found() -> None:
    noise = np.random.default_rng(0).normal(size=(1_000, 1_000))
    symmetric = noise + noise.T
    assert _by_products(symmetric, 9) is None
    found = leading_eigenvectors(symmetric, 9)
    npt.assert_allclose(found.T @ symmetric @ found, np.diag(np.linalg.eigvalsh(symmetric)[::-1][:9]), atol=1e-8)
