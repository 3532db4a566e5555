"""TableFile: one open file of rows, and the mark by which it is known again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rondo.live.base import Bookmark, Rows
from rondo.live.lines import Lines
from rondo.live.row_reader import RowReader, named

_MARK_BYTES = 4096


class TableFile:
    """A file that is read as it grows, from its beginning or from a bookmark on.

    A bookmark holds the place after the last row given, and a mark: sha256 of the first and the last 4096 bytes before
    that place. A file whose mark differs is not the one that was read.
    """

    def __init__(
        self, path: Path, channels: Sequence[str], bookmark: Bookmark | None = None, divisor: float | None = None
    ) -> None:
        self.path, self.name = path, str(path)
        with named(self.name):
            self._file = path.open("rb", buffering=0)
        self.reader = RowReader(Lines(self._file.read), channels, self.name, divisor)
        self.at_end = False
        try:
            self._begin(bookmark)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, bookmark: Bookmark | None) -> None:
        """Read the header, so that a file that does not fit is refused at once; then go on from the bookmark."""
        goes_on = bookmark is not None and bookmark["position"] > 0
        self.reader.read_header(at_end=goes_on)
        if bookmark is not None and goes_on:
            self._file.seek(bookmark["position"])
            self.reader.go_to(Lines(self._file.read, bookmark["position"], bookmark["line"]))

    def read(self, at_most: int) -> Rows | None:
        return self.reader.read(at_most, at_end=self.at_end)

    def end(self) -> None:
        """Nothing more will be written to it: the last line is whole as it is."""
        self.at_end = True
        self.reader.end()

    def bookmark(self) -> dict[str, Any]:
        place = self.reader.position
        return {"position": place, "line": self.reader.line, "mark": self._mark(place), "divisor": self.reader.divisor}

    def _mark(self, position: int) -> str:
        with named(self.name):
            return _mark_of(self._file.fileno(), position)

    def n_bytes(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def is_at(self, path: Path) -> bool:
        """Whether the path still leads to this very file; raises FileNotFoundError where it leads nowhere."""
        return os.path.samestat(path.stat(), os.fstat(self._file.fileno()))

    def close(self) -> None:
        self._file.close()


def is_the_same_file(path: Path, bookmark: Bookmark) -> bool:
    """Whether the file at the path begins with what was read when the bookmark was made."""
    with named(str(path)), path.open("rb", buffering=0) as file:
        return bool(_mark_of(file.fileno(), bookmark["position"]) == bookmark["mark"])


def _mark_of(descriptor: int, position: int) -> str:
    """What lies before the position: two files with the same header and other rows differ in it."""
    head = os.pread(descriptor, min(position, _MARK_BYTES), 0)
    tail = os.pread(descriptor, min(position, _MARK_BYTES), max(0, position - _MARK_BYTES))
    return hashlib.sha256(head + tail).hexdigest()
