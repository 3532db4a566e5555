"""Sinks: standard output, a webhook, an MQTT topic and a Kafka topic; each takes batches and confirms them.

A webhook gets JSON lines, at most 500 in a POST, or what a template makes of them. 2xx: the batch has arrived. No
connection, no answer in ten seconds, 408, 425, 429 or 5xx: the same batch again, after pauses up to a minute. 401, 403,
404, 405, 407 or a redirection, which are about the address or the token: again too, after a minute. Any other 4xx is
about the content: the batch is refused for good and counted. A message to MQTT has arrived when the broker acknowledges
it (QoS 1), one to Kafka when its delivery report says so; one that fails is produced again, unless it is too large for
the topic.
"""

from __future__ import annotations

import os
import queue
import select
import sys
import threading
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Sequence
from email.message import Message as Headers
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

from rondo.errors import SettingError
from rondo.live import kafka, mqtt
from rondo.live.address import Address, parse_address
from rondo.live.home_assistant import discovery
from rondo.live.source import SinkKind, SinkMessage, has_scheme
from rondo.live.templates import JSON_LINES, Template, template_of
from rondo.version import __version__

if TYPE_CHECKING:
    from confluent_kafka import Producer

_PIPE_BYTES = getattr(select, "PIPE_BUF", 512)
_FIRST_S, _LONGEST_S, _TIMEOUT_S = 0.5, 60.0, 10.0
_LATER, _ABOUT_US = (408, 425, 429), (401, 403, 404, 405, 407)
_MOST_BATCHES = 2  # on their way to a broker
_KEEPALIVE_S, _RECONNECT_S = 30, (1, 30)
_SAFE = "".join(chr(code) for code in range(32, 127) if chr(code) not in "/+#%")  # + and # are wildcards
_RESERVED = ("bootstrap.servers", "enable.idempotence", "acks", "message.timeout.ms", "error.cb", "log.level")
_FLUSH_S = 1.0


class StandardOutput:
    """JSON lines for another program: a pipe, a file or a terminal. A slow reader does not hold up the stream.

    A pipe takes at least PIPE_BUF bytes when the system reports it writable, so pieces of that size never wait.
    """

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
        """Standard output stays open."""


def _is_writable() -> bool:
    try:
        return bool(select.select([], [sys.stdout.fileno()], [], 0)[1])
    except (OSError, ValueError):  # no descriptor that the system can ask about: it takes what it gets
        return True


STANDARD_OUTPUT = SinkKind(
    name="standard output",
    address="-",
    help="JSON lines on stdout",
    matches=lambda where: where == "-",
    open=lambda where: StandardOutput(),
    order=10,
)


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    """A redirected POST would become a GET without content."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Headers, newurl: str
    ) -> None:
        return None


class Webhook:
    """One web page, and the thread that posts to it."""

    waits_at_end = False

    def __init__(self, address: Address, template: Template = JSON_LINES) -> None:
        self._url, self._shown = str(address), f"{address.scheme}://{address.host}"  # a path may hold a secret
        self._template = template
        self._token = os.environ.get("RONDO_WEBHOOK_TOKEN", "")
        if not (self._token.isascii() and self._token.isprintable()):
            raise SettingError("RONDO_WEBHOOK_TOKEN: expected printable ASCII characters in one line")
        self.problem: str | None = None
        self.n_refused = 0
        self._n_taken = self._n_done = 0
        self._batches: queue.SimpleQueue[Sequence[SinkMessage] | None] = queue.SimpleQueue()
        self._is_closed = threading.Event()
        self._opener = urllib.request.build_opener(_NoRedirection)
        threading.Thread(target=self._run, name="rondo webhook", daemon=True).start()

    def is_ready(self) -> bool:
        return self._n_taken == self._n_done

    def send(self, batch: Sequence[SinkMessage]) -> None:
        self._n_taken += 1
        self._batches.put(batch)

    def n_confirmed(self) -> int:
        return self._n_done

    def close(self) -> None:
        """A post that waits for its answer is given up: its thread ends with the process."""
        self._is_closed.set()
        self._batches.put(None)

    def _run(self) -> None:
        while (batch := self._batches.get()) is not None:
            if not all(self._arrives(body, n_messages) for body, n_messages in self._bodies(batch)):
                return
            self._n_done += 1

    def _bodies(self, batch: Sequence[SinkMessage]) -> list[tuple[bytes, int]]:
        try:
            return self._template.bodies(batch)
        except Exception as error:  # noqa: BLE001  # whatever a template of the user's makes of a value
            self.problem = f"{self._shown}: the template fails ({error}): {len(batch)} messages refused"
            self.n_refused += len(batch)
            return []

    def _arrives(self, body: bytes, n_messages: int) -> bool:
        """Post until it has arrived or is refused for good; False if the sink was closed meanwhile."""
        pause_s = _FIRST_S
        while (at_least_s := self._post(body, n_messages)) is not None:
            if self._is_closed.wait(min(max(pause_s, at_least_s), _LONGEST_S)):
                return False
            pause_s *= 2
        return True

    def _post(self, body: bytes, n_messages: int) -> float | None:
        """Post once; seconds that the next attempt waits at least, None if none is needed."""
        headers = {"Content-Type": self._template.content_type, "User-Agent": f"rondo/{__version__}"}
        if self._token:  # with a scheme of its own, as `Token abc`, or as a bearer
            headers["Authorization"] = self._token if " " in self._token else f"Bearer {self._token}"
        request = urllib.request.Request(self._url, body, headers, method="POST")
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                answer.read(1 << 16)  # so that the other side is not cut off
        except urllib.error.HTTPError as error:
            with error:
                return self._answered(error, n_messages)
        except Exception as error:  # noqa: BLE001  # whatever a server that is no web server makes http.client raise
            self.problem = f"{self._shown}: no answer ({getattr(error, 'reason', None) or error})"
            return 0.0
        self.problem = None
        return None

    def _answered(self, error: urllib.error.HTTPError, n_messages: int) -> float | None:
        self.problem = f"{self._shown}: answered {error.code} {error.reason}"
        if error.code < 400 or error.code in _ABOUT_US:
            self.problem += "; check the address and RONDO_WEBHOOK_TOKEN"
            return _LONGEST_S
        if error.code >= 500 or error.code in _LATER:
            seconds = (error.headers.get("Retry-After") or "").strip()
            return float(seconds) if seconds.isascii() and seconds.isdigit() else 0.0
        self.n_refused += n_messages
        self.problem += f": {n_messages} messages refused"
        return None


def _open_webhook(where: str) -> Webhook:
    url, _, template = where.partition("#")
    return Webhook(parse_address(url, ["http", "https"], None), template_of(template))


WEBHOOK = SinkKind(
    name="webhook",
    address="http(s)://...[#TEMPLATE]",
    help="a web page, by POST of JSON lines, or as the template influx, grafana or a file has it",
    matches=has_scheme("http", "https"),
    open=_open_webhook,
    order=13,
)


class MqttSink:
    """One topic, or one for each device and type, of one broker."""

    n_refused = 0
    waits_at_end = False

    def __init__(self, address: Address) -> None:
        self._address = address
        self.problem: str | None = None
        self._is_connected = False
        self._under_way: deque[set[int]] = deque()  # message numbers of each batch that are not acknowledged
        self._acknowledged: set[int] = set()
        self._n_confirmed = 0
        self._prefix, self._announced = address.options.get("discovery"), set[str]()
        self._client = client = mqtt.new_client(address.scheme)
        client.on_connect, client.on_disconnect = self._on_connect, self._on_disconnect
        client.on_connect_fail = self._on_connect_fail
        client.on_publish = lambda client, data, number, reason, properties: self._acknowledged.add(number)
        client.max_inflight_messages_set(0)  # as many as a batch has
        client.reconnect_delay_set(*_RECONNECT_S)
        client.connect_async(address.host, address.port or mqtt.PORTS[address.scheme], _KEEPALIVE_S)
        client.loop_start()

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        refused = f"the broker at {self._address.host} refuses the connection ({reason})"
        advice = "check RONDO_MQTT_USERNAME and RONDO_MQTT_PASSWORD"
        self.problem = f"{refused}; {advice}" if reason.is_failure else None
        self._is_connected = not reason.is_failure

    def _on_connect_fail(self, client: Any, data: Any) -> None:
        self.problem = f"no connection to {self._address.host}"

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._is_connected = False
        self.problem = self.problem or f"lost the connection to {self._address.host} ({reason})"

    def is_ready(self) -> bool:
        return self._is_connected and len(self._under_way) < _MOST_BATCHES

    def send(self, batch: Sequence[SinkMessage]) -> None:
        numbers = set()
        for message in batch:
            topic = self._address.path.replace("{device}", quote(message.device, safe=_SAFE))
            topic = topic.replace("{type}", message.type)
            if self._prefix and message.type == "label" and message.device not in self._announced:
                self._announced.add(message.device)
                for where, text in discovery(self._prefix, message.device, topic):
                    numbers.add(self._client.publish(where, text.encode(), qos=1, retain=True).mid)
            numbers.add(self._client.publish(topic, message.text.encode(), qos=1).mid)
        self._under_way.append(numbers)

    def n_confirmed(self) -> int:
        while self._under_way:
            first = self._under_way[0]
            arrived = first & self._acknowledged
            first -= arrived
            self._acknowledged -= arrived
            if first:
                break
            self._under_way.popleft()
            self._n_confirmed += 1
        return self._n_confirmed

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def _open_mqtt(where: str) -> MqttSink:
    address = parse_address(where, list(mqtt.PORTS), ["discovery"])
    if not address.path or any(sign in address.path for sign in "#+\0"):
        raise SettingError(
            f"{where}: expected a topic to publish to, as mqtt://host/rondo/{{device}}, found '{address.path}'; "
            "+ and # are for those who subscribe"
        )
    if "discovery" in address.options and not all(part in address.path for part in ("{device}", "{type}")):
        raise SettingError(
            f"{where}: with discovery every device needs a topic for its labels; expected {{device}} and {{type}} in "
            "it, as mqtt://host/rondo/{device}/{type}?discovery=homeassistant"
        )
    return MqttSink(address)


MQTT = SinkKind(
    name="mqtt",
    address="mqtt://HOST[:PORT]/TOPIC",
    help="an MQTT topic, QoS 1, mqtts:// with TLS; {device} and {type} in the topic are filled in; "
    "?discovery=homeassistant announces the devices",
    matches=has_scheme("mqtt", "mqtts"),
    open=_open_mqtt,
    order=11,
)


class KafkaSink:
    """One topic of one cluster; the producer is idempotent: a message sent again after a lost answer arrives once."""

    waits_at_end = False

    def __init__(self, address: Address) -> None:
        self._address, self._topic = address, address.path
        self.problem: str | None = None
        self.n_refused = 0
        self._n_left: deque[list[int]] = deque()  # of each batch under way, how many have not arrived
        self._again: list[tuple[list[int], SinkMessage]] = []  # those that failed
        self._n_confirmed = 0
        fixed = {
            "bootstrap.servers": ",".join(address.servers_with(kafka.PORT)),
            "enable.idempotence": True,
            "acks": "all",
            "message.timeout.ms": 0,  # a cluster that is away for a day is waited for
            "error_cb": self._on_error,
            "log_level": 0,  # errors go to `problem`, not to stderr
        }
        self._producer: Producer = kafka.new_client("Producer", {"linger.ms": 20}, fixed, _RESERVED)

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
        from confluent_kafka import KafkaError, KafkaException

        def report(error: Any, _: Any = None) -> None:
            self.problem = None if error is None else f"{self._address.host}, topic {self._topic}: {error.str()}"
            is_too_large = error is not None and error.code() in (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG)
            if error is not None and not is_too_large:
                self._again.append((left, message))
                return
            self.n_refused += is_too_large
            left[0] -= 1

        try:
            self._producer.produce(self._topic, message.text.encode(), message.device.encode(), on_delivery=report)
        except BufferError:  # its queue is full
            self._again.append((left, message))
        except KafkaException as error:
            report(error.args[0])

    def _poll(self) -> None:
        self._producer.poll(0)
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


def _open_kafka(where: str) -> KafkaSink:
    address = parse_address(where, ["kafka"], several=True)
    if not address.path or "/" in address.path:
        raise SettingError(f"{where}: expected one topic, as kafka://host/labels, found '{address.path}'")
    return KafkaSink(address)


KAFKA = SinkKind(
    name="kafka",
    address="kafka://HOST[:PORT]/TOPIC",
    help="a Kafka topic, the device as key; several HOST[:PORT] with commas between",
    matches=has_scheme("kafka"),
    open=_open_kafka,
    order=12,
)
