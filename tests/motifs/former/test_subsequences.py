from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.paper.candidates import subsequences
from tests import naive_motif_former as naive

SPANS = st.lists(st.integers(0, 9), min_size=0, max_size=4)


def spans_of(sizes: list[int]) -> list[tuple[int, int]]:
    stops = np.cumsum(sizes).tolist()
    return [(stop - size, stop) for stop, size in zip(stops, sizes, strict=True)]


@given(SPANS, st.integers(1, 6), st.integers(1, 3), st.integers(0, 10**6))
def test_candidates_and_items_by_the_definition(sizes: list[int], length: int, n_units: int, seed: int) -> None:
    codes = np.random.default_rng(seed).integers(n_units, size=sum(sizes))
    spans = spans_of(sizes)
    found = subsequences(codes, spans, length)
    starts, items, item_of = naive.subsequences(codes.tolist(), spans, length)
    assert found.length == length
    assert found.starts.tolist() == starts
    assert [tuple(row) for row in found.items.tolist()] == items
    assert found.items.shape == (len(items), length)
    assert found.item_of.tolist() == item_of
    assert found.counts.tolist() == [item_of.count(i) for i in range(len(items))]


def test_many_units_do_not_overflow() -> None:
    codes = np.array([10**6, 0, 10**6, 0] * 6)
    found = subsequences(codes, [(0, 24)], length=10)
    assert found.items[:, :2].tolist() == [[10**6, 0], [0, 10**6]]
    npt.assert_array_equal(found.counts, [8, 7])


@pytest.mark.parametrize("spans", [[], [(0, 3)], [(0, 1), (1, 2), (2, 3)]])
def test_no_candidate_where_none_fits(spans: list[tuple[int, int]]) -> None:
    found = subsequences(np.zeros(3, np.int64), spans, length=4)
    assert found.starts.size == found.item_of.size == found.counts.size == 0
    assert found.items.shape == (0, 4)


def test_types_are_the_promised_ones() -> None:
    found = subsequences(np.array([0, 1, 0], np.int32), [(0, 3)], length=2)
    assert {a.dtype for a in (found.starts, found.items, found.item_of, found.counts)} == {np.dtype(np.int64)}
