"""MqttFeed: the messages of an MQTT topic, each exactly once from the broker on.

    broker -> connection -> inbox on the disk -> confirmed to the broker -> given -> checkpoints -> settled

Messages are confirmed as soon as they are on the disk, not when they are in a checkpoint: brokers have few messages on
their way at once (mosquitto 20), and keep few that wait (mosquitto 1,000) before they drop some.

The session at the broker is kept between connections (clean start off, a fixed client id): messages sent with QoS 1
while Rondo is away wait there, within the limits of the broker. Where a broker has forgotten the session, the next
message of every device is after a loss. Lost connections are retried, refusals are final.
"""

from __future__ import annotations

import secrets
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from rondo.errors import MissingExtraError, RecordingError, SettingError, SourceLostError
from rondo.live.address import Address, mqtt_login, mqtt_tls, parse_address, seconds_in
from rondo.live.inbox import Arrival, FeedStore, InboxFeed
from rondo.live.source import FeedKind, FeedRequest, Message

if TYPE_CHECKING:
    from paho.mqtt.client import Client

_OPTIONS = ("qos", "client", "version", "retained", "inbox", "patience", "expiry")
PORTS = {"mqtt": 1883, "mqtts": 8883}
_AT_ONCE = 500  # messages that are given at once
_MOST_PENDING = 2000  # deliveries that wait for the disk: more than are ever confirmed late, so only QoS 0 gets there
_SHARED = "$share/"


class MqttFeed(InboxFeed):
    """What a subscription delivers, by way of an inbox."""

    def __init__(self, where: str, request: FeedRequest) -> None:
        address = parse_address(where, tuple(PORTS), _OPTIONS)
        subscription = _subscription(address, request.store)
        super().__init__(subscription.shown, request, address.options)
        self._pending: list[Arrival] = []
        self._changed = threading.Condition()
        self._is_closing, self._is_full = False, False
        self._failure: Exception | None = None
        try:
            self._connection = MqttConnection(subscription, self._deliver)
        except BaseException:
            self._inbox.close()
            raise
        self._writer = threading.Thread(target=self._write, name="rondo-inbox", daemon=True)
        self._writer.start()

    # ------------------------------------------------------------ from the broker to the disk

    def _deliver(self, delivery: Arrival) -> None:
        """In the thread of the connection. Waiting here stops reading from the socket: the broker has to keep it."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._pending) < _MOST_PENDING or self._is_closing)
            self._pending.append(delivery)
            self._changed.notify_all()

    def _write(self) -> None:
        """In a thread of its own: all that has come goes to the disk at once, and is confirmed then."""
        try:
            while batch := self._batch():
                self._inbox.append(batch)
                self._connection.confirm(batch)
                with self._changed:
                    self._changed.notify_all()
        except Exception as error:  # noqa: BLE001 - `poll` raises it; a thread must not end silently
            self._failure = error

    def _batch(self) -> list[Arrival]:
        """What waits for the disk, as soon as there is something, and room for it; nothing at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closing or (self._pending and self._has_room()))
            batch, self._pending = self._pending, []
            self._changed.notify_all()
            return [] if self._is_closing else batch

    def _has_room(self) -> bool:
        self._is_full = self._inbox.is_full
        return not self._is_full

    # ------------------------------------------------------------ as a feed

    def poll(self, seconds: float) -> list[Message]:
        self._tell()
        messages = self._inbox.read(_AT_ONCE)
        if not messages and self._failure is None and self._connection.failure is None:
            with self._changed:
                self._changed.wait_for(lambda: self._inbox.backlog > 0 or self._failure is not None, seconds)
            messages = self._inbox.read(_AT_ONCE)
        if messages:
            return messages
        failure = self._failure or self._connection.failure
        if failure is not None:
            self._tell()
            raise failure
        since, patience_s = self._connection.lost_since, self._patience_s
        if since is not None and patience_s is not None and time.monotonic() - since > patience_s:
            raise SourceLostError(
                f"{self._name}: not connected for {patience_s:g} s ({self._connection.lost_because}); once the "
                "broker is there, start the same command again"
            )
        return []

    def _tell(self) -> None:
        for line in self._connection.lines():
            self._request.say(line)
        self._say_if_full(self._is_full, ", the broker has to keep what comes; ?inbox=SIZE gives it more room")

    def settle(self, marks: Mapping[str, int]) -> None:
        super().settle(marks)
        with self._changed:
            self._changed.notify_all()

    @property
    def backlog(self) -> int:
        return self._inbox.backlog + len(self._pending)

    def close(self) -> None:
        """What is not on the disk was not confirmed: the broker delivers it again."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._connection.close()
        self._writer.join()
        self._inbox.close()


# ---------------------------------------------------------------- what an address says


def _subscription(address: Address, store: FeedStore) -> Subscription:
    options = address.options
    qos, version = int(_one_of(options, "qos", ("1", "0"))), int(_one_of(options, "version", ("5", "3")))
    retained = _one_of(options, "retained", ("0", "1")) == "1"
    if retained and version == 3:
        raise SettingError("retained=1 needs MQTT 5: version 3 sends retained messages again with every connection")
    port = PORTS[address.scheme] if address.port is None else address.port
    topic = checked_topic(address.path)
    shown = f"{address.scheme}://{f'[{address.host}]' if ':' in address.host else address.host}:{port}/{topic}"
    return Subscription(
        shown=shown,
        host=address.host,
        port=port,
        is_secure=address.scheme == "mqtts",
        topic=topic,
        # by which the broker knows us again: the same as long as the folder is there, another one for another topic
        client_id=options.get("client")
        or str(store.setdefault(f"client of {shown}", lambda: f"rondo-{secrets.token_hex(8)}")),
        device_of=partial(device_of, topic),
        qos=qos,
        version=version,
        takes_retained=retained,
        expiry_s=min(seconds_in(options.get("expiry", "7d"), "expiry"), 0xFFFF_FFFE),
    )


def _one_of(options: Mapping[str, str], name: str, values: tuple[str, ...]) -> str:
    value = options.get(name, values[0])
    if value not in values:
        raise SettingError(f"{name}={value}: expected {name}={' or '.join(sorted(values))}; correct the address")
    return value


def checked_topic(topic: str) -> str:
    """
    >>> checked_topic("sensors/+/imu")
    'sensors/+/imu'
    """
    levels = topic.split("/")
    if not topic or "\0" in topic or len(topic.encode()) > 65_535:
        raise SettingError(f"expected a topic behind the host, found '{topic}'; write mqtt://host/sensors/#")
    if topic.startswith(_SHARED):
        raise SettingError(
            f"'{topic}' is shared among readers, which would tear the rows of one device apart; name the topic itself"
        )
    if any(("#" in level and (level != "#" or place < len(levels) - 1)) for place, level in enumerate(levels)):
        raise SettingError(f"'{topic}': expected # as the last level and alone, as in sensors/#")
    if any("+" in level and level != "+" for level in levels):
        raise SettingError(f"'{topic}': expected + alone in its level, as in sensors/+/imu")
    return topic


def device_of(filter: str, topic: str) -> str:
    """The device that sends to a topic: the levels from the first wildcard of the filter on, else the last level.

    >>> device_of("sensors/#", "sensors/hall/7"), device_of("a/+/imu", "a/7/imu"), device_of("a/b", "a/b")
    ('hall/7', '7/imu', 'b')
    >>> device_of("sensors/#", "sensors"), device_of("#", "a/b"), device_of("/a/", "/a/")
    ('sensors', 'a/b', '/a/')
    """
    wanted, levels = filter.split("/"), topic.split("/")
    fixed = next((place for place, level in enumerate(wanted) if level in ("#", "+")), len(wanted))
    return "/".join(levels[fixed:]) or levels[-1] or topic


def new_client(scheme: str, **options: Any) -> Client:
    """A client of paho-mqtt, with the login and the certificates of the environment."""
    try:
        from paho.mqtt import client as mqtt
        from paho.mqtt.enums import CallbackAPIVersion
    except ImportError:
        raise MissingExtraError(f"{scheme}://", "paho-mqtt", "mqtt") from None
    client = mqtt.Client(CallbackAPIVersion.VERSION2, **options)
    login = mqtt_login()
    if login is not None:
        client.username_pw_set(login.username, login.password)
    if scheme == "mqtts":
        client.tls_set_context(mqtt_tls())
    return client


FEED = FeedKind(
    name="mqtt",
    address="mqtt://HOST[:PORT]/TOPIC",
    help="messages of an MQTT broker (mqtts:// with TLS), one stream for each topic below the wildcard",
    schemes=tuple(PORTS),
    open=MqttFeed,
    order=10,
)


_KEEP_ALIVE_S = 30
_LOOK_S = 0.5  # at the longest, whether it is to be closed
_ANSWER_S = 10.0  # a broker that accepts a connection has so long to say what it thinks of it
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.25, 5.0
_SHORT_S, _MANY_SHORT = 10.0, 5  # connections that break so soon, so often in a row
_MOST_ON_THEIR_WAY = 1000  # deliveries that are not confirmed yet
_FINAL = {
    "Unsupported protocol version": "the broker does not speak MQTT 5: add ?version=3 to the address",
    "Client identifier not valid": "name another one with ?client=NAME",
    "Bad user name or password": "check RONDO_MQTT_USERNAME and RONDO_MQTT_PASSWORD in the environment",
    "Not authorized": "check RONDO_MQTT_USERNAME and RONDO_MQTT_PASSWORD in the environment, and the broker's rules",
    "Banned": "ask whoever runs the broker",
    "Bad authentication method": "ask whoever runs the broker",
}


@dataclass(frozen=True)
class Subscription:
    """What to connect to, and how."""

    shown: str  # for messages
    host: str
    port: int
    is_secure: bool
    topic: str
    client_id: str
    device_of: Callable[[str], str]
    qos: int = 1
    version: int = 5
    takes_retained: bool = False
    expiry_s: float = 7 * 86_400.0


class MqttConnection:
    """The deliveries of one subscription."""

    def __init__(self, subscription: Subscription, deliver: Callable[[Arrival], None]) -> None:
        self._subscription, self._deliver = subscription, deliver
        self._number = 0  # of the connection; it rises when one is made and when it is lost
        self._numbering = threading.Lock()
        self._closing = threading.Event()
        self._lines: deque[str] = deque()
        self._said: set[str] = set()
        self._delay_s, self._connected_at, self._n_short = _FIRST_DELAY_S, 0.0, 0
        self.client_id, self.is_subscribed = subscription.client_id, False
        self.failure: RecordingError | None = None  # nothing more will come
        self.lost_since: float | None = time.monotonic()  # None while connected
        self.lost_because = "no answer yet"
        self._client = self._made_client()
        self._thread = threading.Thread(target=self._run, name="rondo-mqtt", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------ for the owner

    def confirm(self, deliveries: Iterable[Arrival]) -> None:
        """They are on the disk. Those of an earlier connection are left: the broker delivers them again, under ids that
        may by now be those of other messages."""
        with self._numbering:
            for delivery in deliveries:
                if delivery.packet_id and delivery.connection == self._number:
                    self._client.ack(delivery.packet_id, 1)

    def lines(self) -> Iterable[str]:
        while self._lines:
            yield self._lines.popleft()

    def break_off(self) -> None:
        """As if the network had failed: the connection is made again. For tests."""
        found: Any = self._client.socket()
        if found is not None:
            with suppress(OSError):
                found.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._closing.set()
        self._client.disconnect()
        self._thread.join(2.0 * _LONGEST_DELAY_S)

    # ------------------------------------------------------------ the thread

    def _made_client(self) -> Client:
        subscription = self._subscription
        client = new_client(
            "mqtts" if subscription.is_secure else "mqtt",
            client_id=subscription.client_id,
            protocol=5 if subscription.version == 5 else 4,
            clean_session=None if subscription.version == 5 else False,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        client.on_connect, client.on_disconnect = self._on_connect, self._on_disconnect
        client.on_subscribe, client.on_message = self._on_subscribe, self._on_message
        # Without it `ack` would write to the socket from the thread that calls it.
        client.on_socket_register_write = lambda *_: None
        return client

    def _run(self) -> None:
        while not self._closing.is_set() and self.failure is None:
            try:
                self._client.connect(
                    self._subscription.host, self._subscription.port, _KEEP_ALIVE_S, **self._session_options()
                )
                self._stay()
            except ssl.SSLCertVerificationError as error:
                why = f"its certificate is not trusted ({error.verify_message})"
                self._fail(f"{why}; name the file of the authority that signed it in RONDO_MQTT_CA")
            except Exception as error:  # noqa: BLE001 - whatever a broker sends; a thread must not end silently
                self._lose(getattr(error, "strerror", None) or str(error) or type(error).__name__)
            self._closing.wait(self._delay_s)
            self._delay_s = min(2.0 * self._delay_s, _LONGEST_DELAY_S)

    def _stay(self) -> None:
        """Returns when the connection is lost, or the broker does not even answer."""
        self.lost_because, asked = self._unanswered(), time.monotonic()
        while not self._closing.is_set() and self._client.loop(_LOOK_S) == 0:
            if self.lost_since is not None and time.monotonic() - asked > _ANSWER_S:
                self._lose(self._unanswered())
                break

    def _unanswered(self) -> str:
        hint = "; one that speaks only MQTT 3.1.1 needs ?version=3" if self._subscription.version == 5 else ""
        return f"the broker does not answer{hint}"

    def _session_options(self) -> dict[str, Any]:
        if self._subscription.version != 5:
            return {}
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        untyped: Any = Properties
        properties = untyped(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = int(self._subscription.expiry_s)
        properties.ReceiveMaximum = _MOST_ON_THEIR_WAY
        return {"clean_start": False, "properties": properties}

    def _on_connect(self, client: Any, _: Any, flags: Any, code: Any, properties: Any) -> None:
        if code.is_failure:
            reason = str(code)
            if reason in _FINAL:
                return self._fail(f"the broker refuses us ({reason}); {_FINAL[reason]}")
            return self._lose(f"the broker refuses us for now ({reason})")
        with self._numbering:
            self._number += 1
        self._connected_at = time.monotonic()
        if not flags.session_present:
            self._deliver(Arrival("", b"", time.time()))
        self.lost_since = None
        if self._subscription.version != 5:
            self._client.subscribe(self._subscription.topic, self._subscription.qos)
            return None
        from paho.mqtt.subscribeoptions import SubscribeOptions

        only_when_new = 1  # retained messages come with a new subscription, not with every connection
        options = SubscribeOptions(qos=self._subscription.qos, retainHandling=only_when_new)
        self._client.subscribe(self._subscription.topic, options=options)
        return None

    def _on_subscribe(self, client: Any, _: Any, mid: int, codes: Any, properties: Any) -> None:
        for code in codes:
            if code.is_failure:
                self._fail(f"the broker refuses the topic '{self._subscription.topic}' ({code}); check its rules")
            elif code.value < self._subscription.qos:
                self._say_once("qos", "the broker grants QoS 0 only: what is sent while Rondo is away is lost")
        if self.failure is None:
            again = " again" if "lost" in self._said else f" as '{self.client_id}'"
            self._lines.append(f"{self._subscription.shown}: connected{again}")
            self.is_subscribed = True

    def _on_message(self, client: Any, _: Any, message: Any) -> None:
        device, packet_id = self._subscription.device_of(message.topic), message.mid if message.qos else 0
        if message.retain and not self._subscription.takes_retained:
            self._say_once("retained", "retained messages are left out, for they are old; ?retained=1 takes them")
            if packet_id:
                client.ack(packet_id, message.qos)
            return
        if not message.qos and self._subscription.qos:
            self._say_once("sender", f"'{message.topic}' is sent with QoS 0: what is sent while Rondo is away is lost")
        self._deliver(Arrival(device, message.payload, time.time(), False, packet_id, message.dup, self._number))

    def _on_disconnect(self, client: Any, _: Any, flags: Any, code: Any, properties: Any) -> None:
        with self._numbering:
            self._number += 1
        self.is_subscribed = False
        if str(code) == "Session taken over":
            self._fail(
                f"another process has connected as '{self.client_id}'; stop it, or name another one with ?client=NAME"
            )
        elif not self._closing.is_set() and self.failure is None:
            self._lose("the connection broke" if str(code) == "Unspecified error" else str(code))
            # Brokers that do not say so break the older of two connections with one name, which then come in turns.
            self._n_short = 0 if time.monotonic() - self._connected_at > _SHORT_S else self._n_short + 1
            if not self._n_short:
                self._delay_s = _FIRST_DELAY_S
            if self._n_short >= _MANY_SHORT:
                hint = f"does another process connect as '{self.client_id}'? (?client=NAME)"
                self._say_once("short", f"connections break at once: {hint}")

    # ------------------------------------------------------------ what becomes of it

    def _lose(self, reason: str) -> None:
        self.lost_because = reason
        if self.lost_since is None:
            self.lost_since = time.monotonic()
            self._said.discard("lost")
        self._say_once("lost", f"not connected ({reason}); trying again")

    def _say_once(self, about: str, line: str) -> None:
        if about not in self._said:
            self._said.add(about)
            self._lines.append(f"{self._subscription.shown}: {line}")

    def _fail(self, reason: str) -> None:
        if self.failure is None:
            self.failure = RecordingError(f"{self._subscription.shown}: {reason}")
        with suppress(OSError):
            self._client.disconnect()
