"""Micro-clusters of windows and of phrases, what becomes of them, and the point sets that windows are kept in."""

from __future__ import annotations

import json

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.checks.rounding import assert_equal_but_for_rounding
from rondo.config.settings import ContinualConfig
from rondo.continual.novelty import (
    MOST_CLUSTERS,
    MicroCluster,
    NoveltyBuffer,
    PointSets,
    Scales,
    compatible_entry,
    is_eligible,
)
from rondo.continual.phrases import _MOST_WORDINGS, PhraseBuffer, Wordings
from rondo.motifs.phrases import Phrase

SCALES = Scales(radius=0.8, half_life=50.0, apart=3)  # the reach is 1


def test_support_halves_and_regions_are_visits_that_lie_apart() -> None:
    cluster = MicroCluster.opened(0, window=10)
    cluster = cluster.visited(12, half_life=50, apart=3)
    assert cluster.regions == 1 and cluster.extent == 3
    cluster = cluster.visited(62, half_life=50, apart=3)
    assert cluster.regions == 2
    assert cluster.support == pytest.approx((1 * 0.5 ** (2 / 50) + 1) * 0.5 + 1)
    assert cluster.support_at(112, half_life=50) == pytest.approx(cluster.support / 2)


def test_near_points_gather_and_far_ones_open_micro_clusters() -> None:
    buffer = NoveltyBuffer(2, SCALES)
    for window, x in enumerate((0.0, 0.9, 5.0, 0.1)):
        buffer.add(np.array([x, 0.0]), window)
    assert [(own.id, round(own.support)) for own in buffer.clusters] == [(0, 3), (1, 1)]


def test_a_point_within_reach_of_two_shows_that_they_are_one() -> None:
    buffer = NoveltyBuffer(1, SCALES)
    for window, x in enumerate((0.0, 1.8, 0.9)):
        joined, _ = buffer.add(np.array([x]), window)
    assert len(buffer.clusters) == 1 and joined.id == 0
    assert sorted(buffer.sets.kept(0)[:, 0]) == [0.0, 0.9, 1.8]


def test_what_does_not_come_back_is_forgotten() -> None:
    buffer = NoveltyBuffer(1, SCALES)
    buffer.add(np.array([0.0]), 0)
    _, expired = buffer.add(np.array([9.0]), 49)
    assert not expired
    _, expired = buffer.add(np.array([9.0]), 51)
    assert [own.id for own in expired] == [0]


def test_memory_is_bounded_whatever_comes() -> None:
    buffer = NoveltyBuffer(1, SCALES._replace(half_life=1e9))
    for window in range(200):
        buffer.add(np.array([10.0 * window]), window)
    assert len(buffer.clusters) == len(buffer.sets) == len({own.id for own in buffer.clusters}) == MOST_CLUSTERS


def test_taking_a_micro_cluster_removes_it_with_its_points() -> None:
    buffer = NoveltyBuffer(1, SCALES)
    for window, x in enumerate((0.0, 7.0, 0.5)):
        buffer.add(np.array([x]), window)
    points, seen = buffer.take(0)
    assert seen == 2 and sorted(points[:, 0]) == [0.0, 0.5]
    assert [own.id for own in buffer.clusters] == [1]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(0, 40))
def test_stopping_anywhere_changes_nothing(places: list[int], stop: int) -> None:
    plain, kept = NoveltyBuffer(1, SCALES), NoveltyBuffer(1, SCALES)
    for window, place in enumerate(places):
        if window == stop:
            tensors, values = kept.state()
            kept = NoveltyBuffer.restore(tensors, json.loads(json.dumps(values)))
        point = np.array([0.9 * place])
        assert plain.add(point, 7 * window) == kept.add(point, 7 * window)
    assert plain.clusters == kept.clusters and plain.next_id == kept.next_id


# ---------------------------------------------------------------- phrases


def phrase_buffer(half_life: float = 100.0) -> PhraseBuffer:
    return PhraseBuffer(reach=0.5, half_life=half_life, apart=10)


def test_phrases_of_one_kind_gather_and_others_are_given_up_when_they_stay_away() -> None:
    buffer = phrase_buffer()
    buffer.add((1, 2, 3), 0, 9)
    index, _ = buffer.add((1, 2, 3), 15, 24)  # too near to be another visit
    assert buffer.clusters[index].regions == 1
    index, _ = buffer.add((1, 3), 100, 109)  # a unit left out
    cluster = buffer.clusters[index]
    assert len(buffer.clusters) == 1 and buffer.wordings[index].typical == (1, 2, 3)
    assert (cluster.regions, cluster.first, cluster.last) == (2, 0, 109)
    assert cluster.support == pytest.approx(10 + (10 + 10 * 0.5 ** (15 / 100)) * 0.5 ** (85 / 100))
    buffer.add((4, 5, 6), 120, 129)
    _, expired = buffer.add((7, 8), 900, 909)
    assert [gone.id for gone in expired] == [0, 1] and [own.id for own in buffer.clusters] == [2]


def test_kinds_of_phrases_and_their_wordings_are_bounded() -> None:
    buffer, wordings = phrase_buffer(1e9), Wordings()
    for number in range(3 * MOST_CLUSTERS):
        buffer.add((2 * number, 2 * number + 1), 10 * number, 10 * number + 5)
        wordings.add((number, number + 1))
    assert len(buffer.clusters) == len(buffer.wordings) == MOST_CLUSTERS
    assert len(wordings.counts) == _MOST_WORDINGS
    assert wordings.counts[(number, number + 1)] == 1  # the newest has its place


@given(st.lists(st.lists(st.integers(0, 6), min_size=2, max_size=5).map(tuple), max_size=30), st.integers(0, 30))
def test_a_phrase_buffer_written_down_and_read_again_goes_on_the_same(phrases: list[Phrase], stop: int) -> None:
    plain, kept = phrase_buffer(30.0), phrase_buffer(30.0)
    for number, phrase in enumerate(phrases):
        if number == stop:
            kept = phrase_buffer(30.0).restored(json.loads(json.dumps(kept.state())))
        assert plain.add(phrase, 12 * number, 12 * number + 5) == kept.add(phrase, 12 * number, 12 * number + 5)
    assert plain.state() == kept.state()


# ---------------------------------------------------------------- promotion


@pytest.mark.parametrize(
    ("support", "regions", "last", "others", "eligible"),
    [
        (9.0, 3, 40, [3.0], True),
        (7.9, 3, 40, [3.0], False),
        (9.0, 2, 40, [3.0], False),
        (9.0, 3, 15, [3.0], False),
        (20.0, 3, 40, [40.0, 40.0, 40.0, 40.0], False),  # the quartile of all is 40
        (8.0, 3, 40, [], True),
    ],
)
def test_a_burst_is_not_promoted_and_recurrence_is(
    support: float, regions: int, last: int, others: list[float], eligible: bool
) -> None:
    cluster = MicroCluster(0, support, 0, last, regions)
    assert is_eligible(cluster, [support, *others], ContinualConfig()) == eligible


def test_an_entry_within_a_quarter_more_than_the_radius_of_most_points_is_compatible() -> None:
    entries, config = PointSets(1, 4), ContinualConfig()
    assert compatible_entry(np.array([[0.0]]), entries, 1.0, config)[0] is None
    entries.add(3, [np.array([0.0])])
    entries.add(4, [np.array([5.0])])
    assert compatible_entry(np.array([[1.2], [1.2], [9.0]]), entries, 1.0, config) == (0, pytest.approx(1.2))
    assert compatible_entry(np.array([[1.3], [-1.3]]), entries, 1.0, config) == (None, pytest.approx(1.3))


def filled(n_sets: int, n_points: int, capacity: int, seed: int = 0) -> tuple[PointSets, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    sets, each = PointSets(3, capacity), [rng.normal(size=(n_points, 3)) for _ in range(n_sets)]
    for id, points in enumerate(each):
        sets.add(10 + id, points)
    return sets, each


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 99))
def test_distances_are_to_the_nearest_point_of_each_set(n_sets: int, n_points: int, seed: int) -> None:
    sets, each = filled(n_sets, n_points, capacity=6, seed=seed)
    point = np.random.default_rng(seed + 1).normal(size=3)
    expected = [min(np.linalg.norm(own - point) for own in points) for points in each]
    npt.assert_allclose(sets.distances(point), expected, rtol=1e-6, atol=1e-7)


def test_a_full_set_is_a_fair_sample_of_what_it_has_seen() -> None:
    kept = []
    for trial in range(300):
        sets = PointSets(1, 10)
        sets.add(0, [np.array([0.0])], seen=1 + trial)  # other numbers, other draws
        for number in range(1, 100):
            sets.see(0, np.array([float(number)]))
        kept += sets.kept(0)[:, 0].tolist()
    assert abs(np.mean([number >= 50 for number in kept]) - 0.5) < 0.15
    assert len(set(kept)) > 90


def test_a_set_stays_within_its_capacity_and_counts_what_it_saw() -> None:
    sets, each = filled(1, 50, capacity=8)
    assert sets.kept(0).shape == (8, 3) and sets.seen == [50]
    assert PointSets(3, 4).distances(np.zeros(3)).size == 0
    npt.assert_allclose(filled(1, 4, capacity=4)[0].prototype(0), each[0][:4].mean(axis=0))


@given(st.lists(st.sets(st.integers(0, 5), max_size=3), max_size=12))
def test_sets_that_came_and_went_leave_nothing_behind(gone: list[set[int]]) -> None:
    sets, rng = PointSets(2, 3), np.random.default_rng(0)
    left: list[tuple[int, np.ndarray]] = []
    for id, indices in enumerate(gone):
        points = rng.normal(size=(1 + id % 3, 2))
        sets.add(id, points)
        left.append((id, points))
        within = [index for index in indices if index < len(left)]
        sets.remove(*within)
        left = [own for index, own in enumerate(left) if index not in within]
    again = PointSets(2, 3)
    for id, points in left:
        again.add(id, points)
    assert (sets.ids, sets.seen) == (again.ids, again.seen)
    npt.assert_array_equal(sets.points, again.points)
    npt.assert_array_equal(sets.squares, again.squares)


@given(st.integers(0, 3), st.integers(1, 12), st.integers(1, 6))
def test_restored_sets_are_the_same_and_go_on_alike(n_sets: int, n_points: int, capacity: int) -> None:
    sets, _ = filled(n_sets, n_points, capacity)
    tensors, plain = sets.state()
    again = PointSets.restore(tensors, json.loads(json.dumps(plain)))
    rng = np.random.default_rng(5)
    for point in rng.normal(size=(5, 3)):
        assert_equal_but_for_rounding(again.distances(point), sets.distances(point))  # they lie elsewhere in memory
        for own in (sets, again):
            if n_sets:
                own.see(0, point)
    assert_equal_but_for_rounding(again.squares, sets.squares)
