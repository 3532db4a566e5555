"""One edit, of one of six kinds, and as JSON.

kind      ids          spans         means
name      K                          K is called `name`; "" takes the name away
merge     K, K', …                   they count as one, under the lowest of their ids
coarsen   K, K', …                   those of each of `groups` count as one; the last one in force replaces the others
relabel   K            one or more   these frames belong to K (OTHER: to nothing), in one occurrence each
teach     K, K', …                   they are called `names`, and the frames of `taught` belong to them
undo                                 takes back the edit at the place `of`
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from rondo.data.labels import OTHER
from rondo.editing.names import EntryId, checked_name
from rondo.units.vocabulary import Level
from rondo.wording import counted

EditKind = Literal["name", "merge", "coarsen", "teach", "relabel", "undo"]
NOTHING = -1
_LONGEST_KEY = 80


class FrameSpan(NamedTuple):
    """The frames [start, stop) of one recording."""

    recording: str
    start: int
    stop: int


class TaughtSpan(NamedTuple):
    """The frames [start, stop) of one recording that are marked with an entry that was taught, or read as it."""

    recording: str
    start: int
    stop: int
    id: int
    marked: bool
    second: int = OTHER  # the entry that comes next
    margin: float = 1.0  # by how much it is behind; a mark has no doubt


@dataclass(frozen=True)
class Edit:
    """One thing that was done."""

    kind: EditKind
    level: Level = "unit"
    ids: tuple[int, ...] = ()
    name: str = ""  # of the entry; a relabel has one where it makes an entry
    spans: tuple[FrameSpan, ...] = ()
    motifs: tuple[int, ...] = ()  # of the units `ids`, where every unit is its own motif
    new: bool = False  # the relabel makes the entry; without ids its id is still to be found
    of: int = NOTHING  # the place of what an undo takes back
    groups: tuple[tuple[int, ...], ...] = ()  # of a coarsening: all of `ids`, those together that count as one
    names: tuple[str, ...] = ()  # of the entries that are taught
    taught: tuple[TaughtSpan, ...] = ()
    reader: str = ""  # what reads them elsewhere (`rondo.model.teaching`)
    at: str = ""  # when, for people
    key: str = ""  # by which an edit that is sent twice is made once

    def __str__(self) -> str:
        entries = [str(EntryId(self.level, id)) for id in self.ids if id != OTHER]
        first = entries[0] if entries else "OTHER"
        match self.kind:
            case "name":
                return f"{first} named '{self.name}'" if self.name else f"{first} lost its name"
            case "merge":
                return f"{', '.join(entries)} merged"
            case "coarsen":
                together = (", ".join(EntryId(self.level, id).short for id in group) for group in self.groups)
                return f"{self.level}s coarsened: {'; '.join(together)}" if self.ids else f"{self.level}s as found"
            case "relabel":
                recording, start, stop = self.spans[0]
                more = f" and {len(self.spans) - 1} more" if len(self.spans) > 1 else ""
                called = f" '{self.name}'" if self.name else ""
                return f"frames {start} to {stop} of {recording}{more} relabelled {first}{called}"
            case "teach":
                n_marks = sum(span.marked for span in self.taught)
                marked = f" by {counted(n_marks, 'marked span')}" if n_marks else ""
                return f"{', '.join(self.names)} taught{marked}"
            case "undo":
                return f"edit {self.of + 1} undone"

    def ids_of(self, level: Level) -> tuple[int, ...]:
        """The entries of a level that the edit is about."""
        return self.ids if level == self.level else self.motifs if level == "motif" else ()

    def as_json(self) -> dict[str, Any]:
        """Plain values; those that say nothing are left out."""
        fields: dict[str, Any] = {"kind": self.kind, "level": self.level, "ids": list(self.ids), "name": self.name}
        more = {"spans": [list(span) for span in self.spans], "motifs": list(self.motifs), "new": self.new}
        more |= {"groups": [list(group) for group in self.groups]}
        more |= {"names": list(self.names), "taught": [list(span) for span in self.taught], "reader": self.reader}
        undo = {"of": self.of} if self.kind == "undo" else {}
        return fields | {name: value for name, value in more.items() if value} | undo | {"at": self.at, "key": self.key}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Edit:
        """The edit that was written, or is wanted, so; LookupError, TypeError, ValueError or SettingError otherwise."""
        ids = fields.get("ids", [])
        is_wanted_new = ids == ["new"]
        groups = tuple(tuple(group) for group in fields.get("groups", ()))
        edit = cls(
            fields["kind"],
            fields.get("level", "unit"),
            () if is_wanted_new else tuple(ids) or tuple(id for group in groups for id in group),
            fields.get("name", ""),
            spans_from_json(fields.get("spans", ())),
            tuple(fields.get("motifs", ())),
            is_wanted_new or fields.get("new", False),
            fields.get("of", NOTHING),
            groups,
            tuple(fields.get("names", ())),
            tuple(TaughtSpan(*span) for span in fields.get("taught", ())),
            fields.get("reader", ""),
            fields.get("at", ""),
            fields.get("key", ""),
        )
        edit.check()
        return edit

    def check(self) -> None:
        """ValueError, or the error of a name, where the parts do not go together."""
        if self.kind not in get_args(EditKind):
            raise ValueError(f"expected an edit of kind {', '.join(get_args(EditKind))}, got {reprlib.repr(self.kind)}")
        if self.level not in get_args(Level):
            raise ValueError(f"{self.kind}: expected the level unit or motif, got {reprlib.repr(self.level)}")
        if not all(isinstance(text, str) for text in (self.name, self.at, self.key)) or len(self.key) > _LONGEST_KEY:
            raise ValueError(f"{self.kind}: expected words as its name, time and key")
        if type(self.new) is not bool or type(self.of) is not int or (self.kind == "undo") == (self.of < 0):
            raise ValueError(f"{self.kind}: new {reprlib.repr(self.new)}, of {reprlib.repr(self.of)}")
        if self.name and (self.kind not in ("name", "relabel") or checked_name(self.name) != self.name):
            raise ValueError(f"{self.kind}: name {reprlib.repr(self.name)}")
        self._check_ids()
        if (self.kind == "relabel") != bool(self.spans):
            raise ValueError(f"{self.kind}: {len(self.spans)} spans")
        self._check_taught()
        for start, stop in [(one.start, one.stop) for one in self.spans] + [
            (one.start, one.stop) for one in self.taught
        ]:
            if not 0 <= start < stop:
                raise ValueError(f"{self.kind}: frames {start} to {stop}")

    def _check_taught(self) -> None:
        is_taught = self.kind == "teach"
        if len(self.names) != (len(self.ids) if is_taught else 0) or bool(self.reader) != is_taught:
            raise ValueError(f"{self.kind}: {len(self.names)} names")
        if not isinstance(self.reader, str) or any(checked_name(name) != name for name in self.names):
            raise ValueError(f"{self.kind}: names {reprlib.repr(self.names)}")
        for span in self.taught:
            kinds = [type(value) for value in span]
            is_whole = kinds[:6] == [str, int, int, int, bool, int] and kinds[6] in (int, float)
            if not is_taught or not is_whole or span.id not in self.ids or span.second not in (OTHER, *self.ids):
                raise ValueError(f"{self.kind}: taught {reprlib.repr(list(span))}")

    def _check_ids(self) -> None:
        least_id = OTHER if self.kind == "relabel" else 0
        for ids in (self.ids, self.motifs):
            whole = all(type(id) is int and id >= least_id for id in ids)
            if not whole or len(set(ids)) != len(ids):
                raise ValueError(f"{self.kind}: ids {reprlib.repr(list(ids))}")
        together = tuple(id for group in self.groups for id in group)
        if any(len(group) < 2 for group in self.groups) or together != (self.ids if self.kind == "coarsen" else ()):
            raise ValueError(f"{self.kind}: groups {reprlib.repr(self.groups)} of {reprlib.repr(self.ids)}")
        n = len(self.ids)
        numbers = {"name": n == 1, "merge": n > 1, "relabel": n == 1 or (self.new and n == 0), "undo": n == 0}
        numbers |= {"coarsen": self.level == "motif"}  # to none: as found
        if not numbers.get(self.kind, n > 0):
            raise ValueError(f"{self.kind}: {n} entries")


def spans_from_json(found: Any) -> tuple[FrameSpan, ...]:
    """Spans that were written as [recording, start, stop]; ValueError for anything else."""
    spans = tuple(FrameSpan(*one) for one in found)
    for span in spans:
        if not isinstance(span.recording, str) or type(span.start) is not int or type(span.stop) is not int:
            raise ValueError(f"span {reprlib.repr(list(span))}, expected [recording, start frame, end frame]")
    return spans
