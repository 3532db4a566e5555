"""One look per id, the same in every report, told apart by colour-blind readers.

Eight hues of Okabe & Ito (2008, "Color universal design") and Tol (2021, technical note SRON/EPS/TN/09-002), then the
same hues lighter and striped, darker and dotted, and barred: 32 looks that differ in hue or, where hues are alike, in
pattern. Motifs have the same hues in another order and darker, for their blocks lie on the rows of units: a motif and a
unit look alike in no page, and in a page with few of them share no hue. Ids beyond start again: the name inside a
segment, not its look, is its identity.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from rondo.data.labels import OTHER

Pattern = Literal["plain", "stripes", "dots", "bars"]
OTHER_COLOUR = "#e6e6e6"

_HUES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#882255")

_HUES_OF_MOTIFS = (5, 6, 3, 7, 4, 2, 1, 0)

_FIRST_LOOK = {"unit": 0, "motif": 0, "true unit": 5, "true motif": 5}
"""What is true starts elsewhere: u2 and a true unit 2 have nothing in common and must not look alike."""


class Look(NamedTuple):
    """A colour as #rrggbb, and the pattern on it."""

    colour: str
    pattern: Pattern


def look_of(kind: str, entry_id: int) -> Look:
    """The look of an id; `kind` is unit, motif, true unit or true motif.

    >>> look_of("unit", 0), look_of("unit", 24), look_of("motif", -1)  # doctest: +NORMALIZE_WHITESPACE
    (Look(colour='#0072b2', pattern='plain'), Look(colour='#0072b2', pattern='bars'),
     Look(colour='#e6e6e6', pattern='plain'))
    """
    looks = MOTIF_LOOKS if kind.endswith("motif") else LOOKS
    return OTHER_LOOK if entry_id == OTHER else looks[(_FIRST_LOOK[kind] + entry_id) % len(looks)]


def colour_of(kind: str, entry_id: int) -> str:
    """The colour alone, for formats that have no patterns."""
    return look_of(kind, entry_id).colour


def ink_on(colour: str) -> str:
    """Black or white, whichever stands out more on a colour (WCAG 2 relative luminance).

    >>> ink_on("#f0e442"), ink_on("#882255")
    ('#000000', '#ffffff')
    """
    red, green, blue = (_linear(channel) for channel in _channels(colour))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"


def _mixed(colour: str, other: int, share: float) -> str:
    return "#" + "".join(f"{round((1 - share) * channel + share * other):02x}" for channel in _channels(colour))


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def _linear(channel: int) -> float:
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


_DARKER: dict[Pattern, float] = {"plain": 0.35, "stripes": 0.15, "dots": 0.45, "bars": 0.35}
OTHER_LOOK = Look(OTHER_COLOUR, "plain")
LOOKS: tuple[Look, ...] = (
    *(Look(hue, "plain") for hue in _HUES),
    *(Look(_mixed(hue, 255, 0.25), "stripes") for hue in _HUES),
    *(Look(_mixed(hue, 0, 0.3), "dots") for hue in _HUES),
    *(Look(hue, "bars") for hue in _HUES),
)
MOTIF_LOOKS: tuple[Look, ...] = tuple(
    Look(_mixed(_HUES[hue], 0, darker), pattern) for pattern, darker in _DARKER.items() for hue in _HUES_OF_MOTIFS
)
