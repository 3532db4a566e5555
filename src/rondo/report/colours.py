"""One colour per id, the same in every report, told apart by colour-blind readers.

Eight hues of Okabe & Ito (2008, "Color universal design") and Tol (2021, technical note SRON/EPS/TN/09-002),
each in three lightness steps. Ids beyond the list start it again: the name inside a segment, not its colour,
is its identity.
"""

from __future__ import annotations

from rondo.data.labels import OTHER

OTHER_COLOUR = "#e6e6e6"

_HUES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#882255")

_FIRST_HUE = {"unit": 0, "motif": 3, "true unit": 5, "true motif": 6}
"""Each level starts elsewhere: u2, m2 and a true unit 2 have nothing in common and must not look alike."""


def colour_of(kind: str, entry_id: int) -> str:
    """The colour of an id as #rrggbb; `kind` is unit, motif, true unit or true motif.

    >>> colour_of("unit", 0), colour_of("unit", 24), colour_of("motif", -1)
    ('#0072b2', '#0072b2', '#e6e6e6')
    """
    return OTHER_COLOUR if entry_id == OTHER else PALETTE[(_FIRST_HUE[kind] + entry_id) % len(PALETTE)]


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


PALETTE = (
    *_HUES,
    *(_mixed(hue, 255, 0.5) for hue in _HUES),
    *(_mixed(hue, 0, 0.4) for hue in _HUES),
)
