"""Words that the command, the report and a notebook use alike: numbers with their nouns, and what two levels hold.

Where no composition recurs, every motif is one unit: counting such motifs beside the units would count the same things
twice. What is said instead is made here, once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

NO_LONGER_MOTIF = "no motif is longer than a unit"


def noun(count: int, one: str, several: str = "") -> str:
    """The noun that fits a number; `several` where that is not `one` with an s.

    >>> noun(1, "channel"), noun(0, "channel"), noun(2, "stretch", "stretches")
    ('channel', 'channels', 'stretches')
    """
    return one if count == 1 else several or f"{one}s"


def counted(count: int, one: str, several: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "unit"), counted(1200, "motif")
    ('1 unit', '1,200 motifs')
    """
    return f"{count:,} {noun(count, one, several)}"


def one_of(names: Iterable[str]) -> str:
    """Names to choose from, in quotes.

    >>> one_of(["unit", "motif", "both"])
    "'unit', 'motif' or 'both'"
    """
    *others, last = [repr(name) for name in names]
    return f"{', '.join(others)} or {last}" if others else last


def quoted(names: Sequence[str], most: int = 8) -> str:
    """The first of some names, and how many more there are.

    >>> quoted(["a", "b"]), quoted(["a", "b", "c"], most=1)
    ("'a', 'b'", "'a' and 2 more")
    """
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def notes_by_recording(notes: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Notes on recordings, each said once, with the recordings (id, notes) that it is about.

    >>> notes_by_recording([("a", ["no clock", "2 gaps"]), ("b", ["no clock"]), ("c", ["no clock"]), ("d", [])])
    ['a and 2 more: no clock', 'a: 2 gaps']
    """
    about: dict[str, list[str]] = {}
    for recording, own in notes:
        for note in own:
            about.setdefault(note, []).append(recording)
    return [f"{ids[0]}{f' and {len(ids) - 1} more' if ids[1:] else ''}: {note}" for note, ids in about.items()]


def near_match(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant by one that is not known.

    >>> near_match("ts2vek", ["summary_stats", "ts2vec"]), near_match("x", ["ts2vec"])
    ('ts2vec', None)
    """
    return next(iter(get_close_matches(name, list(known), n=1)), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """The end of a message about a name that is not known: what was probably meant, or what to do.

    >>> did_you_mean("ticcs", ["ticc"], "see the list"), did_you_mean("x", ["ticc"], "see the list")
    ("did you mean 'ticc'?", 'see the list')
    """
    near = near_match(name, known)
    return f"did you mean '{near}'?" if near else otherwise


def found_in_words(n_units: int, n_motifs: int, *, motifs_are_units: bool, where: str = "") -> str:
    """How many entries there are of each level; motifs that are the units under other ids are not counted again.

    >>> found_in_words(9, 6, motifs_are_units=False, where=" in 1 recording")
    '9 units and 6 motifs in 1 recording'
    >>> found_in_words(9, 9, motifs_are_units=True, where=" in 1 recording")
    '9 units in 1 recording; no motif is longer than a unit'
    """
    if motifs_are_units and n_units:
        return f"{counted(n_units, 'unit')}{where}; {NO_LONGER_MOTIF}"
    return f"{counted(n_units, 'unit')} and {counted(n_motifs, 'motif')}{where}"


def is_utf8(name: str) -> bool:
    r"""Whether a name that came from the system can be written as text.

    >>> is_utf8("gehen.csv"), is_utf8("bad\udcff.csv")
    (True, False)
    """
    return not any("\ud800" <= character <= "\udfff" for character in name)


_STEERING = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]"  # order of writing, line ends, no text
)


def printable(text: str, *, lines: bool = True) -> str:
    r"""The text with what would steer a terminal escaped; line feeds too where it is to be one line.

    >>> printable("a\x1b[31mb\tc\nd"), printable("a\nb", lines=False)
    ('a\\x1b[31mb\tc\nd', 'a\\nb')
    """
    shown = _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
    return shown if lines else shown.replace("\n", "\\n")


def in_utf8(name: str) -> str:
    r"""The name with what is no text escaped.

    >>> in_utf8("bad\udcff.csv")
    'bad\\udcff.csv'
    """
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
