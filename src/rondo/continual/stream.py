"""Stream: rows in, labels and events out. Preparation, windows and a reader behind one `feed`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.arrays import check_shapes, owned_by
from rondo.continual.journal import Event
from rondo.continual.reading import DEFAULT_RULE, Decision, Due, HasState, Reader, Recent, State, joined_states
from rondo.continual.scaling import Look, StreamScaling
from rondo.data.body import BodyRows
from rondo.data.input_events import fault_of, is_doubtful, is_over
from rondo.data.precision import unmasked
from rondo.data.preparation import Placed, Preparation, Prepared
from rondo.data.recording import Recording, Values
from rondo.data.scaling import Preprocessor
from rondo.data.signal import select, shortened
from rondo.data.windows import StreamWindow, Windower
from rondo.errors import RecordingError
from rondo.files.inputs import common_rate

if TYPE_CHECKING:
    from rondo.data.windows import Windows
    from rondo.motifs.base import MotifTimeline
    from rondo.units.viterbi import Timeline

_WINDOWS_AT_ONCE = 256  # encoded together; what comes out does not depend on it


class StreamReport(NamedTuple):
    """What a stream decided about the rows that it was given; `Rondo.partial_fit` returns one.

    Parameters
    ----------
    decisions : list of Decision
        The labels of windows, in order of time.
    events : list of Event
        Changes of the vocabularies, and gaps and skipped rows of the input, in order.

    Examples
    --------
    >>> import rondo
    >>> from rondo.synthetic import plant
    >>> rows = plant(n_frames=2_000, seed=1).recording.values
    >>> model = rondo.Rondo(window="1.5s", settings={"evidence.surrogates": 0}).fit(rows, rate=50)
    >>> report = model.partial_fit(rows)
    >>> report.decisions[0].start_frame
    0
    """

    decisions: list[Decision]
    events: list[Event]


def rows_in(recording: Recording, preprocessor: Preprocessor, rate: float | None) -> Values:
    """The channels of a model in a recording, by name as `predict` takes them, without names by position."""
    if rate is not None and recording.rate is not None:
        common_rate([recording], rate, "a stream cannot be resampled; fit a model at its rate")
    channels = preprocessor.row_channels
    wanted, there = set(channels), set(recording.channels)
    is_known = wanted == there or (wanted < there and bool(preprocessor.config.channels))
    return recording.values if recording.is_unnamed and not is_known else select(recording, channels)


class Stream:
    """A stream that is read with the vocabularies of a model; where it learns, they grow, and the model stays."""

    def __init__(
        self, preprocessor: Preprocessor, rate: float | None, reader: Reader, scaling: StreamScaling | None = None
    ) -> None:
        """`scaling`: chooses by itself; None: the statistics of the model, as of models and streams of 0.2.0."""
        self.scaling = scaling
        if scaling is not None:
            reader.settle(scaling.setting)
        self.preprocessor, self.rate, self.reader = preprocessor, rate, reader
        self.body = None if preprocessor.body is None else BodyRows(preprocessor.body, rate)
        self.preparation = Preparation(preprocessor.row_plan(rate))
        self.windower = Windower(reader.length_frames, reader.step_frames, preprocessor.n_dims)
        self.rows: ArrayLike = ()  # those that were fed last, in the channels of the model
        self._origin: tuple[int, float | None] = (0, None)  # first frame of the stretch, and its time
        self._next_frame = 0  # the one that follows on the last frame so far
        self._seen: Callable[[int, Values], None] | None = None
        self._doubts: set[tuple[str, str]] = set()  # rule and channel of values that are no measurement now
        self._doubted_until = 0  # the frame from which on there were none

    def watch(self, seen: Callable[[int, Values], None] | None, placed: Placed | None = None) -> None:
        """Show every frame that is prepared from now on, by its number, in the units of the recording.

        `placed` receives the frame of every row.
        """
        self._seen = seen
        if placed is not None:
            self.preparation.tell_places(placed)

    @property
    def n_skipped(self) -> int:
        """Rows that were skipped because of their timestamps."""
        return self.preparation.n_skipped

    def feed(self, values: ArrayLike | Recording, times_s: NDArray[np.float64] | None = None) -> StreamReport:
        """Rows (n_rows, n_channels) as the model reads them, NaN where missing, with their times if they have any.

        Or a Recording, whose channels go by name.
        """
        if isinstance(values, Recording):
            times_s = values.timestamps_s
            values = rows_in(values, self.preprocessor, self.rate)
        report = StreamReport([], [])
        self.rows = self._in_channels(values, times_s)
        for prepared in self.preparation.push(self.rows, times_s):
            self._take(prepared, report)
        self._tell(report)
        return report

    def _in_channels(self, values: ArrayLike, times_s: NDArray[np.float64] | None) -> ArrayLike:
        """Rows in the channels of the model: points become a body."""
        if self.body is None:
            return values
        rows, names = unmasked(values), self.preprocessor.row_channels
        if rows.ndim != 2 or rows.shape[1] != len(names):
            raise RecordingError(
                f"stream: expected rows of {len(names)} columns, {shortened(names)}, got an array of shape {rows.shape}"
            )
        body = self.body.frame
        every = (*body.channels, *names[len(body.sources) :])
        found = self.body.push(rows, None if times_s is None else np.asarray(times_s, np.float64))
        return found[:, [every.index(name) for name in self.preprocessor.channels]]

    def cut(self, cause: str) -> StreamReport:
        """The input begins again: everything held back is decided, and nothing is carried over to the rows to come."""
        if self.body is not None:
            self.body.begin()
        return self._ended(self.preparation.cut(cause))

    def finish(self) -> StreamReport:
        """No more rows: everything held back is read and decided."""
        return self._ended(self.preparation.finish())

    def timelines(self, windows: Windows) -> tuple[Timeline, MotifTimeline]:
        return self.reader.timelines(windows)

    @property
    def standing(self) -> dict[str, str]:
        """By whose statistics it is scaled, and whether the model fits it; "" where that is not known."""
        scaling = self.scaling
        statistics, fit = ("", "") if scaling is None else (scaling.statistics, scaling.fit)
        return {"statistics": statistics, "fit": fit}

    @property
    def n_buffered(self) -> int:
        """Windows that the micro-clusters hold now, as candidates for a new unit."""
        return self.reader.n_buffered

    def _ended(self, last: list[Prepared]) -> StreamReport:
        report = StreamReport([], [])
        for prepared in last:
            self._take(prepared, report)
        self._tell(report)
        self._add(report, self.reader.boundary(self._next_frame))
        return report

    def _take(self, prepared: Prepared, report: StreamReport) -> None:
        """What happened to the input stands before the window that it could touch, in any chunks."""
        if prepared.begins:
            if self._next_frame:
                self._tell(report, prepared.first_frame + 1)
                self._add(report, self.reader.boundary(self._next_frame))
            self._origin = (prepared.first_frame, prepared.time_s)
            if self.scaling is not None:
                self.scaling.begin()
        if self._seen is not None:
            offsets = self.preparation.plan.offsets
            whole = prepared.values + np.array(offsets) if offsets else prepared.values
            self._seen(prepared.first_frame, whole)
        first, begins = prepared.first_frame, prepared.begins
        if self.scaling is None:
            self._read(self.preprocessor.seen_by_model(prepared.values), first, begins, report)
        else:
            for values in self.scaling.parts(prepared.values):
                self._read(self.scaling.seen(values), first, begins, report)
                first, begins = first + len(values), False
                if (look := self.scaling.take(values)) is not None:
                    self._settle(look, first, report)
        self._next_frame = prepared.first_frame + len(prepared.values)

    def _settle(self, look: Look, frame: int, report: StreamReport) -> None:
        """The stream is read otherwise from this frame on."""
        assert self.scaling is not None
        recent = Recent(self.scaling.recent(), frame)
        self.windower.put_kept(recent.values[len(recent.values) - self.windower.n_kept :])
        self.reader.settle(look.setting._replace(recent=recent))
        self._tell(report, frame)
        report.events.extend(Event(kind, "input", frame, self.time_of(frame), (), about) for kind, about in look.news)

    def _read(self, seen: Values, first_frame: int, begins: bool, report: StreamReport) -> None:
        windows = self.windower.push(seen, first_frame, begins=begins)
        while batch := list(islice(windows, _WINDOWS_AT_ONCE)):
            for _, due in zip(self._told(batch, report), self.reader.push_all(batch), strict=True):
                self._add(report, due)

    def _told(self, batch: list[StreamWindow], report: StreamReport) -> Iterator[StreamWindow]:
        """Windows, each after what happened to the input before its end; none with a fault in it teaches anything."""
        for window in batch:
            self._tell(report, window.start_frame + self.reader.length_frames)
            self.reader.learns = not self._doubts and window.start_frame >= self._doubted_until
            yield window

    def _tell(self, report: StreamReport, before_frame: int | None = None) -> None:
        for kind, frame, time_s, evidence in self.preparation.take_events(before_frame):
            report.events.append(Event(kind, "input", frame, time_s, (), evidence))
            if (fault := fault_of(evidence)) is None or not is_doubtful(fault[0]):
                continue
            if is_over(evidence):
                self._doubts.discard(fault)
                self._doubted_until = max(self._doubted_until, frame)
            else:
                self._doubts.add(fault)

    def _add(self, report: StreamReport, found: Due) -> None:
        """Windows whose frames the signal has given to others say nothing."""
        spoken = [own for own in found[0] if own.stop_frame > own.start_frame]
        report.decisions.extend(own._replace(start_s=self.time_of(own.start_frame)) for own in spoken)
        report.events.extend(replace(event, time_s=self.time_of(event.frame)) for event in found[1])

    def time_of(self, frame: int) -> float | None:
        """Seconds of a frame of the present stretch, counted from its first one by the clock; None without a clock."""
        first, time_s = self._origin
        return None if time_s is None or not self.rate else float(time_s + (frame - first) / self.rate)

    def state(self) -> State:
        parts: dict[str, HasState] = {"preparation": self.preparation, "windower": self.windower, "reader": self.reader}
        if self.scaling is not None:
            parts["scaling"] = self.scaling
        if self.body is not None:
            parts["body"] = self.body
        tensors, plain = joined_states(parts)
        plain |= {"origin": list(self._origin), "next_frame": self._next_frame}
        plain["doubts"] = [sorted(map(list, self._doubts)), self._doubted_until]
        if self.reader.rule != DEFAULT_RULE:  # the state of the default has no name for it, as before there were two
            plain["rule"] = self.reader.rule
        return tensors, plain

    @classmethod
    def restore(cls, begun: Stream, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> Stream:
        """The stream that gave this state; `begun` is one that begins from the same model."""
        reader = begun.reader.restored(owned_by("reader", tensors), plain["reader"])
        scaling = begun.scaling if "scaling" in plain else None  # streams of 0.2.0 have none
        if scaling is not None:
            scaling.load(owned_by("scaling", tensors), plain["scaling"])
        stream = cls(begun.preprocessor, begun.rate, reader, scaling)
        prepared = owned_by("preparation", tensors), plain["preparation"]
        stream.preparation = Preparation.restore(stream.preparation.plan, *prepared)
        if stream.body is not None:
            stream.body.load(owned_by("body", tensors))
        kept, grid = owned_by("windower", tensors), plain["windower"]
        check_shapes(kept, {"kept": "frames channels"}, channels=begun.preprocessor.n_dims)
        if (grid["length"], grid["step"]) != (reader.length_frames, reader.step_frames):
            raise ValueError(f"windows of {grid['length']} frames every {grid['step']}")
        stream.windower = Windower.restore(kept, grid)
        first, time_s = plain["origin"]
        stream._origin, stream._next_frame = (int(first), time_s), plain["next_frame"]
        doubts, stream._doubted_until = plain.get("doubts", ((), 0))
        stream._doubts = {(rule, channel) for rule, channel in doubts}
        return stream


def rule_of(plain: Mapping[str, Any]) -> str:
    """The rule by which a stream that gave this state learns."""
    return str(plain.get("rule", DEFAULT_RULE))
