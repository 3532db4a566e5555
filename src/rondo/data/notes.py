"""Notes on recordings as one short table: what is noted, of which columns, in which recordings.

A reader notes every column of every file: of twelve points or eight files, dozens of lines that differ in a name or a
number only. They are one row here; `Recording.notes` and summary.json keep every word.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rondo.errors import NoteWarning
from rondo.wording import counted

_NAMED = re.compile(r"\b(?:column|channel|point|sensor|table|in) '([^']+)'")
_NUMBER = re.compile(r"'[^']*'|(?<![\w.])\d(?:[\d,.]*\d)?(?![\w])")  # or what is quoted, which stays
_NAME, _DIFFERS = "NAME", "…"
_MOST_WARNED = 4  # kinds of note in one warning: more would not be read
_SEVERAL = {"keep-column": "keep", "label-column": "leave_out"}  # options that are lists in `Reading`
_OPTION = re.compile(r"--(keep-column|label-column|split-by|key) ('[^']*'|NAME)")


class Note(NamedTuple):
    """One kind of note; `columns` is empty where it is about whole recordings."""

    what: str
    columns: tuple[str, ...]
    recordings: tuple[str, ...]

    def __str__(self) -> str:
        first, *others = self.recordings
        columns = f" ({counted(len(self.columns), 'column')}: {shortened(self.columns)})" if self.columns[1:] else ""
        return f"{first}{f' and {len(others)} more' if others else ''}: {self.what}{columns}"


def shortened(names: Sequence[str], most: int = 8) -> str:
    """The first of some names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def gathered(notes: Iterable[tuple[str, Sequence[str]]]) -> list[Note]:
    """The notes of recordings (id, notes), those alike but for a column or numbers as one, in order of appearance.

    >>> days = [("a", ["column 'x' left out", "3 gaps"]), ("b", ["column 'y' left out", "5 gaps"]), ("c", ["no clock"])]
    >>> for note in gathered(days):
    ...     print(note)
    a and 1 more: column 'NAME' left out (2 columns: x, y)
    a and 1 more: … gaps
    c: no clock
    """
    kinds: dict[str, list[tuple[str, str, str]]] = {}
    for recording, own in notes:
        for text in own:
            found = _NAMED.search(text)
            name = found[1] if found else ""
            general = text.replace(f"'{name}'", f"'{_NAME}'") if name else text
            kinds.setdefault(_NUMBER.sub(_kept, general), []).append((recording, name, general))
    return [_note(kind, alike) for kind, alike in kinds.items()]


def _kept(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("'") else _DIFFERS


def _note(kind: str, alike: Sequence[tuple[str, str, str]]) -> Note:
    recordings, names, texts = (tuple(dict.fromkeys(part)) for part in zip(*alike, strict=True))
    columns = tuple(name for name in names if name)
    what = texts[0] if len(texts) == 1 else _with_common_numbers(kind, texts)
    return Note(what.replace(f"'{_NAME}'", f"'{columns[0]}'") if len(columns) == 1 else what, columns, recordings)


def _with_common_numbers(kind: str, texts: Sequence[str]) -> str:
    """The kind with the numbers in which all texts agree."""
    numbers = zip(*([it for it in _NUMBER.findall(text) if not it.startswith("'")] for text in texts), strict=True)
    common = iter([own[0] if len(set(own)) == 1 else _DIFFERS for own in numbers])
    return re.sub(_DIFFERS, lambda _: next(common), kind)


def in_python(text: str) -> str:
    """A note with the arguments of `rondo.Reading` in place of options of the command.

    >>> in_python("column 'x' left out; --keep-column 'x' keeps it")
    "column 'x' left out; Reading(keep=['x']) keeps it"
    """

    def argument(found: re.Match[str]) -> str:
        if found[1] in _SEVERAL:
            return f"Reading({_SEVERAL[found[1]]}=[{found[2]}])"
        return f"Reading({found[1].replace('-', '_')}={found[2]})"

    return _OPTION.sub(argument, text)


def warn_of(notes: Sequence[Note]) -> None:
    """One warning for all of them, at the line that called Rondo."""
    if not notes:
        return
    more = f"; and {len(notes) - _MOST_WARNED} more" if len(notes) > _MOST_WARNED else ""
    first = "; ".join(in_python(str(note)) for note in notes[:_MOST_WARNED])
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "rondo":
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{counted(len(notes), 'note')} (result.notes): {first}{more}", NoteWarning, stacklevel=level)
