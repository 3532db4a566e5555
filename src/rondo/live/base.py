"""Source: what every place that rows come from can do; rows are pulled, so a slow reader is never flooded.

A source is asked for at most so many rows and gives those that are there. It holds one block of bytes
(`lines.BLOCK_BYTES`) and one unfinished line beyond them, whatever the sender does. Its bookmark says, in plain JSON,
where the rows given so far end; a source opened with it goes on with the row after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError

Bookmark = Mapping[str, Any]
STANDARD_INPUT = "-"


class Skip(NamedTuple):
    """Something in the input that gave no row: `n_lines` lines from `line` on.

    With 0 lines the input itself began anew: what came before and what comes after do not follow on each other.
    """

    line: int
    n_lines: int
    reason: str


class Rows(NamedTuple):
    """Some rows of a stream: those that follow what was skipped, if anything was.

    Skipped lines always come before the first of the rows they are given with, so that the order of events does not
    depend on how many rows are asked for.
    """

    values: NDArray[np.float32]  # (n_rows, n_channels), NaN where missing, in the order of the model's channels
    times_s: NDArray[np.float64] | None
    position: int  # after these rows, opaque: bytes of the file or of standard input
    skipped: tuple[Skip, ...] = ()
    n_unreadable: int = 0  # cells that held no finite number, and are NaN


class Source(Protocol):
    """Where rows come from."""

    @property
    def id(self) -> str:
        """The name of the stream, for the files written about it."""

    @property
    def kind(self) -> str:
        """File, folder or standard input: a bookmark of one means nothing to another."""

    @property
    def ended(self) -> bool:
        """Whether no row will ever come again."""

    def read(self, at_most: int) -> Rows | None:
        """The next rows, at most so many; None where there are none now."""

    def wait(self, seconds: float) -> None:
        """Return when there may be rows, at the latest after so many seconds."""

    def bookmark(self) -> Bookmark:
        """Where the rows given so far end."""

    def backlog_bytes(self) -> int:
        """Bytes that are there and not read yet, as far as one can tell."""

    def close(self) -> None:
        """Let go of what is open."""


def open_source(where: str, channels: Sequence[str], *, follow: bool, bookmark: Bookmark | None = None) -> Source:
    """The source that `--source` names, from its beginning or from a bookmark on."""
    from rondo.live.file_tail import FileTail
    from rondo.live.folder import Folder
    from rondo.live.stdin import StandardInput

    if where == STANDARD_INPUT:
        return StandardInput(channels, follow=follow, bookmark=bookmark)
    path = Path(where)
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error.strerror}); check --source") from None
    if is_folder:
        return Folder(path, channels, follow=follow, bookmark=bookmark)
    if not is_file:
        what = "it is not a regular file; pipe it into --source -" if path.exists() else "there is no such file"
        raise RecordingError(f"{path}: {what}; give a file, a folder or - as --source")
    return FileTail(path, channels, follow=follow, bookmark=bookmark)


def source_kind(where: str) -> tuple[str, str]:
    """Kind and id of the source that `--source` names, before it is opened."""
    if where == STANDARD_INPUT:
        return "standard input", "stdin"
    path = Path(where)
    return ("folder", path.resolve().name) if path.is_dir() else ("file", path.stem)
