"""`rondo report`: build report.html of a run folder anew, alone or beside another run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A folder that `rondo discover` wrote, or the --out of `rondo stream`."),
    ],
    compare: Annotated[
        Path | None,
        typer.Option("--compare", metavar="OTHER", help="Another run over the same recordings, shown beside this one."),
    ] = None,
) -> None:
    """(Re)build report.html from what the run folder holds; with --compare, compare.html.

    Example: rondo report run --compare run_seed1

    The page is one file that opens without a network. That of a stream, which may be running, shows its journal.
    """
    from rondo.report import write_report

    print(f"report: {write_report(run, compare)}")
