"""Dates and times of day as people write them: with dots, slashes, dashes, blanks or names of months, in any zone.

`03/04/2026` may be the third of April or the fourth of March. What decides, in this order: a number above
12 anywhere in the column, a column of ISO dates beside it, and time itself: the order of day and month that makes fewer
steps back, then fewer jumps, then the shorter recording.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from rondo.wording import counted

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = re.compile(r"(\d{1,4})([./ -])(\d{1,2}|[a-z]{3,9}\.?)\2(\d{1,4})(?:[ T,_]\s*(.+))?", re.ASCII | re.IGNORECASE)
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,:](\d{1,9}))?)?\s*([ap]m)?", re.ASCII | re.IGNORECASE)
_DOTTED_TIME = re.compile(r"([01]?\d|2[0-3])\.([0-5]\d)\.([0-5]\d)(?:[.,](\d{1,9}))?()", re.ASCII)
_HOUR = re.compile(r"([01]\d|2[0-4])()()()()", re.ASCII)  # hourly data
_DIGITS = re.compile(r"((?:19|20)\d\d[01]\d[0-3]\d)([0-2]\d[0-5]\d[0-5]\d)(?:\.(\d{1,9}))?", re.ASCII)
_SPAN = re.compile(r"(\d+) days?,? (.+)", re.ASCII)  # a timedelta of pandas or Python
_ZONE = re.compile(
    r"(?<=\d|m)\s*(?:(?P<utc>z|utc|gmt)(?=$|[\s\[+-]))?\s*(?P<offset>(?<![\d]{4})[+-]\d{2}:?\d{2})?"
    r"\s*(?:\[(?P<name>[\w/+-]+)\])?$",
    re.ASCII | re.IGNORECASE,
)
_JUMP = 10.0  # median steps: a longer one is a jump in time
_ZONES_APART_S = 26 * 3600.0  # two columns of one moment in two zones differ by no more


def date_seconds(cell: str, *, day_first: bool = False) -> float:
    """Seconds since 1970 of a date and time, in UTC where no zone is named; NaN where it is no date.

    ISO, with dots (always day first), with slashes, dashes or blanks (as `day_first` says), with the name of the month,
    24 or 12 hours, an offset or a zone behind it. A time without a date lies on the first of January 1970.

    >>> date_seconds("1970-01-01 00:01:00.5"), date_seconds("1970-01-01T01:00+01:00"), date_seconds("noon")
    (60.5, 0.0, nan)
    >>> date_seconds("2.1.1970 00:00:05,250"), date_seconds("1/2/1970 12:00:05 AM"), date_seconds("0:00:05.5")
    (86405.25, 86405.0, 5.5)
    >>> date_seconds("1970-01-01 00.00.05"), date_seconds("19700101000005"), date_seconds("1 days 00:00:05")
    (5.0, 5.0, 86405.0)
    >>> date_seconds("01 01 1970 00:05"), date_seconds("1970-01-01 01:00:05 +0100 [Europe/London]")
    (300.0, 5.0)
    """
    cell = cell.strip()
    if digits := _DIGITS.fullmatch(cell):
        cell = f"{digits[1]}T{digits[2]}" + (f".{digits[3]}" if digits[3] else "")
    try:
        moment = datetime.fromisoformat(cell)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        pass
    cell, offset_s, zone = _without_zone(cell)
    seconds = _local_seconds(cell, day_first)
    if offset_s and is_time_of_day(cell):
        return float("nan")  # it would lie on the day before or after
    if zone and seconds == seconds:
        offset_s = _offset_in(zone, seconds)
    return seconds - offset_s


def _local_seconds(cell: str, day_first: bool) -> float:
    """Seconds since 1970 on the clock on the wall."""
    if alone := _TIME.fullmatch(cell):
        return _seconds_of_day(alone) if alone[3] else float("nan")  # 12:30 could be minutes and seconds
    if (span := _SPAN.fullmatch(cell)) and (rest := _TIME.fullmatch(span[2])):
        return 86_400.0 * int(span[1]) + _seconds_of_day(rest)
    found = _DATE.fullmatch(cell)
    patterns = (_TIME, _DOTTED_TIME, _HOUR) if found and found[5] else ()
    time = next((match for pattern in patterns if found and (match := pattern.fullmatch(found[5]))), None)
    if not found or (found[5] and not time):
        return float("nan")
    day = _year_month_day(found, day_first)
    try:
        start = datetime(*day, tzinfo=UTC).timestamp() if day else float("nan")
    except (ValueError, OverflowError):
        return float("nan")
    return start + (_seconds_of_day(time) if time else 0.0)


def _year_month_day(found: re.Match[str], day_first: bool) -> tuple[int, int, int] | None:
    first, last = int(found[1]), int(found[4])
    year = last if len(found[4]) == 4 else 2000 + last
    if found[2] == " " and max(len(found[1]), len(found[4])) < 4:
        return None  # 1 2 3 are numbers
    if not found[3].isdigit():
        month = _MONTHS.index(found[3][:3].casefold()) + 1 if found[3][:3].casefold() in _MONTHS else 0
        return (first, month, last) if len(found[1]) == 4 else (year, month, first)
    middle = int(found[3])
    if len(found[1]) == 4:
        return first, middle, last
    day, month = (first, middle) if day_first or found[2] == "." else (middle, first)
    return year, month, day


def _without_zone(cell: str) -> tuple[str, float, str]:
    """A cell without the zone at its end, that zone's offset in seconds, and its name where only that is given."""
    if ":" not in cell:
        return cell, 0.0, ""  # a day has no zone, and its dashes are no signs
    found = _ZONE.search(cell)
    if not found or not found[0].strip():
        return cell, 0.0, ""
    rest, offset = cell[: found.start()], found["offset"]
    if offset:
        sign = -1 if offset[0] == "-" else 1
        return rest, sign * (int(offset[1:3]) * 3600.0 + int(offset[-2:]) * 60.0), ""
    return rest, 0.0, "" if found["utc"] else found["name"] or ""


def _offset_in(zone: str, local_s: float) -> float:
    """Seconds by which a named zone is ahead of UTC at a time of its own; NaN where nobody knows the zone."""
    try:
        offset = datetime.fromtimestamp(local_s, UTC).replace(tzinfo=ZoneInfo(zone)).utcoffset()
    except (ValueError, OverflowError, OSError, KeyError):  # KeyError: no such zone
        return float("nan")
    return float("nan") if offset is None else offset.total_seconds()


def _seconds_of_day(found: re.Match[str]) -> float:
    hours, minutes, seconds = int(found[1]), int(found[2] or 0), int(found[3] or 0)
    if found[5]:
        hours = hours % 12 + (12 if found[5].casefold() == "pm" else 0)
    if hours > 24 or minutes > 59 or seconds > 60:
        return float("nan")
    fraction = int(found[4]) / 10 ** len(found[4]) if found[4] else 0.0
    return timedelta(hours=hours, minutes=minutes, seconds=seconds).total_seconds() + fraction


def is_date(cell: str) -> bool:
    """Whether a cell holds a date or a time of day, in any order of day and month."""
    return any(seconds == seconds for seconds in (date_seconds(cell), date_seconds(cell, day_first=True)))


def is_time_of_day(cell: str) -> bool:
    return _TIME.fullmatch(cell.strip()) is not None


def is_dotted_time(cell: str) -> bool:
    """Whether a cell may be a time of day such as 20.31.05; `10.03.04` may be a date as well."""
    return _DOTTED_TIME.fullmatch(cell.strip()) is not None


def is_date_in_digits(cell: str) -> bool:
    """Whether a cell is a date and time in 14 digits, year first, and not a count of anything."""
    return _DIGITS.fullmatch(cell.strip()) is not None and is_date(cell)


def is_day(cell: str) -> bool:
    """Whether a cell holds a date without a time."""
    found = _DATE.fullmatch(cell.strip())
    return is_date(cell) and ":" not in cell and "T" not in cell and not (found and found[5])


def zone_notes(cells: Sequence[str], clock: str) -> tuple[str, ...]:
    """A note where the first date of a clock names an offset: the times that are shown are not those written."""
    return tuple(
        f"clock '{clock}' names a zone ('{cell}'): times are shown in UTC"
        for cell in cells
        if any(_without_zone(cell.strip())[1:])
    )


class DayOrder(NamedTuple):
    """Whether dates name the day first, what to say about it, and whether it is no more than a guess."""

    day_first: bool = False
    notes: tuple[str, ...] = ()
    is_guess: bool = False


def day_order(cells: Sequence[str], beside: Sequence[Sequence[str]] = ()) -> DayOrder:
    """Whether dates with slashes, dashes or blanks name the day first; `beside` are other columns of the same rows.

    >>> day_order(["15/11/2026 20:31"]).day_first, day_order(["2026-11-15"]).day_first, day_order(["3/4/2026"]).is_guess
    (True, False, True)
    >>> day_order(["1/2/2026", "2/2/2026", "3/2/2026"]).notes[0][:70]
    "dates such as '1/2/2026' read as day, month, year, as the other order "
    """
    dates = [match for cell in cells if (match := _DATE.fullmatch(cell.strip()))]
    doubtful = [match for match in dates if match[2] != "." and len(match[1]) < 3 and match[3].isdigit()]
    for match in doubtful:
        if max(int(match[1]), int(match[3])) > 12:
            return DayOrder(int(match[1]) > 12)
    if not doubtful:
        return DayOrder()
    orders = [np.array([date_seconds(cell, day_first=order) for cell in cells]) for order in (False, True)]
    for other in beside:
        if (day_first := _order_beside(other, orders)) is not None:
            order = _ORDER_IN_WORDS[day_first]
            return DayOrder(
                day_first, (f"dates such as '{doubtful[0][0]}' read as {order}, as the dates beside them say",)
            )
    return _by_time(orders, doubtful[0][0])


def _order_beside(other: Sequence[str], orders: Sequence[NDArray[np.float64]]) -> bool | None:
    """Whether the day comes first, by ISO dates of the same rows; None where those are none, or fit both."""
    if len(other) != orders[0].size or not all(re.match(r"\d{4}-\d{2}-\d{2}", cell.strip()) for cell in other):
        return None
    iso = np.array([date_seconds(cell) for cell in other])
    fits = [bool((np.abs(order - iso) <= _ZONES_APART_S).all()) for order in orders]
    return fits[1] if fits[0] != fits[1] else None


def _by_time(orders: Sequence[NDArray[np.float64]], example: str) -> DayOrder:
    """The order with fewer steps back, then fewer jumps, then the shorter recording; US order where all are equal."""
    faults = [_faults(order) for order in orders]
    day_first = faults[1] < faults[0]
    words = f"dates such as '{example}' read as {_ORDER_IN_WORDS[day_first]}"
    if faults[0] == faults[1]:
        return DayOrder(False, (f"{words}; write 2026-11-15 if that is wrong",), is_guess=True)
    worse, better = (faults[0], faults[1]) if day_first else (faults[1], faults[0])
    why = f"makes {counted(worse[0] + worse[1], 'jump')} in time" if worse[:2] > better[:2] else "makes longer jumps"
    return DayOrder(
        day_first, (f"{words}, as the other order {why}; write 2026-11-15 if that is wrong",), is_guess=True
    )


def _faults(times: NDArray[np.float64]) -> tuple[int, int, float]:
    """Steps back (and dates that are none), jumps ahead, and seconds from first to last."""
    known = times[~np.isnan(times)]
    steps = np.diff(known)
    ahead = steps[steps > 0]
    n_jumps = int((ahead > _JUMP * np.median(ahead)).sum()) if ahead.size else 0
    return int((steps < 0).sum()) + times.size - known.size, n_jumps, float(np.ptp(known)) if known.size else 0.0


_ORDER_IN_WORDS = {True: "day, month, year", False: "month, day, year"}


_MISSING = frozenset({
    "", "na", "nan", "null", "n/a", "n.a.", "<na>", "nat", "none", "missing", "no data",
    "-", "--", "---", "?", ".", "*", "kz", "-nan", "nan(ind)", "-nan(ind)", "1.#qnan", "-1.#ind",
    "#n/a", "#div/0!", "#value!", "#num!", "#name?", "#null!", "#ref!",
})  # fmt: skip
"""In small letters: of data frames, databases, statistics programs (`.`, `*`), ARFF and UCI (`?`), C, spreadsheets,
Actiware in German (`kz`)."""

TRUTHS = {
    spelling: digit
    for word, digit in (("true", "1"), ("false", "0"))
    for spelling in (word, word.title(), word.upper())
}
"""As programs write what is true or false, and the number that it is."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf(inity)?|nan)", re.IGNORECASE | re.ASCII)
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?P<between>[.,'’ \u00a0\u202f])\d{3}(?:(?P=between)\d{3})*(?P<rest>[.,]\d+)?")
_POINT_BETWEEN, _BELOW_A_THOUSAND = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+"), re.compile(r"[+-]?\d{1,3}")
_FEWEST_TO_TELL = 16  # cells: of decimals with three places, one of ten ends in 0 and would be shorter
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
        """A number as programs write it."""
        cell = cell.replace(_MINUS, "-")
        if self.thousands and _GROUPED.fullmatch(cell):
            cell = cell.replace(self.thousands, "")
        return cell.replace(",", ".") if self.has_decimal_comma else cell

    def is_number(self, cell: str) -> bool:
        return NUMBER.fullmatch(self.plain(cell)) is not None


PLAIN = NumberSpelling()


def may_have_thousands(cells: Sequence[str]) -> bool:
    """Whether a column may have points between thousands: whole numbers below 1,000, and `10.874`, and nothing else.

    >>> rows = ["10.874", "-500", "9.120", "77"] * 4
    >>> may_have_thousands(rows), may_have_thousands([*rows, "0.5"]), may_have_thousands(["10.874"] * 16)
    (True, False, False)
    """
    grouped = [cell for cell in cells if _POINT_BETWEEN.fullmatch(cell)]
    n_whole = sum(_BELOW_A_THOUSAND.fullmatch(cell) is not None for cell in cells)
    return bool(grouped) and n_whole > 0 and len(grouped) + n_whole == len(cells) >= _FEWEST_TO_TELL


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


_NO_CELL = re.compile(r'[\s"\x00-\x1f]+')  # would end a cell or a line


def cell_text(value: object) -> str:
    """A value of a typed table as a csv spells it; nothing is "".

    >>> [cell_text(value) for value in (1.0, 0.1, True, "a\\tb", dt.datetime(2026, 11, 1, 8), None)]
    ['1', '0.1', '1', 'a b', '2026-11-01 08:00:00', '']
    >>> cell_text(dt.time(8, 5))
    '08:05:00'
    """
    match value:
        case None:
            return ""
        case bool():
            return str(int(value))
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case dt.datetime():
            return value.isoformat(" ")
        case dt.timedelta():
            return repr(value.total_seconds())
        case dt.date() | dt.time():
            return value.isoformat()
        case str():
            return _NO_CELL.sub(" ", value).strip()
    return repr(value)
