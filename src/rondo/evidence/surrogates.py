"""Surrogate streams: what a recording might have been if nothing in it recurred.

A figure that is as high on surrogates as on the recording itself is no finding (Theiler et al. 1992). Both kinds keep
what is easy to have by chance:

- `PhaseRandomiser` keeps the values of every channel, how slow it is (its spectrum) and how channels move together
  (their cross-spectra, Prichard & Theiler 1994): what a linear Gaussian process, seen through a bent scale, would make;
- `LoudnessRandomiser` keeps spectra, and how the loudness of each channel wanders.

Nothing crosses the end of a span, and frames outside of spans stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft
from scipy.ndimage import uniform_filter1d
from scipy.special import ndtri

from rondo.arrays import Floats, Ints
from rondo.data.windows import Span
from rondo.encoders.base import Representations
from rondo.encoders.summary_stats import SummaryStatsConfig

_SILENCE = 1e-12  # power below which a channel is silent
_LEAST_POWER = 1e-6  # of the mean: nothing is divided by less; chosen by hand, not measured
_LARGEST_SEAM = 0.05  # of the power of all steps from frame to frame


@dataclass(frozen=True, eq=False)
class PhaseRandomiser:
    """Draws values (n_frames, n_channels) in new orders that have about the same spectra, span by span.

    Each channel is laid on a normal distribution by its ranks, every frequency is turned by a random phase, the same
    for all channels, X_c(f) <- X_c(f) exp(i phi(f)), and the channel's own values are put back by rank (amplitude
    adjusted, AAFT). Without the adjustment noise with heavy tails would pass for structure. Values are kept exactly;
    spectra nearly, less so in a random walk, whose surrogates are rougher. The iterated variant (IAAFT) was tried: no
    better there, and worse on skewed noise. What does not change from draw to draw is computed once.
    """

    values: NDArray[np.float32]
    spans: tuple[Span, ...]
    sorted: tuple[NDArray[np.float32], ...]  # of each span, (n_channels, n_frames)
    spectra: tuple[NDArray[np.complex64], ...]  # (n_channels, n_frames // 2 + 1)
    ramps: tuple[NDArray[np.float32], ...]  # (n_channels, n_frames)

    @classmethod
    def of(cls, values: NDArray[np.float32], spans: Sequence[Span]) -> PhaseRandomiser:
        """Of the values inside spans; frames outside stay as they are."""
        columns = [np.ascontiguousarray(values[start:stop].T) for start, stop in spans if stop > start]
        bells = [np.stack([_normal_scores(column) for column in own]) for own in columns]
        ramps = [np.stack([_ramp(bell) for bell in own]).astype(np.float32) for own in bells]
        spectra = [rfft((own - ramp).astype(np.float32)) for own, ramp in zip(bells, ramps, strict=True)]
        filled = tuple(span for span in spans if span[1] > span[0])
        return cls(values, filled, tuple(np.sort(own) for own in columns), tuple(spectra), tuple(ramps))

    def draw(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """One surrogate."""
        surrogate = self.values.copy()
        for (start, stop), ordered, spectrum, ramp in zip(
            self.spans, self.sorted, self.spectra, self.ramps, strict=True
        ):
            turns = np.exp(2j * np.pi * rng.random(spectrum.shape[1])).astype(np.complex64)
            turned = irfft(spectrum * turns, stop - start) + ramp
            np.put_along_axis(surrogate[start:stop].T, np.argsort(turned), ordered, axis=1)
        return surrogate


@dataclass(frozen=True, eq=False)
class LoudnessRandomiser:
    """Draws surrogates that also keep how loudness wanders, x(t) = mean + loudness(t) carrier(t).

    Loudness is the root mean square of a channel over `width` frames around t. It and the carrier are phase-randomised
    apart from each other, each with all channels alike. Without this, noise whose loudness wanders passes for
    structure: its quiet stretches are all alike.
    """

    mean: NDArray[np.float32]  # (n_frames, n_channels), that of the span
    loudness: PhaseRandomiser
    carrier: PhaseRandomiser

    @classmethod
    def of(cls, values: NDArray[np.float32], spans: Sequence[Span], width: int) -> LoudnessRandomiser:
        """Of the values inside spans; frames outside stay as they are."""
        mean, loudness, carrier = values.copy(), np.ones_like(values), np.zeros_like(values)
        for start, stop in spans:
            own = values[start:stop].astype(np.float64)
            centre = own.mean(axis=0)
            power = uniform_filter1d(np.square(own - centre), min(width, max(1, stop - start)), axis=0, mode="reflect")
            root = np.sqrt(np.maximum(power, 0) + _SILENCE)
            mean[start:stop], loudness[start:stop], carrier[start:stop] = centre, root, (own - centre) / root
        return cls(mean, PhaseRandomiser.of(loudness, spans), PhaseRandomiser.of(carrier, spans))

    def draw(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """One surrogate."""
        return self.mean + self.loudness.draw(rng) * self.carrier.draw(rng)


def evened(values: NDArray[np.float32], spans: Sequence[Span], width: int) -> NDArray[np.float32]:
    """The values inside spans divided by the loudness that all channels have in common over `width` frames.

    Noise that is loud and quiet in all channels at once comes back to quiet stretches, in a way that no randomiser
    keeps; without its loudness it does not.
    """
    even = values.copy()
    for start, stop in spans:
        own = values[start:stop].astype(np.float64)
        own -= own.mean(axis=0)
        own /= np.maximum(own.std(axis=0), _SILENCE)
        power = uniform_filter1d(np.square(own).mean(axis=1), min(width, max(1, stop - start)), mode="reflect")
        even[start:stop] = own / np.sqrt(np.maximum(power, _LEAST_POWER))[:, None]
    return even


def _normal_scores(column: NDArray[np.float32]) -> NDArray[np.float64]:
    """The quantiles of a normal distribution that have the ranks of the column; equal values stay equal."""
    _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * counts) / column.size
    return np.asarray(ndtri(ranks)[codes])


def _ramp(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """The straight line from the first frame to the last where the signal drifts, else zeros.

    To a Fourier transform the last frame is followed by the first. In a stationary signal that jump drowns among the
    other steps; where it does not, as in a random walk, its power would spread over all frequencies. The line takes it
    out, and the surrogate drifts as the signal did.
    """
    seam, steps = column[-1] - column[0], np.diff(column)
    if column.size < 3 or seam**2 <= _LARGEST_SEAM * float(steps @ steps):
        return np.zeros(column.size)
    return np.asarray(seam * np.linspace(-0.5, 0.5, column.size))


# ----------------------------------------------------------------
# The statistics of all windows of a signal at once, from cumulative sums: for surrogates, of which there are many.
#
# They are those of `encoders/summary_stats.py`, fitted and applied to the same windows, up to rounding. Windows
# overlap, so that every frame is in several of them; sums over windows are differences of two cumulative sums.

_LEAST_VARIATION = 1e-6  # of a statistic, relative to its size
_CONFIG = SummaryStatsConfig()


def window_statistics(values: NDArray[np.float32], starts: Ints, length: int) -> Representations:
    """Balanced, standardised statistics (n_windows, n_dims) of windows that begin at `starts`."""
    wide = np.ascontiguousarray(values.T, dtype=np.float64)  # (n_channels, n_frames)
    wide -= wide.mean(axis=1, keepdims=True)  # sums of squares lose digits far from zero
    mean = _sums(wide, starts, length) / length
    variance = np.maximum(_sums(np.square(wide), starts, length) / length - np.square(mean), 0.0)
    change = _sums(np.abs(np.diff(wide, axis=1)), starts, length - 1) / max(1, length - 1)
    blocks = [mean, np.sqrt(variance), change]
    if len(wide) > 1:
        scale = np.sqrt(variance) + _CONFIG.correlation_floor
        for first in range(len(wide) - 1):
            rest = slice(first + 1, None)
            products = _sums(wide[first] * wide[rest], starts, length) / length
            correlation = (products - mean[first] * mean[rest]) / (scale[first] * scale[rest])
            blocks.append(correlation)
        blocks[3:] = [np.concatenate(blocks[3:])]
    return np.concatenate([_balanced(block) for block in blocks]).T.copy()


def _sums(series: Floats, starts: Ints, length: int) -> Floats:
    """Sums over `length` columns from each start, (n_series, n_windows)."""
    summed = np.zeros((len(series), series.shape[1] + 1))
    np.cumsum(series, axis=1, out=summed[:, 1:])
    return np.asarray(summed[:, starts + length] - summed[:, starts])


def _balanced(block: Floats) -> Representations:
    centre, spread = block.mean(axis=1, keepdims=True), block.std(axis=1, keepdims=True)
    spread[spread <= _LEAST_VARIATION * np.maximum(np.abs(centre), 1.0)] = 0.0
    factor = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    scaled = np.clip((block - centre) * factor, -_CONFIG.clip, _CONFIG.clip)
    return np.asarray(scaled / np.sqrt(max(1, int(np.count_nonzero(factor)))), np.float32)
