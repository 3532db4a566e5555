"""Fusion against the triple loop over windows, motifs and candidates."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.data.labels import OTHER
from rondo.paper.candidates import Matches, Subsequences, subsequences
from rondo.paper.fusion import HIGHEST_SCORE, Fused, fuse, occurrences
from tests import naive_fusion

Spans = list[tuple[int, int]]


def random_matches(
    codes: np.ndarray, spans: Spans, length: int, n_components: int, rng: np.random.Generator
) -> Matches:
    """A few distances, so that ties are common, and many rejections."""
    candidates = subsequences(codes, spans, length)
    r = rng.choice([0.0, 0.25, 0.5, 1.0, np.inf, np.inf, np.inf], size=(len(candidates.items), n_components))
    return Matches(candidates, np.zeros(len(candidates.items), np.int64), r)


def matches_at(starts: list[int], length: int, r: list[float]) -> Matches:
    """One component, one candidate per start."""
    items = np.arange(len(starts))[:, None] * np.ones(length, dtype=np.int64)
    own = Subsequences(length, np.array(starts), items, np.arange(len(starts)))
    return Matches(own, np.zeros(len(starts), np.int64), np.array(r)[:, None])


@given(st.integers(1, 14), st.integers(0, 14), st.sets(st.integers(2, 5), min_size=1), st.integers(0, 10_000))
def test_fusion_is_the_triple_loop(n_windows: int, cut: int, lengths: set[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n_windows)
    spans = [(0, min(cut, n_windows)), (min(cut, n_windows), n_windows)]
    found = [random_matches(codes, spans, length, 3, rng) for length in sorted(lengths, reverse=True)]
    motif_ids = [rng.integers(0, 4, 3) for _ in found]
    fused = fuse(found, motif_ids, n_windows)
    expected = naive_fusion.fuse(found, [ids.tolist() for ids in motif_ids], n_windows)
    npt.assert_array_equal(fused.ids, [motif for motif, _ in expected])
    npt.assert_allclose(fused.scores, [score for _, score in expected], atol=1e-12)


def test_a_window_takes_the_nearest_of_the_candidates_that_cover_it() -> None:
    fused = fuse([matches_at([0, 1, 4], 2, [0.5, 0.25, 1.0])], [np.array([7])], 7)
    npt.assert_array_equal(fused.ids, [7, 7, 7, OTHER, 7, 7, OTHER])
    npt.assert_allclose(fused.scores, [*np.exp([-0.5, -0.25, -0.25]), 0, *np.exp([-1.0, -1.0]), 0], atol=1e-9)


@pytest.mark.parametrize("n_lengths", [1, 2, 6, 9])
def test_the_bonus_grows_with_the_lengths_and_is_bounded(n_lengths: int) -> None:
    found = [matches_at([0], length, [0.0]) for length in range(2, 2 + n_lengths)]
    fused = fuse(found, [np.array([0])] * n_lengths, 12)
    assert fused.scores[0] == pytest.approx(1 + 0.1 * min(n_lengths - 1, 5))
    assert fused.scores.max() <= HIGHEST_SCORE


def test_a_motif_of_two_lengths_beats_a_nearer_one_of_one() -> None:
    """The bonus is what linking is for: mean exp(-0.05) * 1.1 > exp(0)."""
    found = [matches_at([0], 3, [0.05]), matches_at([0], 2, [0.05]), matches_at([0], 2, [0.0])]
    linked = fuse(found, [np.array([0]), np.array([0]), np.array([1])], 3)
    alone = fuse(found, [np.array([0]), np.array([2]), np.array([1])], 3)
    npt.assert_array_equal(linked.ids, [0, 0, 0])
    npt.assert_array_equal(alone.ids, [1, 1, 0])
    assert linked.scores[0] == pytest.approx(1.1 * math.exp(-0.05))


def test_two_components_of_one_length_that_are_one_motif_count_as_one_length() -> None:
    two = matches_at([0], 2, [0.5])
    both = Matches(two.candidates, two.nearest, np.array([[0.5, 0.25]]))
    fused = fuse([both], [np.array([3, 3])], 2)
    npt.assert_allclose(fused.scores, math.exp(-0.25), atol=1e-9)


def test_ties_go_to_the_longer_then_to_the_smaller_id() -> None:
    long, short = matches_at([0], 3, [1e-13]), matches_at([0], 2, [0.0])  # equal but for rounding
    npt.assert_array_equal(fuse([long, short], [np.array([5]), np.array([1])], 3).ids, [5, 5, 5])
    npt.assert_array_equal(fuse([short, short], [np.array([5]), np.array([1])], 2).ids, [1, 1])


def test_the_order_of_lengths_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    codes, spans = rng.integers(0, 3, 40), [(0, 25), (25, 40)]
    found = [random_matches(codes, spans, length, 4, rng) for length in (5, 3, 2)]
    motif_ids = [rng.integers(0, 6, 4) for _ in found]
    there, back = fuse(found, motif_ids, 40), fuse(found[::-1], motif_ids[::-1], 40)
    npt.assert_array_equal(there.ids, back.ids)
    npt.assert_allclose(there.scores, back.scores)


def test_nothing_accepted_is_other_everywhere() -> None:
    for found, ids in [([], []), ([matches_at([0, 1], 2, [np.inf, np.inf])], [np.array([0])])]:
        fused = fuse(found, ids, 5)
        npt.assert_array_equal(fused.ids, [OTHER] * 5)
        npt.assert_array_equal(fused.scores, np.zeros(5))
        assert occurrences(fused, np.zeros(5, np.int64), [(0, 5)]) == ()


# ---------------------------------------------------------------- occurrences


def test_occurrences_end_where_the_motif_or_the_span_ends() -> None:
    fused = Fused(np.array([4, 4, OTHER, 4, 4, 4, 2], np.int32), np.array([0.5, 1.0, 0, 0.5, 0.5, 1.0, 0.25]))
    found = occurrences(fused, np.array([0, 1, 1, 3, 3, 3, 0]), [(0, 5), (5, 7)])
    assert [(o.motif, o.start, o.stop) for o in found] == [(4, 0, 2), (4, 3, 5), (4, 5, 6), (2, 6, 7)]
    assert [o.phrase for o in found] == [(0, 1), (3,), (3,), (0,)]
    assert [o.score for o in found] == [0.75, 0.5, 1.0, 0.25]


@given(st.lists(st.integers(-1, 2), min_size=1, max_size=20), st.integers(0, 20), st.integers(0, 100))
def test_occurrences_tell_the_labels(ids: list[int], cut: int, seed: int) -> None:
    cut = min(cut, len(ids))
    codes = np.random.default_rng(seed).integers(0, 3, len(ids))
    found = occurrences(Fused(np.array(ids, np.int32), np.ones(len(ids))), codes, [(0, cut), (cut, len(ids))])
    written = [OTHER] * len(ids)
    for motif, start, stop, phrase, _ in found:
        written[start:stop] = [motif] * (stop - start)
        assert not start < cut < stop
        assert all(a != b for a, b in pairwise(phrase))
        assert set(phrase) == set(codes[start:stop].tolist())
    assert written == ids
