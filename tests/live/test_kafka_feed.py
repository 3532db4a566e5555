"""The Kafka feed against librdkafka's mock cluster: nothing lost, nothing twice, whoever is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from rondo.errors import RecordingError, SettingError
from rondo.live.kafka import FEED, KafkaFeed, _Losses
from rondo.live.source import Feed, Message, feed_kind
from tests.live.feeding import feed_request
from tests.live.mock_kafka import MockKafka, mock_kafka

pytestmark = pytest.mark.broker

DEVICES = ("a", "b", "c", "d")
PATIENCE_S = 60.0  # for a busy machine; every wait ends as soon as it can


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockKafka]:
    with mock_kafka() as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def _short_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the partitions of a killed reader are free soon."""
    monkeypatch.setenv("RONDO_KAFKA_SESSION_TIMEOUT_MS", "4500")  # the mock broker lets a group wait for 3 s
    monkeypatch.setenv("RONDO_KAFKA_HEARTBEAT_INTERVAL_MS", "300")


class Asked:
    """What a feed is asked for, and what it answers besides messages."""

    def __init__(self, folder: Path, marks: Mapping[str, int] | None = None) -> None:
        self.said: list[str] = []
        self.revoked: list[str] = []
        self.request = feed_request(folder, marks=marks, revoked=self.revoked.extend, say=self.said.append)

    def says(self, words: str) -> bool:
        return any(words in line for line in self.said)


def opened(where: str, asked: Asked) -> Feed:
    return FEED.open(where, asked.request)


def wait_until(holds: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)


def read(feed: Feed, n_messages: int) -> list[Message]:
    """So many messages, and then no more."""
    found: list[Message] = []
    wait_until(lambda: found.extend(feed.poll(0.2)) or len(found) >= n_messages, f"{n_messages} messages")
    return found + feed.poll(0.3)


def numbered(n_messages: int, begin: int = 0) -> list[tuple[int, str | None, bytes | None]]:
    """Messages of four devices over two partitions; of two readers one gets 0 and 1, the other 2 and 3."""
    return [(i % 2 * 2, DEVICES[i % 4], str(i).encode()) for i in range(begin, begin + n_messages)]


# ------------------------------------------------------------ what a message is


def test_an_address_names_the_feed() -> None:
    assert feed_kind("kafka://host/topic") is FEED
    assert feed_kind("KAFKA://host/topic") is FEED


@pytest.mark.slow
def test_messages_have_device_place_and_time(cluster: MockKafka, tmp_path: Path) -> None:
    before = time.time()
    cluster.send("what", [(0, "a", b"1"), (0, "b", b"2"), (3, None, b"3"), (0, "a", None), (0, "\xff", b"4")])
    with closing(opened(cluster.address("what"), Asked(tmp_path))) as feed:
        found = read(feed, 4)
        assert feed.backlog == 0
        assert not feed.ended
    places = {(one.device, one.payload, one.partition, one.offset) for one in found}
    expected = {("a", b"1", "what/0", 0), ("b", b"2", "what/0", 1), ("partition-3", b"3", "what/3", 0)}
    assert places == expected | {("\xff", b"4", "what/0", 3)}  # the tombstone at 2 is no message
    assert all(one.arrived_s is not None and before - 60 < one.arrived_s < time.time() + 60 for one in found)
    assert not any(one.is_after_loss for one in found)


# ------------------------------------------------------------ offsets and commits


@pytest.mark.slow
def test_our_marks_count_and_not_the_commit(cluster: MockKafka, tmp_path: Path) -> None:
    cluster.send("marks", numbered(40))
    with closing(opened(cluster.address("marks", group="marks"), Asked(tmp_path))) as feed:
        read(feed, 40)
        feed.settle({"marks/0": 15, "marks/2": 3})
    wait_until(lambda: cluster.committed("marks", "marks") == {0: 15, 2: 3}, "the commit after settle and close")
    asked = Asked(tmp_path, {"marks/0": 10, "marks/2": 20})
    with closing(opened(cluster.address("marks", group="marks"), asked)) as feed:
        assert [one.offset for one in read(feed, 10)] == list(range(10, 20))
    assert asked.revoked == []  # by `close` nothing is: whoever closes has let go of its devices before


@pytest.mark.slow
def test_nothing_is_committed_without_settle(cluster: MockKafka, tmp_path: Path) -> None:
    cluster.send("nothing", numbered(8))
    with closing(opened(cluster.address("nothing", group="nothing"), Asked(tmp_path))) as feed:
        read(feed, 8)
    assert cluster.committed("nothing", "nothing") == {}


def test_the_group_is_drawn_once_for_a_folder(cluster: MockKafka, tmp_path: Path) -> None:
    cluster.send("group", numbered(1))
    groups = []
    for folder in ("one", "one", "two"):
        asked = Asked(tmp_path / folder)
        opened(cluster.address("group"), asked).close()
        groups.append(asked.request.store.get("kafka group"))
    assert groups[0] == groups[1] != groups[2]


@pytest.mark.slow
def test_latest_stays_where_it_was_first(cluster: MockKafka, tmp_path: Path) -> None:
    """A restart before the first checkpoint must not skip what came meanwhile."""
    cluster.send("latest", numbered(10))
    where = cluster.address("latest", **{"from": "latest"})
    with closing(opened(where, Asked(tmp_path))) as feed:
        assert feed.poll(0.1) == []
    cluster.send("latest", numbered(4, begin=10))
    with closing(opened(where, Asked(tmp_path))) as feed:
        assert sorted(one.payload for one in read(feed, 4)) == [b"10", b"11", b"12", b"13"]


@pytest.mark.slow
def test_messages_that_the_broker_deleted_are_said_and_flagged(cluster: MockKafka, tmp_path: Path) -> None:
    cluster.send("deleted", [(0, DEVICES[i % 2], b"x" * 4000) for i in range(3000)])  # 12 MB, and it keeps 5
    cluster.send("deleted", [(0, "late", b"y")])
    asked = Asked(tmp_path, {"deleted/0": 7})
    with closing(opened(cluster.address("deleted"), asked)) as feed:
        found = read(feed, 2)
    first = found[0].offset
    assert first > 1000
    assert [one.is_after_loss for one in found[:4]] == [True, True, False, False]
    assert asked.says(f"the broker deleted {first - 7:,} messages of deleted/0 before we read them")
    # Killed and begun again it is the same, though the mark lies behind the loss now.
    asked = Asked(tmp_path, {"deleted/0": first + 1})
    with closing(opened(cluster.address("deleted"), asked)) as feed:
        again = read(feed, 3000 - first)
    assert [(one.device, one.offset) for one in again if one.is_after_loss] == [
        (found[1].device, first + 1),
        ("late", 3000),
    ]
    assert not asked.says("deleted 1")


def test_a_second_loss_is_one_more_boundary(tmp_path: Path) -> None:
    store = feed_request(tmp_path).store
    losses = _Losses(store)
    assert not losses.is_first("t/0", "a", 5)
    losses.begin("t/0")
    assert [losses.is_first("t/0", "a", offset) for offset in (10, 11)] == [True, False]
    losses.keep()
    losses.begin("t/0")
    assert losses.is_first("t/0", "a", 50)
    other = _Losses(store)  # the second loss was not kept: it will be found once more
    other.load("t/0")
    assert [other.is_first("t/0", "a", offset) for offset in (10, 50)] == [True, False]


@pytest.mark.slow
def test_a_topic_that_was_made_again_is_refused(cluster: MockKafka, tmp_path: Path) -> None:
    cluster.send("again", numbered(8))
    found = pytest.raises(RecordingError, match="again/2 ends at offset 4, and we had read up to 900")
    with closing(opened(cluster.address("again"), Asked(tmp_path, {"again/2": 900}))) as feed, found:
        read(feed, 1000)


# ------------------------------------------------------------ killed, and not alone


_READERS: list[Reader] = []


@pytest.fixture(autouse=True)
def _no_reader_is_left() -> Iterator[None]:
    yield
    while _READERS:
        _READERS.pop().kill()


class Reader:
    """The stand-in for the fleet, as a process."""

    def __init__(self, where: str, out: Path) -> None:
        self._said = out.parent / f"said-{time.monotonic_ns()}.txt"
        with self._said.open("w") as said:
            command = [sys.executable, "-m", "tests.live.tiny_fleet", where, str(out), "x"]
            self.process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        _READERS.append(self)

    def n_rebalances(self) -> int:
        assert self.process.poll() is None, self._said.read_text()
        return self._said.read_text().count("this process reads")

    def has_devices(self, out: Path) -> bool:
        """Whether it has got hold of a device, which the one before must have let go of."""
        files = (out / "devices").glob("*/readers.txt")
        return any(str(self.process.pid) in file.read_text().splitlines() for file in files)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(PATIENCE_S) == 0, self._said.read_text()


def taken(out: Path) -> dict[str, list[int]]:
    files = sorted((out / "devices").glob("*/taken.txt"))
    return {file.parent.name: [int(line) for line in file.read_text().splitlines()] for file in files}


def n_taken(out: Path) -> int:
    """Messages that checkpoints count."""
    return sum(json.loads(file.read_text()) for file in (out / "marks").glob("*.json"))


def expected(n_messages: int) -> dict[str, list[int]]:
    return {device: list(range(i, n_messages, 4)) for i, device in enumerate(DEVICES)}


@contextmanager
def sending(cluster: MockKafka, topic: str) -> Iterator[list[int]]:
    """Messages that keep coming; how many have been sent, once they have stopped."""
    cluster.send(topic, numbered(40))
    n_sent, is_over = [40], threading.Event()

    def send() -> None:
        while not is_over.wait(0.05):
            cluster.send(topic, numbered(40, begin=n_sent[0]))
            n_sent[0] += 40

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield n_sent
    finally:
        is_over.set()
        sender.join()


@pytest.mark.slow
def test_killed_at_random_moments_nothing_is_lost_or_twice(cluster: MockKafka, tmp_path: Path) -> None:
    chance, out, where = random.Random(1), tmp_path / "out", cluster.address("killed")
    with sending(cluster, "killed") as n_sent:
        for _ in range(6):
            reader, before = Reader(where, out), n_taken(out)
            wait_until(reader.n_rebalances, "partitions")
            wait_until(lambda before=before: n_taken(out) > before, "a checkpoint")
            time.sleep(chance.uniform(0, 0.3))
            reader.kill()
    reader = Reader(where, out)
    wait_until(lambda: n_taken(out) == n_sent[0], "all messages")
    reader.stop()
    assert taken(out) == expected(n_sent[0])
    group = json.loads((out / "feed" / "kafka.json").read_text())["group"]
    assert cluster.committed(group, "killed") == {0: n_sent[0] // 2, 2: n_sent[0] // 2}


@pytest.mark.slow
def test_a_second_reader_comes_goes_is_killed_or_asleep(cluster: MockKafka, tmp_path: Path) -> None:
    chance, out, where = random.Random(2), tmp_path / "out", cluster.address("shared")
    with sending(cluster, "shared") as n_sent:
        first = Reader(where, out)
        wait_until(first.n_rebalances, "partitions")
        for end in ("stop", "kill", "sleep", "kill"):
            n_before, n_at_first = first.n_rebalances(), n_taken(out)
            second = Reader(where, out)
            wait_until(lambda reader=second: reader.n_rebalances(), "partitions of the second")
            wait_until(lambda n=n_before: first.n_rebalances() > n, "a rebalance of the first")
            wait_until(lambda reader=second: reader.has_devices(out), "devices of the second")
            wait_until(lambda n=n_at_first: n_taken(out) > n + 100, "progress of both")
            time.sleep(chance.uniform(0, 0.5))
            n_before = first.n_rebalances()
            if (
                end == "sleep"
            ):  # the broker takes it for dead, and it wakes up with files open that are no longer its own
                os.kill(second.process.pid, signal.SIGSTOP)
                wait_until(lambda n=n_before: first.n_rebalances() > n, "a rebalance without the sleeping one")
                os.kill(second.process.pid, signal.SIGCONT)
                n_before = second.n_rebalances()
                wait_until(lambda n=n_before, reader=second: reader.n_rebalances() > n, "the sleeping one again")
                second.stop()
            else:
                second.stop() if end == "stop" else second.kill()
                wait_until(lambda n=n_before: first.n_rebalances() > n, "all partitions for the first")
            n_at_first = n_taken(out)
            wait_until(lambda n=n_at_first: n_taken(out) > n + 100, "progress of the first")
    wait_until(lambda: n_taken(out) == n_sent[0], "all messages")
    first.stop()
    assert taken(out) == expected(n_sent[0])


@pytest.mark.slow
def test_what_a_rebalance_takes_away_leaves_the_batch(cluster: MockKafka, tmp_path: Path) -> None:
    """Messages that were received, not handed over yet, and belong to another reader now."""
    cluster.send("batch", numbered(20))
    feed = opened(cluster.address("batch"), Asked(tmp_path))
    assert isinstance(feed, KafkaFeed)
    with closing(feed):
        wait_until(lambda: feed.poll(0.1) or feed._next, "partitions")
        feed._on_assign(feed._consumer, [feed._place("batch/0"), feed._place("batch/2")])
        poll, n_polls = feed._consumer.poll, [0]

        class Between:
            """The consumer, with a rebalance after the tenth message."""

            def poll(self, seconds: float) -> Any:
                received = poll(1.0)
                n_polls[0] += received is not None
                if n_polls[0] == 10:
                    n_polls[0] += 1
                    feed._on_revoke(consumer, [feed._place("batch/0")])
                    feed._next = {"batch/2": feed._next["batch/2"]}
                return received

        consumer = feed._consumer
        feed._consumer = Between()  # type: ignore[assignment]
        found = feed.poll(1.0)
        feed._consumer = consumer
    assert {one.partition for one in found} == {"batch/2"}
    assert [one.offset for one in found] == list(range(len(found)))


# ------------------------------------------------------------ brokers that do not answer


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def forward(port: int, target: tuple[str, int]) -> socket.socket:
    """Let a port lead to the broker, as a network that is there again; it only has to do so for the first contact."""
    door = socket.create_server(("127.0.0.1", port))

    def pump(source: socket.socket, sink: socket.socket) -> None:
        while data := source.recv(65536):
            sink.sendall(data)

    def serve() -> None:
        while True:
            try:
                visitor, _ = door.accept()
            except OSError:
                return
            beyond = socket.create_connection(target)
            for pair in ((visitor, beyond), (beyond, visitor)):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return door


@pytest.mark.slow
def test_a_broker_that_is_not_there_yet_is_waited_for(cluster: MockKafka, tmp_path: Path) -> None:
    cluster.send("later", numbered(4))
    port, asked = free_port(), Asked(tmp_path)
    with closing(opened(f"kafka://127.0.0.1:{port}/later", asked)) as feed:
        assert feed.poll(0.2) == []
        assert [line for line in asked.said if "no broker answers; waiting" in line] == asked.said
        assert len(asked.said) == 1
        with forward(port, (cluster.host, cluster.port)):
            assert len(read(feed, 4)) == 4
    assert asked.says("a broker answers again")


@pytest.mark.slow
def test_patience_ends(tmp_path: Path) -> None:
    port = free_port()
    ends = pytest.raises(RecordingError, match=f"127.0.0.1:{port}/t: no broker has answered for 0.5 s")
    with closing(opened(f"kafka://127.0.0.1:{port}/t?patience=0.5", Asked(tmp_path))) as feed, ends:
        wait_until(lambda: feed.poll(0.1), "an end of patience")


@pytest.mark.slow
def test_a_broker_that_goes_silent_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDO_KAFKA_SOCKET_TIMEOUT_MS", "1000")
    with mock_kafka() as cluster:
        cluster.send("silent", numbered(40))
        asked = Asked(tmp_path)
        with closing(opened(cluster.address("silent"), asked)) as feed:
            found = read(feed, 40)
            cluster.pause()
            try:
                wait_until(lambda: feed.poll(0.2) or asked.says("no broker answers"), "a word about the broker")
            finally:
                cluster.resume()
            wait_until(lambda: found.extend(feed.poll(0.2)) or asked.says("answers again"), "the broker again")
            cluster.send("silent", numbered(40, begin=40))
            places: set[tuple[str, int]] = set()

            def is_complete() -> bool:
                found.extend(feed.poll(0.2))
                places.update((one.partition, one.offset) for one in found)
                return len(places) == 80

            wait_until(is_complete, "what was sent afterwards")


# ------------------------------------------------------------ settings


def test_a_topic_that_is_not_there_is_refused(cluster: MockKafka, tmp_path: Path) -> None:
    cluster.send("sensors", numbered(1))
    with pytest.raises(RecordingError, match="there is no topic 'sensor'; did you mean 'sensors'"):
        opened(cluster.address("sensor"), Asked(tmp_path))


@pytest.mark.slow
def test_settings_of_librdkafka_come_from_the_environment(
    cluster: MockKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.send("env", numbered(1))
    monkeypatch.setenv("RONDO_KAFKA_SECURITY_PROTOCOL", "SASL_PLAINTEXT")  # which the mock broker does not speak
    monkeypatch.setenv("RONDO_KAFKA_SASL_MECHANISM", "PLAIN")
    monkeypatch.setenv("RONDO_KAFKA_SASL_USERNAME", "me")
    monkeypatch.setenv("RONDO_KAFKA_SASL_PASSWORD", "hunter2")
    refused = pytest.raises(RecordingError, match=r"the broker refuses the login .*RONDO_KAFKA_SASL_USERNAME")
    with refused as caught, closing(opened(cluster.address("env"), Asked(tmp_path))) as feed:
        read(feed, 1)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("SASL_USERNAM", "me", "RONDO_KAFKA_SASL_USERNAM: librdkafka refuses it"),
        ("SECURITY_PROTOCOL", "TELNET", "RONDO_KAFKA_SECURITY_PROTOCOL: librdkafka refuses it"),
        ("ENABLE_AUTO_COMMIT", "true", "RONDO_KAFKA_ENABLE_AUTO_COMMIT: enable.auto.commit follows from"),
        ("AUTO_OFFSET_RESET", "latest", "RONDO_KAFKA_AUTO_OFFSET_RESET"),
        ("PARTITION_ASSIGNMENT_STRATEGY", "cooperative-sticky", "RONDO_KAFKA_PARTITION_ASSIGNMENT_STRATEGY"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(f"RONDO_KAFKA_{variable}", value)
    with pytest.raises(SettingError) as caught:
        opened("kafka://127.0.0.1:1/t", Asked(tmp_path))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("", "expected one topic after the host, found ''"),
        ("/a/b", "expected one topic after the host, found 'a/b'"),
        ("/t?from=middle", "'from' must be 'earliest' or 'latest', got 'middle'"),
        ("/t?patience=long", "patience=long: expected a time such as 60s"),
        ("/t?grop=x", "there is no option 'grop'; did you mean 'group'"),
    ],
)
def test_an_address_that_cannot_be_used_is_one_line(tmp_path: Path, rest: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        opened(f"kafka://127.0.0.1:1{rest}", Asked(tmp_path))
    assert message in str(caught.value)
