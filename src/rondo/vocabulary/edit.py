"""One edit: what people have done to entries of one level, or to spans of recordings; as JSON and in words.

kind      ids         spans          means
name      K                          K is called `name`; "" takes the name away
merge     K, K', …                   they count as one
split     K                          K leaves the group that merges have put it in
relabel   K           one or more    these frames belong to K (OTHER: to nothing), in one occurrence each
cut                   one, empty     a new occurrence begins at this frame
divide    K, N        one or more    these occurrences of K are the new entry N
undo      as undone                  takes back the edit at the place `of` of the same list
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

from rondo.data.labels import OTHER
from rondo.vocabulary.names import EntryId, checked_name
from rondo.vocabulary.vocabulary import Level

EditKind = Literal["name", "merge", "split", "relabel", "cut", "divide", "undo"]
OF_SPANS: tuple[EditKind, ...] = ("relabel", "cut", "divide")
NOTHING = -1
_LONGEST_KEY = 80


class FrameSpan(NamedTuple):
    """The frames [start, stop) of one recording; empty for a place between two frames."""

    recording: str
    start: int
    stop: int


@dataclass(frozen=True)
class Edit:
    """One thing that was done."""

    kind: EditKind
    level: Level
    ids: tuple[int, ...] = ()
    name: str = ""
    at: str = ""  # by the clock on the wall, for people; "" where nobody cared
    spans: tuple[FrameSpan, ...] = ()
    of: int = NOTHING  # the place of what an "undo" takes back
    follows: bool = False  # made together with the one before it in the list, and taken back with it
    key: str = ""  # by which whoever sends an edit twice is understood once

    def __str__(self) -> str:
        entries = [EntryId(self.level, id) for id in self.ids if id != OTHER]
        first = str(entries[0]) if entries else "OTHER"
        match self.kind:
            case "name":
                return f"{first} named '{self.name}'" if self.name else f"{first} lost its name"
            case "merge":
                return f"{', '.join(map(str, entries))} merged"
            case "split":
                return f"{first} split off"
            case "relabel":
                return f"{self._where()} relabelled {first}"
            case "cut":
                return f"{self.level} cut at frame {self.spans[0].start} of {self.spans[0].recording}"
            case "divide":
                n = len(self.spans)
                return f"{n} {'occurrence' if n == 1 else 'occurrences'} of {first} became {entries[1]}"
            case "undo":
                return "undone"

    def _where(self) -> str:
        recording, start, stop = self.spans[0]
        more = f" and {len(self.spans) - 1} more" if len(self.spans) > 1 else ""
        return f"frames {start} to {stop} of {recording}{more}"

    def shifted(self, places: int) -> Edit:
        """The same in a list that has so many more edits before it."""
        return replace(self, of=self.of + places) if self.kind == "undo" else self

    def as_json(self) -> dict[str, Any]:
        """Plain values; those that say nothing are left out, so that names and merges read as they always did."""
        fields: dict[str, Any] = {
            "kind": self.kind, "level": self.level, "ids": list(self.ids), "name": self.name, "at": self.at,
        }  # fmt: skip
        if self.spans:
            fields["spans"] = [list(span) for span in self.spans]
        if self.kind == "undo":
            fields["of"] = self.of
        told = {"follows": self.follows, "key": self.key}
        return fields | {name: value for name, value in told.items() if value}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Edit:
        """What `as_json` gave; LookupError, TypeError, ValueError or SettingError for anything else."""
        edit = cls(
            fields["kind"],
            fields["level"],
            tuple(fields["ids"]),
            fields["name"],
            fields["at"],
            spans_from_json(fields.get("spans", ())),
            fields.get("of", NOTHING),
            fields.get("follows", False),
            fields.get("key", ""),
        )
        edit.check()
        return edit

    def check(self) -> None:
        """ValueError, or the error of a name, where the parts do not go together."""
        if self.kind not in get_args(EditKind) or self.level not in get_args(Level):
            raise ValueError(f"edit {reprlib.repr(self.kind)} of {reprlib.repr(self.level)}")
        least_id = OTHER if self.kind in ("relabel", "undo") else 0
        if not all(type(id) is int and id >= least_id for id in self.ids) or len(set(self.ids)) != len(self.ids):
            raise ValueError(f"ids {reprlib.repr(list(self.ids))}")
        if not _MOST[self.kind][0] <= len(self.ids) <= _MOST[self.kind][1]:
            raise ValueError(f"'{self.kind}' of {len(self.ids)} entries")
        if not all(isinstance(text, str) for text in (self.at, self.key)):
            given = ", ".join(map(reprlib.repr, (self.at, self.key)))
            raise ValueError(f"expected text for at and key, got {given}")
        if type(self.follows) is not bool or type(self.of) is not int or (self.kind == "undo") == (self.of < 0):
            raise ValueError(f"follows {reprlib.repr(self.follows)}, of {reprlib.repr(self.of)}")
        if len(self.key) > _LONGEST_KEY:
            raise ValueError(f"a key of {len(self.key)} characters, expected at most {_LONGEST_KEY}")
        if self.name and checked_name(self.name) != self.name:
            raise ValueError(f"name {reprlib.repr(self.name)}")
        self._check_spans()

    def _check_spans(self) -> None:
        if (self.kind in OF_SPANS) != bool(self.spans):
            raise ValueError(f"'{self.kind}' of {len(self.spans)} spans")
        for span in self.spans:
            if not 0 <= span.start < span.stop + (self.kind == "cut"):
                raise ValueError(f"'{self.kind}' of frames {span.start} to {span.stop}")
        if self.kind == "cut" and (len(self.spans) > 1 or self.spans[0].start != self.spans[0].stop):
            raise ValueError("a 'cut' with other than one place")


_MANY = 1 << 30
_MOST: dict[EditKind, tuple[int, int]] = {  # how many entries each may be of
    "name": (1, 1), "merge": (2, _MANY), "split": (1, 1), "relabel": (1, 1), "cut": (0, 0), "divide": (2, 2),
    "undo": (0, _MANY),
}  # fmt: skip


def spans_from_json(found: Any) -> tuple[FrameSpan, ...]:
    """Spans that were written as [recording, start, stop]; ValueError for anything else."""
    spans = tuple(FrameSpan(*one) for one in found)
    for span in spans:
        if not isinstance(span.recording, str) or type(span.start) is not int or type(span.stop) is not int:
            raise ValueError(f"span {list(span)}, expected [recording, start frame, end frame]")
    return spans
