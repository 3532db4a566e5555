"""Mixes: counts against a slow twin; an order is told where there is one, and only there."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from rondo.motifs.contexts import _FEWEST, _SIGNIFICANT, Mixes, in_any_order, leading, typical_order

UNITS = (0, 4, 7, 9)


def mixes_of(runs: list[int], n_rounds: int = 1, n_units: int = 4) -> Mixes:
    """One context over these runs of units, each two windows long, in so many occurrences."""
    units = np.repeat(np.array(runs), 2)
    return Mixes.counted([(np.zeros(units.size, np.int64), units)] * n_rounds, 1, n_units)


def shuffled(rng: np.random.Generator, weights: tuple[float, ...], n: int) -> list[int]:
    """Units in any order, never twice in a row."""
    runs: list[int] = []
    while len(runs) < n:
        unit = int(rng.choice(len(weights), p=np.array(weights) / sum(weights)))
        runs += [unit] if not runs or runs[-1] != unit else []
    return runs


@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=40), max_size=3))
def test_windows_beginnings_and_successions_are_counted(spans: list[list[tuple[int, int]]]) -> None:
    windows, first, follows = (np.zeros(shape, np.int64) for shape in ((3, 4), (3, 4), (3, 4, 4)))
    for span in spans:
        for at, (context, unit) in enumerate(span):
            windows[context, unit] += 1
            if at == 0 or span[at - 1][0] != context:
                first[context, unit] += 1
            elif span[at - 1][1] != unit:
                follows[context, span[at - 1][1], unit] += 1
    given_ = [tuple(np.array(span, np.int64).reshape(-1, 2).T) for span in spans]
    mixes = Mixes.counted(given_, 3, 4)  # type: ignore[arg-type]
    for own, expected in ((mixes.windows, windows), (mixes.first, first), (mixes.follows, follows)):
        npt.assert_array_equal(own, expected)


def test_a_fixed_order_is_told_and_how_often_it_comes() -> None:
    assert (
        mixes_of([2, 0, 3] * 6, 3).told(0, UNITS)
        == "u0 33%, u7 33%, u9 33%; mostly u7 → u0 → u9, 6 times per occurrence"
    )
    gone = [unit for i, unit in enumerate([2, 0, 3, 1] * 40) if i % 11 != 5]  # some are left out
    assert "u7 → u0 → u9 → u4" in mixes_of(gone).told(0, UNITS)


def test_an_order_ends_where_no_unit_leads_on() -> None:
    rng = np.random.default_rng(0)
    runs = [unit for i in range(80) for unit in (0, 1, *shuffled(rng, (0, 0, 1, 1, 1), 2 + i % 3))]
    told = mixes_of(runs, 2, n_units=5).told(0, (*UNITS, 11))
    assert re.search(r"; mostly u0 → u4, \d+ times", told), told


@pytest.mark.slow
@pytest.mark.parametrize("weights", [(1, 1, 1), (6, 1, 1, 1)])
def test_units_in_any_order_have_none(weights: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    told = [mixes_of(shuffled(rng, weights, 120), 1).told(0, UNITS) for _ in range(100)]
    assert sum("mostly" in line for line in told) <= 2
    assert all(
        re.search(r"; no fixed order, u\d \d+ times per occurrence$", line) for line in told if "mostly" not in line
    )


def test_what_must_be_so_is_no_order() -> None:
    """Two units in turn, and one that comes between all others, follow from never coming twice in a row."""
    assert mixes_of([0, 1] * 30, 3).told(0, UNITS) == "u0 50%, u4 50%; u0 30 times per occurrence"
    between = [unit for other in shuffled(np.random.default_rng(1), (1, 1, 1), 90) for unit in (0, other + 1)]
    assert "fixed order, u0 90 times" in mixes_of(between).told(0, UNITS)
    to_and_fro = [0, 1] * 20 + [2, 3] * 20
    assert "mostly" not in mixes_of(to_and_fro * 3).told(0, UNITS)


def test_few_times_are_no_order_and_do_not_show_that_there_is_none() -> None:
    assert mixes_of([0, 1, 2, 0, 2, 1]).told(0, UNITS) == "u0 33%, u4 33%, u7 33%; u0 2 times per occurrence"
    follows = np.array([[0, 4, 0], [0, 0, 4], [4, 0, 0]])
    once = np.array([1, 0, 0])
    assert typical_order(follows, once) == () and typical_order(4 * follows, once) == (0, 1, 2)
    assert typical_order(4 * follows, 40 * once) == ()  # in fewer than half of the occurrences


def test_one_unit_has_no_order_and_merged_units_are_one() -> None:
    assert mixes_of([0] * 30).told(0, UNITS) == "u0 100%"
    mixes = mixes_of([2, 0, 3, 1] * 30)
    merged = {0: 0, 4: 4, 7: 0, 9: 9}
    assert (
        mixes.told(0, UNITS, merged.__getitem__)
        == "u0 50%, u4 25%, u9 25%; mostly u0 → u9 → u4, 30 times per occurrence"
    )
    assert mixes.told(0, UNITS, lambda unit: 0) == "u0 100%"


@given(st.lists(st.integers(0, 3), min_size=2, max_size=200))
def test_expected_counts_keep_the_sums(runs: list[int]) -> None:
    follows = mixes_of(runs).follows[0]
    expected = in_any_order(follows)
    npt.assert_allclose(expected.sum(axis=0), follows.sum(axis=0), atol=1e-6)
    assert (np.diag(expected) == 0).all() and np.isfinite(expected).all()
    assert (leading(follows, 1).sum(axis=1) <= 1).all()


@given(st.lists(st.integers(0, 30), min_size=9, max_size=9), st.integers(1, 12))
def test_what_leads_is_significant_by_the_binomial_distribution(counts: list[int], n_occurrences: int) -> None:
    follows = np.array(counts, np.int64).reshape(3, 3)
    np.fill_diagonal(follows, 0)
    n_after, chance = follows.sum(axis=1), in_any_order(follows)
    expected = np.zeros((3, 3), np.bool_)
    for a, b in product(range(3), range(3)):
        n = int(follows[a, b])
        if n < _FEWEST or 2 * n < n_occurrences or 2 * n <= n_after[a] or n <= 2 * follows[b, a]:
            continue
        p = binom.sf(n - 1, n_after[a], min(1.0, chance[a, b] / n_after[a]))
        expected[a, b] = p <= _SIGNIFICANT / np.count_nonzero(chance)
    npt.assert_array_equal(leading(follows, n_occurrences), expected)
