"""Stream: rows in, labels and events out. Frames, windows and the updater behind one `feed`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.continual.events import Event
from rondo.continual.frames import Frames, Prepared
from rondo.continual.relabelling import read_anew
from rondo.continual.updater import Decision, Updater
from rondo.continual.windower import Boundary, Windower
from rondo.data.preprocess import Preprocessor
from rondo.data.recording import Values
from rondo.tensors import owned, owned_by

if TYPE_CHECKING:
    from rondo.data.windows import Windows
    from rondo.motifs.base import MotifTimeline
    from rondo.units.timeline import Timeline
    from rondo.vocabulary.edits import Edits


class StreamReport(NamedTuple):
    """What became due: decisions and events, each in its order."""

    decisions: list[Decision]
    events: list[Event]

    def edited(self, edits: Edits) -> StreamReport:
        """With decisions under the ids that people have kept; events stay those of the learner."""
        decisions = [
            own._replace(unit=edits.kept("unit", own.unit), motif=edits.kept("motif", own.motif))
            for own in self.decisions
        ]
        return StreamReport(decisions, self.events)


class Stream:
    """A stream that is read with the vocabularies of a model, which grow with it; the model stays as it is."""

    def __init__(self, preprocessor: Preprocessor, rate: float | None, updater: Updater) -> None:
        self.preprocessor, self.rate, self.updater = preprocessor, rate, updater
        n_dims = len(preprocessor.components) or len(preprocessor.channels)
        self.frames = Frames(preprocessor, rate)
        self.windower = Windower(updater.length_frames, updater.step_frames, n_dims)
        self._origin: tuple[int, float | None] = (0, None)  # first frame of the stretch, and its time
        self._next_frame = 0  # the one that follows on the last frame so far
        self._seen: Callable[[int, Values], None] | None = None

    def watch(self, seen: Callable[[int, Values], None]) -> None:
        """Show every frame that is prepared from now on, by its number: unscaled, or along its axes after a PCA."""
        self._seen = seen

    def feed(self, values: ArrayLike, times_s: NDArray[np.float64] | None = None) -> StreamReport:
        """Rows (n_rows, n_channels) in the model's channels, NaN where missing, with their times if they have any."""
        report = StreamReport([], [])
        for prepared in self.frames.push(values, times_s):
            self._take(prepared, report)
        report.events.extend(self.frames.take_events())
        return report

    def cut(self, cause: str) -> StreamReport:
        """The input begins anew: everything held back is decided, and nothing is carried over to the rows to come."""
        return self._ended(self.frames.cut(cause))

    def finish(self) -> StreamReport:
        """No more rows: everything held back is read and decided."""
        return self._ended(self.frames.finish())

    def timelines(self, windows: Windows) -> tuple[Timeline, MotifTimeline]:
        """Units and motifs of a recording read anew with the vocabularies as they are now; nothing here changes."""
        return read_anew(self.updater, windows)

    def spend(self) -> None:
        """Read one more window and end: a restored state whose parts do not fit fails here. Use a copy."""
        updater, n_dims = self.updater, len(self.preprocessor.components) or len(self.preprocessor.channels)
        updater.push(np.zeros((n_dims, updater.length_frames), np.float32), self._next_frame)
        self.finish()

    @property
    def n_buffered(self) -> int:
        """Windows that the micro-clusters hold now, as candidates for a new unit."""
        return sum(self.updater.buffer.sets.seen)

    def _ended(self, last: list[Prepared]) -> StreamReport:
        report = StreamReport([], [])
        for prepared in last:
            self._take(prepared, report)
        report.events.extend(self.frames.take_events())
        self._add(report, self.updater.finish(self._next_frame))
        return report

    def _take(self, prepared: Prepared, report: StreamReport) -> None:
        ended, origin = self._next_frame, (prepared.first_frame, prepared.time_s)
        if not ended:
            self._origin = origin
        if self._seen is not None:
            self._seen(prepared.first_frame, self.preprocessor.unscaled(prepared.values))
        for item in self.windower.push(prepared):
            # What happened to the input stands before the window that it could touch, in any chunks.
            if isinstance(item, Boundary):
                report.events.extend(self.frames.take_events(item.frame + 1))
                self._add(report, self.updater.boundary(ended))
                self._origin = origin
            else:
                report.events.extend(self.frames.take_events(item.start_frame + self.updater.length_frames))
                self._add(report, self.updater.push(item.values, item.start_frame))
        self._next_frame = prepared.first_frame + len(prepared.values)

    def _add(self, report: StreamReport, found: tuple[list[Decision], list[Event]]) -> None:
        report.decisions.extend(own._replace(start_s=self.time_of(own.start_frame)) for own in found[0])
        report.events.extend(replace(event, time_s=self.time_of(event.frame)) for event in found[1])

    def time_of(self, frame: int) -> float | None:
        """Seconds of a frame of the present stretch, counted from its first one by the clock; None without a clock."""
        first, time_s = self._origin
        return None if time_s is None or not self.rate else float(time_s + (frame - first) / self.rate)

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly: tensors and plain values."""
        tensors: dict[str, NDArray[np.generic]] = {}
        plain: dict[str, Any] = {"origin": list(self._origin), "next_frame": self._next_frame}
        for name, part in (("frames", self.frames), ("windower", self.windower), ("updater", self.updater)):
            own, plain[name] = part.state()
            tensors |= owned(name, own)
        return tensors, plain

    @classmethod
    def restore(cls, begun: Stream, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> Stream:
        """The stream that gave this state; `begun` is one that begins from the same model."""
        updater = Updater.restore(begun.updater, owned_by("updater", tensors), plain["updater"])
        stream = cls(begun.preprocessor, begun.rate, updater)
        stream.frames = Frames.restore(begun.preprocessor, begun.rate, owned_by("frames", tensors), plain["frames"])
        stream.windower = Windower.restore(owned_by("windower", tensors), plain["windower"])
        first, time_s = plain["origin"]
        stream._origin, stream._next_frame = (int(first), time_s), plain["next_frame"]
        return stream
