"""Which window lengths carry structure: how far two views of the same windows agree, over a ladder of lengths.

No labels are needed. At each length the channels are dealt at random into two halves, units are found in each half by
itself (statistics, slow projection, mixture; no motifs, no evidence), and the two label tracks are compared:

    agreement = AMI(first, second) - mean over shifts of AMI(first, second turned by the shift)

What both halves see happened to the whole, so the curve is high where windows fit what happens. Up to three channels
cannot be dealt: there the columns of the representation (statistics and shapes) are. The same deals are used at every
length, so that lengths are compared deal by deal.

A *level* is a maximum inside the curve, smoothed by (1 2 1) / 4, that stands out. On both sides the curve falls by at
least 0.03, and by two standard errors over the deals, before it rises above the maximum; and the agreement there is
at least 0.1, and above that of every shift. A curve that is highest at its end has no level there.

The cost is bounded: at each length at most 1,500 windows and two million values are looked at, in evenly spaced blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rondo.config.settings import PreprocessConfig, SlowUnitsConfig
from rondo.data.labels import Labels
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.data.window_lengths import FEWEST_TELLING_FRAMES, typical_period, typical_periods
from rondo.data.windows import FEW_CHANNELS, Span, WindowGrid, Windows
from rondo.encoders.base import Representations
from rondo.encoders.summary_stats import SummaryStats, SummaryStatsConfig
from rondo.files.inputs import as_recordings, common_rate
from rondo.files.reading import Reading
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_mutual_information
from rondo.units.discover import UnitRules, discover_units, transition_scale
from rondo.units.model import joined_spans
from rondo.units.slow import fit_slow_as_set
from rondo.units.viterbi import decode, typical_step
from rondo.wording import Progress, silent

N_LENGTHS = 13
LEAST_FALL = 0.03  # of a level, to both sides
LEAST_AGREEMENT = 0.1  # at a level; noise that channels share comes to a few hundredths
_ERRORS = 2.0  # standard errors over the deals
_SECONDS = (0.3, 24.0)
_PERIODS = (0.25, 20.0)
_LOWEST_RATE = 10.0  # Hz; below it, lengths are in typical periods
_N_DEALS = 6
_MOST_WINDOWS, _BLOCK_WINDOWS = 1500, 150
_MOST_VALUES = 2_000_000
_FEWEST_LENGTHS, _FEWEST_IN_SPAN = 20, 4  # window lengths in all recordings together, and in the longest stretch
_SHIFTS = np.linspace(0.1, 0.9, 9)  # of the track
_COARSE = 1e-4  # tolerance of the mixture; the default's costs three times as much and moves the curve by a hundredth

Dealt = Literal["channels", "statistics"]


@dataclass(frozen=True)
class Scale:
    """One window length of a scale curve.

    Parameters
    ----------
    length_frames : int
        The window length.
    n_windows : int
        Number of windows examined.
    n_units : float
        Mean number of units found in a half.
    deals : tuple of float
        The agreement under each deal.
    by_chance : float
        The agreement of the shift that agrees best, averaged over the deals.
    """

    length_frames: int
    n_windows: int
    n_units: float
    deals: tuple[float, ...]
    by_chance: float

    @property
    def agreement(self) -> float:
        """The mean agreement over the deals."""
        return float(np.mean(self.deals))


@dataclass(frozen=True)
class ScaleCurve:
    """How far two views of the same windows agree at each window length.

    Parameters
    ----------
    scales : tuple of Scale
        The lengths, shortest first.
    views : "channels" or "statistics"
        What was dealt into the two views.
    levels : tuple of int
        The lengths (frames) that are levels.
    """

    scales: tuple[Scale, ...]
    views: Dealt
    levels: tuple[int, ...]

    @property
    def rises_at_end(self) -> bool:
        """Whether the longest window agrees best, beyond chance: a level may lie beyond it."""
        curve = _smoothed(_table(self.scales)).mean(axis=1) if self.scales else np.zeros(1)
        return curve.size > 1 and int(curve.argmax()) == curve.size - 1 and _is_more_than_chance(self.scales[-1])


def scale_curve(
    recordings: Any, *, rate: float | None = None, seed: int = 0, progress: Progress | None = None
) -> ScaleCurve:
    """Measure which window lengths carry structure; several recordings are examined together.

    Parameters
    ----------
    recordings : path, folder, array, table, Recording, or a list of them
        The recordings, as in `rondo.discover`.
    rate : float or None
        Frames per second, for input without a clock.
    seed : int
        Seed of the random deals.
    progress : callable or None
        Called as progress(what, done, total).

    Returns
    -------
    ScaleCurve
        The agreement at each length, and the lengths that are levels; empty if the recordings are too short.

    Raises
    ------
    RecordingError
        If a recording cannot be used, or their rates or channels differ.

    Examples
    --------
    >>> noise = np.random.default_rng(0).standard_normal((800, 4))
    >>> curve = scale_curve(noise, rate=50.0)
    >>> [scale.length_frames for scale in curve.scales], curve.levels
    ([15, 22, 31], ())
    """
    given = as_recordings(recordings, Reading(rate))
    common_rate(given)
    preprocessor = Preprocessor.fit(given, PreprocessConfig())
    return curve_of_signals([preprocessor.apply(one) for one in given], seed, progress or silent)


def curve_of_signals(signals: Sequence[Signal], seed: int = 0, progress: Progress = silent) -> ScaleCurve:
    """The curve of signals that have the same channels and rate."""
    lengths = ladder(signals)
    views: Dealt = "channels" if signals[0].values.shape[1] > FEW_CHANNELS else "statistics"
    scales = []
    for number, length in enumerate(lengths):
        progress("levels", number, len(lengths))
        scales.append(_scale(signals, length, views, seed))
    progress("levels", len(lengths), len(lengths))
    return ScaleCurve(tuple(scales), views, levels_of(scales))


def ladder(signals: Sequence[Signal]) -> list[int]:
    """Window lengths in frames: 0.3 to 24 s; without a usable rate, a quarter to 20 typical periods.

    Few channels without a usable rate have windows of 20 periods, and a ladder around these. A length fits at least 20
    times into all recordings together, and 4 times into the longest stretch.
    """
    rate, spans = signals[0].rate, [stop - start for signal in signals for start, stop in signal.spans]
    affordable = _MOST_VALUES // signals[0].values.shape[1]
    longest = min(max(spans) // _FEWEST_IN_SPAN, min(sum(spans), affordable) // _FEWEST_LENGTHS)
    if rate is not None and rate >= _LOWEST_RATE:
        low, high = (seconds * rate for seconds in _SECONDS)
    else:
        typical = typical_periods(signals) * typical_period(signals)
        low, high = (share * typical for share in _PERIODS)
    steps = np.geomspace(max(low, FEWEST_TELLING_FRAMES), max(high, FEWEST_TELLING_FRAMES), N_LENGTHS)
    return sorted({round(length) for length in steps.tolist() if round(length) <= longest})


def levels_of(scales: Sequence[Scale]) -> tuple[int, ...]:
    """The lengths that are levels; the curve has to fall clearly on both sides of each."""
    if len(scales) < 3:
        return ()
    table = _smoothed(_table(scales))
    curve = table.mean(axis=1)
    found = []
    for place in range(1, len(scales) - 1):
        sides = (range(place - 1, -1, -1), range(place + 1, len(scales)))
        if _is_more_than_chance(scales[place]) and all(_falls(table, curve, place, side) for side in sides):
            found.append(scales[place].length_frames)
    return tuple(found)


def _is_more_than_chance(scale: Scale) -> bool:
    return scale.agreement > max(LEAST_AGREEMENT, scale.by_chance)


def _falls(table: NDArray[np.float64], curve: NDArray[np.float64], place: int, side: range) -> bool:
    """Whether the curve falls clearly on this side before it is as high as at `place` again."""
    for other in side:
        if curve[other] >= curve[place]:
            return False
        fall = table[place] - table[other]
        error = fall.std(ddof=1) / np.sqrt(fall.size)
        if fall.mean() >= max(LEAST_FALL, _ERRORS * error):
            return True
    return False


def _table(scales: Sequence[Scale]) -> NDArray[np.float64]:
    return np.array([scale.deals for scale in scales])  # (n_lengths, n_deals)


def _smoothed(table: NDArray[np.float64]) -> NDArray[np.float64]:
    padded = np.concatenate([table[:1], table, table[-1:]])
    return np.asarray((padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4)


# ---------------------------------------------------------------- one length


def _scale(signals: Sequence[Signal], length: int, views: Dealt, seed: int) -> Scale:
    windows = _sample(signals, length)
    rng = np.random.default_rng(seed)  # the same deals at every length
    deals, by_chance, n_units = [], [], []
    whole = _encoded(windows, views) if views == "statistics" else None
    for _ in range(_N_DEALS):
        if whole is None:
            halves = _halves(windows[0].n_channels, rng)
            pair = [_encoded([Windows(w.values[:, half], w.grid) for w in windows], views) for half in halves]
        else:
            pair = [whole[:, half] for half in _halves(whole.shape[1], rng)]
        one, other = (_units(own, windows, whole is not None, rng.spawn(1)[0]) for own in pair)
        own, chance = _agreement(one, other)
        deals.append(own)
        by_chance.append(chance)
        n_units += [np.unique(one).size, np.unique(other).size]
    return Scale(length, sum(map(len, windows)), float(np.mean(n_units)), tuple(deals), float(np.mean(by_chance)))


def _halves(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = rng.permutation(n)
    return np.sort(order[: n // 2]), np.sort(order[n // 2 :])


def _encoded(windows: Sequence[Windows], views: Dealt) -> Representations:
    """Statistics; shapes, which cost ten times as much, only where there is nothing else to deal."""
    config = SummaryStatsConfig() if views == "statistics" else SummaryStatsConfig(shape_channels=0)
    return SummaryStats(config).fit_encode(windows)


def _units(
    representations: Representations, windows: Sequence[Windows], few_channels: bool, rng: np.random.Generator
) -> Labels:
    """The unit of every window, by the default unit stage up to its vocabulary."""
    config, grid = SlowUnitsConfig(), windows[0].grid
    spans, share = joined_spans([w.grid.window_spans for w in windows]), grid.step_frames / grid.length_frames
    projection = fit_slow_as_set(representations, spans, config, share, few_channels=few_channels)
    latents = projection.apply(representations)
    penalty = transition_scale(config, few_channels=few_channels) * typical_step(latents, spans)
    rules = UnitRules(penalty, config.persistence / share, share)
    mixture = config.mixture.model_copy(update={"tolerance": _COARSE})
    vocabulary = discover_units(latents, latents, spans, rules, mixture, rng, "cpu")
    return decode(latents, spans, vocabulary, penalty).ids


def _agreement(one: Labels, other: Labels) -> tuple[float, float]:
    """AMI of two tracks beyond the mean of tracks turned against each other; and that of the best of these."""
    turned = [np.roll(other, round(share * other.size)) for share in _SHIFTS]
    own, *chance = (adjusted_mutual_information(Overlap.of(one, track)) for track in (other, *turned))
    return float(own - np.mean(chance)), float(max(chance) - np.mean(chance))


def _sample(signals: Sequence[Signal], length: int) -> list[Windows]:
    """The windows of this length, or those of evenly spaced blocks where there are too many."""
    step = max(1, length // 4)
    most = min(length + (_BLOCK_WINDOWS - 1) * step, _MOST_VALUES // (2 * signals[0].values.shape[1]))  # of a block
    blocks = [(i, block) for i, signal in enumerate(signals) for span in signal.spans for block in _cut(span, most)]
    counts = [(stop - start - length) // step + 1 for _, (start, stop) in blocks if stop - start >= length]
    blocks = [block for block in blocks if block[1][1] - block[1][0] >= length]
    n_windows = min(_MOST_WINDOWS, _MOST_VALUES // (step * signals[0].values.shape[1]))
    n_taken = min(len(blocks), max(1, round(n_windows / float(np.mean(counts)))))
    taken = [blocks[place] for place in np.linspace(0, len(blocks) - 1, n_taken).round().astype(int).tolist()]
    return [Windows(signals[i].values[a:b], WindowGrid(length, step, b - a, ((0, b - a),))) for i, (a, b) in taken]


def _cut(span: Span, most: int) -> list[Span]:
    """Blocks of at most so many frames, as even as can be."""
    start, stop = span
    edges = np.linspace(start, stop, max(1, -(-(stop - start) // most)) + 1).astype(int).tolist()
    return list(pairwise(edges))
