"""DeviceRows: the messages of one device -> rows, as a `Source` that a session reads.

- every message counts once, however often it is delivered: those before the bookmark are passed over;
- text goes through the reader of all text (`rows`). The first 64 rows decide how it is written. They are kept in the
  bookmark, for no broker delivers them again, with the text that gave no row yet;
- an unreadable message is skipped, with an event; so is one that was sent twice, if messages are numbered;
- a boundary, with an event: messages were lost (the feed reports it, or a number is missing), or rows without times
  come after a silence longer than `?gap=`. Rows with times show their gaps themselves.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rondo.data.precision import less
from rondo.errors import RecordingError
from rondo.files.text.lines import Lines
from rondo.live.clock import ClockState
from rondo.live.payloads import UnreadablePayload, as_lines, is_packed, packed_rows, sequence_of
from rondo.live.rows import RowReader
from rondo.live.source import Bookmark, Message, Request, Rows, Skip


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
        self._array = Rows(np.empty((0, self._n_channels), np.float32), None, 0)  # the rest of a packed payload
        self._text = TextRows(device, request, (request.bookmark or {}).get("text"))
        if request.bookmark:
            self._go_on(request.bookmark)

    def take(self, message: Message) -> bool:
        """One more message; False where it was taken before."""
        if message.offset < self._taken.get(message.partition, 0):
            return False
        self._taken[message.partition] = message.offset + 1
        self._queue.append(message)
        return True

    @property
    def partitions(self) -> frozenset[str]:
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
            values, times = self._array.values, self._array.times_s
            self._array = Rows(values[at_most:], None if times is None else times[at_most:], 0)
            self._has_times = times is not None
            values, infinite = values[:at_most].copy(), np.isinf(less(values[:at_most], ()))
            values[infinite] = np.nan
            return Rows(values, None if times is None else times[:at_most], self._n_messages, (), int(infinite.sum()))
        rows = self._text.read(at_most)
        if rows is not None and len(rows.values):
            self._has_times = rows.times_s is not None
        return rows

    def _open(self, message: Message) -> None:
        """Make rows of a message; what happened to the input, if anything did, comes before them."""
        self._n_messages += 1
        is_after_loss = self._opened.get(message.partition, 0) <= message.lost_until
        self._opened[message.partition] = message.offset + 1
        try:
            boundary = self._boundary_before(message, is_after_loss)
            if boundary is not None:
                self._given.extend(self._text.flushed())
                self._tell(Skip(self._n_messages, 0, boundary))
            payload, kind = message.payload, self._rules.payload
            if is_packed(payload, kind):
                rows = packed_rows(payload, kind, self._n_channels)
                if self._has_times is not None and self._has_times != (rows.times_s is not None):
                    raise UnreadablePayload("rows with times and rows without cannot be mixed")
                self._array = rows
            else:
                self._text.push(payload)
        except UnreadablePayload as error:
            self._tell(Skip(self._n_messages, 1, str(error)))
        self._arrived_s = message.arrived_s

    def _tell(self, skip: Skip) -> None:
        self._given.append(Rows(np.empty((0, self._n_channels), np.float32), None, self._n_messages, (skip,)))

    def _boundary_before(self, message: Message, is_after_loss: bool) -> str | None:
        """Why the message does not follow on the one before; None where it does, and for the first one."""
        lost = "messages were lost before this one" if is_after_loss else None
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

    def wait(self, seconds: float) -> None:
        """Whoever gives the messages waits for them."""

    def bookmark(self) -> Bookmark:
        assert not self._given, "what is ready is read before a bookmark is made"
        values, times = self._array.values, self._array.times_s
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
        values = np.array(values, np.float64).reshape(-1, self._n_channels)
        self._array = Rows(values, None if times is None else np.array(times, np.float64), 0)

    def backlog_bytes(self) -> int:
        return sum(len(message.payload) for message in self._queue)

    def close(self) -> None:
        """Nothing is open."""


_ROWS_AT_ONCE = 1000
_NUMBERS = re.compile(rb"(?i:[\d\s.,;+-]|e|nan|inf|infinity)*")


class TextRows:
    """Rows out of text that comes in payloads."""

    def __init__(self, name: str, request: Request, bookmark: Bookmark | None = None) -> None:
        self._name, self._request = name, request
        self._head = b""  # the lines that told how the text is written
        self._header = b""  # the first of them, if it is no row
        self._unread = bytearray()  # from the last row given on
        self._coming = b""  # the part of it that the reader has not asked for
        self._n_trimmed = 0  # where it begins, as the reader counts
        self._reader = self._new_reader()
        if bookmark is not None:
            self._head, self._coming = bookmark["head"].encode("latin-1"), bookmark["unread"].encode("latin-1")
            self._header = _header_of(self._head or self._coming)
            self._unread += self._coming
            if bookmark["n_head"]:
                self._reader = self._reader_after(bookmark, bookmark["n_head"])

    def push(self, payload: bytes) -> None:
        lines = as_lines(payload, self._header)
        if not self._unread and not self._head:
            self._header = _header_of(lines)
        self._unread += lines
        self._coming += lines

    def read(self, at_most: int) -> Rows | None:
        """The next rows, or what was skipped; None where more must come."""
        if not self._unread:
            return None
        try:
            rows = self._reader.read(at_most) or self._reader.news()
        except RecordingError as error:
            if self._reader.n_head:
                raise
            return self._passed_over(str(error))
        self._trim()
        return rows

    def are_timed(self) -> bool | None:
        """Whether the rows that are held back have times, as far as they tell now; None where they tell nothing."""
        held = [bytes(self._unread)]
        lines = Lines(lambda at_most: held.pop() if held else b"")
        reader = RowReader(lines, self._request, self._name, patient=True, quiet=True)
        try:
            rows = reader.read(_ROWS_AT_ONCE, at_end=True)
        except RecordingError:
            return None
        return None if rows is None or not len(rows.values) else rows.times_s is not None

    def flushed(self) -> Iterator[Rows]:
        """What is held back, since nothing will follow on it: text that comes later is read as a new beginning."""
        if not self._unread:
            return
        try:
            while (rows := self._reader.read(_ROWS_AT_ONCE, at_end=True)) is not None:
                yield rows
        except RecordingError as error:
            yield self._passed_over(str(error))
            return
        self._trim()
        n_head, self._coming, self._unread = self._reader.n_head, b"", bytearray()
        clock = (self._reader.clock or ClockState()).carried()
        last = self._reader.bookmark() | {"clock": vars(clock)}
        if n_head:
            self._reader = self._reader_after(last, n_head)
        else:
            self._reader, self._n_trimmed = self._new_reader(clock), 0

    def bookmark(self) -> dict[str, Any]:
        text = {"head": self._head.decode("latin-1"), "unread": bytes(self._unread).decode("latin-1")}
        return self._reader.bookmark() | text

    def _new_reader(self, carried: ClockState | None = None) -> RowReader:
        return RowReader(Lines(self._bytes), self._request, self._name, carried, patient=True)

    def _reader_after(self, bookmark: Bookmark, n_head: int) -> RowReader:
        """One that has read the head, and goes on with the text to come."""
        head = [self._head]
        lines = Lines(lambda at_most: head.pop() if head else b"")
        reader = RowReader(lines, self._request, self._name, ClockState(**bookmark["clock"]), patient=True, quiet=True)
        reader.read_head(at_end=True, n_lines=n_head)
        reader.go_on(bookmark, Lines(self._bytes, bookmark["position"], bookmark["line"]))
        self._n_trimmed = bookmark["position"]
        return reader

    def _bytes(self, at_most: int) -> bytes:
        given, self._coming = self._coming[:at_most], self._coming[at_most:]
        return given

    def _trim(self) -> None:
        """Forget the text of the rows given; of the head once it has told."""
        if not self._head and self._reader.n_head:
            lines = bytes(self._unread).splitlines(keepends=True)
            n_filled = np.cumsum([bool(line.strip()) for line in lines])
            self._head = b"".join(lines[: int(np.searchsorted(n_filled, self._reader.n_head)) + 1])
        n_given = self._reader.position - self._n_trimmed
        del self._unread[:n_given]
        self._n_trimmed += n_given

    def _passed_over(self, reason: str) -> Rows:
        """The text so far is no table of these channels: it is skipped, and what comes next is looked at afresh."""
        n_lines = self._unread.count(b"\n")
        self._unread, self._coming, self._header = bytearray(), b"", b""
        self._reader, self._n_trimmed = self._new_reader(), 0
        skip = Skip(1, n_lines, reason)
        return Rows(np.empty((0, len(self._request.channels)), np.float32), None, 0, (skip,))


def _header_of(text: bytes) -> bytes:
    """The first line, if it names columns; b"" where it is a row."""
    line = text.partition(b"\n")[0].rstrip()
    return b"" if line[:1] in (b"{", b"[") or _NUMBERS.fullmatch(line) else line
