"""Names, passwords and certificates come from the environment, and never show up in a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.errors import SettingError
from rondo.live.address import kafka_settings, mqtt_login, mqtt_tls, webhook_token


def test_nothing_is_set() -> None:
    assert (mqtt_login(), kafka_settings(), webhook_token()) == (None, {}, None)


def test_a_login_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDO_MQTT_USERNAME", "me")
    monkeypatch.setenv("RONDO_MQTT_PASSWORD", "hunter2")
    assert mqtt_login() == ("me", "hunter2")
    assert "hunter2" not in repr(mqtt_login())
    monkeypatch.delenv("RONDO_MQTT_USERNAME")
    with pytest.raises(SettingError, match="RONDO_MQTT_PASSWORD is set and RONDO_MQTT_USERNAME is not") as caught:
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
    with pytest.raises(SettingError, match="RONDO_MQTT_CA: expected a file of certificates"):
        mqtt_tls()
    (tmp_path / "none.pem").write_text("no certificate")
    with pytest.raises(SettingError, match="RONDO_MQTT_CA: expected a file of certificates"):
        mqtt_tls()
    monkeypatch.delenv("RONDO_MQTT_CA")
    monkeypatch.setenv("RONDO_MQTT_CERT", "own.pem")
    with pytest.raises(SettingError, match="belong together"):
        mqtt_tls()


def test_a_token_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDO_WEBHOOK_TOKEN", "a\nX-Other: b")
    with pytest.raises(SettingError, match="printable ASCII"):
        webhook_token()
