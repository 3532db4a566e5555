"""KafkaFeed: the messages of one Kafka topic; the broker is the log, and our checkpoints say where to go on in it.

- *offsets*: a partition is read from `mark_of` on. The commit in `settle` is for people who watch the lag of the group;
- *group*: processes with the same --out share the partitions. Its name is drawn once and kept in the store of the feed,
  so that two runs do not take messages from each other;
- *rebalance*: the eager protocol. Every reader gives back all its partitions and `revoked` saves them before they are
  dealt out again: whoever gets one finds the marks of the one before on the disk;
- *deleted by the broker* (retention) before it was read: it goes on with the oldest message that is left, and its
  offset is stored before any message after it is given: whoever reads the partition, after whatever kill, each device
  finds the same boundary. A topic that ends before our mark is another topic of the same name: it is refused.
"""

from __future__ import annotations

import logging
import os
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rondo.errors import MissingExtraError, RecordingError, SettingError
from rondo.live.address import parse_address, patience_in
from rondo.live.source import FeedKind, FeedRequest, Message, Patience
from rondo.wording import counted, did_you_mean, noun

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, TopicPartition
    from confluent_kafka import Message as Received

PORT = 9092
_OPTIONS = ("from", "group", "patience")
_MOST_MESSAGES, _MOST_BYTES = 1_000, 8 << 20  # of one poll
_SHORTEST_LOOK_S, _LONGEST_LOOK_S = 0.1, 5.0  # at whether a broker answers

_OURS: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",  # a message that is gone is never skipped in silence
    "partition.assignment.strategy": "range,roundrobin",  # the eager ones
    "allow.auto.create.topics": False,
    "enable.partition.eof": False,
}
_RESERVED = (*_OURS, "bootstrap.servers", "metadata.broker.list", "group.id", "group.protocol")
_DEFAULTS: Mapping[str, Any] = {
    "session.timeout.ms": 10_000,  # how long the partitions of a killed process wait for another
    "queued.max.messages.kbytes": 16_384,  # what is fetched ahead
    "client.id": "rondo",
}
_VARIABLE = "RONDO_KAFKA_"
_BACK = "a broker answers again"
_LOGIN = (
    "check RONDO_KAFKA_SASL_USERNAME and RONDO_KAFKA_SASL_PASSWORD, the rights of that user, "
    "RONDO_KAFKA_SECURITY_PROTOCOL and RONDO_KAFKA_SSL_CA_LOCATION"
)
_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())  # librdkafka logs every attempt to connect; `say` has what people need


class KafkaFeed:
    """Messages of the partitions that the group gives to this process."""

    ended = False

    def __init__(self, where: str, request: FeedRequest, clock: Callable[[], float] = time.monotonic) -> None:
        address = parse_address(where, ["kafka"], _OPTIONS, several=True)
        if not address.path or "/" in address.path:
            raise SettingError(f"{address}: expected one topic after the host, found '{address.path}'")
        self._topic, self._request = address.path, request
        self._from_latest = address.choice("from", ("earliest", "latest")) == "latest"
        self._first: Mapping[str, int] = {}  # offsets where partitions without a mark begin; the others begin at 0
        self._name = f"{address.scheme}://{','.join(address.servers_with(PORT))}/{self._topic}"
        self._patience = Patience(self._name, patience_in(address.options), request.say, clock)
        self._next: dict[str, int | None] = {}  # of every partition we have: the next offset; None: not known yet
        self._batch: list[Message] = []
        self._stalled: set[str] = set()  # partitions whose next message is gone, and nobody knows yet how many more
        self._lost: dict[str, int] = {}  # the oldest message that was left when the broker had deleted some; else -1
        self._failure: RecordingError | None = None
        self._is_doubtful, self._is_subscribed, self._is_closed = True, False, False
        fixed = {
            "bootstrap.servers": ",".join(address.servers_with(PORT)),
            "group.id": address.options.get("group")
            or str(request.store.setdefault("kafka group", lambda: f"rondo-{uuid.uuid4()}")),
            "error_cb": self._on_error,
            "logger": _LOG,
        }
        self._consumer: Consumer = new_client("Consumer", _DEFAULTS, {**_OURS, **fixed}, _RESERVED)
        try:
            self._look(_LONGEST_LOOK_S)
        except BaseException:
            self.close()
            raise

    def poll(self, seconds: float) -> list[Message]:
        if self._is_doubtful:
            self._look(min(max(seconds, _SHORTEST_LOOK_S), _LONGEST_LOOK_S))
            seconds = 0.0 if self._is_doubtful else seconds
        for partition in sorted(self._stalled):
            self._skip_lost(partition)
        self._batch, n_bytes = [], 0
        # One by one, and not by `consume`: a rebalance inside a batch would leave messages of partitions in it that
        # were given back already; here `_on_revoke` takes them out.
        while len(self._batch) < _MOST_MESSAGES and n_bytes < _MOST_BYTES:
            received = self._consumer.poll(seconds)
            if self._failure is not None:
                raise self._failure
            if received is None:
                break
            seconds = 0.0
            n_bytes += self._take(received)
        batch, self._batch = self._batch, []
        return batch

    def settle(self, marks: Mapping[str, int]) -> None:
        from confluent_kafka import KafkaException

        ours = [self._place(name, mark) for name, mark in marks.items() if name in self._next]
        if ours:
            with suppress(KafkaException):  # the marks are on the disk; the broker's copy is for those who watch it
                self._consumer.commit(offsets=ours, asynchronous=True)

    @property
    def backlog(self) -> int:
        n_messages = 0
        for name, offset in self._next.items():
            low, high = self._consumer.get_watermark_offsets(self._place(name), cached=True)
            n_messages += max(0, high - (max(low, 0) if offset is None else offset))
        return n_messages

    def close(self) -> None:
        """Leave the group. Devices were let go of before, so `revoked` is not called: it would move their marks."""
        self._is_closed = True
        self._consumer.close()

    def _take(self, received: Received) -> int:
        """Put a message into the batch; its bytes."""
        error, number, offset = received.error(), received.partition(), received.offset()
        if error is not None:
            self._heed(error, number)
            return 0
        assert number is not None
        assert offset is not None
        name = self._partition(number)
        if name not in self._next:
            return 0  # given back meanwhile: whoever has it now reads it
        self._next[name] = offset + 1
        self._patience.reset(_BACK)
        payload = received.value()
        if payload is None:
            return 0  # a tombstone, by which a compacted topic forgets a key: no row was sent
        device = _device(received.key(), number)
        _, milliseconds = received.timestamp()
        arrived_s = milliseconds / 1000 if milliseconds > 0 else None
        self._batch.append(Message(device, payload, name, offset, arrived_s, self._lost[name]))
        return len(payload)

    def _heed(self, error: KafkaError, number: int | None) -> None:
        codes, code = type(error), error.code()
        if code == codes._AUTO_OFFSET_RESET and number is not None:
            self._skip_lost(self._partition(number))
        elif code in (codes.TOPIC_AUTHORIZATION_FAILED, codes.GROUP_AUTHORIZATION_FAILED):
            raise RecordingError(f"{self._name}: the broker refuses to let us read it ({error.str()}); {_LOGIN}")
        elif error.fatal():
            raise RecordingError(f"{self._name}: {error.str()}; start the same command again")
        else:
            self._on_error(error)

    def _skip_lost(self, name: str) -> None:
        """The broker has deleted what comes next: go on with the oldest message that is left."""
        from confluent_kafka import KafkaException

        self._stalled.discard(name)
        wanted = self._next.get(name)
        if wanted is None:  # it begins where the broker begins, or is no longer ours
            return
        try:
            low, high = self._consumer.get_watermark_offsets(self._place(name), timeout=_LONGEST_LOOK_S)
        except KafkaException:
            self._stalled.add(name)  # no answer now: the next poll tries again
            return
        if wanted > high:
            raise RecordingError(
                f"{self._name}: partition {name} ends at offset {high}, and we had read up to {wanted}: the topic was "
                "deleted and made again; begin again with another --out"
            )
        if wanted < low:
            n_lost = counted(low - wanted, "message")
            self._request.say(f"{self._name}: the broker deleted {n_lost} of {name} before we read them (retention)")
            self._request.store.put({f"lost until {name}": low})
            self._next[name] = self._lost[name] = low
        self._assign()  # librdkafka has stopped the partition, and `seek` takes only those that run

    def _partition(self, number: int) -> str:
        return f"{self._topic}/{number}"

    def _place(self, name: str, offset: int | None = None) -> TopicPartition:
        from confluent_kafka import TopicPartition

        number = int(name.rpartition("/")[2])
        return TopicPartition(self._topic, number) if offset is None else TopicPartition(self._topic, number, offset)

    def _on_assign(self, consumer: Consumer, dealt: list[TopicPartition]) -> None:
        self._next = {}
        for place in dealt:
            name = self._partition(place.partition)
            lost, mark = self._request.store.get(f"lost until {name}"), self._request.store.mark_of(name)
            self._lost[name] = -1 if lost is None else int(lost)
            self._next[name] = self._first.get(name) if mark is None else mark
        self._assign()
        numbers = ", ".join(str(place.partition) for place in dealt)
        here = f"{noun(len(dealt), 'partition')} {numbers}" if dealt else "no partition, others read all of them"
        self._request.say(f"{self._name}: this process reads {here}")

    def _assign(self) -> None:
        """Read all our partitions from their next offsets on; what was fetched ahead is fetched again."""
        from confluent_kafka import OFFSET_BEGINNING

        first = {name: OFFSET_BEGINNING if offset is None else offset for name, offset in self._next.items()}
        self._consumer.assign([self._place(name, offset) for name, offset in first.items()])

    def _on_revoke(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        """Give partitions back. Also where they are lost (others may have them already): what keeps two processes out
        of the files of one device is then the lock of the device."""
        names = {self._partition(place.partition) for place in places}
        self._batch = [message for message in self._batch if message.partition not in names]
        for name in names:
            self._next.pop(name, None)
        self._stalled -= names
        if not self._is_closed:
            self._request.revoked(sorted(names))

    def _ends(self, numbers: list[int]) -> dict[str, int]:
        """Where `?from=latest` begins: the ends of all partitions, when the first process looked."""
        names = [self._partition(number) for number in numbers]
        ends = (self._consumer.get_watermark_offsets(self._place(name), timeout=_LONGEST_LOOK_S) for name in names)
        return {name: high for name, (_, high) in zip(names, ends, strict=True)}

    def _look(self, seconds: float) -> None:
        """Ask the broker for the topic: whether it answers, and then whether there is such a topic."""
        from confluent_kafka import KafkaException

        try:
            found = self._consumer.list_topics(self._topic, timeout=seconds).topics[self._topic]
            is_there = found.error is None and bool(found.partitions)
            others = [] if is_there else sorted(self._consumer.list_topics(timeout=_LONGEST_LOOK_S).topics)
            if is_there and self._from_latest and not self._first:
                self._first = self._request.store.setdefault("kafka from", lambda: self._ends(sorted(found.partitions)))
        except KafkaException:
            if not self._is_subscribed:
                self._consumer.poll(0)  # why it failed: `_on_error`
            if self._failure is not None:
                raise self._failure from None
            self._patience.lose("no broker answers")
            return
        if not is_there:
            few = f"there are {', '.join(others[:8])}" if others else "the broker has none"
            hint = did_you_mean(self._topic, others, few)
            raise RecordingError(f"{self._name}: there is no topic '{self._topic}'; {hint}")
        self._patience.reset(_BACK)
        self._is_doubtful = False
        if not self._is_subscribed:
            lost = self._on_revoke
            self._consumer.subscribe([self._topic], self._on_assign, on_revoke=self._on_revoke, on_lost=lost)
            self._is_subscribed = True

    def _on_error(self, error: KafkaError) -> None:
        """What librdkafka says about the connection; it goes on trying by itself."""
        codes, code = type(error), error.code()
        is_ssl = code == codes._SSL and not self._is_subscribed
        if is_ssl or code in (codes._AUTHENTICATION, codes.SASL_AUTHENTICATION_FAILED):
            why = " ".join(error.str().split())
            self._failure = RecordingError(f"{self._name}: no login or no secure connection ({why}); {_LOGIN}")
        else:
            self._is_doubtful = True


def _device(key: str | bytes | None, number: int) -> str:
    """The key as text; bytes that are none are written as \\x.., so that two keys never become one device."""
    text = key.decode(errors="backslashreplace") if isinstance(key, bytes) else key
    return text or f"partition-{number}"


def new_client(kind: str, defaults: Mapping[str, Any], fixed: Mapping[str, Any], reserved: Collection[str]) -> Any:
    """A Consumer or Producer, with settings from the environment between the defaults and those that are fixed.

    `reserved` are those that the address or Rondo decides on.
    """
    try:
        import confluent_kafka
    except ImportError:
        raise MissingExtraError("kafka://", "confluent-kafka", "kafka") from None
    chosen = {
        name.removeprefix(_VARIABLE).lower().replace("_", "."): value
        for name, value in sorted(os.environ.items())
        if name.startswith(_VARIABLE) and value
    }
    variables = {name: _VARIABLE + name.upper().replace(".", "_") for name in chosen}
    for name in chosen:
        if name in reserved:
            raise SettingError(f"{variables[name]}: {name} follows from the address or from Rondo; unset it")
    try:
        return getattr(confluent_kafka, kind)({**defaults, **chosen, **fixed})
    except confluent_kafka.KafkaException as error:
        reason = " ".join(error.args[0].str().split())
        variable = next((variables[name] for name in chosen if f'"{name}"' in reason), f"{_VARIABLE}...")
        raise SettingError(f"{variable}: librdkafka refuses it ({reason}); its CONFIGURATION.md lists all") from None


FEED = FeedKind(
    name="kafka",
    address="kafka://HOST[:PORT]/TOPIC",
    help="messages of a Kafka topic, one stream per message key",
    schemes=("kafka",),
    open=KafkaFeed,
    order=20,
)
