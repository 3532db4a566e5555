"""Preparation: rows as they come -> frames, the same in any chunks. A recording is one chunk.

What happens to rows, each time with an event:

- skip: a row whose timestamp is missing, not later than that of the row before, or far ahead of the rows after it is
  dropped (`rondo.data.admission`). After more than 1,000 rows behind on end the clock was set back: a boundary;
- gap, boundary: a jump in time that leaves out more than `max_gap` frames, or missing values (NaN, infinite) for
  longer, or an input that began again (`cut`): nothing is carried across, the next frame begins a new stretch;
- gap, filled: channels that are silent for longer while others go on are predicted from these
  (`rondo.data.relations`), where the plan has relations;
- values that are no measurement, by the bounds of the model, are missing (`rondo.data.sound_gate`);
- gap, bridged: missing values and rows up to `max_gap` frames are interpolated in time once they end
  (`rondo.data.gaps`); between two values of a slow sensor, up to twice its usual spacing. Rows wait until then;
- gap, gridded: rows that do not fit the rate are interpolated onto it (`rondo.data.grid`);
- refused (RecordingError): another number of channels, timestamps that come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.arrays import Flags, Floats, Ints, Tensors, owned, owned_by
from rondo.config.settings import PreprocessConfig, to_frames
from rondo.data.admission import RowAdmission, Rows, jumps
from rondo.data.gaps import LOST, GapBridge
from rondo.data.grid import FrameFit, FrameGrid, Frames
from rondo.data.input_events import InputEvent, InputLog
from rondo.data.known_channels import SoundBounds
from rondo.data.precision import less, offsets_of, unmasked
from rondo.data.recording import BLOCK, Recording, Values
from rondo.data.relations import ChannelFill, ChannelRelations
from rondo.data.sound_gate import SoundGate
from rondo.errors import RecordingError

GAP_SECONDS, GAP_FRAMES = 0.5, 25  # what max_gap = "auto" means with and without a known rate
_FEWEST_SLOW_VALUES = 8  # of a sensor slower than the others, before its silence is taken for its rate
_MOST_FRAMES_PER_ROW = 20  # rows so sparse that a regular grid would be nearly all interpolation are refused


@dataclass(frozen=True)
class RowPlan:
    """What only a whole recording can tell about its rows.

    A stream takes the spacing of slow sensors from the recordings that the model was fitted on, and finds out on the
    way whether its rows can stand for frames.
    """

    rate: float | None
    max_gap: int  # frames
    spacing: tuple[int, ...]  # frames from one value of each channel to the next where it is a slow sensor, else 0
    rows_are_frames: bool | None = None  # None: the rows to come will show
    relations: ChannelRelations | None = None  # by which dropouts of channels are filled; None: they are boundaries
    channels: tuple[str, ...] = ()  # names, to tell
    offsets: tuple[float, ...] = ()  # subtracted before rounding to float32; empty: none (`rondo.data.precision`)
    bounds: SoundBounds | None = None  # of a stream; None: a recording, or a model of an earlier version

    @classmethod
    def of(cls, recording: Recording, values: Values, is_holed: Flags, config: PreprocessConfig) -> RowPlan:
        """Of a recording of which these values are used; `is_holed`: which channels miss some."""
        max_gap = max_gap_frames(recording.rate, config)
        times, rate, n_rows = recording.timestamps_s, recording.rate, recording.n_frames
        begins = np.arange(n_rows) == 0
        if times is None or rate is None:  # a single row may have a timestamp and no rate
            clock, rows_are_frames = np.arange(n_rows, dtype=np.float64), True
        else:
            clock = (times - times[0]) * rate
            begins[1:] = jumps(clock, max_gap)
            fit = FrameFit()
            for start in range(0, n_rows, BLOCK):
                rows = slice(start, start + BLOCK)
                fit = fit.after(clock[rows], begins[rows], start, float(clock[start - 1]) if start else None)
                if not fit.holds:
                    break
            rows_are_frames = fit.holds
        if not rows_are_frames:
            lasts = np.flatnonzero(np.append(begins[1:], True))
            n_frames = int((np.rint(clock[lasts] - clock[begins]) + 1).sum())
            if n_frames > _MOST_FRAMES_PER_ROW * n_rows:  # refused before memory runs out
                raise RecordingError(
                    f"recording '{recording.id}': its {n_rows} rows are too sparse in time for {rate:g} Hz, "
                    f"which would need {n_frames} frames; give the true rate (--rate) or lower preprocess.max_gap"
                )
        holed = is_holed.tolist()
        spacing = tuple(usual_spacing(values[:, c], clock, max_gap) if holed[c] else 0 for c in range(len(holed)))
        offsets = () if config.scaling == "none" else offsets_of(values)
        relations = ChannelRelations.of(values, offsets) if config.dropouts == "fill" and any(holed) else None
        return cls(rate, max_gap, spacing, rows_are_frames, relations, offsets=offsets)


def max_gap_frames(rate: float | None, config: PreprocessConfig) -> int:
    """The longest gap that is bridged."""
    if config.max_gap != "auto":
        return to_frames(config.max_gap, rate, "preprocess.max_gap")
    return GAP_FRAMES if rate is None else max(1, round(GAP_SECONDS * rate))


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
        fill = None if plan.relations is None else ChannelFill(plan.relations.without(plan.offsets))
        self.gaps = GapBridge(np.maximum(plan.max_gap, 2 * np.array(plan.spacing, dtype=np.int64)), fill)
        self.gate = None if plan.bounds is None else SoundGate(plan.bounds, plan.offsets, plan.max_gap)
        self.grid = FrameGrid(n_channels, plan.rows_are_frames)
        self._log = InputLog(plan.rate, plan.max_gap, plan.channels) if tells else None
        self._admission = RowAdmission(n_channels, plan.rate, plan.max_gap)
        self._placed: Placed | None = None
        self._n_rows = 0  # as they came
        self._has_times: bool | None = None
        self._origin_s: float | None = None  # time of clock 0
        self._in_stretch = False  # whether the next frame follows on the last one given out

    @classmethod
    def whole(cls, plan: RowPlan, values: Values, times_s: Floats | None) -> tuple[Frames, Ints]:
        """A recording at once: all its frames, and of each channel the missing values bridged, lost and filled."""
        preparation = cls(plan, tells=False)
        (frames,) = preparation._laid(values, times_s, ends=True)
        return frames, preparation.gaps.missing

    def tell_places(self, placed: Placed) -> None:
        """Tell from now on which frame every row has become; rows that are skipped are left out."""
        self._placed = placed

    @property
    def n_skipped(self) -> int:
        """Rows that were skipped so far."""
        return self._admission.n_skipped

    def push(self, values: ArrayLike, times_s: ArrayLike | None = None) -> list[Prepared]:
        """Rows (n_rows, n_channels), NaN where missing; gives the frames that are settled."""
        return [part for frames in self._laid(values, times_s) for part in self._prepared(frames)]

    def finish(self) -> list[Prepared]:
        """The stream ends: give out what is held back. Rows that come later begin a new stretch."""
        last = (frames for rows in self._admission.flush() for frames in self._taken(rows, False))
        prepared = [part for frames in chain(last, self._closed()) for part in self._prepared(frames)]
        self._admission.is_open = False
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

        All frames before an event's own are given out first: taking the events before the last frame of
        each window, before the window, makes their order independent of chunks.
        """
        return [] if self._log is None else self._log.take(before_frame)

    def _laid(self, values: ArrayLike, times_s: ArrayLike | None, ends: bool = False) -> Iterator[Frames]:
        """Take each part before the next: where the clock was set back, time counts again from there."""
        checked, times = self._checked(values, times_s)
        first, self._n_rows = self._n_rows, self._n_rows + checked.shape[0]
        for rows in self._admission.push(checked, times, first, ends=ends):
            yield from self._taken(rows, ends)

    def _taken(self, rows: Rows, ends: bool) -> Iterator[Frames]:
        if rows.set_back:
            yield from self._closed()
        self._origin_s = self._admission.origin_s
        if rows.set_back and self._log is not None:
            self._log.set_back(self.grid.next_frame, self._time_s(float(rows.clock[0])))
        yield from self._through(rows, ends)

    def _through(self, rows: Rows, ends: bool) -> Iterator[Frames]:
        rows = rows if self.gate is None else self.gate.push(rows, ends=ends)
        if not rows.clock.size and not ends:
            return
        for frames in self.grid.push(self.gaps.push(rows, ends=ends), ends=ends):
            came = frames.rows
            if self._log is not None:
                self._log.rows(frames, self._origin_s or 0.0)
            if self._placed is not None and came.clock.size:
                at = frames.frame_of_row
                at = np.arange(frames.first_frame, frames.first_frame + came.clock.size) if at is None else at
                is_lost = np.zeros(came.clock.size, np.bool_) if came.flaws is None else came.flaws == LOST
                self._placed(came.numbers, at, is_lost)
            yield frames

    def _closed(self) -> Iterator[Frames]:
        """The open piece ends here."""
        yield from self._through(Rows.none(len(self.plan.spacing)), ends=True)
        if self._log is not None:
            self._log.end_stretch(self.grid.next_frame, self._log.last_clock)
        self._in_stretch = False

    def _checked(self, values: ArrayLike, times_s: ArrayLike | None) -> tuple[Values, Floats | None]:
        """Rows with NaN where a value is missing, and their times."""
        given = unmasked(values)
        n_channels = len(self.plan.spacing)
        if given.ndim != 2 or given.shape[1] != n_channels:
            raise RecordingError(
                f"stream: expected rows of {n_channels} channels, got an array of shape {given.shape} at row "
                f"{self._n_rows}; give the channels of the model in its order, or start a new stream"
            )
        rows = less(given, self.plan.offsets)
        if not rows.shape[0]:
            return rows, None
        if self._has_times is None:
            self._has_times = times_s is not None
            if times_s is None or self.plan.rate is None:  # then rows are frames, and nothing needs to be asked
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
        if any(np.isinf(rows[start : start + BLOCK]).any() for start in range(0, rows.shape[0], BLOCK)):
            rows = np.where(np.isinf(rows), np.float32(np.nan), rows)
        return rows, times

    def _prepared(self, frames: Frames) -> Iterator[Prepared]:
        """The frames that are not lost, in runs."""
        n_frames = frames.clock.size
        if not n_frames:
            return
        lost = np.zeros(n_frames, np.bool_) if frames.lost is None else frames.lost
        edges = [0, *(np.flatnonzero((lost[1:] != lost[:-1]) | frames.begins[1:]) + 1).tolist(), n_frames]
        for start, stop in pairwise(edges):
            if lost[start]:
                self._in_stretch = False
                continue
            begins, self._in_stretch = bool(frames.begins[start]) or not self._in_stretch, True
            time_s = self._time_s(float(frames.clock[start]))
            yield Prepared(frames.values[start:stop], begins, frames.first_frame + start, time_s)

    def _time_s(self, clock: float) -> float | None:
        return None if self.plan.rate is None else (self._origin_s or 0.0) + clock / self.plan.rate

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly: arrays and plain JSON."""
        gaps, grid, admission = self.gaps.state(), self.grid.state(), self._admission.state()
        gate = None if self.gate is None else self.gate.state()
        plain = {
            "gaps": gaps[1],
            "grid": grid[1],
            "admission": admission[1],
            **({} if gate is None else {"gate": gate[1]}),
            "log": None if self._log is None else self._log.state(),
            "rows": [self._n_rows, self._admission.n_admitted],
            "missing_values": self.gaps.missing.tolist(),
            "has_times": self._has_times,
            "origin_s": self._origin_s,
            "last_clock": self._admission.last_clock,
            "is_open": self._admission.is_open,
            "in_stretch": self._in_stretch,
        }
        tensors = owned("gaps", gaps[0]) | owned("grid", grid[0]) | owned("admission", admission[0])
        return tensors | ({} if gate is None else owned("gate", gate[0])), plain

    @classmethod
    def restore(cls, plan: RowPlan, tensors: Tensors, plain: Mapping[str, Any]) -> Preparation:
        """The preparation that gave this state, under the same plan."""
        restored = cls(plan, tells=plain["log"] is not None)
        restored.gaps.load(owned_by("gaps", tensors), plain["gaps"])
        restored.grid.load(owned_by("grid", tensors), plain["grid"])
        restored._admission.load(owned_by("admission", tensors), plain["admission"])
        if restored.gate is not None:
            restored.gate.load(owned_by("gate", tensors), plain["gate"])
        if restored._log is not None:
            restored._log.load(plain["log"])
        admission = restored._admission
        restored._n_rows, admission.n_admitted = plain["rows"]
        restored._origin_s = admission.origin_s = plain["origin_s"]
        admission.last_clock, admission.is_open = plain["last_clock"], plain["is_open"]
        restored.gaps.missing = np.array(plain["missing_values"], np.int64)
        restored._has_times, restored._in_stretch = plain["has_times"], plain["in_stretch"]
        return restored
