"""Whole lines out of bytes that come in pieces: the first ones to look at, then blocks of them to be parsed.

A stored file and a live source are read alike. A line that is not finished yet is not given, and neither are line ends
and zeros (which a power cut leaves) until something follows them: at the end of a text they are no rows.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from rondo.errors import RecordingError
from rondo.files.extras import optional_library
from rondo.files.reading import packing_of
from rondo.memory import in_gigabytes, most_for_a_file, most_text_bytes
from rondo.store.reading import open_regular, regular

BLOCK_BYTES = 1 << 18
HEAD_LINES = 64  # that tell how a text is written
LONGEST_LINE = 16 << 20  # a "line" beyond this is no row of a table, and must not be gathered in memory
_ZSTANDARD_PIECE = 2048  # bytes unpacked at once: a block of 4 bytes may hold 128 kB, so this gives 64 MB at most
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f]")  # in no text
_NO_TEXT = "it is not a text table (binary data?); expected columns of numbers in UTF-8 text"


class HeadLine(NamedTuple):
    """One of the first lines: its text without its end, and where it lies."""

    text: str
    start: int
    stop: int
    number: int
    is_utf8: bool = True


class TextBlock(NamedTuple):
    """Whole lines, each ending in a line feed; the last one `is_open` where the text ended without."""

    text: bytes
    start: int
    first_line: int
    is_open: bool = False


class Lines:
    """Lines of what `read_bytes` gives (b"" where nothing is there now), with the place after the last one taken.

    >>> pieces = [b"a,b\\n1,", b"2\\n3"]
    >>> lines = Lines(lambda n: pieces.pop(0) if pieces else b"")
    >>> lines.take()
    TextBlock(text=b'a,b\\n', start=0, first_line=1, is_open=False)
    >>> lines.take().text, lines.take(), lines.position
    (b'1,2\\n', None, 8)
    >>> lines.end()
    >>> lines.take()
    TextBlock(text=b'3\\n', start=8, first_line=3, is_open=True)
    """

    def __init__(
        self, read_bytes: Callable[[int], bytes], position: int = 0, number: int = 0, block_bytes: int = BLOCK_BYTES
    ) -> None:
        self._read_bytes, self._block_bytes = read_bytes, block_bytes
        self._ahead = b""  # from `position` on
        self.has_ended = self._is_open = False
        self.position = position  # bytes up to the end of the last line taken
        self.number = number  # of the last line taken, from 1 on
        self.n_zeros = 0  # that stood at the end

    def head(self, n_lines: int = HEAD_LINES, *, at_end: bool) -> list[HeadLine] | None:
        """The next lines that are not blank, without moving past them; None where more are still to come.

        Fewer than `n_lines` where the text has ended (`at_end`: if nothing is there now, nothing will come).
        """
        while True:
            found = list(self._next_lines(n_lines))
            if len(found) == n_lines or len(self._ahead) > LONGEST_LINE or self.has_ended:
                return found
            if not self._fill():
                if not at_end:
                    return None
                self.end()

    def _next_lines(self, n_lines: int) -> Iterator[HeadLine]:
        start, number, n_found = 0, self.number, 0
        if self.position == 0 and self._ahead.startswith(codecs.BOM_UTF8):
            start = len(codecs.BOM_UTF8)
        while n_found < n_lines:
            stop = self._ahead.find(b"\n", start) + 1
            if not stop and self.has_ended and start < len(self._ahead):
                stop = len(self._ahead)
            line, number = self._ahead[start : stop or None], number + 1
            is_no_line = is_binary(line if stop else line.rstrip(b"\0")) or len(line) > LONGEST_LINE
            if n_found < 2 and (is_no_line or (self.n_zeros and not (n_found or line))):
                raise RecordingError(_NO_TEXT)
            if not stop:
                return
            if b"\r" in line.rstrip(b"\r\n"):
                if n_found > 1:
                    return  # whoever reads the rows names the line
                raise RecordingError(f"line {number} holds a bare carriage return; save the file with usual line ends")
            if line.strip():
                n_found += 1
                text, is_utf8 = decoded(line)
                yield HeadLine(text.rstrip("\r\n"), self.position + start, self.position + stop, number, is_utf8)
            start = stop

    def between(self, start: int, stop: int, first_line: int) -> TextBlock:
        """Lines of the head, without moving past them."""
        text = self._ahead[start - self.position : stop - self.position]
        return TextBlock(text if text.endswith(b"\n") else text + b"\n", start, first_line)

    def skip_to(self, position: int) -> bool:
        """Move past all lines before the position; False where they have not all come yet."""
        while self.position + len(self._ahead) < position:
            if not self._fill():
                return False
        self._move(position - self.position)
        return True

    def take(self) -> TextBlock | None:
        """The lines that are whole, up to about one block of them; None where no whole one is there."""
        while not (stop := self._end_of_whole_lines()):
            if len(self._ahead) > LONGEST_LINE:
                raise RecordingError(
                    f"line {self.number + 1} does not end; expected columns of numbers in UTF-8 text, one row per line"
                )
            if not self._fill():
                return None
        start, first_line = self.position, self.number + 1
        text = self._move(stop)
        return TextBlock(text if text.endswith(b"\n") else text + b"\n", start, first_line, self._is_open)

    def blocks(self) -> Iterator[TextBlock]:
        """All lines to the end of a text to which nothing is added."""
        while (block := self.take()) is not None:
            yield block
        self.end()
        if (last := self.take()) is not None:
            yield last

    def _end_of_whole_lines(self) -> int:
        if self.has_ended:
            return len(self._ahead)
        filled = len(self._ahead.rstrip(b"\r\n\0"))
        for end in (b"\n", b"\r\n"):
            if filled and self._ahead.startswith(end, filled):
                return filled + len(end)
        return self._ahead.rfind(b"\n", 0, filled) + 1

    def _move(self, n_bytes: int) -> bytes:
        passed, self._ahead = self._ahead[:n_bytes], self._ahead[n_bytes:]
        self.position += len(passed)
        self.number += count(passed, "\n")
        return passed

    def end(self) -> None:
        """Nothing will follow: what has come of the last line is all of it."""
        while not self.has_ended and self._fill():
            pass
        if self.has_ended:
            return
        whole, filled = self._end_of_whole_lines(), len(self._ahead.rstrip(b"\r\n\0"))
        behind = self._ahead[filled:]
        self.has_ended, self._ahead = True, self._ahead[: max(whole, filled)]
        self._is_open = not behind.startswith((b"\r", b"\n"))
        self.n_zeros = behind.count(b"\0")

    def _fill(self) -> bool:
        block = b"" if self.has_ended else self._read_bytes(self._block_bytes)
        self._ahead += block
        return bool(block)


def is_binary(line: bytes) -> bool:
    """Whether a line holds what no text in UTF-8 or Windows-1252 does."""
    return _CONTROL.search(line) is not None


def decoded(line: bytes) -> tuple[str, bool]:
    """The text, and whether it is UTF-8; or else it is Windows-1252, in which many spreadsheets write ° and ²."""
    try:
        return line.decode("utf-8"), True
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace"), False


def count(text: bytes, character: str) -> int:
    """As `bytes.count`, four times faster where there are many."""
    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == ord(character)))


@contextmanager
def opened_text(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a text, packed or not; what is packed is unpacked piece by piece, never on the disk."""
    packing = packing_of(path)
    if not packing:
        with open_regular(path) as file:
            yield file
        return
    openers: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".zst": _Zstandard}
    most = most_for_a_file()
    with io.BufferedReader(Unpacked(path, openers[packing], most_text_bytes(most)), 1 << 16) as file:
        yield cast("BinaryIO", file)


class Unpacked(io.RawIOBase):
    """What lies in a packed file, as a file that can be read from any place; going back unpacks from the beginning.

    It can hold a thousand times what it seems to: as soon as it gave more than `most_bytes`, reading ends.
    """

    def __init__(self, path: Path, opener: Callable[[Path], Any], most_bytes: int | None) -> None:
        self._path, self._opener, self._most_bytes = path, opener, most_bytes
        self._stream = opener(regular(path))
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
            piece: bytes = self._stream.read(at_most)
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
        self._file = open_regular(path)
        self._frame: Any = None
        self._left = self._packed = b""

    def read(self, at_most: int) -> bytes:
        while not self._left:
            self._packed = self._packed or self._file.read(_ZSTANDARD_PIECE)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError
                return b""
            if self._frame is None:
                self._frame = self._library.ZstdDecompressor().decompressobj()
            try:
                self._left = self._frame.decompress(self._packed)
            except self._library.ZstdError as error:
                raise ValueError(str(error)) from error
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        piece, self._left = self._left[:at_most], self._left[at_most:]
        return piece

    def close(self) -> None:
        self._file.close()


def expected_text_bytes(path: Path, usual: float = 4.0) -> int:
    """About how much a packed file holds, without unpacking it: what gzip says at its end, or `usual` times its size.

    What it says may be wrong, and is checked while it is read.
    """
    n_bytes = path.stat().st_size
    said = 0
    if packing_of(path) == ".gz" and n_bytes > 18:
        with open_regular(path) as file:
            file.seek(-4, io.SEEK_END)
            (said,) = struct.unpack("<I", file.read(4))
    return max(said, int(usual * n_bytes))
