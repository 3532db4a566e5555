"""How near windows lie to their units, and what is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.errors import ModelError
from rondo.units.fit_profile import FITS, FITS_IN_PART, QUANTILES, Fit, FitProfile, fit_of

FITTED = FitProfile(0.95, (0.2, 0.3, 0.5, 0.7, 1.0))


def profile(share: float, median: float) -> FitProfile:
    return FitProfile(share, (0.1, 0.2, median, 2.0, 3.0))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_the_profile_counts_and_sorts(distances: list[float]) -> None:
    found = FitProfile.of(distances)
    assert found.share_accepted == sum(r <= 1 for r in distances) / len(distances)
    npt.assert_allclose(found.distances, [np.quantile(distances, q) for q in QUANTILES], atol=1e-6)
    assert list(found.distances) == sorted(found.distances)
    assert FitProfile.of(distances[::-1]) == found
    assert FitProfile.from_json(json.loads(json.dumps(found.as_json())), Path("m")) == found


@pytest.mark.parametrize(
    ("share", "median", "verdict"),
    [
        (FITS, 0.7, "fits"),
        (FITS - 0.01, 0.4, "fits in part"),
        (0.99, 0.71, "fits in part"),  # inside the radii, yet never close: a random walk
        (FITS_IN_PART, 0.4, "fits in part"),
        (FITS_IN_PART - 0.01, 0.4, "does not fit"),
    ],
)
def test_the_rule(share: float, median: float, verdict: Fit) -> None:
    assert fit_of(profile(share, median), FITTED) == verdict


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 2), st.floats(0, 2))
def test_nearer_never_fits_worse(share: float, more: float, median: float, less: float) -> None:
    order = ("does not fit", "fits in part", "fits")
    worse, better = profile(min(share, more), max(median, less)), profile(max(share, more), min(median, less))
    assert order.index(fit_of(worse, FITTED)) <= order.index(fit_of(better, FITTED))


def test_fitted_windows_fit_and_no_window_does_not() -> None:
    assert fit_of(FITTED, FITTED) == "fits"
    assert FitProfile.of([]) == FitProfile(0.0, ())
    assert fit_of(FitProfile.of([]), FITTED) == "does not fit"
    assert fit_of(FITTED, FitProfile.from_json(None, Path("m"))) == "fits"  # a model that was kept without a profile


@pytest.mark.parametrize(
    "stored",
    [
        {},
        [1],
        "x",
        {"share_accepted": 2.0, "distances": []},
        {"share_accepted": 0.5, "distances": [1.0]},
        {"share_accepted": 0.5, "distances": 3},
        {"share_accepted": None, "distances": []},
    ],
)
def test_a_damaged_profile_is_said_with_its_folder(stored: Any) -> None:
    with pytest.raises(ModelError, match="models/m: its fit_profile should hold") as refused:
        FitProfile.from_json(stored, Path("models/m"))
    assert "\n" not in str(refused.value)
