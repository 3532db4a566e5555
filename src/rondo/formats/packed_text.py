"""Text that is packed (.gz, .bz2, .zst), read as if it were not: unpacked piece by piece, never on the disk.

A packed file can hold a thousand times what it seems to, so what comes out of it is counted: as soon as it is more than
fits into memory as a recording, reading ends. Going back, which text files are read with, unpacks from the beginning.
zst needs the library zstandard (extra `io`).
"""

from __future__ import annotations

import bz2
import gzip
import io
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from rondo.errors import RecordingError
from rondo.formats.expected_memory import most_for_a_file, most_text_bytes
from rondo.formats.file_names import packing_of
from rondo.formats.io_extra import optional_library
from rondo.free_memory import in_gigabytes

_ZSTANDARD_PIECE = 2048
"""Bytes unpacked at once. A block of zst holds up to 128 kB and may take 4 bytes: so this gives 64 MB at most."""


class _Stream(Protocol):
    def read(self, at_most: int, /) -> bytes: ...

    def close(self) -> None: ...


@contextmanager
def opened_text(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a text, packed or not."""
    packing = packing_of(path)
    if not packing:
        with path.open("rb") as file:
            yield file
        return
    openers: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".zst": _Zstandard}
    most = most_for_a_file()
    with io.BufferedReader(Unpacked(path, openers[packing], most_text_bytes(most)), 1 << 16) as file:
        yield cast("BinaryIO", file)


class Unpacked(io.RawIOBase):
    """What lies in a packed file, as a file that can be read from any place; `most_bytes` are given and no more."""

    def __init__(self, path: Path, opener: Callable[[Path], _Stream], most_bytes: int | None) -> None:
        self._path, self._opener, self._most_bytes = path, opener, most_bytes
        self._stream = opener(path)
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        piece = self._next(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence == io.SEEK_END:
            raise io.UnsupportedOperation("where packed text ends is known only after it was read")
        target = offset if whence == io.SEEK_SET else self._position + offset
        if target < self._position:
            self._stream.close()
            self._stream, self._position = self._opener(self._path), 0
        while self._position < target and self._next(min(1 << 16, target - self._position)):
            pass
        return self._position

    def _next(self, at_most: int) -> bytes:
        try:
            piece = self._stream.read(at_most)
        except EOFError as error:
            raise RecordingError("it is cut off: its packed text does not end; get it again") from error
        except (OSError, zlib.error, ValueError) as error:
            raise RecordingError(f"it is damaged, or not packed as its name says ({error}); get it again") from error
        self._position += len(piece)
        if self._most_bytes is not None and self._position > self._most_bytes:
            raise RecordingError(
                f"it unpacks to more than {in_gigabytes(self._most_bytes)}, which do not fit into the memory that is "
                "free as a recording; cut it into shorter recordings"
            )
        return piece

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


class _Zstandard:
    """A file of zst frames. zstandard's own reader takes one that is cut off for a whole one."""

    def __init__(self, path: Path) -> None:
        self._library = optional_library("zstandard", "Reading .zst")
        self._file = path.open("rb")
        self._frame: Any = None
        self._left = self._packed = b""

    def read(self, at_most: int) -> bytes:
        while not self._left:
            self._packed = self._packed or self._file.read(_ZSTANDARD_PIECE)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError
                return b""
            self._unpack()
        piece, self._left = self._left[:at_most], self._left[at_most:]
        return piece

    def _unpack(self) -> None:
        if self._frame is None:
            self._frame = self._library.ZstdDecompressor().decompressobj()
        try:
            self._left = self._frame.decompress(self._packed)
        except self._library.ZstdError as error:
            raise ValueError(str(error)) from error
        self._packed = b""
        if self._frame.eof:
            self._packed, self._frame = self._frame.unused_data, None

    def close(self) -> None:
        self._file.close()


def expected_text_bytes(path: Path, usual: float = 4.0) -> int:
    """About how much a packed file holds, without unpacking it: what gzip says at its end, or `usual` times its size.

    What it says may be wrong, and is checked while it is read.
    """
    n_bytes = path.stat().st_size
    said = 0
    if packing_of(path) == ".gz" and n_bytes > 18:
        with path.open("rb") as file:
            file.seek(-4, io.SEEK_END)
            (said,) = struct.unpack("<I", file.read(4))
    return max(said, int(usual * n_bytes))
