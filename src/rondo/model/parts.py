"""`for part in model.stream(rows)`: rows from any iterator in, what became due out; the last part holds the tail."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.continual.journal import Event
from rondo.continual.reading import Decision
from rondo.continual.stream import Stream, StreamReport
from rondo.data.labels import OTHER
from rondo.data.signal import select
from rondo.errors import RondoWarning
from rondo.files.inputs import are_several, as_recordings, common_rate
from rondo.files.reading import Reading
from rondo.model.describe import stream_summary, words_of
from rondo.result import Result
from rondo.run.decisions import Label, decision_table, label_of, stream_data
from rondo.run.overview import GrowingOverview
from rondo.run.rows import RowFrames, RowPlaces, RowSpan
from rondo.run.segments import LEVELS, to_pandas, whole_columns
from rondo.run.shown import shown_decisions
from rondo.run.summary import StreamSummary
from rondo.units.vocabulary import Level
from rondo.wording import counted

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from rondo.model.rondo import Rondo

_ID = "stream"


@dataclass(frozen=True, eq=False)
class StreamPart:
    """What a stream has decided since the part before."""

    decisions: list[Decision]  # of each window, under the ids that people have kept in merges
    events: list[Event]  # changes of the vocabularies, and gaps and skipped rows of the input
    table: pl.DataFrame = field(repr=False)  # of `segments`

    @property
    def segments(self) -> pd.DataFrame:
        """The segments that have ended since the part before, with the columns of `Result.segments`."""
        return to_pandas(self.table)


class StreamParts:
    """Iterator over the parts of a stream; `Rondo.stream` returns one.

    The last part holds the end of the stream. Rows that are skipped are counted in a RondoWarning. RecordingError is
    raised while iterating if rows have other channels or another rate than the model.
    """

    def __init__(self, model: Rondo, stream: Stream, rows: Iterable[Any]) -> None:
        self._model, self._stream = model, stream
        self._overview = GrowingOverview(model.preprocessor_.channels)
        self._places = RowPlaces()
        self._rows: list[RowSpan] = []
        stream.watch(None, self._places.add)
        self._labels: list[Label] = []
        self._events: list[Event] = []
        self._open = {level: _OpenRun(level) for level in LEVELS}
        self._n_rows, self._finished = 0, False
        self._parts = self._run(rows)

    def __iter__(self) -> Iterator[StreamPart]:
        return self

    def __next__(self) -> StreamPart:
        return next(self._parts)

    def _run(self, rows: Iterable[Any]) -> Iterator[StreamPart]:
        for item in rows:
            is_row = isinstance(item, list | tuple | np.ndarray) and np.ndim(item) == 1  # and no chunk of rows
            values, times_s = rows_of(self._model, np.atleast_2d(item) if is_row else item)
            n_skipped = self._stream.n_skipped
            report = self._stream.feed(values, times_s)
            warn_of_skipped(n_skipped, self._stream.n_skipped)
            self._overview.add(self._n_rows, np.asarray(values, np.float32))
            self._n_rows += len(values)
            part = self._part(report, ended=False)
            if part.decisions or part.events:
                yield part
        self._finished = True
        yield self._part(self._stream.finish(), ended=True)

    def _part(self, report: StreamReport, *, ended: bool) -> StreamPart:
        decisions = shown_decisions(report.decisions, self._model.edits_)
        labels = [label_of(decision, self._model.rate_) for decision in decisions]
        self._labels += labels
        self._rows += self._places.take()
        self._events += report.events
        rows = [row for level in LEVELS for row in self._open[level].ended_by(labels, ended)]
        for row in rows:
            row["name"] = self._model.edits_.name(row["level"], row["id"])
        return StreamPart(decisions, report.events, _table(rows))

    @property
    def result(self) -> Result:
        """The Result of all labels so far; its model has what the stream has learned."""
        model = copy.copy(self._model)
        model.stream_ = self._stream
        counters = StreamSummary(
            finished=self._finished,
            n_rows=self._n_rows,
            n_windows=len(self._labels),
            n_accepted=sum(label["unit"] != OTHER for label in self._labels),
            n_buffered=self._stream.n_buffered,
            n_promoted=sum(event.kind == "promote" for event in self._events),
            n_events=len(self._events),
        )
        base = stream_summary(model, _ID, "", self._n_rows, counters)
        run = stream_data(
            decision_table(self._labels),
            base,
            words_of(model),
            model.edits_,
            lambda about: self._overview.overview(about.n_frames),
            lambda: tuple(self._events),
            RowFrames.of(self._rows),
        )
        return Result(run, _read_model=lambda: model)


def rows_of(model: Rondo, chunk: Any) -> tuple[NDArray[np.float32], NDArray[np.float64] | None]:
    """The channels of the model in a chunk of rows, and the times of the rows; an array stays as it is."""
    if isinstance(chunk, np.ndarray):  # a chunk may well be missing throughout
        return chunk, None
    given = chunk if are_several(chunk) else [chunk]
    (recording,) = as_recordings(given, Reading(known=model.preprocessor_.known_channels))
    if model.rate_ is not None and recording.rate is not None:
        common_rate([recording], model.rate_, "a stream cannot be resampled; fit a model at its rate")
    channels = model.preprocessor_.channels
    by_position = recording.is_unnamed and set(recording.channels) != set(channels)
    values = recording.values if by_position else select(recording, channels)
    return np.asarray(values), recording.timestamps_s


def warn_of_skipped(before: int, now: int) -> None:
    """Say how many rows were skipped so far: the first time, and again when there are ten times as many."""
    if now > before and (not before or len(str(now)) > len(str(before))):
        warnings.warn(
            f"{counted(now, 'row')} of the stream skipped so far: timestamps missing, repeated, earlier than the row "
            "before, or far ahead of the rows after it",
            RondoWarning,
            stacklevel=4,
        )


class _OpenRun:
    """The run of one level that has not ended yet."""

    def __init__(self, level: Level) -> None:
        self._level = level
        self._run: list[Label] = []

    def ended_by(self, labels: list[Label], ended: bool) -> Iterator[dict[str, Any]]:
        """The segments that end where these decisions say something else, or with the stream."""
        for label in labels:
            if label["end_frame"] == label["start_frame"]:  # next to a cut some windows speak for no frame
                continue
            if self._run and not self._goes_on(label):
                yield from self._segment()
                self._run = []
            self._run.append(label)
        if ended and self._run:
            yield from self._segment()
            self._run = []

    def _goes_on(self, label: Label) -> bool:
        last = self._run[-1]
        follows = last["end_frame"] == label["start_frame"] and last[self._level] == label[self._level]
        return follows and not _jumps(last, label)

    def _segment(self) -> Iterator[dict[str, Any]]:
        first, last = self._run[0], self._run[-1]
        if first[self._level] == OTHER:
            return
        frames = np.array([_frames(label) for label in self._run])
        scores = np.array([label[f"{self._level}_score"] for label in self._run])
        units = [label["unit"] for label in self._run] if self._level == "motif" else []
        changes = [unit for place, unit in enumerate(units) if place == 0 or units[place - 1] != unit]
        yield {
            "recording": _ID,
            "level": self._level,
            "id": first[self._level],
            "name": "",
            "start_frame": first["start_frame"],
            "end_frame": last["end_frame"],
            "start_s": first["start_s"],
            "end_s": last["end_s"],
            "score": float((scores * frames).sum() / frames.sum()),
            "units": " ".join(f"u{unit}" for unit in changes if unit != OTHER),
        }


def _frames(label: Label) -> int:
    return int(label["end_frame"] or 0) - int(label["start_frame"] or 0)


def _jumps(last: Label, label: Label) -> bool:
    """Whether the clock goes on by more than a frame between two decisions."""
    if label["start_s"] is None or last["end_s"] is None or label["end_s"] is None:
        return False
    return abs(label["start_s"] - last["end_s"]) > (label["end_s"] - label["start_s"]) / _frames(label)


def _table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    schema = {
        "recording": pl.String, "level": pl.String, "id": pl.Int32, "name": pl.String, "start_frame": pl.Int64,
        "end_frame": pl.Int64, "start_s": pl.Float64, "end_s": pl.Float64, "score": pl.Float64, "units": pl.String,
    }  # fmt: skip
    return whole_columns(pl.DataFrame(rows, schema=schema, orient="row"))
