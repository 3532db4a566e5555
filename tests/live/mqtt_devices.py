"""Devices that publish to an MQTT broker, and feeds that read what they sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from rondo.live.mqtt import MqttFeed
from rondo.live.source import FeedRequest, Message
from tests.live.feeding import feed_request
from tests.live.servers import wait_until


def request(folder: Path, mark: int | None = None, say: Callable[[str], None] = lambda line: None) -> FeedRequest:
    return feed_request(folder, marks={} if mark is None else {"inbox": mark}, say=say)


@contextmanager
def opened(where: str, folder: Path, mark: int | None = None, lines: list[str] | None = None) -> Iterator[MqttFeed]:
    """A feed that is connected and has subscribed."""
    lines = [] if lines is None else lines
    with closing(MqttFeed(where, request(folder, mark, lines.append))) as feed:
        yield feed


class Sender:
    """A device, or several: publishes with QoS 1 and waits for the broker to have it.

    A sender whose broker stops before it has confirmed a message sends it again: then it is there twice, and nobody can
    tell. So the tests stop a broker while `between` messages.
    """

    def __init__(self, port: int, **options: Any) -> None:
        from paho.mqtt import client as mqtt
        from paho.mqtt.enums import CallbackAPIVersion

        self.client = mqtt.Client(CallbackAPIVersion.VERSION2)
        self.client.reconnect_delay_set(1, 1)
        self.between, self._published = threading.Lock(), set[int]()
        self.client.on_publish = lambda client, data, id, code, properties: self._published.add(id)
        for name, value in options.items():
            getattr(self.client, name)(*value)
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()

    def send(self, topic: str, payload: bytes, qos: int = 1, *, retain: bool = False) -> None:
        with self.between:
            id = self.client.publish(topic, payload, qos, retain=retain).mid  # while not connected, it waits
            end = time.monotonic() + 60
            while id not in self._published:
                assert time.monotonic() < end, "the broker does not confirm"
                time.sleep(0.001)
            self._published.clear()

    def send_all(self, sent: list[tuple[str, bytes]]) -> None:
        for topic, payload in sent:
            self.send(topic, payload)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


@contextmanager
def sender(port: int, **options: Any) -> Iterator[Sender]:
    with closing(Sender(port, **options)) as found:
        yield found


def subscribed(feed: MqttFeed) -> None:
    """Return when what is sent from now on will be delivered."""
    wait_until(lambda: feed.is_subscribed, "a subscription")


def payloads(messages: list[Message]) -> list[bytes]:
    return [message.payload for message in messages]
