"""MCAP, the recordings of robots (Foxglove, ROS 2): messages of one topic, or of several on the clock of the first.

Read with the package `mcap` (extra `io`); messages in JSON, in CDR with a schema of ROS 2 (mcap-ros2-support) or in
protobuf (mcap-protobuf-support), which are decoded by the schema in the file, as data: no code of the file is run.
The clock is the log time, when the recorder got a message: every message has one, of one clock, whereas stamps in a
message are those of its sender, and may be absent. They are no channels.

`key` names the topic, or several with commas between. Then a frame is a message of the first; the others give the last
value that they had at its time, and none where they have been silent for longer than five of their usual steps. A file
whose recorder was killed is read as far as its records are whole.
"""

from __future__ import annotations

import io
import json
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import InputError, RecordingError
from rondo.files.columns import kept_channels
from rondo.files.extras import distinct_names, marked_head, optional_library
from rondo.files.reading import Reading, RecordingFormat, listed
from rondo.files.text.clock import is_clock_name, mentions_time_stamps, spread
from rondo.memory import most_for_a_file, refuse_large_array
from rondo.wording import counted

# ----------------------------------------------------------------
# Messages of an MCAP file, one after the other, as its specification describes them (mcap.dev/spec).
#
# The file is a row of records: an opcode, a length of 8 bytes, the content. Messages lie in chunks, which may be
# packed. The package `mcap` takes records apart; what a record or a chunk may take is settled here, before it does: no
# more than the file holds, and no more than the chunk announces and memory has.

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


# ----------------------------------------------------------------
# Numbers in a decoded message, by the path to each: `linear_acceleration.x`, `position[2]`.
#
# Messages are what JSON gives, what mcap-ros2-support makes of ROS 2 messages, or messages of protobuf. Text, bytes
# and enumerations are no numbers; a pair of seconds and nanoseconds is a time, and no number either.

MOST_OF_A_LIST = 64
"""Elements that become channels; longer lists (images, scans, clouds of points) are left out."""

_DEEPEST = 16
_TIMES = (
    {"sec", "nsec"}, {"sec", "nanosec"}, {"secs", "nsecs"}, {"seconds", "nanos"}, {"seconds", "nanoseconds"},
)  # fmt: skip


def numbers_of(message: Any, left_out: set[str]) -> Iterator[tuple[str, float]]:
    """Path and value of every number; paths of lists that are too long are added to `left_out`."""
    yield from _numbers(message, "", left_out, 0)


def _numbers(value: Any, path: str, left_out: set[str], depth: int) -> Iterator[tuple[str, float]]:
    if isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:  # of whole numbers that no sensor has
            number = float("nan")
        yield path or "value", number
    elif value is None or isinstance(value, str | bytes) or depth > _DEEPEST:
        return
    elif (parts := _parts(value)) is not None:
        if set(parts) not in _TIMES:
            for name, part in parts.items():
                yield from _numbers(part, f"{path}.{name}" if path else str(name), left_out, depth + 1)
    elif hasattr(value, "__len__") and hasattr(value, "__getitem__"):
        if len(value) > MOST_OF_A_LIST:
            left_out.add(path)
            return
        for place, part in enumerate(value):
            yield from _numbers(part, f"{path}[{place}]", left_out, depth + 1)


def _parts(value: Any) -> Mapping[str, Any] | None:
    """The fields of an object by name; None where it is none."""
    if isinstance(value, Mapping):
        return value
    descriptor = getattr(value, "DESCRIPTOR", None)
    if descriptor is not None:
        # A message inside a message may not have been sent; numbers that were not sent are 0.
        return {
            field.name: getattr(value, field.name)
            for field in descriptor.fields
            if field.enum_type is None and (not field.has_presence or value.HasField(field.name))
        }
    slots = getattr(type(value), "__slots__", None)
    return None if not isinstance(slots, list) else {name: getattr(value, name) for name in slots}


_MOST_FIELDS = 4096  # of one topic
_LONGEST_HOLD = 5  # usual steps of a topic, before its last value is too old
_READ = "JSON, CDR with a ros2msg schema, and protobuf are read"
_DECODERS = {
    ("cdr", "ros2msg"): ("mcap_ros2.decoder", "ROS 2 messages in .mcap"),
    ("protobuf", "protobuf"): ("mcap_protobuf.decoder", "protobuf messages in .mcap"),
}


def read_mcap(path: Path, reading: Reading) -> Recording:
    """The topics that `key` names, or the only one that holds numbers."""
    marked_head(path, len(MAGIC), lambda head: head == MAGIC, "MCAP file")
    topics = _chosen(_surveyed(path), reading.key)
    tables = {topic: _Table() for topic in topics}
    decoders = _Decoders()
    messages = McapMessages(path)
    for message in messages:
        table = tables.get(message.channel.topic)
        if table is not None:
            table.add(message.log_time_ns, decoders.decoded(message))
    names, values, times, notes = _joined(tables)
    kept, more = kept_channels(names, reading)
    if messages.n_lost_bytes:
        more += (f"its last {messages.n_lost_bytes} bytes are no whole record: the recorder was stopped, or it is cut",)
    channels = [names[place] for place in kept]
    if reading.rate is not None:
        more += (f"log times left out: the given rate of {reading.rate:g} Hz is the clock",)
        return Recording(values[:, kept], reading.rate, channels, path.stem, notes=more + notes)
    times, apart = spread(times, "log time")
    return Recording(values[:, kept], None, channels, path.stem, times, more + notes + apart)


class _Decoders:
    """How messages of each channel are decoded."""

    def __init__(self) -> None:
        self._known: dict[int, Callable[[bytes], Any]] = {}

    def decoded(self, message: FoundMessage) -> Any:
        channel = message.channel
        decode = self._known.get(channel.id) or self._known.setdefault(channel.id, self._decoder(message))
        try:
            return decode(message.data)
        except MemoryError:
            raise
        except Exception as error:  # decoders raise whatever broke first
            what = f"{type(error).__name__}: {error}"[:120]
            raise RecordingError(
                f"a message of topic '{channel.topic}' cannot be decoded ({what}); it is damaged"
            ) from error

    def _decoder(self, message: FoundMessage) -> Callable[[bytes], Any]:
        channel, schema = message.channel, message.schema
        if channel.message_encoding == "json":
            return json.loads
        encodings = (channel.message_encoding, "" if schema is None else schema.encoding)
        if encodings not in _DECODERS:
            raise RecordingError(
                f"messages of topic '{channel.topic}' are encoded as '{encodings[0]}' with a schema of kind "
                f"'{encodings[1]}'; {_READ}: convert the file, or export the topic as csv"
            )
        library = optional_library(*_DECODERS[encodings])
        try:
            decode: Callable[[bytes], Any] = library.DecoderFactory().decoder_for(encodings[0], schema)
        except Exception as error:  # parsers of schemas raise whatever broke first
            raise RecordingError(
                f"the schema of topic '{channel.topic}' cannot be read ({type(error).__name__})"
            ) from error
        return decode


@dataclass
class _Topic:
    """What the first message of a topic shows; `why` it holds no numbers."""

    n_messages: int = 0
    why: str = ""


def _surveyed(path: Path) -> dict[str, _Topic]:
    """All topics, from the first message of each."""
    topics: dict[str, _Topic] = {}
    decoders = _Decoders()
    for message in McapMessages(path):
        known = topics.get(message.channel.topic)
        if known is None:
            known = topics[message.channel.topic] = _Topic()
            try:
                has_numbers = any(True for _ in numbers_of(decoders.decoded(message), set()))
            except InputError as error:
                known.why = str(error)
            else:
                known.why = "" if has_numbers else f"messages of topic '{message.channel.topic}' hold no numbers"
        known.n_messages += 1
    if not topics:
        raise RecordingError("it holds no messages")
    return topics


def _chosen(topics: dict[str, _Topic], key: str | None) -> list[str]:
    with_numbers = [topic for topic, about in topics.items() if not about.why]
    if key is None:
        if len(with_numbers) == 1:
            return with_numbers
        if not with_numbers:
            raise RecordingError(next(iter(topics.values())).why)
        found = listed([f"{topic} ({topics[topic].n_messages} messages)" for topic in with_numbers])
        raise RecordingError(
            f"it has {len(with_numbers)} topics with numbers: {found}; name one, or several with commas "
            "between, with the key (--key TOPIC)"
        )
    names = [key] if key in topics else [name.strip() for name in key.split(",")]
    for name in names:
        if name not in topics:
            raise RecordingError(f"there is no topic '{name}'; it has {listed(list(topics))}")
        if topics[name].why:
            raise RecordingError(topics[name].why)
    return list(dict.fromkeys(names))


@dataclass
class _Table:
    """The numbers of one topic, a column for each path."""

    log_times_ns: array[int] = field(default_factory=lambda: array("Q"))
    columns: dict[str, array[float]] = field(default_factory=dict)
    too_long: set[str] = field(default_factory=set)

    def add(self, log_time_ns: int, message: Any) -> None:
        n_rows = len(self.log_times_ns)
        if n_rows % 4096 == 0:
            refuse_large_array(n_rows, len(self.columns))
        for path, value in numbers_of(message, self.too_long):
            column = self.columns.get(path)
            if column is None:
                if len(self.columns) == _MOST_FIELDS:
                    raise RecordingError(
                        f"its messages have more than {_MOST_FIELDS} fields; expected the same in each"
                    )
                refuse_large_array(n_rows, len(self.columns))
                column = self.columns[path] = array("d")
            column.extend([np.nan] * (n_rows - len(column)))
            if len(column) == n_rows:  # else the same path again, as {"a": {"b": 1}, "a.b": 2} has it
                column.append(value)
        self.log_times_ns.append(log_time_ns)

    def sorted(self) -> tuple[list[str], NDArray[np.float64], NDArray[np.float32], tuple[str, ...]]:
        """Names, log times in seconds, values in the order of time, and what was left out."""
        stamps = np.frombuffer(self.log_times_ns, np.uint64)
        order = np.argsort(stamps, kind="stable")
        names, values = [], []
        notes: tuple[str, ...] = ()
        for name, column in self.columns.items():
            column.extend([np.nan] * (len(stamps) - len(column)))
            numbers = np.frombuffer(column, np.float64)[order]
            last = name.rpartition(".")[2]
            tells_time = is_clock_name(last) or mentions_time_stamps(last)
            if tells_time and not (np.diff(numbers) < 0).any():
                notes += (f"field '{name}' left out: it tells the time; the log time is the clock",)
                continue
            names.append(name)
            with np.errstate(over="ignore"):
                values.append(numbers.astype(np.float32))
        if not names:
            raise RecordingError("its messages hold nothing but times; expected numbers")
        notes += tuple(
            f"field '{name}' left out: it has more than {MOST_OF_A_LIST} elements" for name in sorted(self.too_long)
        )
        return names, stamps[order].astype(np.float64) / 1e9, np.stack(values, axis=1), notes


def _joined(tables: dict[str, _Table]) -> tuple[list[str], NDArray[np.float32], NDArray[np.float64], tuple[str, ...]]:
    """One table: the frames of the first topic, and the last values of the others at their times."""
    parts = {topic: table.sorted() for topic, table in tables.items()}
    (first, (names, times, values, notes)), *others = parts.items()
    if not others:
        return names, values, times, notes
    names, columns = [f"{first}.{name}" for name in names], [values]
    for topic, (own_names, own_times, own_values, own_notes) in others:
        last = np.searchsorted(own_times, times, side="right") - 1
        held = own_values[np.maximum(last, 0)]
        usual = float(np.median(np.diff(own_times))) if own_times.size > 1 else np.inf
        held[(last < 0) | (times - own_times[np.maximum(last, 0)] > _LONGEST_HOLD * usual)] = np.nan
        columns.append(held)
        names += [f"{topic}.{name}" for name in own_names]
        notes += own_notes
        said = f"{counted(len(own_times), 'message')} of '{topic}': each held until the next, at the times of '{first}'"
        notes += (said,)
    return distinct_names(names), np.concatenate(columns, axis=1), times, notes


FORMAT = RecordingFormat(
    name="mcap",
    suffixes=(".mcap",),
    read=read_mcap,
    takes_key=True,
    extra="io",
    help="robots: numbers in the messages of one topic, the only one or the one named by `--key`",
    order=9,
)
