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
from rondo.times import duration_in_words

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


def why_windows(signals: Sequence[Sized], config: RondoConfig, scales: WindowScales) -> list[str]:
    """The windows as options and in words, where they come from, and when to doubt them."""
    unit, step, motif = scales
    rate, period = signals[0].rate, typical_period(signals)
    longest = max(signal.longest_span for signal in signals)
    source = "suggested" if config.windows.length == "auto" else "as asked for"
    if isinstance(config.motifs, ComposedMotifsConfig):
        option, motif_words = f" --motif-window {motif}", f"motifs: {_in_words(motif, rate)}"
        reason = _why_both(signals, config, scales, is_asked_for=config.motifs.window != "auto")
    else:
        option, motif_words, reason = "", "motifs are made of these", _why_one(signals, config, unit)
    rule = (
        "A window of units should hold one or two cycles of the fastest thing you care about: you know it, the curve "
        "does not."
    )
    if unit < FEWEST_TELLING_FRAMES:
        rule += f" With {longest:,} frames a window reflects signal level only: record longer."
    if unit < period / 2 and motif < period:
        rule += f" This one holds {unit / period:.1f} of a typical period; try --window {round(period)} beside it."
    return [
        f"{source}: --window {unit} --step {step}{option}",
        f"units: {_in_words(unit, rate)}, {motif_words}",
        reason,
        rule,
    ]


def _in_words(frames: int, rate: float | None) -> str:
    return f"{frames} frames" if rate is None else f"{frames / rate:.3g} s ({frames} frames)"


def _period_in_words(signals: Sequence[Sized]) -> str:
    rate, period = signals[0].rate, typical_period(signals)
    return f"{period:.0f} frames" if rate is None else duration_in_words(period / rate)


def _why_one(signals: Sequence[Sized], config: RondoConfig, unit: int) -> str:
    """Where the window of a method with one scale comes from."""
    rate, cycle = signals[0].rate, _period_in_words(signals)
    longest = max(signal.longest_span for signal in signals)
    if config.windows.length != "auto":
        return f"The typical period of the signal is {cycle}."
    if unit == longest // 20:
        return (
            f"A twentieth of the longest unbroken stretch ({longest:,} frames): longer, and too few windows are left."
        )
    if rate is not None and unit == round(1.5 * rate):
        return f"1.5 s did best over our development sets, from a flat optimum; the signal's typical period is {cycle}."
    n_periods = typical_periods(signals)
    counted, each = ("The typical period", "") if n_periods == 1 else (f"{n_periods} typical periods", " each")
    end = "; with --rate HZ it would be 1.5 s." if rate is None else ": 1.5 s would be only a handful of frames."
    return f"{counted} of the signal, {cycle}{each}{end}"


def _why_both(signals: Sequence[Sized], config: RondoConfig, scales: WindowScales, *, is_asked_for: bool) -> str:
    """Where the windows of a method with two scales come from."""
    unit, _, motif = scales
    rate = signals[0].rate
    if is_asked_for:
        of_motifs = "the window of motifs is as asked for"
    elif motif == 2 * unit:
        of_motifs = "the window of motifs is two windows of units, the least"
    elif typical_periods(signals) > 1:
        of_motifs = "the window of motifs is four times as long"
    elif _has_usable_rate(rate):
        of_motifs = f"the window of motifs is a fortieth of the recording, from {_SECONDS[0]:g} to {_SECONDS[1]:g} s"
    else:
        with_rate = "" if rate is not None else f" (with --rate HZ: from {_SECONDS[0]:g} to {_SECONDS[1]:g} s)"
        of_motifs = f"the window of motifs is a fortieth of the recording, from one to four typical periods{with_rate}"
    cycle = _period_in_words(signals)
    return f"{_why_unit_window(signals, config, scales)}; {of_motifs}. The typical period of the signal is {cycle}."


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
