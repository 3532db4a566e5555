"""The page of a folder with many streams: its devices and how each is doing; a press leads to the page of one."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from rondo.data.labels import OTHER
from rondo.live.supervising.health import read_health
from rondo.report.render import asset, content_policy, page_template, style
from rondo.report.tables import entry_name
from rondo.run.decisions import COLUMNS, DECISIONS
from rondo.run.summary import SUMMARY
from rondo.store.reading import read_part
from rondo.viewing.alarms import MOST_LISTED, alarm_lines, health_in_words, raised_in
from rondo.wording import duration_in_words, moment_in_words

OWN = ("model", "feed", "sinks")  # folders of the fleet itself
_TAIL_BYTES = 4096
_ORDER = {"alarm": 0, "quiet": 1, "ok": 2}
_QUIET_S = 60.0


def is_fleet(folder: Path) -> bool:
    """Whether a folder holds a folder for each device of a feed, or will."""
    return (folder / OWN[1]).is_dir() and not (folder / SUMMARY).exists()


def device_folders(folder: Path) -> dict[str, Path]:
    """The folders of all devices so far, by their names."""
    with os.scandir(folder) as found:
        names = sorted(it.name for it in found if it.name not in OWN and it.is_dir(follow_symlinks=False))
    return {name: folder / name for name in names if (folder / name / SUMMARY).is_file()}


def devices_of(folder: Path, token: str) -> dict[str, Any]:
    """What the page shows: how the fleet is doing, alarms, and a line for each device, those in alarm first."""
    lines, devices = alarm_lines(folder), []
    for name, place in device_folders(folder).items():
        own = alarm_lines(place)
        lines += own
        devices.append(_device(name, place, raised_in(own), token))
    lines.sort(key=lambda line: line["time"])
    health = read_health(folder)
    has_ended = health is not None and health.state == "finished"
    return {
        "health": health_in_words(health),
        "raised": [] if has_ended else raised_in(lines)[-MOST_LISTED:],
        "alarms": lines[: -MOST_LISTED - 1 : -1],
        "devices": sorted(devices, key=lambda device: (_ORDER[device["state"]], _by_numbers(device["name"]))),
    }


def fleet_page(folder: Path, token: str) -> str:
    """The page; its script asks for the rest."""
    from markupsafe import Markup

    scripts = [asset("fleet.js")]
    return page_template("fleet.html").render(
        title=f"Devices in {folder.name}",
        token=token,
        policy=content_policy(scripts, live=True, media=False),
        style=Markup(style(served=True)),
        scripts=[Markup(script) for script in scripts],
    )


def _by_numbers(name: str) -> list[tuple[int, str]]:
    """So that press 9 comes before press 10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name, flags=re.ASCII)]


def _device(name: str, place: Path, raised: list[dict[str, Any]], token: str) -> dict[str, Any]:
    labels = place / DECISIONS
    try:
        about = labels.stat(follow_symlinks=False)
        age_s, last = max(0.0, time.time() - about.st_mtime), _last_label(labels, about.st_size)
    except OSError:
        age_s, last = float("inf"), None
    state = "alarm" if raised else "quiet" if age_s > _QUIET_S else "ok"
    return {
        "name": unquote(name),
        "address": f"device/{quote(name, safe='')}/?token={quote(token)}",
        "state": state,
        "alarms": ", ".join(line["alarm"] for line in raised),
        "last": "nothing yet" if last is None else f"{duration_in_words(round(age_s))} ago",
        "unit": "" if last is None else _name("unit", last["unit"]),
        "motif": "" if last is None else _name("motif", last["motif"]),
        "until": "" if last is None or not last["end_s"] else moment_in_words(float(last["end_s"]), 1e9),
    }


def _last_label(path: Path, size: int) -> dict[str, str] | None:
    """The last whole line of labels.csv by its columns; None where there is none."""
    text = read_part(path, max(0, size - _TAIL_BYTES), _TAIL_BYTES)
    lines = text[: text.rfind(b"\n") + 1].decode("utf-8", "replace").splitlines()
    cells = lines[-1].split(",") if lines else []
    return dict(zip(COLUMNS, cells, strict=True)) if len(cells) == len(COLUMNS) and cells[0].isdigit() else None


def _name(level: str, id: str) -> str:
    return entry_name(level, int(id) if id.isdigit() else OTHER)
