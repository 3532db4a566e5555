"""Addresses of servers: their parts, and one clear line for each that cannot be used."""

from __future__ import annotations

import pytest

from rondo.errors import SettingError
from rondo.live.address import Address, parse_address, scheme_of


def test_the_parts_of_an_address() -> None:
    found = parse_address("mqtts://broker.example:8883/site/+/imu/#?qos=1&id=a%26b", ["mqtt", "mqtts"], ["qos", "id"])
    servers = (("broker.example", 8883),)
    options = {"qos": "1", "id": "a&b"}
    assert found == Address("mqtts", "broker.example", 8883, "site/+/imu/#", options, servers)


def test_what_may_be_left_out() -> None:
    found = parse_address("mqtt://host", ["mqtt"])
    assert (found.host, found.port, found.path, dict(found.options)) == ("host", None, "", {})
    assert parse_address("lsl://?name=imu", ["lsl"], ["name"], needs_host=False).options == {"name": "imu"}


def test_a_web_page_keeps_its_own_query() -> None:
    assert parse_address("https://h/a%20b?c=d&e", ["https"], None).path == "a%20b?c=d&e"


def test_several_servers_and_ipv6() -> None:
    found = parse_address("kafka://a,[fe80::1]:9093/rows", ["kafka"], several=True)
    assert (found.host, found.port) == ("a", None)
    assert found.servers_with(9092) == ["a:9092", "[fe80::1]:9093"]


def test_a_percent_sign_gives_characters_that_would_end_the_path() -> None:
    assert parse_address("mqtt://h/a%3Fb", ["mqtt"]).path == "a?b"


def test_texts_that_are_no_addresses_have_no_scheme() -> None:
    assert [scheme_of(text) for text in ("-", "day.csv", "/a/b", "://x")] == [None] * 4


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
