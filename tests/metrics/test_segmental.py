from __future__ import annotations

import pytest
from hypothesis import given

from rondo.data.labels import runs_of
from rondo.metrics.overlap import Overlap, class_of_cluster, mapped_runs
from rondo.metrics.segmental import edit, f1, match_segments, recall, recall_of_classes
from tests import naive_metrics as naive
from tests.metrics.tracks import Pair, pairs


@given(pairs())
def test_recall_equals_naive_twin(pair: Pair) -> None:
    truth, labels = pair
    overlap = Overlap.of(truth, labels)
    mapping = class_of_cluster(overlap)
    assert recall(overlap, mapping) == pytest.approx(naive.recall(truth, labels))
    by_class = naive.recall_of_classes(truth, naive.mapped(truth, labels))
    assert recall_of_classes(overlap, mapping).tolist() == pytest.approx(list(by_class.values()))


@given(pairs())
def test_edit_equals_naive_twin(pair: Pair) -> None:
    overlap = Overlap.of(*pair)
    predicted = mapped_runs(overlap, class_of_cluster(overlap))
    assert edit(overlap.truth, predicted) == pytest.approx(naive.edit(*pair))


@given(pairs(max_frames=30))
def test_f1_equals_naive_twin(pair: Pair) -> None:
    overlap = Overlap.of(*pair)
    matches = match_segments(overlap.truth, mapped_runs(overlap, class_of_cluster(overlap)))
    for iou_percent in (10, 25, 50):
        assert f1(matches, iou_percent) == pytest.approx(naive.f1(*pair, iou_percent))


def test_half_of_a_segment_is_enough_and_less_is_not() -> None:
    for n_right, expected in ((2, 1.0), (1, 0.0)):
        overlap = Overlap.of([0] * 9 + [1] * 4, [5] * (9 + 4 - n_right) + [6] * n_right)
        assert recall_of_classes(overlap, class_of_cluster(overlap)).tolist() == [1.0, expected]


def test_recall_weighs_classes_not_segments() -> None:
    truth = [0, 1, 0, 1, 0, 2]
    overlap = Overlap.of(truth, [5, 5, 5, 5, 5, 6])
    assert recall(overlap, class_of_cluster(overlap)) == pytest.approx((1 + 0 + 1) / 3)


def test_an_iou_at_the_threshold_counts() -> None:
    matches = match_segments(runs_of([0, 0, 1, 1]), runs_of([0, 1, 1, 1]))  # IoU 1/2 and 2/3
    assert f1(matches, 50) == 1.0
    assert f1(matches, 51) == 0.5


def test_duplicate_predictions_get_no_second_credit() -> None:
    truth, predicted = runs_of([0] * 9), runs_of([0, 0, 0, 0, 1, 0, 0, 0, 0])
    assert f1(match_segments(truth, predicted), 10) == pytest.approx(2 * 1 / (1 + 3))


def test_the_best_pair_is_matched_first() -> None:
    # in order of time the long prediction would take the first true segment and leave nothing for its own
    truth = runs_of([0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    predicted = runs_of([0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    matches = match_segments(truth, predicted)
    assert matches.intersections.tolist() == [6] and matches.unions.tolist() == [10]
