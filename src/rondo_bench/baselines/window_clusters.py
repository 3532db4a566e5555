"""k-means and HDBSCAN of scikit-learn on window statistics: what one would try first. Neither is in the RONDO paper.

A window is what the training-free encoder says about it; a frame takes the state of the window with the nearest centre.
There is no smoothing over time. k-means takes the number of states as a setting; HDBSCAN finds it, and calls sparse
windows noise, which are OTHER.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rondo.config.settings import Duration, WindowsConfig
from rondo.data.labels import OTHER, Labels
from rondo.data.signal import Signal
from rondo.data.window_lengths import window_and_step
from rondo.data.windows import WindowGrid, Windows
from rondo.encoders.base import Representations
from rondo.encoders.summary_stats import FittedSummaryStats, SummaryStats, SummaryStatsConfig
from rondo.errors import RecordingError
from rondo.registry import StageSettings
from rondo.wording import Progress, counted, silent
from rondo_bench.baselines.baseline import BaselineMethod, BaselineSettings

_MOST_CORRELATED = 32  # channels of which the encoder correlates each pair


class ClusterWindows(StageSettings):
    """Which windows are clustered."""

    length: Duration = Field("auto", description="ours: as for Rondo itself")
    step: Duration = Field("auto", description="ours: as for Rondo itself")


class WindowClusterSettings(BaselineSettings):
    """What both methods have."""

    windows: ClusterWindows = ClusterWindows()


class KMeansConfig(WindowClusterSettings):
    """Settings of k-means."""

    n_states: int = Field(20, description="ours: the cap that Time2State has, as nobody knows the number", ge=1)
    n_starts: int = Field(10, description="ours: scikit-learn's n_init before version 1.4", ge=1)


class HDBSCANConfig(WindowClusterSettings):
    """Settings of HDBSCAN."""

    min_cluster_size: int = Field(5, description="original: scikit-learn's default; in windows", ge=2)
    noise: Literal["other", "nearest"] = Field(
        "other", description="original: noise stays noise; nearest: it goes with the nearest window that is not"
    )


@dataclass(frozen=True)
class WindowKMeans:
    """k-means with its settings."""

    config: KMeansConfig = field(default_factory=KMeansConfig)

    def fit(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> FittedWindowKMeans:
        """The encoder and the centres of one recording."""
        windows = _windows(signal, self.config)
        encoder = SummaryStats(SummaryStatsConfig(shape_channels=0)).fit([windows])
        points = encoder.encode(windows)
        _refuse_few(signal, len(points), self.config.n_states, "n_states")
        from sklearn.cluster import KMeans  # slow to import
        from sklearn.exceptions import ConvergenceWarning

        seed = int(rng.integers(2**31))
        progress("k-means", 0, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different windows than states do no harm
            found = KMeans(self.config.n_states, n_init=self.config.n_starts, random_state=seed).fit(points)
        progress("k-means", 1, 1)
        grid = windows.grid
        return FittedWindowKMeans(encoder, np.asarray(found.cluster_centers_), grid.length_frames, grid.step_frames)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        return self.fit(signal, rng, progress).predict(signal)


@dataclass(frozen=True, eq=False)
class FittedWindowKMeans:
    """Centres of windows; a window is read as the nearest."""

    encoder: FittedSummaryStats
    centres: NDArray[np.generic]  # (n_states, n_dims)
    length_frames: int
    step_frames: int

    def predict(self, signal: Signal) -> Labels:
        """One state for each frame; OTHER where no window reaches."""
        windows = Windows(
            signal.values, WindowGrid(self.length_frames, self.step_frames, signal.n_frames, signal.spans)
        )
        return windows.grid.project(nearest(self.encoder.encode(windows), self.centres), "centre")


@dataclass(frozen=True)
class WindowHDBSCAN:
    """HDBSCAN with its settings."""

    config: HDBSCANConfig = field(default_factory=HDBSCANConfig)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """One cluster for each frame, OTHER for noise; nothing is drawn from `rng`."""
        windows = _windows(signal, self.config)
        points = SummaryStats(SummaryStatsConfig(shape_channels=0)).fit_encode([windows])
        _refuse_few(signal, len(points), self.config.min_cluster_size, "min_cluster_size")
        from sklearn.cluster import HDBSCAN  # slow to import

        progress("hdbscan", 0, 1)
        states = HDBSCAN(min_cluster_size=self.config.min_cluster_size, copy=True).fit_predict(points)
        noise = states == OTHER
        if self.config.noise == "nearest" and noise.any() and not noise.all():
            states[noise] = states[~noise][nearest(points[noise], points[~noise])]
        progress("hdbscan", 1, 1)
        return windows.grid.project(states, "centre")


def estimated_seconds(n_frames: int, n_channels: int, config: WindowClusterSettings) -> float:
    """Seconds on one core: windows are encoded, then k-means runs over them, or HDBSCAN over their pairs.

    Fitted to planted streams at 50 Hz: 9 channels of 10,000, 100,000 and 360,000 frames took k-means 0.1, 0.8 and 2.4
    s, HDBSCAN 0.1, 2.3 and 32 s; 100 channels of 30,000 frames 2.2 and 5.0 s.
    """
    length, step = config.windows.length, config.windows.step
    length_frames = length if isinstance(length, int) else 75
    step_frames = step if isinstance(step, int) else max(1, length_frames // 4)
    n_windows = n_frames / step_frames
    n_correlated = min(n_channels, _MOST_CORRELATED)
    n_dims = 3 * n_channels + n_correlated * (n_correlated - 1) // 2
    encoding = 1.7e-7 * n_windows * length_frames * n_channels
    if isinstance(config, KMeansConfig):
        return encoding + 1e-9 * n_windows * n_dims * config.n_states * config.n_starts
    return encoding + 1.2e-9 * n_windows**2 * n_dims


def nearest(points: Representations, others: NDArray[np.generic]) -> NDArray[np.int64]:
    """The number of the other point that is nearest to each; of equal ones the first."""
    if not len(points):
        return np.zeros(0, dtype=np.int64)
    from sklearn.metrics import pairwise_distances_argmin  # slow to import

    return np.asarray(pairwise_distances_argmin(points, others), dtype=np.int64)


def _windows(signal: Signal, config: WindowClusterSettings) -> Windows:
    chosen = WindowsConfig(length=config.windows.length, step=config.windows.step)
    length, step = window_and_step([signal], chosen)
    return Windows(signal.values, WindowGrid(length, step, signal.n_frames, signal.spans))


def _refuse_few(signal: Signal, n_windows: int, n_wanted: int, setting: str) -> None:
    if n_windows < n_wanted:
        raise RecordingError(
            f"recording '{signal.id}': {counted(n_windows, 'window')}, but {setting} is {n_wanted}; "
            "choose a shorter window or step, or a smaller number"
        )


KMEANS = BaselineMethod("kmeans", WindowKMeans, "k-means on statistics of windows; --states is given")
HDBSCAN = BaselineMethod("hdbscan", WindowHDBSCAN, "HDBSCAN on statistics of windows")
