"""The Kafka feed against librdkafka's mock cluster: nothing lost, nothing twice, whoever is killed."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from rondo.errors import RecordingError, SettingError
from rondo.live.kafka import FEED, KafkaFeed
from rondo.live.source import Feed, Message
from tests.live.feeding import Asked, after_loss, collect
from tests.live.mock_kafka import MockKafka, mock_kafka
from tests.live.servers import free_port, wait_until
from tests.systems import needs_posix

pytestmark = pytest.mark.broker

DEVICES = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockKafka]:
    with mock_kafka() as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def _short_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the partitions of a killed reader are free soon."""
    monkeypatch.setenv("RONDO_KAFKA_SESSION_TIMEOUT_MS", "4500")  # the mock broker lets a group wait for 3 s
    monkeypatch.setenv("RONDO_KAFKA_HEARTBEAT_INTERVAL_MS", "300")


def opened(where: str, asked: Asked) -> Feed:
    return FEED.open(where, asked.request)


def read(feed: Feed, n_messages: int) -> list[Message]:
    """So many messages, and then no more."""
    return collect(feed, n_messages) + feed.poll(0.3)


def numbered(n_messages: int, begin: int = 0) -> list[tuple[int, str | None, bytes | None]]:
    """Messages of four devices over two partitions; of two readers one gets 0 and 1, the other 2 and 3."""
    return [(i % 2 * 2, DEVICES[i % 4], str(i).encode()) for i in range(begin, begin + n_messages)]


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
    assert not any(after_loss(found))


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
    assert after_loss(found[:4]) == [True, True, False, False]
    assert asked.says(f"the broker deleted {first - 7:,} messages of deleted/0 before we read them")
    # Killed and begun again it is the same, though the mark lies behind the loss now.
    asked = Asked(tmp_path, {"deleted/0": first + 1})
    with closing(opened(cluster.address("deleted"), asked)) as feed:
        again = read(feed, 3000 - first)
    assert {message.lost_until for message in [*found, *again]} == {first}
    assert not asked.says("deleted 1")


@pytest.mark.slow
def test_a_topic_that_was_made_again_is_refused(cluster: MockKafka, tmp_path: Path) -> None:
    cluster.send("again", numbered(8))
    found = pytest.raises(RecordingError, match=r"again/2 .*offset 4, .*900")
    with closing(opened(cluster.address("again"), Asked(tmp_path, {"again/2": 900}))) as feed, found:
        read(feed, 1000)


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


def forward(port: int, target: tuple[str, int]) -> socket.socket:
    """Let a port lead to the broker, as a network that is there again; it only has to do so for the first contact."""
    door = socket.create_server(("127.0.0.1", port))

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)

    def serve() -> None:
        with suppress(OSError):
            while True:
                visitor, beyond = door.accept()[0], socket.create_connection(target)
                for pair in ((visitor, beyond), (beyond, visitor)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return door


@pytest.mark.slow
def test_a_broker_that_is_not_there_yet_is_waited_for(cluster: MockKafka, tmp_path: Path) -> None:
    cluster.send("later", numbered(4))
    port, asked = free_port(), Asked(tmp_path)
    with closing(opened(f"kafka://127.0.0.1:{port}/later", asked)) as feed:
        assert feed.poll(0.2) == feed.poll(0.2) == []
        assert len(asked.said) == 1 and "no broker answers; waiting" in asked.said[0]
        with forward(port, (cluster.host, cluster.port)):
            assert len(read(feed, 4)) == 4
    assert asked.says("a broker answers again")


@pytest.mark.slow
@needs_posix
def test_a_broker_that_was_silent_for_longer_than_a_session_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RONDO_KAFKA_SOCKET_TIMEOUT_MS", "2000")
    asked = Asked(tmp_path)
    with mock_kafka() as cluster:
        cluster.send("silent", numbered(4))
        with closing(opened(cluster.address("silent"), asked)) as feed:
            assert len(read(feed, 4)) == 4
            asked.request.store.put_marks({"silent/0": 2, "silent/2": 2})
            cluster.process.send_signal(signal.SIGSTOP)
            wait_until(lambda: feed.poll(0.1) or asked.says("no broker answers; waiting"), "a word about it")
            cluster.process.send_signal(signal.SIGCONT)
            cluster.send("silent", numbered(4, begin=4))
            assert sorted(one.payload for one in read(feed, 4)) == [b"4", b"5", b"6", b"7"]
            assert asked.says("a broker answers again")


def test_a_topic_that_is_not_there_is_refused(cluster: MockKafka, tmp_path: Path) -> None:
    cluster.send("sensors", numbered(1))
    with pytest.raises(RecordingError, match=r"'sensor'; .*'sensors'"):
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
    refused = pytest.raises(RecordingError, match=r"no login .*RONDO_KAFKA_SASL_USERNAME")
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
