"""DenStream and DBSTREAM against the definitions, and as methods of streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.checks.encoders import planted, windows_of
from rondo.data.labels import OTHER, Labels
from rondo.data.signal import Signal
from rondo.encoders.summary_stats import SummaryStats, SummaryStatsConfig
from rondo.metrics.scores import evaluate
from rondo_bench.baselines.baseline import Baseline, build_baseline
from rondo_bench.baselines.dbstream import DBStreamClusters, DBStreamConfig
from rondo_bench.baselines.denstream import DenStreamClusters, DenStreamConfig
from rondo_bench.baselines.micro_clusters import StreamClusters, points_of
from tests.bench.baselines.signals import signal_of
from tests.naive_dbstream import NaiveDBStream
from tests.naive_denstream import NaiveDenStream


class Learner(Protocol):
    def initialise(self, points: Sequence[Sequence[float]]) -> list[int]: ...

    def learn_one(self, point: Sequence[float]) -> int: ...


def heaps(seed: int, n_points: int = 60, n_dims: int = 2, n_heaps: int = 3, spread: float = 0.6) -> NDArray[np.float64]:
    """Heaps of points, ten in a row from one of them."""
    rng = np.random.default_rng(seed)
    which = rng.integers(n_heaps, size=n_points // 10 + 1).repeat(10)[:n_points]
    return 3 * rng.normal(size=(n_heaps, n_dims))[which] + spread * rng.normal(size=(n_points, n_dims))


STREAMS = st.builds(
    heaps,
    seed=st.integers(0, 10_000),
    n_dims=st.integers(1, 3),
    n_heaps=st.integers(1, 4),
    spread=st.sampled_from([0.3, 0.6, 1.2]),
)
RADII = st.floats(0.3, 2.0)
HALF_LIVES = st.integers(3, 60)
N_INITIAL = st.sampled_from([0, 1, 12, 25])


def labels_of(clusters: StreamClusters, points: NDArray[np.float64], n_initial: int = 0) -> list[int]:
    first = clusters.initialise(points[:n_initial]).tolist() if n_initial else []
    return [*first, *(clusters.learn_one(point) for point in points[n_initial:])]


def naive_labels(learner: Learner, points: NDArray[np.float64], n_initial: int = 0) -> list[int]:
    rows = points.tolist()
    first = learner.initialise(rows[:n_initial]) if n_initial else []
    return [*first, *(learner.learn_one(row) for row in rows[n_initial:])]


def empty_dbstream(
    n_dims: int, radius: float = 1.0, half_life: int = 50, least: float = 3, share: float = 0.1, capacity: int = 200
) -> DBStreamClusters:
    config = DBStreamConfig(minimum_weight=least, shared_share=share, capacity=capacity)
    return DBStreamClusters(n_dims, radius, half_life, config)


def faded_shared(clusters: DBStreamClusters) -> NDArray[np.float64]:
    return np.asarray(clusters.shared[: clusters.n_rows, : clusters.n_rows] / clusters.unit)


@given(STREAMS, RADII, HALF_LIVES, N_INITIAL, st.sampled_from([(3.0, 0.1), (1.0, 0.3), (2.5, 0.0)]))
def test_labels_micro_clusters_and_shared_densities_are_those_of_the_definitions(
    points: NDArray[np.float64], radius: float, half_life: int, n_initial: int, rules: tuple[float, float]
) -> None:
    least, share = rules
    clusters = empty_dbstream(points.shape[1], radius, half_life, least, share)
    naive = NaiveDBStream(radius, half_life, least, share)
    assert labels_of(clusters, points, n_initial) == naive_labels(naive, points, n_initial)
    assert clusters.n_clusters == naive.n_clusters
    n, micros = clusters.n_rows, naive.micros
    npt.assert_allclose(clusters.faded_weights, [naive.weight(micro) for micro in micros], rtol=1e-9)
    npt.assert_allclose(clusters.centres[:n], [naive.centres[id(micro)] for micro in micros], atol=1e-9)
    npt.assert_array_equal(clusters.clusters[:n], [micro.cluster for micro in micros])
    pairs = [[naive.shared(one, other) for other in micros] for one in micros]
    npt.assert_allclose(faded_shared(clusters), pairs, rtol=1e-9)


# What river 0.26.1 (PyPI) gave for `drifting()`: DBSTREAM(clustering_threshold=1, fading_factor=1/20,
# cleanup_interval=20, intersection_factor=0.1, minimum_weight=3); centre and weight of each micro-cluster, and shared
# densities, all faded to time 300.
RIVER_MICRO_CLUSTERS = [
    (5.231492160, 0.684862409, 0.552786284), (5.803353167, -0.787950001, 1.532710048),
    (6.352472417, 0.319683082, 3.703390612), (7.225240059, -0.786742743, 7.391130557),
    (7.644062288, 0.615503523, 6.245920077), (8.369444460, -0.711285219, 8.699450618),
    (9.064213340, 0.671930529, 7.806305178), (9.427098562, -0.365715810, 7.154152838),
]  # fmt: skip
RIVER_SHARED = {
    (0, 1): 0.147013609, (0, 2): 0.253409068, (1, 2): 0.542901261, (1, 3): 0.937649419, (2, 3): 1.700967628,
    (2, 4): 2.270012019, (3, 4): 1.356794270, (3, 5): 3.407192234, (4, 5): 0.203063099, (4, 6): 0.969125597,
    (5, 6): 0.341510064, (5, 7): 2.302153528, (6, 7): 2.078701280,
}  # fmt: skip


def drifting() -> NDArray[np.float64]:
    time = np.arange(300)
    return np.column_stack([0.03 * time + 0.9 * np.sin(2.3 * time**2), 0.9 * np.cos(1.7 * time**2)])


def test_micro_clusters_are_those_of_river() -> None:
    clusters = empty_dbstream(2, radius=1.0, half_life=20)
    labels_of(clusters, drifting())
    assert (clusters.n_founded, clusters.n_rows) == (15, 8)  # seven were too weak
    found = np.column_stack([clusters.centres[:8], clusters.faded_weights])
    npt.assert_allclose(found, RIVER_MICRO_CLUSTERS, atol=1e-8)
    shared = np.zeros((8, 8))
    for (one, other), density in RIVER_SHARED.items():
        shared[one, other] = shared[other, one] = density
    npt.assert_allclose(faded_shared(clusters), shared, atol=1e-8)


def empty_denstream(
    n_dims: int, radius: float = 1.0, half_life: int = 50, core: float = 4, share: float = 0.5, capacity: int = 200
) -> DenStreamClusters:
    config = DenStreamConfig(core_weight=core, potential_share=share, capacity=capacity)
    return DenStreamClusters(n_dims, radius, half_life, config)


def state(clusters: DenStreamClusters) -> list[NDArray[np.generic]]:
    n = clusters.n_rows
    return [clusters.centres[:n], clusters.radii[:n], clusters.potential[:n], clusters.clusters[:n]]


@given(STREAMS, RADII, HALF_LIVES, N_INITIAL, st.sampled_from([(4.0, 0.5), (10.0, 0.2), (2.0, 0.75), (1.0, 1.0)]))
def test_labels_and_micro_clusters_are_those_of_the_definitions(
    points: NDArray[np.float64], radius: float, half_life: int, n_initial: int, weights: tuple[float, float]
) -> None:
    core, share = weights
    clusters = empty_denstream(points.shape[1], radius, half_life, core, share)
    naive = NaiveDenStream(radius, half_life, core, core * share)
    assert labels_of(clusters, points, n_initial) == naive_labels(naive, points, n_initial)
    assert clusters.n_clusters == naive.n_clusters
    npt.assert_allclose(
        clusters.faded_weights, [micro.weight(naive.time, half_life) for micro in naive.micros], rtol=1e-9
    )
    centres, radii, potential, ids = state(clusters)
    assert len(naive.micros) > 0
    npt.assert_allclose(centres, [micro.centre(naive.time, half_life) for micro in naive.micros], atol=1e-9)
    npt.assert_allclose(radii, [micro.radius(naive.time, half_life) for micro in naive.micros], atol=1e-6)
    npt.assert_array_equal(potential, [micro.potential for micro in naive.micros])
    npt.assert_array_equal(ids, [micro.cluster for micro in naive.micros])


@given(STREAMS, st.integers(1, 12), N_INITIAL)
@settings(max_examples=20)
def test_the_tables_are_never_overfull_and_ids_never_come_again(
    points: NDArray[np.float64], capacity: int, n_initial: int
) -> None:
    clusters = empty_denstream(points.shape[1], radius=0.4, capacity=capacity)
    labels = labels_of(clusters, points, n_initial)
    assert clusters.n_rows <= capacity
    assert (clusters.faded_weights > 0).all()
    assert max(labels) < clusters.n_clusters
    assert len(set(clusters.serials[: clusters.n_rows].tolist())) == clusters.n_rows


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


METHODS = ("denstream", "dbstream")
WINDOWS = {"windows.length": 16, "windows.step": 4}


def labelled(baseline: Baseline, signal: Signal) -> Labels:
    return baseline.fit_predict(signal, np.random.default_rng(0))


def states(n_frames: int = 3600, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Two states in turn from the start, and a third from the middle on; which state each frame has."""
    truth = np.arange(n_frames) // 120 % 2
    truth[n_frames // 2 :][np.arange(n_frames - n_frames // 2) // 120 % 3 == 2] = 2
    levels = np.array([[0.0, 0.0], [2.0, -2.0], [-3.0, -3.0]])[truth]
    return (levels + 0.3 * np.random.default_rng(seed).normal(size=(n_frames, 2))).astype(np.float32), truth


@pytest.mark.parametrize("name", METHODS)
def test_states_are_found_and_a_new_one_is_a_new_cluster(name: str) -> None:
    values, truth = states()
    labels = labelled(build_baseline(name, WINDOWS | {"radius_factor": 1.5}), signal_of(values))
    assert evaluate({"walk": (truth, labels)}).average.ari > 60
    commonest = np.bincount(labels[(truth == 2) & (labels != OTHER)]).argmax()
    assert commonest not in labels[:1800]
    assert np.mean(truth[labels == commonest] == 2) > 0.8
    assert np.mean(labels[truth == 2] == commonest) > 0.5


@pytest.mark.parametrize("name", METHODS)
def test_nothing_that_comes_later_changes_a_label(name: str) -> None:
    """The prepared signal is given, so that its scaling is not at stake. Of 97 windows, 20 are there to begin with."""
    values = planted(400)
    changed = values.copy()
    changed[200:] = np.random.default_rng(1).normal(size=(200, 3)) * 5
    baseline = build_baseline(name, WINDOWS | {"radius_factor": 1.5})
    one, other = (labelled(baseline, signal_of(given)) for given in (values, changed))
    assert len(set(one[:190].tolist())) > 1
    npt.assert_array_equal(one[:190], other[:190])  # the last window that ends by 200 is centred at 192
    assert (one[200:] != other[200:]).any()


def test_points_are_those_of_the_encoder_that_saw_the_first_windows_only() -> None:
    windows = windows_of(planted(300), spans=((0, 50), (60, 300)))
    seen = windows_of(planted(300), spans=((0, 50), (60, 60 + 16 + 4 * 6)))
    assert len(seen) == 9 + 7
    encoder = SummaryStats(SummaryStatsConfig(shape_channels=0)).fit([seen])
    npt.assert_array_equal(points_of(windows, n_initial=16), encoder.encode(windows))
    assert (points_of(windows, n_initial=17) != encoder.encode(windows)).any()


@pytest.mark.parametrize("name", METHODS)
def test_frames_take_the_window_with_the_nearest_centre_and_holes_are_other(name: str) -> None:
    signal = signal_of(planted(400), spans=((0, 200), (240, 400)))
    everything = {"core_weight": 1, "potential_share": 1} if name == "denstream" else {"minimum_weight": 1}
    labels = labelled(build_baseline(name, WINDOWS | everything), signal)
    npt.assert_array_equal(np.flatnonzero(labels == OTHER), np.arange(200, 240))
    changes = np.flatnonzero(np.diff(labels[:200])) + 1
    assert changes.size
    assert set((changes % 4).tolist()) == {2}  # halfway between centres, 8 + 4 k
