"""At which scale to look: the same fit at a few lengths of windows, and the one that the others agree with.

What recurs is seen at neighbouring scales alike; what one length of windows happens to find is seen at no other. No
labels are needed for that: three fits are compared with each other. A scale at which all that is done between two rests
is one of a few phrases comes first. Where hardly anything was found, closer looks follow.
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

_FACTORS = (0.7, 1.4)  # of the suggested lengths, beside 1; half an octave, chosen by hand
_CLEARLY = 0.05  # by so much others must agree better; of 0.02 and 0.05 on public sets: benchmarks/studies.py scales
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
    """The first, or another one that agrees clearly better with the rest; `longest` span of any signal, in frames."""
    if not compares_scales(config):
        return first
    tried = [first, *map(fit, _others(first.scales, longest))]
    if whole := [attempt for attempt in tried if attempt.tells_all_between_rests]:
        return min(whole, key=lambda attempt: attempt.scales.unit_frames)  # the sharpest
    labels = [attempt.labels() for attempt in tried]
    alike = agreements(labels)
    means = (alike.sum(axis=1) - 1) / max(1, len(tried) - 1)
    best = int(means.round(9).argmax())
    chosen = tried[best if means[best] > means[0] + _CLEARLY else 0]
    while chosen.tells_nothing and chosen.scales.unit_frames > FEWEST_TELLING_FRAMES:
        chosen = fit(_scaled(chosen.scales, 0.5, longest))
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
        f"windows of {unit} for units and {motif} for motifs, {share:.2g} times the suggested lengths, as scales agree "
        "best there; --fast keeps the suggested ones"
    ]


def _others(scales: WindowScales, longest: int) -> list[WindowScales]:
    each = [_scaled(scales, factor, longest) for factor in _FACTORS]
    return [other for other in each if other.unit_frames != scales.unit_frames]


def _scaled(scales: WindowScales, factor: float, longest: int) -> WindowScales:
    most = max(scales.unit_frames, longest // FEWEST_WINDOWS)
    unit = min(max(FEWEST_TELLING_FRAMES, round(factor * scales.unit_frames)), most)
    motif = max(round(unit * scales.motif_frames / scales.unit_frames), 2 * unit)
    return WindowScales(unit, max(1, unit // 4), motif)
