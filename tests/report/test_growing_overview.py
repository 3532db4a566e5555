"""The overview of a stream: that of the whole recording while it fits, bounded beyond, the same in any chunks."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.report import growing_overview, signal_overview
from rondo.report.growing_overview import GrowingOverview, cut_to


def signal(n_frames: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(n_frames, 2)).astype(np.float32)
    values[n_frames // 3 : n_frames // 2, 1] = np.nan
    return values


def test_while_it_fits_it_is_that_of_the_whole_recording() -> None:
    values, growing = signal(900), GrowingOverview(("a", "b"))
    growing.add(0, values)
    some, other = growing.overview(900), signal_overview(values, ("a", "b"))
    npt.assert_array_equal(some.codes, other.codes)
    npt.assert_allclose([some.low, some.high], [other.low, other.high])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 5)), min_size=1, max_size=30))
def test_any_chunks_and_gaps_give_the_buckets_of_the_whole(chunks: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(growing_overview, "_MOST_NUMBERS", 64)
        patched.setattr(growing_overview, "_FEWEST_BUCKETS", 16)
        growing, once = GrowingOverview(("a", "b")), GrowingOverview(("a", "b"))
    values, at = signal(sum(n + gap for n, gap in chunks)), 0
    for n, gap in chunks:
        values[at : at + gap] = np.nan
        growing.add(at + gap, values[at + gap : at + gap + n])
        at += gap + n
    once.add(0, values)
    some, other = growing.overview(at), once.overview(at)
    assert some.bucket_frames == other.bucket_frames and len(some.codes) <= growing.most_buckets == 32
    npt.assert_array_equal(some.codes, other.codes)
    coarse = signal_overview(values, ("a", "b")).coarsened(some.bucket_frames)
    npt.assert_allclose(some.values(), coarse.values(), atol=1e-3)


def test_a_state_is_gone_on_from_exactly() -> None:
    values, growing, again = signal(500), GrowingOverview(("a", "b")), GrowingOverview(("a", "b"))
    growing.add(0, values[:200])
    again.restore(*growing.state())
    for one in (growing, again):
        one.add(200, values[200:])
    npt.assert_array_equal(growing.overview(500).codes, again.overview(500).codes)


def test_frames_that_have_not_come_are_missing_and_later_ones_cut() -> None:
    growing = GrowingOverview(("a",))
    growing.add(0, np.array([[1.0], [2.0]], np.float32))
    values = growing.overview(4).values()[:, 0, 0]
    npt.assert_array_equal(values, [1, 2, np.nan, np.nan])
    npt.assert_array_equal(cut_to(growing.overview(2), 3).values()[:, 0, 0], [1, 2, np.nan])
    assert cut_to(growing.overview(4), 1).n_frames == 1
    assert growing.overview(0).codes.shape == (0, 1, 1)
