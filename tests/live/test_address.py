"""Addresses, and credentials from the environment; what does not fit is one line without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.errors import SettingError
from rondo.live.address import Address, kafka_settings, mqtt_login, mqtt_tls, parse_address, webhook_token


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
        ("mqtt://h:x/t", "expected a port between 1 and 65535, found 'x'"),
        ("mqtt://h:70000/t", "found '70000'"),
        ("mqtt://a,b/t", "expected one host, found 2"),
        ("mqtt://[::1/t", "expected [host]:port"),
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


def test_a_login_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDO_MQTT_USERNAME", "me")
    monkeypatch.setenv("RONDO_MQTT_PASSWORD", "hunter2")
    assert mqtt_login() == ("me", "hunter2")
    assert "hunter2" not in repr(mqtt_login())
    monkeypatch.delenv("RONDO_MQTT_USERNAME")
    with pytest.raises(SettingError, match=r"RONDO_MQTT_PASSWORD .*RONDO_MQTT_USERNAME") as caught:
        mqtt_login()
    assert "hunter2" not in str(caught.value)


def test_kafka_settings_get_their_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDO_KAFKA_SECURITY_PROTOCOL", "SASL_SSL")
    monkeypatch.setenv("RONDO_KAFKA_SASL_USERNAME", "me")
    assert kafka_settings() == {"security.protocol": "SASL_SSL", "sasl.username": "me"}
    with pytest.raises(SettingError, match=r"RONDO_KAFKA_SECURITY_PROTOCOL: security\.protocol follows"):
        kafka_settings(reserved=["security.protocol"])


def test_certificates_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mqtt_tls()
    monkeypatch.setenv("RONDO_MQTT_CA", str(tmp_path / "none.pem"))
    with pytest.raises(SettingError, match="RONDO_MQTT_CA: expected a file"):
        mqtt_tls()
    (tmp_path / "none.pem").write_text("no certificate")
    with pytest.raises(SettingError, match="RONDO_MQTT_CA: expected a file"):
        mqtt_tls()
    monkeypatch.delenv("RONDO_MQTT_CA")
    monkeypatch.setenv("RONDO_MQTT_CERT", "own.pem")
    with pytest.raises(SettingError, match="belong together"):
        mqtt_tls()


def test_a_token_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDO_WEBHOOK_TOKEN", "a\nX-Other: b")
    with pytest.raises(SettingError, match="printable ASCII"):
        webhook_token()
