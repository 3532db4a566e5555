"""Addresses, and credentials from the environment; what does not fit is one line without secrets."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rondo.errors import SettingError
from rondo.live import mqtt
from rondo.live.address import Address, parse_address
from rondo.live.source import open_sink


def test_the_parts_of_an_address() -> None:
    found = parse_address("mqtts://broker.example:8883/site/+/imu/#?qos=1&id=a%26b", ["mqtt", "mqtts"], ["qos", "id"])
    servers = (("broker.example", 8883),)
    options = {"qos": "1", "id": "a&b"}
    assert found == Address("mqtts", "broker.example", 8883, "site/+/imu/#", options, servers)


def test_several_servers_and_ipv6() -> None:
    found = parse_address("kafka://a,[fe80::1]:9093/rows", ["kafka"], several=True)
    assert (found.host, found.port) == ("a", None)
    assert found.servers_with(9092) == ["a:9092", "[fe80::1]:9093"]


def test_a_percent_sign_gives_characters_that_would_end_the_path() -> None:
    assert parse_address("mqtt://h/a%3Fb", ["mqtt"]).path == "a?b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("day.csv", "is no address: expected mqtt://host"),
        ("mqt://h/t", "did you mean 'mqtt'"),
        ("ftp://h/t", "known are mqtt://"),
        ("mqtt:///t", "expected a host, found none"),
        ("mqtt://h:x/t", "with a port between 1 and 65535 and brackets around an IPv6 address, found 'h:x'"),
        ("mqtt://h:70000/t", "found 'h:70000'"),
        ("mqtt://h:0/t", "found 'h:0'"),
        ("mqtt://a..b/t", "found 'a..b'"),
        ("mqtt://a b/t", "found 'a b'"),
        ("mqtt://a,b/t", "expected one host, found 2"),
        ("mqtt://[::1/t", "found '[::1'"),
        ("mqtt://h/t?qso=1", "there is no option 'qso'; did you mean 'qos'"),
        ("mqtt://h/t?qos", "the option 'qos' has no value"),
        ("mqtt://h/t?qos=1&qos=0", "is there twice"),
    ],
)
def test_what_does_not_fit_is_one_line(text: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse_address(text, ["mqtt"], ["qos"])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["mqtt://me:hunter2@h/t", "mqtt://h/t?password=hunter2", "mqtt://h/t?token=hunter2"])
def test_secrets_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(SettingError, match="set RONDO_MQTT_USERNAME and RONDO_MQTT_PASSWORD") as caught:
        parse_address(text, ["mqtt"], ["qos"])
    assert "hunter2" not in str(caught.value)
    assert "me" not in str(caught.value).split(":", 1)[1].split(" ")[0]


@pytest.fixture
def mqtt_environment(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set the variables of MQTT, and no others."""
    pytest.importorskip("paho.mqtt.client")
    for name in [name for name in os.environ if name.startswith("RONDO_MQTT_")]:
        monkeypatch.delenv(name)
    return lambda name, value: monkeypatch.setenv(f"RONDO_MQTT_{name}", value)


def test_a_password_needs_a_name(mqtt_environment: Callable[..., None]) -> None:
    mqtt_environment("PASSWORD", "hunter2")
    with pytest.raises(SettingError, match=r"RONDO_MQTT_PASSWORD .*RONDO_MQTT_USERNAME") as caught:
        mqtt.new_client("mqtt")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read(
    mqtt_environment: Callable[..., None], tmp_path: Path, content: str | None
) -> None:
    mqtt.new_client("mqtts")
    if content is not None:
        (tmp_path / "ca.pem").write_text(content)
    mqtt_environment("CA", str(tmp_path / "ca.pem"))
    with pytest.raises(SettingError, match=r"RONDO_MQTT_CA, .*expected files"):
        mqtt.new_client("mqtts")
    mqtt_environment("CERT", "own.pem")
    with pytest.raises(SettingError, match="belong together"):
        mqtt.new_client("mqtts")


def test_a_token_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDO_WEBHOOK_TOKEN", "a\nX-Other: b")
    with pytest.raises(SettingError, match="printable ASCII"):
        open_sink("http://127.0.0.1:1/hook")
