"""KafkaSink: messages to a Kafka topic, the device as key; one has arrived when its delivery report says so.

The producer is idempotent: what the client sends again after a lost answer is there once. A report of failure is not
the end of a message: it is produced once more after a pause, unless it is too large for the topic.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rondo.errors import MissingExtraError, SettingError
from rondo.live.address import Address, parse_address
from rondo.live.credentials import kafka_settings
from rondo.live.sinks.base import SinkKind, SinkMessage, has_scheme
from rondo.live.sinks.pauses import GrowingPauses

if TYPE_CHECKING:
    from confluent_kafka import Producer

_PORT = 9092
_MOST_BATCHES = 2  # on their way
_OWN = ("bootstrap.servers", "enable.idempotence", "acks", "message.timeout.ms", "error.cb", "log.level")
_FLUSH_S = 1.0


class KafkaSink:
    """One topic of one cluster."""

    waits_at_end = False

    def __init__(self, address: Address) -> None:
        self._address, self._topic = address, address.path
        self.problem: str | None = None
        self.n_refused = 0
        self._n_left: deque[list[int]] = deque()  # of each batch under way, how many have not arrived
        self._again: list[tuple[list[int], SinkMessage]] = []  # those that failed
        self._pauses = GrowingPauses()
        self._n_confirmed = 0
        self._producer = self._opened()

    def _opened(self) -> Producer:
        try:
            from confluent_kafka import KafkaException, Producer
        except ImportError:
            raise MissingExtraError("kafka://", "confluent-kafka", "kafka") from None
        own = {
            "bootstrap.servers": ",".join(self._address.servers_with(_PORT)),
            "enable.idempotence": True,
            "acks": "all",
            "message.timeout.ms": 0,  # a cluster that is away for a day is waited for
            "error_cb": self._on_error,
            "log_level": 0,  # what is wrong comes to `problem`, not to stderr
        }
        try:
            return Producer({"linger.ms": 20} | kafka_settings(_OWN) | own)
        except KafkaException as error:
            raise SettingError(f"{self._address}: {error.args[0].str()}; check the variables RONDO_KAFKA_...") from None

    def _on_error(self, error: Any) -> None:
        self.problem = f"{self._address.host}: {error.str()}"

    def is_ready(self) -> bool:
        self._poll()
        return len(self._n_left) < _MOST_BATCHES and not self._again

    def send(self, batch: Sequence[SinkMessage]) -> None:
        left = [len(batch)]
        self._n_left.append(left)
        for message in batch:
            self._produce(left, message)

    def _produce(self, left: list[int], message: SinkMessage) -> None:
        def report(error: Any, _: Any) -> None:
            if error is None:
                self.problem = None
                self._pauses.end()
                left[0] -= 1
            else:
                self._failed(error, left, message)

        try:
            self._producer.produce(self._topic, message.text.encode(), message.device.encode(), on_delivery=report)
        except BufferError:  # its queue is full
            self._again.append((left, message))
        except Exception as error:  # noqa: BLE001  # KafkaException, which cannot be named where the package is absent
            self._failed(error.args[0], left, message)

    def _failed(self, error: Any, left: list[int], message: SinkMessage) -> None:
        from confluent_kafka import KafkaError

        self.problem = f"{self._address.host}, topic {self._topic}: {error.str()}"
        if error.code() in (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG):
            self.n_refused += 1
            left[0] -= 1
            return
        self._again.append((left, message))
        if not self._pauses.is_pausing(time.monotonic()):
            self._pauses.begin(time.monotonic())

    def _poll(self) -> None:
        self._producer.poll(0)
        if self._again and not self._pauses.is_pausing(time.monotonic()):
            again, self._again = self._again, []
            for left, message in again:
                self._produce(left, message)

    def n_confirmed(self) -> int:
        self._poll()
        while self._n_left and not self._n_left[0][0]:
            self._n_left.popleft()
            self._n_confirmed += 1
        return self._n_confirmed

    def close(self) -> None:
        if self._n_left:
            self._producer.purge()
        self._producer.flush(_FLUSH_S)


def _open(where: str) -> KafkaSink:
    address = parse_address(where, ["kafka"], several=True)
    if not address.path or "/" in address.path:
        raise SettingError(f"{where}: expected one topic, as kafka://host/labels, found '{address.path}'")
    return KafkaSink(address)


SINK = SinkKind(
    name="kafka",
    address="kafka://HOST[:PORT]/TOPIC",
    help="a Kafka topic, the device as key; several HOST[:PORT] with commas between",
    matches=has_scheme("kafka"),
    open=_open,
    order=12,
)
