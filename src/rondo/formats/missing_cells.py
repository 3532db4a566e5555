"""MissingCells: which cells of the channels that a model knows are missing. Each cell by itself, whatever comes later.

- Numbers that are missing in a channel, by the recordings that the model was fitted on (`known_values`).
- Points of a pose of which the tracker is not sure (`pose_points`): both coordinates, where `nose.likelihood` is below
  its threshold in the same row. What is outside 0 to 1 is no likelihood.

So a row means the same in a stored file and in a stream, in text, JSON or Parquet. Columns that the user keeps are
taken as they are.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording, Values
from rondo.formats.kept_columns import KnownColumn, listed
from rondo.formats.missing_codes import missing_codes
from rondo.formats.pose_points import KnownPoint, is_doubtful, points_of
from rondo.wording import counted


@dataclass(frozen=True)
class MissingCells:
    """The numbers that are missing in each channel, and the points whose columns say how sure a tracker is."""

    channels: tuple[str, ...]
    numbers: tuple[tuple[float, ...], ...]
    points: tuple[KnownPoint, ...] = ()

    @classmethod
    def of(cls, known: Sequence[KnownColumn], kept: Set[str] = frozenset()) -> MissingCells:
        """For the channels of a model, but for columns that are taken as they are."""
        channels = tuple(map(str, known))
        numbers = tuple(() if str(name) in kept else name.missing or () for name in known)
        return cls(channels, numbers, tuple(point for point in points_of(channels) if point.column not in kept))

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns that are read beside the channels, where they are there."""
        return tuple(point.column for point in self.points)

    def read(self, values: Values, beside: NDArray[np.float32] | None = None) -> tuple[Values, NDArray[np.int64]]:
        """Rows with NaN in missing cells, and how many those are in each channel; NaN that was there does not count.

        `beside` has the columns of that name, NaN where there is none.
        """
        missing = self._by_number(values)
        for place, point in enumerate(() if beside is None else self.points):
            assert beside is not None
            missing[np.ix_(is_doubtful(beside[:, place], point.threshold), np.array(point.axes))] = True
        missing &= ~np.isnan(values)
        if not missing.any():
            return values, np.zeros(len(self.channels), np.int64)
        repaired = values.copy()
        repaired[missing] = np.nan
        return repaired, missing.sum(axis=0)

    def _by_number(self, values: Values) -> NDArray[np.bool_]:
        missing = np.zeros(values.shape, np.bool_)
        every = np.array(sorted({number for own in self.numbers for number in own}), np.float32)
        suspects = np.flatnonzero(np.isin(values, every).any(axis=0)) if every.size else every
        for place in suspects.astype(np.intp).tolist():
            missing[:, place] = np.isin(values[:, place], np.array(self.numbers[place], np.float32))
        return missing


def without_known_doubts(recording: Recording, known: Sequence[KnownColumn], kept: Set[str] = frozenset()) -> Recording:
    """The recording with the points of a model missing where the tracker is not sure, and without its likelihoods."""
    cells = MissingCells.of([KnownColumn(name) for name in known if name in recording.channels], kept)
    points = tuple(point for point in cells.points if point.column in recording.channels)
    if not points:
        return recording
    place_of = {name: place for place, name in enumerate(recording.channels)}
    places, beside = [place_of[name] for name in cells.channels], [place_of[point.column] for point in points]
    own = replace(cells, points=points)
    values, _ = own.read(recording.values[:, places], recording.values[:, beside])
    repaired = recording.values.copy()
    repaired[:, places] = values
    doubts = [is_doubtful(recording.values[:, place_of[point.column]], point.threshold) for point in points]
    note = (
        f"{listed(own.beside, 3)}: how sure the tracker is, and no channel; {int(np.sum(doubts)):,} points below "
        f"{points[0].threshold:g} are missing; --keep-column {points[0].column!r} keeps a column as it is"
    )
    return recording.with_values(repaired).without(beside).noted(note)


def without_known_codes(recording: Recording, known: Sequence[KnownColumn], kept: Set[str] = frozenset()) -> Recording:
    """The recording with the numbers missing that a model knows as such, and a note on each channel that has some.

    Columns without names go by position, as the model takes them.
    """
    names = _names_by_model(recording, known)
    own = [name for name in known if name.missing is not None and str(name) not in kept and str(name) in names]
    places = [names.index(str(name)) for name in own]
    values, counts = MissingCells.of(own).read(recording.values[:, places])
    notes = []
    for place, name, column, n_missing in zip(places, own, values.T, counts.tolist(), strict=True):
        before = recording.values[:, place]
        if n_missing:
            notes.append(_note(recording.channels[place], before[np.isnan(column) & ~np.isnan(before)]))
        notes += [
            f"{counted(code.n_rows, 'value')} of {code.code:g} in '{name}' may stand for no value (the rest is "
            f"{code.low:g} to {code.high:g}), but not by what the model was fitted on: taken as they are"
            for code in missing_codes(column)
        ]
    if not counts.any():
        return recording.noted(*notes) if notes else recording
    repaired = recording.values.copy()
    repaired[:, places] = values
    return recording.with_values(repaired).noted(*notes)


def _names_by_model(recording: Recording, known: Sequence[KnownColumn]) -> tuple[str, ...]:
    """What the model calls the channels."""
    channels = tuple(map(str, known))
    by_position = recording.is_unnamed and set(recording.channels) != set(channels)
    return channels if by_position and recording.n_channels == len(channels) else recording.channels


def _note(name: str, numbers: NDArray[np.float32]) -> str:
    shown = ", ".join(f"{number:g}" for number in np.unique(numbers)[:4])
    return (
        f"{counted(numbers.size, 'value')} of {shown} in '{name}' read as missing, by what the model was fitted on; "
        f"--keep-column {name!r} takes them as they are"
    )
