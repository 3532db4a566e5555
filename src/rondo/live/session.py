"""Session: rows -> labels and events on the disk, each exactly once, however often the process is killed.

The files that grow are brought to the disk before the checkpoint that counts their bytes. A session that is opened
again cuts them back to that count, goes back to the bookmark of the source, and computes the rest anew; since nothing
depends on how rows are cut into chunks, nor on the wall clock, the same bytes are written again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.continual.checkpoint import Checkpoint, load_checkpoint, save_checkpoint, settings_hash
from rondo.continual.events import Event
from rondo.data.labels import OTHER
from rondo.errors import ModelError, OutputError, RecordingError
from rondo.live.base import Rows, Skip, Source, open_source, source_kind
from rondo.live.outputs import Decision, Label, Outputs, label_of
from rondo.tensors import Tensors
from rondo.vocabulary.edit_file import read_edits
from rondo.vocabulary.edits import Edits
from rondo.vocabulary.vocabulary import Level

if TYPE_CHECKING:
    from rondo.continual import stream as stream_module
    from rondo.model import Rondo

CHUNK_ROWS = 1000  # the most rows that are held between the source and the stream
_FROZEN, _LEARNING = "frozen", "learning"  # the modes of a stream, as checkpoints know them
_ROWS_BETWEEN, _SECONDS_BETWEEN = 6_000, 60.0  # of data between checkpoints, without and with a known rate


class Report(Protocol):
    """What feeding some rows gave."""

    @property
    def decisions(self) -> Sequence[Decision]: ...
    @property
    def events(self) -> Sequence[Event]: ...


class Stream(Protocol):
    """Rows in, decisions and events out; its state is everything it knows."""

    def feed(self, values: NDArray[np.float32], times_s: NDArray[np.float64] | None = None, /) -> Report: ...
    def cut(self, cause: str, /) -> Report: ...
    def finish(self) -> Report: ...
    @property
    def n_buffered(self) -> int: ...
    def state(self) -> tuple[Tensors, Mapping[str, Any]]: ...


def stream_of(model: Rondo, found: Checkpoint | None, frozen: bool) -> Stream:
    """The stream that labels: one that begins with the model, or the one in the checkpoint."""
    from rondo.continual import stream

    begun = model.stream(frozen=frozen)
    return begun if found is None else stream.Stream.restore(begun, found.tensors, found.plain["stream"])


def grown_stream(model: Rondo, model_sha256: str, where: Path) -> stream_module.Stream:
    """The stream as it stands in the last checkpoint of a session that began with this model.

    `where` is the --out of the session, or its --checkpoint; the session may be running.
    """
    from rondo.continual import stream

    folder = checkpoint_folder(where)
    is_there = folder.is_dir() and any(path.name.isdigit() for path in folder.iterdir())
    found = load_checkpoint(folder, {"model_sha256": model_sha256}) if is_there else None
    if found is None:
        raise ModelError(f"{where}: it holds no checkpoint; give the --out, or the --checkpoint, of `rondo stream`")
    try:
        begun = model.stream(frozen=found.identity.get("mode") == _FROZEN)
        return stream.Stream.restore(begun, found.tensors, found.plain["stream"])
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise ModelError(f"{folder}: its parts do not fit together ({error}); give another --stream") from None


def edits_with(model: Rondo, checkpoint: Path) -> Edits:
    """What people have edited in the model that a stream began with, and then in the stream itself.

    Entries that the model has learned in a stream of its own are left out: their ids mean others here.
    """
    return model.edits_.among(model.fitted_ids()).then(read_edits(checkpoint))


def checkpoint_folder(where: Path) -> Path:
    """Of the --out of a session, or of its --checkpoint."""
    return where / "checkpoint" if (where / "checkpoint").is_dir() else where


@dataclass(frozen=True)
class Counters:
    """How far a stream is, counted from its very beginning."""

    n_rows: int = 0
    n_frames: int = 0  # up to the end of the last decision
    n_windows: int = 0
    n_accepted: int = 0  # windows that a unit accepted
    n_buffered: int = 0  # windows that micro-clusters hold now, not counted from the beginning
    n_promoted: int = 0
    n_events: int = 0
    n_skipped_lines: int = 0
    n_unreadable_cells: int = 0
    has_clock: bool = False

    def after(
        self, rows: Rows | None, decisions: Sequence[Decision], events: Sequence[Event], n_buffered: int
    ) -> Counters:
        return Counters(
            self.n_rows + (0 if rows is None else len(rows.values)),
            max([self.n_frames, *(int(decision.stop_frame) for decision in decisions)]),
            self.n_windows + len(decisions),
            self.n_accepted + sum(decision.unit != OTHER for decision in decisions),
            n_buffered,
            self.n_promoted + sum(event.kind == "promote" for event in events),
            self.n_events + len(events),
            self.n_skipped_lines + (0 if rows is None else sum(skip.n_lines for skip in rows.skipped)),
            self.n_unreadable_cells + (0 if rows is None else rows.n_unreadable),
            self.has_clock or (rows is not None and rows.times_s is not None),
        )


class Written(NamedTuple):
    """What one step has added to the files."""

    labels: list[Label]
    events: list[Event]


@dataclass(frozen=True)
class Place:
    """Where a session reads and writes: `where` is what --source names."""

    where: str
    out: Path
    checkpoint: Path
    follow: bool = False


class Session:
    """One stream that is being labelled."""

    def __init__(
        self, model: Rondo, model_sha256: str, place: Place, windows_between: int = 1000, *, frozen: bool = False
    ) -> None:
        """Begin, or go on from the checkpoint if there is one; everything that does not fit is refused."""
        self._place, self._rate, self._windows_between = place, model.rate_, windows_between
        kind, self.id = source_kind(place.where)
        settings = settings_hash(model.config_.model_dump(mode="json"))
        self._identity = {"model_sha256": model_sha256, "settings_sha256": settings, "source": f"{kind} {self.id}"}
        self._identity["mode"] = _FROZEN if frozen else _LEARNING
        found = load_checkpoint(place.checkpoint, self._identity)
        plain: Mapping[str, Any] = {} if found is None else found.plain
        self.resumed = found is not None and plain["counters"]["n_rows"] > 0
        self.finished = bool(plain.get("finished"))
        self.counters = Counters(**plain.get("counters", {}))
        if found is None:
            _refuse_foreign_files(place.out, place.checkpoint)
        self.edits = edits_with(model, place.checkpoint)
        self._stream = stream_of(model, found, frozen)
        self._saved = self.counters
        channels = model.preprocessor_.channels
        self._source: Source | None = None
        if not self.finished:
            bookmark = plain.get("source")
            self._source = open_source(place.where, channels, follow=place.follow, bookmark=bookmark)
        try:
            if found is None:  # before there is any file, so that a run killed at once can be begun again
                self._save({}, finished=False)
            self._outputs = Outputs(place.out, plain.get("lengths"))
        except BaseException:
            if self._source is not None:
                self._source.close()
            raise

    @property
    def source(self) -> Source:
        if self._source is None:
            raise OutputError(f"{self._place.out}: this stream is finished; choose another --out and --checkpoint")
        return self._source

    def step(self) -> Written | None:
        """Read and label the next rows; None where there are none now."""
        try:
            rows = self.source.read(CHUNK_ROWS)
        except RecordingError:
            self.save()  # what came before the trouble is labelled for good
            raise
        if rows is None:
            return None
        decisions: list[Decision] = []
        events: list[Event] = []
        for skip in rows.skipped:
            if skip.n_lines:
                events.append(_skip_event(skip, rows, self.counters))
            else:  # the input began anew, and nobody knows what is missing between
                report = self._stream.cut(skip.reason)
                decisions, events = [*decisions, *report.decisions], [*events, *report.events]
        if len(rows.values):
            report = self._stream.feed(rows.values, rows.times_s)
            decisions, events = [*decisions, *report.decisions], [*events, *report.events]
        return self._written(rows, decisions, events)

    def _written(self, rows: Rows | None, decisions: Sequence[Decision], events: list[Event]) -> Written:
        labels = [label_of(decision, self._rate, self.edits) for decision in decisions]
        self._outputs.add(labels, events)
        self.counters = self.counters.after(rows, decisions, events, self._stream.n_buffered)
        return Written(labels, events)

    @property
    def is_due(self) -> bool:
        """Whether it is time for a checkpoint: after so many windows, or so many seconds of data."""
        n_windows, n_rows = self.counters.n_windows - self._saved.n_windows, self.counters.n_rows - self._saved.n_rows
        rows_between = _ROWS_BETWEEN if self._rate is None else max(1, round(_SECONDS_BETWEEN * self._rate))
        return n_windows >= self._windows_between or n_rows >= rows_between

    def save(self) -> None:
        """Bring everything to the disk, and then say so in a checkpoint."""
        self._outputs.sync()
        self._save(self._outputs.lengths, finished=self.finished)
        self._saved = self.counters

    def _save(self, lengths: Mapping[str, int], *, finished: bool) -> None:
        tensors, plain = self._stream.state()
        about = {
            "finished": finished,
            "source": dict(self.source.bookmark()),
            "lengths": dict(lengths),
            "counters": vars(self.counters),
            "stream": plain,
        }
        save_checkpoint(self._place.checkpoint, Checkpoint(self._identity, about, tensors))

    def finish(self) -> Written:
        """The source has ended: decide what is open, and write the arrays and the summary."""
        report = self._stream.finish()
        written = self._written(None, report.decisions, list(report.events))
        n_rows = 0 if self.counters.has_clock else self.counters.n_rows
        self.counters = replace(self.counters, n_frames=max(n_rows, self.counters.n_frames))
        self._outputs.write_arrays(self.id, self.counters.n_frames)
        self._outputs.write_summary(self.summary())
        self.finished = True
        self.save()
        return written

    def summary(self) -> dict[str, Any]:
        levels: tuple[Level, ...] = ("unit", "motif")
        names = {level: {str(id): name for id, name in self.edits.names(level).items()} for level in levels}
        about = {"schema": 1, "id": self.id, "identity": self._identity, "rate": self._rate}
        return about | vars(self.counters) | ({"names": names} if any(names.values()) else {})

    def close(self) -> None:
        self._outputs.close()
        if self._source is not None:
            self._source.close()


def _skip_event(skip: Skip, rows: Rows, counters: Counters) -> Event:
    """What was dropped, at the row that follows it."""
    time_s = None if rows.times_s is None or not len(rows.times_s) else float(rows.times_s[0])
    evidence: dict[str, int | str] = {
        "row": counters.n_rows,
        "line": skip.line,
        "n_lines": skip.n_lines,
        "reason": skip.reason,
    }
    return Event("skip", "input", counters.n_rows, time_s, (), evidence)


def _refuse_foreign_files(out: Path, checkpoint: Path) -> None:
    """A new run begins in a new folder; its checkpoint may lie inside."""
    try:
        others = [path for path in out.iterdir() if path.resolve() != checkpoint.resolve()] if out.exists() else []
    except OSError as error:
        raise OutputError(f"{out}: cannot be written ({error.strerror}); choose another --out") from None
    if others:
        raise OutputError(
            f"{out}: it holds '{others[0].name}' already, and there is no checkpoint to go on from; "
            "choose another --out, or give the --checkpoint of that run"
        )
