"""What a stream leaves behind: labels and events as they come, and arrays per frame when it ends.

labels.csv        one line per decision, in the order they were taken: only ever appended to
events.jsonl      the journal
labels/<id>.npy   motif id per frame (int32, OTHER = -1), written when a finite source has ended
units/<id>.npy    unit id per frame, likewise
summary.json      counters, likewise
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rondo.continual.events import Event
from rondo.continual.journal import AppendOnly, append_events
from rondo.data.labels import OTHER
from rondo.errors import OutputError
from rondo.vocabulary.edits import Edits

COLUMNS = ("start_frame", "end_frame", "start_s", "end_s", "unit", "motif", "unit_score", "motif_score")
_LABELS, _EVENTS = "labels.csv", "events.jsonl"
_HEADER = ",".join(COLUMNS) + "\n"
_BLOCK_FRAMES = 1 << 20


class Decision(Protocol):
    """The labels of one window, for the frames [start_frame, stop_frame) it speaks for."""

    @property
    def start_frame(self) -> int: ...
    @property
    def stop_frame(self) -> int: ...
    @property
    def unit(self) -> int: ...
    @property
    def motif(self) -> int: ...
    @property
    def unit_score(self) -> float: ...
    @property
    def motif_score(self) -> float: ...
    @property
    def start_s(self) -> float | None: ...


Label = Mapping[str, float | int | None]
"""One line of labels.csv by the names of its columns."""


def label_of(decision: Decision, rate: float | None, edits: Edits) -> Label:
    """A decision as it is written; seconds by the clock of the data, else frames over the rate, if there is one.

    Entries that people have merged are written under the id that is kept.
    """
    start, stop = int(decision.start_frame), int(decision.stop_frame)
    start_s = stop_s = None
    if rate is not None:
        begun = start / rate if decision.start_s is None else decision.start_s
        start_s, stop_s = round(begun, 6), round(begun + (stop - start) / rate, 6)
    scores = (float(f"{score:.6g}") for score in (decision.unit_score, decision.motif_score))
    unit, motif = edits.kept("unit", int(decision.unit)), edits.kept("motif", int(decision.motif))
    row = (start, stop, start_s, stop_s, unit, motif, *scores)
    return dict(zip(COLUMNS, row, strict=True))


class Outputs:
    """The two files that grow, and what is made of them at the end."""

    def __init__(self, out: Path, lengths: Mapping[str, int] | None = None) -> None:
        """Open the files of a run, cut back to the lengths in its checkpoint; they are new where these are 0."""
        self.out = out
        lengths = lengths or {}
        with _written(out):
            out.mkdir(parents=True, exist_ok=True)
        self._labels = AppendOnly(out / _LABELS, lengths.get(_LABELS, 0))
        self._events = AppendOnly(out / _EVENTS, lengths.get(_EVENTS, 0))
        if not self._labels.n_bytes:
            self._labels.append(_HEADER)

    @property
    def lengths(self) -> dict[str, int]:
        return {_LABELS: self._labels.n_bytes, _EVENTS: self._events.n_bytes}

    def add(self, labels: Sequence[Label], events: Iterable[Event]) -> None:
        lines = (",".join("" if value is None else str(value) for value in label.values()) for label in labels)
        text = "".join(line + "\n" for line in lines)
        if text:
            self._labels.append(text)
        append_events(self._events, events)

    def sync(self) -> None:
        """Return when all that was added is on the disk: a checkpoint may count it then."""
        self._labels.sync()
        self._events.sync()

    def write_arrays(self, id: str, n_frames: int) -> None:
        """labels/<id>.npy and units/<id>.npy from labels.csv, however long it is; OTHER where no decision speaks."""
        for folder, column in (("labels", "motif"), ("units", "unit")):
            with _written(self.out), _put_in_place(self.out / folder / f"{id}.npy") as draft:
                track = np.lib.format.open_memmap(draft, mode="w+", dtype=np.int32, shape=(n_frames,))
                for start in range(0, n_frames, _BLOCK_FRAMES):
                    track[start : start + _BLOCK_FRAMES] = OTHER
                for start, stop, value in _spans(self.out / _LABELS, column):
                    track[start:stop] = value
                track.flush()
                del track

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        with _written(self.out), _put_in_place(self.out / "summary.json") as draft:
            draft.write_text(json.dumps(summary, indent=1, allow_nan=False), encoding="utf-8")

    def close(self) -> None:
        self._labels.close()
        self._events.close()


def _spans(labels: Path, column: str) -> Iterator[tuple[int, int, int]]:
    place = COLUMNS.index(column)
    with labels.open(encoding="utf-8") as file:
        next(file)
        for line in file:
            cells = line.split(",")
            yield int(cells[0]), int(cells[1]), int(cells[place])


@contextmanager
def _put_in_place(target: Path) -> Iterator[Path]:
    """A draft beside the target that takes its name when it is whole and on the disk.

    Its name is always the same, so that one left by a process that was killed is written over and not left behind.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.draft")
    try:
        yield draft
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _written(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{out}: cannot be written ({error.strerror or error}); make room or give permission, then start the same "
            "command again: it goes on from its last checkpoint"
        ) from None
