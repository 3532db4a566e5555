"""How long windows of units are: the same fit at a few lengths, and the one that the others agree with.

Motifs that recur are found with units of any similar length; what one length happens to find is found with no other. So
fits with four lengths of unit windows under the same motif window are compared with each other, without labels. A
length at which all that is done between two rests is one of a few phrases comes first. Where hardly anything was found,
both windows are halved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rondo.arrays import Ints
from rondo.config.settings import RondoConfig
from rondo.data.agreement import agreements
from rondo.data.window_lengths import FEWEST_TELLING_FRAMES, FEWEST_WINDOWS, WindowScales, compares_scales
from rondo.data.windows import Windows
from rondo.motifs.base import Motifs
from rondo.motifs.composed import ComposedMotifs
from rondo.units.model import UnitModel
from rondo.units.viterbi import Timeline
from rondo.wording import duration_in_words

# Of the suggested window of units, besides 1. Five sets of factors were compared on public sets and planted streams;
# docs/results/motifs.md has recordings that had no part in the choice (benchmarks/studies.py scales).
_FACTORS = (0.5, 0.7, 1.4)
_COMPARED = 2000  # frames, evenly spread: more say the same


@dataclass(frozen=True)
class Attempt:
    """Units and motifs, learned at one scale."""

    scales: WindowScales
    every: list[Windows]  # of every signal; some may hold none
    own: list[str]  # the groups of those that do
    units: UnitModel
    timelines: list[Timeline]  # of signals with windows
    motifs: Motifs

    @property
    def windows(self) -> list[Windows]:
        return [windows for windows in self.every if len(windows)]

    @property
    def tells_all_between_rests(self) -> bool:
        motifs = self.motifs
        return isinstance(motifs, ComposedMotifs) and motifs.shown == "phrase" and motifs.by_units.rest is not None

    @property
    def tells_nothing(self) -> bool:
        """Whether all is one motif, and not a cycle that goes round."""
        is_cycle = isinstance(self.motifs, ComposedMotifs) and self.motifs.shown == "phrase"
        return not is_cycle and np.unique(self.labels()).size < 2

    def labels(self) -> Ints:
        """The motifs of some frames, evenly spread over all signals."""
        n_frames = [windows.grid.n_frames for windows in self.windows]
        ends = np.cumsum(n_frames)
        frames = np.linspace(0, ends[-1] - 1, min(_COMPARED, int(ends[-1]))).astype(np.int64)
        read = [
            windows.grid.project(self.motifs.timeline(units).ids, "centre")
            for windows, units in zip(self.windows, self.timelines, strict=True)
        ]
        return np.concatenate(read)[frames].astype(np.int64)


def best_attempt(first: Attempt, config: RondoConfig, longest: int, fit: Callable[[WindowScales], Attempt]) -> Attempt:
    """The attempt that agrees best with the others; `longest` span of any signal, in frames."""
    if not compares_scales(config):
        return first
    tried = [first, *map(fit, _others(first.scales, longest))]
    if whole := [attempt for attempt in tried if attempt.tells_all_between_rests]:
        return min(whole, key=lambda attempt: attempt.scales.unit_frames)  # the sharpest
    labels = [attempt.labels() for attempt in tried]
    alike = agreements(labels)
    means = (alike.sum(axis=1) - 1) / max(1, len(tried) - 1)
    chosen = tried[int(means.round(9).argmax())]  # the suggested one where several agree as well
    while chosen.tells_nothing and chosen.scales.unit_frames > FEWEST_TELLING_FRAMES:
        chosen = fit(_closer(chosen.scales))
    return chosen


def scale_note(suggested: WindowScales, taken: WindowScales, rate: float | None) -> list[str]:
    """Where another scale than the suggested one was taken."""
    if taken == suggested:
        return []
    unit, motif = (
        f"{frames} frames" if rate is None else duration_in_words(frames / rate)
        for frames in (taken.unit_frames, taken.motif_frames)
    )
    share = taken.unit_frames / suggested.unit_frames
    return [
        f"windows of {unit} for units, {share:.2g} times the suggested length, and {motif} for motifs: similar lengths "
        "agree best there; --fast keeps the suggested one"
    ]


def _others(scales: WindowScales, longest: int) -> list[WindowScales]:
    """The other lengths of unit windows; none twice, and none that has fewer than 20 windows."""
    most = max(scales.unit_frames, longest // FEWEST_WINDOWS)
    units = {min(max(FEWEST_TELLING_FRAMES, round(factor * scales.unit_frames)), most): None for factor in _FACTORS}
    return [_with_units(scales, unit) for unit in units if unit != scales.unit_frames]


def _closer(scales: WindowScales) -> WindowScales:
    """Both windows halved."""
    return _with_units(
        scales._replace(motif_frames=scales.motif_frames // 2),
        max(FEWEST_TELLING_FRAMES, round(scales.unit_frames / 2)),
    )


def _with_units(scales: WindowScales, unit: int) -> WindowScales:
    return WindowScales(unit, max(1, unit // 4), max(scales.motif_frames, 2 * unit))
