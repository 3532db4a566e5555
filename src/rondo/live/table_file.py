"""TableFile: one open file of rows, and the mark that identifies it; Patience: how long a missing one is awaited."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

from rondo.errors import RecordingError, SourceLostError
from rondo.files.text.lines import HEAD_LINES, Lines
from rondo.live.base import Bookmark, Request, Rows, named
from rondo.live.row_clock import ClockState
from rondo.live.row_reader import RowReader

PATIENCE_S = 60.0
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
        self.at_end = self._is_done = False
        try:
            self._begin(bookmark)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, bookmark: Bookmark | None) -> None:
        """Read the head, so that a file that does not fit is refused at once; then go on from the bookmark."""
        goes_on = bookmark is not None and bookmark["position"] > 0
        n_head = bookmark["n_head"] if bookmark is not None and goes_on else HEAD_LINES
        self.reader.read_head(at_end=goes_on or not self._request.follow, n_lines=n_head)
        if bookmark is not None and goes_on:
            self._file.seek(bookmark["position"])
            self.reader.go_on(bookmark, Lines(self._file.read, bookmark["position"], bookmark["line"]))

    def read(self, at_most: int) -> Rows | None:
        return self.reader.read(at_most, at_end=self.at_end)

    def finish(self, at_most: int) -> Rows | None:
        """The next rows of a file to which nothing will be added, at last what was skipped; None when that is all."""
        if not self.at_end:
            self._refuse_shortened()  # before its last line, which may be half a line now, is taken for a row
            self.at_end = True
            self.reader.end()
        rows = self.read(at_most)
        if rows is None and not self._is_done:
            self._is_done = True
            rows = self.reader.rest()
        return rows

    def _refuse_shortened(self) -> None:
        before, now = self._n_bytes_at_first, self.n_bytes()
        if now < before and not self._request.follow:
            raise RecordingError(
                f"{self.path}: it became shorter while it was read, {before} bytes became {now}; put the whole file "
                "back, and start the same command again"
            )

    def followed_by(self, path: Path) -> TableFile:
        """The file that continues this one, which is closed once that one can be read."""
        clock = self.reader.clock
        following = TableFile(path, self._request, carried=None if clock is None else clock.carried())
        self.close()
        return following

    def bookmark(self) -> dict[str, Any]:
        return self.reader.bookmark() | {"mark": self._mark(self.reader.position)}

    def _mark(self, position: int) -> str:
        with named(str(self.path)):
            return _mark_of(self._file, position)

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


class Patience:
    """How long a source that is not there is waited for."""

    def __init__(self, name: str, clock: Callable[[], float], seconds: float = PATIENCE_S) -> None:
        self._name, self._clock, self._seconds = name, clock, seconds
        self._since: float | None = None

    def reset(self) -> None:
        self._since = None

    def lose(self) -> None:
        """It is not there now; refused when that has lasted too long."""
        now = self._clock()
        self._since = now if self._since is None else self._since
        if now - self._since >= self._seconds:
            raise SourceLostError(
                f"{self._name}: it has disappeared, and did not come back within {self._seconds:g} s; "
                "when it is back, start the same command again: nothing is lost"
            )
