"""The lists of edits that a run is shown under, as one history: which list an edit belongs to, and its number.

    given    come with the model that a stream began with; a stream cannot change them
    own      edits.json beside the model, or beside the checkpoint of a stream: names, merges, splits
    of_run   edits.json in the folder of the run: spans, and what is about entries that "divide" has made

A run is shown under given, own and of_run, in this order. `rondo label` reads with the first two, so an edit goes to
`own` wherever that shows the same as adding it at the end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rondo.editing.edits import OF_SPANS, Edit, Edits, read_edits, write_edits
from rondo.errors import OutputError, SettingError
from rondo.run.summary import RunSummary, model_place
from rondo.store.folder import make_folder, write_json
from rondo.store.reading import read_regular

ListName = Literal["given", "own", "of_run"]
_NONE = Edits()
_MODEL, _CHECKPOINT, _PENDING = "model", "checkpoint", ".edits_to_write.json"
_OWN, _OF_RUN = "", "/"  # their names in the file of pending lists
_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


class NumberedEdit(NamedTuple):
    """An edit in the history of a run; numbers count from 1 by time, and stay."""

    number: int
    edit: Edit
    list: ListName
    place: int  # in its list
    is_undone: bool
    undoes: int = 0  # the number of what it takes back

    def as_json(self) -> dict[str, Any]:
        """For the page, `rondo apply --json` and `rondo name --history --json`."""
        what = f"edit {self.undoes} undone" if self.undoes else str(self.edit)
        fields = self.edit.as_json() | {"number": self.number, "what": what, "undone": self.is_undone}
        known: dict[str, Any] = {"undoes": self.undoes} if self.undoes else {}
        return fields | known | {"can_undo": self.list != "given" and not self.is_undone}


@dataclass(frozen=True)
class EditLists:
    """All lists of a run."""

    of_run: Edits = _NONE
    own: Edits = _NONE
    given: Edits = _NONE

    @property
    def whole(self) -> Edits:
        """What the run is shown under."""
        return self.given.then(self.own).then(self.of_run)

    @property
    def keys(self) -> frozenset[str]:
        """Those of all edits that were sent with one."""
        return frozenset(edit.key for edits in (self.own, self.of_run) for edit in edits.history if edit.key)

    def grown(self, whole: Edits) -> EditLists:
        """With what was added to the whole, in the list that it belongs to."""
        n_before = len(self.whole.history)
        lists, added = self, whole.history[n_before:]
        for place, edit in enumerate(added):
            if not edit.follows:
                together = [n_before + place, *whole.made_with(n_before + place)[1:]]
                lists = lists._with_added(tuple(whole.history[each] for each in together))
        return lists

    def _with_added(self, added: tuple[Edit, ...]) -> EditLists:
        """With edits that were made together, at the end of the list that they belong to."""
        at_the_end = Edits(self.whole.history + added)
        kept = replace(self, own=Edits(self.own.history + added))
        if self._is_of_vocabulary(added) and kept.whole.shows_as(at_the_end):
            return kept
        return replace(self, of_run=Edits(self.of_run.history + added))

    def _is_of_vocabulary(self, added: tuple[Edit, ...]) -> bool:
        divided = {level: self.of_run.divided(level) for level in ("unit", "motif")}
        return not any(edit.kind in OF_SPANS or divided[edit.level].keys() & {*edit.ids} for edit in added)

    def history(self) -> list[NumberedEdit]:
        """Every edit, by its time; of edits of one time, in the order of their lists."""
        lists: dict[ListName, Edits] = {"given": self.given, "own": self.own, "of_run": self.of_run}
        rows = [
            (edit, name, place, edits.is_undone[place])
            for name, edits in lists.items()
            for place, edit in enumerate(edits.history)
        ]
        rows.sort(key=lambda row: _moment(row[0].at))  # stable: of one time, as listed
        numbers = {(row[1], row[2]): number for number, row in enumerate(rows, start=1)}
        return [
            NumberedEdit(number, edit, name, place, is_undone, numbers[name, edit.of] if edit.kind == "undo" else 0)
            for number, (edit, name, place, is_undone) in enumerate(rows, start=1)
        ]

    def undone(self, number: int | None = None, key: str = "") -> EditLists:
        """Without an edit, and those made with it; without a number, the last one that is in force."""
        history = self.history()
        if number is None:
            row = next((row for row in reversed(history) if _can_go(row)), None)
            if row is None:
                raise SettingError("there is nothing to undo: no edit is in force")
        elif not 1 <= number <= len(history):
            known = f"1 to {len(history)}" if history else "no edits yet"
            raise SettingError(f"there is no edit {number}, expected one of {known}; see `rondo name RUN --history`")
        else:
            row = history[number - 1]
        if row.list == "given":
            raise SettingError(f"edit {row.number} ({row.edit}) came with the model of this stream; undo it there")
        edits = self.of_run if row.list == "of_run" else self.own
        undone = edits.undone(row.place, self.now()).with_key(len(edits.history), key)
        changed = replace(self, of_run=undone) if row.list == "of_run" else replace(self, own=undone)
        changed.whole.refuse_twins()
        return changed

    def now(self) -> str:
        """The time on the wall, to the second, and always later than the last edit: numbers stay."""
        last = max((_moment(row.edit.at) for row in self.history()), default=_BEFORE_ALL)
        now = datetime.now(UTC).replace(microsecond=0)
        return (now if now > last else last + timedelta(milliseconds=1)).isoformat()


def read_lists(run: Path, summary: RunSummary) -> EditLists:
    """All lists of a run; no model is read, so what came with the model of a stream is all that lies beside it."""
    folder = _own_folder(run, summary)
    is_apart = summary.kind == "stream" and folder == run / _CHECKPOINT
    return EditLists(read_edits(run), read_edits(folder), read_edits(run / _MODEL) if is_apart else _NONE)


def write_lists(run: Path, summary: RunSummary, before: EditLists, after: EditLists) -> None:
    """Write the lists that have grown, all or none: a process that is killed has written what the next one finishes."""
    pairs = {_OWN: (before.own, after.own), _OF_RUN: (before.of_run, after.of_run)}
    changed = {name: new for name, (old, new) in pairs.items() if new != old}
    if len(changed) > 1:
        write_json(run / _PENDING, {key: edits.as_json() for key, edits in changed.items()}, ensure_ascii=False)
    _write(run, summary, changed)


def finish_lists(run: Path, summary: RunSummary) -> None:
    """Write what a process that was killed meant to write; nothing where none was."""
    path = run / _PENDING
    try:
        found = json.loads(read_regular(path))
        wanted = {key: Edits.from_json(found[key], path) for key in (_OWN, _OF_RUN) if key in found}
    except FileNotFoundError:
        return
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise OutputError(f"{path}: not what Rondo has written there ({error}); remove it") from None
    _write(run, summary, wanted)


def _write(run: Path, summary: RunSummary, lists: Mapping[str, Edits]) -> None:
    for key, edits in lists.items():
        folder = run if key == _OF_RUN else _own_folder(run, summary)
        for each in (folder.parent, folder) if folder.parent != run.parent else ():
            make_folder(each)
        write_edits(folder, edits)
    (run / _PENDING).unlink(missing_ok=True)


def _own_folder(run: Path, summary: RunSummary) -> Path:
    """Where names and merges lie: beside the checkpoint of a stream, or beside the model."""
    is_stream = summary.kind == "stream" and (run / _CHECKPOINT).is_dir()
    return run / _CHECKPOINT if is_stream else model_place(run)


def _can_go(row: NumberedEdit) -> bool:
    return row.list != "given" and not row.is_undone and row.edit.kind != "undo"


def _moment(at: str) -> datetime:
    """When an edit was made; nobody knows of some, which are the first."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return _BEFORE_ALL
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
