"""What the page, a file or a program wants to be edited: plain JSON -> WantedEdit, each fault in one line.

    {"kind": "name", "level": "unit", "ids": [3], "name": "reach"}             "" takes the name away
    {"kind": "merge", "level": "unit", "ids": [3, 7]}
    {"kind": "split", "level": "unit", "ids": [7]}
    {"kind": "relabel", "level": "unit", "ids": [3], "spans": [["day", 10, 20]]}   ids [-1]: OTHER
    {"kind": "boundary", "level": "unit", "spans": [["day", 10, 14]]}          moved from frame 10 to frame 14
    {"kind": "cut", "level": "unit", "spans": [["day", 15, 15]]}
    {"kind": "divide", "level": "unit", "ids": [3], "spans": [["day", 10, 20]], "name": "limp"}   name: if wanted
    {"kind": "undo", "number": 2}

All may have "key", a word of their own, by which an edit that is sent twice is made once. A file for `rondo apply`
holds such a list under "edits", and under "run" which run it is about.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from rondo.data.labels import OTHER
from rondo.editing.edits import FORMAT, SCHEMA, FrameSpan, spans_from_json
from rondo.errors import SettingError
from rondo.store.reading import read_regular
from rondo.units.vocabulary import Level
from rondo.wording import counted

WantedKind = Literal["name", "merge", "split", "relabel", "boundary", "cut", "divide", "undo"]
_N_IDS: dict[WantedKind, tuple[int, int]] = {
    "name": (1, 1), "merge": (2, 1 << 30), "split": (1, 1), "relabel": (1, 1), "boundary": (0, 0), "cut": (0, 0),
    "divide": (1, 1), "undo": (0, 0),
}  # fmt: skip
_ONE_SPAN, _SPANS = ("boundary", "cut"), ("relabel", "divide")
_MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class WantedEdit:
    """One edit that someone wants; checked for its form, not yet against the run."""

    kind: WantedKind
    level: Level = "unit"
    ids: tuple[int, ...] = ()
    name: str = ""
    spans: tuple[FrameSpan, ...] = ()
    number: int | None = None
    key: str = ""

    @classmethod
    def from_json(cls, fields: Any) -> WantedEdit:
        """The edit that these fields want; SettingError with what was expected and found."""
        if not isinstance(fields, Mapping) or fields.get("kind") not in get_args(WantedKind):
            got = fields.get("kind") if isinstance(fields, Mapping) else type(fields).__name__
            raise SettingError(f"expected an edit of kind {', '.join(get_args(WantedKind))}, got {got!r}")
        kind: WantedKind = fields["kind"]
        try:
            ids, spans = tuple(fields.get("ids", ())), spans_from_json(fields.get("spans", ()))
        except (TypeError, ValueError) as error:
            raise SettingError(f"{kind}: expected lists of ids and spans, got something else ({error})") from None
        name, key = (_text(fields, of) for of in ("name", "key"))
        wanted = cls(kind, fields.get("level", "unit"), ids, name, spans, fields.get("number"), key)
        wanted._check()
        return wanted

    def _check(self) -> None:
        if self.level not in get_args(Level):
            raise SettingError(f"{self.kind}: expected the level unit or motif, got {self.level!r}")
        least, most = _N_IDS[self.kind]
        least_id = OTHER if self.kind == "relabel" else 0
        whole = all(type(id) is int and id >= least_id for id in self.ids)
        if not whole or not least <= len(self.ids) <= most:
            few = "no ids" if most == 0 else f"{least} id{'s or more' if most > 1 else ''}"
            raise SettingError(f"{self.kind}: expected {few}, got {list(self.ids)}")
        expected = 1 if self.kind in _ONE_SPAN else max(1, len(self.spans)) if self.kind in _SPANS else 0
        if len(self.spans) != expected:
            raise SettingError(f"{self.kind}: expected {counted(expected, 'span')}, got {len(self.spans)}")
        if self.kind == "undo" and self.number is not None and type(self.number) is not int:
            raise SettingError(f"undo: expected the number of an edit, got {self.number!r}")


def _text(fields: Mapping[str, Any], name: str) -> str:
    found = fields.get(name, "")
    if not isinstance(found, str):
        raise SettingError(f"{fields['kind']}: expected words as its {name}, got {found!r}")
    return found


def wanted_edits(found: Any) -> list[WantedEdit]:
    """The edits of a list, in order."""
    if not isinstance(found, Sequence) or isinstance(found, str | bytes):
        raise SettingError(f"expected a list of edits, got {type(found).__name__}")
    return [WantedEdit.from_json(fields) for fields in found]


def read_wanted(path: Path, run: str) -> list[dict[str, Any]]:
    """The edits in a file that a page has saved, if it is about the run of this identity.

    Each gets a key where it has none: the file can be applied twice.
    """
    again = "give the file that `Save edits` of a report has written"
    try:
        found = json.loads(read_regular(path, _MOST_BYTES))
        if (found["format"], found["schema"]) != (FORMAT, SCHEMA):
            raise ValueError(f"expected format '{FORMAT}', schema {SCHEMA}")
        about, edits = found["run"], list(found["edits"])
    except OSError as error:
        raise SettingError(f"{path}: cannot be read ({error.strerror}); {again}") from None
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise SettingError(f"{path}: no file of edits ({error}); {again}") from None
    if about != run:
        raise SettingError(f"{path}: it holds edits of run {about}, and this is run {run}; give the run it was made on")
    wanted_edits(edits)
    return [{"key": _key(run, place, edit), **edit} for place, edit in enumerate(edits)]


def _key(run: str, place: int, edit: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([run, place, edit], sort_keys=True).encode()).hexdigest()[:16]
