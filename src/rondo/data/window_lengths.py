"""Two scales: a short window for units and a long one for the contexts that they make up (docs/method.md).

Both follow from the length T of a recording and its typical period P, in frames; the rate plays no part. The long
window is T / 30, at most 3 P; of recordings of more than 795 periods T / 265, at most 24 P. The window of units is a
quarter of it, and at most 0.65 P or T / 1060. The shapes of one channel show in windows of many periods: 20 P, and the
long window is twice that, unless the recording is shorter than one such window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rondo.config.settings import ComposedMotifsConfig, RondoConfig, WindowsConfig, network_in, to_frames
from rondo.data.recording import Recording
from rondo.data.signal import FEWEST_FRAMES, MANY_CHANNELS, Signal, spectrum
from rondo.data.survey import SurveyedSize
from rondo.data.windows import FEW_CHANNELS
from rondo.errors import RecordingError, SettingError
from rondo.wording import counted, duration_in_words

Sized = Signal | SurveyedSize
"""What window lengths are chosen by: a recording at hand, or a survey of one that is not."""

FEWEST_WINDOWS = 20  # that do not overlap: fewer cannot show that something recurs; ours, not measured
FEWEST_TELLING_FRAMES = 8  # a shorter window sees values and no movement
SHAPE_PERIODS = 20  # typical periods in a window of few channels; docs/method.md
CURVE_FACTORS = (0.25, 0.5, 2 / 3, 1, 4 / 3, 2, 3, 4)  # of the chosen window: two octaves to either side
_SUGGESTED_SECONDS = 1.5  # the flat optimum over our development sets (docs/method.md); the paper has 1 to 3 s
_SHARE, _LONG_SHARE = 30, 265  # a long window in recordings: the best of those tried without labels (docs/method.md)
_PERIODS = (3, 24)  # at most so many typical periods in a long window, of short and long recordings (docs/method.md)
_UNIT_PERIODS, _UNIT_SHARE = 0.65, 1060  # of a window of units; 0.5 is better in planted streams, 0.75 in real ones
_UNITS_IN_MOTIF, _UNITS_IN_MOTIF_OF_ONE = 4, 2  # of several channels and of one (docs/method.md)
_PART = {4: "a quarter", 2: "half"}


def window_and_step(signals: Sequence[Sized], config: WindowsConfig) -> tuple[int, int]:
    """Window and step in frames, of methods with one scale; refused when no span of any signal holds a window.

    Where the owner gave none and the rate is known, 1.5 s; where it is not, or where that is only a handful of frames,
    the typical period of the signal. One to three channels of unknown rate are described by the shapes in a window,
    which takes several of them: 20 typical periods. No window is longer than a twentieth of the longest stretch. The
    step is a quarter of the window.
    """
    rate = signals[0].rate
    length = suggest_window(signals) if config.length == "auto" else to_frames(config.length, rate, "windows.length")
    refuse_too_long(length, signals)
    step = max(1, length // 4) if config.step == "auto" else to_frames(config.step, rate, "windows.step")
    return length, step


def _longest(signals: Sequence[Sized]) -> int:
    return max(signal.longest_span for signal in signals)


def refuse_too_long(length: int, signals: Sequence[Sized]) -> None:
    """Refuse a window that no span of any signal holds."""
    longest = _longest(signals)
    if length > longest:
        of = f"recording '{signals[0].id}'" if len(signals) == 1 else f"the {len(signals)} recordings"
        raise SettingError(
            f"windows.length is {length} frames, but the longest unbroken stretch of {of} has {longest}; "
            "choose a shorter window (--window)"
        )


def suggest_window(signals: Sequence[Sized]) -> int:
    """Frames of the suggested window."""
    rate = signals[0].rate
    longest = _longest(signals)
    frames = 0 if rate is None else round(_SUGGESTED_SECONDS * rate)
    if frames < FEWEST_FRAMES:
        frames = max(FEWEST_FRAMES, round(typical_periods(signals) * typical_period(signals)))
    return max(1, min(frames, longest // FEWEST_WINDOWS))


def typical_periods(signals: Sequence[Sized]) -> int:
    """How many typical periods a window holds where its length follows from the signal.

    Many for few channels of no rate, whose shapes tell them apart. At a known rate that is low, as of a power meter
    that is read every minute, what matters changes within one period.
    """
    return SHAPE_PERIODS if signals[0].rate is None and signals[0].n_dims <= FEW_CHANNELS else 1


def typical_period(signals: Sequence[Sized]) -> float:
    """Power-weighted geometric mean period in frames, over all channels of the longest span."""
    return max(signals, key=lambda signal: signal.longest_span).period_frames


@dataclass(frozen=True)
class Candidate:
    """A window length and what it would hold."""

    length_frames: int
    step_frames: int
    n_windows: int
    cycles: float  # how many typical periods
    power_within: float  # share of the power of the signal at periods that fit into the window


def window_curve(signals: Sequence[Signal], chosen: int | None = None) -> list[Candidate]:
    """What windows from a quarter to four times the chosen length would hold, the chosen one among them.

    `chosen`: in frames; where none is given, the window of methods with one scale.

    A window should hold one or two cycles of the fastest thing that matters. `power_within` is the spectral
    distribution function read at the window: near 0, the window sees only pieces of movements; near 1, a longer window
    adds nothing but blur. It describes the signal and measures no quality.
    """
    middle = suggest_window(signals) if chosen is None else chosen
    spans = [stop - start for signal in signals for start, stop in signal.spans]
    lengths = sorted({max(1, round(middle * factor)) for factor in CURVE_FACTORS})
    lengths = [length for length in lengths if length <= max(spans)]
    values = max(signals, key=lambda signal: signal.longest_span).longest_stretch
    period = typical_period(signals)
    frequency, weight = spectrum(values, max(1024, 4 * lengths[-1])) if values.shape[0] >= 8 else (np.ones(1),) * 2
    total = float(weight.sum())
    curve = []
    for length in lengths:
        step = max(1, length // 4)
        n_windows = sum((span - length) // step + 1 for span in spans if span >= length)
        within = float(weight[frequency * length >= 1].sum()) / total if total > 0 else 0.0
        curve.append(Candidate(length, step, n_windows, length / period, within))
    return curve


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
    given_motif = None if wanted == "auto" else to_frames(wanted, rate, "motifs.window")
    given_unit = None if config.windows.length == "auto" else to_frames(config.windows.length, rate, "windows.length")
    motif = suggest_motif_window(signals) if given_motif is None else given_motif
    share = motif / units_in_motif(signals)
    suggested = max(FEWEST_TELLING_FRAMES, round(share if given_motif else min(share, _most_of_unit(signals))))
    unit = given_unit or min(suggested, max(1, _longest(signals) // FEWEST_WINDOWS))
    refuse_too_long(unit, signals)
    step = max(1, unit // 4) if config.windows.step == "auto" else to_frames(config.windows.step, rate, "windows.step")
    return WindowScales(unit, step, motif if given_motif else max(motif, 2 * unit))


def compares_scales(config: RondoConfig) -> bool:
    """Whether the lengths of windows are left to the data, and several may be tried; networks are trained once."""
    if not isinstance(config.motifs, ComposedMotifsConfig) or network_in(config) is not None:
        return False
    lengths = {config.windows.length, config.windows.step, config.motifs.window}
    return config.windows.scales > 1 and lengths == {"auto"}


def why_windows(signals: Sequence[Sized], config: RondoConfig, scales: WindowScales) -> list[str]:
    """The windows as options and in words, where they come from, and when to doubt them."""
    unit, step, motif = scales
    rate, period = signals[0].rate, typical_period(signals)
    longest = _longest(signals)
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
    return f"{frames} frames" if rate is None else f"{duration_in_words(frames / rate)} ({frames} frames)"


def _period_in_words(signals: Sequence[Sized]) -> str:
    rate, period = signals[0].rate, typical_period(signals)
    return f"{period:.0f} frames" if rate is None else duration_in_words(period / rate)


def _why_one(signals: Sequence[Sized], config: RondoConfig, unit: int) -> str:
    """Where the window of a method with one scale comes from."""
    rate, cycle = signals[0].rate, _period_in_words(signals)
    longest = _longest(signals)
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
    n_periods = motif / typical_period(signals)
    if is_asked_for:
        of_motifs = "the window of motifs is as asked for"
    elif motif == 2 * unit:
        of_motifs = "the window of motifs is two windows of units"
    else:
        of_motifs = f"that of motifs, {n_periods:.1f} typical periods, follows from the length of the recording"
    cycle = _period_in_words(signals)
    return f"{_why_unit_window(signals, config, scales)}; {of_motifs}. The typical period of the signal is {cycle}."


def _why_unit_window(signals: Sequence[Sized], config: RondoConfig, scales: WindowScales) -> str:
    longest = _longest(signals)
    unit = scales.unit_frames
    if config.windows.length != "auto":
        return "The window of units is as asked for"
    if unit == max(1, longest // FEWEST_WINDOWS):
        return f"The window of units is a twentieth of the longest unbroken stretch ({longest:,} frames), the most"
    if unit > round(scales.motif_frames / units_in_motif(signals)):
        return f"The window of units is the least there is, {FEWEST_TELLING_FRAMES} frames"
    if signals[0].n_dims == 1 and unit == round(SHAPE_PERIODS * typical_period(signals)):
        return f"The window of units is {SHAPE_PERIODS} typical periods of the signal"
    if unit < round(scales.motif_frames / units_in_motif(signals)):
        return f"The window of units is {unit / typical_period(signals):.2g} typical periods of the signal, the most"
    return f"The window of units is {_PART[units_in_motif(signals)]} of that of motifs"


def units_in_motif(signals: Sequence[Sized]) -> int:
    """How many windows of units a long window holds."""
    return _UNITS_IN_MOTIF_OF_ONE if signals[0].n_dims == 1 else _UNITS_IN_MOTIF


def _most_of_unit(signals: Sequence[Sized]) -> float:
    """Frames of a window of units of several channels, at most; more in long recordings."""
    if signals[0].n_dims == 1:
        return float("inf")
    return max(_UNIT_PERIODS * typical_period(signals), _typical_length(signals) / _UNIT_SHARE)


def _typical_length(signals: Sequence[Sized]) -> float:
    return float(np.median([signal.n_frames for signal in signals]))


def suggest_motif_window(signals: Sequence[Sized]) -> int:
    """Frames of the long window that suits recordings of this length and typical period; the rate plays no part."""
    period = typical_period(signals)
    n_frames = _typical_length(signals)
    if signals[0].n_dims == 1 and n_frames >= SHAPE_PERIODS * period:
        return round(_UNITS_IN_MOTIF_OF_ONE * min(SHAPE_PERIODS * period, _longest(signals) / FEWEST_WINDOWS))
    most = max(_PERIODS[0] * period, min(n_frames / _LONG_SHARE, _PERIODS[1] * period))
    return round(min(n_frames / _SHARE, most))


def refuse_too_short(recordings: Sequence[Recording]) -> None:
    """Fewer frames in all than windows are needed: whatever is found in them cannot be shown to recur.

    Recordings with frames in columns are short too; those get a better advice (`refuse_shape`).
    """
    total = sum(recording.n_frames for recording in recordings)
    widest = max(recording.n_channels for recording in recordings)
    if total < FEWEST_WINDOWS and widest <= MANY_CHANNELS:
        raise RecordingError(
            f"too short: {counted(total, 'frame')} in {counted(len(recordings), 'recording')}; for something to recur, "
            f"{FEWEST_WINDOWS} windows are needed, which is {FEWEST_WINDOWS * FEWEST_TELLING_FRAMES} frames or more; "
            "record longer, or give more recordings"
        )


def too_few_windows(n_frames: Sequence[int], window_frames: int) -> str:
    """What to say where recordings hold fewer windows that do not overlap than can show recurrence; "" otherwise."""
    n_windows = sum(n // window_frames for n in n_frames)
    if n_windows >= FEWEST_WINDOWS - 1:  # the window that fits 20 times is rounded
        return ""
    return (
        f"too short: only {counted(n_windows, 'window')} of {counted(window_frames, 'frame')} lie side by side in "
        f"{counted(sum(n_frames), 'frame')}, and recurrence is not shown in fewer than {FEWEST_WINDOWS}; record "
        f"{FEWEST_WINDOWS * window_frames} frames or more, or give a shorter --window"
    )
