"""Recording -> Signal: rows as they came become frames on a regular grid. Nothing happens silently.

A Signal is finite everywhere. What could not be repaired is left out of its `spans`, the contiguous stretches that
windows may use:

- jumps in time that leave out more than `max_gap` frames are boundaries: nothing is carried across them;
- missing values (NaN): runs up to `max_gap` frames are interpolated in time; longer ones become holes, but for a sensor
  that is slower than the others;
- timestamps that do not fit the rate, and missing rows: values are interpolated linearly onto the grid. Timestamps
  that merely jitter, each by less than half a period, leave the values as they are.

Every such step adds a note that commands print and reports show. `Signal.to_rows` brings labels back to the rows of
the file, so that users never meet the inner grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.config.schema import PreprocessConfig, to_frames
from rondo.data.recording import Recording, Values
from rondo.data.windows import Span
from rondo.errors import RecordingError
from rondo.wording import counted, noun

GAP_SECONDS, GAP_FRAMES = 0.5, 25  # what max_gap = "auto" means with and without a known rate
_BLOCK = 1 << 13  # frames per block where a temporary as large as the recording would hurt
_FEWEST_SLOW_VALUES = 8  # of a sensor slower than the others, before its silence is taken for its rate
_MOST_FRAMES_PER_ROW = 20  # rows so sparse that a regular grid would be nearly all interpolation are refused

Flags = NDArray[np.bool_]


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
        """Bring one number per frame back to one per row of the file: that of the frame nearest in time."""
        track = np.asarray(per_frame)
        if track.shape[:1] != (self.n_frames,):
            raise ValueError(f"expected one number for each of {self.n_frames} frames, got {track.shape}")
        return track if self.frame_of_row is None else track[self.frame_of_row]

    @property
    def row_breaks(self) -> NDArray[np.int64]:
        """Rows at which a new contiguous span begins."""
        starts = np.array([start for start, _ in self.spans], dtype=np.int64)
        if self.frame_of_row is not None:
            starts = np.searchsorted(self.frame_of_row, starts).astype(np.int64)
        return starts[(starts > 0) & (starts < self.n_rows)]


def regularise(recording: Recording, channels: Sequence[str], config: PreprocessConfig) -> Signal:
    """Choose channels, repair short gaps, turn long ones into boundaries, and lay values on a regular grid."""
    values = select(recording, channels)
    timing = _timing(recording, config)
    values, missing, notes = _repair_missing(values, timing, recording.id, channels, config)
    if _rows_are_frames(timing):
        spans = _present_spans(missing, timing.pieces)
        signal = Signal(recording.id, values, recording.rate, tuple(channels), spans, recording.n_frames)
    else:
        signal = _on_grid(values, missing, timing, recording, channels)
    if not signal.spans:
        absent = np.isnan(select(recording, channels)).mean(axis=0)
        worst = int(absent.argmax())
        raise RecordingError(
            f"recording '{recording.id}': no frame has all {len(channels)} channels (channel '{channels[worst]}' is "
            f"missing in {absent[worst]:.0%} of rows); leave it out (preprocess.channels) or raise preprocess.max_gap"
        )
    return replace(signal, notes=recording.notes + timing.notes + notes + signal.notes)


def select(recording: Recording, channels: Sequence[str]) -> Values:
    """The values of these channels in this order; not a copy where they are all of them."""
    if tuple(channels) == recording.channels:
        return recording.values
    refuse_lacking(recording, channels)
    return np.take(recording.values, [recording.channels.index(name) for name in channels], axis=1)


def refuse_lacking(recording: Recording, channels: Sequence[str]) -> None:
    """A recording must have the channels that were asked for."""
    lacking = [name for name in channels if name not in recording.channels]
    if lacking:
        raise RecordingError(
            f"recording '{recording.id}' lacks the {noun(len(lacking), 'channel')} {shortened(lacking)}; "
            f"expected {shortened(channels)}, it has {shortened(recording.channels)}; "
            "leave this recording out, or give its columns the same names"
        )


def shortened(names: Sequence[str], most: int = 6) -> str:
    """Names for a message that must stay one line.

    >>> shortened(["x", "y", "z"], most=2)
    "'x', 'y' and 1 more"
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


# ---------------------------------------------------------------- time


@dataclass(frozen=True, eq=False)
class _Timing:
    clock: NDArray[np.float64]  # (n_rows,) where each row lies on the frame axis: 0, 1, 2 … if time is regular
    pieces: tuple[Span, ...]  # spans of rows within which time does not jump
    max_gap: int  # frames
    notes: tuple[str, ...]


def _timing(recording: Recording, config: PreprocessConfig) -> _Timing:
    max_gap = _max_gap_frames(recording, config)
    times, rate = recording.timestamps_s, recording.rate
    if times is None or rate is None:  # a single row may have a timestamp and no rate
        clock = np.arange(recording.n_frames, dtype=np.float64)
        return _Timing(clock, ((0, recording.n_frames),), max_gap, ())
    clock = (times - times[0]) * rate
    steps = np.diff(clock)
    breaks = np.flatnonzero(np.rint(steps) - 1 > max_gap) + 1
    pieces = tuple(pairwise([0, *breaks.tolist(), clock.size]))
    if not breaks.size:
        return _Timing(clock, pieces, max_gap, ())
    jumps, across = counted(breaks.size, "jump"), noun(breaks.size, "it", "them")
    note = f"{jumps} in time (longest {steps.max() / rate:.3g} s): no window reaches across {across}"
    return _Timing(clock, pieces, max_gap, (note,))


def _max_gap_frames(recording: Recording, config: PreprocessConfig) -> int:
    if config.max_gap != "auto":
        return to_frames(config.max_gap, recording.rate, "preprocess.max_gap")
    return GAP_FRAMES if recording.rate is None else max(1, round(GAP_SECONDS * recording.rate))


def _rows_are_frames(timing: _Timing) -> bool:
    """Whether the rows can stand for the frames as they are.

    Either steps are near 1, which holds through slow drift of the clock, or every row lies nearest to its own frame,
    which holds through jitter that shakes steps between 0 and 2.
    """
    steps = _steps(timing)
    if not steps.size or (steps.min() > 0.5 and steps.max() < 1.5):
        return True
    late = timing.clock - np.arange(timing.clock.size)
    return all(np.ptp(late[start:stop]) < 1 for start, stop in timing.pieces)


def _steps(timing: _Timing) -> NDArray[np.float64]:
    """Frames from each row to the next, jumps left out."""
    return np.delete(np.diff(timing.clock), [start - 1 for start, _ in timing.pieces[1:]])


def _on_grid(values: Values, missing: Flags, timing: _Timing, recording: Recording, channels: Sequence[str]) -> Signal:
    """Linear interpolation of each piece onto its own frames; the frame of a row is the nearest one."""
    last_frames = (round(timing.clock[b - 1] - timing.clock[a]) for a, b in timing.pieces)
    frame_spans = tuple(pairwise(accumulate((last + 1 for last in last_frames), initial=0)))
    n_rows, n_frames = timing.clock.size, frame_spans[-1][1]
    if n_frames > _MOST_FRAMES_PER_ROW * n_rows:
        raise RecordingError(
            f"recording '{recording.id}': its {n_rows} rows are too sparse in time for {recording.rate:g} Hz, which "
            f"would need {n_frames} frames; give the true rate (--rate) or lower preprocess.max_gap"
        )
    grid = np.empty((n_frames, len(channels)), dtype=np.float32)
    absent = np.zeros(n_frames, dtype=np.bool_)
    frame_of_row = np.empty(n_rows, dtype=np.int64)
    for (a, b), (first, stop) in zip(timing.pieces, frame_spans, strict=True):
        clock, frames = timing.clock[a:b] - timing.clock[a], np.arange(stop - first, dtype=np.float64)
        frame_of_row[a:b] = np.rint(clock) + first
        if missing[a:b].any():
            absent[first:stop] = np.interp(frames, clock, missing[a:b]) > 0  # one of the two rows beside it is lost
        for c in range(len(channels)):
            grid[first:stop, c] = np.interp(frames, clock, values[a:b, c])
    steps_s = _steps(timing) / (recording.rate or 1.0)
    note = (
        f"rows come unevenly, every {steps_s.min():.3g} to {steps_s.max():.3g} s: "
        f"{n_rows} rows interpolated onto {n_frames} frames of {recording.rate:.4g} Hz"
    )
    spans = _present_spans(absent, frame_spans)
    return Signal(recording.id, grid, recording.rate, tuple(channels), spans, n_rows, frame_of_row, (note,))


def _present_spans(missing: Flags, pieces: tuple[Span, ...]) -> tuple[Span, ...]:
    """The stretches of each piece on which nothing is missing."""
    if not missing.any():
        return pieces
    spans: list[Span] = []
    for start, stop in pieces:
        edges = np.flatnonzero(np.diff(~missing[start:stop], prepend=False, append=False)) + start
        spans += zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return tuple(spans)


# ---------------------------------------------------------------- missing values


def _repair_missing(
    values: Values, timing: _Timing, recording_id: str, channels: Sequence[str], config: PreprocessConfig
) -> tuple[Values, Flags, tuple[str, ...]]:
    """Values without NaN, the rows where some channel's run of NaN was too long to be repaired, and notes."""
    n_rows = values.shape[0]
    missing = np.zeros(n_rows, dtype=np.bool_)
    n_missing = _missing_per_channel(values)
    holed = np.flatnonzero(n_missing)
    if not holed.size:
        return values, missing, ()
    _refuse_unrepairable(n_missing, n_rows, recording_id, channels, config)
    repaired = values.copy()
    notes, n_filled = [], 0
    filled: list[str] = []
    gone: list[str] = []
    for c in holed.tolist():
        every = _usual_spacing(repaired[:, c], timing)
        lost = _fill(repaired[:, c], timing, max(timing.max_gap, 2 * every))
        missing |= lost
        n_own = int(n_missing[c] - lost.sum())
        if every:
            notes.append(f"channel '{channels[c]}' has a value only every {every} rows: interpolated between them")
        elif n_own:
            n_filled += n_own
            filled.append(channels[c])
        if lost.any():
            gone.append(channels[c])
    if n_filled:
        runs = f"(runs up to {counted(timing.max_gap, 'frame')})"
        notes.append(f"{counted(n_filled, 'missing value')} interpolated {runs} in {shortened(filled)}")
    if gone:
        n_lost = int(missing.sum())
        rows, frames = f"{counted(n_lost, 'row')} {noun(n_lost, 'lies', 'lie')}", counted(timing.max_gap, "frame")
        notes.append(f"{rows} in gaps longer than {frames} (in {shortened(gone)}): labelled OTHER")
    return repaired, missing, tuple(notes)


def _refuse_unrepairable(
    n_missing: NDArray[np.int64], n_rows: int, recording_id: str, channels: Sequence[str], config: PreprocessConfig
) -> None:
    incomplete = [channels[c] for c in np.flatnonzero(n_missing).tolist()]
    silent = [channels[c] for c in np.flatnonzero(n_missing == n_rows).tolist()]
    if silent:
        raise RecordingError(
            f"recording '{recording_id}': no values at all in {noun(len(silent), 'channel')} {shortened(silent)}; "
            f"leave {noun(len(silent), 'it', 'them')} out (preprocess.channels)"
        )
    if config.missing == "refuse":
        raise RecordingError(
            f"recording '{recording_id}': missing values in {noun(len(incomplete), 'channel')} "
            f"{shortened(incomplete)} and preprocess.missing = 'refuse'; "
            "repair the file or set preprocess.missing = 'interpolate'"
        )


def _missing_per_channel(values: Values) -> NDArray[np.int64]:
    count = np.zeros(values.shape[1], dtype=np.int64)
    for start in range(0, values.shape[0], _BLOCK):
        count += np.isnan(values[start : start + _BLOCK]).sum(axis=0)
    return count


def _usual_spacing(column: Values, timing: _Timing) -> int:
    """Frames from one value of a slow sensor to its next, as of a heart rate each second; 0 where it is not slow.

    Slow is what has values so regularly, and so far apart, that all between them would be a gap.
    """
    clock = timing.clock[~np.isnan(column)]
    if clock.size < _FEWEST_SLOW_VALUES:
        return 0
    steps = np.diff(clock)
    usual = float(np.median(steps))
    is_slow = usual > timing.max_gap + 1 and np.quantile(steps, 0.9) < 1.5 * usual
    return round(usual) if is_slow else 0


def _fill(column: Values, timing: _Timing, longest: int) -> Flags:
    """Fill the NaN of one channel in place, piece by piece; say which of them lie in runs too long to trust."""
    absent = np.isnan(column)
    lost = np.zeros_like(absent)
    n_absent = np.add.reduceat(absent, [start for start, _ in timing.pieces], dtype=np.int64)
    for i in np.flatnonzero(n_absent):
        piece = slice(*timing.pieces[i])
        gone, clock = absent[piece], timing.clock[piece]
        if gone.all():
            column[piece], lost[piece] = 0.0, True
        else:
            column[piece][gone] = np.interp(clock[gone], clock[~gone], column[piece][~gone])
            lost[piece] = _long_runs(gone, clock, longest)
    return lost


def _long_runs(flags: Flags, clock: NDArray[np.float64], longest: int) -> Flags:
    """The same flags without the runs that leave at most `longest` frames between their neighbours."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    starts, stops = edges[::2], edges[1::2]
    padded = np.concatenate([[clock[0] - 1], clock, [clock[-1] + 1]])
    n_frames = np.rint(padded[stops + 1] - padded[starts]) - 1
    kept = np.zeros_like(flags)
    kept[flags] = np.repeat(n_frames > longest, stops - starts)
    return kept
