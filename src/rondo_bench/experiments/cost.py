"""How long a run will take: by what earlier rows took, else by what a method says of itself, else by our measure.

Rows of other sets tell how this machine compares with what a method says of itself: some methods grow with the square
of a recording, so that seconds per frame of short ones say little about long ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from statistics import median

from rondo.errors import InputError
from rondo_bench.baselines.cost import estimated_seconds
from rondo_bench.data_sets.catalogue import DATA_SETS
from rondo_bench.data_sets.read import find_copy
from rondo_bench.data_sets.stored import size_of
from rondo_bench.experiments.configured import baseline_for, joins
from rondo_bench.experiments.inputs import PLANTED, PLANTED_FRAMES, PLANTED_PLAN
from rondo_bench.experiments.plan import Task
from rondo_bench.experiments.rows import Row

# Seconds of Rondo on one core: once, and for each window (benchmarks/scale.py, docs/results/motifs.md).
_RONDO = {"default": (0.2, 2e-4), "paper": (10.0, 0.04)}
_PER_WINDOW = 2e-3  # seconds of a baseline that does not say: DenStream, DBSTREAM
_AT_LEAST = 0.05  # seconds: what reading and scoring take


@dataclass(frozen=True)
class Costs:
    """What is known about cost from the rows that are there."""

    rows: Sequence[Row]

    @cached_property
    def _per_frame(self) -> dict[tuple[str, str], float]:
        """Seconds per frame, median, by method and data set, and by method over all sets (under "")."""
        seen: dict[tuple[str, str], list[float]] = {}
        for row in self.rows:
            if row.is_ok and row.counts.get("n_frames"):
                for data_set in (row.key.data_set, ""):
                    rate = row.seconds / row.counts["n_frames"]
                    seen.setdefault((row.key.method, data_set), []).append(rate)
        return {key: median(rates) for key, rates in seen.items()}

    @cached_property
    def _sizes(self) -> dict[tuple[str, str], tuple[int, int]]:
        return {
            (row.key.data_set, row.key.recording): (row.counts["n_frames"], row.counts["n_channels"])
            for row in self.rows
            if "n_frames" in row.counts
        }

    def seconds(self, task: Task) -> float:
        """Of one task on one core, about."""
        recordings = dict.fromkeys((*task.recordings, *task.learned_from))
        sizes = [self._size(task, recording) for recording in recordings]
        n_frames = sum(frames for frames, _ in sizes)
        rates = [self._per_frame.get((task.method_name, data_set)) for data_set in (task.set_name, "")]
        rate = rates[0] or (rates[1] if self._slowdown(task) is None else None)
        if rate is not None:
            return max(_AT_LEAST, rate * sum(frames for frames, _ in sizes[: len(task.recordings)]))
        return max(_AT_LEAST, (self._slowdown(task) or 1.0) * _unseen(task, n_frames, sizes[0][1]))

    def _slowdown(self, task: Task) -> float | None:
        """How much longer than it says the method has taken, median over the rows of all sets; None where unknown."""
        if not task.method.baseline:
            return None
        baseline = baseline_for(task.method, task.set_name, task.of_set)
        if joins(task.method, baseline):  # a row has a share of its time, not the time of its own
            return None
        ratios = []
        for row in self.rows:
            if row.is_ok and row.key.method == task.method_name and "n_frames" in row.counts:
                said = estimated_seconds(baseline, row.counts["n_frames"], row.counts["n_channels"])
                ratios += [row.seconds / said] if said else []
        return median(ratios) if ratios else None

    def total(self, tasks: Iterable[Task]) -> float:
        return sum(map(self.seconds, tasks))

    def _size(self, task: Task, recording: str) -> tuple[int, int]:
        known = self._sizes.get((task.set_name, recording))
        return known or _expected_size(task.data_set, task.data, recording, task.of_set.n_channels)


def _unseen(task: Task, n_frames: int, n_channels: int) -> float:
    n_windows = n_frames / (task.of_set.step if isinstance(task.of_set.step, int) else 20)
    if task.method.clock or task.method.stored:
        return 0.0
    if task.method.baseline:
        baseline = baseline_for(task.method, task.set_name, task.of_set)
        said = estimated_seconds(baseline, n_frames, n_channels)
        return _PER_WINDOW * n_windows if said is None else said
    once, per_window = _RONDO["default" if task.method.preset == "default" else "paper"]
    return once * len(task.recordings) + per_window * n_windows


@cache
def _expected_size(data_set: str, data: Path | None, recording: str, n_channels: int) -> tuple[int, int]:
    """Frames and channels of a recording: of a set that we know its mean, else by its file.

    What cannot be read counts nothing here: its row will say why.
    """
    if data_set in PLANTED:
        return PLANTED_FRAMES, PLANTED_PLAN.n_channels
    known = next((own for own in DATA_SETS if own.name == data_set), None)
    if known is not None:
        return known.n_frames // known.n_recordings, n_channels or known.n_channels
    try:
        return size_of(_paths(data_set, data)[recording])
    except (InputError, OSError):
        return 0, 1


@cache
def _paths(data_set: str, data: Path | None) -> dict[str, Path]:
    copy = find_copy(data_set, data)
    return dict(zip(copy.ids, copy.paths, strict=True))
