"""What a stream appends to as it goes on: decisions and events; and the labels of every frame, made of them.

labels.csv        one line per decision, in the order they were taken: only ever appended to (`rondo.decisions`)
events.jsonl      the journal
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from rondo.continual.events import Event
from rondo.continual.journal import AppendOnly, append_events
from rondo.data.labels import OTHER
from rondo.decisions import COLUMNS, DECISIONS, Label
from rondo.errors import OutputError
from rondo.report.run import replacing
from rondo.stream_folder import EVENTS
from rondo.vocabulary.edits import Edits
from rondo.vocabulary.vocabulary import Level

_HEADER = ",".join(COLUMNS) + "\n"
_BLOCK_FRAMES = 1 << 20


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
            with replacing(self.out / folder / f"{id}.npy") as draft:
                track = np.lib.format.open_memmap(draft, mode="w+", dtype=np.int32, shape=(n_frames,))
                for start in range(0, n_frames, _BLOCK_FRAMES):
                    track[start : start + _BLOCK_FRAMES] = OTHER
                for start, stop, value in _spans(self.out / DECISIONS, level):
                    track[start:stop] = edits.kept(level, value)
                track.flush()
                del track

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
def _written(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{out}: cannot be written ({error.strerror or error}); make room or give permission, then start the same "
            "command again: it goes on from its last checkpoint"
        ) from None
