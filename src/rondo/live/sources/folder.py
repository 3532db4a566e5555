"""Folder: the rows of all text files in a folder, in the order of their names, as one stream.

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
from collections.abc import Callable
from pathlib import Path

from rondo.errors import ModelError, RecordingError, RondoWarning
from rondo.files.reading import TEXT_SUFFIXES
from rondo.live.base import Bookmark, Request, Rows, SourceKind, named
from rondo.live.table_file import Patience, TableFile, is_the_same_file


class Folder:
    """The rows of the files of a folder, perhaps one that still gets files."""

    def __init__(self, path: Path, request: Request, clock: Callable[[], float] = time.monotonic) -> None:
        self.ended = False
        self._path, self._request = path, request
        self._patience = Patience(str(path), clock)
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
                f"{path}: the file that was being read is gone, or another one; put it back, or begin again with "
                "another --out and --checkpoint"
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
                    self._patience.lose()
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


SOURCE = SourceKind(
    name="folder",
    address="DIR",
    help="the text files in a folder, by name, as one stream; it may get more (--follow)",
    can_follow=True,
    matches=lambda where: Path(where).is_dir(),
    id_of=lambda where: Path(where).resolve().name,
    open=lambda where, request: Folder(Path(where), request),
    order=11,
)
