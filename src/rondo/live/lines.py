"""Whole lines out of a stream of bytes: a line that is not finished yet is not read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rondo.errors import RecordingError

BLOCK_BYTES = 1 << 18
LONGEST_LINE = 1 << 20  # a "line" beyond this is no row, and must not be gathered in memory


class Lines:
    """Lines of what `read_bytes` gives (b"" where nothing is there now), with the place after the last one taken.

    >>> pieces = [b"a,b\\n1,", b"2\\n3"]
    >>> lines = Lines(lambda n: pieces.pop(0) if pieces else b"")
    >>> lines.peek()
    b'a,b'
    >>> lines.take()
    >>> lines.peek(), lines.position
    (b'1,2', 4)
    """

    def __init__(self, read_bytes: Callable[[int], bytes], position: int = 0, number: int = 0) -> None:
        self._read_bytes = read_bytes
        self._whole: deque[bytes] = deque()
        self._rest = b""
        self._last_is_open = False  # the last of the whole lines has no line end
        self.position = position  # bytes up to the end of the last line taken
        self.number = number  # of the last line taken, from 1 on

    def peek(self, ahead: int = 0) -> bytes | None:
        """The next line without its end, or one further ahead; None where no whole one is there."""
        while len(self._whole) <= ahead:
            block = self._read_bytes(BLOCK_BYTES)
            if not block:
                return None
            whole, end, rest = (self._rest + block).rpartition(b"\n")
            if len(rest) > LONGEST_LINE:
                raise RecordingError(
                    f"line {self.number + 1} does not end within {LONGEST_LINE} bytes; expected one row per line"
                )
            self._rest = rest
            if end:
                self._whole.extend(whole.split(b"\n"))
        return self._whole[ahead]

    def take(self) -> None:
        """Move past the line that `peek` has shown."""
        self.position += len(self._whole.popleft())
        self.position += 0 if self._last_is_open and not self._whole else 1
        self.number += 1

    def end(self) -> None:
        """Nothing will follow: what has come of the last line is all of it."""
        if self._rest:
            self._whole.append(self._rest)
            self._rest, self._last_is_open = b"", True
