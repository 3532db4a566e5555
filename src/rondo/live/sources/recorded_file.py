"""RecordedFile: a stored recording of any format that Rondo reads, given row by row as if it came now.

The file is read whole, as `rondo label` reads it (`rondo.files.read`), and its channels are those of the model. A
bookmark holds the number of rows given and sha256 of the file: one that was changed since is refused.
"""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.data.known_channels import KnownChannel
from rondo.data.recording import Recording
from rondo.data.signal import select
from rondo.errors import ModelError, RondoWarning
from rondo.files.columns import unknown_to_model
from rondo.files.read import find_recordings, read_all_columns, suffixes, without_labels
from rondo.files.reading import TEXT_SUFFIXES, Reading, id_of, packing_of
from rondo.files.text.lines import is_binary
from rondo.files.text.table import begins_below_a_heading
from rondo.live.base import Bookmark, Request, Rows, SourceKind, named
from rondo.live.row_reader import fit_by_position, refuse_another_rate


class RecordedFile:
    """The rows of a recording, held in memory."""

    def __init__(self, path: Path, request: Request) -> None:
        find_recordings([path])  # says what was meant, if it is not there
        with named(str(path)), path.open("rb") as file:
            self._sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        bookmark = request.bookmark
        if bookmark is not None and bookmark["sha256"] != self._sha256:
            raise ModelError(
                f"{path}: changed since it was read; put the file back, or begin again with another --out and "
                "--checkpoint"
            )
        known = Reading(known=[KnownChannel(name) for name in request.channels])
        self._recording, self._beside = _in_channels(read_all_columns(path, known), path, request)
        self._row = 0 if bookmark is None else int(bookmark["row"])

    @property
    def ended(self) -> bool:
        return self._row >= self._recording.n_frames

    def read(self, at_most: int) -> Rows | None:
        if self.ended:
            return None
        rows = slice(self._row, min(self._row + at_most, self._recording.n_frames))
        times = self._recording.timestamps_s
        self._row = rows.stop
        beside = None if self._beside is None else self._beside[rows]
        return Rows(self._recording.values[rows], None if times is None else times[rows], self._row, (), 0, beside)

    def wait(self, seconds: float) -> None:
        """All rows are there."""

    def bookmark(self) -> Bookmark:
        return {"row": self._row, "sha256": self._sha256}

    def backlog_bytes(self) -> int:
        return int(self._recording.values[self._row :].nbytes)

    def close(self) -> None:
        """The file was closed when it had been read."""


def _in_channels(recording: Recording, path: Path, request: Request) -> tuple[Recording, NDArray[np.float32] | None]:
    """The recording in the model's channels, by name or else by position, and the columns that are asked for beside.

    What was noted on reading it is said.
    """
    channels, beside = request.channels, None
    with named(str(path)):
        refuse_another_rate(recording.rate, request.rate)
        if set(channels) <= set(recording.channels):
            values, extra = select(recording, channels), [name for name in recording.channels if name not in channels]
            beside = _beside(recording, request)
            extra = [name for name in extra if name not in request.beside]
            notes = [unknown_to_model(extra)] if extra else []
        else:
            recording = without_labels(recording, Reading())
            values, notes = recording.values, [fit_by_position(recording.channels, channels)]
    for note in (*recording.notes, *notes):
        warnings.warn(f"{path}: {note}", RondoWarning, stacklevel=4)
    return Recording(values, recording.rate, channels, recording.id, recording.timestamps_s), beside


def _beside(recording: Recording, request: Request) -> NDArray[np.float32] | None:
    found = [name for name in request.beside if name in recording.channels]
    if not found:
        return None
    beside = np.full((recording.n_frames, len(request.beside)), np.nan, np.float32)
    beside[:, [request.beside.index(name) for name in found]] = select(recording, found)
    return beside


def is_recorded(path: Path) -> bool:
    """Whether a file is one of those that are read whole: by its suffix, or because its first line is no text.

    A text is too where its table begins below statistics, which only a program that exports all of it can know.
    """
    if path.exists() and not path.is_file():
        return False
    if path.suffix.lower() in recorded_suffixes() or packing_of(path):
        return True
    if not path.exists():
        return False
    with path.open("rb") as file:
        return is_binary(file.readline(4096)) or begins_below_a_heading(path)


def recorded_suffixes() -> tuple[str, ...]:
    """Of files that are read whole: all that Rondo knows but text, which may grow; text that is packed does not."""
    return tuple(suffix for suffix in suffixes() if suffix not in TEXT_SUFFIXES)


def _matches(where: str) -> bool:
    return "://" not in where and is_recorded(Path(where))


SOURCE = SourceKind(
    name="recorded file",
    address="RECORDING",
    help="a stored recording in any other format that Rondo reads, replayed row by row",
    can_follow=False,
    matches=_matches,
    id_of=id_of,
    open=lambda where, request: RecordedFile(Path(where), request),
    order=12,
)
