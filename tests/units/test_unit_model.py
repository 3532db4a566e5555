"""UnitModel: several signals share one vocabulary, and what is stored reads the same."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.config import SlowUnitsConfig, SummaryStatsConfig
from rondo.data.windows import Windows
from rondo.units.model import UnitModel, fit_units, joined_spans
from tests.contracts import planted, windows_of


@pytest.fixture(scope="module")
def signals() -> list[Windows]:
    return [windows_of(planted(600)), windows_of(planted(900, seed=1), spans=((0, 400), (430, 900)))]


@pytest.fixture(scope="module")
def model(signals: list[Windows]) -> UnitModel:
    return fit_units(signals, SummaryStatsConfig(), SlowUnitsConfig(), np.random.default_rng(0), "cpu")


def test_support_counts_every_window_of_every_signal(model: UnitModel, signals: list[Windows]) -> None:
    ids = np.concatenate([model.timeline(windows).ids for windows in signals])
    npt.assert_array_equal(
        [entry.support for entry in model.vocabulary], np.bincount(ids, minlength=len(model.vocabulary))
    )
    assert sum(entry.support for entry in model.vocabulary) == sum(len(windows) for windows in signals)


def test_restored_reads_the_same_bits(model: UnitModel, signals: list[Windows]) -> None:
    tensors = {name: np.array(tensor) for name, tensor in model.tensors().items()}
    again = UnitModel.restore(tensors, SummaryStatsConfig(), SlowUnitsConfig())
    for windows in signals:
        npt.assert_array_equal(again.timeline(windows).ids, model.timeline(windows).ids)
        npt.assert_array_equal(again.timeline(windows).distances, model.timeline(windows).distances)
    assert again.penalty == model.penalty
    assert again.vocabulary.ids == model.vocabulary.ids


def test_a_signal_without_windows_has_an_empty_timeline(model: UnitModel) -> None:
    timeline = model.timeline(windows_of(planted(5)))
    assert timeline.ids.size == timeline.scores.size == 0
    assert timeline.spans == ()
    assert timeline.share_accepted == 0.0


def test_scores_lie_in_the_unit_interval(model: UnitModel, signals: list[Windows]) -> None:
    timeline = model.timeline(signals[0])
    assert ((timeline.scores > 0) & (timeline.scores <= 1)).all()
    assert timeline.share_accepted > 0.8  # radii are the 95th percentile of the members


@given(st.lists(st.lists(st.integers(1, 9), max_size=3), max_size=4))
def test_joined_spans_cover_the_joined_axis(lengths_of_each: list[list[int]]) -> None:
    edges = [np.cumsum([0, *lengths]).tolist() for lengths in lengths_of_each]
    joined = joined_spans([list(itertools.pairwise(e)) for e in edges])
    flat = [length for lengths in lengths_of_each for length in lengths]
    assert [stop - start for start, stop in joined] == flat
    assert [start for start, _ in joined] == np.cumsum([0, *flat]).tolist()[: len(flat)]
