"""MqttFeed against a real broker: each message once and in order, whoever goes away and comes back."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from unittest import mock

import pytest

from rondo.errors import OutputError, RecordingError
from rondo.live import inbox
from rondo.live.source import Message
from tests.live import servers
from tests.live.feeding import collect
from tests.live.mqtt_devices import opened, payloads, sender, subscribed
from tests.live.servers import MqttServer, mosquitto_server, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.timeout(300)]


# ---------------------------------------------------------------- plain


@pytest.mark.slow
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


# ---------------------------------------------------------------- away and back


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


def test_a_full_inbox_leaves_messages_with_the_broker(tmp_path: Path, server: MqttServer) -> None:
    lines: list[str] = []
    n_sent, payload = 300, b"x" * 1000
    where = f"{server.address}/s/#?inbox=40kB"
    with opened(where, tmp_path / "feed", lines=lines) as feed, sender(server.port) as to:
        subscribed(feed)
        for i in range(n_sent):
            to.send("s/a", b"%d" % i + payload)
        wait_until(lambda: feed._is_full, "a full inbox")
        assert feed._inbox._bytes_appended < 40_000 + 1000 * 1100
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
                patch.setattr(inbox, "_is_stored", mock.Mock(side_effect=sqlite3.OperationalError("disk is full")))
                to.send("s/a", b"0")
                with pytest.raises(OutputError, match="disk is full"):
                    collect(feed, 1)
        with opened(where, folder) as feed:
            assert payloads(collect(feed, 1)) == [b"0"]
