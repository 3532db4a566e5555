from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from rondo.errors import AnnotationError
from rondo.metrics.overlap import Overlap
from tests.metrics.tracks import Pair, pairs


@settings(max_examples=100, deadline=None)
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


@settings(max_examples=100, deadline=None)
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
