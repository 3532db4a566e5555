"""A window for recordings whose owner gave none, where a method has one scale (`scales` has the two of the default).

Where the rate is known: 1.5 s, the flat optimum over our development sets (docs/method.md; the paper's own windows
are 1 to 3 s). Where it is not, or where 1.5 s is only a handful of frames: the typical period of the signal, the
power-weighted geometric mean over its spectrum. One to three channels of unknown rate are described by the shapes in a
window, which takes several of them: there the window is 20 typical periods. No window is longer than a twentieth of the
longest stretch. The step is a quarter of the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rondo.config.schema import WindowsConfig, to_frames
from rondo.data.period import FEWEST_FRAMES, spectrum
from rondo.data.preprocess import Signal
from rondo.data.windows import FEW_CHANNELS
from rondo.errors import SettingError

_SECONDS = 1.5
SHAPE_PERIODS = 20  # typical periods in a window of few channels; docs/method.md
CURVE_FACTORS = (0.25, 0.5, 2 / 3, 1, 4 / 3, 2, 3, 4)
FEWEST_TELLING_FRAMES = 8  # a shorter window sees values and no movement
_FEWEST_WINDOW_LENGTHS = 20  # a suggested window fits at least this often into the longest span


class Sized(Protocol):
    """What window lengths are chosen by: a Signal, or a survey of a recording that is not at hand."""

    @property
    def id(self) -> str: ...

    @property
    def rate(self) -> float | None: ...

    @property
    def n_frames(self) -> int: ...

    @property
    def n_dims(self) -> int:
        """Channels of a window."""

    @property
    def longest_span(self) -> int:
        """Frames of the longest span."""

    @property
    def period_frames(self) -> float:
        """The typical period in the longest span."""


def window_and_step(signals: Sequence[Sized], config: WindowsConfig) -> tuple[int, int]:
    """Window and step in frames, of methods with one scale; refused when no span of any signal holds a window."""
    rate = signals[0].rate
    length = suggest_window(signals) if config.length == "auto" else to_frames(config.length, rate, "windows.length")
    refuse_too_long(length, signals)
    step = max(1, length // 4) if config.step == "auto" else to_frames(config.step, rate, "windows.step")
    return length, step


def refuse_too_long(length: int, signals: Sequence[Sized]) -> None:
    """Refuse a window that no span of any signal holds."""
    longest = max(signal.longest_span for signal in signals)
    if length > longest:
        raise SettingError(
            f"windows.length is {length} frames, but the longest unbroken stretch of "
            f"{_named(signals)} has {longest}; choose a shorter window (--window)"
        )


def suggest_window(signals: Sequence[Sized]) -> int:
    """Frames of the suggested window."""
    rate = signals[0].rate
    longest = max(signal.longest_span for signal in signals)
    frames = 0 if rate is None else round(_SECONDS * rate)
    if frames < FEWEST_FRAMES:
        frames = max(FEWEST_FRAMES, round(typical_periods(signals) * typical_period(signals)))
    return max(1, min(frames, longest // _FEWEST_WINDOW_LENGTHS))


def typical_periods(signals: Sequence[Sized]) -> int:
    """How many typical periods a window holds where its length follows from the signal.

    Many for few channels of no rate, whose shapes tell them apart. At a known rate that is low, as of a power meter
    that is read every minute, what matters changes within one period.
    """
    return SHAPE_PERIODS if signals[0].rate is None and signals[0].n_dims <= FEW_CHANNELS else 1


def typical_period(signals: Sequence[Sized]) -> float:
    """Power-weighted geometric mean period in frames, over all channels of the longest span.

    >>> wave = np.sin(2 * np.pi * np.arange(4096) / 64)[:, None].astype(np.float32)
    >>> round(typical_period([Signal("s", wave, None, ("x",), ((0, 4096),), 4096)]))
    64
    """
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


def _named(signals: Sequence[Sized]) -> str:
    return f"recording '{signals[0].id}'" if len(signals) == 1 else f"the {len(signals)} recordings"
