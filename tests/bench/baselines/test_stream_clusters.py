from __future__ import annotations

import numpy as np
import numpy.testing as npt
from hypothesis import given
from hypothesis import strategies as st

from rondo.data.labels import OTHER
from rondo_bench.baselines.dbstream import DBStreamClusters, DBStreamConfig
from rondo_bench.baselines.micro_clusters import groups_of, lasting_ids


@given(st.integers(0, 9), st.integers(0, 10_000))
def test_groups_are_those_of_a_walk_along_the_links(n_rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    links = np.triu(rng.random((n_rows, n_rows)) < 0.25, k=1)
    links |= links.T
    strong, border = rng.random(n_rows) < 0.6, rng.random(n_rows) < 0.5
    groups = groups_of(links, strong, border)
    reach = np.linalg.matrix_power((links & strong & strong[:, None]).astype(int) + np.eye(n_rows, dtype=int), n_rows)
    for one in range(n_rows):
        met = [other for other in range(n_rows) if strong[other] and links[one, other]]
        if strong[one]:
            npt.assert_array_equal(groups[strong] == groups[one], reach[one, strong] > 0)
        else:
            assert groups[one] == (groups[met[0]] if border[one] and met else OTHER)
    firsts = [int(np.flatnonzero(strong & (groups == group))[0]) for group in range(groups.max(initial=OTHER) + 1)]
    assert firsts == sorted(firsts)


@given(st.integers(1, 10), st.integers(0, 10_000))
def test_no_two_groups_share_an_id_and_new_ids_are_new(n_rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = np.unique(rng.integers(4, size=n_rows), return_inverse=True)[1]
    groups[rng.random(n_rows) < 0.2] = OTHER
    current, homes = rng.integers(OTHER, 6, size=(2, n_rows))
    ids = lasting_ids(groups, rng.random(n_rows) + 0.1, current, homes, n_given=6)
    assert len(set(ids.tolist())) == ids.size == groups.max(initial=OTHER) + 1
    known = set(current.tolist()) | set(homes.tolist())
    fresh = sorted(i for i in ids.tolist() if i not in known)
    assert fresh == list(range(6, 6 + len(fresh)))


def test_the_heavier_id_stays_when_clusters_merge_and_the_other_returns_when_they_part() -> None:
    weights, homes = np.array([1.0, 2.0]), np.array([3, 5])
    assert lasting_ids(np.array([0, 0]), weights, np.array([3, 5]), homes, n_given=6).tolist() == [5]
    assert lasting_ids(np.array([0, 1]), weights, np.array([5, 5]), homes, n_given=6).tolist() == [3, 5]


def test_a_cluster_that_was_weak_for_a_while_comes_back_under_its_name_unless_it_was_forgotten() -> None:
    clusters = DBStreamClusters(1, 1.0, 10, DBStreamConfig())
    here, there = np.zeros(1), np.full(1, 9.0)
    first = [clusters.learn_one(here) for _ in range(6)]
    away = [clusters.learn_one(there) for _ in range(16)]
    again = [clusters.learn_one(here) for _ in range(3)]
    assert (first[-1], away[-1], again) == (0, 1, [OTHER, 0, 0])
    for _ in range(70):
        clusters.learn_one(there)
    assert [clusters.learn_one(here) for _ in range(5)][-1] == 2
    assert clusters.n_clusters == 3
