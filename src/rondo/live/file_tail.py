"""FileTail: the rows of one file, and with `follow` those that are still to be written to it, as `tail -F` does.

Rules with `follow`:

- a last line without its end is not read until its end is there; without `follow` it is a row like the others;
- *rotated* (another file has the name): the old one is read to its end, then the new one from its header on;
- *truncated* (shorter than what was read): it is read again from its header on: a boundary, in the journal. A file that
  was truncated and has outgrown its former length by the next look (0.1 s) cannot be told from one that grew;
- *gone*: it is waited for, `PATIENCE_S` long; then the run ends with an error, and can be started again;
- *replaced while nobody read*: the one that is there is read from its header on: a boundary, in the journal.

Without `follow` a file that is not the one of the bookmark is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rondo.errors import ModelError, RecordingError
from rondo.live.base import Bookmark, Rows
from rondo.live.table_file import TableFile, is_the_same_file

PATIENCE_S = 60.0


class FileTail:
    """The rows of a file, perhaps a growing one."""

    kind = "file"

    def __init__(
        self,
        path: Path,
        channels: Sequence[str],
        *,
        follow: bool,
        bookmark: Bookmark | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.id = path.stem
        self.ended = False
        self._path, self._channels, self._follow = path, channels, follow
        self._patience = Patience(str(path), clock)
        divisor = None if bookmark is None else bookmark["divisor"]
        if bookmark is None or is_the_same_file(path, bookmark):
            self._file = TableFile(path, channels, bookmark, divisor)
        elif follow:
            self._begin_anew("replaced while nobody read it; read from its beginning", divisor)
        else:
            raise ModelError(
                f"{path}: not the file that was read before, or changed since; put it back, or begin anew with "
                "another --out and --checkpoint"
            )

    def read(self, at_most: int) -> Rows | None:
        rows = self._file.read(at_most)
        if rows is not None or self.ended:
            return rows
        if not self._follow:
            return self._last(at_most)
        if self._file.at_end:  # rotated, and read to its end
            last, divisor = self._file.reader.rest(), self._file.reader.divisor
            self._file.close()
            self._file = TableFile(self._path, self._channels, divisor=divisor)
            return last
        return self._look(at_most)

    def _last(self, at_most: int) -> Rows | None:
        """The last line, whether or not it has an end, and after it what was skipped."""
        if not self._file.at_end:
            self._file.end()
            rows = self._file.read(at_most)
            if rows is not None:
                return rows
        self.ended = True
        return self._file.reader.rest()

    def _look(self, at_most: int) -> Rows | None:
        """What has become of the file, now that everything in it has been read."""
        try:
            is_the_same = self._file.is_at(self._path)
        except FileNotFoundError:
            self._patience.lose()
            return None
        self._patience.reset()
        if not is_the_same:
            self._file.end()
            return self._file.read(at_most)
        if self._file.n_bytes() < self._file.reader.position:
            divisor = self._file.reader.divisor
            self._file.close()
            self._begin_anew("truncated; read again from its beginning", divisor)
        return None

    def _begin_anew(self, reason: str, divisor: float | None) -> None:
        self._file = TableFile(self._path, self._channels, divisor=divisor)
        self._file.reader.begin_anew(reason)

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def bookmark(self) -> Bookmark:
        return self._file.bookmark()

    def backlog_bytes(self) -> int:
        return max(0, self._file.n_bytes() - self._file.reader.position)

    def close(self) -> None:
        self._file.close()


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
            raise RecordingError(
                f"{self._name}: it has disappeared, and did not come back within {self._seconds:g} s; "
                "when it is back, start the same command again: nothing is lost"
            )
