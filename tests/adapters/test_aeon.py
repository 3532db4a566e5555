"""Rondo as a segmenter of aeon passes every check that aeon runs over its own segmenters; none is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rondo.model.rondo import Rondo
from rondo.synthetic.streams import plant

pytestmark = pytest.mark.filterwarnings("ignore")  # aeon's own warnings are none of ours

pytest.importorskip("aeon", reason="aeon is not installed (pip install aeon, which asks for an older numpy)")

from aeon.testing.estimator_checking import check_estimator, parametrize_with_checks  # noqa: E402

from rondo.adapters.aeon import RondoSegmenter  # noqa: E402


@parametrize_with_checks([RondoSegmenter], use_first_parameter_set=True)
def test_checks_of_aeon(check: Callable[[], Any]) -> None:
    check()


def test_no_check_of_aeon_is_left_out() -> None:
    outcomes = check_estimator(RondoSegmenter, raise_exceptions=False, use_first_parameter_set=True)
    assert len(outcomes) >= 19  # aeon 1.6.0 has so many for segmenters
    assert {name: outcome for name, outcome in outcomes.items() if outcome != "PASSED"} == {}


@pytest.mark.parametrize("level", ["motif", "unit"])
def test_labels_are_those_of_rondo(level: str) -> None:
    values = plant(n_frames=6_000, seed=3).recording.values
    found = RondoSegmenter(level=level, random_state=4).fit_predict(values, axis=0)
    expected = Rondo(seed=4).fit(values).predict(values)
    np.testing.assert_array_equal(found, expected.motifs if level == "motif" else expected.units)


def test_series_in_rows_and_in_columns_are_one() -> None:
    values = plant(n_frames=3_000, seed=3).recording.values
    by_column = RondoSegmenter().fit_predict(values, axis=0)
    np.testing.assert_array_equal(RondoSegmenter().fit_predict(values.T, axis=1), by_column)
