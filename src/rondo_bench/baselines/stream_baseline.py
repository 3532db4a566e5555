"""RECORDING -> STREAM OF POINTS -> LABELS: how DenStream and DBSTREAM see a recording.

A point is what the training-free encoder says about one window. The first `fit_share` of the windows are known
together: the encoder is fitted to them alone, they give the radius of micro-clusters and the half-life, and they begin
the clustering. The others arrive one by one, and a label is final when it is given. Neither paper says how to choose a
radius without looking at the answer; ours is `radius_factor` times the 95th percentile of the distances from a point to
the nearest other one, at the start.

The scaling of channels is that of all baselines, over the whole recording. It cancels out here but for the floor under
the correlations of the encoder, because the encoder scales what it sees by the start of the recording.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from pydantic import Field

from rondo.config.settings import Duration, WindowsConfig
from rondo.data.labels import Labels
from rondo.data.signal import Signal
from rondo.data.window_lengths import window_and_step
from rondo.data.windows import WindowGrid, Windows
from rondo.encoders.summary_stats import SummaryStats, SummaryStatsConfig
from rondo.errors import RecordingError
from rondo.registry import StageSettings
from rondo.wording import Progress, silent
from rondo_bench.baselines.base import BaselineSettings
from rondo_bench.baselines.stream_clusters import Floats, StreamClusters

_PERCENTILE = 95
_FEWEST_INITIAL = 2  # windows: one has no nearest other

Begin = Callable[[int, float, int], StreamClusters]
"""Makes the clusters of an empty stream, from the number of dimensions, the radius and the half-life."""


class StreamWindows(StageSettings):
    """Which windows become points."""

    length: Duration = Field("auto", description="ours: as for Rondo itself; neither method is about windows")
    step: Duration = Field("auto", description="ours: as for Rondo itself")


class StreamSettings(BaselineSettings):
    """What both methods have."""

    windows: StreamWindows = StreamWindows()
    fit_share: float = Field(0.2, description="paper: RONDO initialises on the first 20 %", gt=0, le=1)
    radius_factor: float = Field(
        1.0,
        description="ours: ARI on planted streams at 0.7, 1, 1.5: DenStream 37, 50, 55; DBSTREAM 26, 50, 27",
        gt=0,
    )
    half_life: int = Field(0, description="ours: in windows; 0: as many as at the start", ge=0)
    capacity: int = Field(
        1000,
        description="ours: a bound on memory; the most micro-clusters that our sets ever held were 793",
        ge=1,
    )


def label_stream(signal: Signal, config: StreamSettings, begin: Begin, progress: Progress = silent) -> Labels:
    """One label for each frame, that of the window with the nearest centre."""
    length, step = window_and_step([signal], WindowsConfig(**config.windows.model_dump()))
    windows = Windows(signal.values, WindowGrid(length, step, signal.n_frames, signal.spans))
    n_initial = math.ceil(config.fit_share * len(windows))
    if n_initial < _FEWEST_INITIAL:
        raise RecordingError(
            f"recording '{signal.id}': the first {config.fit_share:.0%} of {len(windows)} windows must be at least "
            f"{_FEWEST_INITIAL}, to begin with; choose a shorter window or step"
        )
    points = points_of(windows, n_initial)
    radius = config.radius_factor * nearest_distance(points[:n_initial])
    if radius <= 0:
        raise RecordingError(
            f"recording '{signal.id}': the first {n_initial} windows are nearly all the same, and tell no distance; "
            "leave the still part out, or choose a larger fit_share"
        )
    clusters = begin(points.shape[1], radius, config.half_life or n_initial)
    labels = clusters.initialise(points[:n_initial]).tolist()
    for point in points[n_initial:]:
        labels.append(clusters.learn_one(point))
        progress("stream", len(labels), len(points))
    return windows.grid.project(labels, "centre")


def points_of(windows: Windows, n_initial: int) -> Floats:
    """The representation of each window, by the encoder that has seen the first `n_initial` windows only."""
    grid = windows.grid
    end = int(grid.starts[n_initial - 1]) + grid.length_frames
    seen = replace(grid, spans=tuple((start, min(stop, end)) for start, stop in grid.spans if start < end))
    encoder = SummaryStats(SummaryStatsConfig(shape_channels=0)).fit([Windows(windows.values, seen)])
    return encoder.encode(windows).astype(np.float64)


def nearest_distance(points: Floats) -> float:
    """The 95th percentile of the distance from a point to the nearest other one; one row at a time, for memory.

    >>> nearest_distance(np.array([[0.0], [1.0], [1.5], [1.5]])) < 1
    True
    """
    nearest = np.empty(len(points))
    for i, point in enumerate(points):
        away = points - point
        squared = np.einsum("ij,ij->i", away, away)
        squared[i] = np.inf
        nearest[i] = squared.min()
    return float(np.percentile(np.sqrt(nearest), _PERCENTILE))
