"""Columns of numbers that look like codes of classes: labels that no name gives away.

A sensor that is read so often that it stays on one whole number for many rows passes through the numbers between on
its way to another. Codes have no between: they jump. So of the columns with few whole numbers in long runs, those that
jump are left out where they have no name of their own, and all others are kept with a warning: a switch, a gear or a
battery looks the same, and may well be wanted. `docs/limits.md` says what this catches and what it costs.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording, Values
from rondo.formats.columns import listed

_FEW_VALUES, _LONG_RUN = 25, 50  # of what is suspected
_MOST_CODES, _ROWS_OF_A_CODE = 64, 25  # Drive&Act has up to 36 in one recording; runs of OpenPack's actions are 47 rows
_SHORT_RUN = 5  # rows; where a quarter of the runs are shorter, these are counts of rare events
_LEAST_SKIPPING, _LEAST_JUMP = 0.05, 0.3  # USC-HAD has 0.07 and 0.39, heart rates have jumps of 0.2 or less
_ROWS_LOOKED_AT = 1 << 14  # before the whole column is
_NAMED_BY_POSITION = re.compile(r"(ch|var|v|column ?|unnamed: ?)?\d+", re.IGNORECASE)  # by us, MATLAB, R, pandas


@dataclass(frozen=True)
class _Runs:
    """A column as stretches of one value each: the different values, the place of each run's value among them."""

    values: Values
    ranks: NDArray[np.intp]
    lengths: NDArray[np.intp]  # rows

    @property
    def are_whole(self) -> bool:
        return bool((self.values == np.rint(self.values)).all())


def without_codes(recording: Recording, keep: Set[str] = frozenset()) -> Recording:
    """The recording without columns that have no name and jump as codes do, and with a note on each that is suspect.

    Where nothing else would be left, all are kept; so are those that the user says are channels.
    """
    found = {
        place: runs
        for place, runs in enumerate(map(_runs, recording.values.T))
        if runs is not None and recording.channels[place] not in keep
    }
    unnamed = [place for place, runs in found.items() if _jumps(runs) and _is_unnamed(recording.channels[place])]
    left_out = unnamed if len(found) < recording.n_channels else []
    if not found:
        return recording
    notes = [_left_out(recording.channels[place], found[place]) for place in left_out]
    notes += [_suspected(recording.channels[place], found[place]) for place in found if place not in left_out]
    return (recording.without(left_out) if left_out else recording).noted(*notes)


def _is_unnamed(channel: str) -> bool:
    return _NAMED_BY_POSITION.fullmatch(channel) is not None


def _runs(column: Values) -> _Runs | None:
    """The runs of a column that holds a few whole numbers in long runs, labels perhaps; None for any other."""
    beginning = _labelled(column[:_ROWS_LOOKED_AT])
    if np.count_nonzero(beginning[1:] != beginning[:-1]) > 2 * _ROWS_LOOKED_AT / _ROWS_OF_A_CODE:
        return None  # as of nearly all channels
    column = _labelled(column)
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    if not 1 < starts.size <= column.size / _ROWS_OF_A_CODE:
        return None
    values, ranks = np.unique(column[starts], return_inverse=True)
    runs = _Runs(values, ranks, np.diff(starts, append=column.size))
    if not runs.are_whole or values.size > _MOST_CODES:
        return None
    is_few = values.size <= _FEW_VALUES and starts.size <= column.size / _LONG_RUN - 1
    return runs if is_few or _jumps(runs) else None


def _labelled(column: Values) -> Values:
    """Without missing values: a row without a label ends no run."""
    return column[~np.isnan(column)]


def _jumps(runs: _Runs) -> bool:
    """Whether the values follow each other as codes do, and not as readings of something that moves.

    With r_i the rank of the value of run i: some |r_{i+1} - r_i| skip values, and their mean is not small against the
    mean of |r_i - r_j| over all pairs of runs that differ, which is what a shuffled order would have.

    >>> def jumps(order: list[int]) -> bool:
    ...     values, ranks = np.unique(np.array(order, np.float32), return_inverse=True)
    ...     return _jumps(_Runs(values, ranks, np.full(len(order), 100)))
    >>> jumps([0, 3, 1, 3, 0, 7]), jumps([1, 2, 3, 4, 3, 2, 3, 4]), jumps([0, 1, 0, 1])
    (True, False, False)
    """
    if runs.values.size < 3 or np.percentile(runs.lengths, 25) < _SHORT_RUN:
        return False
    steps = np.abs(np.diff(runs.ranks))
    counts = np.bincount(runs.ranks).astype(np.float64)
    apart = np.abs(np.subtract.outer(np.arange(counts.size), np.arange(counts.size)))
    pairs = np.outer(counts, counts) * (apart > 0)
    shuffled = (pairs * apart).sum() / pairs.sum()
    return bool((steps > 1).mean() >= _LEAST_SKIPPING and steps.mean() >= _LEAST_JUMP * shuffled)


def _left_out(name: str, runs: _Runs) -> str:
    return (
        f"column '{name}' left out: it has no name, and jumps between {runs.values.size} whole numbers "
        f"({_in_short(runs)}) as labels do; give the columns names if it is a channel"
    )


def _suspected(name: str, runs: _Runs) -> str:
    return (
        f"column '{name}' holds a few whole numbers in long runs ({_in_short(runs)}): "
        f"if these are labels, leave it out with --label-column {name!r}"
    )


def _in_short(runs: _Runs) -> str:
    return listed([f"{value:g}" for value in runs.values], 4)
