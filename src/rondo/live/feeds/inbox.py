"""Inbox: messages on the disk, for networks that keep none; a message may be confirmed once `append` has returned.

The folder holds segments, each named by the offset of its first record:

    00000000000000000000.inbox    head: what the owner knew when the segment began, any bytes
                                  records: length, crc32, arrival time, flags, tag, device, payload

Offsets count records from the very first one and are never used twice. Messages before the mark are settled: segments
that hold nothing else are deleted. A crash while records are appended leaves a torn last record, which was confirmed
to nobody: it is cut off when the inbox is opened. Damage anywhere else is an error.

One thread may append while another one reads and settles.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from rondo.errors import ModelError, OutputError
from rondo.live.devices.messages import Message
from rondo.store.folder import clear_drafts, open_appending, sync_folder, write_bytes
from rondo.store.lock import locked
from rondo.store.reading import read_regular

PARTITION = "inbox"
SEGMENT_BYTES = 16 << 20
LIMIT_BYTES = 1 << 30

_MAGIC = b"RONDOIN1"
_FRAME = struct.Struct("<II")  # bytes of the body, crc32 of the body
_BODY = struct.Struct("<dBIH")  # arrival, flags, tag, bytes of the device's name; then the name and the payload
_AFTER_LOSS = 1
_LOCK = ".lock"
_BLOCK_BYTES = 1 << 18
_GOES_ON = "make room or give permission, then start the same command again: it goes on from its last checkpoint"


class Arrival(NamedTuple):
    """A message as it came in. One without a device is a note of the owner: it has an offset, and is never given."""

    device: str
    payload: bytes
    arrived_s: float
    is_after_loss: bool = False
    tag: int = 0  # what the sender knows it by, 32 bits


class Inbox:
    """An append-only log of messages, from the mark on."""

    def __init__(
        self, folder: Path, mark: int | None, limit_bytes: int = LIMIT_BYTES, segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        """Open the log, or begin one; `mark` is the first offset that is still needed.

        `head` and `tail` are what the newest segment holds: whoever keeps a state that follows from the messages
        begins with the head, and takes in every arrival of the tail.
        """
        self._folder, self._limit_bytes = folder, limit_bytes
        self._segment_bytes = min(segment_bytes, limit_bytes // 8)
        self._lock = threading.Lock()
        self._opened = ExitStack()
        with _written(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._opened.enter_context(locked(folder, _LOCK, "another process reads into this inbox; stop it, or wait"))
        try:
            self._open(mark or 0)
        except BaseException:
            self._opened.close()
            raise

    def _open(self, mark: int) -> None:
        folder = self._folder
        with _written(folder):
            found = sorted(folder.glob("*.inbox"))
            clear_drafts(_path(folder, mark))
        self._firsts = [_first_of(path) for path in found]
        self.head, self.n_torn_bytes = b"", 0
        self.tail: list[Arrival] = []
        self._stop = mark  # the next offset to be appended
        self._descriptor = -1  # of the newest segment
        self._opened.callback(self._close_newest)
        if found:
            if mark < self._firsts[0]:
                raise ModelError(
                    f"{folder}: expected the messages from {mark} on, its first is {self._firsts[0]}; "
                    "put the folder back as it was, or choose another --out"
                )
            self._open_newest(found[-1])
        self._sizes = [path.stat().st_size for path in found]
        if not found or self._stop < mark:  # the newest are gone, but their offsets were given
            self._stop = mark
            self._begin_segment(self.head)
        self._next = self._mark = mark  # the first to be given, and the first that is not settled
        self._reader = _Reader(folder, self._firsts, mark)
        self._opened.callback(self._reader.close)
        self.settle(mark)

    def _open_newest(self, path: Path) -> None:
        """Count its records, and cut a torn one off."""
        content = read_regular(path)
        self.head, start = _head_of(path, content)
        found = list(_records(content, start))
        self.tail = [arrival for _, arrival in found]
        end = found[-1][0] if found else start
        self.n_torn_bytes = len(content) - end
        self._stop = _first_of(path) + len(self.tail)
        with _written(self._folder):
            self._descriptor = open_appending(path)
            if self.n_torn_bytes:
                os.ftruncate(self._descriptor, end)
                os.fsync(self._descriptor)
            os.lseek(self._descriptor, end, os.SEEK_SET)

    @property
    def n_bytes(self) -> int:
        """On the disk now."""
        with self._lock:
            return sum(self._sizes)

    @property
    def is_full(self) -> bool:
        """Whether it holds as much as it may, and something of it is needed."""
        return self._mark < self._stop and self.n_bytes >= self._limit_bytes

    @property
    def next_offset(self) -> int:
        """Of the next arrival that is appended."""
        return self._stop

    @property
    def backlog(self) -> int:
        """Records that were not read yet."""
        return self._stop - self._next

    def roll(self, head: Callable[[], bytes]) -> None:
        """Begin a segment with this head if the newest has its size: for owners with a state, before each `append`.

        The head is what was known before the arrivals of that append: a crash between the two may lose them.
        """
        if self._sizes[-1] >= self._segment_bytes and self._stop > self._firsts[-1]:
            self._begin_segment(head())

    def append(self, arrivals: Iterable[Arrival]) -> None:
        """Returns when they are on the disk. After an error the inbox has to be opened again."""
        records = [_record(arrival) for arrival in arrivals]
        if not records:
            return
        self.roll(bytes)
        with _written(self._folder):
            try:
                _write(self._descriptor, b"".join(records))
                os.fsync(self._descriptor)
            except OSError:
                os.ftruncate(self._descriptor, self._sizes[-1])
                raise
        with self._lock:  # from now on they can be read
            self._sizes[-1] += sum(map(len, records))
            self._stop += len(records)

    def _begin_segment(self, head: bytes) -> None:
        path = _path(self._folder, self._stop)
        begin = _MAGIC + _FRAME.pack(len(head), zlib.crc32(head)) + head
        write_bytes(path, begin, _GOES_ON)
        with _written(self._folder):
            descriptor = open_appending(path)
            os.lseek(descriptor, 0, os.SEEK_END)
        self._close_newest()
        self._descriptor = descriptor
        with self._lock:
            self._firsts.append(self._stop)
            self._sizes.append(len(begin))

    def read(self, at_most: int) -> list[Message]:
        """The next messages, from the mark on; none where all that are there were given."""
        with self._lock:
            stop = self._stop
        given: list[Message] = []
        while self._next < stop and len(given) < at_most:
            arrival = self._reader.read()
            if arrival.device:
                flags = arrival.arrived_s, arrival.is_after_loss
                given.append(Message(arrival.device, arrival.payload, PARTITION, self._next, *flags))
            self._next += 1
        return given

    def settle(self, mark: int) -> None:
        """Messages before this offset are not needed any more: segments without others are deleted."""
        with self._lock, _written(self._folder):
            self._mark = mark
            gone = sum(first <= mark for first in self._firsts) - 1  # the newest stays: it knows the offsets
            gone = min(gone, sum(first <= self._next for first in self._firsts) - 1)
            for first in self._firsts[: max(0, gone)]:
                _path(self._folder, first).unlink(missing_ok=True)
            if gone > 0:
                sync_folder(self._folder)
                del self._firsts[:gone], self._sizes[:gone]

    def close(self) -> None:
        """What was not settled is given again to whoever opens it next."""
        self._opened.close()

    def _close_newest(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class _Reader:
    """Record after record through the segments; asked only for records that are there."""

    def __init__(self, folder: Path, firsts: list[int], offset: int) -> None:
        self._folder, self._offset = folder, max(first for first in firsts if first <= offset)
        self._open()
        while self._offset < offset:
            self.read()

    def _open(self) -> None:
        self._path = _path(self._folder, self._offset)
        try:
            self._file = self._path.open("rb")
        except OSError as error:
            raise _damaged(self._path, str(error.strerror or error)) from None
        begin = self._file.read(len(_MAGIC) + _FRAME.size)
        n_bytes = _FRAME.unpack_from(begin, len(_MAGIC))[0] if len(begin) == len(_MAGIC) + _FRAME.size else 0
        try:
            _head_of(self._path, begin + self._file.read(n_bytes))
        except ModelError:
            self._file.close()
            raise
        self._block, self._at = b"", 0

    def read(self) -> Arrival:
        while True:
            found = next(_records(self._block, self._at), None)
            if found is not None:
                self._at, arrival = found
                self._offset += 1
                return arrival
            more = self._file.read(_BLOCK_BYTES)
            if more:
                self._block, self._at = self._block[self._at :] + more, 0
            elif self._at < len(self._block) or not _path(self._folder, self._offset).exists():
                self._file.close()
                raise _damaged(self._path, f"the record {self._offset} cannot be read")
            else:
                self._file.close()
                self._open()

    def close(self) -> None:
        self._file.close()


def _record(arrival: Arrival) -> bytes:
    device = arrival.device.encode()
    flags = _AFTER_LOSS if arrival.is_after_loss else 0
    body = _BODY.pack(arrival.arrived_s, flags, arrival.tag, len(device)) + device + arrival.payload
    return _FRAME.pack(len(body), zlib.crc32(body)) + body


def _records(content: bytes, start: int) -> Iterator[tuple[int, Arrival]]:
    """Every whole record from `start` on, with the place where it ends; stops at the first that is not whole."""
    while start + _FRAME.size <= len(content):
        n_bytes, crc = _FRAME.unpack_from(content, start)
        body = content[start + _FRAME.size : start + _FRAME.size + n_bytes]
        if n_bytes < _BODY.size or len(body) < n_bytes or zlib.crc32(body) != crc:
            return
        arrived_s, flags, tag, n_name = _BODY.unpack_from(body)
        name_end = _BODY.size + n_name
        start += _FRAME.size + n_bytes
        yield (
            start,
            Arrival(body[_BODY.size : name_end].decode(), body[name_end:], arrived_s, bool(flags & _AFTER_LOSS), tag),
        )


def _head_of(path: Path, content: bytes) -> tuple[bytes, int]:
    """The head of a segment, and where its records begin."""
    start = len(_MAGIC) + _FRAME.size
    if len(content) >= start and content.startswith(_MAGIC):
        n_bytes, crc = _FRAME.unpack_from(content, len(_MAGIC))
        head = content[start : start + n_bytes]
        if len(head) == n_bytes and zlib.crc32(head) == crc:
            return head, start + n_bytes
    raise _damaged(path, "its head cannot be read")


def _path(folder: Path, first: int) -> Path:
    return folder / f"{first:020d}.inbox"


def _first_of(path: Path) -> int:
    if not path.stem.isdecimal():
        raise _damaged(path, "expected the offset of its first message as its name")
    return int(path.stem)


def _write(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror or error}); {_GOES_ON}") from None


def _damaged(path: Path, reason: str) -> ModelError:
    return ModelError(f"{path}: not a segment of an inbox, or damaged ({reason}); put it back, or choose another --out")
