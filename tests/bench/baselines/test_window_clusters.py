"""k-means and HDBSCAN on window statistics."""

from __future__ import annotations

import numpy as np
import pytest

from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.windows import WindowGrid, Windows
from rondo.encoders.summary_stats import SummaryStats, SummaryStatsConfig
from rondo.metrics.scores import evaluate
from rondo.wording import estimate_in_words
from rondo_bench.baselines.baseline import build_baseline, estimated_seconds, label_recording, practical_frames
from tests.cli.running import waves

WINDOWS = {"windows.length": 30, "windows.step": 5}
TRUTH = np.arange(1500) // 150 % 3


def labels_by(name: str, **settings: object) -> Labels:
    baseline = build_baseline(name, WINDOWS | settings)
    return label_recording(Recording(waves(), id="walk"), baseline, np.random.default_rng(0))


@pytest.mark.parametrize(("name", "settings"), [("kmeans", {"n_states": 4}), ("hdbscan", {"min_cluster_size": 20})])
def test_waves_of_three_kinds_are_told_apart(name: str, settings: dict[str, object]) -> None:
    """Windows across a change belong to no kind: a frame is read wrongly for at most half a window beside it."""
    labels = labels_by(name, **settings)
    assert evaluate({"walk": (TRUTH, labels)}).average.mof > 90


def test_kmeans_finds_as_many_states_as_it_is_told() -> None:
    for n_states in (1, 2, 7):
        assert set(labels_by("kmeans", n_states=n_states).tolist()) == set(range(n_states))


def test_hdbscan_leaves_noise_out_unless_told_to_give_it_to_the_nearest() -> None:
    recording = Recording(waves(), id="walk")
    noisy, full = (
        build_baseline("hdbscan", WINDOWS | {"min_cluster_size": 20, "noise": noise}) for noise in ("other", "nearest")
    )
    signal = Preprocessor.fit([recording], noisy.config.preprocess).apply(recording)
    grid = WindowGrid(30, 5, signal.n_frames, signal.spans)
    points = SummaryStats(SummaryStatsConfig(shape_channels=0)).fit_encode([Windows(signal.values, grid)])
    centres = grid.starts + 15  # frames that take the state of their window
    before, after = (each.fit_predict(signal, np.random.default_rng(0))[centres] for each in (noisy, full))
    known = np.flatnonzero(before != OTHER)
    assert 0 < known.size < before.size
    for point, state in zip(points, after, strict=True):
        assert state == before[known[np.square(points[known] - point).sum(axis=1).argmin()]]


def test_costs_grow_as_they_were_measured() -> None:
    kmeans, hdbscan = build_baseline("kmeans"), build_baseline("hdbscan")
    assert estimated_seconds(kmeans, 360_000, 9) == pytest.approx(2.4, rel=0.3)
    assert estimated_seconds(hdbscan, 360_000, 9) == pytest.approx(32, rel=0.3)
    pca = build_baseline("hdbscan", {"preprocess.pca_components": 9})
    assert estimated_seconds(pca, 360_000, 100) == estimated_seconds(hdbscan, 360_000, 9)
    limit = practical_frames(hdbscan, 9)
    below, above = (estimated_seconds(hdbscan, limit + more, 9) for more in (0, 1))
    assert below is not None and above is not None and below <= 3600 < above
    assert practical_frames(build_baseline("denstream"), 9) > 10**9  # it does not say: no limit is claimed
    assert estimate_in_words(119) == "119 s"
