"""Health as Prometheus reads it, in its text format 0.0.4: `rondo health DIR --metrics`.

Written to a file of the node exporter's textfile collector, or answered by any web server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rondo.run.health import DEAD, DeviceHealth, HealthReport


class _Family(NamedTuple):
    name: str
    kind: str
    help: str
    samples: Sequence[tuple[Mapping[str, str], float]]  # labels and value


def prometheus_text(health: HealthReport | None, devices: list[DeviceHealth], code: int, now_s: float) -> str:
    """All metrics of a stream or fleet; `code` is the exit code of `rondo health`.

    >>> print(prometheus_text(None, [], DEAD, 0.0), end="")
    # HELP rondo_up Whether the stream runs, or has ended as it should.
    # TYPE rondo_up gauge
    rondo_up 0
    """
    return "".join(line + "\n" for family in _families(health, devices, code, now_s) for line in _lines(family))


def _families(health: HealthReport | None, devices: list[DeviceHealth], code: int, now_s: float) -> Iterator[_Family]:
    up = float(code != DEAD)
    yield _Family("rondo_up", "gauge", "Whether the stream runs, or has ended as it should.", [({}, up)])
    if health is None:
        return
    yield _Family(
        "rondo_info", "gauge", "Version and state.", [({"version": health.version, "state": health.state}, 1)]
    )
    alone: list[tuple[str, str, str, float | None]] = [
        ("rondo_written_timestamp_seconds", "gauge", "When health.json was written.", health.written_s),
        ("rondo_last_row_timestamp_seconds", "gauge", "When the last row came.", health.last_row_s),
        ("rondo_rows_total", "counter", "Rows read.", health.n_rows),
        ("rondo_windows_total", "counter", "Windows labelled.", health.n_windows),
        ("rondo_devices", "gauge", "Devices.", health.n_devices),
        ("rondo_devices_in_alarm", "gauge", "Devices in alarm.", health.n_in_alarm),
        ("rondo_devices_refused", "gauge", "Devices that were refused.", health.n_refused),
        (
            "rondo_backlog",
            "gauge",
            "What waits in the source: bytes of a file, messages of a broker.",
            health.backlog_bytes,
        ),
    ]
    for name, kind, words, value in alone:
        if value is not None:
            yield _Family(name, kind, words, [({}, value)])
    alarms = [({"device": device, "alarm": alarm}, 1.0) for device, names in health.alarms.items() for alarm in names]
    yield _Family("rondo_alarm", "gauge", "1 for each alarm that is raised now.", alarms)
    ages = [
        ({"device": each.device}, now_s - each.last_label_age_s)
        for each in devices
        if each.last_label_age_s is not None
    ]
    yield _Family("rondo_last_label_timestamp_seconds", "gauge", "When the last label of a device was written.", ages)
    sinks = [({"sink": sink.sink}, sink) for sink in health.sinks]
    yield _Family(
        "rondo_sink_up", "gauge", "Whether a sink takes messages.", [(of, not it.problem) for of, it in sinks]
    )
    behind = [(of, float(it.behind_bytes)) for of, it in sinks]
    yield _Family("rondo_sink_behind_bytes", "gauge", "What a sink has not confirmed.", behind)
    refused = [(of, float(it.n_refused)) for of, it in sinks]
    yield _Family("rondo_sink_refused_total", "counter", "Messages that a sink has refused.", refused)


def _lines(family: _Family) -> Iterator[str]:
    if not family.samples:
        return
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, value in family.samples:
        inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        yield f"{family.name}{{{inside}}} {float(value):.17g}" if inside else f"{family.name} {float(value):.17g}"


def _escaped(text: str) -> str:
    r"""
    >>> print(_escaped('a "b"\n\\'))
    a \"b\"\n\\
    """
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
