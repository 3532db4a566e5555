"""Address: one line that names a server and what to read or write there, `mqtt://host:1883/topic?qos=1`.

    scheme://host[:port]/path[?option=value&...]

The path is what the scheme makes of it: an MQTT topic (with `#`, `+` or `{device}`), a Kafka topic, the path of a web
page. Names and passwords are never part of an address, since every user of a machine can list the arguments of its
processes: they come from the environment (`rondo.live.credentials`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from rondo.errors import SettingError
from rondo.wording import did_you_mean, near_match

_FROM_ENVIRONMENT = {
    "mqtt": "RONDO_MQTT_USERNAME and RONDO_MQTT_PASSWORD",
    "mqtts": "RONDO_MQTT_USERNAME and RONDO_MQTT_PASSWORD",
    "kafka": "RONDO_KAFKA_SASL_USERNAME and RONDO_KAFKA_SASL_PASSWORD",
    "http": "RONDO_WEBHOOK_TOKEN",
    "https": "RONDO_WEBHOOK_TOKEN",
}
_SECRET_WORDS = ("user", "pass", "token", "secret", "credential", "apikey", "api_key")
_LARGEST_PORT = 65_535


@dataclass(frozen=True)
class Address:
    """What an address says.

    `host` is empty and `port` None where it names none. Where several servers may be named (Kafka), `servers` holds all
    of them, the first one too.
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
        return [_joined(host, default_port if port is None else port) for host, port in self.servers]

    def __str__(self) -> str:
        """
        >>> str(parse_address("mqtt://[::1]:1884/site/#?qos=1", ["mqtt"], ["qos"]))
        'mqtt://[::1]:1884/site/#?qos=1'
        """
        options = "&".join(f"{name}={value}" for name, value in self.options.items())
        hosts = ",".join(_joined(host, port) for host, port in self.servers)
        return f"{self.scheme}://{hosts}/{self.path}" + (f"?{options}" if options else "")


def scheme_of(text: str) -> str | None:
    """The scheme of an address; None where the text is none.

    >>> scheme_of("MQTT://host/topic"), scheme_of("day.csv")
    ('mqtt', None)
    """
    scheme, is_address, _ = text.partition("://")
    return scheme.lower() if is_address and scheme else None


def parse_address(
    text: str,
    schemes: Collection[str],
    options: Collection[str] | None = (),
    *,
    several: bool = False,
    needs_host: bool = True,
) -> Address:
    """The parts of an address; whatever does not fit is refused in one line, which never repeats a secret.

    Parameters
    ----------
    text
        As people write it.
    schemes
        Those that are taken.
    options
        Names that may follow `?`; None where everything behind the host is the server's own, as for a web page.
    several
        Whether more than one server may be named, with commas between.
    needs_host
        Whether an address without a host is refused.

    Examples
    --------
    >>> address = parse_address("mqtt://localhost/site/+/imu?qos=1", ["mqtt", "mqtts"], ["qos"])
    >>> address.host, address.port, address.path, dict(address.options)
    ('localhost', None, 'site/+/imu', {'qos': '1'})
    """
    scheme = scheme_of(text)
    form = f"{next(iter(schemes))}://host[:port]/..."
    if scheme is None:
        raise SettingError(f"'{text}' is no address: expected {form}")
    if scheme not in schemes:
        hint = did_you_mean(scheme, schemes, f"known are {', '.join(f'{one}://' for one in schemes)}")
        raise SettingError(f"{scheme}://: there is no such scheme here; {hint}")
    rest = text.partition("://")[2]
    authority, path, query = _parts(rest, whole_path=options is None)
    if "@" in authority:
        after = authority.rpartition("@")[2]
        raise SettingError(f"{scheme}://***@{after}/{path}: {_no_secrets(scheme)}")
    shown = f"{scheme}://{authority}/{path}"
    servers = tuple(_server(one, shown) for one in authority.split(",")) if authority else ()
    if needs_host and not servers:
        raise SettingError(f"{shown}: expected a host, found none; write {form}")
    if len(servers) > 1 and not several:
        raise SettingError(f"{shown}: expected one host, found {len(servers)}")
    host, port = servers[0] if servers else ("", None)
    chosen = _options(query, options or (), shown, scheme)
    return Address(scheme, host, port, path if options is None else unquote(path), chosen, servers)


def _parts(rest: str, *, whole_path: bool) -> tuple[str, str, str]:
    """Host, path and options; a `?` may follow the host at once."""
    n_host = min((place for place in (rest.find("/"), rest.find("?")) if place >= 0), default=len(rest))
    authority, behind = rest[:n_host], rest[n_host:].removeprefix("/")
    if whole_path:
        return authority, behind, ""
    path, _, query = behind.partition("?")
    return authority, path, query


def _server(text: str, shown: str) -> tuple[str, int | None]:
    if text.startswith("["):  # an IPv6 address has colons of its own
        host, closed, behind = text[1:].partition("]")
        if not closed or (behind and not behind.startswith(":")):
            raise SettingError(f"{shown}: expected [host]:port, found '{text}'")
        port = behind[1:]
    else:
        host, _, port = text.partition(":")
    if not host or any(character.isspace() for character in host):
        raise SettingError(f"{shown}: expected a host, found '{text}'; write host or host:port")
    if not port:
        return host, None
    if not (port.isascii() and port.isdigit() and 0 < int(port) <= _LARGEST_PORT):
        raise SettingError(f"{shown}: expected a port between 1 and {_LARGEST_PORT}, found '{port}'")
    return host, int(port)


def _options(query: str, known: Collection[str], shown: str, scheme: str) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        name, has_value, value = pair.partition("=")
        name = unquote(name)
        if name not in known:
            is_secret = near_match(name, known) is None and any(word in name.lower() for word in _SECRET_WORDS)
            if is_secret:
                raise SettingError(f"{shown}: {_no_secrets(scheme)}")
            few = f"known are {', '.join(sorted(known))}" if known else "it takes none"
            raise SettingError(f"{shown}: there is no option '{name}'; {did_you_mean(name, known, few)}")
        if not has_value or not value:
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


def _joined(host: str, port: int | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"
