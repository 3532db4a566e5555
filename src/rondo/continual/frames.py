"""Rows as they come -> prepared frames, the same in any chunks and, wherever a stream can, those of the batch path.

What happens to rows, each time with an event of the level "input":

- skip: a row whose timestamp is missing, repeated or earlier than that of the row before is dropped. After more than
  1,000 such rows on end the clock was set back: a boundary, and time counts anew;
- gap, boundary: a jump in time that leaves out more than `max_gap` frames, or missing values (NaN, infinite) for
  longer: nothing is carried across, the next frame begins a new stretch;
- gap, bridged: missing values and missing rows up to `max_gap` frames are interpolated in time once they end. Rows are
  held back until then, at most `max_gap` frames of them (one more where there are timestamps);
- gap, boundary, too, where the input began anew (`cut`): nobody knows how many rows are missing;
- gap, gridded: from the first row whose timestamp shows that rows do not fit the rate, they are interpolated onto it;
- refused (RecordingError): another number of channels, timestamps that come and go.

Frames are numbered as those of the batch path (`rondo.data.signal`), lost ones included. What that path takes from the
whole recording, a stream takes from elsewhere: scaling from the model; the rate from the model; whether rows can stand
for frames from the rows so far (`rondo.continual.gridding`). Recordings that are refused for being too sparse in time
or for a channel without any value are boundaries here. PCA is summed channel by channel, as a matrix product may round
differently for chunks of different size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.config.schema import PreprocessConfig, to_frames
from rondo.continual.bridging import Bridging, Floats, Ints, StreamRows, extremes, steps_of
from rondo.continual.events import Event
from rondo.continual.gridding import Gridding, Laid
from rondo.continual.input_log import InputLog
from rondo.data.preprocess import Preprocessor
from rondo.data.recording import Values
from rondo.data.signal import GAP_FRAMES, GAP_SECONDS
from rondo.errors import RecordingError
from rondo.tensors import Tensors, owned, owned_by

_MOST_ROWS_BEHIND = 1_000  # ours: a source that sends a block again mostly sends less, and a clock set back stays back


class Prepared(NamedTuple):
    """Consecutive frames as the model sees them."""

    values: Values  # (n_frames, n_dims)
    begins: bool  # a new contiguous stretch starts with the first of these frames
    first_row: int  # number of the input row at or before the first frame; without timestamps frame i is row i
    first_frame: int  # its number on the frame axis of the batch path
    time_s: float | None  # of the first frame; None where the stream has no clock


class Frames:
    """The part of a stream that is not yet frames; it is small and does not grow."""

    def __init__(self, preprocessor: Preprocessor, rate: float | None) -> None:
        config = preprocessor.config
        self._preprocessor, self._rate = preprocessor, rate
        self._mean = preprocessor.mean
        self._factor = np.divide(1.0, preprocessor.scale, out=np.zeros_like(self._mean), where=preprocessor.scale > 0)
        self._axes = preprocessor.components.astype(np.float32)
        n_channels = len(preprocessor.channels)
        self._bridging = Bridging(n_channels, _max_gap_frames(rate, config))
        self._gridding = Gridding(n_channels)
        self._log = InputLog(self._time_s)
        self._n_rows = 0  # as they came
        self._n_admitted = 0
        self._n_behind = 0  # rows skipped on end
        self._has_times: bool | None = None
        self._origin_s: float | None = None  # time of clock 0
        self._latest_s = -math.inf
        self._last_clock: float | None = None  # of the last row that was admitted
        self._in_stretch = False  # whether the next frame follows on the last one given out

    @property
    def n_held(self) -> int:
        """Rows held back."""
        return self._bridging.n_held

    def push(self, values: ArrayLike, times_s: ArrayLike | None = None) -> list[Prepared]:
        """Rows (n_rows, n_channels) in the model's channels, NaN where missing; gives the frames that are settled."""
        rows, times, is_complete = self._checked(values, times_s)
        prepared: list[Prepared] = []
        first, self._n_rows = self._n_rows, self._n_rows + rows.shape[0]
        numbers = np.arange(first, self._n_rows)
        for kept, set_back in self._admitted(times, rows.shape[0]):
            if set_back:
                prepared += self._end_piece()
                self._origin_s = self._last_clock = None
            clock = self._clock(None if times is None else times[kept], numbers[kept].size)
            if set_back:
                self._log.jump(self._gridding.next_frame, float(clock[0]), None)
            for part, gap_s in self._pieces(StreamRows(rows[kept], clock, numbers[kept])):
                if gap_s is not None:
                    prepared += self._end_piece()
                    self._log.jump(self._gridding.next_frame, float(part.clock[0]), gap_s)
                prepared += self._lay(self._bridging.push(part, is_complete=is_complete))
        return prepared

    def finish(self) -> list[Prepared]:
        """The stream ends: give out what is held back. Rows that come later begin a new stretch."""
        prepared = self._end_piece()
        self._log.finish(self._gridding.next_frame, self._n_rows)
        return prepared

    def cut(self, cause: str) -> list[Prepared]:
        """The rows to come do not follow on those so far, whatever their times: give out what is held back."""
        prepared = self.finish()
        self._log.cut(self._gridding.next_frame, cause)
        return prepared

    def take_events(self, before_frame: int | None = None) -> list[Event]:
        """What happened to the input since the last call, in the order of frames, which never falls.

        When an event is told, all frames before its own have been given out. So whoever asks, before each window that
        stops at frame f, for the events before f, finds events and windows in the same order in any chunks.
        """
        return self._log.take(before_frame)

    # ------------------------------------------------------------ rows

    def _checked(self, values: ArrayLike, times_s: ArrayLike | None) -> tuple[Values, Floats | None, bool]:
        """Rows, their times, and whether no value is missing."""
        rows = np.asarray(values, dtype=np.float32)
        channels = self._preprocessor.channels
        if rows.ndim != 2 or rows.shape[1] != len(channels):
            raise RecordingError(
                f"stream: expected rows of {len(channels)} channels, got an array of shape {rows.shape} at row "
                f"{self._n_rows}; give the channels of the model in its order, or start a new stream"
            )
        if not rows.shape[0]:
            return rows, None, True
        if self._has_times is None:
            self._has_times = times_s is not None
            self._gridding.has_clock = self._has_times and self._rate is not None
            self._bridging.least_step = 0.0 if self._gridding.has_clock else 1.0
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
        if np.isfinite(rows).all():
            return rows, times, True
        self._refuse_missing()
        return np.where(np.isinf(rows), np.float32(np.nan), rows), times, False

    def _refuse_missing(self) -> None:
        if self._preprocessor.config.missing == "refuse":
            raise RecordingError(
                f"stream: missing values after row {self._n_rows} and preprocess.missing = 'refuse'; "
                "repair the source or fit the model with preprocess.missing = 'interpolate'"
            )

    def _admitted(self, times: Floats | None, n_rows: int) -> Iterator[tuple[Ints | slice, bool]]:
        """Places of the rows that are not skipped, and whether the clock was set back before them."""
        if not n_rows:
            return
        if times is None or _increases(times, self._latest_s):
            self._n_behind = 0
            if times is not None:
                self._latest_s = float(times[-1])
            yield slice(None), False
            return
        kept: list[int] = []
        set_back = False
        for i, time_s in enumerate(times.tolist()):
            if math.isfinite(time_s) and (time_s > self._latest_s or self._n_behind >= _MOST_ROWS_BEHIND):
                if time_s <= self._latest_s:
                    if kept:
                        yield np.array(kept), set_back
                    kept, set_back = [], True
                kept.append(i)
                self._n_behind, self._latest_s = 0, time_s
            else:
                self._n_behind += 1
        if kept:
            yield np.array(kept), set_back

    def _clock(self, times: Floats | None, n_rows: int) -> Floats:
        """Where rows lie on the frame axis: by time where it is known, else one frame each."""
        first, self._n_admitted = self._n_admitted, self._n_admitted + n_rows
        if times is None or self._rate is None:
            return np.arange(first, first + n_rows, dtype=np.float64)
        if self._origin_s is None:
            self._origin_s = float(times[0])
        return (times - self._origin_s) * self._rate

    def _pieces(self, rows: StreamRows) -> Iterator[tuple[StreamRows, float | None]]:
        """Parts within which time does not jump, each with the seconds since the row before, None where it goes on."""
        last, self._last_clock = self._last_clock, float(rows.clock[-1])
        if not self._gridding.has_clock or self._rate is None:
            yield rows, None
            return
        steps = steps_of(rows.clock, rows.clock[0] - 1 if last is None else last)
        breaks: list[int] = []
        if extremes(steps)[1] > self._bridging.max_gap + 1:
            breaks = np.flatnonzero(np.rint(steps) - 1 > self._bridging.max_gap).tolist()
        if not breaks:
            yield rows, None
            return
        for start, stop in pairwise(sorted({0, *breaks, rows.clock.size})):
            yield rows.part(start, stop), float(steps[start]) / self._rate if start in breaks else None

    # ------------------------------------------------------------ frames

    def _end_piece(self) -> list[Prepared]:
        prepared = self._lay(self._bridging.end())
        for laid in self._gridding.end():
            prepared += self._prepared(laid)
        self._log.end_stretch(self._gridding.next_frame)
        self._in_stretch = False
        return prepared

    def _lay(self, rows: StreamRows) -> list[Prepared]:
        prepared: list[Prepared] = []
        start = 0
        for laid in self._gridding.push(rows):
            stop = start + laid.n_rows
            self._log.rows(rows if laid.n_rows == rows.clock.size else rows.part(start, stop), laid)
            prepared += self._prepared(laid)
            start = stop
        return prepared

    def _prepared(self, laid: Laid) -> list[Prepared]:
        """The frames that are not lost, in runs; a run of rows that are frames also ends where rows were skipped."""
        if not laid.clock.size:
            return []
        if laid.lost is None and laid.numbers[-1] - laid.numbers[0] == laid.clock.size - 1:
            return [self._run(laid, 0, laid.clock.size)]
        there = np.ones(laid.clock.size, np.bool_) if laid.lost is None else ~laid.lost
        cuts = np.diff(there)
        if laid.on_grid is None:
            cuts |= np.diff(laid.numbers) != 1
        runs: list[Prepared] = []
        for start, stop in pairwise([0, *(np.flatnonzero(cuts) + 1).tolist(), there.size]):
            if there[start]:
                runs.append(self._run(laid, start, stop))
            else:
                self._in_stretch = False
        return runs

    def _run(self, laid: Laid, start: int, stop: int) -> Prepared:
        begins, self._in_stretch = not self._in_stretch, True
        values = self._seen_by_model(laid.values[start:stop])
        time_s = self._time_s(float(laid.clock[start]))
        return Prepared(values, begins, int(laid.numbers[start]), laid.first_frame + start, time_s)

    def _seen_by_model(self, values: Values) -> Values:
        """Scaled and projected as `Preprocessor.apply` does, into an array of its own."""
        if self._preprocessor.config.scaling == "none":
            scaled = values.copy()
        else:
            scaled = ((values - self._mean) * self._factor).astype(np.float32)
        if not self._axes.size:
            return scaled
        projected = np.zeros((values.shape[0], self._axes.shape[0]))
        for c in range(values.shape[1]):
            projected += scaled[:, c, None] * self._axes[:, c]
        return projected.astype(np.float32)

    def _time_s(self, clock: float) -> float | None:
        return None if self._rate is None else (self._origin_s or 0.0) + clock / self._rate

    # ------------------------------------------------------------ keeping

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly: arrays and plain JSON."""
        bridging, gridding = self._bridging.state(), self._gridding.state()
        plain = {
            "bridging": bridging[1],
            "gridding": gridding[1],
            "log": self._log.state(),
            "rows": [self._n_rows, self._n_admitted, self._n_behind],
            "has_times": self._has_times,
            "origin_s": self._origin_s,
            "latest_s": self._latest_s if math.isfinite(self._latest_s) else None,
            "last_clock": self._last_clock,
            "in_stretch": self._in_stretch,
        }
        return owned("bridging", bridging[0]) | owned("gridding", gridding[0]), plain

    @classmethod
    def restore(
        cls, preprocessor: Preprocessor, rate: float | None, tensors: Tensors, plain: Mapping[str, Any]
    ) -> Frames:
        """The frames that gave this state, under the same model."""
        frames = cls(preprocessor, rate)
        frames._bridging.load(owned_by("bridging", tensors), plain["bridging"])
        frames._gridding.load(owned_by("gridding", tensors), plain["gridding"])
        frames._log.load(plain["log"])
        frames._n_rows, frames._n_admitted, frames._n_behind = plain["rows"]
        frames._has_times, frames._origin_s = plain["has_times"], plain["origin_s"]
        frames._latest_s = -math.inf if plain["latest_s"] is None else plain["latest_s"]
        frames._last_clock, frames._in_stretch = plain["last_clock"], plain["in_stretch"]
        return frames


def _increases(times: Floats, latest_s: float) -> bool:
    """Whether all times are finite, in order and after the latest one."""
    if not latest_s < float(times[0]) <= float(times[-1]) < math.inf:
        return False
    return times.size == 1 or bool((times[1:] > times[:-1]).all())


def _max_gap_frames(rate: float | None, config: PreprocessConfig) -> int:
    """As the batch path has it."""
    if config.max_gap != "auto":
        return to_frames(config.max_gap, rate, "preprocess.max_gap")
    return GAP_FRAMES if rate is None else max(1, round(GAP_SECONDS * rate))
