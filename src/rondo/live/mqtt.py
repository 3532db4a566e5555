"""MqttFeed: the messages of an MQTT topic, each exactly once from the broker on.

    broker -> thread of paho-mqtt -> inbox on the disk -> confirmed to the broker -> given -> checkpoints -> settled

Messages are confirmed as soon as they are on the disk: brokers have few on their way at once (mosquitto 20), and keep
few that wait (mosquitto 1,000). The session at the broker is kept between connections (clean start off, a fixed client
id), so messages sent with QoS 1 while Rondo is away wait there. Where a broker has forgotten the session, the next
message of every device is after a loss. paho-mqtt retries lost connections; refusals are final.
"""

from __future__ import annotations

import logging
import os
import secrets
import ssl
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rondo.errors import MissingExtraError, RecordingError, SettingError
from rondo.live.address import joined, parse_address
from rondo.live.inbox import Arrival, InboxFeed
from rondo.live.source import FeedKind, FeedRequest, Message

if TYPE_CHECKING:
    from paho.mqtt.client import Client

_OPTIONS = ("client", "version", "inbox", "patience")
PORTS = {"mqtt": 1883, "mqtts": 8883}
_AT_ONCE = 500  # messages that are given at once
_MOST_PENDING = 2000  # deliveries that wait for the disk: more than are ever confirmed late, so only QoS 0 gets there
_MOST_ON_THEIR_WAY = 1000  # deliveries that are not confirmed yet
_EXPIRY_S = 7 * 86_400  # how long the broker keeps the session while Rondo is away
_KEEP_ALIVE_S = 30
_RECONNECT_S = (1, 5)
_SHARED = "$share/"
_QUIET_S = 0.5  # a connection that is there again so soon is not worth a line
_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())
_FINAL = {
    "Unsupported protocol version": "the broker does not speak MQTT 5: add ?version=3 to the address",
    "Client identifier not valid": "name another one with ?client=NAME",
    "Bad user name or password": "check RONDO_MQTT_USERNAME and RONDO_MQTT_PASSWORD in the environment",
    "Not authorized": "check RONDO_MQTT_USERNAME and RONDO_MQTT_PASSWORD in the environment, and the broker's rules",
    "Banned": "ask whoever runs the broker",
    "Bad authentication method": "ask whoever runs the broker",
}


class MqttFeed(InboxFeed):
    """What a subscription delivers, by way of an inbox."""

    def __init__(self, where: str, request: FeedRequest) -> None:
        address = parse_address(where, tuple(PORTS), _OPTIONS)
        self._topic = checked_topic(address.path)
        self._version = int(address.choice("version", ("5", "3")))
        port = address.port or PORTS[address.scheme]
        name = f"{address.scheme}://{joined(address.host, port)}/{self._topic}"
        super().__init__(name, request, address.options)
        # by which the broker knows us again: the same as long as the folder is there, another one for another topic
        self.client_id = address.options.get("client") or str(
            request.store.setdefault(f"client of {name}", lambda: f"rondo-{secrets.token_hex(8)}")
        )
        self._pending: list[Arrival] = []
        self._changed = threading.Condition()
        self._is_closing = self._is_full = self.is_subscribed = False
        self._failure: Exception | None = None  # nothing more will come
        hint = "; one that speaks only MQTT 3.1.1 needs ?version=3" if self._version == 5 else ""
        self._lost_because: str | None = f"the broker does not answer{hint}"  # None while connected
        self._number = 0  # of the connection; it rises when one is made and when it is lost
        self._numbering = threading.Lock()
        self._lines: deque[str] = deque()
        self._said: set[str] = set()
        try:
            self._client = self._new_client(address.scheme)
            self._client.connect_async(address.host, port, _KEEP_ALIVE_S, **self._session_options())
        except BaseException:
            self._inbox.close()
            raise
        self._writer = threading.Thread(target=self._write, name="rondo-inbox", daemon=True)
        self._writer.start()
        self._client.loop_start()

    def _new_client(self, scheme: str) -> Client:
        is_5 = self._version == 5
        session: Any = {"protocol": 5} if is_5 else {"protocol": 4, "clean_session": False}
        client = new_client(scheme, client_id=self.client_id, manual_ack=True, **session)
        client.on_connect, client.on_disconnect = self._on_connect, self._on_disconnect
        client.on_connect_fail, client.on_subscribe = self._on_connect_fail, self._on_subscribe
        client.on_message = self._on_message
        client.reconnect_delay_set(*_RECONNECT_S)
        return client

    def _session_options(self) -> dict[str, Any]:
        if self._version != 5:
            return {}
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        untyped: Any = Properties
        properties = untyped(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = _EXPIRY_S
        properties.ReceiveMaximum = _MOST_ON_THEIR_WAY
        return {"clean_start": False, "properties": properties}

    def _on_connect(self, client: Any, _: Any, flags: Any, code: Any, properties: Any) -> None:
        if code.is_failure:
            reason = str(code)
            if reason in _FINAL:
                self._fail(f"the broker refuses us ({reason}); {_FINAL[reason]}")
            self._lost_because = f"the broker refuses us for now ({reason})"
            return
        with self._numbering:
            self._number += 1
        if not flags.session_present:
            self._deliver(Arrival("", b"", time.time()))
        self._lost_because = None
        client.subscribe(self._topic, 1)

    def _on_connect_fail(self, client: Any, _: Any) -> None:
        error = sys.exception()  # paho-mqtt calls this where it handles it
        if isinstance(error, ssl.SSLCertVerificationError):
            why = f"its certificate is not trusted ({error.verify_message})"
            self._fail(f"{why}; name the file of the authority that signed it in RONDO_MQTT_CA")
        self._lost_because = getattr(error, "strerror", None) or str(error) or type(error).__name__

    def _on_subscribe(self, client: Any, _: Any, mid: int, codes: Any, properties: Any) -> None:
        for code in codes:
            if code.is_failure:
                self._fail(f"the broker refuses the topic '{self._topic}' ({code}); check its rules")
            elif code.value < 1:
                self._say_once("qos", "the broker grants QoS 0 only: what is sent while Rondo is away is lost")
        if self._failure is None:
            self._say_once("connected", f"connected as '{self.client_id}'")
            self.is_subscribed = True

    def _on_message(self, client: Any, _: Any, message: Any) -> None:
        packet_id = message.mid if message.qos else 0
        if message.retain:
            self._say_once("retained", "retained messages are left out, for they are old")
            if packet_id:
                client.ack(packet_id, message.qos)
            return
        if not message.qos:
            self._say_once("sender", f"'{message.topic}' is sent with QoS 0: what is sent while Rondo is away is lost")
        device = device_of(self._topic, message.topic)
        self._deliver(Arrival(device, message.payload, time.time(), False, packet_id, message.dup, self._number))

    def _on_disconnect(self, client: Any, _: Any, flags: Any, code: Any, properties: Any) -> None:
        with self._numbering:
            self._number += 1
        self.is_subscribed = False
        if str(code) == "Session taken over":
            self._fail(
                f"another process has connected as '{self.client_id}'; stop it, or name another one with ?client=NAME"
            )
        if self._lost_because is None:  # many brokers break the older of two connections with one name in silence
            broke = f"the connection broke; perhaps another process connects as '{self.client_id}'"
            self._lost_because = broke if str(code) == "Unspecified error" else str(code)

    def _fail(self, reason: str) -> None:
        self._failure = self._failure or RecordingError(f"{self._name}: {reason}")
        self._client.disconnect()

    def _say_once(self, about: str, line: str) -> None:
        if about not in self._said:
            self._said.add(about)
            self._lines.append(f"{self._name}: {line}")

    def _deliver(self, delivery: Arrival) -> None:
        """Waiting here stops reading from the socket: the broker has to keep what comes."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._pending) < _MOST_PENDING or self._is_closing)
            self._pending.append(delivery)
            self._changed.notify_all()

    def _write(self) -> None:
        """In a thread of its own: all that has come goes to the disk at once, and is confirmed then."""
        try:
            while batch := self._batch():
                self._inbox.append(batch)
                self._confirm(batch)
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

    def _confirm(self, batch: list[Arrival]) -> None:
        """They are on the disk. Those of an earlier connection are left: the broker delivers them again, under ids that
        may by now be those of other messages."""
        with self._numbering:
            for arrival in batch:
                if arrival.packet_id and arrival.connection == self._number:
                    self._client.ack(arrival.packet_id, 1)

    def poll(self, seconds: float) -> list[Message]:
        self._tell()
        messages = self._inbox.read(_AT_ONCE)
        if not messages and self._failure is None:
            with self._changed:
                self._changed.wait_for(lambda: self._inbox.backlog > 0 or self._failure is not None, seconds)
            messages = self._inbox.read(_AT_ONCE)
        if messages:
            return messages
        if self._failure is not None:
            self._tell()
            raise self._failure
        lost_because = self._lost_because
        if lost_because is None:
            self._patience.reset("connected again")
        else:
            self._patience.lose(f"not connected ({lost_because})", _QUIET_S)
        return []

    def _tell(self) -> None:
        while self._lines:
            self._request.say(self._lines.popleft())
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
        self._client.disconnect()
        self._client.loop_stop()
        self._writer.join()
        self._inbox.close()


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
    client.enable_logger(_LOG)  # errors that its thread catches would otherwise end the thread
    client.suppress_exceptions = True
    names = ("USERNAME", "PASSWORD", "CA", "CERT", "KEY")
    username, password, authority, certificate, key = (os.environ.get(f"RONDO_MQTT_{name}") or None for name in names)
    if username is not None:
        client.username_pw_set(username, password)
    elif password is not None:
        raise SettingError("RONDO_MQTT_PASSWORD is set and RONDO_MQTT_USERNAME is not; set both, or neither")
    if scheme != "mqtts":
        return client
    if (certificate is None) != (key is None):
        raise SettingError("RONDO_MQTT_CERT and RONDO_MQTT_KEY belong together; set both, or neither")
    try:
        client.tls_set(authority, certificate, key)  # certificates are checked, and the names of hosts
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "they cannot be read as such"
        raise SettingError(
            f"RONDO_MQTT_CA, RONDO_MQTT_CERT and RONDO_MQTT_KEY: expected files of certificates (PEM), but {reason}"
        ) from None
    return client


FEED = FeedKind(
    name="mqtt",
    address="mqtt://HOST[:PORT]/TOPIC",
    help="messages of an MQTT broker (mqtts:// with TLS), one stream for each topic below the wildcard",
    schemes=tuple(PORTS),
    open=MqttFeed,
    order=10,
)
