"""`rondo report`: build report.html of a run folder anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `rondo discover` wrote.")],
) -> None:
    """(Re)build report.html from what the run folder holds.

    Example: rondo report run
    """
    from rondo.report import write_report

    print(f"report: {write_report(run)}")
