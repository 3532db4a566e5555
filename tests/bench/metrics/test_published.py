"""Scores of streams and of segments against naive twins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.metrics.overlap import Overlap
from rondo_bench.metrics.published import change_point_f1, covering, stage_scores
from tests import naive_metrics as naive
from tests.metrics.tracks import Pair, pairs


@given(pairs())
def test_stages_equal_naive_twin(pair: Pair) -> None:
    scores = stage_scores(*pair)
    for reading, by_frame in (("", False), ("frame_", True)):
        old = {percent: 100 * naive.stage(*pair, percent, by_frame)[0] for percent in (20, 100)}
        expected = {f"{reading}old_{percent}": value for percent, value in old.items()}
        for percent in (40, 60, 80, 100):
            h = naive.h_score(*pair, percent, by_frame)
            expected[f"{reading}h_{percent}"] = h if h is None else 100 * h
        expected[f"{reading}forgetting"] = old[20] - old[100]
        assert {name: scores[name] for name in expected} == pytest.approx(expected)


def test_without_new_classes_there_is_no_h_and_a_class_that_is_never_found_is_zero() -> None:
    assert stage_scores([0, 1] * 10, [0, 1] * 10)["h_100"] is None
    blind = stage_scores([0] * 6 + [1] * 4, [5] * 10)
    assert (blind["h_60"], blind["h_80"], blind["old_100"], blind["forgetting"]) == (None, 0.0, 100.0, 0.0)


@given(pairs(max_frames=30))
def test_covering_equals_naive_twin(pair: Pair) -> None:
    assert covering(Overlap.of(*pair)) == pytest.approx(naive.covering(*pair))


@given(pairs(max_frames=12), st.sampled_from([0.0, 0.1, 0.25, 1.0]))
def test_change_point_f1_equals_naive_twin(pair: Pair, margin: float) -> None:
    assert change_point_f1(Overlap.of(*pair), margin) == pytest.approx(naive.change_point_f1(*pair, margin))


@given(pairs())
def test_a_track_segments_itself_perfectly_whatever_its_names(pair: Pair) -> None:
    truth = pair[0]
    renamed = Overlap.of(truth, [label + 100 for label in truth])
    assert covering(renamed) == change_point_f1(renamed) == 1.0


def test_a_change_point_at_the_margin_counts_and_one_beyond_does_not() -> None:
    truth = [0] * 100 + [1] * 100
    assert change_point_f1(Overlap.of(truth, [0] * 102 + [1] * 98)) == 1.0
    assert change_point_f1(Overlap.of(truth, [0] * 103 + [1] * 97)) == 0.0
