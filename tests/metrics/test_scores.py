"""Scores: what renaming leaves alone, ranges, means over recordings, and the clock."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.errors import AnnotationError, SettingError
from rondo.metrics.scores import clock_labels, clock_runs, evaluate
from tests import naive_metrics as naive
from tests.metrics.tracks import Pair, pairs

SHARES = ["mof", "recall", "f1_10", "f1_25", "f1_50", "edit", "one_to_one"]
KEYS = [
    *SHARES[:6],
    "seg_ratio",
    "ari",
    "ami",
    "one_to_one",
    "n_clusters",
    "occurrences_per_cluster",
    "n_recordings",
]


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
    truth, _ = pair
    row = evaluate({"a": (truth, truth)}).average
    assert all(row.as_dict()[name] == 100.0 for name in (*SHARES, "ari", "ami"))
    assert row.seg_ratio == 1.0 and row.n_clusters == len(set(truth))


@given(pairs())
def test_scores_stay_in_range_and_in_order(pair: Pair) -> None:
    scores = evaluate({"a": pair})
    for row in (scores.average, scores.clock):
        assert all(0.0 <= row.as_dict()[name] <= 100.0 for name in SHARES)
        assert -100.0 <= row.ari <= 100.0 and row.ami <= 100.0 + 1e-6
        assert row.one_to_one <= row.mof + 1e-9
        assert row.f1_50 <= row.f1_25 <= row.f1_10
        assert row.occurrences_per_cluster >= 1.0
    assert scores.clock.seg_ratio == scores.average.seg_ratio
    assert scores.clock.occurrences_per_cluster == 1.0


def test_recordings_weigh_equally_but_seg_ratio_is_pooled() -> None:
    short = ([0, 1], [7, 7])  # 1 predicted segment of 2
    long = ([0] * 50 + [1] * 50, [0] * 50 + [1, 2] * 25)  # 51 predicted segments of 2
    scores = evaluate({"short": short, "long": long})
    assert scores.average.mof == pytest.approx((50.0 + 100.0) / 2)
    assert scores.average.seg_ratio == pytest.approx((1 + 51) / (2 + 2))
    assert scores.recordings["short"].seg_ratio == pytest.approx(1 / 2)
    assert list(scores.recordings) == list(scores.clock_recordings) == ["short", "long"]


def test_the_clock_is_scored_like_any_prediction_of_as_many_raw_segments() -> None:
    rng = np.random.default_rng(0)
    truth, labels = np.repeat(rng.integers(0, 4, 12), 9), np.repeat(rng.integers(0, 5, 27), 4)
    n_segments = 1 + int((np.diff(labels) != 0).sum())
    direct = evaluate({"a": (truth, clock_labels(truth.size, n_segments))})
    assert evaluate({"a": (truth, labels)}).clock == direct.average


def test_nothing_to_evaluate_and_unequal_lengths_are_refused() -> None:
    with pytest.raises(AnnotationError, match="nothing to evaluate"):
        evaluate({})
    with pytest.raises(AnnotationError, match=r"'day2'.*3 frames, the labels 2"):
        evaluate({"day1": ([0], [0]), "day2": ([0, 0, 1], [0, 0])})


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))))
def test_clock_equals_naive_twin(size: tuple[int, int]) -> None:
    n_frames, n_pieces = size
    assert clock_labels(n_frames, n_pieces).tolist() == naive.clock(n_frames, n_pieces)
    assert len(clock_runs(n_frames, n_pieces)) == n_pieces


@pytest.mark.parametrize("n_pieces", [0, 6, -1])
def test_a_clock_cannot_cut_finer_than_frames(n_pieces: int) -> None:
    with pytest.raises(SettingError, match="1 to 5 pieces"):
        clock_labels(5, n_pieces)
