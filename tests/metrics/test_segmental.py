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


def test_the_best_pair_is_matched_first() -> None:
    # in order of time the long prediction would take the first true segment and leave nothing for its own
    truth = runs_of([0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    predicted = runs_of([0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    matches = match_segments(truth, predicted)
    assert matches.intersections.tolist() == [6] and matches.unions.tolist() == [10]
