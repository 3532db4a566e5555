"""Words that the command, the report and a notebook use alike: numbers with their nouns, and what two levels hold.

Where no composition recurs, every motif is one unit: counting such motifs beside the units would count the same things
twice. What is said instead is made here, once.
"""

from __future__ import annotations

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


def estimate_in_words(seconds: float) -> str:
    """A time that people can judge.

    >>> estimate_in_words(90), estimate_in_words(1800), estimate_in_words(7200), estimate_in_words(3e5)
    ('90 s', '30 min', '2 hours', '3 days')
    """
    for size, name in ((86_400.0, " days"), (3600.0, " hours"), (60.0, " min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{name}"
    return f"{seconds:.0f} s"
