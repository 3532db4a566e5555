"""Home Assistant finds the devices of a stream: the messages of its MQTT discovery, one for each sensor.

`--sink 'mqtt://host/rondo/{device}/{type}?discovery=homeassistant'` publishes them, retained, before the first label of
a device. Its unit and its motif are then sensors of one device, with all fields of the last label as attributes.
"""

from __future__ import annotations

import json
import re
import zlib

from rondo.version import __version__

LEVELS = ("unit", "motif")


def discovery(prefix: str, device: str, topic: str) -> list[tuple[str, str]]:
    """Topics and messages that announce a device with its labels on `topic`.

    >>> [where for where, _ in discovery("homeassistant", "press1", "rondo/press1/label")]
    ['homeassistant/sensor/rondo_press1/unit/config', 'homeassistant/sensor/rondo_press1/motif/config']
    """
    node = f"rondo_{_id(device)}"
    return [
        (f"{prefix}/sensor/{node}/{level}/config", json.dumps(_sensor(node, device, level, topic))) for level in LEVELS
    ]


def _sensor(node: str, device: str, level: str, topic: str) -> dict[str, object]:
    known = f"value_json.{level}_name | default('{level[0]}' ~ value_json.{level})"
    return {
        "name": level,
        "unique_id": f"{node}_{level}",
        "state_topic": topic,
        "value_template": f"{{{{ 'OTHER' if value_json.{level} == -1 else {known} }}}}",
        "json_attributes_topic": topic,
        "icon": "mdi:waveform",
        "qos": 1,
        "device": {"identifiers": [node], "name": device, "manufacturer": "Rondo", "sw_version": __version__},
        "origin": {"name": "Rondo", "sw_version": __version__},
    }


def _id(device: str) -> str:
    """Letters, digits, - and _ only; two devices never share one."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", device)
    return plain if plain == device else f"{plain}_{zlib.crc32(device.encode()):08x}"
