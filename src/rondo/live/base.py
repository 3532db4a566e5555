"""Source: what every place that rows come from can do; rows are pulled, so a slow reader is never flooded.

A source is asked for at most so many rows and gives those that are there. Its bookmark, plain JSON, marks the end of
the rows given so far; a source opened with it continues with the next row. The kind of a source is the `SOURCE` of a
module in `rondo.live.sources`, or of another package that names it as an entry point:

    [project.entry-points."rondo.sources"]
    modbus = "my_package.modbus_source:SOURCE"

Messages of many devices come from a feed (`rondo.live.devices.messages`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError, SettingError
from rondo.formats.file_names import id_of
from rondo.live import sources
from rondo.live.devices.messages import FeedKind, feed_kinds
from rondo.registry import Registry

Bookmark = Mapping[str, Any]
GROUP = "rondo.sources"


class Skip(NamedTuple):
    """Something in the input that gave no row: `n_lines` lines from `line` on.

    With 0 lines the input itself began again: what came before and what comes after do not follow on each other.
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
    beside: NDArray[np.float32] | None = None  # the columns that were asked for beside, NaN where there is none
    missing_cells: Mapping[str, int] = {}  # of channels that have some: cells that a session has made missing


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
    beside: tuple[str, ...] = ()  # columns that say which cells are missing, to be given too where they are there


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


def source_kinds() -> tuple[SourceKind, ...]:
    """All kinds, those of other packages first: so they can take files that ours would read otherwise."""
    return tuple(Registry(SourceKind, (sources.__name__,), GROUP).values())


def _all_kinds() -> tuple[SourceKind | FeedKind, ...]:
    """What --source takes: one stream, or the messages of many devices."""
    return *source_kinds(), *feed_kinds()


def source_help() -> str:
    """What `--source` takes, for its help.

    >>> print(source_help())  # doctest: +ELLIPSIS
    Where rows come from. ... -: ... mqtt://...
    """
    return "Where rows come from. " + " ".join(f"{kind.address}: {kind.help}." for kind in _all_kinds())


def source_kind(where: str) -> tuple[str, str]:
    """Kind and id of the source that `--source` names, before it is opened."""
    kind = _kind_of(where)
    if kind is None:  # of a stream that is finished, the file may be gone
        return "file", id_of(where)
    id = kind.id_of(where)
    if not id or Path(id).name != id:
        raise SettingError(f"{where}: the source '{kind.name}' gives it the id '{id}', which cannot name a file")
    return kind.name, id


def open_source(where: str, request: Request) -> Source:
    """The source that `--source` names, from its beginning or from a bookmark on."""
    kind = _kind_of(where)
    if kind is None:
        raise RecordingError(f"{where}: {_why_none(where)}; --source takes {_addresses()}")
    if request.follow and not kind.can_follow:
        raise RecordingError(f"{where}: a source of the kind '{kind.name}' cannot be followed; leave --follow away")
    return kind.open(where, request)


def _kind_of(where: str) -> SourceKind | None:
    try:
        return next((kind for kind in source_kinds() if kind.matches(where)), None)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RecordingError(f"{where}: cannot be read ({reason}); check --source") from None


def _why_none(where: str) -> str:
    scheme, is_address, _ = where.partition("://")
    if is_address:
        schemes = [kind.address.partition("://")[0] for kind in _all_kinds() if "://" in kind.address]
        near = get_close_matches(scheme, schemes, n=1)
        hint = (
            f"did you mean {near[0]}://?" if near else f"is the package that adds it installed (entry point {GROUP})?"
        )
        return f"no source takes {scheme}:// addresses; {hint}"
    path = Path(where)
    if path.exists():
        return "it is not a regular file; pipe it into --source -"
    beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    near = get_close_matches(path.name, beside, n=1)
    return "there is no such file or folder" + (f"; did you mean '{path.parent / near[0]}'?" if near else "")


def _addresses() -> str:
    *most, last = [kind.address for kind in _all_kinds()]
    return f"{', '.join(most)} or {last}"
