"""Source, Feed, Sink: what the ends of a stream can do, and which kinds of each are installed.

A *source* gives the rows of one stream. A *feed* gives the messages of many devices; Kafka keeps them itself, those of
MQTT and LSL are first written to an inbox. A *sink* takes labels and events in batches, and never keeps the stream
waiting. A kind is a `SourceKind`, `FeedKind` or `SinkKind` at the top of a module of `rondo.live`, or of another
package that names it as an entry point:

    [project.entry-points."rondo.sources"]        # or rondo.feeds, rondo.sinks
    modbus = "my_package.modbus_source:SOURCE"
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError, SettingError, SourceLostError
from rondo.files.reading import id_of
from rondo.live.address import scheme_of
from rondo.registry import Registry
from rondo.wording import near_match

if TYPE_CHECKING:
    from rondo.live.inbox import FeedStore

Bookmark = Mapping[str, Any]
SOURCES, FEEDS, SINKS = "rondo.sources", "rondo.feeds", "rondo.sinks"


class Skip(NamedTuple):
    """A part of the input that gave no rows."""

    line: int  # the first one that was skipped
    n_lines: int  # 0 if the input itself began again, so that rows before and after it are not neighbours
    reason: str


class Rows(NamedTuple):
    """Rows that a source has read.

    Skipped lines come before the first of these rows, so the order of events does not depend on how many rows are
    read at a time.

    >>> Rows(np.zeros((3, 2), np.float32), times_s=None, position=3).values.shape
    (3, 2)
    """

    values: NDArray[np.floating]  # (n_rows, n_channels) in the order of the request; NaN where a value is missing
    times_s: NDArray[np.float64] | None  # (n_rows,); None without a clock
    position: int  # after these rows: bytes of a file or of standard input, or rows of a recording
    skipped: tuple[Skip, ...] = ()  # before these rows
    n_unreadable: int = 0  # cells without a finite number; they are NaN
    beside: NDArray[np.float32] | None = None  # the columns of `Request.beside`; NaN where a column is missing
    missing_cells: Mapping[str, int] = {}  # cells that a session has set to NaN, by channel


class Request(NamedTuple):
    """What to read from a source."""

    channels: tuple[str, ...]  # of the model, in its order
    rate: float | None = None  # of the model, for rows without times
    follow: bool = False  # wait for more rows at the end, if the kind of source can
    bookmark: Bookmark | None = None  # continue after the rows that it marks
    beside: tuple[str, ...] = ()  # further columns to read, which mark missing cells
    is_fine: bool = False  # float32 is too coarse for channels of the model (`rondo.data.precision`)


class Source(Protocol):
    r"""An open source of rows; opened with its bookmark, it continues with the next row.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "day.csv").write_text("time,x\n" + "".join(f"{i / 10},{i}\n" for i in range(100)))
    ...     source = open_source(str(Path(folder, "day.csv")), Request(("x",), rate=10.0))
    ...     rows = source.read(at_most=4)
    ...     source.close()
    >>> rows.values.ravel().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """

    @property
    def ended(self) -> bool:
        """Whether no row will ever come again."""

    def read(self, at_most: int) -> Rows | None:
        """Return the next rows, None if there are none now; RecordingError if it cannot be read, or lacks a channel."""

    def wait(self, seconds: float) -> None:
        """Wait for rows, at most so long."""

    def bookmark(self) -> Bookmark:
        """Mark the end of the rows read so far, in plain JSON."""

    def backlog_bytes(self) -> int:
        """Estimate how much is there and not read yet."""

    def close(self) -> None:
        """Close files and connections."""


@dataclass(frozen=True)
class SourceKind:
    """The declaration of a kind of source.

    >>> kind = next(kind for kind in source_kinds() if kind.name == "file")
    >>> kind.can_follow, kind.id_of("days/day1.csv")
    (True, 'day1')
    """

    name: str  # checkpoints store it, so it must never change
    address: str  # the form of its addresses, for `rondo stream --help`
    help: str  # what it reads, for the same
    can_follow: bool
    matches: Callable[[str], bool]  # whether an address is of this kind
    id_of: Callable[[str], str]  # the id of the stream at an address, which names its files
    open: Callable[[str, Request], Source]
    order: int = 0  # kinds are tried in this order; those of other packages come before those of Rondo


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


class Patience:
    """How long a source that is away is waited for: `seconds`, or for ever (None)."""

    def __init__(
        self,
        name: str,
        seconds: float | None,
        say: Callable[[str], None] = lambda line: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._seconds, self._say, self._clock = name, seconds, say, clock
        self._since: float | None = None
        self._has_said = False

    def lose(self, why: str, quiet_s: float = 0.0) -> None:
        """It is not there now: said once, after `quiet_s`; raises SourceLostError when that has lasted too long."""
        now = self._clock()
        self._since = now if self._since is None else self._since
        if not self._has_said and now - self._since >= quiet_s:
            self._has_said = True
            self._say(f"{self._name}: {why}; waiting")
        if self._seconds is not None and now - self._since >= self._seconds:
            raise SourceLostError(
                f"{self._name}: {why}, for {self._seconds:g} s now; when it is back, start the same command again: "
                "nothing is lost"
            )

    def reset(self, back: str = "there again") -> None:
        if self._has_said:
            self._say(f"{self._name}: {back}")
        self._since, self._has_said = None, False


def source_kinds() -> tuple[SourceKind, ...]:
    """List the kinds of sources, those of other packages first: they can take files that Rondo would read too."""
    return tuple(Registry(SourceKind, (__package__,), SOURCES).values())


def source_help() -> str:
    """What `--source` takes, for its help.

    >>> print(source_help())  # doctest: +ELLIPSIS
    Where rows come from. ... -: ... mqtt://...
    """
    kinds: tuple[SourceKind | FeedKind, ...] = (*source_kinds(), *feed_kinds())
    return "Where rows come from. " + " ".join(f"{kind.address}: {kind.help}." for kind in kinds)


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
    """Open the source that `--source` names: a path, a folder, "-", or an address that another package adds.

    >>> open_source("nowhere.csv", Request(("x",)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    rondo.errors.RecordingError: nowhere.csv: there is no such file or folder; --source takes ...
    """
    kind = _kind_of(where)
    if kind is None:
        *most, last = addresses = [kind.address for kind in source_kinds()] + [kind.address for kind in feed_kinds()]
        raise RecordingError(f"{where}: {_why_none(where, addresses)}; --source takes {', '.join(most)} or {last}")
    if request.follow and not kind.can_follow:
        raise RecordingError(f"{where}: a source of the kind '{kind.name}' cannot be followed; leave --follow away")
    return kind.open(where, request)


def _kind_of(where: str) -> SourceKind | None:
    try:
        return next((kind for kind in source_kinds() if kind.matches(where)), None)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RecordingError(f"{where}: cannot be read ({reason}); check --source") from None


def _why_none(where: str, addresses: Sequence[str]) -> str:
    scheme = scheme_of(where)
    if scheme is not None:
        near = near_match(scheme, [address.partition("://")[0] for address in addresses])
        missing = f"is the package that adds it installed (entry point {SOURCES})?"
        return f"no source takes {scheme}:// addresses; {f'did you mean {near}://?' if near else missing}"
    path = Path(where)
    if path.exists():
        return "it is not a regular file; pipe it into --source -"
    near = near_match(path.name, [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else [])
    return "there is no such file or folder" + (f"; did you mean '{path.parent / near}'?" if near else "")


class Message(NamedTuple):
    """What a device sent at once: one row or several."""

    device: str  # as the sender names it; never empty
    payload: bytes
    partition: str
    offset: int
    arrived_s: float | None = None  # seconds since 1970, by the broker or the inbox: the same when it is given again
    lost_until: int = -1  # offsets of the partition before this one may be lost: a boundary, once for each device


class FeedRequest(NamedTuple):
    """What a feed needs to open."""

    store: FeedStore  # marks of partitions, and what the feed keeps between two runs
    channels: tuple[str, ...]  # of the model, in its order
    rate: float | None
    revoked: Callable[[Collection[str]], None]  # call it before another reader may have these partitions
    say: Callable[[str], None]  # prints a line: a connection lost, or there again


class Feed(Protocol):
    """Messages, each once for every opening, from the marks on, in the same order; offsets of a partition only rise."""

    def poll(self, seconds: float) -> list[Message]:
        """Return the next messages; wait at most so long for the first.

        A lost connection is retried, with a note. What can never succeed (a refused login, an unknown topic) raises
        RecordingError.
        """

    def settle(self, marks: Mapping[str, int]) -> None:
        """Forget messages before these offsets: they are in checkpoints on the disk."""

    @property
    def ended(self) -> bool:
        """Whether no message will ever come again."""

    @property
    def backlog(self) -> int:
        """Number of messages that are known to wait."""

    def close(self) -> None:
        """Disconnect; messages that were not settled are given again."""


@dataclass(frozen=True)
class FeedKind:
    """The declaration of a kind of feed: `name` is stored in checkpoints; `rondo stream --help` shows `address`."""

    name: str
    address: str
    help: str
    schemes: tuple[str, ...]  # of its addresses: the part before the first colon
    open: Callable[[str, FeedRequest], Feed]
    order: int = 0


def feed_kinds() -> tuple[FeedKind, ...]:
    return tuple(Registry(FeedKind, (__package__,), FEEDS).values())


def feed_kind(where: str) -> FeedKind | None:
    """Find the kind of feed that an address names; None if it is no feed."""
    scheme, colon, _ = where.partition(":")
    return next((kind for kind in feed_kinds() if colon and scheme.lower() in kind.schemes), None)


MessageType = Literal["label", "event"]


class SinkMessage(NamedTuple):
    """One label or event as JSON."""

    device: str
    type: MessageType
    text: str


class Sink(Protocol):
    """Where messages go: it takes a batch when it is ready, and retries for as long as it takes."""

    @property
    def problem(self) -> str | None:
        """What keeps it from sending now, in one line; None if nothing does."""

    @property
    def n_refused(self) -> int:
        """Number of messages that the receiver rejected for good: they count as confirmed and are not sent again."""

    @property
    def waits_at_end(self) -> bool:
        """Whether the end of a run waits as long as it takes, as for a pipe that someone reads."""

    def is_ready(self) -> bool:
        """Whether it takes another batch now."""

    def send(self, batch: Sequence[SinkMessage]) -> None:
        """Take a batch; returns at once."""

    def n_confirmed(self) -> int:
        """Number of batches that have arrived, in the order they were taken."""

    def close(self) -> None:
        """Disconnect; give up batches that are not confirmed."""


@dataclass(frozen=True)
class SinkKind:
    """The declaration of a kind of sink.

    `open` refuses what cannot work (a missing package, a malformed address); a server that does not answer is no reason
    to refuse.
    """

    name: str
    address: str
    help: str
    matches: Callable[[str], bool]
    open: Callable[[str], Sink]
    order: int = 0


def sink_kinds() -> tuple[SinkKind, ...]:
    """List the kinds of sinks, those of other packages first."""
    return tuple(Registry(SinkKind, (__package__,), SINKS).values())


def sink_help() -> str:
    """Describe what `--sink` takes, for its help.

    >>> print(sink_help())  # doctest: +ELLIPSIS
    Where to send labels and events, in addition to the files. -: ...
    """
    kinds = " ".join(f"{kind.address}: {kind.help}." for kind in sink_kinds())
    return f"Where to send labels and events, in addition to the files. {kinds} May be repeated."


def open_sink(where: str) -> Sink:
    kind = next((kind for kind in sink_kinds() if kind.matches(where)), None)
    if kind is not None:
        return kind.open(where)
    addresses = [kind.address for kind in sink_kinds()]
    schemes = [address.partition("://")[0] for address in addresses if "://" in address]
    near = near_match(scheme_of(where) or where, schemes)
    hint = f"did you mean {near}://?" if near else f"it takes {', '.join(addresses)}"
    shown = where.rpartition("@")[2]  # a password in an address is not repeated
    raise SettingError(f"--sink {shown}: there is no such sink; {hint}")


def shown_sink(where: str) -> str:
    """A sink as logs and files name it: the path of a web page may be a secret.

    >>> shown_sink("-"), shown_sink("mqtt://host/topic"), shown_sink("https://hooks.example.com/T0/B1/x9")
    ('stdout', 'mqtt://host/topic', 'https://hooks.example.com/...')
    """
    if scheme_of(where) in ("http", "https"):
        return "/".join(where.split("/")[:3]) + "/..."
    return "stdout" if where == "-" else where


def has_scheme(*schemes: str) -> Callable[[str], bool]:
    """For `SinkKind.matches`: whether an address has one of these schemes."""
    return lambda where: scheme_of(where) in schemes
