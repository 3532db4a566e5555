"""Folder: the rows of all files in a folder, in the order of their names, as one stream.

Each file continues the one before; every file has its own header. Rules:

- files end in .csv, .tsv, .txt, .jsonl or .ndjson; others, and hidden ones, are not read;
- with `follow` the last file may grow, and is finished as soon as there is a later one;
- a file whose name comes before that of the one being read has come too late: it is not read, and a note says so;
- if the file of the bookmark is gone or another one, the run is refused: its rest would be lost;
- a folder that disappears is waited for as a file is (`file_tail`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from rondo.errors import ModelError, RecordingError, RondoWarning
from rondo.live.base import Bookmark, Rows
from rondo.live.file_tail import Patience
from rondo.live.row_reader import named
from rondo.live.table_file import TableFile, is_the_same_file

SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson")


class Folder:
    """The rows of the files of a folder, perhaps one that still gets files."""

    kind = "folder"

    def __init__(
        self,
        path: Path,
        channels: Sequence[str],
        *,
        follow: bool,
        bookmark: Bookmark | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.id = path.resolve().name
        self.ended = False
        self._path, self._channels, self._follow = path, channels, follow
        self._patience = Patience(str(path), clock)
        self._file: TableFile | None = None
        self._before = 0  # bytes of the files that are done
        self._known: set[str] = set()
        if bookmark is not None and bookmark["file"] is not None:
            self._go_on(bookmark)
        elif not follow:
            names = self._names()
            if not names:
                raise RecordingError(f"{path}: the folder holds no files to read; expected {' '.join(SUFFIXES)}")
            self._move_on(names[0])

    def _go_on(self, bookmark: Bookmark) -> None:
        path = self._path / bookmark["file"]
        if path.parent != self._path or not path.is_file() or not is_the_same_file(path, bookmark):
            raise ModelError(
                f"{path}: the file that was being read is gone, or another one; put it back, or begin anew with "
                "another --out and --checkpoint"
            )
        self._file = TableFile(path, self._channels, bookmark, bookmark["divisor"])
        self._before = bookmark["before"]
        self._known = {name for name in self._names() if name <= path.name}

    def read(self, at_most: int) -> Rows | None:
        while not self.ended:
            rows = None if self._file is None else self._file.read(at_most)
            if rows is None:
                try:
                    later = self._later()
                except FileNotFoundError:
                    self._patience.lose()
                    return None
                self._patience.reset()
                if later is None and self._follow:
                    return None
                rows = None if self._file is None else self._finished(self._file, at_most)
                if rows is None:
                    self._move_on(later)
                    continue
            return rows._replace(position=self._before + rows.position)
        return None

    def _move_on(self, later: str | None) -> None:
        """The file being read has given all it had: go to the one after it, or end."""
        if later is None:
            self.ended = True
            return
        divisor = None
        if self._file is not None:
            divisor = self._file.reader.divisor
            self._before += self._file.n_bytes()
            self._file.close()
        self._file = TableFile(self._path / later, self._channels, divisor=divisor)

    def _finished(self, file: TableFile, at_most: int) -> Rows | None:
        """The last line of a file, whether or not it has an end, and after it what was skipped."""
        if not file.at_end:
            file.end()
        rows = file.read(at_most)
        return file.reader.rest() if rows is None else rows

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
                if path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()
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
            return max(0, self._file.n_bytes() - self._file.reader.position) + sum(p.stat().st_size for p in later)
        except FileNotFoundError:
            return 0

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
