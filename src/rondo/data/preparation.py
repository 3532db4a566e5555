"""Preparation: rows as they come -> frames, the same in any chunks. A recording is one chunk.

What happens to rows, each time with an event:

- skip: a row whose timestamp is missing, repeated or earlier than that of the row before is dropped, and one that is
  far ahead of the rows after it (`rondo.data.admission`). After more than 1,000 rows behind on end the clock was
  set back: a boundary, and time counts again;
- gap, boundary: a jump in time that leaves out more than `max_gap` frames, or missing values (NaN, infinite) for
  longer: nothing is carried across, the next frame begins a new stretch;
- gap, filled: channels that are silent for longer while others go on are predicted from these
  (`rondo.data.relations`), where the plan has relations; told when a channel falls silent and when it comes back;
- gap, bridged: missing values and missing rows up to `max_gap` frames are interpolated in time once they end
  (`rondo.data.gaps`); between two values of a sensor that is slower than the others, up to twice its usual spacing.
  Rows are held back until then;
- gap, boundary, too, where the input began again (`cut`): nobody knows how many rows are missing;
- gap, gridded: rows that do not fit the rate are interpolated onto it (`rondo.data.grid`);
- refused (RecordingError): another number of channels, timestamps that come and go.

What only a whole recording can tell is in the `RowPlan` (`rondo.data.preparation`). With the same plan, any chunks give
the same frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.arrays import Flags, Floats, Ints, Tensors, owned, owned_by
from rondo.config.settings import PreprocessConfig, to_frames
from rondo.data.admission import Admitted, RowAdmission
from rondo.data.gaps import GapBridge, MissingValues, TimedRows
from rondo.data.grid import FrameFit, FrameGrid, Laid
from rondo.data.input_events import InputEvent, InputLog
from rondo.data.recording import Recording, Values
from rondo.data.relations import ChannelFill, ChannelRelations
from rondo.errors import RecordingError

# ----------------------------------------------------------------
# RowPlan: what only a whole recording can tell about its rows, before any of them becomes a frame.
#
# A recording is looked at first; a stream takes the spacing of slow sensors from the recordings that the model was
# fitted on, and finds out on the way whether its rows can stand for frames.

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
        rows = slice(start, start + BLOCK)
        fit = fit.after(clock[rows], begins[rows], start, float(clock[start - 1]) if start else None)
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
    return tuple(max(channel) for channel in zip(*spacings, strict=True))


Placed = Callable[[Ints, Ints, Flags], None]
"""Told of rows that have become frames: their numbers, the frame nearest to each, and which of them lie in gaps."""


class Prepared(NamedTuple):
    """Consecutive frames of one stretch, which windows may use."""

    values: Values  # (n_frames, n_channels)
    begins: bool  # a new contiguous stretch starts with the first of these frames
    first_frame: int
    time_s: float | None  # of the first frame; None where the stream has no clock


class Preparation:
    """The part of the input that is not yet frames; it is small and does not grow."""

    def __init__(self, plan: RowPlan, *, tells: bool = True) -> None:
        """`tells`: what happened to the input is kept as events until they are taken."""
        self.plan = plan
        n_channels = len(plan.spacing)
        fill = None if plan.relations is None else ChannelFill(plan.relations)
        self.gaps = GapBridge(np.maximum(plan.max_gap, 2 * np.array(plan.spacing, dtype=np.int64)), fill)
        self.grid = FrameGrid(n_channels, plan.rows_are_frames)
        self.missing = MissingValues(*np.zeros((3, n_channels), np.int64))
        self._log = InputLog(plan.rate, plan.max_gap, plan.channels) if tells else None
        self._admission = RowAdmission(n_channels, plan.rate, plan.max_gap)
        self._placed: Placed | None = None
        self._n_rows = 0  # as they came
        self._n_admitted = 0
        self._has_times: bool | None = None
        self._origin_s: float | None = None  # time of clock 0
        self._last_clock: float | None = None  # of the last row that was admitted; None where time begins
        self._is_open = False  # whether the next row follows on the last one
        self._in_stretch = False  # whether the next frame follows on the last one given out

    @classmethod
    def whole(cls, plan: RowPlan, values: Values, times_s: Floats | None) -> tuple[Laid, MissingValues]:
        """A recording at once: all its frames, and what became of the missing values of each channel."""
        preparation = cls(plan, tells=False)
        (laid,) = preparation._laid(values, times_s, ends=True)
        return laid, preparation.missing

    def tell_places(self, placed: Placed) -> None:
        """Tell from now on which frame every row has become; rows that are skipped are left out."""
        self._placed = placed

    @property
    def n_skipped(self) -> int:
        """Rows that were skipped so far."""
        return self._admission.n_skipped

    def push(self, values: ArrayLike, times_s: ArrayLike | None = None) -> list[Prepared]:
        """Rows (n_rows, n_channels), NaN where missing; gives the frames that are settled."""
        return [part for laid in self._laid(values, times_s) for part in self._prepared(laid)]

    def finish(self) -> list[Prepared]:
        """The stream ends: give out what is held back. Rows that come later begin a new stretch."""
        last = (laid for admitted in self._admission.flush() for laid in self._taken(admitted, False, False))
        prepared = [part for laid in chain(last, self._closed()) for part in self._prepared(laid)]
        if self._log is not None:
            self._log.finish(self.grid.next_frame, self._n_rows)
        return prepared

    def cut(self, cause: str) -> list[Prepared]:
        """The rows to come do not follow on those so far, whatever their times: give out what is held back."""
        prepared = self.finish()
        if self._log is not None:
            self._log.cut(self.grid.next_frame, cause)
        return prepared

    def take_events(self, before_frame: int | None = None) -> list[InputEvent]:
        """What happened to the input since the last call, in the order of frames, which never falls.

        When an event is told, all frames before its own have been given out. So whoever asks, before each window that
        stops at frame f, for the events before f, finds events and windows in the same order in any chunks.
        """
        return [] if self._log is None else self._log.take(before_frame)

    # ------------------------------------------------------------ rows

    def _laid(self, values: ArrayLike, times_s: ArrayLike | None, ends: bool = False) -> Iterator[Laid]:
        """Take each part before the next: where the clock was set back, time counts again from there."""
        rows, times, is_complete = self._checked(values, times_s)
        first, self._n_rows = self._n_rows, self._n_rows + rows.shape[0]
        is_complete = is_complete and not self._admission.n_held
        for admitted in self._admission.push(rows, times, first, ends=ends):
            yield from self._taken(admitted, is_complete, ends)

    def _taken(self, rows: Admitted, is_complete: bool, ends: bool) -> Iterator[Laid]:
        if rows.set_back:
            yield from self._closed()
            self._origin_s = self._last_clock = None
        n_rows, times, rate = rows.values.shape[0], rows.times_s, self.plan.rate
        first, self._n_admitted = self._n_admitted, self._n_admitted + n_rows
        if times is None or rate is None:
            clock = np.arange(first, first + n_rows, dtype=np.float64)
        else:
            self._origin_s = float(times[0]) if self._origin_s is None else self._origin_s
            clock = (times - self._origin_s) * rate
        if rows.set_back and self._log is not None:
            self._log.set_back(self.grid.next_frame, self._time_s(float(clock[0])))
        timed = TimedRows(rows.values, clock, rows.numbers, self._begins(clock))
        yield from self._through(timed, is_complete, ends)

    def _through(self, rows: TimedRows, is_complete: bool, ends: bool) -> Iterator[Laid]:
        settled, missing = self.gaps.push(rows, is_complete=is_complete, ends=ends)
        if missing is not None:
            self.missing = MissingValues(*map(np.add, self.missing, missing))
        for laid in self.grid.push(settled, ends=ends):
            if self._log is not None:
                self._log.rows(laid, self._origin_s or 0.0)
            if self._placed is not None and laid.rows.clock.size:
                self._placed(laid.rows.numbers, laid.frames_of_rows(), laid.rows.is_lost)
            yield laid

    def _closed(self) -> Iterator[Laid]:
        """The open piece ends here."""
        yield from self._through(TimedRows.none(len(self.plan.spacing)), True, ends=True)
        if self._log is not None:
            self._log.end_stretch(self.grid.next_frame)
        self._is_open = self._in_stretch = False

    def _checked(self, values: ArrayLike, times_s: ArrayLike | None) -> tuple[Values, Floats | None, bool]:
        """Rows, their times, and whether no value is missing."""
        rows = np.asarray(values, dtype=np.float32)
        n_channels = len(self.plan.spacing)
        if rows.ndim != 2 or rows.shape[1] != n_channels:
            raise RecordingError(
                f"stream: expected rows of {n_channels} channels, got an array of shape {rows.shape} at row "
                f"{self._n_rows}; give the channels of the model in its order, or start a new stream"
            )
        if not rows.shape[0]:
            return rows, None, True
        if self._has_times is None:
            self._has_times = times_s is not None
            if not self._has_clock:  # then rows are frames, and nothing needs to be asked
                self.grid.fit, self.grid.rows_are_frames = None, True
                self.gaps.least_step = 1.0
        if self._has_times != (times_s is not None):
            raise RecordingError(
                f"stream: timestamps {'end' if self._has_times else 'begin'} at row {self._n_rows}; "
                "give them with every row or with none"
            )
        times = None if times_s is None else np.asarray(times_s, dtype=np.float64)
        if times is not None and times.shape != (rows.shape[0],):
            raise RecordingError(
                f"stream: timestamps of shape {times.shape} for {rows.shape[0]} rows; give one per row"
            )
        if all(np.isfinite(rows[start : start + BLOCK]).all() for start in range(0, rows.shape[0], BLOCK)):
            return rows, times, True
        if any(np.isinf(rows[start : start + BLOCK]).any() for start in range(0, rows.shape[0], BLOCK)):
            rows = np.where(np.isinf(rows), np.float32(np.nan), rows)
        return rows, times, False

    @property
    def _has_clock(self) -> bool:
        return bool(self._has_times) and self.plan.rate is not None

    def _begins(self, clock: Floats) -> Flags:
        """Whether each row begins a piece, within which time does not jump."""
        begins = np.zeros(clock.size, np.bool_)
        if self._has_clock:
            if clock.size > 1:
                begins[1:] = jumps(clock, self.plan.max_gap)
            if self._last_clock is not None:
                begins[0] = np.rint(clock[0] - self._last_clock) - 1 > self.plan.max_gap
        begins[0] |= not self._is_open
        self._last_clock, self._is_open = float(clock[-1]), True
        return begins

    # ------------------------------------------------------------ frames

    def _prepared(self, laid: Laid) -> Iterator[Prepared]:
        """The frames that are not lost, in runs."""
        n_frames = laid.clock.size
        if not n_frames:
            return
        if laid.lost is None and not laid.begins[1:].any():
            edges = [0, n_frames]
        else:
            lost = np.zeros(n_frames, np.bool_) if laid.lost is None else laid.lost
            edges = [0, *(np.flatnonzero((lost[1:] != lost[:-1]) | laid.begins[1:]) + 1).tolist(), n_frames]
        for start, stop in pairwise(edges):
            if laid.lost is not None and laid.lost[start]:
                self._in_stretch = False
                continue
            begins, self._in_stretch = bool(laid.begins[start]) or not self._in_stretch, True
            time_s = self._time_s(float(laid.clock[start]))
            yield Prepared(laid.values[start:stop], begins, laid.first_frame + start, time_s)

    def _time_s(self, clock: float) -> float | None:
        return None if self.plan.rate is None else (self._origin_s or 0.0) + clock / self.plan.rate

    # ------------------------------------------------------------ keeping

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly: arrays and plain JSON."""
        gaps, grid, admission = self.gaps.state(), self.grid.state(), self._admission.state()
        plain = {
            "gaps": gaps[1],
            "grid": grid[1],
            "admission": admission[1],
            "log": None if self._log is None else self._log.state(),
            "rows": [self._n_rows, self._n_admitted],
            "missing_values": [counts.tolist() for counts in self.missing],
            "has_times": self._has_times,
            "origin_s": self._origin_s,
            "last_clock": self._last_clock,
            "is_open": self._is_open,
            "in_stretch": self._in_stretch,
        }
        return owned("gaps", gaps[0]) | owned("grid", grid[0]) | owned("admission", admission[0]), plain

    @classmethod
    def restore(cls, plan: RowPlan, tensors: Tensors, plain: Mapping[str, Any]) -> Preparation:
        """The preparation that gave this state, under the same plan."""
        restored = cls(plan, tells=plain["log"] is not None)
        restored.gaps.load(owned_by("gaps", tensors), plain["gaps"])
        restored.grid.load(owned_by("grid", tensors), plain["grid"])
        restored._admission.load(owned_by("admission", tensors), plain["admission"])
        if restored._log is not None:
            restored._log.load(plain["log"])
        restored._n_rows, restored._n_admitted = plain["rows"]
        restored.missing = MissingValues(*(np.array(counts, np.int64) for counts in plain["missing_values"]))
        restored._has_times, restored._origin_s = plain["has_times"], plain["origin_s"]
        restored._last_clock, restored._is_open = plain["last_clock"], plain["is_open"]
        restored._in_stretch = plain["in_stretch"]
        return restored
