"""`rondo datasets`: the public data sets that Rondo knows."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from rondo.cli import options

app = typer.Typer(help="Public data sets that Rondo knows by name.")
app.callback(invoke_without_command=True)(options.help_without_command)
DataDir = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", envvar="RONDO_DATA", help="Folder that holds local copies."),
]


@app.command("list")
def list_(data: DataDir = None, json: options.Json = False) -> None:
    """List the data sets, their size, and whether a copy is at hand."""
    from rondo.data.sources.catalogue import DATA_SETS, local_files

    rows = [asdict(one) | {"local_recordings": len(local_files(one, data))} for one in DATA_SETS]
    if json:
        print(json_module.dumps(rows))
        return
    print(f"{'name':<12} {'recordings':>10} {'frames':>10} {'channels':>8} {'classes':>7} {'window/step':>11}  here")
    for row in rows:
        size = f"{row['n_recordings']:>10} {row['n_frames']:>10,} {row['n_channels']:>8} {row['n_classes']:>7}"
        here = f"{row['local_recordings']} recordings" if row["local_recordings"] else "-"
        print(f"{row['name']:<12} {size} {row['window']:>7}/{row['step']:<3}  {here}")


@app.command()
def info(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `rondo datasets list` prints it.")],
    data: DataDir = None,
    json: options.Json = False,
) -> None:
    """Show one data set, and count the local copy if there is one."""
    from rondo.data.files import read_recording
    from rondo.data.sources.catalogue import find_data_set, local_files

    one = find_data_set(name)
    local = [read_recording(path) for path in local_files(one, data)]
    facts: dict[str, Any] = asdict(one) | {
        "local": {"n_recordings": len(local), "n_frames": sum(recording.n_frames for recording in local)}
    }
    if json:
        print(json_module.dumps(facts))
        return
    print(f"{one.title}: {one.about}")
    print(f"expected ({one.source}): {one.n_recordings} recordings, {one.n_frames:,} frames, {one.n_channels} channels")
    print(f"classes: {one.n_classes}; rate: {'unknown' if one.rate is None else f'{one.rate:g} Hz'}")
    print(f"window / step: {one.window} / {one.step} frames")
    if not local:
        print("local copy: none (set RONDO_DATA or --data to the folder that holds it)")
        return
    agrees = len(local) == one.n_recordings and facts["local"]["n_frames"] == one.n_frames
    verdict = "as expected" if agrees else "differs from what is expected"
    print(f"local copy: {len(local)} recordings, {facts['local']['n_frames']:,} frames: {verdict}")
