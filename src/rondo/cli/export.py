"""`rondo export`: segments of a run for other programs."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from rondo.cli import options
from rondo.cli.terminal import print


def _formats() -> Iterable[str]:
    from rondo.report.export import export_formats

    return export_formats()


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that discover, label or stream wrote.")],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="{export_formats}.",
            autocompletion=options.completing_from(_formats),
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="PATH", help="File to write; for {formats_in_files} also a folder (no suffix)."),
    ],
    level: Annotated[
        str,
        typer.Option(
            "--level",
            metavar="NAME",
            help="unit, motif or both.",
            autocompletion=options.completing("unit", "motif", "both"),
        ),
    ] = "both",
    recording: Annotated[
        str | None, typer.Option("--recording", metavar="ID", help="Only this recording of the run.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Write the segments of a run for ELAN, Audacity, Label Studio, or as a table.

    Times are seconds since the first frame; csv and parquet keep the recording's own clock, Label Studio gets frames.

    Example: rondo export run --format eaf --out annotations
    """
    from rondo.result import Result

    written = Result.load(run).export(format, out, level=level, recording=recording)
    if json:
        print(json_module.dumps({"format": format, "files": [str(path) for path in written]}))
        return
    for path in written:
        print(f"{format}: {path}")
