"""`rondo merge` and `rondo split`: entries that count as one, and back again."""

from __future__ import annotations

import json as json_module
from typing import TYPE_CHECKING, Annotated

import typer

from rondo.cli import options
from rondo.cli.editing import Edited, Model, Stream, open_edits

if TYPE_CHECKING:
    from rondo.vocabulary.edits import Edits
    from rondo.vocabulary.names import EntryId

_AFTERWARDS = "labels written from now on say so (rondo label, rondo stream); those written before stay as they are"


def merge(
    model: Model,
    entries: Annotated[list[str], typer.Argument(metavar="ENTRY", help="Two or more of one level: unit:3 unit:7.")],
    stream: Stream = None,
    json: options.Json = False,
) -> None:
    """Let units, or motifs, count as one from now on, under the lowest of their ids.

    Example: rondo merge run unit:3 unit:7

    The learned vocabulary stays as it is: labels are changed after they are read. `rondo split` takes it back. Motifs
    are merged apart from units: the ids of the one level mean nothing in the other.
    """
    from rondo.vocabulary.edit_file import now

    edited = open_edits(model, stream)
    these = [edited.entry(entry) for entry in entries]
    edits = edited.edits.merged(these, now())
    edited.write(edits)
    _tell(edited, edits, these[0], json)


def split(
    model: Model,
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="An entry that was merged: unit:7.")],
    stream: Stream = None,
    json: options.Json = False,
) -> None:
    """Take an entry out of those it was merged with: it has its own id, and its own name, again.

    Example: rondo split run unit:7

    An entry that was found as one cannot be cut in two; fit with finer settings instead (rondo config show).
    """
    from rondo.vocabulary.edit_file import now

    edited = open_edits(model, stream)
    this = edited.entry(entry)
    edits = edited.edits.split(this, now())
    edited.write(edits)
    _tell(edited, edits, this, json)


def _tell(edited: Edited, edits: Edits, entry: EntryId, json: bool) -> None:
    kept = entry._replace(id=edits.kept(*entry))
    absorbed = [str(entry._replace(id=id)) for id in edits.absorbed(*kept)]
    if json:
        about = {"entry": str(kept), "name": edits.name(*kept), "absorbed": absorbed}
        print(json_module.dumps(about | {"edits": str(edited.folder / "edits.json")}))
        return
    also = f" with {', '.join(absorbed)}" if absorbed else " on its own"
    print(f"{kept}{also}: {edits.name(*kept) or 'no name'}")
    if edits != edited.edits:
        print(_AFTERWARDS)
