"""Who we are to a broker or a web page: names, passwords and certificates, from the environment and nowhere else.

Arguments of a process can be listed by every user of a machine, and end up in histories and logs; its environment does
not. What a variable holds is never part of a message.

RONDO_MQTT_USERNAME, RONDO_MQTT_PASSWORD     login to an MQTT broker
RONDO_MQTT_CA                                file of certificates to trust with mqtts://; those of the system if not set
RONDO_MQTT_CERT, RONDO_MQTT_KEY              files of our own certificate and its key, where the broker wants one
RONDO_KAFKA_...                              a setting of librdkafka: RONDO_KAFKA_SECURITY_PROTOCOL is security.protocol
RONDO_WEBHOOK_TOKEN                          sent to a webhook as "Authorization: Bearer ..."
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Collection
from typing import NamedTuple

from rondo.errors import SettingError

_KAFKA = "RONDO_KAFKA_"
_USERNAME, _PASSWORD = "RONDO_MQTT_USERNAME", "RONDO_MQTT_PASSWORD"
_CA, _CERT, _KEY = "RONDO_MQTT_CA", "RONDO_MQTT_CERT", "RONDO_MQTT_KEY"
_TOKEN = "RONDO_WEBHOOK_TOKEN"


class MqttLogin(NamedTuple):
    """As whom to log in."""

    username: str
    password: str | None

    def __repr__(self) -> str:  # a traceback must not show it
        return "MqttLogin(...)"


def mqtt_login() -> MqttLogin | None:
    """Name and password of a broker; None where the environment holds none."""
    username, password = _value(_USERNAME), _value(_PASSWORD)
    if username is None and password is not None:
        raise SettingError(f"{_PASSWORD} is set and {_USERNAME} is not; set both, or neither")
    return None if username is None else MqttLogin(username, password)


def mqtt_tls() -> ssl.SSLContext:
    """How mqtts:// connects: hosts are checked against the certificates that the environment names."""
    certificate, key = _value(_CERT), _value(_KEY)
    if (certificate is None) != (key is None):
        raise SettingError(f"{_CERT} and {_KEY} belong together; set both, or neither")
    try:
        context = ssl.create_default_context(cafile=_value(_CA))
    except (OSError, ssl.SSLError) as error:
        raise SettingError(f"{_CA}: expected a file of certificates (PEM), but {_reason(error)}") from None
    if certificate is not None and key is not None:
        try:
            context.load_cert_chain(certificate, key)
        except (OSError, ssl.SSLError) as error:
            raise SettingError(f"{_CERT}, {_KEY}: expected a certificate and its key, but {_reason(error)}") from None
    return context


def kafka_settings(reserved: Collection[str] = ()) -> dict[str, str]:
    """Settings of librdkafka by their own names; `reserved` are those that the address or Rondo decides on."""
    settings = {
        name.removeprefix(_KAFKA).lower().replace("_", "."): value
        for name, value in sorted(os.environ.items())
        if name.startswith(_KAFKA) and value
    }
    taken = [name for name in settings if name in reserved]
    if taken:
        variable = _KAFKA + taken[0].upper().replace(".", "_")
        raise SettingError(f"{variable}: {taken[0]} follows from the address and from what Rondo promises; unset it")
    return settings


def webhook_token() -> str | None:
    """What a webhook wants to see."""
    token = _value(_TOKEN)
    if token is not None and not (token.isascii() and token.isprintable()):
        raise SettingError(f"{_TOKEN}: expected printable ASCII characters in one line")
    return token


def _value(name: str) -> str | None:
    return os.environ.get(name) or None


def _reason(error: OSError) -> str:
    return error.strerror or "it cannot be read as such"
