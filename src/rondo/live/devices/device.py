"""DeviceRows: the messages of one device -> rows, as a `Source` that a session reads.

Rules:

- what lies before the bookmark is passed over: every message counts once, however often it is given;
- text goes through the reader of all text (`row_reader`). How it is written is told from the first 64 rows; until they
  are there no row is given. They are kept in the bookmark, for no broker gives them again;
- a message that cannot be read is skipped, with an event; so is one that was sent twice, where messages are numbered
  (`?sequence=FIELD`). Rows with times that repeat or go back are dropped later, with an event (`data/preparation`);
- a boundary, with an event: messages were lost (the feed says so, or a number is missing), or rows without times come
  after a silence longer than `?gap=`. With times, their own gaps tell.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from rondo.live.base import Bookmark, Request, Rows, Skip
from rondo.live.devices.messages import Message
from rondo.live.devices.payloads import PackedRows, UnreadablePayload, is_packed, packed_rows, sequence_of
from rondo.live.devices.text_rows import TextRows


class MessageRules(NamedTuple):
    """What an address says about the messages: `key` and `sequence` are fields of JSON payloads."""

    key: str | None = None  # names the device
    sequence: str | None = None  # counts the messages of a device
    payload: str = "auto"
    gap_s: float = 10.0  # a silence that rows without times do not go on after


class DeviceRows:
    """Rows of one device."""

    ended = False

    def __init__(self, device: str, rules: MessageRules, request: Request) -> None:
        self._rules, self._n_channels = rules, len(request.channels)
        self._queue: deque[Message] = deque()
        self._given: deque[Rows] = deque()  # before anything that is still to be read
        self._taken: dict[str, int] = {}  # of each partition, the first offset that was not taken; opened, in the next
        self._opened: dict[str, int] = {}
        self._n_messages = 0
        self._arrived_s: float | None = None  # of the last message; its number, in the next line
        self._number: int | None = None
        self._has_times: bool | None = None  # None before the first row
        self._array = PackedRows(np.empty((0, self._n_channels), np.float32), None)
        self._text = TextRows(device, request, (request.bookmark or {}).get("text"))
        if request.bookmark:
            self._go_on(request.bookmark)

    # ------------------------------------------------------------ messages

    def take(self, message: Message) -> bool:
        """One more message; False where it was taken before."""
        if message.offset < self._taken.get(message.partition, 0):
            return False
        self._taken[message.partition] = message.offset + 1
        self._queue.append(message)
        return True

    @property
    def partitions(self) -> frozenset[str]:
        """Where its messages came from."""
        return frozenset(self._taken)

    def read(self, at_most: int) -> Rows | None:
        """The next rows. One message is read to its end before the next is opened: so what is given, and in which
        order, does not depend on how many had come when somebody asked."""
        while (rows := self._ready(at_most)) is None and self._queue:
            self._open(self._queue.popleft())
        return rows

    def _ready(self, at_most: int) -> Rows | None:
        if self._given:
            return self._given.popleft()
        if len(self._array.values):
            return self._from_array(at_most)
        rows = self._text.read(at_most)
        if rows is not None and len(rows.values):
            self._has_times = rows.times_s is not None
        return rows

    def _from_array(self, at_most: int) -> Rows:
        values, times = self._array
        self._array = PackedRows(values[at_most:], None if times is None else times[at_most:])
        self._has_times = times is not None
        values, infinite = values[:at_most].copy(), np.isinf(values[:at_most])
        values[infinite] = np.nan
        return Rows(values, None if times is None else times[:at_most], self._n_messages, (), int(infinite.sum()))

    def _open(self, message: Message) -> None:
        """Make rows of a message; what happened to the input, if anything did, comes before them."""
        self._n_messages += 1
        self._opened[message.partition] = message.offset + 1
        try:
            boundary = self._boundary_before(message)
            if boundary is not None:
                self._given.extend(self._text.flushed())
                self._tell(Skip(self._n_messages, 0, boundary))
            self._fill(message.payload)
        except UnreadablePayload as error:
            self._tell(Skip(self._n_messages, 1, str(error)))
        self._arrived_s = message.arrived_s

    def _fill(self, payload: bytes) -> None:
        if is_packed(payload, self._rules.payload):
            rows = packed_rows(payload, self._rules.payload, self._n_channels)
            if self._has_times is not None and self._has_times != (rows.times_s is not None):
                raise UnreadablePayload("rows with times and rows without cannot be mixed")
            self._array = rows
        else:
            self._text.push(payload)

    def _tell(self, skip: Skip) -> None:
        self._given.append(Rows(np.empty((0, self._n_channels), np.float32), None, self._n_messages, (skip,)))

    def _boundary_before(self, message: Message) -> str | None:
        """Why the message does not follow on the one before; None where it does, and for the first one."""
        lost = "messages were lost before this one" if message.is_after_loss else None
        if self._rules.sequence is not None:
            before, number = self._number, sequence_of(message.payload, self._rules.sequence)
            if before is not None and number <= before:
                raise UnreadablePayload(f"number {number} came after {before}: sent twice, or late")
            self._number = number
            if before is not None and number > before + 1 and not self._are_timed():
                lost = f"{number - before - 1} messages are missing before number {number}"
        if lost is None and self._arrived_s is not None and message.arrived_s is not None:
            silence = message.arrived_s - self._arrived_s
            if silence > self._rules.gap_s and not self._are_timed():
                lost = f"silent for {silence:.0f} s, and the rows have no times"
        return None if self._n_messages == 1 else lost

    def _are_timed(self) -> bool | None:
        """Whether rows have times; before the first one is given, those that are held back tell."""
        return self._text.are_timed() if self._has_times is None else self._has_times

    # ------------------------------------------------------------ as a source

    def wait(self, seconds: float) -> None:
        """Whoever gives the messages waits for them."""

    def bookmark(self) -> Bookmark:
        assert not self._given, "what is ready is read before a bookmark is made"
        values, times = self._array
        return {
            "opened": dict(self._opened),
            "n_messages": self._n_messages,
            "arrived_s": self._arrived_s,
            "number": self._number,
            "has_times": self._has_times,
            "array": [values.tolist(), None if times is None else times.tolist()],
            "text": self._text.bookmark(),
        }

    def _go_on(self, bookmark: Bookmark) -> None:
        self._opened, self._taken = dict(bookmark["opened"]), dict(bookmark["opened"])
        self._n_messages, self._arrived_s = bookmark["n_messages"], bookmark["arrived_s"]
        self._number, self._has_times = bookmark["number"], bookmark["has_times"]
        values, times = bookmark["array"]
        values = np.array(values, np.float32).reshape(-1, self._n_channels)
        self._array = PackedRows(values, None if times is None else np.array(times, np.float64))

    def backlog_bytes(self) -> int:
        return sum(len(message.payload) for message in self._queue)

    def close(self) -> None:
        """Nothing is open."""
