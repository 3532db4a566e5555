from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rondo.metrics.states import state_matching_score, weighted_adjusted_rand

from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_rand, one_to_one, partners
from tests import naive_metrics as naive
from tests.metrics.tracks import Pair, pairs


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(pairs(max_frames=30), st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(2)]))
def test_weighted_adjusted_rand_equals_naive_twin(pair: Pair, slope: Fraction) -> None:
    found = weighted_adjusted_rand(Overlap.of(*pair), float(slope))
    assert found == pytest.approx(float(naive.weighted_adjusted_rand(*pair, slope)), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(pairs(max_frames=30))
def test_state_matching_score_equals_a_naive_twin_with_one_of_the_best_matchings(pair: Pair) -> None:
    found = state_matching_score(Overlap.of(*pair))
    assert any(found == pytest.approx(other, abs=1e-9) for other in naive.state_matching_scores(*pair))


@settings(max_examples=50, deadline=None)
@given(pairs())
def test_without_a_slope_it_is_the_adjusted_rand_index(pair: Pair) -> None:
    overlap = Overlap.of(*pair)
    assert weighted_adjusted_rand(overlap, 0) == pytest.approx(adjusted_rand(overlap), abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(pairs())
def test_names_of_states_change_nothing_and_the_truth_is_perfect(pair: Pair) -> None:
    truth, labels = pair
    overlap = Overlap.of(truth, labels)
    renamed = Overlap.of([7 - c for c in truth], [100 - label for label in labels])
    itself = Overlap.of(truth, [9 - c for c in truth])
    for score in (weighted_adjusted_rand, state_matching_score):
        assert score(renamed) == score(overlap) <= 1.0
        assert score(itself) == 1.0


@settings(max_examples=50, deadline=None)
@given(pairs())
def test_wari_reads_time_in_both_directions_alike(pair: Pair) -> None:
    backwards = Overlap.of(pair[0][::-1], pair[1][::-1])
    assert weighted_adjusted_rand(backwards) == pytest.approx(weighted_adjusted_rand(Overlap.of(*pair)), abs=1e-9)


def test_an_error_costs_more_the_further_it_lies_from_a_change() -> None:
    truth = [0] * 50 + [1] * 50
    overlaps = []
    for at in (45, 35, 25):  # five frames of the other state
        labels = list(truth)
        labels[at : at + 5] = [1] * 5
        overlaps.append(Overlap.of(truth, labels))
    for score in (weighted_adjusted_rand, state_matching_score):
        found = [score(overlap) for overlap in overlaps]
        assert found == sorted(found, reverse=True) and found[0] > found[1] > found[2]


# By hand, from the table of the docstring.
@pytest.mark.parametrize(
    ("truth", "labels", "expected"),
    [
        ("0000011111", "0000001111", 1 - 1.1 / 10),  # delay
        ("0000011111", "0001111111", 1 - 2 * 1.1 / 10),  # a change that is found early is a delay too
        ("0000011111", "0020011111", 1 - (1 + 0.8 * 4 / 10) / 10),  # isolation: its middle, 2, is 2 from the start
        ("0000011111", "0000221111", 1 - 2 * (1 + 0.3 * 1 / 10) / 10),  # transition: its middle is half a frame off
        ("000111222000011112222", "333333333000011112222", 1 - 9 * (1 + 0.5 * 0.5) / 21),  # missing: three segments
        ("0000000111", "0000000000", 1 - 3 * 1.1 / 10),  # a state that was not found, beside a cluster that is right
    ],
)
def test_kinds_of_errors(truth: str, labels: str, expected: float) -> None:
    assert state_matching_score(Overlap.of([*map(int, truth)], [*map(int, labels)])) == pytest.approx(expected)


def test_partners_are_one_to_one_and_a_tie_goes_to_the_class_that_is_first() -> None:
    assert partners(Overlap.of([0] * 4 + [1] * 4 + [2] * 2, [0] * 10)).tolist() == [0, -1, -1]
    assert partners(Overlap.of([0, 0, 1, 1], [5, 6, 5, 6])).tolist() == [0, 1]
    assert partners(Overlap.of([0, 0, 0, 1, 1], [5, 6, 6, 5, 5])).tolist() == [1, 0]


def test_numbers_are_those_of_the_authors_package() -> None:
    package = pytest.importorskip(
        "tsseg_eval.metrics", reason="pip install tsseg-eval, to compare with the authors' own"
    )
    draws = np.random.default_rng(0)
    for _ in range(50):
        truth, labels = (np.repeat(draws.integers(0, 4, 8), draws.integers(20, 90, 8)) for _ in range(2))
        n_frames = min(truth.size, labels.size)
        truth, labels = truth[:n_frames], labels[:n_frames]
        overlap = Overlap.of(truth, labels)
        wari = package.weighted_adjusted_rand_score(truth, labels)
        assert weighted_adjusted_rand(overlap) == pytest.approx(wari, abs=1e-5)  # the package cuts sums to integers
        sms, read = package.state_matching_score(truth, labels, return_mapped=True)
        assert one_to_one(overlap) == pytest.approx(np.mean(read == truth))
        assert state_matching_score(overlap) == pytest.approx(sms)
