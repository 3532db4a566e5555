"""Lists of edits as version 0.2.0 wrote them -> one list of today's kinds, which shows the same labels.

Frames that were given to an entry by "divide" are relabelled. A "split" is the undo of merges. Edits that were made
together (`follows`) on a unit and its own motif are one edit. What an undo of an undo brought back is in force. A
"cut", which changed no label, is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rondo.editing.edits import Edits
from rondo.editing.kinds import Edit
from rondo.editing.names import EntryId


def upgraded(lists: Sequence[Sequence[Mapping[str, Any]]]) -> Edits:
    """What all lists together say: names and merges first, then what was done to frames."""
    edits = Edits()
    for rows in lists:
        undone = _undone(rows)
        together: list[int] = []
        for place, row in enumerate(rows):
            if not row.get("follows"):
                edits = _with(edits, [rows[each] for each in together], bool(undone & {*together}))
                together = []
            together.append(place)
        edits = _with(edits, [rows[each] for each in together], bool(undone & {*together}))
    return edits


def _undone(rows: Sequence[Mapping[str, Any]]) -> set[int]:
    """The places of edits that were taken back by an undo that was not taken back itself."""
    undone: set[int] = set()
    for place in reversed(range(len(rows))):
        if rows[place]["kind"] == "undo" and place not in undone:
            undone.add(rows[place]["of"])
    return undone


def _with(edits: Edits, together: Sequence[Mapping[str, Any]], is_undone: bool) -> Edits:
    """With what was made together; what was taken back stays in the history."""
    made: list[Edit] = []
    alone = [EntryId(row["level"], row["ids"][0]) for row in together if row["kind"] == "split"]
    if alone and not is_undone:
        edits = edits.split_off(alone, together[0]["at"])
    for row in together:
        level, ids = row["level"], tuple(row["ids"])
        if row["kind"] in ("split", "cut", "undo"):
            continue
        new = row["kind"] == "divide"
        fields = {**row, "kind": "relabel" if new else row["kind"], "ids": ids[-1:] if new else ids, "new": new}
        edit, last = Edit.from_json(fields), made[-1] if made else None
        if last is not None and (last.kind, last.level, level) == (edit.kind, "unit", "motif"):
            made[-1] = replace(last, motifs=edit.ids)
        elif last is not None and last.new and edit.kind == "name" and edit.ids == last.ids_of(level):
            made[-1] = replace(last, name=edit.name)
        else:
            made.append(edit)
    n = len(edits.history)
    undos = [Edit("undo", edit.level, of=n + place) for place, edit in enumerate(made)] if is_undone else []
    return Edits((*edits.history, *made, *undos))
