from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.errors import ModelError
from rondo.units import exemplars as module
from rondo.units.exemplars import Exemplars, fit_exemplars


def windows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)).astype(np.float32), rng.integers(0, 3, n).astype(np.int32) * 2


@settings(max_examples=30, deadline=None)
@given(st.integers(8, 40), st.integers(0, 3), st.integers(0, 99))
def test_the_radius_is_the_quantile_of_nearest_windows_that_share_no_frame(n: int, exclude: int, seed: int) -> None:
    points, units = windows(n, seed)
    cut = n // 2
    spans = ((0, cut), (cut, n))
    nearest = []
    for i in range(n):
        same = [j for j in range(n) if (i < cut) == (j < cut)]
        others = [j for j in range(n) if j not in same or abs(i - j) > exclude]
        if others:
            nearest.append(min(float(np.linalg.norm(points[i] - points[j])) for j in others))
    fitted = fit_exemplars(points, units, spans, exclude)
    assert fitted.radius == pytest.approx(np.quantile(nearest, 0.95), rel=1e-5)


def test_units_have_evenly_spread_windows_of_their_own() -> None:
    points, units = windows(1_000)
    fitted = fit_exemplars(points, units, ((0, 1_000),), 3)
    assert np.unique(fitted.units).tolist() == [0, 2, 4]
    assert fitted.supports.tolist() == [int((units == id).sum()) for id in (0, 2, 4)]
    assert np.bincount(fitted.units).max() == module._PER_UNIT
    for unit in (0, 2, 4):
        own = points[units == unit]
        chosen = fitted.points[fitted.units == unit]
        npt.assert_array_equal(chosen[0], own[0])
        npt.assert_array_equal(chosen[-1], own[-1])


def test_windows_that_all_share_frames_have_a_radius_too() -> None:
    points, units = windows(3)
    assert fit_exemplars(points, units, ((0, 3),), exclude=5).radius > 0
    assert fit_exemplars(points[:1], units[:1], ((0, 1),), exclude=5).radius == 0


def test_restored_exemplars_are_the_same_and_damaged_ones_are_refused() -> None:
    points, units = windows(50)
    fitted = fit_exemplars(points, units, ((0, 50),), 2)
    again = Exemplars.restore(fitted.tensors())
    npt.assert_array_equal(again.points, fitted.points)
    assert (again.radius, again.step) == (fitted.radius, fitted.step)
    with pytest.raises(ModelError, match="points"):
        Exemplars.restore({name: own for name, own in fitted.tensors().items() if name != "points"})
    with pytest.raises(ModelError, match="exemplars"):
        Exemplars.restore(fitted.tensors() | {"units": np.zeros(3, np.int64)})
