"""edits.json on disk: read, locked, written whole; lists of version 0.2.0 are read too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rondo.editing.edits import ADVICE, FORMAT, Edits
from rondo.editing.kinds import Edit
from rondo.editing.names import EntryId
from rondo.errors import ModelError, SettingError
from rondo.store.folder import write_json
from rondo.store.lock import locked
from rondo.store.model_file import EDITS, EDITS_LOCK
from rondo.store.reading import read_json

OLD_SCHEMA = 1


def changing(folder: Path) -> AbstractContextManager[None]:
    """Keep others from changing the edits here, or what shows them, from before they are read until they are written.

    Whoever names 20,000 recordings may take minutes over it.
    """
    return locked(folder, EDITS_LOCK, "another process is editing here; wait for it, or stop it", wait_s=600.0)


def read_edits(folder: Path) -> Edits:
    """The edits in a folder; none where nobody has made any.

    Version 0.2.0 kept what people did to frames in the folder above that of the model or the checkpoint.
    """
    found = _read(folder / EDITS)
    if found is not None and not _is_old(found):
        return Edits.from_json(found, folder / EDITS)
    beside: Any = _read(folder.parent / EDITS) if folder.name in ("model", "checkpoint") else None
    of_frames = beside if _is_old(beside) and "run" not in beside else None  # a file for `rondo apply` names its run
    try:
        return upgraded([each["edits"] for each in (found, of_frames) if each is not None])
    except (LookupError, TypeError, ValueError, AttributeError, SettingError) as error:
        raise ModelError(f"{folder / EDITS}: not a list of edits ({error}); {ADVICE}") from None


def _is_old(found: Any) -> bool:
    return isinstance(found, dict) and found.get("format") == FORMAT and found.get("schema") == OLD_SCHEMA


def _read(path: Path) -> Any:
    try:
        return read_json(path)
    except FileNotFoundError:
        return None
    except ValueError:
        raise ModelError(f"{path}: not JSON; {ADVICE}") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); {ADVICE}") from None


def write_edits(folder: Path, edits: Edits) -> None:
    """Put edits.json in place, whole: whoever reads meanwhile sees the one before."""
    write_json(folder / EDITS, edits.as_json(), ensure_ascii=False)


def upgraded(lists: Sequence[Sequence[Mapping[str, Any]]]) -> Edits:
    """Lists of version 0.2.0 as one list of today's kinds, which shows the same labels: names and merges first.

    Frames that were given to an entry by "divide" are relabelled. A "split" is the undo of merges. Edits that were made
    together (`follows`) on a unit and its own motif are one edit. What an undo of an undo brought back is in force. A
    "cut", which changed no label, is left out.
    """
    edits = Edits()
    for rows in lists:
        undone: set[int] = set()  # by an undo that was not taken back itself
        for place in reversed(range(len(rows))):
            if rows[place]["kind"] == "undo" and place not in undone:
                undone.add(rows[place]["of"])
        together: list[int] = []
        for place, row in enumerate(rows):
            if not row.get("follows"):
                edits = _with(edits, [rows[each] for each in together], bool(undone & {*together}))
                together = []
            together.append(place)
        edits = _with(edits, [rows[each] for each in together], bool(undone & {*together}))
    return edits


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
