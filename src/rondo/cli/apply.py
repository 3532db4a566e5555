"""`rondo apply` and `rondo undo`: edits that a page has saved, and the way back."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.terminal import print

EditedRun = Annotated[
    Path, typer.Argument(metavar="RUN", help="A folder that discover, label or stream wrote.", show_default=False)
]


def apply(
    run: EditedRun,
    edits: Annotated[Path, typer.Argument(metavar="FILE", help="The edits.json that a report has saved.")],
    json: options.Json = False,
) -> None:
    """Make the edits that a report has collected: names, merges, and frames that belong to another or a new entry.

    Example: rondo apply run edits.json

    All of them are made or none. The file is bound to its run; applied twice, it is applied once. Labels, segments,
    summary and report follow, ids stay, nothing is learned. `rondo undo` takes an edit back.
    """
    from rondo.edit import apply_file, edits_in

    before = edits_in(run)
    _tell(before, apply_file(run, edits), json)


def undo(
    run: EditedRun,
    number: Annotated[
        int | None, typer.Argument(metavar="N", help="The number of an edit; the last one in force if not given.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Take back an edit; the history keeps it. To have it again, make it again.

    Example: rondo undo run 3

    `rondo name run --history` lists the edits with their numbers.
    """
    from rondo.edit import edits_in, undo_edit

    before = edits_in(run)
    _tell(before, undo_edit(run, number), json)


def _tell(before: list[dict[str, Any]], after: list[dict[str, Any]], json: bool) -> None:
    if json:
        print(json_module.dumps({"added": len(after) - len(before), "edits": after}))
        return
    for row in after[len(before) :]:
        undone = f": {after[row['of']]['what']}" if row["kind"] == "undo" else ""
        print(f"{row['number']}: {row['what']}{undone}")
    if len(after) == len(before):
        print("nothing to do: all of it is made already")
