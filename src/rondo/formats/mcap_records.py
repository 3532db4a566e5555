"""Messages of an MCAP file, one after the other, as its specification describes them (mcap.dev/spec).

The file is a row of records: an opcode, a length of 8 bytes, the content. Messages lie in chunks, which may be packed.
The package `mcap` takes records apart; what a record or a chunk may take is settled here, before it does: no more than
the file holds, and no more than the chunk announces and memory has.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rondo.errors import RecordingError
from rondo.formats.expected_memory import most_for_a_file
from rondo.formats.io_extra import optional_library

MAGIC = b"\x89MCAP0\r\n"
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END, _FOOTER = 3, 4, 5, 6, 15, 2
_PIECE = 1 << 20
_LARGEST_CHUNK = 1 << 31  # bytes; writers close a chunk after about one megabyte


class FoundMessage(NamedTuple):
    """One message, with the channel and the schema (None where it needs none) as the package `mcap` gives them."""

    channel: Any
    schema: Any
    log_time_ns: int
    data: bytes


class McapMessages:
    """Every message of a file, in the order in which they lie in it; `n_lost_bytes` at its end are no whole record."""

    def __init__(self, path: Path) -> None:
        self._path, self.n_lost_bytes = path, 0
        self._reader = optional_library("mcap.stream_reader", "Reading .mcap")
        self._schemas: dict[int, Any] = {}
        self._channels: dict[int, Any] = {}

    def __iter__(self) -> Iterator[FoundMessage]:
        size = self._path.stat().st_size
        with self._path.open("rb") as file:
            file.seek(len(MAGIC))
            while head := file.read(9):
                start, length = file.tell() - len(head), int.from_bytes(head[1:], "little")
                if len(head) < 9 or length > size - file.tell():
                    self.n_lost_bytes = size - start
                    return
                if head[0] in (_DATA_END, _FOOTER):
                    return
                yield from self._in_record(file, head[0], length)

    def _in_record(self, file: BinaryIO, opcode: int, length: int) -> Iterator[FoundMessage]:
        if opcode == 0:
            raise RecordingError("it is damaged: where a record should begin there are zeros")
        if opcode not in (_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK):  # attachments, indexes, what later versions add
            file.seek(length, io.SEEK_CUR)
            return
        records = self._reader
        try:
            stream = records.ReadDataStream(io.BytesIO(file.read(length)))
            if opcode == _CHUNK:
                chunk = records.Chunk.read(stream)
                chunk.data, chunk.compression = _plain(chunk), ""
                found = records.breakup_chunk(chunk, validate_crc=True)
            elif opcode == _MESSAGE:
                found = [records.Message.read(stream, length)]
            else:
                found = [(records.Schema if opcode == _SCHEMA else records.Channel).read(stream)]
        except (RecordingError, MemoryError):
            raise
        except Exception as error:  # the package names none, and damage has many faces
            raise RecordingError(f"it is damaged: a record cannot be read ({type(error).__name__} {error})") from error
        yield from self._taken(found)

    def _taken(self, found: list[Any]) -> Iterator[FoundMessage]:
        records = self._reader
        for record in found:
            if isinstance(record, records.Schema):
                self._schemas[record.id] = record
            elif isinstance(record, records.Channel):
                self._channels[record.id] = record
            else:
                channel = self._channels.get(record.channel_id)
                if channel is None:
                    raise RecordingError(
                        f"it is damaged: a message belongs to channel {record.channel_id}, which is not there"
                    )
                yield FoundMessage(channel, self._schemas.get(channel.schema_id), record.log_time, record.data)


def _plain(chunk: Any) -> bytes:
    """What is in a chunk, unpacked piece by piece, so that a false size allocates nothing."""
    most, size = most_for_a_file(), int(chunk.uncompressed_size)
    if size > min(_LARGEST_CHUNK, _LARGEST_CHUNK if most is None else most):
        raise RecordingError(
            f"one of its chunks announces {size} bytes, more than memory has; write it with smaller chunks"
        )
    if chunk.compression == "":
        pieces: Iterator[bytes] = iter([chunk.data])
    elif chunk.compression == "zstd":
        packed = optional_library("zstandard", "Reading .mcap").ZstdDecompressor().stream_reader(chunk.data)
        pieces = iter(lambda: packed.read(_PIECE), b"")
    elif chunk.compression == "lz4":
        pieces = _lz4_pieces(chunk.data)
    else:
        raise RecordingError(f"its chunks are packed by '{chunk.compression}'; expected zstd, lz4 or none")
    content, n_found = [], 0
    for piece in pieces:
        content.append(piece)
        n_found += len(piece)
        if n_found > size:
            break
    plain = b"".join(content)
    if n_found != size or (chunk.uncompressed_crc and zlib.crc32(plain) != chunk.uncompressed_crc):
        raise RecordingError("it is damaged: the content of a chunk is not what its size and checksum say")
    return plain


def _lz4_pieces(packed: bytes) -> Iterator[bytes]:
    unpacker = optional_library("lz4.frame", "Reading .mcap").LZ4FrameDecompressor()
    piece = unpacker.decompress(packed, max_length=_PIECE)
    while piece:
        yield piece
        piece = b"" if unpacker.eof else unpacker.decompress(b"", max_length=_PIECE)
