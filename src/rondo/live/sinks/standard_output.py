"""StandardOutput: JSON lines for another program; one that reads slowly does not hold up the stream.

A pipe takes at least PIPE_BUF bytes where the system says that it can be written to, so pieces of that size never wait.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Sequence

from rondo.live.sinks.base import SinkKind, SinkMessage

_PIPE_BYTES = getattr(select, "PIPE_BUF", 512)


class StandardOutput:
    """Standard output as it is now: a pipe, a file or a terminal."""

    problem: str | None = None
    n_refused = 0
    waits_at_end = True

    def __init__(self) -> None:
        self._n_taken = 0
        self._rest = memoryview(b"")

    def is_ready(self) -> bool:
        self._write()
        return not self._rest

    def send(self, batch: Sequence[SinkMessage]) -> None:
        self._n_taken += 1
        self._rest = memoryview("".join(message.text + "\n" for message in batch).encode())
        self._write()

    def n_confirmed(self) -> int:
        self._write()
        return self._n_taken - bool(self._rest)

    def _write(self) -> None:
        while self._rest and _is_writable():
            sys.stdout.write(bytes(self._rest[:_PIPE_BYTES]).decode())
            sys.stdout.flush()
            self._rest = self._rest[_PIPE_BYTES:]

    def close(self) -> None:
        """It is not ours to close."""


def _is_writable() -> bool:
    try:
        return bool(select.select([], [sys.stdout.fileno()], [], 0)[1])
    except (OSError, ValueError):  # no descriptor that the system can ask about: it takes what it gets
        return True


SINK = SinkKind(
    name="standard output",
    address="-",
    help="JSON lines on stdout",
    matches=lambda where: where == "-",
    open=lambda where: StandardOutput(),
    order=10,
)
