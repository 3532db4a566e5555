"""FileTail: the rows of one text file, and with `follow` those that are still to be written to it, as `tail -F` does.

Rules with `follow`:

- how the file is written is told from its first 64 lines; until they are there no row is given;
- a last line without its end is not read until its end is there; without `follow` it is a row like the others;
- *rotated* (another file has the name): the old one is read to its end, then the new one from its header on. One that
  cannot be read, or lacks a channel, is refused; once it is mended, the same command goes on with it;
- *truncated* (shorter than what was read): it is read again from its header on: a boundary, in the journal. A file that
  was truncated and has outgrown its former length by the next look (0.1 s) cannot be told from one that grew;
- *gone*: it is waited for, `PATIENCE_S` long; then the run ends with an error, and can be started again;
- *replaced while nobody read*: the one that is there is read from its header on: a boundary, in the journal.

Without `follow` a file that is not the one of the bookmark, or becomes shorter while it is read, is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from rondo.errors import ModelError
from rondo.files.reading import id_of
from rondo.files.text.lines import HEAD_LINES
from rondo.live.base import Bookmark, Request, Rows, SourceKind
from rondo.live.row_clock import ClockState
from rondo.live.sources.recorded_file import is_recorded
from rondo.live.table_file import Patience, TableFile, is_the_same_file


class FileTail:
    """The rows of a file, perhaps a growing one."""

    def __init__(self, path: Path, request: Request, clock: Callable[[], float] = time.monotonic) -> None:
        self.ended = False
        self._path, self._request, bookmark = path, request, request.bookmark
        self._patience = Patience(str(path), clock)
        self._is_done = False  # whether the file was rotated, and all of it was given
        if bookmark is None or is_the_same_file(path, bookmark):
            self._file = TableFile(path, request, bookmark)
        elif request.follow and bookmark.get("is_done"):
            self._file = TableFile(path, request, carried=ClockState(**bookmark["clock"]).carried())
        elif request.follow:
            self._begin_anew("replaced while nobody read it; read from its beginning", ClockState(**bookmark["clock"]))
        else:
            raise ModelError(
                f"{path}: not the file that was read before, or changed since; put it back, or begin again with "
                "another --out and --checkpoint"
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
            self._patience.lose()
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


def _matches(where: str) -> bool:
    return Path(where).is_file() and not is_recorded(Path(where))


SOURCE = SourceKind(
    name="file",
    address="FILE",
    help="a table in text (csv, tsv, txt) or JSON lines, which may grow (--follow)",
    can_follow=True,
    matches=_matches,
    id_of=id_of,
    open=lambda where, request: FileTail(Path(where), request),
    order=10,
)
