"""Options that `rondo name`, `rondo merge` and `rondo split` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EditedModel = Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder, or a model folder.")]
EditedStream = Annotated[
    Path | None,
    typer.Option("--stream", metavar="DIR", help="The --out of a stream: what it has learned since can be named too."),
]
EditedRecording = Annotated[
    str | None,
    typer.Option("--recording", metavar="ID", help="Where every recording of a run has a vocabulary of its own."),
]
