"""Mean and band of aligned occurrences, against a twin that goes frame by frame."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.testing as npt
from hypothesis import given
from hypothesis import strategies as st

from rondo.analysis.shape import LEAST_SHARE, mean_and_band, means_between, occurrence_columns
from rondo.run.overview import signal_overview
from tests import naive_alignment as naive

VALUES = st.lists(st.one_of(st.floats(-5, 5), st.just(float("nan"))), min_size=1, max_size=30)


@given(VALUES, st.integers(1, 12))
def test_means_between_equal_the_slow_twin(values: list[float], n_columns: int) -> None:
    edges = np.linspace(0, len(values), n_columns + 1)
    found = means_between(np.array(values)[:, None], edges)[:, 0]
    expected = [naive.column_mean(values, a, b) for a, b in pairwise(edges)]
    npt.assert_allclose(found, expected, atol=1e-9)


@given(st.integers(0, 20), st.integers(1, 40), st.integers(1, 60), st.integers(1, 16))
def test_an_occurrence_equals_the_slow_twin_both_ways(start: int, length: int, width: int, n_columns: int) -> None:
    rng = np.random.default_rng(length)
    signal = rng.normal(size=(80, 3))
    signal[rng.random(80) < 0.1, 1] = np.nan
    overview = signal_overview(signal, "abc")
    rows = np.array([2, 1])
    inside = overview.values()[start : start + length, :, 0]
    for wide in (width, None):
        found = occurrence_columns(overview, start, start + length, wide, n_columns, rows)
        expected = [naive.columns(inside[:, row].tolist(), wide, n_columns) for row in rows]
        npt.assert_allclose(found, expected, atol=1e-5)


def test_larger_buckets_are_read_by_their_middle() -> None:
    overview = signal_overview(np.arange(64.0)[:, None], ["ramp"]).coarsened(8)
    found = occurrence_columns(overview, 16, 48, None, 4, np.array([0]))
    npt.assert_allclose(found[0], [19.5, 27.5, 35.5, 43.5], atol=0.01)


@given(st.integers(1, 30), st.integers(1, 8), st.floats(0, 0.9))
def test_mean_and_band_equal_the_slow_twin(n: int, n_columns: int, missing: float) -> None:
    rng = np.random.default_rng(n)
    stack = rng.normal(size=(n, 2, n_columns))
    stack[rng.random(stack.shape) < missing] = np.nan
    found = mean_and_band(stack)
    for row in range(2):
        for column in range(n_columns):
            expected = naive.band(stack[:, row, column].tolist(), LEAST_SHARE)
            npt.assert_allclose(found[row, :, column], expected, atol=1e-12)


def test_the_order_of_occurrences_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    stack = rng.normal(size=(20, 1, 5))
    npt.assert_allclose(mean_and_band(stack), mean_and_band(stack[rng.permutation(20)]))


def test_stretched_occurrences_of_one_shape_have_no_band_where_those_from_the_start_do() -> None:
    """The same wave at other speeds: stretched they lie on each other, from the start they do not."""
    lengths = [40, 60, 80]
    signal = np.concatenate([np.sin(np.linspace(0, 2 * np.pi, n, endpoint=False)) for n in lengths])[:, None]
    overview, row = signal_overview(signal, ["x"]), np.array([0])
    spans = [*zip(np.cumsum(lengths) - lengths, np.cumsum(lengths), strict=True)]
    spreads = []
    for width in (None, 40):
        own = [occurrence_columns(overview, start, end, width, 8, row) for start, end in spans]
        low, _, high = mean_and_band(np.stack(own))[0]
        spreads.append(float(np.nanmax(high - low)))
    assert spreads[0] < 0.1 < 0.8 < spreads[1]
