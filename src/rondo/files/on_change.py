"""Values that a logger writes when they change: the last one is held.

Either a row is left out where nothing changed, so that the steps of a slow clock are one, two, five times the usual
step while no two rows in turn are equal; or a cell is empty, so that a column has values now and then, each unlike the
one before. A sensor that is slower than the others, but regular, is no such case: it is interpolated.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rondo.arrays import Floats
from rondo.data.recording import Recording, Values
from rondo.files.reading import listed
from rondo.wording import counted, duration_in_words, every_in_words

_FEWEST_ROWS = 64
_LEAST_STEP_S = 1.0  # faster rows that are missing were lost
_LEAST_LEFT_OUT, _MOST_LEFT_OUT = 0.03, 0.6  # of the steps are longer than the usual one
_LEAST_WHOLE = 0.95  # of the steps are whole multiples of it
_LONGEST_HELD = 30  # usual steps
_LEAST_CHANGES = 0.98  # of the rows differ from the row before
_FEWEST_VALUES, _MOST_STATES = 16, 8
_LEAST_EMPTY = 0.3  # of the cells of a column
_UNEVEN = 1.5  # times the usual distance of two values: a tenth of them are farther apart


def held_on_change(recording: Recording) -> Recording:
    """The recording with values held where a row or a cell is left out because nothing changed, and a note.

    >>> times = 60.0 * np.cumsum(np.tile([1, 1, 1, 2, 1, 1, 1, 4], 10))
    >>> held = held_on_change(Recording(np.arange(80.0) % 7, timestamps_s=times))
    >>> held.n_frames, held.rate, held.values[:6, 0].tolist()
    (120, 0.0166666667, [0.0, 1.0, 2.0, 2.0, 3.0, 4.0])
    """
    if recording.n_frames < _FEWEST_ROWS or recording.timestamps_s is None:
        return recording
    return _with_rows_held(_with_cells_held(recording), recording.timestamps_s)


def _with_rows_held(recording: Recording, clock: Floats) -> Recording:
    steps = np.diff(clock)
    usual = float(np.median(steps))
    if usual < _LEAST_STEP_S:
        return recording
    times = np.rint(steps / usual)
    is_whole = np.abs(steps / usual - times) <= 0.02
    left_out = float((times > 1).mean())
    is_candidate = is_whole.mean() >= _LEAST_WHOLE and _LEAST_LEFT_OUT <= left_out <= _MOST_LEFT_OUT
    if not is_candidate or _share_of_changes(recording.values) < _LEAST_CHANGES:
        return recording
    repeats = np.where(is_whole & (times >= 1) & (times <= _LONGEST_HELD), times, 1).astype(np.int64)
    repeats = np.append(repeats, 1)
    first = np.repeat(np.cumsum(repeats) - repeats, repeats)
    place = np.arange(first.size) - first
    held = np.repeat(clock, repeats) + usual * place
    longest = duration_in_words(usual * int(repeats.max()))
    note = (
        f"rows are left out now and then, as where only changes are written: {recording.n_frames:,} rows are "
        f"{counted(first.size, 'frame')} every {every_in_words(usual)}, the last value held for up to {longest}"
    )
    values = np.repeat(recording.values, repeats, axis=0)
    return replace(recording, values=values, timestamps_s=held, rate=None).noted(note)


def _with_cells_held(recording: Recording) -> Recording:
    columns = [c for c in range(recording.n_channels) if _reports_on_change(recording.values[:, c])]
    if not columns:
        return recording
    values = recording.values.copy()
    rows = np.arange(recording.n_frames)
    for column in columns:
        latest = np.maximum.accumulate(np.where(np.isnan(values[:, column]), -1, rows))
        first = int(np.argmax(latest >= 0))
        values[first:, column] = values[latest[first:], column]
    names = listed([recording.channels[c] for c in columns], 4)
    return recording.with_values(values).noted(
        f"{names}: empty now and then, as where only changes are written; the last value is held"
    )


def _reports_on_change(column: Values) -> bool:
    given = np.flatnonzero(~np.isnan(column))
    if given.size < 2 or given.size > (1 - _LEAST_EMPTY) * column.size:
        return False
    kept, apart = column[given], np.diff(given)
    if given[0] == 0 and np.unique(kept).size <= _MOST_STATES and (kept == np.rint(kept)).all():
        return bool((kept[1:] != kept[:-1]).all())  # of a switch
    if given.size < _FEWEST_VALUES:
        return False
    is_uneven = np.quantile(apart, 0.9) >= _UNEVEN * np.median(apart)
    return bool(is_uneven and _share_of_changes(kept[:, None]) >= _LEAST_CHANGES)


def _share_of_changes(values: Values) -> float:
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    return 1.0 - float(same.all(axis=1).mean())
