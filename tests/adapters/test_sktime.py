"""Rondo as a detector of sktime passes every check that sktime runs over its own detectors; none is left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rondo.model.rondo import Rondo
from rondo.synthetic.streams import plant

pytestmark = pytest.mark.filterwarnings("ignore")  # sktime's own warnings are none of ours

pytest.importorskip("sktime", reason="sktime is not installed (pip install sktime)")

from sktime.utils.estimator_checks import check_estimator  # noqa: E402

from rondo.adapters.sktime import RondoDetector  # noqa: E402


@pytest.mark.slow
def test_checks_of_sktime() -> None:
    outcomes = check_estimator(RondoDetector, raise_exceptions=False, verbose=False)
    assert len(outcomes) > 40
    assert {name: outcome for name, outcome in outcomes.items() if outcome != "PASSED"} == {}


@pytest.mark.parametrize("level", ["motif", pytest.param("unit", marks=pytest.mark.slow)])
def test_labels_are_those_of_rondo(level: str) -> None:
    values = plant(n_frames=6_000, seed=3).recording.values
    found = RondoDetector(level=level, random_state=4).fit_transform(pd.DataFrame(values))["labels"]
    expected = Rondo(seed=4).fit(values).predict(values)
    np.testing.assert_array_equal(found, expected.motifs if level == "motif" else expected.units)


@pytest.mark.slow
def test_frames_that_are_other_are_unclassified() -> None:
    values = plant(n_frames=6_000, seed=3).recording.values.copy()
    values[2_000:2_300] = np.nan  # a gap too long to be filled
    table = pd.DataFrame(values)
    detector = RondoDetector().fit(table)
    segments = detector.predict(table)
    assert segments[segments["ilocs"].array.contains(2_150)]["labels"].tolist() == [-1]
    assert detector.transform(table)["labels"].iloc[2_150] == -1
