"""Sinks against real servers: what arrives, what is confirmed, and what happens while the other side is down."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rondo.errors import MissingExtraError
from rondo.live.source import Sink, SinkMessage, open_sink
from tests.live.mock_kafka import mock_kafka
from tests.live.servers import MqttServer, mosquitto_server, wait_until, web_page
from tests.systems import needs_posix


def batch(start: int, stop: int, device: str = "a") -> list[SinkMessage]:
    return [
        SinkMessage(device, "label", json.dumps({"type": "label", "device": device, "n": n}))
        for n in range(start, stop)
    ]


@contextmanager
def opened(where: str) -> Iterator[Sink]:
    sink = open_sink(where)
    try:
        yield sink
    finally:
        sink.close()


def send(sink: Sink, messages: list[SinkMessage]) -> None:
    wait_until(sink.is_ready, "a sink that takes a batch")
    sink.send(messages)


def arrived(sink: Sink, n_batches: int) -> None:
    wait_until(lambda: sink.n_confirmed() >= n_batches, f"{n_batches} batches confirmed")


class Listener:
    """Someone who subscribes, in a session that the broker keeps."""

    def __init__(self, server: MqttServer, topic: str) -> None:
        mqtt = pytest.importorskip("paho.mqtt.client")
        self.got: list[tuple[str, dict[str, Any]]] = []
        subscribed = threading.Event()
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="listener", clean_session=False)
        self._client.on_connect = lambda client, *_: client.subscribe(topic, qos=1)
        self._client.on_subscribe = lambda *_: subscribed.set()
        self._client.on_message = lambda _, __, message: self.got.append((message.topic, json.loads(message.payload)))
        self._client.reconnect_delay_set(0.1, 1)
        self._client.connect(server.host, server.port)
        self._client.loop_start()
        assert subscribed.wait(60)

    @property
    def numbers(self) -> list[int]:
        return [message["n"] for _, message in self.got]

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@pytest.mark.broker
def test_mqtt_publishes_to_the_topic_of_each_device(tmp_path: Path) -> None:
    with mosquitto_server(tmp_path) as server:
        listener = Listener(server, "site/#")
        with opened(f"{server.address}/site/{{device}}/{{type}}") as sink:
            send(sink, [*batch(0, 300), *batch(0, 5, "b/+#")])
            arrived(sink, 1)
            assert sink.problem is None
        wait_until(lambda: len(listener.got) >= 305, "305 messages")
        listener.close()
    assert [message["n"] for topic, message in listener.got if topic == "site/a/label"] == list(range(300))
    assert {topic for topic, _ in listener.got} == {"site/a/label", "site/b%2F%2B%23/label"}


@pytest.mark.broker
def test_mqtt_publishes_again_what_was_not_acknowledged(tmp_path: Path) -> None:
    """The broker is stopped in its tracks with a batch on its way, killed, and started again."""
    with mosquitto_server(tmp_path, persistence=True) as server:
        with opened(f"{server.address}/labels") as sink:
            wait_until(sink.is_ready, "a connection")
            server.freeze()
            sink.send(batch(0, 20))
            time.sleep(0.3)
            assert sink.n_confirmed() == 0
            server.kill()
            server.start()
            listener = Listener(server, "labels")
            arrived(sink, 1)
        wait_until(lambda: set(listener.numbers) == set(range(20)), "20 messages")
        listener.close()


Found = list[tuple[str, dict[str, Any]]]


def read_topic(servers: str, topic: str, is_all: Callable[[Found], bool]) -> Found:
    """Keys and messages of a topic from its beginning, until they are all there."""
    kafka = pytest.importorskip("confluent_kafka")
    settings = {"group.id": f"test-{time.monotonic_ns()}", "auto.offset.reset": "earliest", "log_level": 0}
    consumer = kafka.Consumer(settings | {"bootstrap.servers": servers})
    consumer.subscribe([topic])
    found: Found = []

    def all_are_there() -> bool:
        some = [message for message in consumer.consume(1000, 0.2) if not message.error()]
        found.extend((message.key().decode(), json.loads(message.value())) for message in some)
        return is_all(found)

    try:
        wait_until(all_are_there, f"messages of {topic}")
    finally:
        consumer.close()
    return found


@pytest.mark.slow
@pytest.mark.broker
def test_kafka_refuses_what_is_too_large_and_goes_on() -> None:
    with mock_kafka() as cluster, opened(f"kafka://{cluster.server}/labels") as sink:
        send(sink, [SinkMessage("a", "label", "x" * 2_000_000), *batch(0, 3)])
        arrived(sink, 1)
        assert sink.n_refused == 1
        assert len(read_topic(cluster.server, "labels", lambda found: len(found) >= 3)) == 3


def test_a_package_that_is_missing_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paho.mqtt", None)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    for where, extra in (("mqtt://h/t", "mqtt"), ("kafka://h/t", "kafka")):
        with pytest.raises(MissingExtraError, match=rf"pip install 'rondo-ts\[{extra}\]'"):
            open_sink(where)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts are short."""
    monkeypatch.setattr("rondo.live.sinks._FIRST_S", 0.01)
    monkeypatch.setattr("rondo.live.sinks._LONGEST_S", 0.05)


def lines_of(bodies: list[bytes]) -> list[int]:
    return [json.loads(line)["n"] for body in bodies for line in body.decode().splitlines()]


@pytest.mark.usefixtures("soon")
def test_a_webhook_gets_json_lines_and_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDO_WEBHOOK_TOKEN", "abc")
    with web_page() as page, opened(page.address) as sink:
        send(sink, batch(0, 5))
        send(sink, batch(5, 7))
        arrived(sink, 2)
    assert lines_of(page.bodies) == list(range(7))
    assert page.headers[0]["Authorization"] == "Bearer abc"
    assert page.headers[0]["Content-Type"] == "application/x-ndjson"


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("code", [500, 429, 401, 302])
def test_a_webhook_tries_again(code: int) -> None:
    with web_page() as page, opened(page.address) as sink:
        page.answers = [code, code]
        send(sink, batch(0, 5))
        arrived(sink, 1)
        assert (page.n_requests, sink.n_refused, sink.problem) == (3, 0, None)
    assert lines_of(page.bodies) == list(range(5))


@pytest.mark.usefixtures("soon")
def test_content_that_a_webhook_refuses_is_counted_and_not_sent_again() -> None:
    with web_page() as page, opened(page.address) as sink:
        page.answers = [422]
        send(sink, batch(0, 5))
        arrived(sink, 1)
        assert sink.n_refused == 5
        assert "answered 422" in (sink.problem or "")
        send(sink, batch(5, 6))
        arrived(sink, 2)
        assert (sink.n_refused, sink.problem) == (5, None)
    assert lines_of(page.bodies) == [5]


@pytest.mark.usefixtures("soon")
def test_a_webhook_that_answers_too_late_gets_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rondo.live.sinks._TIMEOUT_S", 0.2)
    with web_page() as page, opened(page.address) as sink:
        page.slow_s = 60.0
        send(sink, batch(0, 3))
        wait_until(lambda: page.n_requests >= 2, "a second attempt")
        assert (sink.n_confirmed(), sink.n_refused) == (0, 0)
        page.slow_s = 0.0
        arrived(sink, 1)
    assert lines_of(page.bodies)[:3] == list(range(3))


_PRINTS = """
import sys
from rondo.live.source import SinkMessage
from rondo.live.sinks import StandardOutput
sink = StandardOutput()
sink.send([SinkMessage("a", "label", "x" * 99) for _ in range(5000)])  # more than a pipe holds
print(sink.n_confirmed(), sink.is_ready(), file=sys.stderr, flush=True)
while not sink.is_ready():
    pass
print(sink.n_confirmed(), file=sys.stderr)
"""


@needs_posix
def test_a_reader_that_does_not_read_keeps_nobody_waiting() -> None:
    command = [sys.executable, "-c", _PRINTS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        errors = process.stderr.fileno()
        try:
            wait_until(lambda: bool(select.select([errors], [], [], 0)[0]), "a sink that returns before anyone reads")
        except BaseException:
            process.kill()  # or the end of this block would wait for it
            raise
        assert process.stderr.readline() == b"0 False\n"
        assert process.stdout.read() == (b"x" * 99 + b"\n") * 5000
        assert process.stderr.read() == b"1\n"
    assert process.returncode == 0
