"""MCAP, the recordings of robots (Foxglove, ROS 2): messages of one topic, or of several on the clock of the first.

Read with the package `mcap` (extra `io`); messages in JSON, in CDR with a schema of ROS 2 (mcap-ros2-support) or in
protobuf (mcap-protobuf-support), which are decoded by the schema in the file, as data: no code of the file is run.
The clock is the log time, when the recorder got a message; stamps in a message are those of its sender and no channels.

`key` names the topic, or several with commas between. Then a frame is a message of the first; the others give the last
value that they had at its time, and none where they have been silent for longer than five of their usual steps. A file
whose recorder was killed is read as far as its records are whole.
"""

from __future__ import annotations

import io
import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import InputError, RecordingError
from rondo.files.columns import kept_channels
from rondo.files.extras import clocked, distinct_names, marked_head, optional_library
from rondo.files.reading import Reading, RecordingFormat, listed
from rondo.files.text.clock import is_clock_name, mentions_time_stamps
from rondo.memory import most_for_a_file, refuse_large_array
from rondo.store.reading import open_regular
from rondo.wording import counted

MAGIC = b"\x89MCAP0\r\n"
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END, _FOOTER = 3, 4, 5, 6, 15, 2  # opcodes, mcap.dev/spec
_PIECE = 1 << 20
_LARGEST_CHUNK = 1 << 31  # bytes; writers close a chunk after about one megabyte
_LONGEST_LIST = 64  # elements that become channels; longer lists (images, scans, clouds of points) are left out
_DEEPEST = 16
_TIMES = (
    {"sec", "nsec"}, {"sec", "nanosec"}, {"secs", "nsecs"}, {"seconds", "nanos"}, {"seconds", "nanoseconds"},
)  # fmt: skip
_MOST_FIELDS = 4096  # of one topic
_LONGEST_HOLD = 5  # usual steps of a topic, before its last value is too old
_DECODERS = {
    ("cdr", "ros2msg"): ("mcap_ros2.decoder", "ROS 2 messages in .mcap"),
    ("protobuf", "protobuf"): ("mcap_protobuf.decoder", "protobuf messages in .mcap"),
}


def read_mcap(path: Path, reading: Reading) -> Recording:
    """The topics that `key` names, or the only one that holds numbers."""
    marked_head(path, len(MAGIC), lambda head: head == MAGIC, "MCAP file")
    tables = {topic: _Table() for topic in _chosen(_why_no_numbers(path), reading.key)}
    file = _File(path)
    for topic, log_time_ns, decoded in file.messages():
        if topic in tables:
            tables[topic].add(log_time_ns, decoded())
    names, values, times, notes = _joined(tables)
    kept, more = kept_channels(names, reading)
    if file.n_lost_bytes:
        more += (f"its last {file.n_lost_bytes} bytes are no whole record: the recorder was stopped, or it is cut",)
    channels = [names[index] for index in kept]
    return clocked(values[:, kept], times, channels, path.stem, reading, more + notes, "log time")


@dataclass
class _File:
    """The messages of a file, in the order in which they lie in it; `n_lost_bytes` at its end are no whole record.

    The package takes records apart; what a record or a chunk may take is settled before it does: no more than the file
    holds, and no more than the chunk announces and memory has.
    """

    path: Path
    n_lost_bytes: int = 0
    schemas: dict[int, Any] = field(default_factory=dict)
    channels: dict[int, Any] = field(default_factory=dict)
    decoders: dict[int, Callable[[bytes], Any]] = field(default_factory=dict)

    def messages(self) -> Iterator[tuple[str, int, Callable[[], Any]]]:
        """Topic, log time in nanoseconds and a function that decodes the message."""
        records = optional_library("mcap.stream_reader", "Reading .mcap")
        for record in self._records(records):
            if isinstance(record, records.Schema):
                self.schemas[record.id] = record
            elif isinstance(record, records.Channel):
                self.channels[record.id] = record
            elif record.channel_id not in self.channels:
                raise RecordingError(
                    f"it is damaged: a message belongs to channel {record.channel_id}, which is not there"
                )
            else:
                channel = self.channels[record.channel_id]
                yield channel.topic, record.log_time, lambda: self._decoded(channel, record.data)  # noqa: B023

    def _records(self, records: Any) -> Iterator[Any]:
        size = self.path.stat().st_size
        with open_regular(self.path) as file:
            file.seek(len(MAGIC))
            while head := file.read(9):
                opcode, length = head[0], int.from_bytes(head[1:], "little")
                if len(head) < 9 or length > size - file.tell():
                    self.n_lost_bytes = size - file.tell() + len(head)
                    return
                if opcode in (_DATA_END, _FOOTER):
                    return
                if opcode == 0:
                    raise RecordingError("it is damaged: where a record should begin there are zeros")
                if opcode not in (_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK):  # attachments, indexes, what later versions add
                    file.seek(length, io.SEEK_CUR)
                    continue
                try:
                    yield from _taken_apart(records, head, file.read(length))
                except (InputError, MemoryError):
                    raise
                except Exception as error:  # the package names none, and damage has many faces
                    what = f"{type(error).__name__} {error}"
                    raise RecordingError(f"it is damaged: a record cannot be read ({what})") from error

    def _decoded(self, channel: Any, data: bytes) -> Any:
        if channel.id not in self.decoders:
            self.decoders[channel.id] = _decoder(channel, self.schemas.get(channel.schema_id))
        try:
            return self.decoders[channel.id](data)
        except MemoryError:
            raise
        except Exception as error:  # decoders raise whatever broke first
            what = f"{type(error).__name__}: {error}"[:120]
            raise RecordingError(
                f"a message of topic '{channel.topic}' cannot be decoded ({what}); it is damaged"
            ) from error


def _taken_apart(records: Any, head: bytes, content: bytes) -> list[Any]:
    """The schemas, channels and messages in a record; one outside of chunks is taken for a chunk of itself."""
    if head[0] == _CHUNK:
        chunk = records.Chunk.read(records.ReadDataStream(io.BytesIO(content)))
        chunk.data, chunk.compression = _unpacked(chunk), ""
    else:
        chunk = records.Chunk("", head + content, 0, 0, 0, 0)
    return list(records.breakup_chunk(chunk, validate_crc=True))


def _unpacked(chunk: Any) -> bytes:
    """What is in a chunk, unpacked piece by piece, so that a false size allocates nothing."""
    most, size = most_for_a_file(), int(chunk.uncompressed_size)
    if size > min(_LARGEST_CHUNK, _LARGEST_CHUNK if most is None else most):
        raise RecordingError(
            f"one of its chunks announces {size} bytes, more than memory has; write it with smaller chunks"
        )
    if chunk.compression == "":
        packed: Any = io.BytesIO(chunk.data)
    elif chunk.compression == "zstd":
        packed = optional_library("zstandard", "Reading .mcap").ZstdDecompressor().stream_reader(chunk.data)
    elif chunk.compression == "lz4":
        packed = optional_library("lz4.frame", "Reading .mcap").LZ4FrameFile(io.BytesIO(chunk.data))
    else:
        raise RecordingError(f"its chunks are packed by '{chunk.compression}'; expected zstd, lz4 or none")
    plain = bytearray()
    while len(plain) <= size and (piece := packed.read(_PIECE)):
        plain += piece
    if len(plain) != size:
        raise RecordingError("it is damaged: the content of a chunk is not what its size and checksum say")
    return bytes(plain)


def _decoder(channel: Any, schema: Any) -> Callable[[bytes], Any]:
    if channel.message_encoding == "json":
        return json.loads
    encodings = (channel.message_encoding, "" if schema is None else schema.encoding)
    if encodings not in _DECODERS:
        raise RecordingError(
            f"messages of topic '{channel.topic}' are encoded as '{encodings[0]}' with a schema of kind "
            f"'{encodings[1]}'; JSON, CDR with a ros2msg schema, and protobuf are read: convert the file, or export "
            "the topic as csv"
        )
    library = optional_library(*_DECODERS[encodings])
    try:
        decode: Callable[[bytes], Any] = library.DecoderFactory().decoder_for(encodings[0], schema)
    except Exception as error:  # parsers of schemas raise whatever broke first
        raise RecordingError(
            f"the schema of topic '{channel.topic}' cannot be read ({type(error).__name__})"
        ) from error
    return decode


def _why_no_numbers(path: Path) -> dict[str, tuple[int, str]]:
    """Number of messages of each topic, and why the first of them holds no numbers ("" where it does)."""
    topics: dict[str, tuple[int, str]] = {}
    for topic, _, decoded in _File(path).messages():
        if topic not in topics:
            try:
                why = "" if any(True for _ in _numbers(decoded())) else f"messages of topic '{topic}' hold no numbers"
            except InputError as error:
                why = str(error)
            topics[topic] = (0, why)
        n_messages, why = topics[topic]
        topics[topic] = (n_messages + 1, why)
    if not topics:
        raise RecordingError("it holds no messages")
    return topics


def _chosen(topics: dict[str, tuple[int, str]], key: str | None) -> list[str]:
    with_numbers = [topic for topic, (_, why) in topics.items() if not why]
    if key is None:
        if len(with_numbers) == 1:
            return with_numbers
        if not with_numbers:
            raise RecordingError(next(iter(topics.values()))[1])
        there = listed([f"{topic} ({topics[topic][0]} messages)" for topic in with_numbers])
        raise RecordingError(
            f"it has {len(with_numbers)} topics with numbers: {there}; name one, or several with commas "
            "between, with the key (--key TOPIC)"
        )
    names = [key] if key in topics else [name.strip() for name in key.split(",")]
    for name in names:
        if name not in topics:
            raise RecordingError(f"there is no topic '{name}'; it has {listed(list(topics))}")
        if topics[name][1]:
            raise RecordingError(topics[name][1])
    return list(dict.fromkeys(names))


def _numbers(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, float | None]]:
    """The path to every number of a message (`linear_acceleration.x`, `position[2]`) and its value; None: a long list.

    Messages are what JSON gives, what mcap-ros2-support makes of ROS 2 messages, or messages of protobuf. Text, bytes
    and enumerations are no numbers; a pair of seconds and nanoseconds is a time, and no number either.
    """
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
                yield from _numbers(part, f"{path}.{name}" if path else str(name), depth + 1)
    elif hasattr(value, "__len__") and hasattr(value, "__getitem__"):
        if len(value) > _LONGEST_LIST:
            yield path, None
            return
        for index, part in enumerate(value):
            yield from _numbers(part, f"{path}[{index}]", depth + 1)


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
        for path, value in _numbers(message):
            if value is None:
                self.too_long.add(path)
                continue
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

    def sorted(self) -> tuple[list[str], NDArray[np.float32], NDArray[np.float64], tuple[str, ...]]:
        """Names, values in the order of time, log times in seconds, and what was left out."""
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
            values.append(numbers)
        if not names:
            raise RecordingError("its messages hold nothing but times; expected numbers")
        notes += tuple(
            f"field '{name}' left out: it has more than {_LONGEST_LIST} elements" for name in sorted(self.too_long)
        )
        return names, np.stack(values, axis=1), stamps[order].astype(np.float64) / 1e9, notes


def _joined(tables: dict[str, _Table]) -> tuple[list[str], NDArray[np.float32], NDArray[np.float64], tuple[str, ...]]:
    """One table: the frames of the first topic, and the last values of the others at their times."""
    (first, (names, values, times, notes)), *others = ((topic, table.sorted()) for topic, table in tables.items())
    if not others:
        return names, values, times, notes
    names, columns = [f"{first}.{name}" for name in names], [values]
    for topic, (topic_names, topic_values, topic_times, topic_notes) in others:
        last = np.searchsorted(topic_times, times, side="right") - 1
        held = topic_values[np.maximum(last, 0)]
        usual = float(np.median(np.diff(topic_times))) if topic_times.size > 1 else np.inf
        held[(last < 0) | (times - topic_times[np.maximum(last, 0)] > _LONGEST_HOLD * usual)] = np.nan
        columns.append(held)
        names += [f"{topic}.{name}" for name in topic_names]
        messages = counted(len(topic_times), "message")
        notes += (*topic_notes, f"{messages} of '{topic}': each held until the next, at the times of '{first}'")
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
