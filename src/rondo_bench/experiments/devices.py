"""Where a row was made: the device, and the versions that computed there.

Sums on a GPU are rounded in another way than on a CPU, from which a network may come to other labels. So rows of
several devices are never averaged: each device has a line of its own.

>>> short("NVIDIA H200"), short("cpu"), short("")
('H200', 'CPU', 'device not known')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rondo.device import resolve_device
from rondo.methods import find_method
from rondo.model.folder import provenance_of
from rondo.wording import counted
from rondo_bench.experiments.inputs import trains_networks
from rondo_bench.experiments.rows import CPU, Row

_LIBRARY = "torch"  # among the versions of a row only where a network computed


def device_in_use(device: str, config: Mapping[str, Any]) -> str:
    """Where a method with these settings computes: cpu, or the name of the GPU; empty where its labels are stored."""
    if "stored" in config:
        return ""
    if not trains_networks(config) or resolve_device(device) == CPU:
        return CPU
    import torch

    return str(torch.cuda.get_device_name())


def versions_in_use(config: Mapping[str, Any]) -> dict[str, str]:
    """Versions of Python, Rondo and the libraries that a method with these settings uses."""
    provenance = provenance_of([])
    of_baseline = find_method(config["baseline"]) if "baseline" in config else None
    unused = () if getattr(of_baseline, "is_network", False) or trains_networks(config) else (_LIBRARY,)
    packages = {name: version for name, version in dict(provenance["packages"]).items() if name not in unused}
    return {"python": str(provenance["python"])} | packages


def short(device: str) -> str:
    """The name of a device in a table."""
    if not device:
        return "device not known"
    return "CPU" if device == CPU else device.removeprefix("NVIDIA ")


def lines_of(method: str, rows: Sequence[Row]) -> tuple[dict[str, list[Row]], list[str]]:
    """The rows of each line of a table that a method has on one data set, and what is to be said of them.

    It has one for each device. A device that did not get to as many recordings as another is left out: a table is
    about the recordings that all of its lines have.
    """
    by_device: dict[str, list[Row]] = {}
    for row in rows:
        by_device.setdefault(row.device, []).append(row)
    if len(by_device) < 2:
        return ({method: list(rows)} if rows else {}), []
    reached = {name: len({(row.key.source, row.key.recording) for row in own}) for name, own in by_device.items()}
    most = max(reached.values())
    made = ", ".join(f"{short(name)} ({counted(n, 'recording')})" for name, n in reached.items())
    fewer = [short(name) for name, n in reached.items() if n < most]
    left_out = f"; left out: {', '.join(fewer)}" if fewer else ""
    lines = {f"{method} ({short(name)})": own for name, own in by_device.items() if reached[name] == most}
    return lines, [f"{method} was run on several devices, which are not averaged: {made}{left_out}"]
