"""`rondo health`: how a stream and its devices are doing, and an exit code that a supervisor understands."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote

import typer

from rondo.cli.options import Json
from rondo.cli.terminal import print


def health(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The --out of `rondo stream`.")],
    json: Json = False,
    stale: Annotated[
        str, typer.Option("--stale", metavar="TIME", help="After so long without a sign of life it counts as dead.")
    ] = "30s",
) -> None:
    """Say in one line how a stream is doing; one with many devices has a line for each. Exit code 0: healthy or
    finished; 1: in alarm; 2: stopped, dead, or no stream.

    Example: rondo health live --stale 1min
    """
    import dataclasses
    import json as json_module

    from rondo.live.supervising.alarm_limits import parse_seconds
    from rondo.live.supervising.health import judged, read_health

    found = read_health(out)
    code, words = judged(found, parse_seconds(stale, "--stale"), time.time())
    devices = [] if found is None or (out / "summary.json").exists() else _devices(out, found.alarms)
    if json:
        about = None if found is None else dataclasses.asdict(found)
        print(json_module.dumps({"exit_code": code, "summary": words, "devices": devices, "health": about}))
    else:
        print(words)
        for device in devices:
            print(_line(device))
    raise typer.Exit(code)


def _devices(out: Path, alarms: Mapping[str, Sequence[str]]) -> list[dict[str, object]]:
    """The devices of a fleet, each with a run folder in `out`: its alarms and the age of its last label in seconds."""
    devices: list[dict[str, object]] = []
    for summary in sorted(out.glob("*/summary.json")):
        name, labels = unquote(summary.parent.name), summary.with_name("labels.csv")
        age_s = max(0.0, time.time() - labels.stat().st_mtime) if labels.is_file() else None
        devices.append({"device": name, "alarms": list(alarms.get(name, ())), "last_label_age_s": age_s})
    return devices


def _line(device: Mapping[str, object]) -> str:
    from rondo.wording import duration_in_words

    alarms, age_s = device["alarms"], device["last_label_age_s"]
    state = f"alarm ({', '.join(alarms)})" if isinstance(alarms, list) and alarms else "ok"
    age = f"last label {duration_in_words(round(age_s))} ago" if isinstance(age_s, float) else "no label yet"
    return f"  {device['device']}: {state}, {age}"
