"""Rows that are not one recording from its beginning to its end: newest first, several recordings, readings apart.

A file whose newest row comes first is turned round. Where rows of several persons, machines or sensors take turns, no
order of rows is right: the table is refused, with the column that tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from rondo.errors import RecordingError
from rondo.files.column_values import TELLER_NAMES
from rondo.files.columns import Columns
from rondo.files.long_form import is_quality, long_form_columns, ways_apart
from rondo.files.reading import Reading, listed
from rondo.files.text.clock import Times, plain_name
from rondo.files.text.layout import Layout
from rondo.files.text.spelling import is_date, is_number, is_time_of_day
from rondo.wording import counted

_FEWEST_STEPS = 8  # before a clock that falls throughout is taken for the newest row first
_LEAST_ALIKE = 0.8  # of the times that have the same set of values: the first and the last may be cut
_LEAST_TIMES = 3
_MOST_WORDS = 0.8  # different ones per row: 48 tags of a plant in the first 64 rows; remarks hardly repeat
_MOST_TURNS = 0.1  # of rows: whoever has several rows at a time takes them from a shorter stretch
_FRAME_NAMES = ("frameidx", "frameindex", "frame")
_FAR_BACK = 10.0  # usual steps: a clock that goes back farther was started again
_HOUR_S = 3600.0
_MOST_RESTARTS = 0.05  # of rows: more are rows out of order
_ANIMAL = "individual-local-identifier"  # Movebank: named before the tag, of which an animal may have had several


Rows = tuple[NDArray[np.float32], Times, tuple[str, ...]]
"""Values, times, and what was done to them."""


def oldest_first(values: NDArray[np.float32], times: Times, clock: str) -> Rows:
    """Rows turned round, with a note, where the clock falls from each to the next."""
    steps = np.diff(times)
    if steps.size < _FEWEST_STEPS or not (steps <= 0).all() or not (steps < 0).any():
        return values, times, ()
    turned = np.ascontiguousarray(values[::-1])
    return turned, times[::-1].copy(), (f"clock '{clock}' falls: its newest row comes first, so rows are turned round",)


def without_events(values: NDArray[np.float32], times: Times, clock: str) -> Rows:
    """Without rows that have no value, where the clock goes back at them alone: events, written when they were told."""
    has_values = ~np.isnan(values).all(axis=1)
    if not (np.diff(times) < 0).any() or has_values.all() or not (np.diff(times[has_values]) >= 0).all():
        return values, times, ()
    n_events = int((~has_values).sum())
    note = f"{counted(n_events, 'row')} without a value left out: the clock '{clock}' goes back there"
    return np.ascontiguousarray(values[has_values]), times[has_values], (note,)


def long_form(layout: Layout, columns: Columns, reading: Reading) -> tuple[str, tuple[str, ...]] | None:
    """The column of tags of a table in long form, which the user or its names tell, and all columns to leave out."""
    qualities = [name for name in layout.names if is_quality(name)]
    if reading.pivot is not None:
        if reading.pivot not in layout.names:
            raise RecordingError(
                f"there is no column '{reading.pivot}' to pivot by; the columns are: {listed(layout.names)}"
            )
        return reading.pivot, (reading.pivot, *qualities)
    if columns.clock is None:
        return None
    free = [name for name in layout.names if not reading.names(name)]
    still = [name for place, name in enumerate(layout.names) if len(set(layout.column(place))) < 2]
    found = long_form_columns(free, columns.channels, layout.names[columns.clock], still)
    if found is None:
        return None
    tag, value = found
    return tag, (tag, *qualities, *(name for name in columns.channels if name not in (value, *qualities)))


def refuse_taking_turns(layout: Layout, columns: Columns, reading: Reading) -> None:
    """Refuse a table in which rows of several recordings, or of several sensors, share each time.

    Either each time of the clock has as many rows as a column has values, with the same values at nearly all times; or
    all rows of one time differ in a column of words, of which few stand only once. A counter of frames that repeats is
    such a clock too. Columns that the user leaves out are not looked at.
    """
    _refuse_alternating(layout, columns, reading)
    counter = next((place for place, name in enumerate(layout.names) if plain_name(name)[0] in _FRAME_NAMES), None)
    clock = counter if columns.clock is None else columns.clock
    if clock is None:
        return
    when = (clock,) if columns.day is None else (columns.day, clock)
    rows = [row for row in layout.rows if len(row) == len(layout.names)]
    tellers = _tellers(layout, columns, reading) if columns.clock is not None else []
    words = [place for place in range(len(layout.names)) if place != clock and _holds_words(layout, place, reading)]
    for teller in dict.fromkeys((*tellers, *words)):
        at_each = [[row[teller] for row in group] for _, group in groupby(rows, lambda row: [row[at] for at in when])]
        inner = at_each[1:-1] if len(at_each) > _LEAST_TIMES else at_each
        if any(len(set(cells)) < len(cells) for cells in inner):
            continue
        sets = [frozenset(cells) for cells in inner]
        usual = max(sets, key=sets.count)
        is_regular = len(inner) >= _LEAST_TIMES and len(usual) > 1 and sets.count(usual) >= _LEAST_ALIKE * len(sets)
        n_shared = sum(len(cells) - 1 for cells in at_each)
        if not is_regular and not (n_shared >= _FEWEST_STEPS and teller in words):
            continue
        name, who = layout.names[teller], listed(sorted(frozenset().union(*at_each)), 4)
        channels = [place for place in columns.positions if place not in (teller, counter)]
        if len(_moving(layout, channels)) == 1:
            raise RecordingError(f"each time has one reading per row, for {who} in column '{name}'; {ways_apart(name)}")
        raise RecordingError(
            f"rows of several recordings share each time: {who} in column '{name}'; --split-by {name!r} takes them "
            f"apart, --label-column {name!r} reads them as one"
        )


def _moving(layout: Layout, places: Sequence[int]) -> list[int]:
    """The columns whose first cells are not all alike."""
    return [place for place in places if len(set(layout.column(place))) > 1]


def _refuse_alternating(layout: Layout, columns: Columns, reading: Reading) -> None:
    """Refuse rows that change from one person or machine to another again and again, whatever their times are."""
    for place, name in enumerate(layout.names):
        cells = layout.column(place)
        is_free = place != columns.clock and not reading.names(name) and plain_name(name)[0] in TELLER_NAMES
        if not is_free or len(cells) < len(layout.rows) or 2 * len(set(cells)) > len(cells):
            continue
        turns = [cell for cell, _ in groupby(cells)]
        are_ids = not any(layout.is_number(cell) and not cell.isdecimal() for cell in set(cells))
        if are_ids and len(turns) - len(set(cells)) >= _MOST_TURNS * len(cells):
            who, signals = listed(sorted(set(cells)), 4), [at for at in columns.positions if at != place]
            if len(_moving(layout, signals)) == 1:
                raise RecordingError(f"each row is one reading, for {who} in column '{name}'; {ways_apart(name)}")
            raise RecordingError(
                f"rows of several recordings take turns: {who} in column '{name}'; "
                f"--split-by {name!r} takes them apart, --label-column {name!r} reads them as one"
            )


def _holds_words(layout: Layout, place: int, reading: Reading) -> bool:
    """Whether a column holds words, of which some come again."""
    cells = layout.column(place)
    few = len(set(cells)) <= _MOST_WORDS * len(cells)
    is_named = reading.names(layout.names[place])
    return few and not is_named and not any(is_number(one) or is_date(one) or is_time_of_day(one) for one in cells)


def after_going_back(
    times: Times, layout: Layout, columns: Columns, reading: Reading, cells_of: Callable[[int], Sequence[str]]
) -> str:
    """What to do about a clock that was started again, or "" where rows are out of order in another way.

    `cells_of` gives all cells of a column: no column is named in which the clock would still go back.
    """
    steps = np.diff(times)
    back = -steps[steps < 0]
    far = _FAR_BACK * float(np.median(np.abs(steps))) if steps.size else 0.0
    is_restart = back.size and (back > far).all() and (np.abs(back - _HOUR_S) > far).all()  # no end of summer time
    if columns.clock is None or not is_restart or back.size > _MOST_RESTARTS * times.size:
        return ""
    clock = layout.names[columns.clock]
    places = [place for place in _tellers(layout, columns, reading) if place not in columns.positions]
    tellers = [layout.names[place] for place in places if _rises_in_each(times, cells_of(place))][:1]
    if tellers and len(columns.channels) == 1:
        return f"; if it holds one reading per row, {ways_apart(tellers[0])}"
    ways = [f"--split-by {name!r} takes recordings apart" for name in tellers[:1]]
    pieces = np.split(np.arange(times.size), 1 + np.flatnonzero(steps < 0))
    has_pieces = columns.day is None and clock and min(map(len, pieces)) > 1
    ways += [f"--split-by {clock!r} cuts wherever the clock goes back"] if has_pieces else []
    return f"; {', '.join(ways)}" if ways else ""


def _rises_in_each(times: Times, cells: Sequence[str]) -> bool:
    """Whether the clock rises in the rows of each value, of which each has several."""
    if len(cells) != times.size:
        return False
    _, codes, counts = np.unique(np.asarray(cells, np.str_), return_inverse=True, return_counts=True)
    order = np.argsort(codes, kind="stable")
    steps, is_same = np.diff(times[order]), np.diff(codes[order]) == 0
    return bool((steps[is_same] > 0).all() and counts.min() > 1)


def _tellers(layout: Layout, columns: Columns, reading: Reading) -> list[int]:
    """Columns that may tell recordings apart: words or whole numbers, of which there are fewer than half as rows.

    The column of the animal comes first.
    """
    found = []
    for place, name in enumerate(layout.names):
        if place in (columns.clock, columns.day) or not name or reading.names(name):
            continue
        cells = layout.column(place)
        is_able = len(cells) == len(layout.rows) and 2 * len(set(cells)) <= len(cells)
        if is_able and not any(layout.is_number(cell) and not cell.isdecimal() for cell in cells):
            found.append(place)
    return sorted(found, key=lambda place: layout.names[place] != _ANIMAL)
