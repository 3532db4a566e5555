"""What a stream appends to as it goes on: decisions and events; and the labels of every frame, made of them.

labels.csv        one line per decision, in the order they were taken: only ever appended to (`rondo.run.decisions`)
events.jsonl      the journal
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from rondo.continual.events import Event
from rondo.continual.journal import AppendOnly, append_events
from rondo.data.labels import OTHER
from rondo.errors import OutputError
from rondo.run.decisions import COLUMNS, DECISIONS, Label
from rondo.run.stream_folder import EVENTS
from rondo.store.writing import make_folder, whole_file
from rondo.vocabulary.edits import Edits
from rondo.vocabulary.vocabulary import Level

_HEADER = ",".join(COLUMNS) + "\n"
_LABEL = np.dtype(np.int32)
_BLOCK_FRAMES = 1 << 20
_GOES_ON = "make room or give permission, then start the same command again: it goes on from its last checkpoint"


class Outputs:
    """The two files that grow, and what is made of them at the end."""

    def __init__(self, out: Path, lengths: Mapping[str, int] | None = None) -> None:
        """Open the files of a run, cut back to the lengths in its checkpoint; they are new where these are 0."""
        self.out = out
        lengths = lengths or {}
        with _written(out):
            out.mkdir(parents=True, exist_ok=True)
        self._labels = AppendOnly(out / DECISIONS, lengths.get(DECISIONS, 0))
        self._events = AppendOnly(out / EVENTS, lengths.get(EVENTS, 0))
        if not self._labels.n_bytes:
            self._labels.append(_HEADER)

    @property
    def lengths(self) -> dict[str, int]:
        return {DECISIONS: self._labels.n_bytes, EVENTS: self._events.n_bytes}

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

    def write_arrays(self, id: str, n_frames: int, edits: Edits) -> None:
        """labels/<id>.npy and units/<id>.npy from labels.csv, however long it is; OTHER where no decision speaks.

        Under the ids that people have kept since.
        """
        levels: tuple[tuple[str, Level], ...] = (("labels", "motif"), ("units", "unit"))
        for folder, level in levels:
            with _written(self.out):
                make_folder(self.out / folder)
            kept = ((a, b, edits.kept(level, id)) for a, b, id in _spans(self.out / DECISIONS, level))
            with whole_file(self.out / folder / f"{id}.npy", _GOES_ON) as file:
                _write_track(file, n_frames, kept)

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


def _write_track(file: IO[bytes], n_frames: int, spans: Iterator[tuple[int, int, int]]) -> None:
    """An .npy file of int32 that holds each value on its span, and OTHER elsewhere.

    With plain writes: a sparse file that is mapped into memory ends the process on a full disk.
    """
    np.lib.format.write_array_header_1_0(
        file, {"descr": np.lib.format.dtype_to_descr(_LABEL), "fortran_order": False, "shape": (n_frames,)}
    )
    begin = file.tell()
    for start in range(0, n_frames, _BLOCK_FRAMES):
        file.write(np.full(min(_BLOCK_FRAMES, n_frames - start), OTHER, _LABEL).tobytes())
    at = file.tell()
    for start, stop, value in spans:
        place = begin + start * _LABEL.itemsize
        if place != at:  # most follow on the one before, and moving empties the buffer
            file.seek(place)
        at = place + file.write(np.full(max(0, min(stop, n_frames) - start), value, _LABEL).tobytes())


@contextmanager
def _written(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{out}: cannot be written ({error.strerror or error}); {_GOES_ON}") from None
