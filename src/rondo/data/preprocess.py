"""What is fitted once on a data set before any window is cut: channels, scaling, PCA.

Gaps and irregular time are mended per recording, in `rondo.data.signal`; here its signals are scaled, each by its own
statistics or all by those of the data set, and projected onto axes that all recordings share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rondo.config.schema import PreprocessConfig
from rondo.data.recording import Recording, Values
from rondo.data.resample import resample_signal
from rondo.data.row_plan import BLOCK, RowPlan, joint_spacing, max_gap_frames
from rondo.data.signal import Signal as Signal
from rondo.data.signal import plan_of, refuse_lacking, shortened
from rondo.data.signal import regularise as regularise
from rondo.errors import RecordingError, SettingError
from rondo.wording import counted

_MANY_CHANNELS = 50  # fewer may well exceed the frames of a short example

Vector = NDArray[np.float64]  # one number per channel
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Preprocessor:
    """Everything that was fitted once on a data set; the same for every recording that comes later."""

    config: PreprocessConfig
    channels: tuple[str, ...]
    mean: Vector  # (n_channels,), over all recordings; for streams only when statistics are per recording
    scale: Vector  # (n_channels,), likewise; 0 marks a constant channel
    components: Matrix  # (n_components, n_channels); empty without PCA
    spacing: tuple[int, ...] = ()  # frames between two values of each slow sensor, 0 for others; for streams only

    @classmethod
    def fit(cls, recordings: Sequence[Recording], config: PreprocessConfig) -> Preprocessor:
        """Learn scaling and PCA from recordings that have the same channels, with one signal in memory at a time."""
        channels = _chosen_channels(recordings[0], config)
        n_channels = len(channels)
        recordings = [_fitting(recording, channels, config) for recording in recordings]
        _refuse_shapes(recordings, channels)
        if config.pca_components > n_channels:
            raise SettingError(
                f"preprocess.pca_components = {config.pca_components}, but there are only {n_channels} channels; "
                "choose fewer"
            )
        plans = [plan_of(recording, channels, config) for recording in recordings]
        spacing = joint_spacing([plan.spacing for plan in plans])
        fitted = cls(config, channels, np.zeros(n_channels), np.ones(n_channels), np.zeros((0, n_channels)), spacing)

        def regular() -> Iterator[Signal]:
            return (regularise(own, channels, config, plan) for own, plan in zip(recordings, plans, strict=True))

        if config.scaling != "none":
            of = f"recording '{recordings[0].id}'" if len(recordings) == 1 else f"all {len(recordings)} recordings"
            mean, scale = _mean_and_scale(regular(), n_channels, config, of)
            fitted = replace(fitted, mean=mean, scale=scale)
        if config.pca_components:
            signals = (fitted._scaled(signal) for signal in regular())
            fitted = replace(fitted, components=_principal_axes(signals, n_channels, config.pca_components))
        return fitted

    def apply(self, recording: Recording, rate: float | None = None) -> Signal:
        """The recording as the model sees it, at another rate (Hz) if one is given."""
        fitting = _fitting(recording, self.channels, self.config)
        signal = regularise(fitting, self.channels, self.config)
        signal = self._scaled(signal if rate is None else resample_signal(signal, rate))
        if not self.components.size:
            return signal
        names = tuple(f"pc{i}" for i in range(self.components.shape[0]))
        return replace(signal, values=onto_axes(signal.values, self.components), channels=names)

    def row_plan(self, rate: float | None) -> RowPlan:
        """Of a stream, which nobody can look at as a whole: slow sensors are those of the recordings fitted on."""
        spacing = self.spacing or (0,) * len(self.channels)
        return RowPlan(rate, max_gap_frames(rate, self.config), spacing, None, self.config.missing)

    def seen_by_model(self, values: Values) -> Values:
        """Frames of a stream, scaled by the statistics of the model and projected; an array of its own."""
        is_scaled = self.config.scaling != "none"
        scaled = scaled_by(values, self.mean, self._factor) if is_scaled else values.copy()
        return onto_axes(scaled, self.components) if self.components.size else scaled

    @cached_property
    def _factor(self) -> Vector:
        return _reciprocal(self.scale)

    @property
    def n_dims(self) -> int:
        """Channels of a window as the model sees it."""
        return len(self.components) or len(self.channels)

    def _scaled(self, signal: Signal) -> Signal:
        """By the statistics of the recording or of the data set."""
        if self.config.scaling == "none":
            return signal
        mean, scale = self.mean, self.scale
        if self.config.statistics == "recording":
            mean, scale = _mean_and_scale([signal], len(self.channels), self.config, f"recording '{signal.id}'")
        still = [name for name, width in zip(signal.channels, scale, strict=True) if width == 0]
        notes = (f"constant, so of no use: {shortened(still)}",) if still else ()
        values = scaled_by(signal.values, mean, _reciprocal(scale))
        return replace(signal, values=values, notes=signal.notes + notes)


def _reciprocal(scale: Vector) -> Vector:
    """1 / scale, and 0 of a constant channel."""
    return np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)


def scaled_by(values: Values, mean: Vector, factor: Vector) -> Values:
    """(value - mean) * factor; in float64, as a mean may dwarf its spread."""
    scaled = np.empty(values.shape, np.float32)
    for start in range(0, len(values), BLOCK):
        block = slice(start, start + BLOCK)
        scaled[block] = (values[block] - mean) * factor
    return scaled


def onto_axes(values: Values, components: Matrix) -> Values:
    """Coordinates (n_frames, n_components), summed channel by channel: a matrix product rounds as chunks are long."""
    axes = components.astype(np.float32).astype(np.float64)
    found = np.empty((len(values), len(axes)), np.float32)
    for start in range(0, len(values), BLOCK):
        block = values[start : start + BLOCK].astype(np.float64)
        summed = np.zeros((len(block), len(axes)))
        for c in range(block.shape[1]):
            summed += block[:, c, None] * axes[:, c]
        found[start : start + BLOCK] = summed
    return found


def _refuse_shapes(recordings: Sequence[Recording], channels: Sequence[str]) -> None:
    """One frame holds nothing; an array of (channels, frames) would be computed on for ever, and mean nothing."""
    longest = max(recordings, key=lambda recording: recording.n_frames)
    if longest.n_frames == 1:
        raise RecordingError(f"recording '{longest.id}' has a single frame, in which nothing can recur; record longer")
    if len(channels) > max(_MANY_CHANNELS, longest.n_frames):
        raise RecordingError(
            f"recording '{longest.id}' has {longest.n_frames} frames x {len(channels)} channels; rows are frames and "
            "columns are channels: transpose it, or choose channels (preprocess.channels)"
        )


def _chosen_channels(recording: Recording, config: PreprocessConfig) -> tuple[str, ...]:
    for name in config.channels:
        if name not in recording.channels:
            raise SettingError(
                f"preprocess.channels names '{name}', which recording '{recording.id}' does not have; "
                f"it has {shortened(recording.channels)}"
            )
        if config.channels.count(name) > 1:
            raise SettingError(f"preprocess.channels names '{name}' twice; name each channel once")
    return config.channels or recording.channels


def _fitting(recording: Recording, channels: tuple[str, ...], config: PreprocessConfig) -> Recording:
    """The recording if it has these channels, with a note on those left out.

    Channels go by name. Columns without names go by position, and there must be as many as expected: which of them
    is too many, nobody knows. Where preprocess.channels names columns, they are chosen by name.
    """
    if recording.is_unnamed and not config.channels and set(recording.channels) != set(channels):
        if set(recording.channels) < set(channels):
            refuse_lacking(recording, channels)
        if recording.n_channels != len(channels):
            raise RecordingError(
                f"recording '{recording.id}' has {recording.n_channels} channels without names, expected "
                f"{len(channels)}: {shortened(channels)}; give the same channels, name them, or leave "
                "a column out of every file (--label-column)"
            )
        return _noted(recording, channels, f"channels without names taken by position as {shortened(channels)}")
    refuse_lacking(recording, channels)
    extra = [name for name in recording.channels if name not in channels]
    if not extra or config.channels:
        return recording
    note = f"{counted(len(extra), 'channel')} left out that the model does not know: {shortened(extra)}"
    return _noted(recording, recording.channels, note)


def _noted(recording: Recording, channels: Sequence[str], note: str) -> Recording:
    notes = (*recording.notes, note)
    return Recording(recording.values, recording.rate, channels, recording.id, recording.timestamps_s, notes)


def _mean_and_scale(
    signals: Iterable[Signal], n_channels: int, config: PreprocessConfig, of: str
) -> tuple[Vector, Vector]:
    """Mean and scale of each channel over all usable frames; scale 0 marks a constant channel.

    channel: its standard deviation. global: one scale, the root mean square of those deviations that are not 0.
    """
    mean, covariance = _moments(signals, n_channels, diagonal=True)
    scale = np.sqrt(covariance)
    # A spread of fewer than some ten roundings of float32 cannot be told from a constant.
    scale[scale <= np.maximum(1e-6 * np.abs(mean), np.finfo(np.float32).tiny)] = 0.0
    if not scale.any():
        raise RecordingError(f"{of}: every channel is constant, nothing can recur; check the file and its columns")
    if config.scaling == "global":
        scale = np.where(scale > 0, np.sqrt((scale[scale > 0] ** 2).mean()), 0.0)
    return mean, scale


def _principal_axes(signals: Iterable[Signal], n_channels: int, n_components: int) -> Matrix:
    """Leading eigenvectors of the covariance of all usable frames, signs fixed so that results repeat."""
    _, covariance = _moments(signals, n_channels, diagonal=False)
    axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :n_components].T
    signs = np.sign(axes[np.arange(n_components), np.abs(axes).argmax(axis=1)])
    return np.asarray(axes * signs[:, None])


def _moments(signals: Iterable[Signal], n_channels: int, *, diagonal: bool) -> tuple[Vector, NDArray[np.float64]]:
    """Mean and covariance, or only its diagonal, over the usable frames of all signals.

    Chan's update per block: sums of squares alone would lose a spread of 1 beside a mean of 1e6.
    """
    product = _squares if diagonal else _products
    count, mean = 0, np.zeros(n_channels)
    scatter = np.zeros(n_channels if diagonal else (n_channels, n_channels))
    for block in _usable_blocks(signals):
        n, own = block.shape[0], block.mean(axis=0)
        scatter += product(block - own) + product((own - mean)[None]) * (count * n / (count + n))
        mean += (own - mean) * (n / (count + n))
        count += n
    return mean, scatter / count


def _squares(rows: Matrix) -> Vector:
    return np.asarray((rows**2).sum(axis=0))


def _products(rows: Matrix) -> Matrix:
    return rows.T @ rows


def _usable_blocks(signals: Iterable[Signal]) -> Iterator[NDArray[np.float64]]:
    for signal in signals:
        for first, stop in signal.spans:
            for start in range(first, stop, BLOCK):
                yield signal.values[start : min(start + BLOCK, stop)].astype(np.float64)
