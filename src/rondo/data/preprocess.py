"""Recording -> Signal: gaps and missing values, regular time, scaling, channels, PCA. Nothing happens silently.

A Signal lives on a regular grid of frames and is finite everywhere. What could not be repaired is left out of its
`spans`, the contiguous stretches that windows may use:

- missing values (NaN): runs up to `max_gap` are interpolated in time; longer ones become gaps;
- irregular timestamps and missing rows: values are interpolated linearly onto the grid; jumps longer than `max_gap`
  become boundaries.

Every such step adds a note that commands print and reports show. `Signal.to_rows` brings labels back to the rows of
the file, so that users never meet the inner grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.config import PreprocessConfig, to_frames
from rondo.data.recording import Recording, Values
from rondo.data.windows import Span
from rondo.errors import RecordingError, SettingError

_GAP_SECONDS, _GAP_FRAMES = "0.5s", 25  # what max_gap = "auto" means with and without a known rate
_BLOCK = 1 << 16  # frames per block where a temporary as large as the recording would hurt


@dataclass(frozen=True, eq=False)
class Signal:
    """Finite values (n_frames, n_channels) on a regular grid, and the spans that windows may use."""

    id: str
    values: Values
    rate: float | None
    channels: tuple[str, ...]
    spans: tuple[Span, ...]
    n_rows: int
    frame_of_row: NDArray[np.int64] | None = None  # None: row i of the file is frame i
    notes: tuple[str, ...] = ()

    @property
    def n_frames(self) -> int:
        return int(self.values.shape[0])

    def to_rows(self, per_frame: ArrayLike) -> NDArray[np.generic]:
        """Bring one number per frame back to one per row of the file."""
        track = np.asarray(per_frame)
        return track if self.frame_of_row is None else track[self.frame_of_row]


@dataclass(frozen=True, eq=False)
class Preprocessor:
    """Everything that was fitted once on a data set; the same for every recording that comes later."""

    config: PreprocessConfig
    channels: tuple[str, ...]
    mean: NDArray[np.float64]  # (n_channels,); unused when statistics are per recording
    scale: NDArray[np.float64]  # (n_channels,); 0 marks a constant channel
    components: NDArray[np.float64]  # (n_components, n_channels); empty without PCA

    @classmethod
    def fit(cls, recordings: Sequence[Recording], config: PreprocessConfig) -> Preprocessor:
        """Learn scaling and PCA from recordings that have the same channels."""
        channels = _chosen_channels(recordings[0], config)
        signals = [regularise(recording, channels, config) for recording in recordings]
        mean, scale = _moments(signals, config)
        unscaled = cls(config, channels, mean, scale, np.zeros((0, len(channels))))
        if not config.pca_components:
            return unscaled
        scaled = [unscaled._scaled(signal) for signal in signals]
        return replace(unscaled, components=_principal_axes(scaled, config.pca_components))

    def apply(self, recording: Recording) -> Signal:
        """The recording as the model sees it."""
        signal = self._scaled(regularise(recording, self.channels, self.config))
        if not self.components.size:
            return signal
        values = np.asarray(signal.values @ self.components.T.astype(np.float32), dtype=np.float32)
        names = tuple(f"pc{i}" for i in range(self.components.shape[0]))
        return replace(signal, values=values, channels=names)

    def _scaled(self, signal: Signal) -> Signal:
        own = self.config.statistics == "recording"
        mean, scale = _moments([signal], self.config) if own else (self.mean, self.scale)
        still = [name for name, width in zip(signal.channels, scale, strict=True) if width == 0]
        notes = signal.notes
        if still:
            notes += (f"{len(still)} constant channel(s) carry no information: {_shortened(still)}",)
        factor = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        values = np.subtract(signal.values, mean.astype(np.float32), dtype=np.float32)
        values *= factor.astype(np.float32)
        return replace(signal, values=values, notes=notes)


def regularise(recording: Recording, channels: Sequence[str], config: PreprocessConfig) -> Signal:
    """Choose channels, repair short gaps, turn long ones into boundaries, and lay values on a regular grid."""
    values = _select(recording, channels)
    max_gap = _max_gap_frames(recording, config)
    notes = list(recording.notes)
    values, missing = _repair_missing(values, recording, channels, max_gap, config, notes)
    if recording.timestamps_s is None:
        n_rows = values.shape[0]
        spans = _present_spans(missing, [(0, n_rows)])
        signal = Signal(recording.id, values, recording.rate, tuple(channels), spans, n_rows)
    else:
        signal = _on_grid(values, missing, recording, tuple(channels), max_gap, notes)
    if not signal.spans:
        empty = [name for name, column in zip(channels, values.T, strict=True) if not column.any()]
        about = f"channel(s) {_shortened(empty)} have no values" if empty else "some channel is always missing"
        raise RecordingError(
            f"recording '{recording.id}': no frame has all {len(channels)} channels ({about}); "
            "leave such channels out (preprocess.channels) or raise preprocess.max_gap"
        )
    return replace(signal, notes=tuple(notes))


def _chosen_channels(recording: Recording, config: PreprocessConfig) -> tuple[str, ...]:
    for name in config.channels:
        if name not in recording.channels:
            raise SettingError(
                f"preprocess.channels names '{name}', which recording '{recording.id}' does not have; "
                f"it has {_shortened(recording.channels)}"
            )
    return config.channels or recording.channels


def _select(recording: Recording, channels: Sequence[str]) -> Values:
    if tuple(channels) == recording.channels:
        return recording.values
    lacking = [name for name in channels if name not in recording.channels]
    if lacking:
        raise RecordingError(
            f"recording '{recording.id}' lacks the channel(s) {_shortened(lacking)}; "
            f"expected {_shortened(channels)}, it has {_shortened(recording.channels)}"
        )
    columns = [recording.channels.index(name) for name in channels]
    return np.ascontiguousarray(recording.values[:, columns])


def _max_gap_frames(recording: Recording, config: PreprocessConfig) -> int:
    if config.max_gap != "auto":
        return to_frames(config.max_gap, recording.rate, "preprocess.max_gap")
    if recording.rate is None:
        return _GAP_FRAMES
    return max(1, round(float(_GAP_SECONDS.removesuffix("s")) * recording.rate))


# ---------------------------------------------------------------- missing values


def _repair_missing(
    values: Values,
    recording: Recording,
    channels: Sequence[str],
    max_gap: int,
    config: PreprocessConfig,
    notes: list[str],
) -> tuple[Values, NDArray[np.bool_]]:
    """Interpolate short NaN runs; mark frames where any channel has a long one."""
    missing = np.zeros(values.shape[0], dtype=np.bool_)
    holed = [c for c in range(values.shape[1]) if _has_nan(values, c)]
    if not holed:
        return values, missing
    names = _shortened([channels[c] for c in holed])
    if config.missing == "refuse":
        raise RecordingError(
            f"recording '{recording.id}': missing values in channel(s) {names} and preprocess.missing = 'refuse'; "
            "repair the file or set preprocess.missing = 'interpolate'"
        )
    repaired = values.copy()
    clock = np.arange(values.shape[0]) if recording.timestamps_s is None else recording.timestamps_s
    n_filled = 0
    for c in holed:
        column = repaired[:, c]
        absent = np.isnan(column)
        long = _long_runs(absent, max_gap)
        short = absent & ~long
        if short.any():
            column[short] = np.interp(clock[short], clock[~absent], column[~absent])
        column[long] = 0.0
        missing |= long
        n_filled += int(short.sum())
    if n_filled:
        notes.append(f"{n_filled} missing values interpolated (runs up to {max_gap} frames) in {names}")
    if missing.any():
        notes.append(f"{int(missing.sum())} frames lie in gaps longer than {max_gap} frames: labelled OTHER")
    return repaired, missing


def _has_nan(values: Values, channel: int) -> bool:
    return any(
        bool(np.isnan(values[start : start + _BLOCK, channel]).any()) for start in range(0, values.shape[0], _BLOCK)
    )


def _long_runs(flags: NDArray[np.bool_], longest: int) -> NDArray[np.bool_]:
    """The same flags with runs of up to `longest` cleared."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    kept = np.zeros_like(flags)
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        kept[start:stop] = stop - start > longest
    return kept


def _present_spans(missing: NDArray[np.bool_], pieces: Sequence[Span]) -> tuple[Span, ...]:
    """The stretches of each piece on which nothing is missing."""
    spans: list[Span] = []
    for start, stop in pieces:
        edges = np.flatnonzero(np.diff(~missing[start:stop], prepend=False, append=False)) + start
        spans += [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return tuple(spans)


# ---------------------------------------------------------------- time


def _on_grid(
    values: Values,
    missing: NDArray[np.bool_],
    recording: Recording,
    channels: tuple[str, ...],
    max_gap: int,
    notes: list[str],
) -> Signal:
    """Lay rows with timestamps on a regular grid of frames; jumps longer than `max_gap` frames become boundaries."""
    times, rate = recording.timestamps_s, recording.rate
    assert times is not None  # the caller has looked
    n_rows = values.shape[0]
    rate = rate or 1.0
    steps = np.diff(times) * rate
    breaks = np.flatnonzero(steps > max_gap + 1) + 1
    rows = [(int(a), int(b)) for a, b in zip(np.append(0, breaks), np.append(breaks, n_rows), strict=True)]
    if breaks.size:
        longest = float(np.diff(times).max())
        notes.append(f"{breaks.size} jump(s) in time (longest {longest:.3g} s) are boundaries that no window crosses")
    inner = np.delete(steps, breaks - 1)
    if not inner.size or (inner.min() > 0.5 and inner.max() < 1.5):
        spans = _present_spans(missing, rows)
        return Signal(recording.id, values, recording.rate, channels, spans, n_rows)
    pieces = [_resample(values[a:b], missing[a:b], times[a:b], rate) for a, b in rows]
    offsets = np.concatenate([[0], np.cumsum([piece[0].shape[0] for piece in pieces])])
    frames = [(int(a), int(b)) for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    grid = np.concatenate([piece[0] for piece in pieces])
    absent = np.concatenate([piece[1] for piece in pieces])
    frame_of_row = np.concatenate([piece[2] + at for piece, at in zip(pieces, offsets[:-1], strict=True)])
    notes.append(
        f"irregular timestamps (steps of {inner.min() / rate:.3g} to {inner.max() / rate:.3g} s): "
        f"{n_rows} rows interpolated onto {grid.shape[0]} frames at {rate:g} Hz"
    )
    return Signal(
        recording.id, grid, recording.rate, channels, _present_spans(absent, frames), n_rows, frame_of_row
    )


def _resample(
    values: Values, missing: NDArray[np.bool_], times: NDArray[np.float64], rate: float
) -> tuple[Values, NDArray[np.bool_], NDArray[np.int64]]:
    """Linear interpolation of one unbroken stretch of rows; also the frame of each row."""
    position = (times - times[0]) * rate
    frame_of_row = np.rint(position).astype(np.int64)
    frames = np.arange(frame_of_row[-1] + 1)
    grid = np.empty((frames.size, values.shape[1]), dtype=np.float32)
    for c in range(values.shape[1]):
        grid[:, c] = np.interp(frames, position, values[:, c])
    nearest = np.clip(np.searchsorted(position, frames - 0.5), 0, position.size - 1)
    return grid, missing[nearest], frame_of_row


# ---------------------------------------------------------------- scaling and PCA


def _moments(
    signals: Sequence[Signal], config: PreprocessConfig
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and scale of each channel over the usable frames of all signals, accumulated in blocks."""
    n_channels = signals[0].values.shape[1]
    if config.scaling == "none":
        return np.zeros(n_channels), np.ones(n_channels)
    count, mean, squares = 0, np.zeros(n_channels), np.zeros(n_channels)
    for block in _usable_blocks(signals):
        # Chan's update: exact for recordings whose mean is far from zero, where sums of squares are not.
        n, block_mean = block.shape[0], block.mean(axis=0)
        delta = block_mean - mean
        squares += ((block - block_mean) ** 2).sum(axis=0) + delta**2 * (count * n / (count + n))
        mean += delta * (n / (count + n))
        count += n
    scale = np.sqrt(squares / count)
    scale[scale <= 1e-6 * np.maximum(1.0, np.abs(mean))] = 0.0  # float32 cannot tell such a channel from a constant
    if not scale.any():
        raise RecordingError(
            f"recording '{signals[0].id}': every channel is constant, nothing can recur; check the file and its columns"
        )
    if config.scaling == "global":
        scale = np.where(scale > 0, np.sqrt((scale**2).mean()), 0.0)
    return mean, scale


def _principal_axes(signals: Sequence[Signal], n_components: int) -> NDArray[np.float64]:
    """Leading eigenvectors of the covariance of all usable frames, signs fixed so that results repeat."""
    n_channels = signals[0].values.shape[1]
    if n_components > n_channels:
        raise SettingError(
            f"preprocess.pca_components = {n_components}, but there are only {n_channels} channels; choose fewer"
        )
    scatter = np.zeros((n_channels, n_channels))
    for block in _usable_blocks(signals):
        scatter += block.T @ block  # signals are centred by the scaling that came before
    axes = np.linalg.eigh(scatter)[1][:, ::-1][:, :n_components].T
    signs = np.sign(axes[np.arange(n_components), np.abs(axes).argmax(axis=1)])
    return np.asarray(axes * signs[:, None])


def _usable_blocks(signals: Sequence[Signal]) -> Iterator[NDArray[np.float64]]:
    for signal in signals:
        for first, stop in signal.spans:
            for start in range(first, stop, _BLOCK):
                yield signal.values[start : min(start + _BLOCK, stop)].astype(np.float64)


def _shortened(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
