from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.metrics.frame import accuracy_of_classes, mof
from rondo.metrics.mapping import class_of_cluster, mapped_runs
from rondo.metrics.overlap import Overlap
from tests import naive_metrics as naive
from tests.metrics.tracks import Pair, pairs


@settings(max_examples=80, deadline=None)
@given(pairs())
def test_mapping_equals_naive_twin(pair: Pair) -> None:
    truth, labels = pair
    classes, clusters = list(dict.fromkeys(truth)), list(dict.fromkeys(labels))
    mine = class_of_cluster(Overlap.of(truth, labels))
    assert {clusters[k]: classes[c] for k, c in enumerate(mine)} == naive.mapping(truth, labels)


@settings(max_examples=80, deadline=None)
@given(pairs())
def test_mapped_runs_are_merged(pair: Pair) -> None:
    truth, labels = pair
    overlap, classes = Overlap.of(truth, labels), list(dict.fromkeys(truth))
    runs = mapped_runs(overlap, class_of_cluster(overlap))
    mine = [(start, stop, classes[c]) for start, stop, c in zip(*runs, strict=True)]
    assert mine == naive.segments(naive.mapped(truth, labels))


@settings(max_examples=80, deadline=None)
@given(pairs())
def test_frame_scores_equal_naive_twins(pair: Pair) -> None:
    truth, labels = pair
    overlap = Overlap.of(truth, labels)
    mapping = class_of_cluster(overlap)
    assert mof(overlap, mapping) == pytest.approx(naive.mof(truth, labels))
    by_class = naive.accuracy_of_classes(truth, naive.mapped(truth, labels))
    assert accuracy_of_classes(overlap, mapping).tolist() == pytest.approx(list(by_class.values()))


@settings(max_examples=80, deadline=None)
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
