"""What stands above the rows of known programs: a rate in words, an Empatica E4, DeepLabCut, Actiware, LabVIEW, pandas.

ActiGraph's csv has ten lines above its table, the rate ("at 30 Hz") in the first and "Epoch Period (hh:mm:ss)" in one
of them: 00:00:00 for raw samples, else counts come once per epoch.
Actiware's csv has sections: properties, statistics of intervals, a list of markers, and last the epochs, each section
of a table with a legend of its columns ("Activity:","Activity (counts)") above the header; lines of tables end in a
separator. The first line names Actiware in each language (as in the examples that pyActigraphy reads).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rondo.files.column_values import has_no_name
from rondo.files.text.clock import size_of_epoch
from rondo.files.text.spelling import is_missing

_RATE = re.compile(r"(?:\bat|rate|sampl\w*(?:\s+freq\w*)?)\s*[:=(]?\s*(\d+(?:[.,]\d+)?)\s*hz\b", re.IGNORECASE)
_EPOCH = re.compile(r"epoch period \(hh:mm:ss\)\s*(\d+):(\d+):(\d+)", re.IGNORECASE)
_STEP = re.compile(r"Delta_X\s+([\d.,]+(?:e[+-]?\d+)?)\b", re.IGNORECASE)  # of LabVIEW, of its first channel
_HIGHEST_E4_RATE = 256.0  # 64 in the E4
_POSE_ROWS = ("scorer", "individuals", "bodyparts", "coords")
_END_OF_HEADER = "***End_of_Header***"  # of LabVIEW
_X_VALUE = "X_Value"
_MOST_LINES = 4
_COMMENT = "Comment"  # LabVIEW's last column, whose cells are left away where there is no comment

ACTIWARE_COUNTS = frozenset({"Activity", "Activité", "Aktivität"})
"""What the device measured, though one of these names is that of labels elsewhere."""

ACTIWARE_SCORES = frozenset({
    "Sleep/Wake", "Interval Status", "S/W Status", "Off-Wrist Status", "Mobility", "Marker",
    "Sommeil/Éveil", "Statut de l’intervalle", "Statut Sommeil/Éveil", "Mobilité", "Marqueur",
    "Schlaf/Wach", "Intervallstatus", "Status „Nicht am Handgelenk“", "Mobilität", "Markierung",
    "Slapen/waken", "Intervalstatus", "Status niet-om-pols", "Mobiliteit", "Markering",
})  # fmt: skip
"""What Actiware, or a person, made of it: sleep and wake, intervals, marks."""


class Opening(NamedTuple):
    """The first `n_lines` lines of a table: names of its columns, if they say them; its rate and when it was begun."""

    n_lines: int
    note: str
    names: tuple[str, ...] = ()
    rate: float | None = None
    began_s: float | None = None  # since 1970


def opening_of(table: Sequence[Sequence[str]]) -> Opening | None:
    """What the first rows are, if they are the opening of a program that we know."""
    return _of_an_e4(table) or _of_deeplabcut(table)


def rate_in_words(lines: Sequence[str]) -> float | None:
    """The rate that lines above a table speak of, if it is one; ActiGraph's counts come once per epoch.

    >>> rate_in_words(["// Update Rate: 100.0Hz", "// Filter: 46.1 Hz"]), rate_in_words(["Filter: 5 Hz"])
    (100.0, None)
    """
    epochs = {60 * (60 * int(h) + int(m)) + int(s) for line in lines for h, m, s in _EPOCH.findall(line)} - {0}
    if len(epochs) == 1:
        return 1 / epochs.pop()
    rates = {float(found.replace(",", ".")) for line in lines for found in _RATE.findall(line)}
    rates |= {1 / step for line in lines for found in _STEP.findall(line) if (step := float(found.replace(",", ".")))}
    rate = rates.pop() if len(rates) == 1 else None
    return rate or None  # 0 Hz says nothing


def _of_an_e4(table: Sequence[Sequence[str]]) -> Opening | None:
    """When it was begun in each column of the first row, the rate in each of the second, and no header.

    Or beats of the heart: when it was begun and "IBI", then when each beat came after that.
    """
    try:
        if len(table[0]) == 2 and table[0][1] == "IBI" and size_of_epoch(float(table[0][0])):
            note = "line 1 read as an Empatica E4 writes it: beats of the heart, by the time since it was begun"
            return Opening(1, note, ("time", "IBI"))
        if len(table) < 3 or len(set(table[0])) != 1 or len(set(table[1])) != 1 or len(table[0]) != len(table[1]):
            return None
        began_s, rate, after = float(table[0][0]), float(table[1][0]), float(table[2][0])
    except ValueError:
        return None
    if not (size_of_epoch(began_s) and began_s < 1e10 and 0 < rate <= _HIGHEST_E4_RATE) or size_of_epoch(after):
        return None
    note = f"lines 1 and 2 read as an Empatica E4 writes them: when it was begun, and its rate of {rate:g} Hz"
    return Opening(2, note, (), rate, began_s)


def _of_deeplabcut(table: Sequence[Sequence[str]]) -> Opening | None:
    """Rows of scorer, bodyparts (perhaps individuals) and coords; the first column counts frames."""
    firsts = [row[0].casefold() for row in table[: len(_POSE_ROWS)]]
    n_lines = next((place for place, first in enumerate(firsts) if first not in _POSE_ROWS), len(firsts))
    head = table[:n_lines]
    if firsts[:1] != ["scorer"] or firsts[n_lines - 1] != "coords":
        return None
    if len(head[0]) < 2 or len({len(row) for row in head}) != 1:
        return None
    names = tuple(".".join(parts) for parts in zip(*(row[1:] for row in head[1:]), strict=True))
    return Opening(n_lines, f"lines 1 to {n_lines} read as DeepLabCut writes them: {names[0]}, …", ("", *names))


def n_lines_of_labview(lines: Sequence[str]) -> int:
    """How many lines stand above a table of LabVIEW, which marks their end; 0 in any other file."""
    return max((place + 1 for place, line in enumerate(lines) if line.startswith(_END_OF_HEADER)), default=0)


def labview_clock(line: str) -> str:
    """A line of a table of LabVIEW, in which the column `X_Value` is the time in seconds.

    Each channel may have one of its own (`X_Columns` is `Multi`).
    """
    return line.replace(_X_VALUE, "time (s)") if line.startswith(_X_VALUE) else line


def as_wide(header: tuple[str, ...], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The header with a name more or less, where lines end in a separator and the header does not, or only it does."""
    if rows and all(len(row) == len(header) + 1 and row[-1] == "" for row in rows):
        return (*header, "")
    if header[-1] in ("", _COMMENT) and rows and all(len(row) == len(header) - 1 for row in rows):
        return header[:-1]
    return header


def stacked_names(
    table: Sequence[Sequence[str]], is_value: Callable[[str], bool]
) -> tuple[tuple[str, ...], int] | None:
    """Names in two or three lines, joined by points, and how many lines they take; None where one line holds them.

    So pandas writes columns with several levels, and spreadsheets a heading over several columns, of which only the
    first cell is filled. The line in which pandas names the index belongs to them.

    >>> stacked_names([["", "left", "left"], ["", "x", "y"], ["0", "1.5", "2"]], str.isdecimal)
    (('', 'left.x', 'left.y'), 2)
    >>> stacked_names([["time", "wrist", ""], ["s", "x", "y"], ["0", "1.5", "2"]], str.isdecimal)
    (('time.s', 'wrist.x', 'wrist.y'), 2)
    >>> stacked_names([["time", "x", "y"], ["s", "g", "g"], ["0", "1.5", "2"]], str.isdecimal)
    """
    n_words = next((place for place, row in enumerate(table[:_MOST_LINES]) if any(map(is_value, row))), _MOST_LINES)
    words = [row for row in table[:n_words] if len(row) == len(table[0])]
    if n_words < 2 or len(words) < n_words or n_words >= len(table):
        return None
    both = [(above, below) for above, below in zip(words[0][1:], words[1][1:], strict=True) if below]
    named = [above for above, _ in both if above]
    if len(both) < 2 or not named or (len(named) == len(both) and _differ(named)):
        return None  # no name is missing or repeated in the upper line where the lower one has some
    names = [_joined(parts) for parts in zip(_filled(words[0], words[1]), words[1], strict=True)]
    n_lines = 2
    if n_words > 2 and not _differ(names):
        above = _filled(words[1], words[2])
        names = [_joined(parts) for parts in zip(_filled(words[0], above), above, words[2], strict=True)]
        n_lines = 3
    if n_words > n_lines and words[n_lines][0] and all(map(is_missing, words[n_lines][1:])):
        names[0], n_lines = words[n_lines][0], n_lines + 1
    return (tuple(names), n_lines) if _differ(names) else None


def _filled(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """The upper line with each name repeated over the empty cells that follow it."""
    found: list[str] = []
    for above, below in zip(upper, lower, strict=True):
        found.append(above or (found[-1] if found and below else ""))
    return found


def _joined(parts: Sequence[str]) -> str:
    return ".".join(part for part in parts if not has_no_name(part))


def _differ(names: Sequence[str]) -> bool:
    named = [name for name in names if name]
    return len(set(named)) == len(named)
