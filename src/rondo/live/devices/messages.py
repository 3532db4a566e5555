"""Feed: messages of many devices, from a broker or a network; the fleet makes one stream of each device.

Every message has a position: a partition and an offset in it. Offsets of a partition only rise, and a feed that is
opened again gives every message from the mark of its partition on, in the same order. So what was labelled after the
last checkpoint is labelled again, the same, and what lies before the mark is never asked for again (`settle`).

Kafka keeps its messages itself. MQTT and LSL do not: their messages are first brought to the disk in an inbox
(`rondo.live.feeds.inbox`) and only then confirmed.

The kind of a feed is the `FEED` of a module in `rondo.live.feeds`, or of another package that names it as an entry
point:

    [project.entry-points."rondo.feeds"]
    amqp = "my_package.amqp_feed:FEED"
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from rondo.live import feeds
from rondo.registry import Registry

FEEDS = "rondo.feeds"


class Message(NamedTuple):
    """What a device sent at once: one row or several."""

    device: str  # as the sender has it; any text but the empty one
    payload: bytes
    partition: str
    offset: int
    arrived_s: float | None = None  # seconds since 1970, by the broker or the inbox: the same when it is given again
    is_after_loss: bool = False  # between it and the device's message before, some are lost for good


class FeedRequest(NamedTuple):
    """What a feed is asked for."""

    folder: Path  # where it may keep what it needs between two runs
    channels: tuple[str, ...]  # of the model, in its order
    rate: float | None
    mark_of: Callable[[str], int | None]  # the first offset of a partition that is needed; None: from its beginning
    revoked: Callable[[Collection[str]], None]  # to be called before another reader may have these partitions
    say: Callable[[str], None]  # a line for people: a connection lost, or there again


class Feed(Protocol):
    """Messages, each once for every opening, from the marks on."""

    def poll(self, seconds: float) -> list[Message]:
        """The next messages; waits at most so long for the first of them. A lost connection is no error: it is said,
        and tried again. What can never go well (a login that is refused, an unknown topic) raises RecordingError."""

    def settle(self, marks: Mapping[str, int]) -> None:
        """All messages before these offsets are in checkpoints on the disk: they will not be asked for again."""

    @property
    def ended(self) -> bool:
        """Whether no message will ever come again."""

    @property
    def backlog(self) -> int:
        """Messages that are known to be there and were not given yet."""

    def close(self) -> None:
        """Let go of the connection; what was not settled will be given again."""


@dataclass(frozen=True)
class FeedKind:
    """A kind of feed, declared once: `name` stands in checkpoints; `address` and `help` are shown by `rondo stream`."""

    name: str
    address: str
    help: str
    schemes: tuple[str, ...]  # of the addresses it takes: what stands before the first colon
    open: Callable[[str, FeedRequest], Feed]
    order: int = 0


def feed_kinds() -> tuple[FeedKind, ...]:
    """All kinds, in their order."""
    return tuple(Registry(FeedKind, (feeds.__name__,), FEEDS).values())


def feed_kind(where: str) -> FeedKind | None:
    """The kind of feed that an address names; None where it is no feed."""
    scheme, colon, _ = where.partition(":")
    return next((kind for kind in feed_kinds() if colon and scheme.lower() in kind.schemes), None)
