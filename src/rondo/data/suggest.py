"""A window for recordings whose owner gave none.

Where the rate is known: 1.5 s, the flat optimum over our development sets (docs/windows.md; the paper's own windows
are 1 to 3 s). Where it is not, or where 1.5 s is only a handful of frames: the typical period of the signal, the
power-weighted geometric mean over its spectrum. The step is a quarter of the window.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rondo.config import WindowsConfig, to_frames
from rondo.data.preprocess import Signal
from rondo.errors import SettingError

_SECONDS = 1.5
_FEWEST_FRAMES = 16
_FEWEST_WINDOW_LENGTHS = 20  # a suggested window fits at least this often into the longest span


def window_and_step(signals: Sequence[Signal], config: WindowsConfig) -> tuple[int, int]:
    """Window length and step in frames; refused when no span of any signal holds a window."""
    rate = signals[0].rate
    longest = max(stop - start for signal in signals for start, stop in signal.spans)
    length = suggest_window(signals) if config.length == "auto" else to_frames(config.length, rate, "windows.length")
    if length > longest:
        raise SettingError(
            f"windows.length is {length} frames, but the longest unbroken stretch of "
            f"{_named(signals)} has {longest}; choose a shorter window (--window)"
        )
    step = max(1, length // 4) if config.step == "auto" else to_frames(config.step, rate, "windows.step")
    return length, step


def suggest_window(signals: Sequence[Signal]) -> int:
    """Frames of the suggested window."""
    rate = signals[0].rate
    longest = max(stop - start for signal in signals for start, stop in signal.spans)
    frames = 0 if rate is None else round(_SECONDS * rate)
    if frames < _FEWEST_FRAMES:
        frames = max(_FEWEST_FRAMES, round(typical_period(signals)))
    return max(1, min(frames, longest // _FEWEST_WINDOW_LENGTHS))


def typical_period(signals: Sequence[Signal]) -> float:
    """Power-weighted geometric mean period in frames, over all channels of the longest span.

    >>> wave = np.sin(2 * np.pi * np.arange(4096) / 64)[:, None].astype(np.float32)
    >>> round(typical_period([Signal("s", wave, None, ("x",), ((0, 4096),), 4096)]))
    64
    """
    from scipy.signal import welch  # slow to import, and only needed where no window was given

    signal, (start, stop) = max(
        ((signal, span) for signal in signals for span in signal.spans),
        key=lambda pair: pair[1][1] - pair[1][0],
    )
    values = signal.values[start : min(stop, start + (1 << 18))]
    if values.shape[0] < 8:
        return float(values.shape[0])
    frequency, power = welch(values, axis=0, nperseg=min(1024, values.shape[0] // 2))
    weight = power.sum(axis=1)[1:]
    if weight.sum() <= 0:
        return float(_FEWEST_FRAMES)
    return float(np.exp(-(weight * np.log(frequency[1:])).sum() / weight.sum()))


def _named(signals: Sequence[Signal]) -> str:
    return f"recording '{signals[0].id}'" if len(signals) == 1 else f"the {len(signals)} recordings"
