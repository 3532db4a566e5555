"""TextRows: the text of many messages, read as one text that grows (`row_reader`), for as long as the device lives.

How a text is written is told from its first 64 rows. A file can be looked at again, messages are gone: so those rows
are kept in the bookmark, together with the text that has come and given no row yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rondo.errors import RecordingError
from rondo.files.text.lines import Lines
from rondo.live.base import Bookmark, Request, Rows, Skip
from rondo.live.devices.payloads import as_lines
from rondo.live.row_clock import ClockState
from rondo.live.row_reader import RowReader

_ROWS_AT_ONCE = 1000


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
        """The text of one more message."""
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
            reader.end()
            rows = reader.read(_ROWS_AT_ONCE, at_end=True)
        except RecordingError:
            return None
        return None if rows is None or not len(rows.values) else rows.times_s is not None

    def flushed(self) -> Iterator[Rows]:
        """What is held back, since nothing will follow on it: text that comes later is read as a new beginning."""
        if not self._unread:
            return
        try:
            self._reader.end()
            while (rows := self._reader.read(_ROWS_AT_ONCE, at_end=True)) is not None:
                yield rows
            if (rows := self._reader.news()) is not None:
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

    # ------------------------------------------------------------ readers

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
            self._head = _first_lines(bytes(self._unread), self._reader.n_head)
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


def _first_lines(text: bytes, n_lines: int) -> bytes:
    """The first lines that are not blank."""
    kept: list[bytes] = []
    for line in text.split(b"\n"):
        kept.append(line + b"\n")
        n_lines -= bool(line.strip())
        if not n_lines:
            break
    return b"".join(kept)


def _header_of(text: bytes) -> bytes:
    """The first line, if it names columns; b"" where it is a row."""
    line = text.partition(b"\n")[0].rstrip()
    cells = line.replace(b";", b",").replace(b"\t", b",").split(b",")
    return b"" if line[:1] in (b"{", b"[") or all(map(_is_number, cells)) else line


def _is_number(cell: bytes) -> bool:
    try:
        float(cell or b"nan")
    except ValueError:
        return False
    return True
