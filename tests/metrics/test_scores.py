"""Scores: against slow twins and scikit-learn, what renaming leaves alone, means over recordings, and the clock."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.metrics.cluster import expected_mutual_information as oracle_expectation

from rondo.data.agreement import agreement, expected_mutual_information
from rondo.data.labels import runs_of
from rondo.errors import AnnotationError, SettingError
from rondo.metrics.overlap import Overlap, accuracy_of_classes, class_of_cluster
from rondo.metrics.recurrence import partners
from rondo.metrics.scores import clock_labels, clock_runs, evaluate
from rondo.metrics.segmental import match_segments, recall_of_classes
from tests import naive_metrics as naive
from tests.metrics.tracks import Pair, pairs

SHARES = ["mof", "recall", "f1_10", "f1_25", "f1_50", "edit", "one_to_one"]
KEYS = [*SHARES[:6], "seg_ratio", "ari", "ami", "one_to_one", "n_clusters", "occurrences_per_cluster", "n_recordings"]


# ---------------------------------------------------------------- twins


@given(pairs(max_frames=25))
def test_every_score_is_that_of_its_twin(pair: Pair) -> None:
    n_predicted = len(naive.segments(pair[1]))
    expected = {
        "mof": 100 * naive.mof(*pair),
        "recall": 100 * naive.recall(*pair),
        "edit": 100 * naive.edit(*pair),
        "one_to_one": 100 * naive.one_to_one(*pair),
        "ari": 100 * adjusted_rand_score(*pair),
        "ami": 100 * adjusted_mutual_info_score(*pair),
        "seg_ratio": n_predicted / len(naive.segments(pair[0])),
        "n_clusters": len(set(pair[1])),
        "occurrences_per_cluster": n_predicted / len(set(pair[1])),
    } | {f"f1_{percent}": 100 * naive.f1(*pair, percent) for percent in (10, 25, 50)}
    assert evaluate({"a": pair}).average.as_dict() == pytest.approx(expected, abs=1e-7)
    assert agreement(*pair) == pytest.approx(expected["ami"] / 100, abs=1e-9)


@given(pairs())
def test_scores_of_classes_are_those_of_their_twins(pair: Pair) -> None:
    overlap, predicted = Overlap.of(*pair), naive.mapped(*pair)
    mapping = class_of_cluster(overlap)
    right, found = (of(pair[0], predicted) for of in (naive.accuracy_of_classes, naive.recall_of_classes))
    assert accuracy_of_classes(overlap, mapping).tolist() == pytest.approx(list(right.values()))
    assert recall_of_classes(overlap, mapping).tolist() == pytest.approx(list(found.values()))


@given(pairs())
def test_a_prefix_is_the_overlap_of_the_first_frames(pair: Pair) -> None:
    truth, labels = pair
    n_frames = (len(truth) + 1) // 2
    cut, fresh = Overlap.of(truth, labels).prefix(n_frames), Overlap.of(truth[:n_frames], labels[:n_frames])
    for column, expected in zip((*cut.truth, *cut.labels), (*fresh.truth, *fresh.labels), strict=True):
        np.testing.assert_array_equal(column, expected)


def test_long_tracks_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.integers(0, 6, 200), rng.integers(1, 900, 200))
    labels = np.roll(np.where(rng.random(truth.size) < 0.2, rng.integers(0, 9, truth.size), truth), 30)
    for prediction in (labels, clock_labels(truth.size, 300)):
        row = evaluate({"a": (truth, prediction)}).average
        assert row.ari == pytest.approx(100 * adjusted_rand_score(truth, prediction), abs=1e-9)
        assert row.ami == pytest.approx(100 * adjusted_mutual_info_score(truth, prediction), abs=1e-7)


@given(st.lists(st.integers(1, 4000), min_size=2, max_size=5), st.integers(2, 40))
def test_expected_information_over_the_likely_range_is_the_full_sum(class_sizes: list[int], n_clusters: int) -> None:
    truth = np.repeat(np.arange(len(class_sizes)), class_sizes)
    labels = np.arange(truth.size) % n_clusters
    full = oracle_expectation(contingency_matrix(truth, labels, sparse=True), truth.size)
    cluster_sizes = np.bincount(labels)
    mine = expected_mutual_information(np.array(class_sizes), cluster_sizes[cluster_sizes > 0])
    assert mine == pytest.approx(full, rel=1e-9, abs=1e-12)


# ---------------------------------------------------------------- ties


def test_a_tie_goes_to_the_class_that_appears_first() -> None:
    assert class_of_cluster(Overlap.of([7, 7, 2, 2], [0, 0, 0, 0])).tolist() == [0]
    assert class_of_cluster(Overlap.of(["z", "a"], [0, 0])).tolist() == [0]
    assert partners(Overlap.of([0] * 4 + [1] * 4 + [2] * 2, [0] * 10)).tolist() == [0, -1, -1]
    assert partners(Overlap.of([0, 0, 1, 1], [5, 6, 5, 6])).tolist() == [0, 1]
    assert partners(Overlap.of([0, 0, 0, 1, 1], [5, 6, 6, 5, 5])).tolist() == [1, 0]


def test_the_best_pair_of_segments_is_matched_first() -> None:
    # in order of time the long prediction would take the first true segment and leave nothing for its own
    truth, predicted = runs_of([0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), runs_of([0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    matches = match_segments(truth, predicted)
    assert matches.intersections.tolist() == [6] and matches.unions.tolist() == [10]


# ---------------------------------------------------------------- all of them


def test_the_dictionary_has_exactly_the_promised_keys_and_is_json() -> None:
    found = evaluate({"a": ([0, 0, 1], [3, 3, 4])}).as_dict()
    assert list(found) == [*KEYS, "clock"]
    assert list(found["clock"]) == KEYS  # type: ignore[arg-type]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@given(pairs(), st.permutations(range(4)), st.permutations(range(5)))
def test_names_of_classes_and_clusters_do_not_matter(pair: Pair, new_class: list[int], new_label: list[int]) -> None:
    truth, labels = pair
    renamed = [f"class {new_class[c]}" for c in truth], [new_label[label + 1] - 1 for label in labels]
    assert evaluate({"a": pair}).as_dict() == evaluate({"a": renamed}).as_dict()


@given(pairs())
def test_truth_is_perfect_against_itself(pair: Pair) -> None:
    row = evaluate({"a": (pair[0], pair[0])}).average
    assert all(row.as_dict()[name] == 100.0 for name in (*SHARES, "ari", "ami"))


def test_recordings_weigh_equally_but_seg_ratio_is_pooled() -> None:
    short = ([0, 1], [7, 7])  # 1 predicted segment of 2
    long = ([0] * 50 + [1] * 50, [0] * 50 + [1, 2] * 25)  # 51 predicted segments of 2
    scores = evaluate({"short": short, "long": long})
    assert scores.average.mof == pytest.approx((50.0 + 100.0) / 2)
    assert scores.average.seg_ratio == scores.clock.seg_ratio == pytest.approx((1 + 51) / (2 + 2))
    assert scores.recordings["short"].seg_ratio == pytest.approx(1 / 2)
    assert list(scores.recordings) == list(scores.clock_recordings) == ["short", "long"]


@pytest.mark.parametrize(
    ("truth", "labels", "complaint"),
    [
        ([0, 0, 1], [0, 0], "3 frames, the labels 2"),
        ([], [], "empty"),
        ([[0, 1]], [[0, 1]], "shape"),
        ([0, 1], [0.0, float("nan")], "whole numbers"),
        ([0, 1], [None, 1], "object"),
        ([0, [1, 2]], [0, 1], "unequal length"),
    ],
)
def test_malformed_tracks_are_refused_by_recording(truth: object, labels: object, complaint: str) -> None:
    with pytest.raises(AnnotationError, match="day1") as caught:
        evaluate({"day1": (truth, labels)})  # type: ignore[dict-item]
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nothing_to_evaluate_is_refused() -> None:
    with pytest.raises(AnnotationError, match="nothing to evaluate"):
        evaluate({})


# ---------------------------------------------------------------- the clock


def test_the_clock_is_scored_like_any_prediction_of_as_many_raw_segments() -> None:
    rng = np.random.default_rng(0)
    truth, labels = np.repeat(rng.integers(0, 4, 12), 9), np.repeat(rng.integers(0, 5, 27), 4)
    n_segments = 1 + int((np.diff(labels) != 0).sum())
    direct = evaluate({"a": (truth, clock_labels(truth.size, n_segments))})
    assert evaluate({"a": (truth, labels)}).clock == direct.average


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))))
def test_clock_equals_naive_twin(size: tuple[int, int]) -> None:
    n_frames, n_pieces = size
    assert clock_labels(n_frames, n_pieces).tolist() == naive.clock(n_frames, n_pieces)
    assert len(clock_runs(n_frames, n_pieces)) == n_pieces


@pytest.mark.parametrize("n_pieces", [0, 6])
def test_a_clock_cannot_cut_finer_than_frames(n_pieces: int) -> None:
    with pytest.raises(SettingError, match="1 to 5 pieces"):
        clock_labels(5, n_pieces)
