from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.data.labels import OTHER, Labels
from rondo.data.signal import Signal
from rondo.encoders.summary_stats import SummaryStats, SummaryStatsConfig
from rondo.metrics.scores import evaluate
from rondo_bench.baselines.baseline import Baseline, build_baseline
from rondo_bench.baselines.micro_clusters import points_of
from tests.bench.baselines.signals import signal_of
from tests.contracts import planted, windows_of

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
