"""Candidates: distinct sequences, epochs of weighted items with partners, and which motifs accept them."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.paper import candidates as pool_module
from rondo.paper.candidates import LengthMotifs, Pool, Subsequences, match, match_lengths, subsequences, weighted_sample
from rondo.units.mixture import FittedMixture
from tests import naive_fusion
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


def timeline(n_windows: int, n_units: int = 3, seed: int = 0) -> NDArray[np.int64]:
    """Units in runs of about four windows."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.integers(n_units, size=n_windows), rng.geometric(0.25, n_windows))[:n_windows]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 40), st.integers(0, 1000))
def test_sample_stands_for_all(listed: list[int], n_wanted: int, seed: int) -> None:
    counts = np.array(listed)
    drawn, weights = weighted_sample(counts, n_wanted, np.random.default_rng(seed))
    assert len(set(drawn.tolist())) == drawn.size
    if n_wanted >= counts.size:
        assert drawn.tolist() == list(range(counts.size))
        assert weights.tolist() == listed
    else:
        assert abs(drawn.size - n_wanted) <= 1
        assert (weights >= counts[drawn] - 1e-9).all()
        npt.assert_allclose(weights.sum(), counts.sum(), atol=weights.max() * 1.001)


@pytest.mark.slow
def test_weighted_sums_over_samples_are_right_in_expectation() -> None:
    rng = np.random.default_rng(0)
    counts = np.array([1, 1, 2, 3, 5, 40, 2, 1])
    sums = np.zeros(counts.size)
    for _ in range(4000):
        drawn, weights = weighted_sample(counts, 4, rng)
        sums[drawn] += weights
    npt.assert_allclose(sums / 4000, counts, rtol=0.12)
    assert sums[5] == 40 * 4000  # what occurs most is always there


def pool(n_windows: int = 50, spans: tuple[tuple[int, int], ...] = ((0, 20), (20, 50))) -> Pool:
    return Pool.of(timeline(n_windows), spans, (4, 2, 3))


def test_an_epoch_has_every_item_once_with_its_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_BATCH_SIZE", 8)
    items = pool()
    batches = items.epoch(10**6, np.random.default_rng(0))
    assert max(batch.items.size for batch in batches) <= 8
    drawn = np.concatenate([batch.items for batch in batches])
    weights = np.concatenate([batch.weights for batch in batches])
    assert sorted(drawn.tolist()) == list(range(items.n_items))
    npt.assert_array_equal(weights, items.counts[drawn])
    everything = [tuple(row) for found in items.of_length for row in found.items.tolist()]
    for batch in batches:
        assert [everything[item] for item in batch.items] == [tuple(row) for row in batch.codes.tolist()]


def test_partners_stand_where_the_item_does() -> None:
    items, rng = pool(), np.random.default_rng(0)
    codes, spans = timeline(50), ((0, 20), (20, 50))
    stands_at = {
        (tuple(codes[i : i + a]), tuple(codes[i : i + b]))
        for start, stop in spans
        for i in range(start, stop)
        for a in (2, 3, 4)
        for b in (2, 3, 4)
        if a != b and i + max(a, b) <= stop
    }
    seen = set()
    for batch in [batch for _ in range(15) for batch in items.epoch(10**6, rng)]:
        partners = [tuple(row) for row in batch.partner_codes[batch.partner_of].tolist()]
        own = [tuple(row) for row in batch.codes[batch.paired].tolist()]
        shorter = [min(pair, key=len) for pair in zip(own, partners, strict=True)]
        assert len({tuple(row) for row in batch.partner_codes.tolist()}) == len(batch.partner_codes)
        for kind in set(batch.partner_kinds.tolist()):
            assert len({shorter[row] for row in np.flatnonzero(batch.partner_kinds == kind)}) == 1
        assert len(set(batch.partner_kinds.tolist())) == len(set(shorter))
        seen |= set(zip(own, partners, strict=True))
    assert seen <= stands_at
    assert len(seen) > 0.8 * len(stands_at)


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
