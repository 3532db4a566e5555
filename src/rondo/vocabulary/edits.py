"""Edits: what people have changed about a vocabulary, as a list that is only ever added to.

Learners do not see it. They go on under their own ids, and the list is applied to labels after these were read:

    kept(k) = min of the group of k,   label(t) <- kept(label(t)),   OTHER stays OTHER

Groups come from merges. The entry with the lowest id, the one that has been there longest, stands for its group: so
the order of merges does not matter, applying twice is applying once, and no id is ever made up. A stream that goes on
gives new ids from its own counter, which no edit touches; its entries can be named and merged like any others.

edits.json holds them, beside a model or beside the checkpoint of a stream. It does not count towards the identity of a
model: its files stay as they are, and a stream that began with the model goes on when entries are named.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rondo.errors import ModelError, SettingError
from rondo.store.artifact import EDITS, EDITS_LOCK
from rondo.store.lock import locked
from rondo.store.reading import read_regular
from rondo.store.writing import write_json
from rondo.vocabulary.names import EntryId, checked_name
from rondo.vocabulary.vocabulary import Level

EditKind = Literal["name", "merge", "split"]
FORMAT, SCHEMA = "rondo-edits", 1
_ANEW = "put it back, or remove it and name the entries anew"


@dataclass(frozen=True)
class Edit:
    """One thing that was done to entries of one level, all of them in `ids`; `name` of a "name" may be empty."""

    kind: EditKind
    level: Level
    ids: tuple[int, ...]
    name: str = ""
    at: str = ""  # by the clock on the wall, for people; "" where nobody cared

    def __str__(self) -> str:
        entries = [str(EntryId(self.level, id)) for id in self.ids]
        match self.kind:
            case "name":
                return f"{entries[0]} named '{self.name}'" if self.name else f"{entries[0]} lost its name"
            case "merge":
                return f"{', '.join(entries)} merged"
            case "split":
                return f"{entries[0]} split off"

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "level": self.level, "ids": list(self.ids), "name": self.name, "at": self.at}


@dataclass(frozen=True)
class Edits:
    """The list, and what follows from it.

    >>> edits = Edits().named("unit:3", "reach").merged(["unit:7", "unit:3"])
    >>> edits.apply("unit", np.array([3, 7, 7, -1, 8])).tolist(), edits.name("unit", 7)
    ([3, 3, 3, -1, 8], 'reach')
    >>> edits.split("unit:7").apply("unit", np.array([3, 7])).tolist(), len(edits.history)
    ([3, 7], 2)
    """

    history: tuple[Edit, ...] = ()

    # ------------------------------------------------------------ what follows

    @cached_property
    def _groups(self) -> dict[EntryId, int]:
        """The kept id of every entry that is merged, or was once."""
        kept: dict[EntryId, int] = {}
        for edit in self.history:
            if edit.kind == "name":
                continue
            entries = [EntryId(edit.level, id) for id in edit.ids]
            groups = {kept.setdefault(entry, entry.id) for entry in entries}
            members = {entry for entry, group in kept.items() if entry.level == edit.level and group in groups}
            left = members - set(entries) if edit.kind == "split" else members
            kept |= {entry: entry.id for entry in members - left}
            kept |= {entry: min(left).id for entry in left}
        return kept

    @cached_property
    def _own_names(self) -> dict[EntryId, str]:
        """The name that each entry was given last, merged or not."""
        given = {EntryId(edit.level, edit.ids[0]): edit.name for edit in self.history if edit.kind == "name"}
        return {entry: name for entry, name in given.items() if name}

    def kept(self, level: Level, id: int) -> int:
        """The entry under whose id this one is written."""
        return self._groups.get(EntryId(level, id), id)

    def absorbed(self, level: Level, id: int) -> tuple[int, ...]:
        """The other entries that are written under this id."""
        return tuple(sorted(e.id for e, kept in self._groups.items() if e.level == level and kept == id != e.id))

    def groups(self, level: Level) -> tuple[int, ...]:
        """The ids that are kept for more than one entry."""
        return tuple(sorted({k for e, k in self._groups.items() if e.level == level and k != e.id}))

    def name(self, level: Level, id: int) -> str:
        """What people call it, "" where they do not; of a group the name of its kept entry, else its first one."""
        kept = self.kept(level, id)
        names = (self._own_names.get(EntryId(level, member)) for member in (kept, *self.absorbed(level, kept)))
        return next((name for name in names if name), "")

    def names(self, level: Level) -> dict[int, str]:
        """The name of every entry that has one, absorbed entries under the name of their group."""
        mentioned = {entry.id for entry in (*self._own_names, *self._groups) if entry.level == level}
        named = {id: self.name(level, id) for id in sorted(mentioned)}
        return {id: name for id, name in named.items() if name}

    def apply(self, level: Level, labels: NDArray[np.integer]) -> NDArray[Any]:
        """Labels under the ids that are kept; the array itself where no merge concerns it."""
        moved = {entry.id: kept for entry, kept in self._groups.items() if entry.level == level and entry.id != kept}
        if not moved or not labels.size:
            return labels
        ids, codes = np.unique(labels, return_inverse=True)
        kept = np.array([moved.get(id, id) for id in ids.tolist()], dtype=labels.dtype)
        return np.asarray(kept[codes].reshape(labels.shape))

    # ------------------------------------------------------------ adding

    def named(self, entry: str | EntryId, name: str, at: str = "") -> Edits:
        """With a name for an entry; one that another entry of its level has is refused."""
        this, name = _entry(entry), checked_name(name)
        self._refuse_absorbed(this)
        for other, taken in self._own_names.items():
            if other != this and other.level == this.level and taken.casefold() == name.casefold():
                raise SettingError(f"'{taken}' is the name of {other} already; choose another, or merge the two")
        return self._and(Edit("name", this.level, (this.id,), name, at), self._own_names.get(this) == name)

    def unnamed(self, entry: str | EntryId, at: str = "") -> Edits:
        """Without the name of an entry; it stays in the history."""
        this = _entry(entry)
        self._refuse_absorbed(this)
        return self._and(Edit("name", this.level, (this.id,), "", at), this not in self._own_names)

    def merged(
        self, entries: Iterable[str | EntryId], at: str = "", own_motifs: Mapping[int, int] | None = None
    ) -> Edits:
        """With entries that count as one from now on, under the lowest of their ids.

        `own_motifs` is the motif of each unit where every unit is its own motif: who merges units there means both
        levels. Motifs alone can be merged: they are then groups of units.

        >>> Edits().merged(["unit:3", "unit:7"], own_motifs={3: 3, 7: 7}).kept("motif", 7)
        3
        """
        these = sorted({_entry(entry) for entry in entries})
        if len(these) < 2 or len({entry.level for entry in these}) > 1:
            given = ", ".join(map(str, these)) or "none"
            raise SettingError(f"expected two or more different entries of one level to merge, got {given}")
        is_done = len({self.kept(*entry) for entry in these}) == 1
        merged = self._and(Edit("merge", these[0].level, tuple(entry.id for entry in these), at=at), is_done)
        motifs = [motif for entry in these for motif in _own_motif(entry, own_motifs)]
        return merged.merged(motifs, at) if len(motifs) > 1 else merged

    def split(self, entry: str | EntryId, at: str = "", own_motifs: Mapping[int, int] | None = None) -> Edits:
        """With an entry taken out of the group that merges have put it in; the others stay together.

        `own_motifs` as in `merged`: the motif of a unit leaves its group too, if it is in one.
        """
        this = _entry(entry)
        kept = self.kept(*this)
        if not self.absorbed(this.level, kept):
            raise SettingError(
                f"{this} is not merged with anything, so nothing can be split off; "
                "an entry that was found as one cannot be cut: fit with other settings for finer ones"
            )
        split = self._and(Edit("split", this.level, (this.id,), at=at), False)
        for motif in _own_motif(this, own_motifs):
            if split.absorbed("motif", split.kept(*motif)):
                split = split.split(motif, at)
        return split

    def _and(self, edit: Edit, is_done: bool) -> Edits:
        return self if is_done else Edits((*self.history, edit))

    def _refuse_absorbed(self, entry: EntryId) -> None:
        kept = self.kept(*entry)
        if kept != entry.id:
            raise SettingError(f"{entry} is part of {EntryId(entry.level, kept)} since they were merged; name that one")

    # ------------------------------------------------------------ putting together

    def then(self, later: Edits) -> Edits:
        """These, and then those that were made elsewhere, as beside a stream."""
        return Edits(self.history + later.history)

    def among(self, ids: Mapping[Level, Collection[int]]) -> Edits:
        """Only what is about these entries: where others have grown elsewhere, the same ids mean other things."""
        known = [(edit, tuple(id for id in edit.ids if id in ids.get(edit.level, ()))) for edit in self.history]
        return Edits(
            tuple(
                Edit(edit.kind, edit.level, left, edit.name, edit.at)
                for edit, left in known
                if len(left) >= (2 if edit.kind == "merge" else 1)
            )
        )

    def as_json(self) -> dict[str, Any]:
        """What edits.json holds."""
        return {"format": FORMAT, "schema": SCHEMA, "edits": [edit.as_json() for edit in self.history]}

    @classmethod
    def from_json(cls, found: Any, where: object) -> Edits:
        """The edits that were written so; anything else is refused, naming `where`."""
        try:
            if (found["format"], found["schema"]) != (FORMAT, SCHEMA):
                raise ValueError(f"expected format '{FORMAT}', schema {SCHEMA}")
            return cls(tuple(_edit(fields) for fields in found["edits"]))
        except (LookupError, TypeError, ValueError, AttributeError, SettingError) as error:
            raise ModelError(
                f"{where}: not a list of edits ({error}); put it back, or remove it and name the entries anew"
            ) from None


def _entry(entry: str | EntryId) -> EntryId:
    return EntryId.parse(entry) if isinstance(entry, str) else entry


def _own_motif(entry: EntryId, own_motifs: Mapping[int, int] | None) -> list[EntryId]:
    if entry.level == "motif" or not own_motifs or entry.id not in own_motifs:
        return []
    return [EntryId("motif", own_motifs[entry.id])]


def _edit(fields: Mapping[str, Any]) -> Edit:
    edit = Edit(fields["kind"], fields["level"], tuple(fields["ids"]), fields["name"], fields["at"])
    if edit.kind not in get_args(EditKind) or edit.level not in get_args(Level):
        raise ValueError(f"edit '{edit.kind}' of '{edit.level}'")
    if not all(type(id) is int and id >= 0 for id in edit.ids) or not isinstance(edit.at, str):
        raise ValueError(f"ids {list(edit.ids)}")
    if len(set(edit.ids)) != len(edit.ids) or (len(edit.ids) < 2 if edit.kind == "merge" else len(edit.ids) != 1):
        raise ValueError(f"'{edit.kind}' of {len(edit.ids)} entries")
    if edit.name and checked_name(edit.name) != edit.name:
        raise ValueError(f"name {edit.name!r}")
    return edit


def now() -> str:
    """The time on the wall, to the second: when someone has made an edit."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def changing(folder: Path) -> AbstractContextManager[None]:
    """Keep others from changing the edits here, or what shows them, from before they are read until they are written.

    Whoever names 20,000 recordings may take minutes over it.
    """
    return locked(folder, EDITS_LOCK, "another process is naming entries here; wait for it, or stop it", wait_s=600.0)


def read_edits(folder: Path) -> Edits:
    """The edits in a folder; none where nobody has made any."""
    path = folder / EDITS
    try:
        found = json.loads(read_regular(path))
    except FileNotFoundError:
        return Edits()
    except (ValueError, RecursionError):
        raise ModelError(f"{path}: not JSON; {_ANEW}") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); {_ANEW}") from None
    return Edits.from_json(found, path)


def write_edits(folder: Path, edits: Edits) -> None:
    """Put edits.json in place, whole: whoever reads meanwhile sees the one before."""
    write_json(folder / EDITS, edits.as_json(), ensure_ascii=False)
