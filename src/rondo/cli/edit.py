"""`rondo name`, `merge`, `split`, `apply` and `undo`: what people say about the entries that were found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rondo.cli import options
from rondo.cli.options import EditedModel, EditedStream
from rondo.cli.terminal import print, print_json
from rondo.errors import SettingError
from rondo.wording import counted, moment_in_words

if TYPE_CHECKING:
    from rondo.edit import EditedVocabulary
    from rondo.editing.edits import Edits
    from rondo.editing.names import EntryId

_STREAM_DID = {"promote": "promoted", "merge": "took in what was like it"}


def name(
    model: EditedModel,
    entry: Annotated[str | None, options.argument("ENTRY", "unit:3 or motif:5; all if not given.")] = None,
    name: Annotated[str | None, options.argument("NAME", "What it is called from now on.")] = None,
    remove: Annotated[bool, options.switch("--remove", "Take the name of ENTRY away.")] = False,
    history: Annotated[bool, options.switch("--history", "Print what was done so far, to ENTRY or to all.")] = False,
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
        chosen = None if entry is None else edited.entry(entry)
        return _print_history(edited, chosen, json) if history else _print_entries(edited, chosen, json)
    with editing(model, stream) as edited:
        this = edited.entry(entry or "")
        edits = edited.edits.unnamed(this, now()) if name is None else edited.edits.named(this, name, now())
        edited.write(edits)
    called = edits.name(*this)
    if json:
        print_json({"entry": str(this), "name": called, "edits": str(edited.folder / "edits.json")})
    else:
        print(f"{this}: {called or 'no name'}")
    return None


def _print_entries(edited: EditedVocabulary, entry: EntryId | None, json: bool) -> None:
    from rondo.editing.names import EntryId

    edits = edited.edits
    entries = [EntryId(level, id) for level, ids in edited.ids.items() for id in ids]
    rows = [
        {
            "entry": str(each),
            "name": edits.name(*each),
            "kept": str(each._replace(id=edits.kept(*each))),
            "absorbed": [str(each._replace(id=id)) for id in edits.absorbed(*each)],
        }
        for each in entries
        if entry is None or each == entry
    ]
    if json:
        print_json({"entries": rows})
        return
    width = max((len(row["entry"]) for row in rows), default=0)
    for row in rows:
        merged = f" (with {', '.join(row['absorbed'])})" if row["absorbed"] else ""
        part = f"part of {row['kept']}" if row["kept"] != row["entry"] else row["name"] or "-"
        print(f"{row['entry']:<{width}}  {part}{merged}")


def _print_history(edited: EditedVocabulary, entry: EntryId | None, json: bool) -> None:
    """What the stream has done, by its clock, and then what people have done, by theirs."""
    rows = [] if edited.journal is None else _journal(edited.journal)
    rows += [{"by": "people", **row} for row in edited.edits.rows()]
    rows = [row for row in rows if entry is None or (row["level"] == entry.level and entry.id in row["ids"])]
    if json:
        print_json({"history": rows})
        return
    for row in rows:
        undone = " (undone)" if row.get("undone") else ""
        print(f"{row.get('number', ''):>4}  {row['at'] or 'some time':<25}  {row['what']}{undone}")
    if not rows:
        print("no edits yet")


def _journal(path: Path) -> list[dict[str, Any]]:
    from rondo.continual.journal import read_journal
    from rondo.editing.names import EntryId

    return [
        {
            "by": "stream",
            "at": f"frame {event.frame}" if event.time_s is None else moment_in_words(event.time_s),
            "what": f"{', '.join(str(EntryId(event.level, id)) for id in event.ids)} {_STREAM_DID[event.kind]}",
            "kind": event.kind,
            "level": event.level,
            "ids": list(event.ids),
        }
        for event in read_journal(path)
        if event.kind in _STREAM_DID and event.level != "input"
    ]


def merge(
    model: EditedModel,
    entries: Annotated[
        list[str] | None,
        options.argument("ENTRY", "Two or more of one level: unit:3 unit:7; lists what to merge if not given."),
    ] = None,
    to: Annotated[
        int | None, options.option("--to", "N", "Show N motifs: merge those that are confused most, or undo that.")
    ] = None,
    stream: EditedStream = None,
    json: options.Json = False,
) -> None:
    """Let units, or motifs, count as one from now on, under the lowest of their ids.

    Example: rondo merge run unit:3 unit:7

    `rondo merge run` lists which motifs are confused, `rondo merge run --to 6` shows 6 of them (2 to all found).

    The learned vocabulary stays as it is: labels are changed after they are read, those of the run too. `rondo split`
    takes it back. Where no motif is longer than a unit, merging units merges their motifs too; elsewhere the levels are
    merged apart.
    """
    if ((to is not None or not entries) and stream is not None) or (to is not None and entries):
        raise SettingError("give either entries to merge or --to N; --stream takes entries only")
    if to is not None:
        return _print_coarsened(model, to, json)
    if not entries:
        return _print_suggested(model, json)
    from rondo.edit import editing
    from rondo.editing.edits import now

    with editing(model, stream) as edited:
        these = [edited.entry(entry) for entry in entries]
        edits = edited.edits.merged(these, now(), edited.known)
        edited.write(edits)
    return _print_merged(edited, edits, these[0], json)


def _print_coarsened(run: Path, n_motifs: int, json: bool) -> None:
    from rondo.analysis.coarseness import coarseness_of
    from rondo.edit import coarsen_run
    from rondo.editing.names import EntryId

    result = coarsen_run(run, n_motifs)
    found = coarseness_of(result).n_found
    groups = [(one.id, one.absorbed) for one in result.summary.shown_motifs if one.absorbed]
    if json:
        absorbed = {str(EntryId("motif", id)): [str(EntryId("motif", other)) for other in own] for id, own in groups}
        return print_json({"n_motifs": n_motifs, "found": found, "absorbed": absorbed})
    print(f"{counted(n_motifs, 'motif')} shown, of {found} found")
    for id, own in groups:
        print(f"{EntryId('motif', id)} with {', '.join(str(EntryId('motif', other)) for other in own)}")
    print(f"updated: labels, segments and report of {run}")
    return None


def _print_suggested(run: Path, json: bool) -> None:
    """The merges that lead to fewer motifs, each with its reason."""
    from rondo.analysis.coarseness import coarseness_of, reason
    from rondo.result import Result

    place = coarseness_of(Result.load(run))
    if json:
        counts = {"n_motifs": place.n_now, "found": place.n_found, "suggested": place.n_motifs_suggested}
        return print_json(counts | {"merges": place.merges})
    print(f"{counted(place.n_now, 'motif')} shown, of {place.n_found} found")
    for row in place.merges:
        print(f"to {row['n_motifs']}: {reason(row)}{' (suggested)' if row['suggested'] else ''}")
    return None


def split(
    model: EditedModel,
    entry: Annotated[str, options.argument("ENTRY", "An entry that was merged: unit:7.")],
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
    _print_merged(edited, edits, this, json)


def _print_merged(edited: EditedVocabulary, edits: Edits, entry: EntryId, json: bool) -> None:
    """The entry that this one counts as, and what else counts as it; with a unit also its own motif."""
    groups: list[dict[str, Any]] = []
    for each in (entry, *edits.own_motifs([entry], edited.known)):
        kept = each._replace(id=edits.kept(*each))
        absorbed = [str(each._replace(id=id)) for id in edits.absorbed(*kept)]
        groups.append({"entry": str(kept), "name": edits.name(*kept), "absorbed": absorbed})
    if json:
        motif = {"motif": groups[1]} if len(groups) > 1 else {}
        print_json(groups[0] | motif | {"edits": str(edited.folder / "edits.json")})
        return
    for group in groups:
        also = f" with {', '.join(group['absorbed'])}" if group["absorbed"] else " on its own"
        print(f"{group['entry']}{also}: {group['name'] or 'no name'}")
    if edits != edited.edits:
        for run in edited.runs:
            print(f"updated: labels, segments and report of {run}")
        print("applies to labels written from now on (rondo label, rondo stream)")
        if edited.journal is not None:
            print("labels that a stream has issued stay issued in its labels.csv")


def apply(
    run: options.Run,
    edits: Annotated[Path, options.argument("FILE", "The edits.json that a report has saved.")],
    json: options.Json = False,
) -> None:
    """Make the edits that a report has collected: names, merges, and frames that belong to another or a new entry.

    Example: rondo apply run edits.json

    All of them are made or none. The file is bound to its run; applied twice, it is applied once. Labels, segments,
    summary and report follow, ids stay, nothing is learned. `rondo undo` takes an edit back.
    """
    from rondo.edit import apply_file, edits_in

    _print_added(edits_in(run), apply_file(run, edits), json)


def undo(
    run: options.Run,
    number: Annotated[
        int | None, options.argument("N", "The number of an edit; the last one in force if not given.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Take back an edit; the history keeps it. To have it again, make it again.

    Example: rondo undo run 3

    `rondo name run --history` lists the edits with their numbers.
    """
    from rondo.edit import edits_in, undo_edit

    _print_added(edits_in(run), undo_edit(run, number), json)


def _print_added(before: list[dict[str, Any]], after: list[dict[str, Any]], json: bool) -> None:
    if json:
        print_json({"added": len(after) - len(before), "edits": after})
        return
    for row in after[len(before) :]:
        undone = f": {after[row['of']]['what']}" if row["kind"] == "undo" else ""
        print(f"{row['number']}: {row['what']}{undone}")
    if len(after) == len(before):
        print("nothing to do: all of it is made already")
