from __future__ import annotations

import json

import numpy as np
import numpy.testing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.continual.point_sets import PointSets
from tests.rounding import assert_equal_but_for_rounding


def filled(n_sets: int, n_points: int, capacity: int, seed: int = 0) -> tuple[PointSets, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    sets, each = PointSets(3, capacity), [rng.normal(size=(n_points, 3)) for _ in range(n_sets)]
    for id, points in enumerate(each):
        sets.add(10 + id, points)
    return sets, each


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 99))
def test_distances_are_to_the_nearest_point_of_each_set(n_sets: int, n_points: int, seed: int) -> None:
    sets, each = filled(n_sets, n_points, capacity=6, seed=seed)
    point = np.random.default_rng(seed + 1).normal(size=3)
    expected = [min(np.linalg.norm(own - point) for own in points) for points in each]
    npt.assert_allclose(sets.distances(point), expected, rtol=1e-6, atol=1e-7)


def test_no_sets_have_no_distances() -> None:
    assert PointSets(3, 4).distances(np.zeros(3)).size == 0


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
    sets, _ = filled(1, 50, capacity=8)
    assert sets.kept(0).shape == (8, 3) and sets.seen == [50]


def test_removing_a_set_leaves_the_others() -> None:
    sets, each = filled(3, 4, capacity=4)
    sets.remove(1)
    assert sets.ids == [10, 12]
    npt.assert_array_equal(sets.kept(1), each[2])
    npt.assert_allclose(sets.prototype(0), each[0].mean(axis=0))


@settings(max_examples=50, deadline=None)
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
    anew = PointSets(2, 3)
    for id, points in left:
        anew.add(id, points)
    assert (sets.ids, sets.seen) == (anew.ids, anew.seen)
    npt.assert_array_equal(sets.points, anew.points)
    npt.assert_array_equal(sets.squares, anew.squares)


@settings(max_examples=30, deadline=None)
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
