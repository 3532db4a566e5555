"""`rondo health`: one line about a stream, and an exit code that a supervisor understands."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

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
    """Say in one line how a stream is doing. Exit code 0: healthy or finished; 1: in alarm; 2: stopped, dead, or no
    stream.

    Example: rondo health live --stale 1min
    """
    import dataclasses
    import json as json_module

    from rondo.live.supervising.alarm_limits import parse_seconds
    from rondo.live.supervising.health import judged, read_health

    found = read_health(out)
    code, words = judged(found, parse_seconds(stale, "--stale"), time.time())
    if json:
        about = {} if found is None else dataclasses.asdict(found)
        print(json_module.dumps({"exit_code": code, "summary": words} | {"health": about or None}))
    else:
        print(words)
    raise typer.Exit(code)
