"""What DenStream and DBSTREAM share: faded micro-clusters in tables of fixed size, and clusters with lasting ids.

A point is the representation of one window, and time counts points. Micro-clusters that belong together are one
cluster; which do is the method's own rule. After each point the clusters are found again wherever that rule gives
another answer than before, and a label is the id of the point's cluster at that moment: it never changes afterwards.

Weights fade by 2^(−t / half_life). All fade alike, so the tables hold weights as of the last whole half-life, a point
that comes `age` later counts 2^(age / half_life), and at each half-life everything is halved, which is exact.

The first `fit_share` of the windows are known together: the training-free encoder is fitted to them alone, they give
the radius and the half-life, and they begin the clustering. Neither paper says how to choose a radius without looking
at the answer; ours is `radius_factor` times the 95th percentile of the distances from a point to the nearest other one,
at the start. The scaling of channels over the whole recording cancels out, because the encoder scales what it sees by
the start, but for the floor under its correlations.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rondo.config.settings import Duration, WindowsConfig
from rondo.data.labels import OTHER, Labels
from rondo.data.signal import Signal
from rondo.data.window_lengths import window_and_step
from rondo.data.windows import WindowGrid, Windows
from rondo.encoders.summary_stats import SummaryStats, SummaryStatsConfig
from rondo.errors import RecordingError
from rondo.registry import StageSettings
from rondo.wording import Progress, silent
from rondo_bench.baselines.baseline import BaselineSettings

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Ids = NDArray[np.int64]


class StreamClusters(ABC):
    """Micro-clusters in rows, oldest first; only the first `n_rows` rows of each table are in use."""

    def __init__(self, n_dims: int, radius: float, half_life: int, capacity: int) -> None:
        self.radius = radius
        self.half_life = half_life
        self.time = 0
        self.n_rows = 0
        self.n_founded = 0  # micro-clusters so far
        self.n_clusters = 0  # cluster ids given so far; none is given twice
        self.centres = np.zeros((capacity, n_dims))
        self.weights = np.zeros(capacity)
        self.serials = np.zeros(capacity, dtype=np.int64)
        self.clusters = np.full(capacity, OTHER, dtype=np.int64)
        self.homes = np.full(capacity, OTHER, dtype=np.int64)  # the first cluster a row was in
        self.strong = np.zeros(capacity, dtype=np.bool_)
        self.links = np.zeros((capacity, capacity), dtype=np.bool_)
        self._regroup = False

    @abstractmethod
    def _absorb(self, point: Floats) -> int:
        """Let a point in, and give the row that speaks for it."""

    @abstractmethod
    def _found(self, points: Floats) -> Ids:
        """Begin with many points at one instant; for each the serial number of its micro-cluster."""

    @abstractmethod
    def _strong_rows(self) -> Mask:
        """Rows that can found a cluster, of those in use."""

    @abstractmethod
    def _border_rows(self) -> Mask:
        """Rows that belong to a cluster if they are linked to a strong one."""

    @abstractmethod
    def _end_step(self) -> None:
        """Forget what is too weak, where it is time to, and let time go on."""

    def initialise(self, points: Floats) -> Labels:
        """The labels of points (n_points, n_dims) that are known together, before any other; none of them fades."""
        serials = self._found(np.asarray(points, dtype=np.float64))
        self._refresh()
        self._tick()
        cluster_of = dict(zip(self.serials[: self.n_rows].tolist(), self.clusters[: self.n_rows].tolist(), strict=True))
        return np.array([cluster_of.get(serial, OTHER) for serial in serials.tolist()], dtype=np.int32)

    def learn_one(self, point: Floats) -> int:
        """The label of the next point: the id of its cluster, OTHER for noise."""
        row = self._absorb(np.asarray(point, dtype=np.float64))
        self._refresh()
        label = int(self.clusters[row])
        self._end_step()
        return label

    @property
    def unit(self) -> float:
        """What a point counts now, on the scale of the tables."""
        return float(2.0 ** (self.time % self.half_life / self.half_life))

    @property
    def faded_weights(self) -> Floats:
        return np.asarray(self.weights[: self.n_rows] / self.unit)

    def _columns(self) -> tuple[NDArray[np.generic], ...]:
        """Tables with one entry per row, which move when a row goes."""
        return (self.centres, self.weights, self.serials, self.clusters, self.homes, self.strong)

    def _squares(self) -> tuple[NDArray[np.generic], ...]:
        """Tables with one entry per pair of rows."""
        return (self.links,)

    def _fading(self) -> tuple[Floats, ...]:
        return (self.weights,)

    def _squared_distances(self, point: Floats) -> Floats:
        away = self.centres[: self.n_rows] - point
        return np.asarray(np.einsum("ij,ij->i", away, away))

    def _add(self, centre: Floats, weight: float) -> int:
        """A new row, where need be in the place of the lightest."""
        if self.n_rows == len(self.weights):
            keep = np.ones(self.n_rows, dtype=np.bool_)
            keep[self.weights.argmin()] = False
            self._keep(keep)
        row = self.n_rows
        self.n_rows += 1
        for square in self._squares():
            square[row, :] = square[:, row] = 0
        self.centres[row], self.weights[row], self.serials[row] = centre, weight, self.n_founded
        self.clusters[row] = self.homes[row] = OTHER
        self.strong[row] = False
        self.n_founded += 1
        return row

    def _keep(self, keep: Mask) -> None:
        if keep.all():
            return
        rows = np.flatnonzero(keep)
        for column in self._columns():
            column[: rows.size] = column[rows]
        for square in self._squares():
            square[: rows.size, : rows.size] = square[np.ix_(rows, rows)]
        self.n_rows = int(rows.size)
        self._regroup = True

    def _link(self, rows: Ids, linked: Mask) -> None:
        """Set which rows in use each of `rows` is linked to, (n, n_rows)."""
        if not np.array_equal(self.links[rows, : self.n_rows], linked):
            self.links[rows, : self.n_rows] = linked
            self.links[: self.n_rows, rows] = linked.T
            self._regroup = True

    def _tick(self) -> None:
        self.time += 1
        if self.time % self.half_life == 0:
            for table in self._fading():
                table[: self.n_rows] *= 0.5

    def _refresh(self) -> None:
        """Find the clusters again if links or strong rows have changed."""
        n, strong = self.n_rows, self._strong_rows()
        if not self._regroup and np.array_equal(strong, self.strong[:n]):
            return
        self._regroup = False
        self.strong[:n] = strong
        groups = groups_of(self.links[:n, :n], strong, self._border_rows())
        ids = lasting_ids(groups, self.weights[:n], self.clusters[:n], self.homes[:n], self.n_clusters)
        self.n_clusters = max([self.n_clusters, *(ids + 1).tolist()])
        self.clusters[:n] = np.append(ids, OTHER)[groups]  # OTHER = -1 finds the OTHER at the end
        self.homes[:n] = np.where(self.homes[:n] == OTHER, self.clusters[:n], self.homes[:n])


def groups_of(links: Mask, strong: Mask, border: Mask) -> Ids:
    """A group 0, 1, … for each row, OTHER for none: strong rows that are linked, directly or through strong rows.

    A border row joins the group of the first strong row that it is linked to.
    """
    groups = np.full(strong.size, OTHER, dtype=np.int64)
    seeds = np.flatnonzero(strong)
    if not seeds.size:
        return groups
    from scipy.sparse.csgraph import connected_components  # slow to import

    groups[seeds] = connected_components(links[np.ix_(seeds, seeds)], directed=False)[1]
    edge = np.flatnonzero(border & ~strong)
    touched = links[np.ix_(edge, seeds)]
    near = touched.any(axis=1)
    groups[edge[near]] = groups[seeds[touched[near].argmax(axis=1)]]
    return groups


def lasting_ids(groups: Ids, weights: Floats, current: Ids, homes: Ids, n_given: int) -> Ids:
    """An id for each group, so that a cluster keeps its id while its micro-clusters come and go.

    The group with the greatest weight in rows of a current cluster takes over its id. A group that is still without
    one takes, likewise, the id that its rows had first, if nobody bears it: a cluster that was swallowed, or was weak
    for a while, comes back under its own name. The others get ids that were never given.
    """
    ids: dict[int, int] = {}
    for former in (current, homes):
        borne = set(ids.values())
        votes: dict[tuple[int, int], float] = {}
        rows = np.flatnonzero((groups != OTHER) & (former != OTHER))
        for pair in zip(groups[rows].tolist(), former[rows].tolist(), weights[rows].tolist(), strict=True):
            group, cluster, weight = pair
            votes[group, cluster] = votes.get((group, cluster), 0.0) + weight
        for group, cluster in sorted(votes, key=lambda pair: (-votes[pair], pair)):
            if group not in ids and cluster not in borne:
                ids[group] = cluster
                borne.add(cluster)
    for group in range(int(groups.max(initial=OTHER)) + 1):
        if group not in ids:
            ids[group] = n_given
            n_given += 1
    return np.array([ids[group] for group in range(len(ids))], dtype=np.int64)


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
        1.0, description="ours: ARI on planted streams at 0.7, 1, 1.5: DenStream 37, 50, 55; DBSTREAM 26, 50, 27", gt=0
    )
    half_life: int = Field(0, description="ours: in windows; 0: as many as at the start", ge=0)
    capacity: int = Field(
        1000, description="ours: a bound on memory; the most micro-clusters that our sets ever held were 793", ge=1
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
    """The 95th percentile of the distance from a point to the nearest other one; one row at a time, for memory."""
    nearest = np.empty(len(points))
    for i, point in enumerate(points):
        away = points - point
        squared = np.einsum("ij,ij->i", away, away)
        squared[i] = np.inf
        nearest[i] = squared.min()
    return float(np.percentile(np.sqrt(nearest), _PERCENTILE))
