"""`for part in model.stream(rows)`: rows from any iterator in, what became due out; the last part holds the tail."""

from __future__ import annotations

import copy
import reprlib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.continual.journal import Event
from rondo.continual.reading import Decision
from rondo.continual.stream import Stream, StreamReport, rows_in
from rondo.data.labels import OTHER
from rondo.data.precision import unmasked
from rondo.errors import RecordingError, RondoWarning
from rondo.files.columns import has_no_values
from rondo.files.inputs import are_several, as_recordings, rows_in_table
from rondo.files.reading import Reading
from rondo.forks import refuse_forked
from rondo.model.describe import note_untaught, stream_summary, words_of
from rondo.result import Result, known
from rondo.run.decisions import Label, decided_segments, decision_table, label_of, stream_data
from rondo.run.overview import GrowingOverview
from rondo.run.rows import RowFrames, RowPlaces, RowSpan
from rondo.run.segments import LEVELS, to_pandas
from rondo.run.shown import named, shown_decisions
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
        note_untaught(model)
        self._overview = GrowingOverview(model.preprocessor_.channels)
        self._places = RowPlaces()
        self._rows: list[RowSpan] = []
        stream.watch(None, self._places.add)
        self._labels: list[Label] = []
        self._events: list[Event] = []
        self._open = OpenSegments()
        self._n_rows, self._finished = 0, False
        self._parts = self._run(rows)

    def __iter__(self) -> Iterator[StreamPart]:
        return self

    def __next__(self) -> StreamPart:
        return next(self._parts)

    def _run(self, rows: Iterable[Any]) -> Iterator[StreamPart]:
        if not isinstance(rows, Iterable):
            raise RecordingError(f"expected rows, chunks of rows or a recording, got {reprlib.repr(rows)}")
        for item in rows:
            are_rows = isinstance(item, list | tuple) and len(item) > 0 and isinstance(item[0], Mapping)
            is_row = isinstance(item, list | tuple | np.ndarray) and np.ndim(item) == 1 and not are_rows
            values, times_s = rows_of(self._model, np.atleast_2d(item) if is_row else item)
            n_skipped = self._stream.n_skipped
            report = self._stream.feed(values, times_s)
            warn_of_skipped(n_skipped, self._stream.n_skipped)
            self._overview.add(self._n_rows, np.asarray(self._stream.rows, np.float32))
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
        table = named(self._open.ended_by(labels, ended), self._model.edits_)
        return StreamPart(decisions, report.events, table)

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
            **self._stream.standing,
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
        return Result(run, _read_model=partial(known, model))


def rows_of(model: Rondo, chunk: Any) -> tuple[NDArray[np.float32], NDArray[np.float64] | None]:
    """The channels of the model in a chunk of rows, and the times of the rows; an array of these stays as it is."""
    refuse_forked()
    preprocessor = model.preprocessor_
    chunk = _named_row(chunk)
    if isinstance(chunk, Mapping):
        names = preprocessor.row_channels
        if chunk.keys() == set(names) and all(isinstance(it, float | int) for it in chunk.values()):
            return np.array([[chunk[name] for name in names]], np.float32), None  # no clock, no text
        are_columns = any(isinstance(value, list | tuple | np.ndarray) for value in chunk.values())
        chunk = rows_in_table(chunk if are_columns else [chunk])
    n_learned_from = len(preprocessor.row_channels) + len(preprocessor.left_out)
    if isinstance(chunk, np.ndarray) and (not preprocessor.left_out or chunk.shape[1:] != (n_learned_from,)):
        return unmasked(chunk), None  # a chunk may well be missing throughout
    given = chunk if are_several(chunk) else [chunk]
    (recording,) = as_recordings(given, Reading(known=preprocessor.known_channels))
    if silent := [name for name in preprocessor.channels if has_no_values(name) in recording.notes]:  # in this chunk
        values = np.hstack([recording.values, np.full((recording.n_frames, len(silent)), np.nan, np.float32)])
        recording = replace(recording, values=values, channels=(*recording.channels, *silent))
    return np.asarray(rows_in(recording, preprocessor, model.rate_)), recording.timestamps_s


def _named_row(chunk: Any) -> Any:
    """A row of a pandas table, as `iterrows` gives it, as a mapping; everything else as it is."""
    is_row = hasattr(chunk, "to_dict") and hasattr(chunk, "index") and not hasattr(chunk, "columns")
    return chunk.to_dict() if is_row and all(isinstance(name, str) for name in chunk.index) else chunk


def warn_of_skipped(before: int, now: int) -> None:
    """Say how many rows were skipped so far: the first time, and again when there are ten times as many."""
    if now > before and (not before or len(str(now)) > len(str(before))):
        warnings.warn(
            f"{counted(now, 'row')} of the stream skipped so far: timestamps missing, repeated, earlier than the row "
            "before, or far ahead of the rows after it",
            RondoWarning,
            stacklevel=4,
        )


class OpenSegments:
    """The decisions of segments that have not ended yet, by level."""

    def __init__(self) -> None:
        self._open: dict[Level, list[Label]] = {level: [] for level in LEVELS}

    def ended_by(self, labels: list[Label], ended: bool) -> pl.DataFrame:
        """The segments that end where these decisions say something else, or with the stream."""
        import polars as pl

        tables = []
        for level in LEVELS:
            done: list[Label] = []
            for label in labels:
                if label["end_frame"] == label["start_frame"]:  # next to a cut some windows speak for no frame
                    continue
                if self._open[level] and not _goes_on(self._open[level][-1], label, level):
                    done, self._open[level] = done + self._open[level], []
                self._open[level].append(label)
            if ended:
                done, self._open[level] = done + self._open[level], []
            if done:
                table = decided_segments(decision_table(done), _ID)
                tables.append(table.filter(table["level"] == level))
        return pl.concat(tables) if tables else _no_segments()


@cache
def _no_segments() -> pl.DataFrame:
    return decided_segments(decision_table([]), _ID)


def _goes_on(last: Label, label: Label, level: Level) -> bool:
    """Whether a decision continues the one before: in frames, in time, and with the same label."""
    start_s, end_s, before_s = label["start_s"], label["end_s"], last["end_s"]
    if last["end_frame"] != label["start_frame"] or last[level] != label[level]:
        return False
    if start_s is None or end_s is None or before_s is None:
        return True
    n_frames = int(label["end_frame"] or 0) - int(label["start_frame"] or 0)
    return abs(start_s - before_s) <= (end_s - start_s) / n_frames
