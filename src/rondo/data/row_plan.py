"""RowPlan: what only a whole recording can tell about its rows, before any of them becomes a frame.

A recording is looked at first; a stream takes the spacing of slow sensors from the recordings that the model was fitted
on, and finds out on the way whether its rows can stand for frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rondo.config.schema import PreprocessConfig, to_frames
from rondo.data.frame_grid import FrameFit
from rondo.data.gaps import Flags, Floats
from rondo.data.recording import Recording, Values
from rondo.data.relations import ChannelRelations
from rondo.errors import RecordingError

GAP_SECONDS, GAP_FRAMES = 0.5, 25  # what max_gap = "auto" means with and without a known rate
BLOCK = 1 << 13  # rows per block where a temporary as large as the recording would hurt
_FEWEST_SLOW_VALUES = 8  # of a sensor slower than the others, before its silence is taken for its rate
_MOST_FRAMES_PER_ROW = 20  # rows so sparse that a regular grid would be nearly all interpolation are refused


@dataclass(frozen=True)
class RowPlan:
    """What only a whole recording can tell about its rows."""

    rate: float | None
    max_gap: int  # frames
    spacing: tuple[int, ...]  # frames from one value of each channel to the next where it is a slow sensor, else 0
    rows_are_frames: bool | None = None  # None: the rows to come will show
    relations: ChannelRelations | None = None  # by which dropouts of channels are filled; None: they are boundaries
    channels: tuple[str, ...] = ()  # names, to tell

    @classmethod
    def of(cls, recording: Recording, values: Values, is_holed: Flags, config: PreprocessConfig) -> RowPlan:
        """Of a recording of which these values are used; `is_holed`: which channels miss some."""
        max_gap = max_gap_frames(recording.rate, config)
        clock, begins = _clock_of(recording, max_gap)
        spacing = [
            usual_spacing(values[:, c], clock, max_gap) if holed else 0 for c, holed in enumerate(is_holed.tolist())
        ]
        rows_are_frames = recording.timestamps_s is None or _rows_are_frames(clock, begins)
        if not rows_are_frames:
            _refuse_sparse(recording, clock, begins)
        relations = ChannelRelations.of(values) if config.dropouts == "fill" and is_holed.any() else None
        return cls(recording.rate, max_gap, tuple(spacing), rows_are_frames, relations)


def jumps(clock: Floats, max_gap: int) -> Flags:
    """Whether more than `max_gap` frames are left out before each row but the first."""
    return np.asarray(np.rint(clock[1:] - clock[:-1]) - 1 > max_gap)


def max_gap_frames(rate: float | None, config: PreprocessConfig) -> int:
    """The longest gap that is bridged."""
    if config.max_gap != "auto":
        return to_frames(config.max_gap, rate, "preprocess.max_gap")
    return GAP_FRAMES if rate is None else max(1, round(GAP_SECONDS * rate))


def _clock_of(recording: Recording, max_gap: int) -> tuple[Floats, Flags]:
    """Where rows lie on the frame axis, and whether each begins a piece: as `Preparation` will find them."""
    begins = np.zeros(recording.n_frames, np.bool_)
    begins[0] = True
    times, rate = recording.timestamps_s, recording.rate
    if times is None or rate is None:  # a single row may have a timestamp and no rate
        return np.arange(recording.n_frames, dtype=np.float64), begins
    clock = (times - times[0]) * rate
    begins[1:] = jumps(clock, max_gap)
    return clock, begins


def _rows_are_frames(clock: Floats, begins: Flags) -> bool:
    fit = FrameFit()
    for start in range(0, clock.size, BLOCK):
        own = slice(start, start + BLOCK)
        fit = fit.after(clock[own], begins[own], start, float(clock[start - 1]) if start else None)
        if not fit.holds:
            return False
    return True


def _refuse_sparse(recording: Recording, clock: Floats, begins: Flags) -> None:
    """A regular grid that would be nearly all interpolation is refused before memory runs out."""
    starts = np.flatnonzero(begins)
    lasts = np.append(starts[1:], clock.size) - 1
    n_frames = int((np.rint(clock[lasts] - clock[starts]) + 1).sum())
    if n_frames > _MOST_FRAMES_PER_ROW * clock.size:
        raise RecordingError(
            f"recording '{recording.id}': its {clock.size} rows are too sparse in time for {recording.rate:g} Hz, "
            f"which would need {n_frames} frames; give the true rate (--rate) or lower preprocess.max_gap"
        )


def usual_spacing(column: Values, clock: Floats, max_gap: int) -> int:
    """Frames from one value of a slow sensor to its next, as of a heart rate each second; 0 where it is not slow.

    Slow is what has values so regularly, and so far apart, that all between them would be a gap.
    """
    known = clock[~np.isnan(column)]
    if known.size < _FEWEST_SLOW_VALUES:
        return 0
    steps = np.diff(known)
    usual = float(np.median(steps))
    is_slow = usual > max_gap + 1 and np.quantile(steps, 0.9) < 1.5 * usual
    return round(usual) if is_slow else 0


def joint_spacing(spacings: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Of several recordings: a channel that is slow in any of them may be as slow in a stream."""
    return tuple(max(own) for own in zip(*spacings, strict=True))
