"""A clock that steps back in a few rows, made to rise again, with a note that names lines and dates.

Four ways in which loggers and historians write such rows, each told by its own shape:

- midnight stamped with the day that ends: `1 Jan 23:45`, `1 Jan 00:00`, `2 Jan 00:15`;
- the end of summer time: on a Sunday in spring or autumn an hour is written twice;
- a row or two that come a little late, as packets that overtook one another;
- a few rows (at most one in a hundred) that repeat or step back, as after a restart or a transfer.

Whatever else steps back is refused by `Recording`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Flags, Ints
from rondo.wording import at_in_words, counted, is_date, noun

Times = NDArray[np.float64]
RowName = Callable[[int], str]

MOST_MISPLACED = 0.01  # of rows: more are rows out of order
_DAY_S, _HOUR_S = 86_400.0, 3_600.0
_MONTHS_OF_CHANGES = (2, 3, 4, 9, 10, 11)
_FARTHEST_SWAPPED = 8  # rows: packets that overtook one another
_LATEST_CHANGE_H = 4  # of the night


def frame_name(row: int) -> str:
    """How a row is named where it has no line."""
    return f"frame {row}"


def rising(times: Times, clock: str, name_of: RowName = frame_name) -> tuple[Times, tuple[str, ...]]:
    """The clock made to rise where only a few of its rows are wrong, and notes; else as it is.

    >>> times, notes = rising(np.append(np.arange(199.0), [190.0, 201.0]), "t")
    >>> times[-3:], notes[0][:61]
    (array([198. , 199.5, 201. ]), "clock 't': 1 row repeats a time or steps back (frame 199, 190")
    """
    notes: tuple[str, ...] = ()
    if not np.isfinite(times).all():
        return times, notes
    for repair in (_next_day, _standard_time, _in_order, _between_neighbours):
        if not (np.diff(times) < 0).any():
            break
        times, more = repair(times, clock, name_of)
        notes += more
    return times, notes


def _next_day(times: Times, clock: str, name_of: RowName) -> tuple[Times, tuple[str, ...]]:
    """Rows at midnight that carry the date of the day before."""
    back = 1 + np.flatnonzero(np.diff(times) < 0)
    later = times[back] + _DAY_S
    follows = np.append(times, np.inf)[back + 1]
    rows = back[(times[back] % _DAY_S == 0) & (later > times[back - 1]) & (later < follows)]
    if not rows.size or not is_date(float(times[rows[0]])):
        return times, ()
    moved = times.copy()
    moved[rows] += _DAY_S
    which = f"{counted(rows.size, 'row')} at midnight {noun(rows.size, 'carries', 'carry')} the date of the day before"
    return moved, (f"clock '{clock}': {which} ({_first(rows, times, name_of)}): moved to the next day",)


def _standard_time(times: Times, clock: str, name_of: RowName) -> tuple[Times, tuple[str, ...]]:
    """Rows of summer time, before an hour that is written twice, taken back by an hour."""
    steps = np.diff(times)
    ahead = steps[steps > 0]
    usual = float(np.median(ahead)) if ahead.size else 0.0
    moved, changes = times.copy(), []
    for end in (1 + np.flatnonzero(np.abs(steps + _HOUR_S - usual) <= usual / 2)).tolist():
        within = end + int(np.argmax(np.append(times[end:] > times[end] + _HOUR_S, True)))
        if not _may_change(float(times[end])) or (steps[end : within - 1] < 0).any():
            continue
        begins = 1 + np.flatnonzero(np.abs(steps[: end - 1] - _HOUR_S - usual) <= usual / 2)
        begin = max((row for row in begins.tolist() if _may_change(float(times[row]))), default=0)
        moved[begin:end] -= _HOUR_S
        changes.append(end)
    if not changes or usual >= _HOUR_S or not (np.diff(moved) > 0)[np.array(changes) - 1].all():
        return times, ()
    where = _first(np.array(changes), times, name_of)
    return moved, (f"clock '{clock}' is set back an hour ({where}): summer time before it read as standard time",)


def _may_change(time: float) -> bool:
    """Whether summer time may begin or end at a reading."""
    if not is_date(time):
        return False
    local = datetime.fromtimestamp(time, UTC)
    return local.weekday() == 6 and local.month in _MONTHS_OF_CHANGES and local.hour < _LATEST_CHANGE_H


def _in_order(times: Times, clock: str, name_of: RowName) -> tuple[Times, tuple[str, ...]]:
    """Few rows that come a little late, as packets that overtook one another: neighbours exchange their times."""
    order = np.argsort(times, kind="stable")
    shifts = np.abs(order - np.arange(times.size))
    is_slight = shifts.max() <= _FARTHEST_SWAPPED and (shifts > 0).mean() <= MOST_MISPLACED
    if not is_slight or not (np.diff(times[order]) > 0).all():
        return times, ()
    rows = np.flatnonzero(np.diff(times) < 0) + 1
    which = f"{counted(rows.size, 'row')} {noun(rows.size, 'comes', 'come')} late"
    note = f"clock '{clock}': {which} ({_first(rows, times, name_of)}): times of neighbours exchanged"
    return times[order], (note,)


def _between_neighbours(times: Times, clock: str, name_of: RowName) -> tuple[Times, tuple[str, ...]]:
    """Few rows that are earlier than those before, or later than those after: put between their neighbours."""
    wrong = min(_behind(times), _behind(-times[::-1])[::-1], key=np.count_nonzero)
    rows = np.flatnonzero(wrong)
    if rows.size > MOST_MISPLACED * times.size:
        return times, ()
    right = np.flatnonzero(~wrong)
    usual = float(np.median(np.diff(times[right])))
    moved = np.interp(np.arange(times.size), right, times[right])
    first, last = right[0], right[-1]
    moved[:first] = times[first] - usual * np.arange(first, 0, -1)
    moved[last + 1 :] = times[last] + usual * np.arange(1, times.size - last)
    what = f"{counted(rows.size, 'row')} {noun(rows.size, 'repeats a time or steps', 'repeat times or step')} back"
    return moved, (f"clock '{clock}': {what} ({_first(rows, times, name_of)}): put between {_theirs(rows)} neighbours",)


def _behind(times: Times) -> Flags:
    """Rows earlier than one before them, and those right after such a row that have only come up to it."""
    latest = np.maximum.accumulate(times)
    behind = times < latest
    level = np.append(False, (times[1:] <= latest[:-1]) & behind[:-1])
    return np.asarray(behind | level)


def _theirs(rows: Ints) -> str:
    return noun(rows.size, "its", "their")


def _first(rows: Ints, times: Times, name_of: RowName) -> str:
    first = f"{name_of(int(rows[0]))}, {at_in_words(float(times[rows[0]]))}"
    last = f"{name_of(int(rows[-1]))}, {at_in_words(float(times[rows[-1]]))}"
    return first if rows.size == 1 else f"{first}, to {last}" if rows.size > 1 else ""
