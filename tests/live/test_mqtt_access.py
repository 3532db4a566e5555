"""Who may read from an MQTT broker, under which name, and what is said where nobody is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from rondo.errors import RecordingError
from tests.live.feeding import collect
from tests.live.mqtt_devices import opened, payloads, sender, subscribed
from tests.live.servers import MqttServer, free_port, mosquitto_server, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.timeout(300)]


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
    assert "same command again" in str(caught.value)
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
