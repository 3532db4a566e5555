"""StandardInput: rows that another program pipes in, as text with a header or as JSON lines.

A pipe cannot be read twice. Started again without `follow`, the same bytes must be piped in from the beginning: those
already labelled are passed over, and refused if they differ (sha256). With `follow` the pipe is live: it goes on with
new rows, after a header of its own; rows sent meanwhile are lost, so every new start is a boundary.
"""

from __future__ import annotations

import hashlib
import os
import select
import sys

from rondo.errors import ModelError
from rondo.files.text.lines import Lines
from rondo.live.clock import ClockState
from rondo.live.rows import RowReader
from rondo.live.source import Bookmark, Request, Rows, SourceKind, named

_NAME = "standard input"


class StandardInput:
    """The rows that come on a file descriptor, standard input if none is named."""

    def __init__(self, request: Request, descriptor: int | None = None) -> None:
        bookmark = request.bookmark
        self.ended = False
        self._descriptor = sys.stdin.fileno() if descriptor is None else descriptor
        self._closed = False
        self._digest, self._n_digested = hashlib.sha256(), 0  # of all bytes up to the last row given
        self._ahead = bytearray()  # bytes read beyond that
        self._live = request.follow or (bookmark is not None and bookmark["live"])
        clock = None if bookmark is None else ClockState(**bookmark["clock"]).carried()
        self._reader = RowReader(Lines(self._bytes), request, _NAME, clock)
        self._to_pass_over: Bookmark | None = None
        self._before = 0  # bytes of the pipes before this one, where they are live
        if bookmark is not None and bookmark["position"] > 0:
            if self._live:
                self._before = bookmark["position"]
                self._reader.begin_anew("begun again after a restart; rows sent meanwhile are lost")
            else:
                self._to_pass_over = bookmark

    def read(self, at_most: int) -> Rows | None:
        if self.ended or not self._passed_over():
            return None
        rows = self._reader.read(at_most, at_end=self._closed)
        if rows is None and self._closed:  # perhaps only since then
            rows = self._reader.read(at_most, at_end=True)
            self.ended = rows is None
        self._digest_given()
        return None if rows is None else rows._replace(position=self._before + rows.position)

    def _passed_over(self) -> bool:
        """Whether everything that was labelled in an earlier run has been read once more, and is the same."""
        if self._to_pass_over is None:
            return True
        position, is_there = self._to_pass_over["position"], False
        while not is_there:
            at_end, n_head = self._closed, self._to_pass_over["n_head"]
            is_there = self._reader.read_head(at_end=at_end, n_lines=n_head) and self._reader.go_on(self._to_pass_over)
            if not is_there and at_end:
                raise _refused(f"only {len(self._ahead)} of {position} bytes came")
            if not is_there and not self._closed:
                return False
        self._digest_given()
        if self._digest.hexdigest() != self._to_pass_over["sha256"]:
            raise _refused("they differ")
        self._to_pass_over = None
        return True

    def _digest_given(self) -> None:
        n_given = self._reader.position - self._n_digested
        self._digest.update(self._ahead[:n_given])
        del self._ahead[:n_given]
        self._n_digested = self._reader.position

    def _bytes(self, at_most: int) -> bytes:
        """What is there now: reading on would wait, and a signal to stop would wait with it."""
        if self._closed or not self._is_readable(0):
            return b""
        with named(_NAME):
            block = os.read(self._descriptor, at_most)
        self._closed = not block
        self._ahead += block
        return block

    def _is_readable(self, seconds: float) -> bool:
        return bool(select.select([self._descriptor], [], [], seconds)[0])

    def wait(self, seconds: float) -> None:
        self._is_readable(seconds)

    def bookmark(self) -> Bookmark:
        if self._to_pass_over is not None:
            return self._to_pass_over
        own = self._reader.bookmark()
        return own | {
            "position": self._before + self._reader.position,
            "sha256": self._digest.hexdigest(),
            "live": self._live,
        }

    def backlog_bytes(self) -> int:
        return len(self._ahead)

    def close(self) -> None:
        """Standard input is not ours to close."""


def _refused(why: str) -> ModelError:
    return ModelError(
        f"standard input: expected the rows of the earlier run once more from the beginning, {why}; pipe in the same "
        "again, use --follow for a live pipe, or choose another --out"
    )


SOURCE = SourceKind(
    name=_NAME,
    address="-",
    help="rows that another program pipes in, in text or JSON lines",
    can_follow=True,
    matches=lambda where: where == "-",
    id_of=lambda where: "stdin",
    open=lambda where, request: StandardInput(request),
    order=13,
)
