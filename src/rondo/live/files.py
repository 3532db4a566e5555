"""FileTail, Folder, RecordedFile: rows of a growing text file, of the text files in a folder, of a stored recording.

A file with `follow`, as `tail -F` does: the first 64 lines decide how it is written; a last line is read once it ends;
*rotated* (another file has the name), the old one is read to its end, then the new one from its header on; *truncated*
or *replaced while the stream was down*, it is read from its header on, after a boundary (a file that has outgrown its
former length by the next look, 0.1 s later, cannot be distinguished from one that grew); *missing*, it is waited for,
`PATIENCE_S` long. Without `follow` a file that is not the one of the bookmark, or becomes shorter, is refused.

A folder is one stream of its text files in the order of their names, each with its own header. With `follow` the last
file may grow, and is finished as soon as there is a later one. A file whose name comes before that of the current one
is too late: it is not read, with a note.

A stored recording is read whole, as `rondo label` reads it; if it has changed since the bookmark, it is refused.
"""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.known_channels import KnownChannel
from rondo.data.recording import Recording
from rondo.data.signal import select
from rondo.errors import ModelError, RecordingError, RondoWarning
from rondo.files.columns import unknown_to_model
from rondo.files.read import find_recordings, read_all_columns, suffixes, without_labels
from rondo.files.reading import TEXT_SUFFIXES, Reading, id_of, packing_of
from rondo.files.text.lines import HEAD_LINES, Lines, is_binary
from rondo.files.text.table import begins_below_a_heading
from rondo.live.clock import ClockState
from rondo.live.rows import RowReader, beside_columns, fit_by_position, refuse_another_rate
from rondo.live.source import Bookmark, Patience, Request, Rows, SourceKind, named

PATIENCE_S = 60.0
_GONE = "it has disappeared"
_MARK_BYTES = 4096


class TableFile:
    """A file that is read as it grows, from its beginning or from a bookmark on.

    A bookmark holds the place after the last row given, and a mark: sha256 of the first and the last 4096 bytes before
    that place. A file whose mark differs is not the one that was read. `carried` is the clock of the file that it
    continues.
    """

    def __init__(
        self, path: Path, request: Request, bookmark: Bookmark | None = None, carried: ClockState | None = None
    ) -> None:
        self.path, self._request = path, request
        with named(str(path)):
            self._file = path.open("rb", buffering=0)
        if bookmark is not None and carried is None:
            carried = ClockState(**bookmark["clock"])
        self.reader = RowReader(Lines(self._file.read), request, str(path), carried)
        self._n_bytes_at_first = self.n_bytes()
        self.at_end = False
        try:  # the head first, so that a file that does not fit is refused at once
            if bookmark is None or not bookmark["position"]:
                self.reader.read_head(at_end=not request.follow)
            else:
                self.reader.read_head(at_end=True, n_lines=bookmark["n_head"])
                self._file.seek(bookmark["position"])
                self.reader.go_on(bookmark, Lines(self._file.read, bookmark["position"], bookmark["line"]))
        except BaseException:
            self._file.close()
            raise

    def read(self, at_most: int) -> Rows | None:
        return self.reader.read(at_most, at_end=self.at_end)

    def finish(self, at_most: int) -> Rows | None:
        """The next rows of a file to which nothing will be added; None when that is all."""
        if not self.at_end:
            before, now = self._n_bytes_at_first, self.n_bytes()
            if now < before and not self._request.follow:  # its last line may be half a line now
                raise RecordingError(
                    f"{self.path}: it became shorter while it was read, {before} bytes became {now}; put the whole "
                    "file back, and start the same command again"
                )
            self.at_end = True
        return self.read(at_most)

    def followed_by(self, path: Path) -> TableFile:
        """The file that continues this one, which is closed once that one can be read."""
        clock = self.reader.clock
        following = TableFile(path, self._request, carried=None if clock is None else clock.carried())
        self.close()
        return following

    def bookmark(self) -> dict[str, Any]:
        with named(str(self.path)):
            return self.reader.bookmark() | {"mark": _mark_of(self._file, self.reader.position)}

    def n_bytes(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def n_bytes_ahead(self) -> int:
        return max(0, self.n_bytes() - self.reader.position)

    def is_at(self, path: Path) -> bool:
        """Whether the path still leads to this very file; raises FileNotFoundError where it leads nowhere."""
        return os.path.samestat(path.stat(), os.fstat(self._file.fileno()))

    def close(self) -> None:
        self._file.close()


def is_the_same_file(path: Path, bookmark: Bookmark) -> bool:
    """Whether the file at the path begins with what was read when the bookmark was made."""
    with named(str(path)), path.open("rb", buffering=0) as file:
        return bool(_mark_of(file, bookmark["position"]) == bookmark["mark"])


def _mark_of(file: FileIO, position: int) -> str:
    """What lies before the position: two files with the same header and other rows differ in it."""
    stood_at, n_bytes = file.tell(), min(position, _MARK_BYTES)
    digest = hashlib.sha256()
    for start in (0, position - n_bytes):
        file.seek(start)
        digest.update(file.read(n_bytes))
    file.seek(stood_at)
    return digest.hexdigest()


class FileTail:
    """The rows of a file, perhaps a growing one."""

    def __init__(self, path: Path, request: Request, clock: Callable[[], float] = time.monotonic) -> None:
        self.ended = False
        self._path, self._request, bookmark = path, request, request.bookmark
        self._patience = Patience(str(path), PATIENCE_S, clock=clock)
        self._is_done = False  # whether the file was rotated, and all of it was given
        if bookmark is None or is_the_same_file(path, bookmark):
            self._file = TableFile(path, request, bookmark)
        elif request.follow and bookmark.get("is_done"):
            self._file = TableFile(path, request, carried=ClockState(**bookmark["clock"]).carried())
        elif request.follow:
            self._begin_anew("replaced while nobody read it; read from its beginning", ClockState(**bookmark["clock"]))
        else:
            raise ModelError(
                f"{path}: not the file that was read before, or changed since; put it back, or choose another --out"
            )
        if request.follow and self._file.n_bytes() and not self._file.reader.read_head():
            self._file.reader.say(f"waiting for its first {HEAD_LINES} lines, which tell how it is written")

    def _begin_anew(self, reason: str, clock: ClockState | None) -> None:
        carried = None if clock is None else clock.carried()
        self._file = TableFile(self._path, self._request, carried=carried)
        self._file.reader.begin_anew(reason)

    def read(self, at_most: int) -> Rows | None:
        rows = None if self.ended else self._file.read(at_most)
        if rows is not None or self.ended:
            return rows
        if self._request.follow and not self._file.at_end:
            return self._look(at_most)
        rows = self._file.finish(at_most)
        if rows is None and self._request.follow:  # rotated, and read to its end
            self._is_done = True
            self._file, self._is_done = self._file.followed_by(self._path), False
        elif rows is None:
            self.ended = True
        return rows

    def _look(self, at_most: int) -> Rows | None:
        """What has become of the file, now that everything in it has been read."""
        try:
            is_the_same = self._file.is_at(self._path)
        except FileNotFoundError:
            self._patience.lose(_GONE)
            return None
        self._patience.reset()
        if not is_the_same:
            return self._file.finish(at_most)
        if self._file.n_bytes() < self._file.reader.position:
            clock = self._file.reader.clock
            self._file.close()
            self._begin_anew("truncated; read again from its beginning", clock)
        return None

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def bookmark(self) -> Bookmark:
        return self._file.bookmark() | {"is_done": self._is_done}

    def backlog_bytes(self) -> int:
        return self._file.n_bytes_ahead()

    def close(self) -> None:
        self._file.close()


FILE = SourceKind(
    name="file",
    address="FILE",
    help="a table in text (csv, tsv, txt) or JSON lines, which may grow (--follow)",
    can_follow=True,
    matches=lambda where: Path(where).is_file() and not is_recorded(Path(where)),
    id_of=id_of,
    open=lambda where, request: FileTail(Path(where), request),
    order=10,
)


class Folder:
    """The rows of the files of a folder, perhaps one that still gets files."""

    def __init__(self, path: Path, request: Request, clock: Callable[[], float] = time.monotonic) -> None:
        self.ended = False
        self._path, self._request = path, request
        self._patience = Patience(str(path), PATIENCE_S, clock=clock)
        self._file: TableFile | None = None
        self._before = 0  # bytes of the files that are done
        self._known: set[str] = set()
        if request.bookmark is not None and request.bookmark["file"] is not None:
            self._go_on(request.bookmark)
        elif not request.follow:
            names = self._names()
            if not names:
                raise RecordingError(f"{path}: the folder holds no files to read; expected {' '.join(TEXT_SUFFIXES)}")
            self._move_on(names[0])

    def _go_on(self, bookmark: Bookmark) -> None:
        path = self._path / Path(bookmark["file"]).name  # a checkpoint from someone else leads nowhere else
        if path.name != bookmark["file"] or not path.is_file() or not is_the_same_file(path, bookmark):
            raise ModelError(
                f"{path}: the file that was being read is gone, or another one; put it back, or choose another --out"
            )
        self._file = TableFile(path, self._request, bookmark)
        self._before = bookmark["before"]
        self._known = {name for name in self._names() if name <= path.name}

    def read(self, at_most: int) -> Rows | None:
        while not self.ended:
            rows = None if self._file is None else self._file.read(at_most)
            if rows is None:
                try:
                    later = self._later()
                except FileNotFoundError:
                    self._patience.lose(_GONE)
                    return None
                self._patience.reset()
                if later is None and self._request.follow:
                    return None
                rows = None if self._file is None else self._file.finish(at_most)
                if rows is None:
                    self._move_on(later)
                    continue
            return rows._replace(position=self._before + rows.position)
        return None

    def _move_on(self, later: str | None) -> None:
        """The file being read has given all it had: go to the one after it, or end."""
        if later is None:
            self.ended = True
        elif self._file is None:
            self._file = TableFile(self._path / later, self._request)
        else:
            self._before += self._file.n_bytes()
            self._file = self._file.followed_by(self._path / later)

    def _later(self) -> str | None:
        """The file after the one being read; the first one where none is."""
        names = self._names()
        current = "" if self._file is None else self._file.path.name
        late = sorted(name for name in names if name < current and name not in self._known)
        if late:
            warnings.warn(
                f"{self._path / late[0]}: not read, it came after {current} was begun and goes before it by its name",
                RondoWarning,
                stacklevel=2,
            )
        self._known.update(name for name in names if name <= current)
        return next((name for name in names if name > current), None)

    def _names(self) -> list[str]:
        if not self._path.is_dir():
            raise FileNotFoundError(str(self._path))
        with named(str(self._path)):
            return sorted(
                path.name
                for path in self._path.iterdir()
                if path.suffix.lower() in TEXT_SUFFIXES and not path.name.startswith(".") and path.is_file()
            )

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def bookmark(self) -> Bookmark:
        if self._file is None:
            return {"file": None, "position": 0}
        return {"file": self._file.path.name, "before": self._before, **self._file.bookmark()}

    def backlog_bytes(self) -> int:
        if self._file is None:
            return 0
        try:
            later = [self._path / name for name in self._names() if name > self._file.path.name]
            return self._file.n_bytes_ahead() + sum(path.stat().st_size for path in later)
        except FileNotFoundError:
            return 0

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


FOLDER = SourceKind(
    name="folder",
    address="DIR",
    help="the text files in a folder, by name, as one stream; it may get more (--follow)",
    can_follow=True,
    matches=lambda where: Path(where).is_dir(),
    id_of=lambda where: Path(where).resolve().name,
    open=lambda where, request: Folder(Path(where), request),
    order=11,
)


class RecordedFile:
    """The rows of a recording, held in memory."""

    def __init__(self, path: Path, request: Request) -> None:
        find_recordings([path])  # says what was meant, if it is not there
        with named(str(path)), path.open("rb") as file:
            self._sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        bookmark = request.bookmark
        if bookmark is not None and bookmark["sha256"] != self._sha256:
            raise ModelError(f"{path}: changed since it was read; put the file back, or choose another --out")
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

    Notes on reading it are printed.
    """
    channels, beside = request.channels, None
    with named(str(path)):
        refuse_another_rate(recording.rate, request.rate)
        if set(channels) <= set(recording.channels):
            values, extra = select(recording, channels), [name for name in recording.channels if name not in channels]
            found = [name for name in request.beside if name in recording.channels]
            beside = beside_columns(request, found, select(recording, found)) if found else None
            extra = [name for name in extra if name not in request.beside]
            notes = [unknown_to_model(extra)] if extra else []
        else:
            recording = without_labels(recording, Reading())
            values, notes = recording.values, [fit_by_position(recording.channels, channels)]
    for note in (*recording.notes, *notes):
        warnings.warn(f"{path}: {note}", RondoWarning, stacklevel=4)
    return Recording(values, recording.rate, channels, recording.id, recording.timestamps_s), beside


def is_recorded(path: Path) -> bool:
    """Whether a file is one of those that are read whole: by its suffix, or because its first line is no text.

    Text may grow, unless it is packed, or its table begins below statistics: only a program that exports all of it can
    know those.
    """
    if path.exists() and not path.is_file():
        return False
    if path.suffix.lower() in set(suffixes()) - set(TEXT_SUFFIXES) or packing_of(path):
        return True
    if not path.exists():
        return False
    with path.open("rb") as file:
        return is_binary(file.readline(4096)) or begins_below_a_heading(path)


RECORDING = SourceKind(
    name="recorded file",
    address="RECORDING",
    help="a stored recording in any other format that Rondo reads, replayed row by row",
    can_follow=False,
    matches=lambda where: "://" not in where and is_recorded(Path(where)),
    id_of=id_of,
    open=lambda where, request: RecordedFile(Path(where), request),
    order=12,
)
