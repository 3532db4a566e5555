"""Cells of text that are numbers, in the spelling of their table, and those that stand for no value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_MISSING = frozenset({
    "", "na", "nan", "null", "n/a", "n.a.", "<na>", "nat", "none", "missing", "no data",
    "-", "--", "---", "?", ".", "*", "kz", "-nan", "nan(ind)", "-nan(ind)", "1.#qnan", "-1.#ind",
    "#n/a", "#div/0!", "#value!", "#num!", "#name?", "#null!", "#ref!",
})  # fmt: skip
"""In small letters: of data frames, databases, statistics programs (`.`, `*`), ARFF and UCI (`?`), C, spreadsheets,
Actiware in German (`kz`)."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf(inity)?|nan)", re.IGNORECASE | re.ASCII)
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?P<between>[.,'’ \u00a0\u202f])\d{3}(?:(?P=between)\d{3})*(?P<rest>[.,]\d+)?")
_MINUS = "\u2212"  # the minus sign of typographers, which phones write in some languages


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value: empty, a dash, NA, NaN, none, null or `?`, in any case."""
    return cell.casefold() in _MISSING


def is_number(cell: str, has_decimal_comma: bool = False) -> bool:
    return bool(NUMBER.fullmatch(cell) or (has_decimal_comma and _COMMA_NUMBER.fullmatch(cell)))


class NumberSpelling(NamedTuple):
    """How a table writes numbers: its decimal sign, and the sign between thousands, if it has one."""

    has_decimal_comma: bool = False
    thousands: str = ""

    def plain(self, cell: str) -> str:
        """A number as programs write it.

        >>> NumberSpelling(True, ".").plain("1.234,5"), NumberSpelling(thousands=",").plain("1,234.5")
        ('1234.5', '1234.5')
        """
        cell = cell.replace(_MINUS, "-")
        if self.thousands and _GROUPED.fullmatch(cell):
            cell = cell.replace(self.thousands, "")
        return cell.replace(",", ".") if self.has_decimal_comma else cell

    def is_number(self, cell: str) -> bool:
        return NUMBER.fullmatch(self.plain(cell)) is not None


PLAIN = NumberSpelling()


def spelling_of(table: Sequence[Sequence[str]]) -> NumberSpelling:
    """The spelling that the cells show.

    Commas are decimal signs where no number has a point. A sign between thousands shows where a number has a decimal
    sign too, or several groups: `1,234` alone may be either.

    >>> spelling_of([["0,5", "12,25"]]), spelling_of([["0.5", "1,234.5"]]), spelling_of([["1.234,5"]])
    (NumberSpelling(has_decimal_comma=True, thousands=''), NumberSpelling(has_decimal_comma=False, thousands=','), \
NumberSpelling(has_decimal_comma=True, thousands='.'))
    """
    cells = [cell.replace(_MINUS, "-") for row in table for cell in row]
    grouped = [found for cell in cells if (found := _GROUPED.fullmatch(cell))]
    others = [cell for cell in cells if not _GROUPED.fullmatch(cell)]
    has_points = any("." in cell and NUMBER.fullmatch(cell) for cell in others)
    has_commas = any(map(_COMMA_NUMBER.fullmatch, others))
    for found in grouped:
        between, rest = found["between"], found["rest"] or ""
        is_plain = rest[:1] not in ("", between) or (between in ".," and found[0].count(between) > 1)
        comma = rest[:1] == "," or (between == "." and not rest)
        if is_plain and not (has_points if comma else has_commas):
            return NumberSpelling(comma, between)
    has_points = any("." in cell and NUMBER.fullmatch(cell) for cell in cells)
    return NumberSpelling(not has_points and any(map(_COMMA_NUMBER.fullmatch, cells)))
