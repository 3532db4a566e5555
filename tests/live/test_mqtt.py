"""MqttFeed against a real broker: who may read, and what is lost when someone goes away and comes back."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from rondo.errors import OutputError, RecordingError, SourceLostError
from rondo.live import inbox
from rondo.live.mqtt import MqttFeed
from rondo.live.source import Message
from tests.cli.running import Command, refused
from tests.live import servers
from tests.live.feeding import after_loss, collect
from tests.live.mqtt_devices import opened, payloads, sender, subscribed
from tests.live.servers import MqttServer, free_port, mosquitto_server, wait_until
from tests.live.test_sinks import batch, send
from tests.live.test_sinks import opened as opened_sink

pytestmark = [pytest.mark.broker, pytest.mark.timeout(300)]


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
            pytest.raises(RecordingError, match=r"version=3"),
        ):
            collect(feed, 1)


def break_off(feed: MqttFeed) -> None:
    """As if the network had failed."""
    found: Any = feed._client.socket()
    found.shutdown(socket.SHUT_RDWR)
    wait_until(lambda: not feed.is_subscribed, "the loss of the connection")


def test_a_broken_connection_is_said_and_mended(tmp_path: Path, server: MqttServer) -> None:
    lines: list[str] = []
    with opened(f"{server.address}/s/#", tmp_path / "feed", lines=lines) as feed, sender(server.port) as to:
        subscribed(feed)
        n_sent = 0
        found: list[Message] = []
        for _ in range(3):
            for _ in range(20):
                to.send("s/a", b"%d" % n_sent)
                n_sent += 1
            found.extend(collect(feed, n_sent - len(found)))
            break_off(feed)
            for _ in range(20):  # while we are away
                to.send("s/a", b"%d" % n_sent)
                n_sent += 1
            wait_until(lambda: found.extend(feed.poll(0.1)) or feed.is_subscribed, "a connection")
        found.extend(collect(feed, n_sent - len(found)))
        assert payloads(found) == [b"%d" % i for i in range(n_sent)]
        assert feed.poll(0.5) == []
        assert sum("not connected" in line for line in lines) == sum("connected again" in line for line in lines) > 0


def test_the_broker_has_forgotten_us(tmp_path: Path, server: MqttServer) -> None:
    """Without persistence its restart loses what it kept: the next message of each device says so, and only that."""
    with opened(f"{server.address}/s/#", tmp_path / "feed") as feed:
        subscribed(feed)
        with sender(server.port) as to:
            to.send("s/a", b"0")
            to.send("s/b", b"1")
        before = collect(feed, 2)
        server.stop()
        wait_until(lambda: not feed.is_subscribed, "the loss of the connection")
        server.start()
        subscribed(feed)
        with sender(server.port) as to:
            for device in "abcab":
                to.send(f"s/{device}", b"2")
        assert after_loss(before + collect(feed, 5)) == [True, True, True, True, True, False, False]


def test_retained_messages_are_left_out_and_said_once(tmp_path: Path, server: MqttServer) -> None:
    lines: list[str] = []
    with sender(server.port) as to:
        for device in "abc":
            to.send(f"s/{device}", b"old", retain=True)
        with opened(f"{server.address}/s/#", tmp_path / "feed", lines=lines) as feed:
            subscribed(feed)
            to.send("s/a", b"new", retain=True)
            assert payloads(collect(feed, 1)) == [b"new"]
            break_off(feed)
            subscribed(feed)
            assert feed.poll(0.3) == []
    assert sum("retained messages are left out" in line for line in lines) == 1


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


def certificates(folder: Path) -> Path:
    """An authority of our own, and a broker's certificate for 127.0.0.1."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl here")
    folder.mkdir()
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
    new = ["req", "-newkey", "rsa:2048", "-nodes", "-batch"]
    for command in (
        [*new, "-x509", "-days", "2", "-subj", "/CN=test authority", "-keyout", "ca.key", "-out", "ca.pem"],
        [*new, "-subj", "/CN=127.0.0.1", "-keyout", "server.key", "-out", "server.csr"],
        ["x509", "-req", "-days", "2", "-extfile", "names", "-in", "server.csr", "-out", "server.pem", *signed],
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
def test_tls_and_login_come_from_the_environment(
    rondo: Command, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
            with opened_sink(where.replace("#", "{device}")) as sink:
                send(sink, batch(0, 1))
                wait_until(lambda: sink.n_confirmed() == 1, "a batch confirmed")
                assert b'"n": 0' in payloads(collect(feed, 1))[0]
        refusals: list[tuple[dict[str, str], str, str]] = [
            (ca, "Not authorized", "refuses the connection"),
            (login | ca | {"RONDO_MQTT_PASSWORD": "wr0ng"}, "Not authorized", "refuses the connection"),
            (login, "its certificate is not trusted", "no connection to 127.0.0.1"),
        ]
        for given, expected, problem in refusals:
            environment(monkeypatch, given)
            done = rondo("stream", model, "--source", where, "--out", "refused")
            refused(done, expected, "RONDO_MQTT_")
            assert "wr0ng" not in done.err
            with opened_sink(where.replace("#", "{device}")) as sink:
                wait_until(lambda: sink.problem is not None, "a refusal")
                assert problem in (sink.problem or "") and not sink.is_ready()


def test_nobody_there_is_said_and_waited_for_so_long(tmp_path: Path) -> None:
    lines: list[str] = []
    port = free_port()
    where = f"mqtt://127.0.0.1:{port}/s/#?patience=1s"
    with opened(where, tmp_path / "feed", lines=lines) as feed, pytest.raises(SourceLostError) as caught:
        collect(feed, 1)
    assert str(caught.value).startswith(f"mqtt://127.0.0.1:{port}/s/#: not connected (Connection refused), for 1 s")
    assert lines == [f"mqtt://127.0.0.1:{port}/s/#: not connected (Connection refused); waiting"]


def test_two_readers_with_one_name_are_told(tmp_path: Path, server: MqttServer) -> None:
    where, lines = f"{server.address}/s/#?client=me", list[str]()
    with opened(where, tmp_path / "one", lines=lines) as one:
        subscribed(one)
        with opened(where, tmp_path / "two"):
            wait_until(lambda: one.poll(0.1) or any("another process" in line for line in lines), "a word about it")


def test_the_client_id_stays_and_belongs_to_a_topic(tmp_path: Path, server: MqttServer) -> None:
    ids = []
    for topic in ("s/#", "s/#", "t/#"):
        with opened(f"{server.address}/{topic}", tmp_path / "feed") as feed:
            ids.append(feed.client_id)
    assert ids[0] == ids[1] != ids[2]
