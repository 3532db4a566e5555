"""Another sampling rate: each contiguous stretch is filtered and resampled by itself, so that no gap leaks.

Frame k of a stretch that begins at frame a lies at a + k * old rate / new rate on the old axis. Stretches keep their
place to within half a frame. The filter (scipy's, a Kaiser window) cuts off at half of the lower rate, so that what
the lower rate cannot hold does not come back as something slower.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Ints
from rondo.config.settings import PreprocessConfig
from rondo.data.recording import Recording, Values, checked_rate
from rondo.data.signal import Signal, regularise
from rondo.errors import RecordingError

_MOST_TIMES_FASTER = 20  # beyond it nearly every frame would be interpolated
_MOST_TIMES_SLOWER = 1000  # beyond it hardly a frame is left; ours, not measured
_LARGEST_TERM = 1000  # of the ratio of rates; the filter has 20 taps for each


def resample_recording(recording: Recording, rate: float) -> Recording:
    """The recording at another rate: NaN in gaps too long to interpolate, timestamps where it had them."""
    target = checked_rate(rate)
    if recording.rate is None or target is None:
        raise RecordingError(
            f"recording '{recording.id}' has no sampling rate to resample from; give it one (rate=, --rate HZ)"
        )
    if target == recording.rate:
        return recording
    signal = regularise(recording, recording.channels, PreprocessConfig())
    faster = resample_signal(signal, target)
    values = np.full_like(faster.values, np.nan)
    for start, stop in faster.spans:
        values[start:stop] = faster.values[start:stop]
    if faster.offsets:
        values = values + np.array(faster.offsets)
    times = None if recording.timestamps_s is None else _times(signal, recording.timestamps_s, target)
    return replace(recording, values=values, rate=target, timestamps_s=times, notes=faster.notes)


def resample_signal(signal: Signal, rate: float) -> Signal:
    """The signal at another rate; its `to_rows` still leads to the rows of the file, each to the frame nearest in time.

    Frames of no span, which windows may not use, are 0.
    """
    ratio = _ratio(signal, rate)
    old, new = _edges(signal, ratio)
    start_of = dict(zip(old.tolist(), new.tolist(), strict=True))
    spans = [(span, (start_of[span[0]], start_of[span[1]])) for span in signal.spans]
    spans = [(before, after) for before, after in spans if after[1] > after[0]]
    if not spans:
        raise RecordingError(
            f"recording '{signal.id}': no stretch is long enough for one frame at {rate:g} Hz; give a longer recording"
        )
    values = np.zeros((int(new[-1]), signal.values.shape[1]), dtype=np.float32)
    for (start, stop), (begin, end) in spans:
        values[begin:end] = _stretch(signal.values[start:stop], ratio)[: end - begin]
    frames = np.arange(signal.n_frames) if signal.frame_of_row is None else signal.frame_of_row
    stretch = np.searchsorted(old, frames, side="right") - 1
    first, last = new[stretch], np.maximum(new[stretch], new[stretch + 1] - 1)
    nearest = np.clip(first + _nearest(frames - old[stretch], ratio), first, last)  # within its stretch
    before = signal.rate or rate
    lost = f"; it holds nothing faster than {before / 2:g} Hz" if rate > before else ""
    return replace(
        signal,
        values=values,
        rate=rate,
        spans=tuple(after for _, after in spans),
        poor=(),  # of the old frames; nothing is learned at another rate
        frame_of_row=np.minimum(nearest, new[-1] - 1),
        notes=(*signal.notes, f"resampled from {before:g} to {rate:g} Hz{lost}"),
    )


def _ratio(signal: Signal, rate: float) -> Fraction:
    """New frames per old frame, as a fraction of small numbers; off by at most a thousandth, mostly exact."""
    if signal.rate is None:
        raise RecordingError(f"recording '{signal.id}' has no sampling rate to resample from; give --rate HZ")
    faster = rate / signal.rate
    if not 1 / _MOST_TIMES_SLOWER <= faster <= _MOST_TIMES_FASTER:
        raise RecordingError(
            f"recording '{signal.id}' has {signal.rate:g} Hz, too far from {rate:g} Hz to be resampled; "
            "check both rates (--rate)"
        )
    larger = max(faster, 1 / faster)
    fraction = Fraction(larger).limit_denominator(int(_LARGEST_TERM / larger) or 1)
    return fraction if faster >= 1 else 1 / fraction


def _edges(signal: Signal, ratio: Fraction) -> tuple[Ints, Ints]:
    """Where stretches, usable or not, begin and end, before and after: every edge of a span, and both ends."""
    old = np.unique([0, signal.n_frames, *(edge for span in signal.spans for edge in span)]).astype(np.int64)
    new = _nearest(old, ratio)
    new[-1] = max(1, new[-1])
    return old, new


def _nearest(positions: Ints, ratio: Fraction) -> Ints:
    """floor(position * ratio + 1/2), in whole numbers."""
    up, down = ratio.numerator, ratio.denominator
    return np.asarray((2 * positions * up + down) // (2 * down), dtype=np.int64)


def _stretch(values: Values, ratio: Fraction) -> Values:
    """One stretch (n, n_channels) at the new rate, (ceil(n * ratio), n_channels).

    The line from its first to its last frame is taken off before filtering and put back after: the filter would add a
    ripple of some 0.05 % of the level, which in a constant channel is all there is. What is left is 0 at both ends,
    and continued beyond them by its mirror image, turned upside down.
    """
    from scipy.signal import resample_poly  # slow to import, and only needed on request

    up, down = ratio.numerator, ratio.denominator
    n_old = values.shape[0]
    n_new = -(-n_old * up // down)
    if n_old == 1:
        return np.repeat(values, n_new, axis=0)
    resampled = np.empty((n_new, values.shape[1]), dtype=np.float32)
    for channel in range(values.shape[1]):
        column = values[:, channel].astype(np.float64)
        level, slope = column[0], (column[-1] - column[0]) / (n_old - 1)
        bent = column - (level + slope * np.arange(n_old))
        filtered = resample_poly(bent, up, down, padtype="antireflect")
        resampled[:, channel] = filtered + level + slope * np.arange(n_new) * down / up
    return resampled


def _times(signal: Signal, timestamps_s: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Seconds of each new frame: between those of the old frames beside it, and never into a jump."""
    rows = np.arange(signal.n_frames) if signal.frame_of_row is None else signal.frame_of_row
    known, row = np.unique(rows, return_index=True)
    old_times = np.interp(np.arange(signal.n_frames), known, timestamps_s[row])
    ratio, period_s = _ratio(signal, rate), 1.0 / (signal.rate or rate)
    old, new = _edges(signal, ratio)
    frames = np.arange(new[-1])
    stretch = np.searchsorted(new, frames, side="right") - 1
    position = old[stretch] + (frames - new[stretch]) / float(ratio)
    before = np.minimum(position.astype(np.int64), old[stretch + 1] - 1)
    steps = np.minimum(np.diff(old_times, append=np.inf), period_s)
    return np.asarray(old_times[before] + (position - before) * steps[before], dtype=np.float64)
