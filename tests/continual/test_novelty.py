from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.config.schema import ContinualConfig
from rondo.continual import novelty_buffer as module
from rondo.continual.micro_cluster import MicroCluster
from rondo.continual.novelty_buffer import NoveltyBuffer, Scales
from rondo.continual.point_sets import PointSets
from rondo.continual.promotion import compatible_entry, is_eligible, least_support

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
    assert len(buffer.clusters) == module._MOST_CLUSTERS
    assert len({own.id for own in buffer.clusters}) == module._MOST_CLUSTERS


def test_taking_a_micro_cluster_removes_it_with_its_points() -> None:
    buffer = NoveltyBuffer(1, SCALES)
    for window, x in enumerate((0.0, 7.0, 0.5)):
        buffer.add(np.array([x]), window)
    cluster, points, seen = buffer.take(0)
    assert cluster.id == 0 and seen == 2 and sorted(points[:, 0]) == [0.0, 0.5]
    assert [own.id for own in buffer.clusters] == [1]


@settings(max_examples=50, deadline=None)
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


# ---------------------------------------------------------------- promotion


def test_least_support_is_eight_or_the_quartile() -> None:
    config = ContinualConfig()
    assert least_support([], config) == 8
    assert least_support([1.0, 2.0, 3.0], config) == 8
    assert least_support([20.0, 40.0, 40.0, 40.0, 40.0], config) == 40


@pytest.mark.parametrize(
    ("support", "regions", "last", "eligible"),
    [(9.0, 3, 40, True), (7.9, 3, 40, False), (9.0, 2, 40, False), (9.0, 3, 15, False)],
)
def test_a_burst_is_not_promoted_and_recurrence_is(support: float, regions: int, last: int, eligible: bool) -> None:
    cluster = MicroCluster(0, support, 0, last, regions)
    assert is_eligible(cluster, [support, 3.0], ContinualConfig()) == eligible


def test_an_entry_within_a_quarter_more_than_the_radius_of_most_points_is_compatible() -> None:
    entries, config = PointSets(1, 4), ContinualConfig()
    assert compatible_entry(np.array([[0.0]]), entries, 1.0, config)[0] is None
    entries.add(3, [np.array([0.0])])
    entries.add(4, [np.array([5.0])])
    assert compatible_entry(np.array([[1.2], [1.2], [9.0]]), entries, 1.0, config) == (0, pytest.approx(1.2))
    assert compatible_entry(np.array([[1.3], [-1.3]]), entries, 1.0, config) == (None, pytest.approx(1.3))
