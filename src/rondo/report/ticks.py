"""Marks on an axis of time at round places, in units that people say: ms, s, min:s, h:min, days, dates."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Literal, NamedTuple

Counts = Literal["frames", "seconds", "dates"]
"""What an axis counts; dates are seconds since 1970."""

_MIN, _HOUR, _DAY = 60, 3600, 86_400
_ROUND_S = (1, 2, 5, 10, 15, 20, 30, *(_MIN * n for n in (1, 2, 5, 10, 15, 20, 30)),
            *(_HOUR * n for n in (1, 2, 3, 6, 12)), *(_DAY * n for n in (1, 2, 7, 14)))  # fmt: skip
_ROUND_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)
_MONTH_S = 30.44 * _DAY


class Ticks(NamedTuple):
    """Places on the axis, the words at them, and what the words count."""

    at: list[float]
    words: list[str]
    unit: str


def ticks(first: float, last: float, counts: Counts, most: int = 8) -> Ticks:
    """At most so many marks from `first` to `last`.

    >>> ticks(0, 90, "seconds", 4)
    Ticks(at=[0.0, 30.0, 60.0, 90.0], words=['0', '30', '60', '90'], unit='s')
    >>> ticks(0, 4000, "seconds", 4).words, ticks(0, 4000, "seconds", 4).unit
    (['0:00', '20:00', '40:00', '60:00'], 'min:s')
    >>> ticks(1794774665, 1794861065, "dates", 4).words
    ['00:00', '06:00', '12:00', '18:00']
    >>> ticks(1794774665, 1794861065, "dates", 4).unit
    '15 Nov 2026 to 16 Nov 2026'
    >>> ticks(0, 70_000, "frames", 4).words
    ['0', '20,000', '40,000', '60,000']
    """
    span = max(last - first, 1e-9)
    if counts == "dates" and span / most > 14 * _DAY:
        return _months(first, last, most)
    step = _decimal_step(span / most) if counts == "frames" else _round_step(span / most)
    if counts == "frames":
        step = max(1.0, step)
    at = [step * n for n in range(math.ceil(first / step - 1e-9), math.floor(last / step + 1e-9) + 1)]
    if counts == "frames":
        return Ticks(at, [f"{place:,.0f}" for place in at], "frame")
    if counts == "dates":
        return Ticks(at, [_date_words(place, step) for place in at], _days(first, last))
    return _in_seconds(at, step, max(abs(first), abs(last)))


def _decimal_step(least: float) -> float:
    """1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * n for n in (1, 2, 5, 10) if power * n >= least * (1 - 1e-9))


def _round_step(least: float) -> float:
    if least <= 1:
        return _decimal_step(least)
    whole = next((float(step) for step in _ROUND_S if step >= least), None)
    return _DAY * _decimal_step(least / _DAY) if whole is None else whole


def _in_seconds(at: list[float], step: float, longest: float) -> Ticks:
    """Seconds up to three minutes, min:s up to three hours, h:min up to three days, then days."""
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if longest < 0.5:
        return Ticks(at, [f"{1000 * s:.{max(0, decimals - 3)}f}" for s in at], "ms")
    if longest < 3 * _MIN or min(at, default=0.0) < 0:
        return Ticks(at, [f"{s:.{decimals}f}" for s in at], "s")
    if longest < 3 * _HOUR:
        wide = decimals + 3 if decimals else 2
        return Ticks(at, [f"{s // _MIN:.0f}:{s % _MIN:0{wide}.{decimals}f}" for s in at], "min:s")
    if longest < 3 * _DAY:
        short = step >= _MIN
        return Ticks(at, [_clock(s, short) for s in at], "h:min" if short else "h:min:s")
    if step >= _DAY:
        return Ticks(at, [f"{s / _DAY:,.0f}" for s in at], "days")
    return Ticks(at, [f"{s // _DAY:.0f} d {_clock(s % _DAY, step >= _MIN)}" for s in at], "days and h:min")


def _clock(seconds: float, short: bool) -> str:
    minutes, rest = divmod(round(seconds), _MIN)
    return f"{minutes // 60}:{minutes % 60:02d}" + ("" if short else f":{rest:02d}")


def _when(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _date_words(seconds: float, step: float) -> str:
    when = _when(seconds)
    if step >= _DAY:
        return f"{when.day} {when:%b}"
    if step >= _MIN:
        return f"{when:%H:%M}"
    return f"{when:%H:%M:%S}" if step >= 1 else f"{when:%H:%M:%S.%f}"[:-3]


def _days(first: float, last: float) -> str:
    days = [f"{when.day} {when:%b %Y}" for when in (_when(first), _when(last))]
    return " to ".join(dict.fromkeys(days))


def _months(first: float, last: float, most: int) -> Ticks:
    """First days of months, or of years."""
    least = (last - first) / most / _MONTH_S
    step = next((n for n in _ROUND_MONTHS if n >= least), _ROUND_MONTHS[-1])
    begins, ends = _when(first), _when(last)
    months = range((begins.year * 12 + begins.month - 1) // step * step, ends.year * 12 + ends.month, step)
    dates = [datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) for month in months]
    dates = [date for date in dates if begins <= date <= ends]
    words = [f"{date:%Y}" if step >= 12 else f"{date:%b %Y}" for date in dates]
    return Ticks([date.timestamp() for date in dates], words, _days(first, last))
