"""Address: one line that names a server and what to read or write there, `mqtt://host:1883/topic?client=me`.

    scheme://host[:port]/path[?option=value&...]

The scheme defines the path: an MQTT topic, a Kafka topic, the path of a web page. Names and passwords are never part of
an address, since every user of a machine can list the arguments of its processes. They come from the environment
(RONDO_MQTT_..., RONDO_KAFKA_..., RONDO_WEBHOOK_TOKEN: docs/streams.md), and no message repeats them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from rondo.errors import SettingError
from rondo.wording import SECONDS_IN, did_you_mean, near_match

_FROM_ENVIRONMENT = {
    "mqtt": "RONDO_MQTT_USERNAME and RONDO_MQTT_PASSWORD",
    "mqtts": "RONDO_MQTT_USERNAME and RONDO_MQTT_PASSWORD",
    "kafka": "RONDO_KAFKA_SASL_USERNAME and RONDO_KAFKA_SASL_PASSWORD",
    "http": "RONDO_WEBHOOK_TOKEN",
    "https": "RONDO_WEBHOOK_TOKEN",
}
_SECRET_WORDS = ("user", "pass", "token", "secret", "credential", "apikey", "api_key")


@dataclass(frozen=True)
class Address:
    """The parts of an address; `host` is empty and `port` None where it names none.

    Where several servers may be named (Kafka), `servers` holds all of them, the first one too.
    """

    scheme: str
    host: str
    port: int | None = None
    path: str = ""  # without the slash that ends the host
    options: Mapping[str, str] = field(default_factory=dict)
    servers: tuple[tuple[str, int | None], ...] = ()

    def servers_with(self, default_port: int) -> list[str]:
        """
        >>> parse_address("kafka://a,b:9093/rows", ["kafka"], several=True).servers_with(9092)
        ['a:9092', 'b:9093']
        """
        return [joined(host, default_port if port is None else port) for host, port in self.servers]

    def choice(self, option: str, values: Sequence[str]) -> str:
        """The value of an option that has one of these; the first where it is not named."""
        value = self.options.get(option, values[0])
        if value not in values:
            raise SettingError(f"{option}={value}: expected {option}={' or '.join(values)}; correct the address")
        return value

    def __str__(self) -> str:
        """
        >>> str(parse_address("mqtt://[::1]:1884/site/#?version=3", ["mqtt"], ["version"]))
        'mqtt://[::1]:1884/site/#?version=3'
        """
        options = "&".join(f"{name}={value}" for name, value in self.options.items())
        hosts = ",".join(joined(host, port) for host, port in self.servers)
        return f"{self.scheme}://{hosts}/{self.path}" + (f"?{options}" if options else "")


def scheme_of(text: str) -> str | None:
    """The scheme of an address; None where the text is none.

    >>> scheme_of("MQTT://host/topic"), scheme_of("day.csv")
    ('mqtt', None)
    """
    scheme, is_address, _ = text.partition("://")
    return scheme.lower() if is_address and scheme else None


def joined(host: str, port: int | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"


def parse_address(
    text: str,
    schemes: Collection[str],
    options: Collection[str] | None = (),
    *,
    several: bool = False,
    needs_host: bool = True,
) -> Address:
    """The parts of an address; whatever does not fit is refused in one line, which never repeats a secret.

    `options` are the names that may follow `?`; None where everything behind the host is the server's, as for a web
    page. `several`: more than one server may be named, with commas between.

    >>> address = parse_address("mqtt://localhost/site/+/imu?version=3", ["mqtt", "mqtts"], ["version"])
    >>> address.host, address.port, address.path, dict(address.options)
    ('localhost', None, 'site/+/imu', {'version': '3'})
    """
    scheme = scheme_of(text)
    form = f"{next(iter(schemes))}://host[:port]/..."
    if scheme is None:
        raise SettingError(f"'{text}' is no address: expected {form}")
    if scheme not in schemes:
        hint = did_you_mean(scheme, schemes, f"known are {', '.join(f'{known}://' for known in schemes)}")
        raise SettingError(f"{scheme}://: there is no such scheme here; {hint}")
    behind = text.partition("://")[2]
    authority = re.split("[/?]", behind, maxsplit=1)[0]  # a `?` may follow the host at once
    path, query = behind[len(authority) :].removeprefix("/"), ""
    if options is not None:
        path, _, query = path.partition("?")
    if "@" in authority:
        after = authority.rpartition("@")[2]
        raise SettingError(f"{scheme}://***@{after}/{path}: {_no_secrets(scheme)}")
    shown = f"{scheme}://{authority}/{path}"
    servers = tuple(_server(server, shown) for server in authority.split(",")) if authority else ()
    if needs_host and not servers:
        raise SettingError(f"{shown}: expected a host, found none; write {form}")
    if len(servers) > 1 and not several:
        raise SettingError(f"{shown}: expected one host, found {len(servers)}")
    host, port = servers[0] if servers else ("", None)
    chosen = _options(query, options or (), shown, scheme)
    return Address(scheme, host, port, path if options is None else unquote(path), chosen, servers)


def _server(text: str, shown: str) -> tuple[str, int | None]:
    try:
        found = urlsplit(f"//{text}")
        host, port = found.hostname or "", found.port
        host.encode("idna")
    except ValueError:  # no number, too large a number, half a bracket, a name that no server can have
        host, port = "", None
    if not host or port == 0 or any(character.isspace() for character in text):
        raise SettingError(
            f"{shown}: expected host or host:port, with a port between 1 and 65535 and brackets around an IPv6 "
            f"address, found '{text}'"
        )
    return host, port


def _options(query: str, known: Collection[str], shown: str, scheme: str) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        name = unquote(name)
        if name not in known:
            if near_match(name, known) is None and any(word in name.lower() for word in _SECRET_WORDS):
                raise SettingError(f"{shown}: {_no_secrets(scheme)}")
            few = f"known are {', '.join(sorted(known))}" if known else "it takes none"
            raise SettingError(f"{shown}: there is no option '{name}'; {did_you_mean(name, known, few)}")
        if not value:
            raise SettingError(f"{shown}: the option '{name}' has no value; write ?{name}=VALUE")
        if name in chosen:
            raise SettingError(f"{shown}: the option '{name}' is there twice; give it once")
        chosen[name] = unquote(value)
    return chosen


def _no_secrets(scheme: str) -> str:
    names = _FROM_ENVIRONMENT.get(scheme, "variables of the environment")
    return (
        "names and passwords are not taken from an address, which other users of the machine can see; "
        f"leave them out and set {names} in the environment"
    )


_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def seconds_in(text: str, option: str) -> float:
    """
    >>> seconds_in("60s", "patience"), seconds_in("5min", "patience"), seconds_in("2", "patience")
    (60.0, 300.0, 2.0)
    """
    return _amount(text, SECONDS_IN, "s", f"{option}={text}: expected a time such as 60s, 5min, 2h or 7d")


def bytes_in(text: str, option: str) -> int:
    """
    >>> bytes_in("1GiB", "inbox"), bytes_in("500MB", "inbox")
    (1073741824, 500000000)
    """
    return int(_amount(text, _BYTES, "B", f"{option}={text}: expected a size such as 500MB or 1GiB"))


def patience_in(options: Mapping[str, str]) -> float | None:
    """How long `?patience=` lets us wait for a server that is away; None: for ever."""
    return seconds_in(options["patience"], "patience") if "patience" in options else None


def _amount(text: str, units: Mapping[str, float], bare: str, expected: str) -> float:
    found = _NUMBER.fullmatch(text.strip())
    size = units.get(found[2] or bare) if found else None
    if found is None or size is None or not 0 < float(found[1]) * size < math.inf:
        raise SettingError(expected)
    return float(found[1]) * size
