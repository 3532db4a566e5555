"""`rondo name`: names for entries; without one, what there is and what was done to it."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.options import EditedModel, EditedStream
from rondo.cli.terminal import print
from rondo.errors import SettingError
from rondo.wording import moment_in_words

if TYPE_CHECKING:
    from rondo.edit import EditedVocabulary
    from rondo.editing.names import EntryId


def name(
    model: EditedModel,
    entry: Annotated[str | None, typer.Argument(metavar="ENTRY", help="unit:3 or motif:5; all if not given.")] = None,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="What it is called from now on.")] = None,
    remove: Annotated[bool, typer.Option("--remove", metavar="", help="Take the name of ENTRY away.")] = False,
    history: Annotated[
        bool, typer.Option("--history", metavar="", help="Print what was done so far, to ENTRY or to all.")
    ] = False,
    stream: EditedStream = None,
    json: options.Json = False,
) -> None:
    """Name a unit or motif, or list those there are. Ids stay as they are, and nothing is learned from a name.

    Example: rondo name run unit:3 "reach"

    `rondo name run` lists the entries, `rondo name run --history` all edits with their numbers (`rondo undo`). Names
    lie beside the model and are kept when a stream goes on; they stand in segments.csv, summary.json and the report.
    """
    if (remove or name is not None) and (entry is None or history or (remove and name is not None)):
        raise SettingError("give an entry and either its NAME or --remove, or leave out both to list; see --help")
    from rondo.edit import editing, open_vocabulary
    from rondo.editing.edits import now

    if name is None and not remove:
        edited = open_vocabulary(model, stream)
        return _show(edited, None if entry is None else edited.entry(entry), history, json)

    with editing(model, stream) as edited:
        this = edited.entry(entry or "")
        edits = edited.edits.unnamed(this, now()) if name is None else edited.edits.named(this, name, now())
        edited.write(edits)
    called = edits.name(*this)
    if json:
        print(json_module.dumps({"entry": str(this), "name": called, "edits": str(edited.folder / "edits.json")}))
    else:
        print(f"{this}: {called}" if called else f"{this}: no name")
    return None


def _show(edited: EditedVocabulary, entry: EntryId | None, history: bool, json: bool) -> None:
    if history:
        found = _history(edited, entry)
        print(json_module.dumps({"history": found}) if json else "\n".join(map(_history_line, found)) or "no edits yet")
        return
    rows = [row for row in _entries(edited) if entry is None or row["entry"] == str(entry)]
    if json:
        print(json_module.dumps({"entries": rows}))
        return
    width = max((len(row["entry"]) for row in rows), default=0)
    for row in rows:
        merged = f" (with {', '.join(row['absorbed'])})" if row["absorbed"] else ""
        part = f"part of {row['kept']}" if row["kept"] != row["entry"] else row["name"] or "-"
        print(f"{row['entry']:<{width}}  {part}{merged}")


def _entries(edited: EditedVocabulary) -> list[dict[str, Any]]:
    from rondo.editing.names import EntryId

    edits = edited.edits
    return [
        {
            "entry": str(EntryId(level, id)),
            "name": edits.name(level, id),
            "kept": str(EntryId(level, edits.kept(level, id))),
            "absorbed": [str(EntryId(level, other)) for other in edits.absorbed(level, id)],
        }
        for level, ids in edited.ids.items()
        for id in ids
    ]


def _history(edited: EditedVocabulary, entry: EntryId | None) -> list[dict[str, Any]]:
    """What the stream has done, by its own clock, and then what people have done, by theirs."""
    found = [] if edited.journal is None else _journal(edited.journal)
    found += [{"by": "people", **row} for row in edited.edits.rows()]
    return [row for row in found if entry is None or (row["level"] == entry.level and entry.id in row["ids"])]


def _journal(path: Path) -> list[dict[str, Any]]:
    from rondo.continual.journal import read_journal
    from rondo.editing.names import EntryId

    done = {"promote": "promoted", "merge": "took in what was like it"}
    return [
        {
            "by": "stream",
            "at": f"frame {event.frame}" if event.time_s is None else moment_in_words(event.time_s),
            "what": f"{', '.join(str(EntryId(event.level, id)) for id in event.ids)} {done[event.kind]}",
            "kind": event.kind,
            "level": event.level,
            "ids": list(event.ids),
        }
        for event in read_journal(path)
        if event.kind in done and event.level != "input"
    ]


def _history_line(row: dict[str, Any]) -> str:
    number = f"{row['number']:>4}" if "number" in row else "    "
    undone = " (undone)" if row.get("undone") else ""
    at = row["at"] or "some time"
    return f"{number}  {at:<25}  {row['what']}{undone}"
