"""Stream: rows in, labels and events out. Preparation, windows and a reader behind one `feed`.

Labels of a stream freeze when they are issued, so what it had not learned by then reads OTHER for ever. Read again with
the vocabularies as the stream has grown them, every window is compared with the exemplars of all units there are now,
by the rule of the stream (`updater.py`)

    q_k = distance to the nearest exemplar of unit k / how far it reaches,  OTHER at 1

plus what the unit model says against its own units, and smoothed over each whole stretch instead of a few windows:
nothing waits, nothing is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.arrays import owned, owned_by
from rondo.config.settings import ContinualRule
from rondo.continual.contexts import ContextReader
from rondo.continual.journal import Event
from rondo.continual.phrases import MotifReader
from rondo.continual.reading import Decision, Due, Reader
from rondo.continual.updater import Updater
from rondo.data.labels import OTHER
from rondo.data.preparation import Placed, Preparation, Prepared
from rondo.data.recording import Values
from rondo.data.scaling import Preprocessor
from rondo.data.windows import StreamWindow, Windower
from rondo.errors import ModelError
from rondo.motifs.base import MotifTimeline
from rondo.paper.continual import PublishedReader
from rondo.units.viterbi import Timeline, smooth_spans

if TYPE_CHECKING:
    from rondo.continual.updater import Updater
    from rondo.data.windows import Windows
    from rondo.editing.edits import Edits
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

    def edited(self, edits: Edits) -> StreamReport:
        """Replace the ids of merged entries in the decisions by the ids that were kept; events stay as they are.

        Parameters
        ----------
        edits : Edits
            What people have merged.

        Returns
        -------
        StreamReport
            The changed report.
        """
        decisions = [
            own._replace(unit=edits.kept("unit", own.unit), motif=edits.kept("motif", own.motif))
            for own in self.decisions
        ]
        return StreamReport(decisions, self.events)


class Stream:
    """A stream that is read with the vocabularies of a model; where it learns, they grow, and the model stays."""

    def __init__(self, preprocessor: Preprocessor, rate: float | None, reader: Reader) -> None:
        self.preprocessor, self.rate, self.reader = preprocessor, rate, reader
        self.preparation = Preparation(preprocessor.row_plan(rate))
        self.windower = Windower(reader.length_frames, reader.step_frames, preprocessor.n_dims)
        self._origin: tuple[int, float | None] = (0, None)  # first frame of the stretch, and its time
        self._next_frame = 0  # the one that follows on the last frame so far
        self._seen: Callable[[int, Values], None] | None = None

    def watch(self, seen: Callable[[int, Values], None] | None, placed: Placed | None = None) -> None:
        """Show every frame that is prepared from now on, by its number, in the units of the recording.

        `placed` is told which frame every row has become.
        """
        self._seen = seen
        if placed is not None:
            self.preparation.tell_places(placed)

    @property
    def n_skipped(self) -> int:
        """Rows that were skipped because of their timestamps."""
        return self.preparation.n_skipped

    @property
    def updater(self) -> Updater:
        """What a stream that learns by exemplars has learned."""
        if isinstance(self.reader, PublishedReader):
            raise ModelError("this stream learns by the published rule; what it has learned is in its reader")
        if not isinstance(self.reader, Updater):
            raise ModelError("a frozen stream learns nothing, so there is nothing to read with; use the model itself")
        return self.reader

    def feed(self, values: ArrayLike, times_s: NDArray[np.float64] | None = None) -> StreamReport:
        """Rows (n_rows, n_channels) in the model's channels, NaN where missing, with their times if they have any."""
        report = StreamReport([], [])
        for prepared in self.preparation.push(values, times_s):
            self._take(prepared, report)
        self._tell(report)
        return report

    def cut(self, cause: str) -> StreamReport:
        """The input begins again: everything held back is decided, and nothing is carried over to the rows to come."""
        return self._ended(self.preparation.cut(cause))

    def finish(self) -> StreamReport:
        """No more rows: everything held back is read and decided."""
        return self._ended(self.preparation.finish())

    def timelines(self, windows: Windows) -> tuple[Timeline, MotifTimeline]:
        """Units and motifs of a recording read again with the vocabularies as they are now; nothing here changes."""
        if isinstance(self.reader, PublishedReader):
            return self.reader.timelines(windows)
        return read_anew(self.updater, windows)

    def spend(self) -> None:
        """Read one more window and end: a restored state whose parts do not fit fails here. Use a copy."""
        window = np.zeros((self.preprocessor.n_dims, self.reader.length_frames), np.float32)
        self.reader.push(window, self._next_frame)
        self.finish()

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
        if self._seen is not None:
            self._seen(prepared.first_frame, prepared.values)
        seen = self.preprocessor.seen_by_model(prepared.values)
        windows = self.windower.push(seen, prepared.first_frame, begins=prepared.begins)
        while batch := list(islice(windows, _WINDOWS_AT_ONCE)):
            for window, due in zip(batch, self._read(batch), strict=True):
                self._tell(report, window.start_frame + self.reader.length_frames)
                self._add(report, due)
        self._next_frame = prepared.first_frame + len(prepared.values)

    def _read(self, windows: Sequence[StreamWindow]) -> Iterable[Due]:
        """What becomes due with each of these windows."""
        if isinstance(self.reader, Updater):
            return self.reader.push_all(windows)
        return (self.reader.push(*window) for window in windows)

    def _tell(self, report: StreamReport, before_frame: int | None = None) -> None:
        for kind, frame, time_s, evidence in self.preparation.take_events(before_frame):
            report.events.append(Event(kind, "input", frame, time_s, (), evidence))

    def _add(self, report: StreamReport, found: Due) -> None:
        """Windows whose frames the signal has given to others say nothing."""
        spoken = [own for own in found[0] if own.stop_frame > own.start_frame]
        report.decisions.extend(own._replace(start_s=self.time_of(own.start_frame)) for own in spoken)
        report.events.extend(replace(event, time_s=self.time_of(event.frame)) for event in found[1])

    def time_of(self, frame: int) -> float | None:
        """Seconds of a frame of the present stretch, counted from its first one by the clock; None without a clock."""
        first, time_s = self._origin
        return None if time_s is None or not self.rate else float(time_s + (frame - first) / self.rate)

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly: tensors and plain values."""
        tensors: dict[str, NDArray[np.generic]] = {}
        plain: dict[str, Any] = {"origin": list(self._origin), "next_frame": self._next_frame}
        if isinstance(self.reader, PublishedReader):
            plain["rule"] = "published"  # the state of the other rule has no name for it, as before there were two
        parts = (("preparation", self.preparation), ("windower", self.windower), ("reader", self.reader))
        for name, part in parts:
            own, plain[name] = part.state()
            tensors |= owned(name, own)
        return tensors, plain

    @classmethod
    def restore(cls, begun: Stream, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> Stream:
        """The stream that gave this state; `begun` is one that begins from the same model."""
        reader = begun.reader.restored(owned_by("reader", tensors), plain["reader"])
        stream = cls(begun.preprocessor, begun.rate, reader)
        prepared = owned_by("preparation", tensors), plain["preparation"]
        stream.preparation = Preparation.restore(stream.preparation.plan, *prepared)
        stream.windower = Windower.restore(owned_by("windower", tensors), plain["windower"])
        first, time_s = plain["origin"]
        stream._origin, stream._next_frame = (int(first), time_s), plain["next_frame"]
        return stream


def rule_of(plain: Mapping[str, Any]) -> ContinualRule:
    """The rule by which a stream that gave this state learns."""
    rule: ContinualRule = plain.get("rule", "exemplars")
    return rule


def read_anew(updater: Updater, windows: Windows) -> tuple[Timeline, MotifTimeline]:
    """Unit and motif of every window of one signal; the distance of a window of no unit is that to the nearest one."""
    units = _units(updater, windows)
    return units, _motifs(updater.motifs, units)


def _units(updater: Updater, windows: Windows) -> Timeline:
    spans = windows.grid.window_spans
    if not spans:
        return Timeline(np.zeros(0, np.int32), np.zeros(0), ())
    points = updater.encoder.encode(windows).astype(np.float64)
    q = np.array([updater.units.distances(point) for point in points]) / updater.reaches()
    states = smooth_spans(updater.path_costs(points, q), spans, updater.viterbi.penalty)  # state 0 is OTHER
    ids = np.array([OTHER, *updater.units.ids], dtype=np.int32)[states]
    of_state = np.column_stack([q.min(axis=1), q])
    return Timeline(ids, of_state[np.arange(len(q)), states], tuple(spans))


def _motifs(reader: MotifReader | ContextReader, units: Timeline) -> MotifTimeline:
    """Each stretch is read as a whole."""
    read = [motif for start, stop in units.spans for motif in reader.read(units.ids[start:stop])]
    ids = np.array([motif for motif, _ in read], dtype=np.int32)
    begins = np.diff(ids, prepend=OTHER - 1) != 0
    begins[[start for start, _ in units.spans]] = True
    return MotifTimeline(ids, np.array([score for _, score in read]), begins)
