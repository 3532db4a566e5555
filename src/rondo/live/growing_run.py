"""What a stream writes as it goes on: labels.csv, rows.csv and events.jsonl, which only grow, and the run folder around
them, which follows from these and is brought up to date as they grow.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rondo.continual.journal import AppendOnly, Event, append_events
from rondo.editing.edits import Edits
from rondo.editing.edits_file import write_edits
from rondo.model.describe import fitted_ids, stream_summary, words_of
from rondo.report.contents import kept_wish
from rondo.report.render import write_page
from rondo.result import Result
from rondo.run.decisions import COLUMNS, DECISIONS, EVENTS, Label, stored_stream
from rondo.run.overview import (
    GrowingOverview,
    overview_path,
    stored_overview,
)
from rondo.run.rows import ROWS, ROWS_HEADER, RowPlaces
from rondo.run.summary import RunSummary, StreamSummary
from rondo.run.writer import RunWriter
from rondo.store.folder import clear_drafts, link_file, make_folder, open_draft, write_bytes
from rondo.store.model_file import EDITS, MOST_BYTES
from rondo.store.reading import read_regular

if TYPE_CHECKING:
    from rondo.model.rondo import Rondo

_HEADER = ",".join(COLUMNS) + "\n"
_SECONDS_BETWEEN_LOOKS = 2.0
_GOES_ON = "make room or give permission, then start the same command again: it goes on from its last checkpoint"
_SECONDS_BETWEEN, _TIMES_AS_LONG = 30.0, 20.0  # between updates: at least so many, and so much longer than one takes
_SIGNAL_SECONDS, _SIGNAL_TIMES_AS_LONG = 1.0, 50.0  # the same for the signal alone, which live pages show
_MOST_BYTES = 1 << 25  # of labels.csv that are read again for an update while the stream goes on
Reached = tuple[int, StreamSummary]
"""Rows so far, and the counters."""


class Outputs:
    """The files that grow, and what is made of them at the end."""

    def __init__(self, out: Path, lengths: Mapping[str, int] | None = None) -> None:
        """Open the files of a run, cut back to the lengths in its checkpoint; they are new where these are 0."""
        self.out = out
        lengths = lengths or {}
        make_folder(out, advice=_GOES_ON)
        self.places = RowPlaces()
        self._look_at = 0.0
        self._rows = AppendOnly(out / ROWS, lengths.get(ROWS, 0))
        self._labels = AppendOnly(out / DECISIONS, lengths.get(DECISIONS, 0))
        self._events = AppendOnly(out / EVENTS, lengths.get(EVENTS, 0))
        for file, header in ((self._rows, ROWS_HEADER), (self._labels, _HEADER)):
            if not file.n_bytes:
                file.append(header)

    @property
    def lengths(self) -> dict[str, int]:
        return {file.path.name: file.n_bytes for file in self._files}

    @property
    def _files(self) -> tuple[AppendOnly, ...]:
        return self._rows, self._labels, self._events

    def add(self, labels: Sequence[Label], events: Iterable[Event]) -> None:
        spans = "".join(span.line() for span in self.places.take())
        if spans:
            self._rows.append(spans)  # before the labels of these rows: whoever reads labels finds their rows
        lines = (",".join("" if value is None else str(value) for value in label.values()) for label in labels)
        text = "".join(line + "\n" for line in lines)
        if text:
            self._labels.append(text)
        append_events(self._events, events)

    def look(self) -> None:
        """Now and then: whether the files are still there, so that a stream does not go on for nobody."""
        if time.monotonic() >= self._look_at:
            self.check()

    def check(self) -> None:
        """Refuse to go on where a file is gone; a checkpoint would be made in a folder that somebody has removed."""
        for file in self._files:
            file.check()
        self._look_at = time.monotonic() + _SECONDS_BETWEEN_LOOKS

    def sync(self) -> None:
        """Return when all that was added is on the disk: a checkpoint may count it then."""
        self.check()
        for file in self._files:
            file.sync()

    def close(self) -> None:
        for file in self._files:
            file.close()


class GrowingRun:
    """Knows everything that the folder says beside labels and events."""

    def __init__(self, model: Rondo, id: str, source: str, out: Path) -> None:
        self._model, self._id, self._source, self._out = model, id, source, out
        self.overview = GrowingOverview(model.preprocessor_.channels)
        self._not_before = self._signal_not_before = 0.0
        self._n_rows_shown = 0
        self.summary: RunSummary

    def begin(self, model_folder: Path, edits: Edits, progress: Reached, *, shared: bool) -> None:
        """The model that the stream began with, and what there is to say before anything has come."""
        copy_model(model_folder, self._out / "model", self._model.edits_.among(fitted_ids(self._model)), shared)
        self._write(self._result(edits, progress))
        self._not_before = time.monotonic() + _SECONDS_BETWEEN

    def update(self, edits: Edits, progress: Reached) -> None:
        """Segments and summary, if it is time: the longer the stream, the less often."""
        began = time.monotonic()
        if began < self._not_before:
            return
        self.refresh(edits, progress)
        took = time.monotonic() - began
        self._not_before = time.monotonic() + max(_SECONDS_BETWEEN, _TIMES_AS_LONG * took)

    def show_signal(self, n_rows: int) -> None:
        """The signal so far, if it is time: for live pages; it need not survive the machine, nor be written at all."""
        began = time.monotonic()
        if began < self._signal_not_before or n_rows == self._n_rows_shown:
            return
        self._n_rows_shown = n_rows
        with suppress(OSError), open_draft(overview_path(self._out, self._id)) as file:
            file.write(stored_overview(self.overview.overview(n_rows)))
        now = time.monotonic()
        self._signal_not_before = now + max(_SIGNAL_SECONDS, _SIGNAL_TIMES_AS_LONG * (now - began))

    def refresh(self, edits: Edits, progress: Reached) -> None:
        """Segments and summary, as long as they are made in little time and memory: all of labels.csv is read."""
        if max((self._out / name).stat().st_size for name in (DECISIONS, ROWS)) <= _MOST_BYTES:
            self._write(self._result(edits, progress))

    def write(self, edits: Edits, progress: Reached) -> None:
        """Everything: labels of every row, scores, segments, summary and report."""
        result = self._result(edits, progress)
        self._write(result, whole=True)
        write_page(result, self._out / "report.html", kept_wish(self._out))

    def _write(self, result: Result, *, whole: bool = False) -> None:
        arrays = (result.run.scores[self._id], result.run.labellings[self._id]) if whole else ()
        for name in ("overview", "scores", "units", "labels") if whole else ():
            clear_drafts(self._out / name / self._id)  # of a run that was killed
        writer = RunWriter(self._out)
        writer.add(self._id, result.run.overviews[self._id], *arrays)
        self.summary = result.summary
        writer.close(result.summary, {"segments": result.run.tables["segments"]})

    def _result(self, edits: Edits, progress: Reached) -> Result:
        model = copy.copy(self._model)
        model.edits_ = edits
        base = stream_summary(model, self._id, self._source, *progress)
        signal = lambda about: self.overview.overview(about.n_frames)  # noqa: E731
        return Result(stored_stream(self._out, base, words_of(model), edits, signal))


def copy_model(source: Path, target: Path, edits: Edits, shared: bool = False) -> None:
    """The files of a model folder; the manifest comes last, so that a folder with one is whole.

    `shared`: as second names of the same files, which nobody writes into: a thousand devices have one model.
    """
    make_folder(target.parent, target.name)
    if not (target / "manifest.json").is_file():
        for path in sorted(source.iterdir(), reverse=True):
            if not path.is_file() or EDITS in path.name or (shared and link_file(path, target / path.name)):
                continue
            write_bytes(target / path.name, read_regular(path, MOST_BYTES))
    if edits.history:
        write_edits(target, edits)
