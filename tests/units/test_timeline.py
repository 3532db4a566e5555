"""Smoothing by the cheapest path, whole, with a lag and in chunks; and the timeline that it gives."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from rondo.units import viterbi as module
from rondo.units.viterbi import Viterbi, decode, smooth, smooth_spans, typical_step
from rondo.units.vocabulary import Vocabulary
from tests import naive_units as naive

Floats = NDArray[np.float64]
Spans = tuple[tuple[int, int], ...]


def vocabulary_of(centres: Floats, radii: Floats) -> Vocabulary:
    n = len(centres)
    return Vocabulary(tuple(range(n)), n, centres, centres, radii, np.full(n, 0.5), np.ones(n))


@st.composite
def streams(draw: st.DrawFn, longest_span: int = 5) -> tuple[Floats, Spans]:
    """Latents of a few spans."""
    lengths = draw(st.lists(st.integers(1, longest_span), min_size=1, max_size=4))
    edges = [0, *np.cumsum(lengths).tolist()]
    values = st.floats(-10, 10, width=16)
    latents = draw(arrays(np.float64, (edges[-1], 2), elements=values))
    return latents, tuple(itertools.pairwise(edges))


# ---------------------------------------------------------------- typical step


@given(streams())
def test_typical_step_is_the_median_inside_spans(stream: tuple[Floats, Spans]) -> None:
    latents, spans = stream
    assert typical_step(latents, spans) == pytest.approx(naive.step_median(latents, spans))


def test_typical_step_of_nothing_is_zero() -> None:
    assert typical_step(np.zeros((0, 3)), ()) == 0.0
    assert typical_step(np.ones((1, 3)), ((0, 1),)) == 0.0
    assert typical_step(np.arange(3.0)[:, None], ((0, 1), (1, 2), (2, 3))) == 0.0


# ---------------------------------------------------------------- distances and spans


# ---------------------------------------------------------------- decoding


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
    costs = np.array([[naive.distance(latent, centre) for centre in vocabulary.centres] for latent in latents])
    for a, b in spans:
        spent = naive.path_cost(costs[a:b], penalty, timeline.ids[a:b].tolist())
        assert spent == pytest.approx(naive.least_path_cost(costs[a:b], penalty), abs=1e-9)
    for latent, id, found in zip(latents, timeline.ids, timeline.distances, strict=True):
        assert found == pytest.approx(naive.distance(latent, vocabulary.centres[id]) / vocabulary.radii[id])


def test_decoding_gives_ids_not_columns() -> None:
    thinned = replace(vocabulary_of(np.array([[5.0], [10.0]]), np.ones(2)), ids=(1, 2))
    timeline = decode(np.array([[5.1], [9.8], [-3.0]]), ((0, 3),), thinned, 0.0)
    assert timeline.ids.tolist() == [1, 2, 1]
    npt.assert_allclose(timeline.distances, [0.1, 0.2, 8.0])


def test_a_window_at_its_centre_scores_one_and_at_the_radius_a_third() -> None:
    vocabulary = vocabulary_of(np.array([[0.0, 0.0]]), np.array([2.0]))
    timeline = decode(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0]]), ((0, 3),), vocabulary, 1.0)
    npt.assert_allclose(timeline.scores, [1.0, math.exp(-1), math.exp(-2)])
    assert timeline.share_accepted == pytest.approx(2 / 3)


def test_no_windows_no_labels() -> None:
    timeline = decode(np.zeros((0, 2)), (), vocabulary_of(np.zeros((1, 2)), np.ones(1)), 1.0)
    assert timeline.ids.shape == timeline.scores.shape == (0,)
    assert timeline.share_accepted == 0.0


# ---------------------------------------------------------------- centroid timeline


_numbers = st.floats(0, 10, width=32)
_small_costs = arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 3)),
    elements=_numbers | st.integers(0, 2).map(float),
)
_penalties = _numbers | st.just(0.0) | st.integers(0, 2).map(float)


@given(_small_costs, _penalties)
def test_no_path_is_cheaper(costs: Floats, penalty: float) -> None:
    path = smooth(costs, penalty)
    assert path.shape == (costs.shape[0],)
    assert naive.path_cost(costs, penalty, path.tolist()) == pytest.approx(
        naive.least_path_cost(costs, penalty), abs=1e-9
    )


@pytest.mark.parametrize(("n_windows", "n_entries", "penalty"), [(300, 2, 0.7), (500, 9, 0.3), (200, 40, 5.0)])
def test_path_is_the_textbook_one(n_windows: int, n_entries: int, penalty: float) -> None:
    costs = np.random.default_rng(n_entries).random((n_windows, n_entries))
    np.testing.assert_array_equal(smooth(costs, penalty), naive.viterbi(costs, penalty))


def test_blocks_of_windows_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = np.random.default_rng(0).random((101, 5))
    whole = smooth(costs, 0.4)
    for block in (1, 2, 7, 100, 101):
        monkeypatch.setattr(module, "_BLOCK", block)
        np.testing.assert_array_equal(smooth(costs, 0.4), whole)


@given(st.permutations(range(5)), st.integers(0, 1000))
def test_relabelling_entries_relabels_the_path(order: list[int], seed: int) -> None:
    costs = np.random.default_rng(seed).random((60, 5))
    np.testing.assert_array_equal(np.array(order)[smooth(costs[:, order], 0.3)], smooth(costs, 0.3))


def test_ties_stay_longer_then_take_the_smaller_column() -> None:
    np.testing.assert_array_equal(smooth(np.zeros((5, 3)), 1.0), np.zeros(5))
    np.testing.assert_array_equal(smooth(np.zeros((5, 3)), 0.0), np.zeros(5))
    change_costs_what_it_saves = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(smooth(change_costs_what_it_saves, 1.0), np.zeros(3))
    np.testing.assert_array_equal(smooth(np.array([[0.0, 1.0], [5.0, 0.0]]), 1.0), [1, 1])


def test_input_is_not_changed_and_single_precision_is_taken() -> None:
    costs = np.random.default_rng(5).random((50, 4)).astype(np.float32)
    before = costs.copy()
    path = smooth(costs, 0.2)
    np.testing.assert_array_equal(costs, before)
    np.testing.assert_array_equal(path, smooth(before.astype(np.float64), 0.2))


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1, 3), (4, 1)])
def test_smallest_inputs(shape: tuple[int, int]) -> None:
    path = smooth(np.zeros(shape), 1.0)
    assert path.dtype == np.int64
    assert path.tolist() == [0] * shape[0]
    assert smooth_spans(np.zeros(shape), (), 1.0).shape == (0,)


# ---------------------------------------------------------------- with a lag

_costs = arrays(np.float64, st.tuples(st.integers(1, 25), st.integers(1, 4)), elements=st.integers(0, 8).map(float))
_fine_costs = arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 5)), elements=_numbers)


def lagged(costs: Floats, penalty: float, lag: int, cuts: list[int] | None = None) -> list[int]:
    """The path of a stream that comes in chunks; by default window by window."""
    viterbi = Viterbi(costs.shape[1], penalty, lag)
    edges = [0, *(range(1, len(costs)) if cuts is None else sorted(cuts)), len(costs)]
    path = [column for start, stop in pairwise(edges) for column in viterbi.push(costs[start:stop]).tolist()]
    assert len(path) == max(0, len(costs) - lag)
    return path + viterbi.flush().tolist()


@given(_fine_costs, _penalties, st.integers(0, 3))
def test_with_a_lag_as_long_as_the_stream_it_is_the_whole_path(costs: Floats, penalty: float, more: int) -> None:
    assert lagged(costs, penalty, len(costs) + more) == smooth(costs, penalty).tolist()


@given(_fine_costs, _penalties, st.integers(0, 6))
def test_every_window_is_labelled_by_the_path_of_what_came_so_far(costs: Floats, penalty: float, lag: int) -> None:
    n = len(costs)
    expected = [smooth(costs[: min(n, t + lag + 1)], penalty)[t] for t in range(n)]
    assert lagged(costs, penalty, lag) == expected


@given(_fine_costs, _penalties, st.integers(0, 6), st.data())
def test_chunks_do_not_matter(costs: Floats, penalty: float, lag: int, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(costs)), max_size=5))
    assert lagged(costs, penalty, lag, cuts) == lagged(costs, penalty, lag)


@given(_costs, st.integers(0, 4), st.data())
def test_stopping_anywhere_and_adding_entries_changes_nothing(costs: Floats, lag: int, data: st.DataObject) -> None:
    stop, grow = (data.draw(st.integers(0, len(costs))) for _ in range(2))
    plain, kept = Viterbi(costs.shape[1], 2.0, lag), Viterbi(costs.shape[1], 2.0, lag)
    for t, row in enumerate(costs):
        if t == grow:
            plain.add_entry()
            kept.add_entry()
        if t == stop:
            tensors, values = kept.state()
            kept = Viterbi.restore(tensors, json.loads(json.dumps(values)))
        wider = (np.append(row, 0.5) if t >= grow else row)[None]
        assert plain.push(wider).tolist() == kept.push(wider).tolist()
    np.testing.assert_array_equal(plain.totals, kept.totals)
    assert plain.flush().tolist() == kept.flush().tolist()


@pytest.mark.parametrize("has_flushed", [False, True])
@pytest.mark.parametrize("best", [0, 1, 2])
def test_an_entry_added_between_two_spans_starts_like_any_other(has_flushed: bool, best: int) -> None:
    viterbi = Viterbi(2, penalty=5.0)
    if has_flushed:
        viterbi.push(np.array([[3.0, 1.0]]))
        viterbi.flush()
    viterbi.add_entry()
    viterbi.push(np.where(np.arange(3) == best, 0.0, 0.5)[None])
    assert viterbi.flush().tolist() == [best]


def test_an_entry_added_within_a_span_costs_the_penalty_of_a_change() -> None:
    for cost, column in ((4.0, 0), (6.0, 2)):  # of staying: less and more than the penalty
        viterbi = Viterbi(2, penalty=5.0)
        viterbi.push(np.array([[0.0, 9.0]]))
        viterbi.add_entry()
        viterbi.push(np.array([[cost, 9.0, 0.0]]))
        assert viterbi.flush().tolist() == [0, column]


def test_an_entry_added_late_is_reached_only_from_then_on() -> None:
    viterbi = Viterbi(1, 1.0, lag=2)
    path = viterbi.push(np.full((3, 1), 5.0)).tolist()
    viterbi.add_entry()
    path += [column for _ in range(4) for column in viterbi.push(np.array([[5.0, 0.0]])).tolist()]
    assert path + viterbi.flush().tolist() == [0, 0, 0, 1, 1, 1, 1]


# ---------------------------------------------------------------- chunks side by side


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 9_999),
    st.lists(st.integers(0, 400), min_size=1, max_size=6),
    st.integers(2, 6),
    st.sampled_from([0.0, 2.0**-40, 19 / 64, 5.0, 2.0**20]),
    st.sampled_from([1.0, 2.0**-30, 2.0**10]),
)
def test_chunks_give_the_path_of_each_span_alone(
    seed: int, lengths: list[int], n_entries: int, penalty: float, scale: float
) -> None:
    """Costs are few different numbers: ties occur, and no total is rounded."""
    rng = np.random.default_rng(seed)
    edges = np.cumsum([0, *(length + 3 for length in lengths)])  # windows between spans belong to none
    spans = [(int(start), int(start) + length) for start, length in zip(edges, lengths, strict=False)]
    costs, penalty = scale * rng.integers(0, 64, (spans[-1][1], n_entries)) / 64, scale * penalty
    expected = [smooth(costs[start:stop], penalty) for start, stop in spans]
    npt.assert_array_equal(smooth_spans(costs, spans, penalty), np.concatenate(expected))


def test_chunks_give_the_path_of_a_slow_twin_in_several_groups_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNKS_AT_ONCE", 3)
    costs = np.random.default_rng(1).random((700, 3))
    for penalty in (0.5, 12.0):  # at 12, a path hardly ever forgets where it began
        expected = [naive.viterbi(costs[start:stop], penalty) for start, stop in ((0, 250), (250, 690))]
        npt.assert_array_equal(smooth_spans(costs, [(0, 250), (250, 690)], penalty), np.concatenate(expected))
