"""MqttSink: messages as MQTT publications with QoS 1; one has arrived when the broker acknowledges it (PUBACK).

The thread of paho-mqtt keeps the connection, and publishes once more after a reconnection what was not acknowledged.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rondo.errors import MissingExtraError, SettingError
from rondo.live.address import Address, parse_address
from rondo.live.credentials import mqtt_login, mqtt_tls
from rondo.live.sinks.base import SinkKind, SinkMessage, has_scheme

if TYPE_CHECKING:
    from paho.mqtt.client import Client

_PORTS = {"mqtt": 1883, "mqtts": 8883}
_MOST_BATCHES = 2  # on their way
_KEEPALIVE_S, _SHORTEST_S, _LONGEST_S = 30, 1, 30  # the last two: pauses between attempts to connect
_SAFE = "".join(chr(code) for code in range(32, 127) if chr(code) not in "/+#%")  # + and # are wildcards


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
        self._client = self._connected()

    def _connected(self) -> Client:
        try:
            from paho.mqtt import client as mqtt
            from paho.mqtt.enums import CallbackAPIVersion
        except ImportError:
            raise MissingExtraError(f"{self._address.scheme}://", "paho-mqtt", "mqtt") from None

        client = mqtt.Client(CallbackAPIVersion.VERSION2)
        login = mqtt_login()
        if login is not None:
            client.username_pw_set(login.username, login.password)
        if self._address.scheme == "mqtts":
            client.tls_set_context(mqtt_tls())
        client.on_connect, client.on_disconnect = self._on_connect, self._on_disconnect
        client.on_connect_fail, client.on_publish = self._on_connect_fail, self._on_publish
        logger = logging.getLogger("rondo.mqtt")  # what its thread catches would otherwise end the thread
        logger.addHandler(logging.NullHandler())
        client.enable_logger(logger)
        client.suppress_exceptions = True
        client.max_inflight_messages_set(0)  # as many as a batch has
        client.reconnect_delay_set(_SHORTEST_S, _LONGEST_S)
        port = _PORTS[self._address.scheme] if self._address.port is None else self._address.port
        client.connect_async(self._address.host, port, _KEEPALIVE_S)
        client.loop_start()
        return client

    # ------------------------------------------------------------ what its thread says

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

    def _on_publish(self, client: Any, data: Any, number: int, reason: Any, properties: Any) -> None:
        self._acknowledged.add(number)

    # ------------------------------------------------------------ batches

    def is_ready(self) -> bool:
        return self._is_connected and len(self._under_way) < _MOST_BATCHES

    def send(self, batch: Sequence[SinkMessage]) -> None:
        self._under_way.append({self._publish(message) for message in batch})

    def _publish(self, message: SinkMessage) -> int:
        topic = self._address.path.replace("{device}", quote(message.device, safe=_SAFE))
        return self._client.publish(topic.replace("{type}", message.type), message.text.encode(), qos=1).mid

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


def _open(where: str) -> MqttSink:
    address = parse_address(where, list(_PORTS))
    if not address.path or any(sign in address.path for sign in "#+\0"):
        raise SettingError(
            f"{where}: expected a topic to publish to, as mqtt://host/rondo/{{device}}, found '{address.path}'; "
            "+ and # are for those who subscribe"
        )
    return MqttSink(address)


SINK = SinkKind(
    name="mqtt",
    address="mqtt://HOST[:PORT]/TOPIC",
    help="an MQTT topic, QoS 1, mqtts:// with TLS; {device} and {type} in the topic are filled in",
    matches=has_scheme("mqtt", "mqtts"),
    open=_open,
    order=11,
)
