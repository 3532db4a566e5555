"""Two scales: a short window for units and a long one for the contexts that they make up.

Levels live at different scales, and the best window is about half the mean length of what it should show. The long
window follows the recording, T / 40, between 1.5 and 6 s: of the rules tried that need no labels it was the best
(docs/method.md). The window of units is a quarter of it, and at least 0.3 s.

Where the rate is unknown or below 10 Hz, seconds mean little: the bounds are then the typical period of the signal and
four times that. One to three channels of unknown rate are told apart by their shapes, for which a window of units must
hold many periods (`suggest_window`); the long window is four times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rondo.config.schema import ComposedMotifsConfig, RondoConfig, to_frames
from rondo.data.suggest import (
    FEWEST_TELLING_FRAMES,
    Sized,
    refuse_too_long,
    suggest_window,
    typical_period,
    typical_periods,
    window_and_step,
)

_SHARE = 40  # a long window in recordings
_SECONDS = (1.5, 6.0)  # of a long window
_UNITS_IN_MOTIF = 4
_UNIT_SECONDS = 0.3
_LOWEST_RATE = 10.0  # Hz
_FEWEST_FRAMES = 16  # of a typical period
_FEWEST_UNIT_WINDOWS = 20  # a window of units fits at least this often into the longest span


class WindowScales(NamedTuple):
    """Frames of a window of units, of the step between two, and of a long window."""

    unit_frames: int
    step_frames: int
    motif_frames: int


def choose_scales(signals: Sequence[Sized], config: RondoConfig) -> WindowScales:
    """What the settings say, and what they leave to the data."""
    if not isinstance(config.motifs, ComposedMotifsConfig):  # one scale
        unit, step = window_and_step(signals, config.windows)
        return WindowScales(unit, step, unit)
    rate, wanted = signals[0].rate, config.motifs.window
    longest = max(signal.longest_span for signal in signals)
    given_motif = None if wanted == "auto" else to_frames(wanted, rate, "motifs.window")
    given_unit = None if config.windows.length == "auto" else to_frames(config.windows.length, rate, "windows.length")
    by_shape = typical_periods(signals) > 1
    motif = given_motif or (_UNITS_IN_MOTIF * suggest_window(signals) if by_shape else suggest_motif_window(signals))
    unit = given_unit or min(_unit_window(motif, rate), max(1, longest // _FEWEST_UNIT_WINDOWS))
    refuse_too_long(unit, signals)
    step = max(1, unit // 4) if config.windows.step == "auto" else to_frames(config.windows.step, rate, "windows.step")
    return WindowScales(unit, step, motif if given_motif else max(motif, 2 * unit))


def why_scales(signals: Sequence[Sized], config: RondoConfig, scales: WindowScales) -> str:
    """Where windows of units and of motifs come from, for people; of settings with two scales."""
    if not isinstance(config.motifs, ComposedMotifsConfig):
        raise ValueError("these settings have one scale")
    unit, _, motif = scales
    rate = signals[0].rate
    if config.motifs.window != "auto":
        of_motifs = "the window of motifs is as asked for"
    elif motif == 2 * unit:
        of_motifs = "the window of motifs is two windows of units, the least"
    elif typical_periods(signals) > 1:
        of_motifs = "the window of motifs is four times as long"
    elif rate is not None and _has_usable_rate(rate):
        of_motifs = f"the window of motifs is a fortieth of the recording, from {_SECONDS[0]:g} to {_SECONDS[1]:g} s"
    else:
        with_rate = "" if rate is not None else f" (with --rate HZ: from {_SECONDS[0]:g} to {_SECONDS[1]:g} s)"
        of_motifs = f"the window of motifs is a fortieth of the recording, from one to four typical periods{with_rate}"
    return f"{_why_unit_window(signals, config, scales)}; {of_motifs}."


def _why_unit_window(signals: Sequence[Sized], config: RondoConfig, scales: WindowScales) -> str:
    longest = max(signal.longest_span for signal in signals)
    unit = scales.unit_frames
    if config.windows.length != "auto":
        return "The window of units is as asked for"
    if unit == max(1, longest // _FEWEST_UNIT_WINDOWS):
        return f"The window of units is a twentieth of the longest unbroken stretch ({longest:,} frames), the most"
    if unit > round(scales.motif_frames / _UNITS_IN_MOTIF):
        return f"The window of units is the least there is, {_UNIT_SECONDS:g} s or {FEWEST_TELLING_FRAMES} frames"
    if (n_periods := typical_periods(signals)) > 1:
        return f"The window of units is {n_periods} typical periods of the signal"
    return "The window of units is a quarter of that of motifs"


def suggest_motif_window(signals: Sequence[Sized]) -> int:
    """Frames of the long window that suits recordings of this length."""
    rate = signals[0].rate
    if rate is not None and _has_usable_rate(rate):
        shortest, longest = (seconds * rate for seconds in _SECONDS)
    else:
        shortest = max(_FEWEST_FRAMES, typical_period(signals))
        longest = shortest * _SECONDS[1] / _SECONDS[0]
    typical = float(np.median([signal.n_frames for signal in signals]))
    return round(min(max(typical / _SHARE, shortest), longest))


def _has_usable_rate(rate: float | None) -> bool:
    return rate is not None and rate >= _LOWEST_RATE


def _unit_window(motif_frames: int, rate: float | None) -> int:
    fewest = FEWEST_TELLING_FRAMES if rate is None else max(FEWEST_TELLING_FRAMES, round(_UNIT_SECONDS * rate))
    return max(fewest, round(motif_frames / _UNITS_IN_MOTIF))
