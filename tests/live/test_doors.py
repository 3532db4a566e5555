"""Health and messages in the forms of other programs, read by their own parsers: Prometheus, InfluxDB, Grafana and
Home Assistant."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.errors import SettingError
from rondo.live.home_assistant import LEVELS, discovery
from rondo.live.prometheus import prometheus_text
from rondo.live.source import Sink, SinkMessage, open_sink
from rondo.live.templates import template_of
from rondo.run.health import DeviceHealth, HealthReport, SinkHealth, write_health
from tests.cli.running import Command
from tests.live.servers import mosquitto_server, wait_until, web_page
from tests.live.test_sinks import Listener, arrived, send

NAMES = st.text(min_size=1, max_size=12)


def label(device: str = "press 1", n: int = 0, **more: Any) -> SinkMessage:
    about = {"type": "label", "device": device, "n": n, "start_frame": 340, "end_frame": 360, "start_s": 6.8}
    scores = {"end_s": 7.2, "unit": 3, "motif": -1, "unit_score": 0.41, "motif_score": None}
    return SinkMessage(device, "label", json.dumps(about | scores | more))


def event(device: str = "press 1", n: int = 0, **more: Any) -> SinkMessage:
    about = {"type": "event", "device": device, "n": n, "kind": "promote", "level": "unit", "frame": 1200}
    return SinkMessage(device, "event", json.dumps(about | {"time_s": 12.0, "ids": [4, 5], "evidence": {}} | more))


@contextmanager
def opened(where: str) -> Iterator[Sink]:
    sink = open_sink(where)
    try:
        yield sink
    finally:
        sink.close()


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    parser = pytest.importorskip("prometheus_client.parser", reason="prometheus_client is not installed")
    families = list(parser.text_string_to_metric_families(text))
    assert all(family.documentation and family.type in ("gauge", "counter") for family in families)
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for family in families for one in family.samples}


@given(device=NAMES, problem=st.none() | NAMES, rows=st.integers(0, 1 << 60))
def test_prometheus_reads_what_health_holds(device: str, problem: str | None, rows: int) -> None:
    sinks = [SinkHealth("mqtt://host/a", 1200, 3, problem)]
    report = HealthReport(
        "alarm", 100.0, n_devices=2, n_in_alarm=1, alarms={device: {"silent": "no row"}}, n_rows=rows, sinks=sinks
    )
    found = samples(prometheus_text(report, [DeviceHealth(device, {}, 4.0)], 1, 104.0))
    assert found["rondo_up", ()] == 1 and found["rondo_rows_total", ()] == float(rows)
    assert found["rondo_alarm", (("alarm", "silent"), ("device", device))] == 1
    assert found["rondo_last_label_timestamp_seconds", (("device", device),)] == 100.0
    sink = (("sink", "mqtt://host/a"),)
    assert found["rondo_sink_up", sink] == (0 if problem else 1)
    assert (found["rondo_sink_behind_bytes", sink], found["rondo_sink_refused_total", sink]) == (1200, 3)


def test_the_command_prints_metrics_and_keeps_its_exit_codes(rondo: Command, tmp_path: Path) -> None:
    dead = rondo("health", tmp_path / "nowhere", "--metrics")
    assert dead.code == 2 and samples(dead.out) == {("rondo_up", ()): 0}
    write_health(tmp_path, HealthReport("finished", 100.0, n_rows=7, n_windows=2, exit_code=0))
    done = rondo("health", tmp_path, "--metrics")
    found = samples(done.out)
    assert done.code == 0 and found["rondo_rows_total", ()] == 7 and found["rondo_written_timestamp_seconds", ()] == 100
    assert not [name for name, _ in found if name.startswith(("rondo_sink", "rondo_alarm"))]


def points(lines: str) -> list[dict[str, Any]]:
    parser = pytest.importorskip("line_protocol_parser", reason="line-protocol-parser is not installed")
    return [parser.parse_line(line) for line in lines.splitlines()]


def test_influxdb_gets_labels_and_events_as_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDO_WEBHOOK_TOKEN", "Token abc")
    with web_page() as page, opened(f"{page.address}?bucket=b#influx") as sink:
        send(sink, [label(unit_name='say "hi", x=1'), label(n=1, start_s=None), event()])
        arrived(sink, 1)
    assert page.headers[0]["Authorization"] == "Token abc"
    named, undated, promoted = points(page.bodies[0].decode())
    assert named["measurement"] == "rondo_label" and named["tags"] == {"device": "press 1"}
    assert named["fields"] == {"unit": 3, "motif": -1, "unit_name": 'say "hi", x=1', "unit_score": 0.41}
    assert named["time"] == 6_800_000_000 and not undated["time"]
    assert promoted["tags"] == {"device": "press 1", "kind": "promote", "level": "unit"}
    assert promoted["fields"] == {"frame": 1200, "ids": "4 5"} and promoted["time"] == 12_000_000_000


@given(device=NAMES, name=NAMES)
def test_no_name_breaks_the_line_protocol(device: str, name: str) -> None:
    line = template_of("influx").render(label(device, unit_name=name))
    assert len(line.splitlines()) == 1
    (point,) = points(line)
    assert point["fields"]["unit"] == 3
    if set(device + name) <= set(string.ascii_letters + string.digits + ' ,="'):
        assert point["tags"]["device"] == device and point["fields"]["unit_name"] == name


def test_grafana_gets_an_annotation_for_each_event_and_none_for_labels() -> None:
    with web_page() as page, opened(f"{page.address}#grafana") as sink:
        send(sink, [label(), event(), label(n=1), event(n=1, kind="gap", level="input", ids=[], time_s=None)])
        send(sink, [label(n=2)])
        arrived(sink, 2)
        assert sink.n_refused == 0
    assert [headers["Content-Type"] for headers in page.headers] == ["application/json"] * 2
    assert [json.loads(body) for body in page.bodies] == [
        {"tags": ["rondo", "press 1", "promote"], "text": "promote unit 4, 5", "time": 12_000},
        {"tags": ["rondo", "press 1", "gap"], "text": "gap input"},
    ]


def test_a_file_is_a_template_too(tmp_path: Path) -> None:
    own = tmp_path / "chat.json"
    own.write_text('{% if type == "event" %}{"text": {{ (device ~ ": " ~ kind) | tojson }}}{% endif %}')
    with web_page() as page, opened(f"{page.address}#{own}") as sink:
        send(sink, [label(), event('a "b"')])
        arrived(sink, 1)
    assert [json.loads(body) for body in page.bodies] == [{"text": 'a "b": promote'}]


@pytest.mark.parametrize(
    "text",
    ["{{ nothing }}", "{% if %}", '{"unit": {{ unit }}', "{{ evidence['x'] }}", "{{ ''.__class__.__mro__ }}"],
)
def test_a_template_that_fails_is_refused_before_the_stream_begins(text: str, tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(text)
    with pytest.raises(SettingError, match="template"):
        open_sink(f"http://127.0.0.1:9/hook#{tmp_path / 'own.json'}")
    with pytest.raises(SettingError, match="influx"):
        open_sink("http://127.0.0.1:9/hook#infux")


def test_messages_that_a_template_cannot_render_are_counted(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("{{ 1 // (n - 1) }}")  # fails for the second line
    with web_page() as page, opened(f"{page.address}#{own}") as sink:
        send(sink, [label(n=1)])
        send(sink, [label(n=3)])
        arrived(sink, 2)
        assert (sink.n_refused, page.bodies) == (1, [b"0\n"])


def test_home_assistant_shows_units_and_motifs() -> None:
    topic = "rondo/press 1/label"
    found = dict(discovery("homeassistant", "press 1", topic))
    assert len(found) == len(LEVELS) and all("#" not in where and "+" not in where for where in found)
    shown = {}
    for where, text in found.items():
        sensor = json.loads(text)
        assert set(where.split("/")[2]) <= set(string.ascii_letters + string.digits + "_-")
        assert sensor["state_topic"] == topic and sensor["device"]["name"] == "press 1"
        read = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(sensor["value_template"])
        for message in (label(), label(unit_name="reach", motif=2)):
            value = read.render(value_json=json.loads(message.text))
            shown.setdefault(sensor["name"], []).append(value)
    assert shown == {"unit": ["u3", "reach"], "motif": ["OTHER", "m2"]}
    other = [json.loads(text)["unique_id"] for _, text in discovery("homeassistant", "press_1", topic)]
    assert not set(other) & {json.loads(text)["unique_id"] for text in found.values()}


@pytest.mark.broker
def test_a_broker_keeps_what_announces_a_device(tmp_path: Path) -> None:
    with mosquitto_server(tmp_path) as server:
        where = f"{server.address}/rondo/{{device}}/{{type}}?discovery=homeassistant"
        with opened(where) as sink:
            send(sink, [event("a"), label("a"), label("a", 1), label("b")])
            arrived(sink, 1)
        later = Listener(server, "homeassistant/#")  # as Home Assistant after a restart: what is retained comes again
        wait_until(lambda: len(later.got) >= 4, "four announcements")
        later.close()
    topics = {topic: message["state_topic"] for topic, message in later.got}
    assert len(later.got) == len(topics) == 4
    assert set(topics.values()) == {"rondo/a/label", "rondo/b/label"}


@pytest.mark.parametrize("topic", ["rondo", "rondo/{device}", "rondo/{type}"])
def test_discovery_needs_a_topic_for_the_labels_of_each_device(topic: str) -> None:
    pytest.importorskip("paho.mqtt.client")
    with pytest.raises(SettingError, match="discovery"):
        open_sink(f"mqtt://127.0.0.1:9/{topic}?discovery=homeassistant")
