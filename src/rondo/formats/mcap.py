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

import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import InputError, RecordingError
from rondo.formats.clock_column import is_clock_name, mentions_time_stamps, spread
from rondo.formats.columns import listed
from rondo.formats.expected_memory import refuse_large_array
from rondo.formats.io_extra import kept_channels, optional_library, refuse_another_format, told_apart
from rondo.formats.mcap_records import MAGIC, FoundMessage, McapMessages
from rondo.formats.message_numbers import MOST_OF_A_LIST, numbers_of
from rondo.formats.recording_format import RecordingFormat
from rondo.wording import counted

_MOST_FIELDS = 4096  # of one topic
_LONGEST_HOLD = 5  # usual steps of a topic, before its last value is too old
_READ = "JSON, CDR with a ros2msg schema, and protobuf are read"
_DECODERS = {
    ("cdr", "ros2msg"): ("mcap_ros2.decoder", "ROS 2 messages in .mcap"),
    ("protobuf", "protobuf"): ("mcap_protobuf.decoder", "protobuf messages in .mcap"),
}


def read_mcap(path: Path, *, rate: float | None, key: str | None, label_columns: Sequence[str] = ()) -> Recording:
    """The topics that `key` names, or the only one that holds numbers."""
    with path.open("rb") as file:
        head = file.read(len(MAGIC))
    refuse_another_format(head, head == MAGIC, "MCAP file")
    topics = _chosen(_surveyed(path), key)
    tables = {topic: _Table() for topic in topics}
    decoders = _Decoders()
    messages = McapMessages(path)
    for message in messages:
        table = tables.get(message.channel.topic)
        if table is not None:
            table.add(message.log_time_ns, decoders.decoded(message))
    names, values, times, notes = _joined(tables)
    kept, more = kept_channels(names, label_columns)
    if messages.n_lost_bytes:
        more += (f"its last {messages.n_lost_bytes} bytes are no whole record: the recorder was stopped, or it is cut",)
    channels = [names[place] for place in kept]
    if rate is not None:
        more += (f"log times left out: the given rate of {rate:g} Hz is the clock",)
        return Recording(values[:, kept], rate, channels, path.stem, notes=more + notes)
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
            own = np.frombuffer(column, np.float64)[order]
            if _tells_time(name) and not (np.diff(own) < 0).any():
                notes += (f"field '{name}' left out: it tells the time; the log time is the clock",)
                continue
            names.append(name)
            with np.errstate(over="ignore"):
                values.append(own.astype(np.float32))
        if not names:
            raise RecordingError("its messages hold nothing but times; expected numbers")
        notes += tuple(
            f"field '{name}' left out: it has more than {MOST_OF_A_LIST} elements" for name in sorted(self.too_long)
        )
        return names, stamps[order].astype(np.float64) / 1e9, np.stack(values, axis=1), notes


def _tells_time(path: str) -> bool:
    name = path.rpartition(".")[2]
    return is_clock_name(name) or mentions_time_stamps(name)


def _joined(
    tables: dict[str, _Table],
) -> tuple[list[str], NDArray[np.float32], NDArray[np.float64], tuple[str, ...]]:
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
    return told_apart(names), np.concatenate(columns, axis=1), times, notes


FORMAT = RecordingFormat(
    name="mcap",
    suffixes=(".mcap",),
    read=read_mcap,
    takes_key=True,
    extra="io",
    help="robots: numbers in the messages of one topic, the only one or the one named by `--key`",
    order=9,
)
