"""`rondo merge` and `rondo split`: entries that count as one, and back again."""

from __future__ import annotations

import json as json_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.options import EditedModel, EditedStream
from rondo.cli.terminal import print

if TYPE_CHECKING:
    from rondo.edit import EditedVocabulary
    from rondo.editing.edits import Edits
    from rondo.editing.names import EntryId

_AFTERWARDS = "applies to labels written from now on (rondo label, rondo stream)"
_SHOWN = "updated: labels, segments and report of {}"
_ISSUED = "labels that a stream has issued stay issued in its labels.csv"


def merge(
    model: EditedModel,
    entries: Annotated[list[str], typer.Argument(metavar="ENTRY", help="Two or more of one level: unit:3 unit:7.")],
    stream: EditedStream = None,
    json: options.Json = False,
) -> None:
    """Let units, or motifs, count as one from now on, under the lowest of their ids.

    Example: rondo merge run unit:3 unit:7

    The learned vocabulary stays as it is: labels are changed after they are read, those of the run too. `rondo split`
    takes it back. Where no motif is longer than a unit, merging units merges their motifs too; elsewhere the levels are
    merged apart.
    """
    from rondo.edit import editing
    from rondo.editing.edits import now

    with editing(model, stream) as edited:
        these = [edited.entry(entry) for entry in entries]
        edits = edited.edits.merged(these, now(), edited.known)
        edited.write(edits)
    _tell(edited, edits, these[0], json)


def split(
    model: EditedModel,
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="An entry that was merged: unit:7.")],
    stream: EditedStream = None,
    json: options.Json = False,
) -> None:
    """Take an entry out of those it was merged with: it has its own id, and its own name, again.

    Example: rondo split run unit:7

    An entry that was found as one is divided on the page (rondo view), occurrence by occurrence, or found finer with
    other settings (rondo config show).
    """
    from rondo.edit import editing
    from rondo.editing.edits import now

    with editing(model, stream) as edited:
        this = edited.entry(entry)
        edits = edited.edits.split(this, now(), edited.known)
        edited.write(edits)
    _tell(edited, edits, this, json)


def _tell(edited: EditedVocabulary, edits: Edits, entry: EntryId, json: bool) -> None:
    groups = [_group(edits, entry)]
    groups += [_group(edits, motif) for motif in edits.own_motifs([entry], edited.known)]
    if json:
        motif = {"motif": groups[1]} if len(groups) > 1 else {}
        print(json_module.dumps(groups[0] | motif | {"edits": str(edited.folder / "edits.json")}))
        return
    for group in groups:
        also = f" with {', '.join(group['absorbed'])}" if group["absorbed"] else " on its own"
        print(f"{group['entry']}{also}: {group['name'] or 'no name'}")
    if edits != edited.edits:
        for run in edited.runs:
            print(_SHOWN.format(run))
        print(_AFTERWARDS)
        if edited.journal is not None:
            print(_ISSUED)


def _group(edits: Edits, entry: EntryId) -> dict[str, Any]:
    """The entry that stands for this one, and what else it stands for."""
    kept = entry._replace(id=edits.kept(*entry))
    absorbed = [str(entry._replace(id=id)) for id in edits.absorbed(*kept)]
    return {"entry": str(kept), "name": edits.name(*kept), "absorbed": absorbed}
