"""MqttFeed against a real broker: each message once and in order, whoever is killed."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from rondo.errors import OutputError, RecordingError, SettingError
from rondo.live.devices.messages import FeedRequest, Message
from rondo.live.feeds.inbox import Arrival
from rondo.live.feeds.mqtt import FEED, MqttFeed, checked_topic, device_of
from rondo.live.feeds.receipts import MqttDelivery, Receipts
from tests.live import servers
from tests.live.servers import MqttServer, free_port, mosquitto_server, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.timeout(300)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MqttServer]:
    with mosquitto_server(tmp_path, needs_mosquitto=True) as found:  # amqtt does not speak MQTT 5
        yield found


def request(folder: Path, mark: int | None = None, say: Callable[[str], None] = lambda line: None) -> FeedRequest:
    return FeedRequest(folder, ("x",), 50.0, lambda partition: mark, lambda partitions: None, say)


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


def collect(feed: MqttFeed, n_messages: int, patience_s: float = 60.0) -> list[Message]:
    found: list[Message] = []
    end = time.monotonic() + patience_s
    while len(found) < n_messages:
        assert time.monotonic() < end, f"{len(found)} of {n_messages} messages came"
        found += feed.poll(0.2)
    return found


def subscribed(feed: MqttFeed) -> None:
    """Return when what is sent from now on will be delivered."""
    wait_until(lambda: feed._connection.is_subscribed, "a subscription")


def payloads(messages: list[Message]) -> list[bytes]:
    return [message.payload for message in messages]


# ---------------------------------------------------------------- plain


@pytest.mark.parametrize("version", [5, 3])
def test_messages_come_in_order_with_rising_offsets(tmp_path: Path, server: MqttServer, version: int) -> None:
    with opened(f"{server.address}/sensors/#?version={version}", tmp_path / "feed") as feed, sender(server.port) as to:
        subscribed(feed)
        before = time.time()
        for i in range(100):
            to.send("sensors/a", b"%d" % i)
        found = collect(feed, 100)
        assert payloads(found) == [b"%d" % i for i in range(100)]
        offsets = [message.offset for message in found]
        assert offsets == sorted(set(offsets))
        assert {message.partition for message in found} == {"inbox"}
        assert all(before - 1 < (message.arrived_s or 0) < time.time() + 1 for message in found)
        assert not any(message.is_after_loss for message in found)
        assert (feed.poll(0.3), feed.backlog, feed.ended) == ([], 0, False)


def test_a_broker_of_another_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """amqtt, which speaks MQTT 3.1.1 only."""
    monkeypatch.setattr(servers, "mosquitto_path", lambda: None)
    with mosquitto_server(tmp_path) as server:
        with (
            opened(f"{server.address}/s/#?version=3", tmp_path / "feed") as feed,
            sender(server.port) as to,
        ):
            subscribed(feed)
            for i in range(30):
                to.send("s/a", b"%d" % i)
            assert payloads(collect(feed, 30)) == [b"%d" % i for i in range(30)]
        with (
            opened(f"{server.address}/s/#?patience=3s", tmp_path / "five") as feed,
            pytest.raises(RecordingError, match=r"version=3") as caught,
        ):
            collect(feed, 1)
        assert "\n" not in str(caught.value)


def test_many_devices_under_a_wildcard(tmp_path: Path, server: MqttServer) -> None:
    with opened(f"{server.address}/hall/+/imu", tmp_path / "feed") as feed, sender(server.port) as to:
        subscribed(feed)
        sent = [(f"{i % 7}", b"%d" % i) for i in range(140)]
        for device, payload in sent:
            to.send(f"hall/{device}/imu", payload)
            to.send(f"hall/{device}/audio", b"not asked for")
        assert [(m.device, m.payload) for m in collect(feed, 140)] == [(f"{d}/imu", payload) for d, payload in sent]


@pytest.mark.parametrize(
    ("filter", "topic", "device"),
    [
        ("sensors/#", "sensors", "sensors"),
        ("sensors/#", "sensors/a/b", "a/b"),
        ("#", "a/b", "a/b"),
        ("+", "a", "a"),
        ("a/+/c", "a/b/c", "b/c"),
        ("a/b", "a/b", "b"),
        ("/a/", "/a/", "/a/"),
    ],
)
def test_the_device_is_the_topic_below_the_wildcard(filter: str, topic: str, device: str) -> None:
    assert device_of(filter, topic) == device


@pytest.mark.parametrize("topic", ["", "a/#/b", "a#", "a/b+", "$share/group/a"])
def test_topics_that_cannot_be_are_refused(topic: str) -> None:
    with pytest.raises(SettingError) as caught:
        checked_topic(topic)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("qos=2", "qos=2: expected qos=0 or 1"),
        ("patience=soon", "patience=soon: expected a time such as 60s"),
        ("inbox=much", "inbox=much: expected a size such as 500MB"),
        ("retain=1", "did you mean 'retained'"),
        ("version=3&retained=1", "retained=1 needs MQTT 5"),
    ],
)
def test_options_that_cannot_be_are_refused(tmp_path: Path, options: str, expected: str) -> None:
    with pytest.raises(SettingError) as caught:
        FEED.open(f"mqtt://127.0.0.1/a?{options}", request(tmp_path))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- away and back


def test_what_is_sent_while_we_are_away_waits_at_the_broker(tmp_path: Path, server: MqttServer) -> None:
    where, folder = f"{server.address}/s/#", tmp_path / "feed"
    with sender(server.port) as to:
        with opened(where, folder) as feed:
            subscribed(feed)
            to.send("s/a", b"0")
            mark = collect(feed, 1)[-1].offset + 1
            feed.settle({"inbox": mark})
        for i in range(1, 30):
            to.send("s/a", b"%d" % i)
        with opened(where, folder, mark) as feed:
            assert payloads(collect(feed, 29)) == [b"%d" % i for i in range(1, 30)]
        with opened(where, folder, mark) as feed:  # nothing was settled, so it is given again, under the same offsets
            again = collect(feed, 29)
            assert [message.offset for message in again] == list(range(mark, mark + 29))
            assert feed.poll(0.3) == []


def test_a_broken_connection_is_said_and_mended(tmp_path: Path, server: MqttServer) -> None:
    lines: list[str] = []
    with opened(f"{server.address}/s/#", tmp_path / "feed", lines=lines) as feed, sender(server.port) as to:
        subscribed(feed)
        n_sent = 0
        for _ in range(5):
            for _ in range(20):
                to.send("s/a", b"%d" % n_sent)
                n_sent += 1
            feed._connection.break_off()
        assert payloads(collect(feed, n_sent)) == [b"%d" % i for i in range(n_sent)]
        assert feed.poll(0.5) == []
        feed._tell()
        assert sum("not connected" in line for line in lines) == sum("connected again" in line for line in lines) > 0


def test_the_broker_has_forgotten_us(tmp_path: Path, server: MqttServer) -> None:
    """Without persistence its restart loses what it kept: the next message of each device says so, and only that."""
    with opened(f"{server.address}/s/#", tmp_path / "feed") as feed:
        subscribed(feed)
        with sender(server.port) as to:
            to.send("s/a", b"0")
            to.send("s/b", b"1")
        assert [message.is_after_loss for message in collect(feed, 2)] == [False, False]
        server.stop()
        wait_until(lambda: not feed._connection.is_subscribed, "the loss of the connection")
        server.start()
        subscribed(feed)
        with sender(server.port) as to:
            for device in "abcab":
                to.send(f"s/{device}", b"2")
        found = collect(feed, 5)
        assert [(m.device, m.is_after_loss) for m in found] == [
            ("a", True),
            ("b", True),
            ("c", False),
            ("a", False),
            ("b", False),
        ]


@pytest.mark.slow
@pytest.mark.parametrize("version", [5, 3])
def test_a_broker_with_persistence_is_started_again(tmp_path: Path, version: int) -> None:
    with (
        mosquitto_server(tmp_path, persistence=True) as server,
        opened(f"{server.address}/s/#?version={version}", tmp_path / "feed") as feed,
        sender(server.port) as to,
    ):
        subscribed(feed)
        sending = threading.Thread(target=to.send_all, args=([("s/a", b"%d" % i) for i in range(600)],))
        sending.start()
        found: list[Message] = []
        for n_before in (100, 250, 400):
            found += collect(feed, n_before - len(found))
            with to.between:
                server.stop()
                server.start()
        found += collect(feed, 600 - len(found))
        sending.join()
        found += feed.poll(0.5)
        assert payloads(found) == [b"%d" % i for i in range(600)]
        assert not any(message.is_after_loss for message in found)


# ---------------------------------------------------------------- kill -9

READER = """
import json, random, sys, time
from pathlib import Path
from rondo.live.feeds.mqtt import MqttFeed
from rondo.live.devices.messages import FeedRequest
where, folder, chance = sys.argv[1], Path(sys.argv[2]), random.Random(int(sys.argv[3]))
kept = folder / "kept.jsonl"  # stands for the checkpoints: all before the mark, once
lines = kept.read_text().splitlines(keepends=True) if kept.exists() else []
lines = [line for line in lines if line.endswith("\\n")]
kept.write_text("".join(lines))
mark = json.loads(lines[-1])[0] + 1 if lines else None
feed = MqttFeed(where, FeedRequest(folder / "feed", (), None, lambda _: mark, lambda _: None, lambda _: None))
while not feed._connection.is_subscribed:
    time.sleep(0.01)
print("ready", flush=True)
while True:
    messages = feed.poll(0.1)
    with kept.open("a") as file:
        for message in messages:
            file.write(json.dumps([message.offset, message.device, message.payload.decode()]) + "\\n")
    if messages and chance.random() < 0.5:
        feed.settle({"inbox": messages[-1].offset + 1})
"""


class Reader:
    """A process that reads, and can be killed and started again."""

    def __init__(self, where: str, folder: Path) -> None:
        self._where, self._folder, self._n_starts = where, folder, 0
        folder.mkdir()
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-c", READER, self._where, str(self._folder), str(self._n_starts)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        self._n_starts += 1

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    close = kill


def kept(folder: Path) -> list[list[Any]]:
    text = (folder / "kept.jsonl").read_text() if (folder / "kept.jsonl").exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [False, True])
def test_kill_9_at_any_moment_loses_nothing_and_doubles_nothing(tmp_path: Path, restarts: bool) -> None:
    """The payloads are few and come again and again: a message is not known by what is in it."""
    chance, folder = random.Random(int(restarts)), tmp_path / "reader"
    sent: list[tuple[str, str]] = []
    is_over = threading.Event()

    def send_on(to: Sender) -> None:
        while not is_over.wait(0.001):
            sent.append((f"{len(sent) % 3}", str(chance.randrange(4))))
            to.send(f"s/{sent[-1][0]}", sent[-1][1].encode())

    with (
        mosquitto_server(tmp_path, persistence=True) as server,
        closing(Reader(f"{server.address}/s/#", folder)) as reader,
        sender(server.port) as to,
    ):
        sending = threading.Thread(target=send_on, args=(to,))
        sending.start()
        for n_kill in range(1, 13):
            time.sleep(chance.random() * 0.6)
            reader.kill()
            if restarts and n_kill % 3 == 0:
                with to.between:
                    server.stop()
                    server.start()
            reader.start()
        is_over.set()
        sending.join()
        wait_until(lambda: len(kept(folder)) >= len(sent), "all messages")
        time.sleep(0.5)
    assert [(device, payload) for _, device, payload in kept(folder)] == sent


# ---------------------------------------------------------------- delivered again


def delivery(id: int, payload: bytes, *, again: bool = False, device: str = "a") -> MqttDelivery:
    return MqttDelivery(device, payload, 0.0, id, again)


def test_a_delivery_is_known_by_its_id_and_content() -> None:
    receipts = Receipts()
    arrivals = [receipts.arrival(delivery(id, b"x")) for id in (1, 2)]
    for known in (receipts, Receipts(b"", [a for a in arrivals if a]), Receipts(receipts.head())):
        assert known.arrival(delivery(1, b"x", again=True)) is None
        assert known.arrival(delivery(1, b"y", again=True)) is not None  # it was on its way when the connection broke
        assert known.arrival(delivery(3, b"x", again=True)) is not None
        assert known.arrival(delivery(2, b"x")) is not None  # the id is used again


def test_ids_of_a_forgotten_session_mean_nothing() -> None:
    receipts = Receipts(b"", [Arrival("a", b"x", 0.0, tag=1), Arrival("", b"session", 0.0)])
    again = receipts.arrival(delivery(1, b"x", again=True))
    assert again is not None
    assert again.is_after_loss
    first = Receipts(receipts.head()).arrival(delivery(2, b"x"))
    assert first is not None
    assert not first.is_after_loss


def test_only_so_many_ids_are_kept() -> None:
    receipts = Receipts()
    for i in range(70_000):
        receipts.arrival(delivery(i % 65_535 + 1, b"%d" % i))
    assert len(receipts.head()) < 1 << 19
    assert receipts.arrival(delivery(69_999 % 65_535 + 1, b"69999", again=True)) is None


# ---------------------------------------------------------------- retained, QoS 0, a full inbox


@pytest.mark.parametrize("version", [5, 3])
def test_retained_messages_are_left_out_and_said_once(tmp_path: Path, server: MqttServer, version: int) -> None:
    lines: list[str] = []
    with sender(server.port) as to:
        for device in "abc":
            to.send(f"s/{device}", b"old", retain=True)
        where = f"{server.address}/s/#?version={version}"
        with opened(where, tmp_path / "feed", lines=lines) as feed:
            subscribed(feed)
            to.send("s/a", b"new", retain=True)
            assert payloads(collect(feed, 1)) == [b"new"]
            assert feed.poll(0.3) == []
            feed._tell()
    assert [line for line in lines if "retained" in line] == [
        f"{where.partition('?')[0]}: retained messages are left out, for they are old; ?retained=1 takes them"
    ]


def test_retained_messages_are_taken_on_request_and_once(tmp_path: Path, server: MqttServer) -> None:
    with sender(server.port) as to:
        to.send("s/a", b"old", retain=True)
        with opened(f"{server.address}/s/#?retained=1", tmp_path / "feed") as feed:
            assert payloads(collect(feed, 1)) == [b"old"]
            feed._connection.break_off()
            wait_until(lambda: not feed._connection.is_subscribed, "the loss of the connection")
            subscribed(feed)
            to.send("s/a", b"new")
            assert payloads(collect(feed, 1)) == [b"new"]


def test_a_sender_with_qos_0_is_said(tmp_path: Path, server: MqttServer) -> None:
    lines: list[str] = []
    with opened(f"{server.address}/s/#", tmp_path / "feed", lines=lines) as feed, sender(server.port) as to:
        subscribed(feed)
        to.send("s/a", b"0", qos=0)
        to.send("s/a", b"1", qos=0)
        assert payloads(collect(feed, 2)) == [b"0", b"1"]
        feed._tell()
    assert len([line for line in lines if "'s/a' is sent with QoS 0" in line]) == 1


def test_a_full_inbox_leaves_messages_with_the_broker(tmp_path: Path, server: MqttServer) -> None:
    lines: list[str] = []
    n_sent, payload = 300, b"x" * 1000
    where = f"{server.address}/s/#?inbox=40kB"
    with opened(where, tmp_path / "feed", lines=lines) as feed, sender(server.port) as to:
        subscribed(feed)
        for i in range(n_sent):
            to.send("s/a", b"%d" % i + payload)
        wait_until(lambda: feed._is_full, "a full inbox")
        assert feed._inbox.n_bytes < 40_000 + 1000 * 1100
        found: list[Message] = []
        while len(found) < n_sent:
            messages = feed.poll(0.2)
            found += messages
            if messages:
                feed.settle({"inbox": messages[-1].offset + 1})
        assert payloads(found) == [b"%d" % i + payload for i in range(n_sent)]
        feed._tell()
    assert "connected as 'rondo-" in lines[0]
    assert "full" in lines[1]
    assert "room again" in lines[-1]


def test_a_disk_that_fails_ends_the_feed_and_costs_nothing(
    tmp_path: Path, server: MqttServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, folder = f"{server.address}/s/#", tmp_path / "feed"
    with sender(server.port) as to:
        with opened(where, folder) as feed:
            subscribed(feed)
            with monkeypatch.context() as patch:
                patch.setattr(os, "fsync", mock.Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
                to.send("s/a", b"0")
                with pytest.raises(OutputError, match="No space left on device"):
                    collect(feed, 1)
        with opened(where, folder) as feed:
            assert payloads(collect(feed, 1)) == [b"0"]


# ---------------------------------------------------------------- who may, and whether anyone is there


def certificates(folder: Path) -> Path:
    """An authority of our own, and a broker's certificate for 127.0.0.1."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl here")
    folder.mkdir()
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    new = ["req", "-newkey", "rsa:2048", "-nodes", "-batch"]
    for command in (
        [*new, "-x509", "-days", "2", "-subj", "/CN=test authority", "-keyout", "ca.key", "-out", "ca.pem"],
        [*new, "-subj", "/CN=127.0.0.1", "-keyout", "server.key", "-out", "server.csr"],
        [
            "x509",
            "-req",
            "-days",
            "2",
            "-extfile",
            "names",
            "-out",
            "server.pem",
            "-in",
            "server.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
        ],
    ):
        subprocess.run([openssl, *command], cwd=folder, check=True, capture_output=True)
    return folder


def secured(folder: Path) -> tuple[str, ...]:
    """Lines for a broker that wants TLS and the login sensor / s3cret."""
    passwords = folder / "passwords"
    tool = shutil.which("mosquitto_passwd")
    if tool is None:
        pytest.skip("no mosquitto_passwd here")
    subprocess.run([tool, "-b", "-c", str(passwords), "sensor", "s3cret"], check=True, capture_output=True)
    passwords.chmod(0o600)
    files = f"cafile {folder}/ca.pem", f"certfile {folder}/server.pem", f"keyfile {folder}/server.key"
    return (*files, "allow_anonymous false", f"password_file {passwords}")


def environment(monkeypatch: pytest.MonkeyPatch, values: Mapping[str, str]) -> None:
    for name in [name for name in os.environ if name.startswith("RONDO_MQTT_")]:
        monkeypatch.delenv(name)
    for name, value in values.items():
        monkeypatch.setenv(name, value)


@pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")  # paho, where a handshake fails
def test_tls_and_login_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = certificates(tmp_path / "certificates")
    with mosquitto_server(tmp_path, needs_mosquitto=True, lines=secured(folder)) as server:
        where = f"mqtts://127.0.0.1:{server.port}/s/#"
        login = {"RONDO_MQTT_USERNAME": "sensor", "RONDO_MQTT_PASSWORD": "s3cret"}
        ca = {"RONDO_MQTT_CA": str(folder / "ca.pem")}
        environment(monkeypatch, login | ca)
        as_sensor = {"username_pw_set": ("sensor", "s3cret"), "tls_set": (str(folder / "ca.pem"),)}
        with opened(where, tmp_path / "feed") as feed, sender(server.port, **as_sensor) as to:
            subscribed(feed)
            to.send("s/a", b"0")
            assert payloads(collect(feed, 1)) == [b"0"]
        refusals: list[tuple[dict[str, str], str]] = [
            (ca, "Not authorized"),
            (login | ca | {"RONDO_MQTT_PASSWORD": "wr0ng"}, "Not authorized"),
            (login, "its certificate is not trusted"),
        ]
        for given, expected in refusals:
            environment(monkeypatch, given)
            for version in (5, 3):
                with (
                    opened(f"{where}?version={version}", tmp_path / "refused") as feed,
                    pytest.raises(RecordingError, match=expected) as caught,
                ):
                    collect(feed, 1)
                assert "\n" not in str(caught.value)
                assert "wr0ng" not in str(caught.value)
                assert "RONDO_MQTT_" in str(caught.value)


def test_nobody_there_is_said_and_waited_for_so_long(tmp_path: Path) -> None:
    lines: list[str] = []
    port = free_port()
    with opened(f"mqtt://127.0.0.1:{port}/s/#?patience=1s", tmp_path / "feed", lines=lines) as feed:
        began = time.monotonic()
        with pytest.raises(RecordingError) as caught:
            collect(feed, 1)
        assert time.monotonic() - began > 0.5
    assert str(caught.value).startswith(f"mqtt://127.0.0.1:{port}/s/#: not connected for 1 s (Connection refused); ")
    assert "start the same command again" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert lines == [f"mqtt://127.0.0.1:{port}/s/#: not connected (Connection refused); trying again"]


@pytest.mark.slow
def test_two_readers_with_one_name_are_told(tmp_path: Path, server: MqttServer) -> None:
    """By the broker, where it says so; else by what it looks like."""
    where, lines = f"{server.address}/s/#?client=me", list[str]()
    with opened(where, tmp_path / "one", lines=lines) as one, opened(where, tmp_path / "two") as two:

        def is_told() -> bool:
            one._tell()
            failure = one._connection.failure or two._connection.failure
            return any("another process" in line for line in [*lines, str(failure)])

        wait_until(is_told, "a word about the other reader")


def test_the_client_id_stays_and_belongs_to_a_topic(tmp_path: Path, server: MqttServer) -> None:
    ids = []
    for topic in ("s/#", "s/#", "t/#"):
        with opened(f"{server.address}/{topic}", tmp_path / "feed") as feed:
            ids.append(feed._connection.client_id)
    assert ids[0] == ids[1] != ids[2]
