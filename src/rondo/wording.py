"""Words that the command, the report and a notebook use alike: numbers with their nouns, times, names, progress."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from html import escape

NO_LONGER_MOTIF = "no motif is longer than a unit"
MOST_ROWS = 12  # of a table in a notebook: it is a glance, not a report


def noun(count: int, one: str, several: str = "") -> str:
    """The noun that fits a number; `several` where that is not `one` with an s."""
    return one if count == 1 else several or f"{one}s"


def counted(count: int, one: str, several: str = "") -> str:
    """A number with its noun: 1,200 motifs."""
    return f"{count:,} {noun(count, one, several)}"


def one_of(names: Iterable[str]) -> str:
    """Names to choose from, in quotes: 'unit', 'motif' or 'both'."""
    *others, last = [repr(name) for name in names]
    return f"{', '.join(others)} or {last}" if others else last


def quoted(names: Sequence[str], most: int = 8) -> str:
    """The first of some names, and how many more there are.

    >>> quoted(["a", "b"]), quoted(["a", "b", "c"], most=1)
    ("'a', 'b'", "'a' and 2 more")
    """
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def near_match(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant by one that is not known."""
    return next(iter(get_close_matches(str(name), list(known), n=1)), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """The end of a message about a name that is not known: what was probably meant, or what to do.

    >>> did_you_mean("ticcs", ["ticc"], "see the list"), did_you_mean("x", ["ticc"], "see the list")
    ("did you mean 'ticc'?", 'see the list')
    """
    near = near_match(name, known)
    return f"did you mean '{near}'?" if near else otherwise


def found_in_words(counts: Mapping[str, int], where: str = "") -> str:
    """How many entries there are of each kind: motifs first, then the units that they are made of.

    >>> found_in_words({"phrase": 5, "section": 3, "unit": 8}), found_in_words({"unit": 1}, " in 1 recording")
    ('5 phrases and 3 sections made of 8 units', '1 unit in 1 recording')
    """
    *motifs, units = (counted(n, kind) for kind, n in counts.items())
    kept = [words for words, n in zip(motifs, counts.values(), strict=False) if n]
    several = f"{', '.join(kept[:-1])} and {kept[-1]}" if kept[1:] else "".join(kept)
    return f"{several} made of {units}{where}" if kept else f"{units}{where}"


def number_in_words(count: int) -> str:
    """How often: 'once', 'twice', '20 times'."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def percent(share: float) -> str:
    """A share in percent, with a decimal where it is small.

    >>> percent(0.5), percent(0.012), percent(0.0002), percent(0.0)
    ('50 %', '1.2 %', '<0.1 %', '0 %')
    """
    if 0 < share < 0.0005:
        return "<0.1 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 or share == 0 else f"{100 * share:.1f} %"


def is_utf8(name: str) -> bool:
    """Whether a name that came from the system can be written as text."""
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
    """The name with what is no text escaped."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def card(
    title: str, facts: Mapping[str, object], header: Sequence[str] = (), rows: Iterable[Sequence[object]] = ()
) -> str:
    """HTML for a notebook: a title, facts by name, and a table; everything is escaped, rows beyond MOST_ROWS counted.

    >>> card("<day>", {"rate": "50 Hz"})
    '<div><b>&lt;day&gt;</b><div>rate: 50 Hz</div></div>'
    """
    table, all_rows = "", list(rows)
    if all_rows:
        head = "".join(f"<th>{escape(name)}</th>" for name in header)
        cells = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in all_rows[:MOST_ROWS]]
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    left_out = len(all_rows) - MOST_ROWS
    more = f"<div>and {left_out} more</div>" if left_out > 0 else ""
    lines = "".join(f"<div>{escape(name)}: {escape(str(value))}</div>" for name, value in facts.items())
    return f"<div><b>{escape(title)}</b>{lines}{table}{more}</div>"


# ---------------------------------------------------------------- times
# A duration has the unit in which it is a number that people can judge, and three digits at most; of few minutes and
# hours the rest is given in the next smaller unit.

_DAY_S = 86_400.0
SECONDS_IN = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": _DAY_S, "w": 7 * _DAY_S}
"""The units in which people give a time."""
_UNITS = ((365.25 * _DAY_S, "years"), (_DAY_S, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))
_SMALLER = {"days": "h", "h": "min", "min": "s"}
_PERIODS = (("hour", 1.0), ("day", 24.0), ("week", 168.0))
_LEAST_IN_SECONDS = 0.1  # shorter ones are milliseconds
# Readings between 1989 and the end of 9999, counted from 1970, are dates; smaller ones count from some start.
EARLIEST_DATE_S, LATEST_DATE_S = 6e8, 253_402_300_799.0


def duration_in_words(seconds: float) -> str:
    """A length of time, measured or found.

    >>> [duration_in_words(s) for s in (0.0042, 0.27, 90, 152.4, 2100, 32_400, 33_000)]
    ['4.2 ms', '0.27 s', '90 s', '2 min 32 s', '35 min', '9 h', '9 h 10 min']
    >>> [duration_in_words(s) for s in (270_000, 1_875_927, 33_685_200, 8e7)]
    ['3 days 3 h', '21.7 days', '390 days', '2.54 years']
    """
    size, unit = _unit_of(seconds)
    if unit in _SMALLER and seconds < 10 * size:
        parts = 24 if unit == "days" else 60
        whole, rest = divmod(round(parts * seconds / size), parts)
        return f"{whole} {unit} {rest} {_SMALLER[unit]}" if rest else f"{whole} {unit}"
    return f"{_digits(seconds / size)} {unit}"


def every_in_words(seconds: float) -> str:
    """The time from one row to the next.

    >>> [every_in_words(s) for s in (0.02, 10, 60, 900, 3600, 86_400, 604_800, 5400)]
    ['20 ms', '10 s', '1 min', '15 min', '1 h', '1 day', '7 days', '90 min']
    """
    one = {60.0: "1 min", 3600.0: "1 h", _DAY_S: "1 day"}
    return one.get(seconds) or duration_in_words(seconds)


def pace_in_words(rate: float, digits: str = ".4g") -> str:
    """How often a row comes: in Hz, or the time between two where it is longer than a second.

    >>> pace_in_words(50.0), pace_in_words(1 / 900), pace_in_words(0.5)
    ('50 Hz', 'every 15 min', 'every 2 s')
    """
    return f"{rate:{digits}} Hz" if rate > 0.999 else f"every {every_in_words(float(f'{1 / rate:.4g}'))}"


def often_per(rates_per_hour: Iterable[float]) -> tuple[str, float]:
    """In which time occurrences are best counted, the largest of them at least once, and how many hours that is.

    >>> often_per([0.5, 3.0]), often_per([0.29]), often_per([0.002])
    (('hour', 1.0), ('day', 24.0), ('week', 168.0))
    """
    most = max(rates_per_hour, default=1.0)
    return next(((word, hours) for word, hours in _PERIODS if most * hours >= 1), _PERIODS[-1])


def spread_in_words(middle: float, low: float, high: float) -> str:
    """A duration and what it lies between, in the unit of the first.

    >>> spread_in_words(1.5, 0.25, 12.0), spread_in_words(172_800, 90_000, 345_600)
    ('1.5 (0.25–12) s', '2 (1.04–4) days')
    """
    size, unit = _unit_of(middle)
    return f"{_digits(middle / size)} ({_digits(low / size)}–{_digits(high / size)}) {unit}"


def estimate_in_words(seconds: float) -> str:
    """A duration that is known only roughly: no digits that mean nothing.

    >>> [estimate_in_words(s) for s in (0.3, 90, 1800, 7300, 3e5)]
    ['1 s', '90 s', '30 min', '2 h', '3 days']
    """
    size, unit = _unit_of(max(seconds, 1.0))
    return f"{max(seconds, 1.0) / size:,.0f} {unit}"


def is_date(seconds: float | None) -> bool:
    """Whether a reading of a clock counts from 1970."""
    return seconds is not None and EARLIEST_DATE_S <= seconds <= LATEST_DATE_S


def moment_in_words(seconds: float, within_s: float = 0.0) -> str:
    """A reading of a clock: a time of day where it counts from 1970, with the date in what lasts longer than a day.

    Other readings are seconds; from ten minutes on hours, minutes and seconds, and days where there are two or more.

    >>> moment_in_words(1794774665.25), moment_in_words(1794774665.25, within_s=1e6)
    ('20:31:05.2', '2026-11-15 20:31')
    >>> moment_in_words(65.25), moment_in_words(1_875_927.27), moment_in_words(-3.0)
    ('65.2 s', '21 d 17:05:27', '-3.0 s')
    """
    if is_date(seconds):
        when = datetime.fromtimestamp(seconds, UTC)
        return when.strftime("%Y-%m-%d %H:%M") if within_s > _DAY_S else when.strftime("%H:%M:%S.%f")[:-5]
    if seconds < 600.0:
        return f"{seconds:.1f} s"
    days = int(seconds // _DAY_S) if seconds >= 2 * _DAY_S else 0
    minutes, rest = divmod(int(seconds - days * _DAY_S), 60)
    return (f"{days} d " if days else "") + f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def day_and_time(seconds: float) -> str:
    """As 2026-11-15 20:31:05, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def at_in_words(seconds: float) -> str:
    """One reading of a clock, to the last digit: a date in UTC where it counts from 1970, else seconds.

    >>> at_in_words(1794774665.25), at_in_words(1794774665.0), at_in_words(4.78)
    ('2026-11-15 20:31:05.25', '2026-11-15 20:31:05', '4.78 s')
    """
    if not is_date(seconds):
        return f"{seconds:.6f}".rstrip("0").rstrip(".") + " s"
    return day_and_time(seconds) + f"{seconds % 1:.6f}".rstrip("0").rstrip(".")[1:]


def _unit_of(seconds: float) -> tuple[float, str]:
    """The largest unit of which there are two or more; seconds down to a tenth."""
    for size, unit in _UNITS[:-2]:
        if abs(seconds) >= 2 * size:
            return size, unit
    return _UNITS[-2] if abs(seconds) >= _LEAST_IN_SECONDS or seconds == 0 else _UNITS[-1]


def _digits(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


Progress = Callable[[str, int, int], None]  # called as progress(what, done, total)


def silent(what: str, done: int, total: int) -> None:
    """The progress of those who asked for none."""
