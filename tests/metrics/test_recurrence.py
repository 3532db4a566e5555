from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.metrics.cluster import expected_mutual_information as oracle_expectation

from rondo.data.agreement import agreement, expected_mutual_information
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import (
    adjusted_mutual_information,
    adjusted_rand,
    occurrences_per_cluster,
    one_to_one,
    partners,
)
from rondo.metrics.scores import clock_labels
from tests import naive_metrics as naive
from tests.metrics.tracks import Pair, pairs


@given(pairs())
def test_ari_and_ami_are_scikit_learns(pair: Pair) -> None:
    overlap = Overlap.of(*pair)
    assert adjusted_rand(overlap) == pytest.approx(adjusted_rand_score(*pair), abs=1e-12)
    assert adjusted_mutual_information(overlap) == pytest.approx(adjusted_mutual_info_score(*pair), abs=1e-9)
    assert agreement(*pair) == pytest.approx(adjusted_mutual_info_score(*pair), abs=1e-9)


@pytest.mark.parametrize(
    ("truth", "labels"),
    [
        ([0], [0]),
        ([0, 0, 0], [1, 1, 1]),
        ([0, 0, 0], [0, 1, 2]),
        ([0, 1, 2], [0, 0, 0]),
        ([0, 1, 2], [5, 4, 3]),
        ([0, 0, 1, 1], [0, 1, 2, 3]),
        ([0, 0, 1, 1], [0, 1, 0, 1]),
    ],
)
def test_degenerate_tracks_follow_scikit_learn(truth: list[int], labels: list[int]) -> None:
    overlap = Overlap.of(truth, labels)
    assert adjusted_rand(overlap) == pytest.approx(adjusted_rand_score(truth, labels), abs=1e-12)
    assert adjusted_mutual_information(overlap) == pytest.approx(adjusted_mutual_info_score(truth, labels), abs=1e-12)


def test_long_tracks_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.integers(0, 6, 200), rng.integers(1, 900, 200))
    labels = np.roll(np.where(rng.random(truth.size) < 0.2, rng.integers(0, 9, truth.size), truth), 30)
    for prediction in (labels, clock_labels(truth.size, 300)):
        overlap = Overlap.of(truth, prediction)
        assert adjusted_rand(overlap) == pytest.approx(adjusted_rand_score(truth, prediction), abs=1e-12)
        assert adjusted_mutual_information(overlap) == pytest.approx(
            adjusted_mutual_info_score(truth, prediction), abs=1e-9
        )


@given(st.lists(st.integers(1, 4000), min_size=2, max_size=5), st.integers(2, 40))
def test_expected_information_over_the_likely_range_is_the_full_sum(class_sizes: list[int], n_clusters: int) -> None:
    truth = np.repeat(np.arange(len(class_sizes)), class_sizes)
    labels = np.arange(truth.size) % n_clusters
    full = oracle_expectation(contingency_matrix(truth, labels, sparse=True), truth.size)
    cluster_sizes = np.bincount(labels)
    mine = expected_mutual_information(np.array(class_sizes), cluster_sizes[cluster_sizes > 0])
    assert mine == pytest.approx(full, rel=1e-9, abs=1e-12)


def test_ari_does_not_overflow_on_a_long_recording() -> None:
    n = 4_000_000
    overlap = Overlap.of(np.arange(n) >= n // 2, np.arange(n) >= n // 2 + 1)
    assert 0.999 < adjusted_rand(overlap) < 1.0


@given(pairs(max_frames=25))
def test_one_to_one_equals_naive_twin(pair: Pair) -> None:
    assert one_to_one(Overlap.of(*pair)) == pytest.approx(naive.one_to_one(*pair))


def test_one_to_one_counts_unmatched_frames_as_wrong() -> None:
    assert one_to_one(Overlap.of([0] * 10, list(range(10)))) == pytest.approx(0.1)


def test_occurrences_per_cluster() -> None:
    assert occurrences_per_cluster(Overlap.of([0] * 6, [5, 5, -1, 5, -1, 5])) == pytest.approx(5 / 2)
    assert occurrences_per_cluster(Overlap.of([0] * 6, clock_labels(6, 4))) == 1.0


def test_partners_are_one_to_one_and_a_tie_goes_to_the_class_that_is_first() -> None:
    assert partners(Overlap.of([0] * 4 + [1] * 4 + [2] * 2, [0] * 10)).tolist() == [0, -1, -1]
    assert partners(Overlap.of([0, 0, 1, 1], [5, 6, 5, 6])).tolist() == [0, 1]
    assert partners(Overlap.of([0, 0, 0, 1, 1], [5, 6, 6, 5, 5])).tolist() == [1, 0]
