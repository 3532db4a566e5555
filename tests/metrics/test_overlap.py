""" """

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.errors import AnnotationError
from rondo.metrics.overlap import Overlap, accuracy_of_classes, class_of_cluster, mapped_runs, mof
from tests import naive_metrics as naive
from tests.metrics.tracks import Pair, pairs


@given(pairs())
def test_contingency_counts_every_frame_once(pair: Pair) -> None:
    truth, labels = pair
    overlap = Overlap.of(truth, labels)
    classes, clusters = list(dict.fromkeys(truth)), list(dict.fromkeys(labels))
    counted = {(classes[c], clusters[k]): n for c, k, n in zip(*overlap.contingency, strict=True)}
    expected: dict[tuple[int, int], int] = {}
    for both in zip(truth, labels, strict=True):
        expected[both] = expected.get(both, 0) + 1
    assert counted == expected


@given(pairs())
def test_a_prefix_is_the_overlap_of_the_first_frames(pair: Pair) -> None:
    truth, labels = pair
    n_frames = (len(truth) + 1) // 2
    cut, fresh = Overlap.of(truth, labels).prefix(n_frames), Overlap.of(truth[:n_frames], labels[:n_frames])
    for mine, expected in ((cut.truth, fresh.truth), (cut.labels, fresh.labels)):
        for mine_column, expected_column in zip(mine, expected, strict=True):
            np.testing.assert_array_equal(mine_column, expected_column)


def test_classes_are_numbered_by_first_appearance_whatever_their_names() -> None:
    by_name = Overlap.of(["sit", "run", "sit", "walk"], [3, 3, 1, 1])
    assert by_name.truth.ids.tolist() == [0, 1, 0, 2]
    assert by_name.labels.ids.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("truth", "labels", "complaint"),
    [
        ([0, 0, 1], [0, 0], "3 frames, the labels 2"),
        ([], [], "empty"),
        ([[0, 1]], [[0, 1]], "shape"),
        ([0.5, 1.0], [0, 0], "whole numbers"),
        ([0, 1], [0.0, float("nan")], "whole numbers"),
        ([0, 1], [None, 1], "object"),
        ([0, [1, 2]], [0, 1], "unequal length"),
    ],
)
def test_malformed_tracks_are_refused_by_recording(truth: object, labels: object, complaint: str) -> None:
    with pytest.raises(AnnotationError, match="day1") as caught:
        Overlap.of(truth, labels, recording="day1")  # type: ignore[arg-type]
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@given(pairs())
def test_mapping_equals_naive_twin(pair: Pair) -> None:
    truth, labels = pair
    classes, clusters = list(dict.fromkeys(truth)), list(dict.fromkeys(labels))
    mine = class_of_cluster(Overlap.of(truth, labels))
    assert {clusters[k]: classes[c] for k, c in enumerate(mine)} == naive.mapping(truth, labels)


@given(pairs())
def test_mapped_runs_are_merged(pair: Pair) -> None:
    truth, labels = pair
    overlap, classes = Overlap.of(truth, labels), list(dict.fromkeys(truth))
    runs = mapped_runs(overlap, class_of_cluster(overlap))
    mine = [(start, stop, classes[c]) for start, stop, c in zip(*runs, strict=True)]
    assert mine == naive.segments(naive.mapped(truth, labels))


@given(pairs())
def test_frame_scores_equal_naive_twins(pair: Pair) -> None:
    truth, labels = pair
    overlap = Overlap.of(truth, labels)
    mapping = class_of_cluster(overlap)
    assert mof(overlap, mapping) == pytest.approx(naive.mof(truth, labels))
    by_class = naive.accuracy_of_classes(truth, naive.mapped(truth, labels))
    assert accuracy_of_classes(overlap, mapping).tolist() == pytest.approx(list(by_class.values()))


@given(pairs(), st.data())
def test_splitting_a_cluster_never_lowers_mof(pair: Pair, data: st.DataObject) -> None:
    truth, labels = pair
    moved = data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels)))
    split = [99 if label == labels[0] and move else label for label, move in zip(labels, moved, strict=True)]
    coarse, fine = Overlap.of(truth, labels), Overlap.of(truth, split)
    assert mof(fine, class_of_cluster(fine)) >= mof(coarse, class_of_cluster(coarse))


def test_a_tie_goes_to_the_class_that_appears_first() -> None:
    assert class_of_cluster(Overlap.of([7, 7, 2, 2], [0, 0, 0, 0])).tolist() == [0]
    assert class_of_cluster(Overlap.of(["z", "a"], [0, 0])).tolist() == [0]
