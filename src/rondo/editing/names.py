"""How people point at an entry and what they may call it: `unit:3`, "reach"."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rondo.errors import SettingError
from rondo.units.vocabulary import Level

LONGEST_NAME = 80
_LEVELS: dict[str, Level] = {"unit": "unit", "u": "unit", "motif": "motif", "m": "motif"}
_ENTRY = re.compile(r"(unit:|motif:|u|m)(0|[1-9][0-9]{0,8})", re.IGNORECASE)


class EntryId(NamedTuple):
    """One entry of a vocabulary.

    >>> str(EntryId("unit", 3)), EntryId("motif", 5).short
    ('unit:3', 'm5')
    """

    level: Level
    id: int

    def __str__(self) -> str:
        return f"{self.level}:{self.id}"

    @property
    def short(self) -> str:
        """As the report writes it."""
        return f"{self.level[0]}{self.id}"

    @classmethod
    def parse(cls, text: str) -> EntryId:
        """`unit:3` and `motif:5`, or as the report writes them, `u3` and `m5`.

        >>> EntryId.parse("unit:3") == EntryId.parse("u3")
        True
        """
        found = _ENTRY.fullmatch(str(text).strip())
        if found is None:
            raise SettingError(f"expected an entry as unit:3 or motif:5, got '{text}'; the report lists the ids")
        return cls(_LEVELS[found[1].lower().rstrip(":")], int(found[2]))


def known_entry(text: str, ids: Mapping[Level, Sequence[int]]) -> EntryId:
    """The entry that is meant, if it is one of these."""
    entry = EntryId.parse(text)
    own = ids[entry.level]
    if entry.id not in own:
        range_ = f"{EntryId(entry.level, own[0])} to {EntryId(entry.level, own[-1])}" if own else f"no {entry.level}"
        raise SettingError(
            f"there is no {entry} here: the model has {range_}; one that a stream has learned since is known to that "
            "stream (--stream DIR)"
        )
    return entry


def in_labels(entry: EntryId, unshown: Collection[int]) -> EntryId:
    """The entry, if it is none of the motifs that labels do not show."""
    if entry.level == "motif" and entry.id in unshown:
        raise SettingError(
            f"{entry} is of the kind of motif that labels do not show, and cannot be merged; expected motifs that "
            "labels show (summary.json: in_labels)"
        )
    return entry


def checked_name(name: str) -> str:
    """The name with single spaces; refused if it is empty, too long, unprintable, or could be taken for an id.

    >>> checked_name("  reach   up ")
    'reach up'
    """
    if not isinstance(name, str):
        raise SettingError(f"the name: expected a text, got {reprlib.repr(name)}; put it into quotes")
    tidy = " ".join(name.split())
    if not tidy:
        raise SettingError("the name is empty; give one, or take a name away with --remove")
    if len(tidy) > LONGEST_NAME:
        raise SettingError(f"the name has {len(tidy)} characters, expected at most {LONGEST_NAME}: '{tidy[:30]}…'")
    if not tidy.isprintable():
        raise SettingError(f"the name {tidy!r} has characters that cannot be printed; leave them out")
    if _ENTRY.fullmatch(tidy) or tidy.casefold() == "other":
        raise SettingError(f"the name '{tidy}' would be taken for an id; choose a word")
    return tidy
