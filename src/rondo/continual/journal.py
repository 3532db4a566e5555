"""The journal: events as JSON lines, only ever appended to; a person can read it, a program can replay it.

Events are written and brought to the disk before the checkpoint that counts them. So after a crash the file may hold
more than the checkpoint knows, never less: on resume it is cut back to the length in the checkpoint, and the events
beyond it come again, the same ones.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from rondo.continual.events import Event
from rondo.errors import ModelError, OutputError, RondoWarning
from rondo.store.reading import read_regular
from rondo.store.writing import open_appending

_MOST_BYTES = 1 << 32  # 20 million events; what is larger is no journal


class AppendOnly:
    """A file that grows by whole lines, and can be cut back once, when it is opened.

    Nothing is held back in memory: what `append` returned from is with the system, and after `sync` it is on the disk.
    """

    def __init__(self, path: Path, n_bytes: int = 0) -> None:
        """Open the file and cut it back to `n_bytes`; one that is shorter is not the file that was written."""
        self.path = path
        try:
            self._descriptor = open_appending(path)
            size = os.fstat(self._descriptor).st_size
            os.lseek(self._descriptor, max(0, n_bytes - 1), os.SEEK_SET)
            if size < n_bytes or (n_bytes and os.read(self._descriptor, 1) != b"\n"):
                os.close(self._descriptor)
                raise ModelError(
                    f"{path}: expected the {n_bytes} bytes that the checkpoint counts, got {size} or others; "
                    "put the file back, or begin anew with another --out and --checkpoint"
                )
            os.ftruncate(self._descriptor, n_bytes)
            os.lseek(self._descriptor, n_bytes, os.SEEK_SET)
        except OSError as error:
            raise _unwritable(path, error) from None
        self.n_bytes = n_bytes

    def append(self, lines: str) -> None:
        """Write lines, each with its line end; a full disk leaves what the last checkpoint counts as it was."""
        rest = memoryview(lines.encode())
        try:
            while rest:
                written = os.write(self._descriptor, rest)
                self.n_bytes += written
                rest = rest[written:]
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def sync(self) -> None:
        """Return when everything appended is on the disk."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> AppendOnly:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def append_events(journal: AppendOnly, events: Iterable[Event]) -> None:
    """Put events at the end of the journal, one line each."""
    lines = "".join(event.to_json() + "\n" for event in events)
    if lines:
        journal.append(lines)


def read_journal(path: str | Path) -> list[Event]:
    """Every event of a journal, in order.

    A last line without its end was torn by a crash: it is left out, with a note. Anything else that is no event is
    refused with the number of its line.
    """
    path = Path(path)
    try:
        text = read_regular(path, _MOST_BYTES)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); give the events.jsonl of a stream") from None
    *lines, torn = text.split(b"\n")
    if torn:
        warnings.warn(f"{path}: its last line is torn ({len(torn)} bytes) and left out", RondoWarning, stacklevel=2)
    return [_event(path, number, line) for number, line in enumerate(lines, start=1)]


def _event(path: Path, number: int, line: bytes) -> Event:
    try:
        return Event.from_json(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise ModelError(f"{path}: line {number} is not UTF-8 text; the journal is damaged there") from None
    except ModelError as error:
        raise ModelError(f"{path}: line {number} is {error}; the journal is damaged there") from None


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{path}: cannot be written ({error.strerror or error}); make room or give permission, then start the same "
        "command again: it goes on from its last checkpoint"
    )
