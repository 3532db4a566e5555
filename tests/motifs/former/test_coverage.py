"""Coverage against sets of windows."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.motifs.former.coverage import Coverage
from tests import naive_coverage

_N_WINDOWS = 20
_claims = st.integers(1, 8).flatmap(lambda length: st.tuples(st.integers(0, _N_WINDOWS - length), st.just(length)))


def covered(claims: list[tuple[int, int]]) -> Coverage:
    coverage = Coverage.none(_N_WINDOWS)
    for start, length in claims:
        coverage = coverage.claim(np.array([start]), length)
    return coverage


@settings(max_examples=100, deadline=None)
@given(st.lists(_claims, max_size=6), st.integers(1, _N_WINDOWS))
def test_coverage_is_that_of_sets(claims: list[tuple[int, int]], length: int) -> None:
    coverage, union = covered(claims), naive_coverage.claimed(claims)
    assert set(np.flatnonzero(coverage.claimed)) == union
    starts = np.arange(_N_WINDOWS - length + 1)
    expected = [naive_coverage.ratio(int(start), length, union) for start in starts]
    npt.assert_array_equal(coverage.ratio(starts, length), expected)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, _N_WINDOWS - 3), max_size=8))
def test_claims_at_once_and_one_after_another_are_the_same(starts: list[int]) -> None:
    at_once = Coverage.none(_N_WINDOWS).claim(np.array(starts, dtype=np.int64), 3)
    npt.assert_array_equal(at_once.claimed, covered([(start, 3) for start in starts]).claimed)


def test_claiming_leaves_the_coverage_before_as_it_was() -> None:
    before = Coverage.none(4)
    before.claim(np.array([0]), 4)
    assert not before.claimed.any()


def test_no_windows_and_no_candidates() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    coverage = Coverage.none(0).claim(nothing, 3)
    assert coverage.claimed.size == 0
    assert coverage.ratio(nothing, 3).size == 0


def test_a_candidate_that_is_all_claimed_has_no_weight_at_all() -> None:
    """Exactly zero, whatever the length: a weight of rounding would be a motif of nothing."""
    coverage = Coverage.none(30).claim(np.array([0]), 30)
    for length in range(1, 31):
        assert not (1 - coverage.ratio(np.arange(30 - length + 1), length)).any()
