"""How the tests read a source: to its end, in chunks of any size, perhaps over many restarts."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.files.text.lines import HEAD_LINES
from rondo.live.inbox import FeedStore
from rondo.live.source import Bookmark, Feed, FeedRequest, Message, Rows, Skip, Source
from tests.live.servers import wait_until

BEGIN = "a,b\n" + "0,0\n" * (HEAD_LINES - 1)
"""As many lines as a file must have before its rows are given while it is followed."""


class Taken(NamedTuple):
    """All that a source gave."""

    values: NDArray[np.float32]
    times_s: NDArray[np.float64] | None
    skipped: list[tuple[int, Skip]]  # with the number of the row that follows
    n_unreadable: int


def taken(chunks: list[Rows]) -> Taken:
    """Chunks joined: what must not depend on how they were cut."""
    n_rows, skipped = 0, []
    for rows in chunks:
        skipped += [(n_rows, skip) for skip in rows.skipped]
        n_rows += len(rows.values)
    full = [rows for rows in chunks if len(rows.values)]
    values = np.concatenate([rows.values for rows in full]) if full else np.zeros((0, 0), np.float32)
    times = [rows.times_s for rows in full if rows.times_s is not None]
    return Taken(values, np.concatenate(times) if times else None, skipped, sum(rows.n_unreadable for rows in chunks))


def read_now(source: Source, at_most: int = 1000) -> list[Rows]:
    """All that is there now."""
    chunks = []
    while (rows := source.read(at_most)) is not None:
        assert len(rows.values) <= at_most
        chunks.append(rows)
    return chunks


def numbers(source: Source, at_most: int = 1000) -> list[float]:
    """Channel a of all that is there now, without the zeros of BEGIN."""
    values = taken(read_now(source, at_most)).values
    return [value for value in values[:, 0].tolist() if value] if values.size else []


def read_to_end(source: Source, at_most: int = 1000) -> Taken:
    with closing(source):
        chunks = read_now(source, at_most)
        assert source.ended
    return taken(chunks)


def read_with_restarts(open_at: Callable[[Bookmark | None], Source], at_most: int) -> Taken:
    """Open, read once, close, open at the bookmark, and so on: a process that is killed after every chunk."""
    chunks, bookmark = [], None
    while True:
        with closing(open_at(bookmark)) as source:
            rows = source.read(at_most)
            bookmark = json.loads(json.dumps(source.bookmark()))
            ended = source.ended
        if rows is not None:
            chunks.append(rows)
        if ended:
            return taken(chunks)


def assert_same(some: Taken, other: Taken) -> None:
    assert some.values.tobytes() == other.values.tobytes()
    assert (some.times_s is None) == (other.times_s is None)
    if some.times_s is not None and other.times_s is not None:
        assert some.times_s.tobytes() == other.times_s.tobytes()
    assert some.skipped == other.skipped
    assert some.n_unreadable == other.n_unreadable


STORES: list[FeedStore] = []
"""Closed after each test."""


def feed_request(
    folder: Path,
    channels: tuple[str, ...] = ("x",),
    rate: float | None = 50.0,
    *,
    marks: Mapping[str, int] | None = None,
    revoked: Callable[[Collection[str]], None] = lambda partitions: None,
    say: Callable[[str], None] = lambda line: None,
) -> FeedRequest:
    """What a fleet with these marks hands to a feed."""
    STORES.append(FeedStore(folder))
    STORES[-1].put_marks(marks or {})
    return FeedRequest(STORES[-1], channels, rate, revoked, say)


class Asked:
    """What a feed is asked for, and what it answers besides messages."""

    def __init__(
        self,
        folder: Path,
        marks: Mapping[str, int] | None = None,
        channels: tuple[str, ...] = ("x",),
        rate: float | None = 50.0,
    ) -> None:
        self.said: list[str] = []
        self.revoked: list[str] = []
        self.request = feed_request(
            folder, channels, rate, marks=marks, revoked=self.revoked.extend, say=self.said.append
        )

    def says(self, words: str) -> bool:
        return any(words in line for line in self.said)


def after_loss(messages: Sequence[Message]) -> list[bool]:
    """Which of them are the first of their device after a loss, for devices that have had nothing before."""
    seen: dict[tuple[str, str], int] = {}
    found = []
    for message in messages:
        key = message.device, message.partition
        found.append(seen.get(key, 0) <= message.lost_until)
        seen[key] = message.offset + 1
    return found


def collect(feed: Feed, n_messages: int) -> list[Message]:
    """So many messages at least."""
    found: list[Message] = []
    wait_until(lambda: found.extend(feed.poll(0.2)) or len(found) >= n_messages, f"{n_messages} messages")
    return found
