"""Matching against one candidate and one motif at a time."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.paper.candidates import LengthMotifs, Subsequences, match, match_lengths, subsequences
from rondo.units.mixture import FittedMixture
from tests import naive_fusion


def motifs_at(
    centres: np.ndarray, radii: float | np.ndarray = 1.0, floors: float | np.ndarray = 0.0, length: int = 2
) -> LengthMotifs:
    """Motifs of unit variance at these centres (n_components, n_dims)."""
    n_components, n_dims = centres.shape
    mixture = FittedMixture(
        np.full(n_components, 1 / n_components),
        centres,
        np.tile(np.eye(n_dims), (n_components, 1, 1)),
        np.zeros(n_components),
    )
    each = np.ones(n_components)
    return LengthMotifs(length, mixture, centres, radii * each, floors * each, each, None)


def candidates_of(n_items: int, length: int = 2) -> Subsequences:
    """One candidate per item, one after the other."""
    items = np.arange(n_items)[:, None] * np.ones(length, dtype=np.int64)
    return Subsequences(length, np.arange(n_items), items, np.arange(n_items))


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 1000))
def test_matches_are_those_of_the_definition(n_components: int, n_items: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    motifs = motifs_at(
        rng.normal(size=(n_components, 2)), rng.uniform(0.5, 2, n_components), rng.uniform(0, 0.6, n_components)
    )
    latents = rng.normal(size=(n_items, 2))
    found = match(motifs, candidates_of(n_items), latents)
    for item in range(n_items):
        for component in range(n_components):
            expected = naive_fusion.normalised_distance(motifs, latents[item], component)
            assert found.distances[item, component] == pytest.approx(np.inf if expected is None else expected)


def test_the_best_match_is_the_nearest_that_accepts() -> None:
    motifs = motifs_at(np.array([[0.0], [1.0], [9.0]]), radii=np.array([2.0, 1.0, 1.0]))
    found = match(motifs, candidates_of(3), np.array([[0.8], [0.1], [5.0]]))
    components, r = found.best
    npt.assert_array_equal(components, [1, 0, -1])
    npt.assert_allclose(r, [0.2, 0.05, np.inf])


def test_a_candidate_may_match_several_motifs() -> None:
    found = match(motifs_at(np.array([[0.0], [1.0]])), candidates_of(1), np.array([[0.25]]))
    npt.assert_allclose(found.distances, [[0.25, 0.75]])


def test_the_posterior_floor_rejects_what_the_radius_accepts() -> None:
    near_the_other = np.array([[0.9]])
    centres = np.array([[0.0], [1.0]])
    without = match(motifs_at(centres), candidates_of(1), near_the_other)
    strict = match(motifs_at(centres, floors=np.array([0.5, 0.5])), candidates_of(1), near_the_other)
    assert np.isfinite(without.distances).tolist() == [[True, True]]
    assert np.isfinite(strict.distances).tolist() == [[False, True]]


def test_a_candidate_on_the_radius_is_inside_whatever_the_rounding() -> None:
    radius = 0.1 + 0.2
    found = match(motifs_at(np.zeros((1, 1)), radii=0.3), candidates_of(1), np.array([[radius]]))
    assert radius > 0.3
    npt.assert_array_equal(found.distances, [[1.0]])


def test_members_that_coincide_are_at_their_centre() -> None:
    found = match(motifs_at(np.zeros((1, 1)), radii=1e-9), candidates_of(2), np.array([[1e-16], [1e-8]]))
    npt.assert_array_equal(found.distances, [[0.0], [np.inf]])


def test_candidates_of_equal_units_match_alike_and_none_crosses_a_span() -> None:
    codes, spans = np.array([0, 0, 1, 0, 0, 1]), [(0, 3), (3, 6)]
    (found,) = match_lengths(lambda items: items.astype(float), codes, spans, [motifs_at(np.zeros((1, 2)))])
    npt.assert_array_equal(found.candidates.starts, [0, 1, 3, 4])
    npt.assert_array_equal(found.best[1], [0, 1, 0, 1])


def test_no_candidates_no_matches() -> None:
    def describe(items: np.ndarray) -> np.ndarray:
        raise AssertionError("nothing to describe")

    (found,) = match_lengths(describe, np.array([0, 1]), [(0, 1), (1, 2)], [motifs_at(np.zeros((3, 2)))])
    assert found.distances.shape == (0, 3)
    assert [part.size for part in found.best] == [0, 0]


def test_nothing_is_computed_twice_for_equal_units() -> None:
    codes = np.zeros(100, dtype=np.int64)
    seen = []

    def describe(items: np.ndarray) -> np.ndarray:
        seen.append(len(items))
        return items.astype(float)

    match_lengths(describe, codes, [(0, 100)], [motifs_at(np.zeros((1, 2)))])
    assert seen == [1]
    assert subsequences(codes, [(0, 100)], 2).starts.size == 99
