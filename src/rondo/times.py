"""Times for people, in one place: durations from milliseconds to years, moments and dates.

A duration has the unit in which it is a number that people can judge, and three digits at most; of few minutes and
hours the rest is told in the next smaller unit, as people say it.
"""

from __future__ import annotations

from datetime import UTC, datetime

_DAY_S = 86_400.0
_UNITS = ((365.25 * _DAY_S, "years"), (_DAY_S, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))
_SMALLER = {"h": "min", "min": "s"}
_LEAST_IN_SECONDS = 0.1  # shorter ones are milliseconds
EARLIEST_DATE_S, LATEST_DATE_S = 6e8, 253_402_300_799.0  # 1989 and the end of 9999, counted from 1970
"""Readings between them are dates: smaller ones count from the start of something, and no calendar has larger ones."""


def duration_in_words(seconds: float) -> str:
    """A length of time, measured or found.

    >>> [duration_in_words(s) for s in (0.0042, 0.27, 90, 152.4, 2100, 32_400, 33_000)]
    ['4.2 ms', '0.27 s', '90 s', '2 min 32 s', '35 min', '9 h', '9 h 10 min']
    >>> [duration_in_words(s) for s in (1_875_927, 33_685_200, 8e7)]
    ['21.7 days', '390 days', '2.54 years']
    """
    size, unit = _unit_of(seconds)
    if unit in _SMALLER and seconds < 10 * size:
        whole, rest = divmod(round(60 * seconds / size), 60)
        return f"{whole} {unit} {rest} {_SMALLER[unit]}" if rest else f"{whole} {unit}"
    return f"{_digits(seconds / size)} {unit}"


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
    """
    >>> day_and_time(1794774665.25)
    '2026-11-15 20:31:05'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _unit_of(seconds: float) -> tuple[float, str]:
    """The largest unit of which there are two or more; seconds down to a tenth."""
    for size, unit in _UNITS[:-2]:
        if abs(seconds) >= 2 * size:
            return size, unit
    return _UNITS[-2] if abs(seconds) >= _LEAST_IN_SECONDS or seconds == 0 else _UNITS[-1]


def _digits(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
