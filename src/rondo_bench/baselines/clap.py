"""CLaP: segments between change points are one state where a classifier cannot tell them apart.

A. Ermshaus, P. Schäfer, U. Leser, "CLaP - State Detection from Time Series", PVLDB 19(1), 2025. Own code after the
authors' code (github.com/ermshaua/classification-label-profile and claspy 0.2.8, both BSD-3), whose constants stand in
the settings below; change points are those of ClaSP (`clasp`), as in the RONDO paper. What differs, and why:

- The kernels of ROCKET are other draws from the same distributions: on MoCap all change points are equal to those of
  claspy, and so are all states but one each in two of nine recordings.
- Features are computed once, not once per fold: the kernels do not depend on the fold.
- Gaps are closed up: the method knows one unbroken series. Frames in gaps are OTHER; channels that stand still
  throughout are left out.
- `downsample`: time grows with the square of the frames (`estimated_seconds`), so that a long recording is only
  practical with means of a few frames each.

A. Dempster, F. Petitjean, G. I. Webb, "ROCKET: exceptionally fast and accurate time series classification using random
convolutional kernels", DMKD 2020. Constants and the draw for several channels are those of the library aeon, which CLaP
uses. A kernel has 7, 9 or 11 taps per channel, drawn from N(0, 1) and centred; 2^U(0, log2(C + 1)) of the C channels
(no more than it has taps); a bias from U(-1, 1); a dilation of 2^U(0, log2((L - 1) / (taps - 1))) frames; and padding
with zeros that keeps the length, or none. Its features are the largest output and the share of outputs above 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from pydantic import Field

from rondo.data.labels import OTHER, Labels
from rondo.data.signal import Signal
from rondo.errors import RecordingError, RondoWarning
from rondo.wording import Progress, estimate_in_words, silent
from rondo_bench.baselines.baseline import BaselineMethod, BaselineSettings
from rondo_bench.baselines.clasp import SHORTEST_WINDOW, Series, change_points, suss

_LONG_S = 600.0
_N_FOLDS = 5  # released code
_ROUNDING = 1e-12  # of gains; equal ones merge, as in the released code
_PENALTIES = np.logspace(-3, 3, 10)  # of the ridge, aeon's

Ids = NDArray[np.int64]


class CLaPConfig(BaselineSettings):
    """Settings of CLaP; `original` is the released code, which the RONDO paper runs unchanged."""

    window: Annotated[int, Field(ge=6)] | Literal["suss"] = Field(
        "suss", description="paper: SuSS chooses a number of frames (once downsampled); change points use half"
    )
    significance: Annotated[float, Field(ge=0, le=1)] | Literal["auto"] = Field(
        "auto", description="original: p of a change point at most 1e-15, 1e-30 for several channels"
    )
    n_kernels: int = Field(10_000, description="original: ROCKET of aeon", ge=1)
    samples_per_segment: int = Field(1000, description="original: sample_size", ge=2)
    random_state: int = Field(2357, description="original: random_state", ge=0, lt=2**32)
    downsample: int = Field(1, description="ours: off; means of so many frames, for long recordings", ge=1)


@dataclass(frozen=True)
class CLaP:
    config: CLaPConfig = field(default_factory=CLaPConfig)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        """One state for each frame; nothing is drawn from `rng`, the released code fixes its own state."""
        config = self.config
        seen = np.concatenate([np.arange(start, stop) for start, stop in signal.spans])
        series = _varying(signal, seen)
        needed = (2 * SHORTEST_WINDOW if config.window == "suss" else config.window) * config.downsample
        if len(seen) < needed:
            raise RecordingError(
                f"recording '{signal.id}': clap needs at least {needed} frames, one of its shortest windows"
                f"{' after downsampling' if config.downsample > 1 else ''}, but there are {len(seen)}"
            )
        warn_long(signal.id, len(seen), series.shape[1], config)
        thinned = block_means(series, config.downsample)
        lengths = [suss(channel) if config.window == "suss" else config.window for channel in thinned.T]
        p_most = None if config.significance == "auto" else config.significance
        changes = change_points(thinned, max(3, min(lengths) // 2), config.random_state, p_most, progress)
        states = states_of_segments(thinned, changes, int(np.mean(lengths)), config, progress)
        per_block = np.repeat(states, np.diff([0, *changes, len(thinned)]))
        labels = np.full(signal.n_frames, OTHER, dtype=np.int32)
        labels[seen] = np.repeat(per_block, config.downsample)[: len(seen)]
        return labels


def estimated_seconds(n_frames: int, n_channels: int, config: CLaPConfig) -> float:
    """Seconds on one core: change points take T² C, their classification about T.

    Of MoCap, 10,617 frames of 4 channels took 8.5 s (10 segments); of ActRecTut, 30,880 of 8 took 44 s (one segment).
    """
    thinned = n_frames / config.downsample
    return 1 + 1.2e-8 * thinned**2 * n_channels + 2e-4 * thinned


def warn_long(recording_id: str, n_frames: int, n_channels: int, config: CLaPConfig) -> None:
    """Say what would help before a run of more than ten minutes."""
    seconds, factor = estimated_seconds(n_frames, n_channels, config), 4 * config.downsample
    if seconds > _LONG_S:
        quicker = estimated_seconds(n_frames, n_channels, config.model_copy(update={"downsample": factor}))
        warnings.warn(
            f"recording '{recording_id}': clap will take about {estimate_in_words(seconds)} for {n_frames:,} frames, "
            f"since its time grows with their square; with downsample = {factor} about {estimate_in_words(quicker)}",
            RondoWarning,
            stacklevel=2,
        )


def block_means(series: Series, factor: int) -> Series:
    """The mean of each `factor` frames; the last block may be shorter."""
    starts = np.arange(0, len(series), factor)
    sizes = np.diff(starts, append=len(series))
    return np.asarray(np.add.reduceat(series, starts) / sizes[:, None])


def states_of_segments(
    series: Series, changes: list[int], length: int, config: CLaPConfig, progress: Progress = silent
) -> Ids:
    """A state for each segment between change points, by windows of this length."""
    n_segments = len(changes) + 1
    if n_segments == 1:
        return np.zeros(1, dtype=np.int64)
    starts, segments = samples(len(series), changes, length, config)
    if not starts.size:  # longer than the series
        return np.arange(n_segments)
    windows = sliding_window_view(series, length, axis=0)[starts].astype(np.float32)
    guesses = out_of_fold(windows, segments, config, progress)
    confusion = np.zeros((n_segments, n_segments), dtype=np.int64)
    np.add.at(confusion, (segments, guesses), 1)
    states, known = np.arange(n_segments) + n_segments, np.unique(segments)  # a segment without windows stays alone
    states[known] = merged(confusion[np.ix_(known, known)])
    return states


def samples(n_frames: int, changes: list[int], length: int, config: CLaPConfig) -> tuple[Ids, Ids]:
    """Starts of the windows to classify, in random order, and the segment that each starts in.

    RocketWindows half a length apart; those of which more than half lies in the next segment are left out.
    """
    starts = np.arange(0, n_frames - length + 1, max(1, length // 2))
    segments = np.searchsorted(changes, starts, side="right")
    until = np.array([*changes, n_frames + length])[segments] - starts
    starts, segments = (each[until >= length // 2] for each in (starts, segments))
    drawn = np.random.RandomState(config.random_state)  # the released code's generator
    chosen = []
    for segment in np.unique(segments):
        members = np.flatnonzero(segments == segment)
        few = members.size <= config.samples_per_segment
        chosen.append(members if few else drawn.choice(members, config.samples_per_segment, replace=False))
    order = np.concatenate([*chosen, np.zeros(0, dtype=np.int64)])
    order = order[drawn.choice(order.size, order.size, replace=False)]
    return starts[order], segments[order]


def out_of_fold(windows: RocketWindows, segments: Ids, config: CLaPConfig, progress: Progress = silent) -> Ids:
    """The segment that each window seems to be of, by ROCKET and a ridge classifier that have not seen it."""
    from sklearn.linear_model import RidgeClassifierCV  # slow to import
    from sklearn.model_selection import KFold

    n_folds = min(len(windows), _N_FOLDS)
    if n_folds < 2:
        return segments.copy()
    total = config.n_kernels + n_folds
    _, n_channels, length = windows.shape
    kernels = draw_kernels(config.n_kernels, n_channels, length, np.random.RandomState(config.random_state))
    found = features(windows, kernels, lambda done: progress("states", done, total))
    guesses = np.empty_like(segments)
    folds = KFold(n_folds, shuffle=True, random_state=config.random_state).split(found)
    for done, (learned, asked) in enumerate(folds, start=1):
        if np.unique(segments[learned]).size == 1:
            guesses[asked] = segments[learned][0]
        else:
            deviation = found[learned].std(axis=0)
            scale = np.where(deviation > 0, deviation, 1)
            ridge = RidgeClassifierCV(alphas=_PENALTIES).fit(found[learned] / scale, segments[learned])
            guesses[asked] = ridge.predict(found[asked] / scale)
        progress("states", config.n_kernels + done, total)
    return guesses


def merged(confusion: Ids) -> Ids:
    """A state for each segment: those most confused are merged, while the classification gain does not fall.

    `confusion` counts windows by (segment, guess). Nothing is classified again: merging adds rows and columns.
    """
    counts = confusion.astype(np.float64)
    groups = [{segment} for segment in range(len(counts))]
    refused: set[frozenset[int]] = set()
    while len(groups) > 1:
        for a, b in _most_confused(counts):
            together = frozenset(groups[a] | groups[b])
            if together in refused:
                continue
            smaller = _added(counts, a, b)
            if classification_gain(smaller) >= classification_gain(counts) - _ROUNDING:
                counts = smaller
                groups[max(a, b)] = groups[a] | groups[b]  # in the place of the later one, as in claspy
                del groups[min(a, b)]
                break
            refused.add(together)
        else:
            break
    states = np.empty(len(confusion), dtype=np.int64)
    for state, group in enumerate(groups):
        states[list(group)] = state
    return states


def _most_confused(counts: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Each label with that for which it is mistaken most, in order of falling rate."""
    others = counts.copy()
    np.fill_diagonal(others, 0)
    rate = others.max(axis=1) / np.maximum(counts.sum(axis=1), 1)
    most = others.argmax(axis=1).tolist()
    return [(a, most[a]) for a in rate.argsort()[::-1].tolist() if most[a] != a]


def _added(counts: NDArray[np.float64], a: int, b: int) -> NDArray[np.float64]:
    kept, gone = max(a, b), min(a, b)
    summed = counts.copy()
    summed[kept] += summed[gone]
    summed[:, kept] += summed[:, gone]
    return np.delete(np.delete(summed, gone, axis=0), gone, axis=1)


def classification_gain(counts: NDArray[np.float64]) -> float:
    """Macro F1 less that of guesses with the frequencies of the labels.

    Precision and recall of such guesses are the frequency p of a label, and so is their F1; the mean of p over n labels
    is 1 / n.
    """
    f1 = 2 * counts.diagonal() / np.maximum(counts.sum(axis=0) + counts.sum(axis=1), 1)
    return float(f1.mean() - 1 / len(counts))


def _varying(signal: Signal, seen: Ids) -> Series:
    """The frames that windows may use, closed up, without the channels that never change in them.

    Channels are standardised, also those of a PCA and those left as they are: what counts as still depends on it.
    """
    series = signal.values[seen].astype(np.float64)
    varies = np.ptp(series, axis=0) > 1e-6 * np.abs(series).max(axis=0)
    if not varies.any():
        raise RecordingError(
            f"recording '{signal.id}': all values are the same, nothing can recur; check the file and its columns"
        )
    series = series[:, varies] - series[:, varies].mean(axis=0)
    return np.asarray(series / series.std(axis=0))


TAPS = (7, 9, 11)
_STILL = 1e-8  # a channel of a window with a smaller deviation is constant
_BLOCK = 1 << 22  # numbers in memory at a time, of patches and of outputs

RocketWindows = NDArray[np.float32]  # (n_windows, n_channels, length)


@dataclass(frozen=True, eq=False)
class Kernels:
    """Kernels that differ in weights and bias only."""

    weights: NDArray[np.float32]  # (n_kernels, n_channels, n_taps), 0 in the channels that a kernel does not read
    biases: NDArray[np.float32]  # (n_kernels,)
    dilation: int
    padding: int

    @property
    def reach(self) -> int:
        """From the first tap to the last, in frames."""
        return int(self.weights.shape[2] - 1) * self.dilation


def draw_kernels(n_kernels: int, n_channels: int, length: int, rng: np.random.RandomState) -> list[Kernels]:
    n_taps = np.minimum(rng.choice(TAPS, n_kernels), length)
    most = [(length - 1) / (taps - 1) if 1 < taps < length else 1.0 for taps in n_taps.tolist()]
    dilations = np.array([int(2 ** rng.uniform(0, np.log2(each))) if each > 1 else 1 for each in most])
    paddings = np.where(rng.randint(2, size=n_kernels) == 1, (n_taps - 1) * dilations // 2, 0)
    kinds, kind_of = np.unique(np.stack([n_taps, dilations, paddings]), axis=1, return_inverse=True)
    kernels = []
    for kind, (taps, dilation, padding) in enumerate(kinds.T.tolist()):
        count = int((kind_of.ravel() == kind).sum())
        weights = rng.standard_normal((count, n_channels, taps))
        weights -= weights.mean(axis=2, keepdims=True)
        n_read = (2 ** rng.uniform(0, np.log2(min(n_channels, taps) + 1), count)).astype(np.int64)
        rank = rng.uniform(size=(count, n_channels)).argsort(axis=1).argsort(axis=1)
        weights *= (rank < n_read[:, None])[:, :, None]
        biases = rng.uniform(-1, 1, count)
        kernels.append(Kernels(weights.astype(np.float32), biases.astype(np.float32), dilation, padding))
    return kernels


def features(
    windows: RocketWindows, kernels: list[Kernels], told: Callable[[int], None] = lambda done: None
) -> NDArray[np.float32]:
    """Two numbers for each window and kernel, (n_windows, 2 n_kernels); every window is standardised first."""
    values = standardised(windows)
    found = np.empty((len(values), 2 * sum(len(kind.biases) for kind in kernels)), dtype=np.float32)
    column = 0
    for kind in kernels:
        n_kernels = len(kind.biases)
        for rows, outputs in _outputs(values, kind):
            found[rows, column : column + n_kernels] = outputs.max(axis=1)
            found[rows, column + n_kernels : column + 2 * n_kernels] = (outputs > 0).mean(axis=1, dtype=np.float32)
        column += 2 * n_kernels
        told(column // 2)
    return found


def standardised(windows: RocketWindows) -> RocketWindows:
    """Each channel of each window with mean 0 and deviation 1; 0 where it stands still."""
    centred = windows - windows.mean(axis=2, keepdims=True, dtype=np.float64)
    deviation = centred.std(axis=2, keepdims=True)
    moving = np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > _STILL)
    return np.asarray(moving, dtype=np.float32)


def _outputs(values: RocketWindows, kind: Kernels) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """What the kernels make of some windows at a time: (n_windows, n_positions, n_kernels)."""
    n_windows, n_channels, length = values.shape
    n_kernels, _, n_taps = kind.weights.shape
    n_positions = length + 2 * kind.padding - kind.reach
    matrix = kind.weights.reshape(n_kernels, n_channels * n_taps).T
    at_once = max(1, _BLOCK // (n_positions * max(n_kernels, n_channels * n_taps)))
    taps = np.arange(n_positions)[:, None] + np.arange(n_taps) * kind.dilation
    for first in range(0, n_windows, at_once):
        rows = slice(first, min(first + at_once, n_windows))
        padded = np.pad(values[rows], ((0, 0), (0, 0), (kind.padding, kind.padding)))
        patches = padded[:, :, taps].transpose(0, 2, 1, 3).reshape(-1, n_channels * n_taps)
        outputs = patches @ matrix
        outputs += kind.biases
        yield rows, outputs.reshape(-1, n_positions, n_kernels)


METHOD = BaselineMethod("clap", CLaP, "CLaP: change points, then states merged while a classifier confuses them")
