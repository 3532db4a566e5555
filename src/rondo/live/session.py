"""Session: rows -> labels and events on the disk, each exactly once, however often the process is killed.

The files that grow are brought to the disk before the checkpoint that counts their bytes. A session that is opened
again truncates them to that count, returns to the bookmark of the source and computes the rest again. Nothing depends
on how rows are cut into chunks, nor on the wall clock, so the same bytes are written again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rondo.arrays import owned, owned_by
from rondo.continual.checkpoint import (
    Checkpoint,
    fingerprint,
    load_checkpoint,
    restoring,
    save_checkpoint,
    settings_hash,
)
from rondo.continual.journal import Event
from rondo.continual.reading import Decision
from rondo.continual.stream import Stream, StreamReport
from rondo.data.labels import OTHER
from rondo.data.signal import shortened
from rondo.errors import ModelError, OutputError, RecordingError, SettingError
from rondo.files.missing import MissingCells
from rondo.live.clock import RateCheck
from rondo.live.growing_run import GrowingRun, Outputs
from rondo.live.source import Request, Rows, Skip, Source, open_source, source_kind
from rondo.live.watching import OccurrenceWatch, Sign, Typical
from rondo.model.describe import note_untaught
from rondo.model.method import CHECKPOINT, FROZEN, LEARNING, edits_with
from rondo.run.decisions import Label, label_of
from rondo.run.shown import shown_decisions
from rondo.run.summary import RunSummary, StreamSummary

if TYPE_CHECKING:
    from rondo.model.rondo import Rondo

CHUNK_ROWS = 1000  # the most rows that are held between the source and the stream
WINDOWS_BETWEEN = 1000  # checkpoints are made after so many windows, or
_ROWS_BETWEEN, _SECONDS_BETWEEN = 6_000, 60.0  # so much data, without and with a known rate
_Count = Annotated[int, Field(ge=0, le=1 << 62)]


def stream_of(model: Rondo, found: Checkpoint | None, frozen: bool) -> Stream:
    """The stream that labels: one that begins with the model, or the one in the checkpoint."""
    begun = model.stream(frozen=frozen)
    return begun if found is None else Stream.restore(begun, found.tensors, found.plain["stream"])


def missing_cells(model: Rondo, keep_columns: Sequence[str] = ()) -> MissingCells:
    """Which cells of a stream are missing for a model; columns to keep that it does not look at are refused."""
    known = model.preprocessor_.known_channels
    channels = tuple(channel.name for channel in known)
    names = (*channels, *MissingCells.of(known).beside)
    unknown = [name for name in keep_columns if name not in names]
    if unknown:
        raise SettingError(f"--keep-column {unknown[0]!r}: the model has no such channel; it has {shortened(channels)}")
    return MissingCells.of(known, frozenset(keep_columns))


@dataclass(frozen=True)
class Counters:
    """How far a stream is, counted from its very beginning."""

    n_rows: int = 0
    n_skipped_rows: int = 0  # because of their timestamps
    n_windows: int = 0
    n_accepted: int = 0  # windows that a unit accepted
    n_buffered: int = 0  # windows that micro-clusters hold now, not counted from the beginning
    n_promoted: int = 0
    n_events: int = 0
    n_skipped_lines: int = 0
    n_unreadable_cells: int = 0
    missing_cells: Mapping[str, int] = field(default_factory=dict)  # of channels: numbers and points read as missing

    def after(
        self, rows: Rows | None, decisions: Sequence[Decision], events: Sequence[Event], stream: Stream
    ) -> Counters:
        rows = rows or Rows(np.empty((0, 0), np.float32), None, 0)
        return Counters(
            self.n_rows + len(rows.values),
            stream.n_skipped,
            self.n_windows + len(decisions),
            self.n_accepted + sum(decision.unit != OTHER for decision in decisions),
            stream.n_buffered,
            self.n_promoted + sum(event.kind == "promote" for event in events),
            self.n_events + len(events),
            self.n_skipped_lines + sum(skip.n_lines for skip in rows.skipped),
            self.n_unreadable_cells + rows.n_unreadable,
            # sorted, so that it does not depend on which channel was the first to have some in a chunk
            dict(sorted((Counter(self.missing_cells) + Counter(rows.missing_cells)).items())),
        )


class Written(NamedTuple):
    """What one step has added to the files."""

    labels: list[Label]
    events: list[Event]
    n_rows: int = 0  # that were read for it
    signs: Sequence[Sign] = ()  # alarms about single occurrences


@dataclass(frozen=True)
class SessionPaths:
    """Where a session reads and writes: `where` is what --source names."""

    where: str
    out: Path
    follow: bool = False

    @property
    def checkpoint(self) -> Path:
        return self.out / CHECKPOINT


class GivenSource(NamedTuple):
    """A source that is not opened by its address: one device among many, which share a model."""

    kind: str  # it stands in checkpoints, as does the id
    id: str
    open: Callable[[Request], Source]
    model_sha256: str


class Session:
    """One stream that is being labelled."""

    def __init__(
        self,
        model: Rondo,
        model_folder: Path,
        place: SessionPaths,
        *,
        frozen: bool = False,
        given: GivenSource | None = None,
        keep_columns: Sequence[str] = (),
        typical: Typical | None = None,
    ) -> None:
        """Begin, or go on from the checkpoint if there is one; everything that does not fit is refused.

        `given` is the source where it is not the one that `place.where` names; `keep_columns` are taken as they are;
        `typical`: what occurrences are compared with.
        """
        self._watch = None if typical is None else OccurrenceWatch(typical, model.rate_)
        self._place, self._rate = place, model.rate_
        self._is_alone = given is None  # else the fleet says when there is time for more than labels
        kind, self.id = source_kind(place.where) if given is None else (given.kind, given.id)
        self._missing = missing_cells(model, keep_columns)
        # the fitted settings are part of the model; these are what a stream may change
        settings = {"continual": model.config_.continual.model_dump(mode="json"), "keep_columns": sorted(keep_columns)}
        self._identity = {
            "model_sha256": fingerprint(model_folder) if given is None else given.model_sha256,
            "stream_settings_sha256": settings_hash(settings),
            "source": f"{kind} {self.id}",
            "mode": FROZEN if frozen else LEARNING,
        }
        found = load_checkpoint(place.checkpoint, self._identity)
        plain = state_in(found, place.checkpoint)
        self.finished = bool(plain.get("finished"))
        with restoring(place.checkpoint):
            self.counters = Counters(**plain.get("counters", {}))
        self.resumed = self.counters.n_rows > 0
        if found is None:
            _refuse_foreign_files(place.out)
        self._model = model
        self.edits = edits_with(model, place.checkpoint)
        note_untaught(model)
        self._run = GrowingRun(model, self.id, place.where, place.out)
        self._saved, self._rates = self.counters, RateCheck(model.rate_)
        with restoring(place.checkpoint):
            self._stream = stream_of(model, found, frozen)
            if found is not None:
                self._run.overview.restore(owned_by("overview", found.tensors), plain["overview"])
            self._rates.load(plain.get("rates") or self._rates.state())
        channels = model.preprocessor_.row_channels
        self._source: Source | None = None
        if not self.finished:
            is_fine = bool(model.preprocessor_.offsets)
            request = Request(channels, model.rate_, place.follow, plain.get("source"), self._missing.beside, is_fine)
            self._source = open_source(place.where, request) if given is None else given.open(request)
        try:
            if found is None:  # before there is any file, so that a run killed at once can be begun again
                self._save({}, [], finished=False)
            self._outputs = Outputs(place.out, plain.get("lengths"))
            with restoring(place.checkpoint):
                self._outputs.places.load(plain.get("places") or self._outputs.places.state())
            self._stream.watch(None if self._watch is None else self._watch.see, self._outputs.places.add)
            if not self.finished:
                self._run.begin(model_folder, self.edits, self._progress(), shared=given is not None)
        except BaseException:
            if self._source is not None:
                self._source.close()
            raise

    @property
    def source(self) -> Source:
        if self._source is None:
            raise OutputError(f"{self._place.out}: this stream is finished; choose another --out")
        return self._source

    def step(self) -> Written | None:
        """Read and label the next rows; None where there are none now."""
        self._outputs.look()
        try:
            rows = self.source.read(CHUNK_ROWS)
        except RecordingError:
            self.save()  # what came before the trouble is labelled for good
            raise
        if self._is_alone:
            self._run.show_signal(self.counters.n_rows)
        if rows is None:
            return None
        values, counts = self._missing.read(rows.values, rows.beside)  # codes and doubtful points, cell by cell
        found = {name: n for name, n in zip(self._missing.channels, counts.tolist(), strict=True) if n}
        rows = rows._replace(values=values, beside=None, missing_cells=found)
        reports: list[StreamReport] = []
        for skip in rows.skipped:
            if skip.n_lines:
                reports.append(StreamReport([], [_skip_event(skip, rows, self.counters)]))
            else:  # the input began again, and nobody knows what is missing between
                reports.append(self._stream.cut(skip.reason))
        for start, stop, cause in self._rates.stretches(rows.times_s, len(rows.values)):
            times = None if rows.times_s is None else rows.times_s[start:stop]
            reports.append(self._stream.feed(rows.values[start:stop], times))
            self._run.overview.add(self.counters.n_rows + start, np.asarray(self._stream.rows))
            if cause:
                reports.append(self._stream.cut(cause))
        decisions = [decision for report in reports for decision in report.decisions]
        return self._written(rows, decisions, [event for report in reports for event in report.events])

    def _written(self, rows: Rows | None, decisions: Sequence[Decision], events: list[Event]) -> Written:
        labels = [label_of(decision, self._rate) for decision in shown_decisions(decisions, self.edits)]
        self._outputs.add(labels, events)
        self.counters = self.counters.after(rows, decisions, events, self._stream)
        signs = () if self._watch is None else self._watch.after(labels)
        return Written(labels, events, 0 if rows is None else len(rows.values), signs)

    @property
    def is_due(self) -> bool:
        """Whether it is time for a checkpoint: after so many windows, or so many seconds of data."""
        n_windows, n_rows = self.counters.n_windows - self._saved.n_windows, self.counters.n_rows - self._saved.n_rows
        rows_between = _ROWS_BETWEEN if self._rate is None else max(1, round(_SECONDS_BETWEEN * self._rate))
        return n_windows >= WINDOWS_BETWEEN or n_rows >= rows_between

    def save(self) -> None:
        """Bring the files that grow to the disk, and then say so in a checkpoint; the others if it is time."""
        self.keep()
        if not self.finished:
            self._run.update(self.edits, self._progress())

    def keep(self) -> None:
        """Bring the files that grow to the disk, and then say so in a checkpoint."""
        self._outputs.sync()
        self._save(self._outputs.lengths, self._outputs.places.state(), finished=self.finished)
        self._saved = self.counters
        self.edits = edits_with(self._model, self._place.checkpoint)  # people may have named something meanwhile

    def refresh(self) -> None:
        self._run.refresh(self.edits, self._progress())

    def stop(self) -> None:
        """Someone asked to stop: everything is brought up to date, and the same command goes on from here."""
        self.save()
        self._run.write(self.edits, self._progress())

    def _save(self, lengths: Mapping[str, int], places: list[Any], *, finished: bool) -> None:
        tensors, plain = self._stream.state()
        signal, of_signal = self._run.overview.state()
        about = {
            "finished": finished,
            "source": dict(self.source.bookmark()),
            "lengths": dict(lengths),
            "places": places,
            "rates": self._rates.state(),
            "counters": vars(self.counters),
            "stream": plain,
            "overview": of_signal,
        }
        everything = dict(tensors) | owned("overview", signal)
        save_checkpoint(self._place.checkpoint, Checkpoint(self._identity, about, everything))

    def finish(self) -> Written:
        """The source has ended: decide what is open, and write everything that follows from it."""
        report = self._stream.finish()
        self._outputs.places.end(self.counters.n_rows)
        written = self._written(None, report.decisions, list(report.events))
        self.finished = True
        self._outputs.sync()
        self._run.write(self.edits, self._progress())
        self.save()
        return written

    @property
    def summary(self) -> RunSummary:
        return self._run.summary

    def _progress(self) -> tuple[int, StreamSummary]:
        counts = {name: value for name, value in vars(self.counters).items() if name in StreamSummary.model_fields}
        return self.counters.n_rows, StreamSummary(finished=self.finished, **counts, **self._stream.standing)

    @property
    def fit(self) -> str:
        """The verdict on the stream so far."""
        return self._stream.standing["fit"]

    def close(self) -> None:
        self._outputs.close()
        if self._source is not None:
            self._source.close()


def _skip_event(skip: Skip, rows: Rows, counters: Counters) -> Event:
    """What was dropped, at the row that follows it: rows are counted here, as nobody knows their frames yet."""
    time_s = None if rows.times_s is None or not len(rows.times_s) else float(rows.times_s[0])
    evidence: dict[str, int | str] = {"row": counters.n_rows, **skip._asdict()}
    return Event("skip", "input", counters.n_rows, time_s, (), evidence)


def _refuse_foreign_files(out: Path) -> None:
    """A new run begins in a new folder, which may hold a checkpoint folder without a checkpoint."""
    try:
        others = [path for path in out.iterdir() if path.name != CHECKPOINT] if out.exists() else []
    except OSError as error:
        raise OutputError(f"{out}: cannot be written ({error.strerror}); choose another --out") from None
    if others:
        raise OutputError(
            f"{out}: it holds '{others[0].name}' already, and there is no checkpoint to resume from; "
            "choose another --out"
        )


class SessionState(BaseModel):
    """The fields of `Checkpoint.plain`; what is inside a stream, an overview or a source, they check themselves."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    finished: bool
    source: dict[str, Any]
    lengths: dict[str, _Count]
    places: Any
    rates: Any
    counters: dict[str, _Count | dict[str, _Count]]
    stream: dict[str, Any]
    overview: dict[str, Any]


def state_in(found: Checkpoint | None, folder: Path) -> Mapping[str, Any]:
    """The plain part of a checkpoint; nothing where there is none."""
    if found is None:
        return {}
    try:
        return vars(SessionState.model_validate(found.plain))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part)[:40] for part in first["loc"])
        raise ModelError(f"{folder}: a damaged checkpoint ({where}: {first['msg']}); choose another --out") from None
