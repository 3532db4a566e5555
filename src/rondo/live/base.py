"""Source: what every place that rows come from can do; rows are pulled, so a slow reader is never flooded.

A source is asked for at most so many rows and gives those that are there. Its bookmark, plain JSON, marks the end of
the rows given so far; a source opened with it continues with the next row. A SourceKind is what a module of
`rondo.live.sources`, or another package, declares to add a source (`rondo.live.registry`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError

Bookmark = Mapping[str, Any]


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
    position: int  # after these rows, opaque: bytes of the file or of standard input, rows of a recording
    skipped: tuple[Skip, ...] = ()
    n_unreadable: int = 0  # cells that held no finite number, and are NaN


class Source(Protocol):
    """Where rows come from."""

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


class Request(NamedTuple):
    """What a source is asked for: rows in these channels, those of the model, and in this order."""

    channels: tuple[str, ...]
    rate: float | None = None  # of the model: rows without times are taken to have it
    follow: bool = False  # wait for more, where the kind can
    bookmark: Bookmark | None = None  # go on after these rows


@dataclass(frozen=True)
class SourceKind:
    """A kind of source, declared once: its name, the addresses it takes, and how it is opened.

    `name` stands in checkpoints, so it never changes. `address` and `help` are what `rondo stream --help` shows.
    `matches` says whether an address is one of this kind; `id_of` names the stream, and so the files written about it.
    Kinds are asked in their `order`: those of other packages come before ours.
    """

    name: str
    address: str
    help: str
    can_follow: bool
    matches: Callable[[str], bool]
    id_of: Callable[[str], str]
    open: Callable[[str, Request], Source]
    order: int = 0


@contextmanager
def named(source: str) -> Iterator[None]:
    """Put the name of the source before whatever is wrong with it."""
    try:
        yield
    except RecordingError as error:
        raise RecordingError(f"{source}: {error}") from None
    except OSError as error:
        raise RecordingError(
            f"{source}: cannot be read ({error.strerror or error}); once it can, start the same command again"
        ) from None
