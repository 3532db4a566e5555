from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from rondo.units.timeline import Timeline, centre_distances, decode, smooth_spans, typical_step
from rondo.vocabulary import Vocabulary
from tests import naive_units as naive

Floats = NDArray[np.float64]
Spans = tuple[tuple[int, int], ...]


def vocabulary_of(centres: Floats, radii: Floats) -> Vocabulary:
    vocabulary = Vocabulary("unit")
    for centre, radius in zip(centres, radii, strict=True):
        vocabulary = vocabulary.with_entry(centre, float(radius), 0.5, 1.0)
    return vocabulary


@st.composite
def streams(draw: st.DrawFn, longest_span: int = 5) -> tuple[Floats, Spans]:
    """Latents of a few spans."""
    lengths = draw(st.lists(st.integers(1, longest_span), min_size=1, max_size=4))
    edges = [0, *np.cumsum(lengths).tolist()]
    values = st.floats(-10, 10, width=16)
    latents = draw(arrays(np.float64, (edges[-1], 2), elements=values))
    return latents, tuple(itertools.pairwise(edges))


# ---------------------------------------------------------------- typical step


@settings(max_examples=100, deadline=None)
@given(streams())
def test_typical_step_is_the_median_inside_spans(stream: tuple[Floats, Spans]) -> None:
    latents, spans = stream
    assert typical_step(latents, spans) == pytest.approx(naive.step_median(latents, spans))


def test_typical_step_of_nothing_is_zero() -> None:
    assert typical_step(np.zeros((0, 3)), ()) == 0.0
    assert typical_step(np.ones((1, 3)), ((0, 1),)) == 0.0
    assert typical_step(np.arange(3.0)[:, None], ((0, 1), (1, 2), (2, 3))) == 0.0


def test_typical_step_does_not_see_jumps_between_spans() -> None:
    latents = np.r_[np.arange(5.0), 1e6 + np.arange(5.0)][:, None]
    assert typical_step(latents, ((0, 5), (5, 10))) == 1.0


def test_typical_step_scales_and_does_not_shift() -> None:
    latents = np.random.default_rng(0).normal(size=(50, 3))
    step = typical_step(latents, ((0, 50),))
    assert typical_step(3 * latents + 7, ((0, 50),)) == pytest.approx(3 * step)


# ---------------------------------------------------------------- distances and spans


@settings(max_examples=50, deadline=None)
@given(streams(), st.integers(1, 4))
def test_centre_distances_are_euclidean(stream: tuple[Floats, Spans], n_entries: int) -> None:
    latents, _ = stream
    centres = np.random.default_rng(n_entries).normal(size=(n_entries, 2))
    expected = [[naive.distance(latent, centre) for centre in centres] for latent in latents]
    npt.assert_allclose(centre_distances(latents, centres), expected, rtol=1e-12)


def test_smoothing_carries_nothing_over_a_gap() -> None:
    costs = np.random.default_rng(1).random((40, 3))
    path = smooth_spans(costs, ((0, 15), (15, 16), (16, 40)), 5.0)
    alone = [smooth_spans(costs[a:b], ((0, b - a),), 5.0) for a, b in ((0, 15), (15, 16), (16, 40))]
    npt.assert_array_equal(path, np.concatenate(alone))
    assert smooth_spans(costs[:0], (), 1.0).shape == (0,)


# ---------------------------------------------------------------- decoding


@settings(max_examples=60, deadline=None)
@given(streams(), st.integers(1, 3), st.floats(0, 5))
def test_decoding_is_the_cheapest_path_of_each_span(
    stream: tuple[Floats, Spans], n_entries: int, penalty: float
) -> None:
    latents, spans = stream
    rng = np.random.default_rng(n_entries)
    vocabulary = vocabulary_of(rng.normal(0, 4, (n_entries, 2)), rng.uniform(0.5, 2, n_entries))
    timeline = decode(latents, spans, vocabulary, penalty)
    assert timeline.spans == spans
    assert timeline.ids.dtype == np.int32
    costs = np.array([[naive.distance(latent, entry.centre) for entry in vocabulary] for latent in latents])
    for a, b in spans:
        spent = naive.path_cost(costs[a:b], penalty, timeline.ids[a:b].tolist())
        assert spent == pytest.approx(naive.least_path_cost(costs[a:b], penalty), abs=1e-9)
    for latent, id, found in zip(latents, timeline.ids, timeline.distances, strict=True):
        entry = vocabulary.entries[id]
        assert found == pytest.approx(naive.distance(latent, entry.centre) / entry.radius)


def test_decoding_gives_ids_not_columns() -> None:
    vocabulary = vocabulary_of(np.array([[0.0], [5.0], [10.0]]), np.ones(3))
    thinned = replace(vocabulary, entries=vocabulary.entries[1:])
    timeline = decode(np.array([[5.1], [9.8], [-3.0]]), ((0, 3),), thinned, 0.0)
    assert timeline.ids.tolist() == [1, 2, 1]
    npt.assert_allclose(timeline.distances, [0.1, 0.2, 8.0])


def test_a_window_at_its_centre_scores_one_and_at_the_radius_a_third() -> None:
    vocabulary = vocabulary_of(np.array([[0.0, 0.0]]), np.array([2.0]))
    timeline = decode(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0]]), ((0, 3),), vocabulary, 1.0)
    npt.assert_allclose(timeline.scores, [1.0, math.exp(-1), math.exp(-2)])
    assert timeline.share_accepted == pytest.approx(2 / 3)


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 700)))
def test_scores_lie_in_zero_to_one_and_fall_with_distance(distances: Floats) -> None:
    timeline = Timeline(np.zeros(distances.size, np.int32), distances, ((0, distances.size),))
    assert (timeline.scores > 0).all()
    assert (timeline.scores <= 1).all()
    assert (np.diff(timeline.scores[np.argsort(distances)]) <= 0).all()
    assert timeline.share_accepted == np.mean([r <= 1 for r in distances])


def test_no_windows_no_labels() -> None:
    timeline = decode(np.zeros((0, 2)), (), vocabulary_of(np.zeros((1, 2)), np.ones(1)), 1.0)
    assert timeline.ids.shape == timeline.scores.shape == (0,)
    assert timeline.share_accepted == 0.0


# ---------------------------------------------------------------- centroid timeline
