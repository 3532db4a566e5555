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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.known_channels import BEYOND_ALL, CODES, FAR
from rondo.data.recording import Recording, Values
from rondo.files.reading import KnownColumn, listed
from rondo.wording import counted

# ----------------------------------------------------------------
# Numbers that stand for "no value": -200, -999, 9999 and the like, found by what they are and by where they lie.
#
# Such a code is the lowest or the highest value of its channel, stands there several times to the last digit, and
# nothing lies between it and the rest. A sensor at the end of its range is no such case: its other values come near to
# that end. Neither is a switch or a pulse: only numbers that programs are known to write are taken, or those a
# thousand times farther away than the rest is wide. Missing values are then treated as any others (`rondo.data.gaps`).

_FEWEST = 3  # times that a code stands there
_FEWEST_OTHERS = 10  # different values beside it: fewer are levels, of which one may be far
_NEAR_END = 5.0  # times as wide as the nearest twentieth of the rest: there the rest has ended
_MOST_MISSING = 0.5  # of a channel; with more it would make most rows gaps


class MissingCode(NamedTuple):
    """A number that stands for no value, how often, and what the other values lie between."""

    code: float
    n_rows: int
    low: float
    high: float


def without_missing_codes(
    recording: Recording, kept: Set[str] = frozenset(), stay: Set[str] = frozenset()
) -> Recording:
    """The recording with codes of missing values made missing, and a note on each channel that has some.

    `kept` are taken as they are; `stay` are channels however little is left of them, for a model has them.
    """
    found = {}
    for place, name in enumerate(recording.channels):
        if name not in kept and (codes := missing_codes(recording.values[:, place])):
            found[place] = codes
    if not found:
        return recording
    values, dropped, notes = recording.values.copy(), [], []
    for place, codes in found.items():
        column, name = values[:, place], recording.channels[place]
        column[np.isin(column, [code.code for code in codes])] = np.nan
        is_rare = np.isnan(column).mean() > _MOST_MISSING
        is_useless = is_rare and len(found) < recording.n_channels and name not in stay
        dropped += [place] if is_useless else []
        notes += [_code_note(name, code, recording.n_frames, is_useless) for code in codes]
    every = [(recording.channels[place], code.code) for place, own in found.items() for code in own]
    repaired = recording.with_values(values, every)
    return (repaired.without(dropped) if dropped else repaired).noted(*notes)


def missing_codes(column: Values) -> list[MissingCode]:
    """The codes of a channel: the lowest value, the highest, or both.

    >>> column = np.array([0.5, 1.25, 2, -200, 3, 2.5, -200, 1, 0.75, 1.5, -200, 3.5, 2.25], np.float32)
    >>> missing_codes(column)
    [MissingCode(code=-200.0, n_rows=3, low=0.5, high=3.5)]
    """
    given = column[np.isfinite(column)]
    found: list[MissingCode] = []
    for _ in range(2):  # -200 and -999 in one channel are two
        for end in (np.min, np.max):
            code = _code_at(given, np.float32(end(given)) if given.size else np.float32(0))
            if code is not None:
                found.append(code)
                given = given[given != np.float32(code.code)]
    return found


def _code_at(given: Values, extreme: np.float32) -> MissingCode | None:
    """The extreme value as a code, if it is one."""
    is_known = bool(np.isclose(CODES, extreme, rtol=1e-6, atol=0).any())
    n_rows = int(np.count_nonzero(given == extreme))
    if n_rows < _FEWEST:
        return None
    rest = np.sort(given[(given != extreme) & ~np.isin(given, CODES)].astype(np.float64))  # two codes hide each other
    if rest.size < _FEWEST_OTHERS:
        return None
    rest = rest if extreme < rest[0] else rest[::-1]  # from the code on
    gap, width = abs(float(rest[0]) - float(extreme)), abs(float(rest[-1] - rest[0]))
    if width == 0 or np.unique(rest).size < _FEWEST_OTHERS:
        return None
    end = abs(float(rest[rest.size // 20] - rest[0]))
    is_apart = gap > FAR * width and gap > _NEAR_END * end
    if not (is_known and is_apart) and gap < BEYOND_ALL * width:
        return None
    return MissingCode(float(extreme), n_rows, float(rest.min()), float(rest.max()))


def _code_note(name: str, found: MissingCode, n_frames: int, is_useless: bool) -> str:
    rest = f"the rest is {found.low:g} to {found.high:g}"
    back = f"--keep-column {name!r} takes them as they are"
    if is_useless:
        share = f"{found.n_rows / n_frames:.0%} of its values are {found.code:g}"
        return f"column '{name}' left out: {share}, read as missing ({rest}); {back}"
    return f"{counted(found.n_rows, 'value')} of {found.code:g} in '{name}' read as missing ({rest}); {back}"


# ----------------------------------------------------------------
# Poses (DeepLabCut, SLEAP): how sure a tracker is of a point says where it is missing, and is no channel.
#
# `nose.x, nose.y, nose.likelihood` (DeepLabCut; `score` in SLEAP). Below the threshold that the program itself uses by
# default (0.6 of DeepLabCut's p-cutoff, 0.2 of SLEAP's peaks) both coordinates are missing. Points that never move, as
# corners of the arena, are left out: jitter of a corner is no behaviour.

_THRESHOLDS = {"likelihood": 0.6, "score": 0.2}
_AXES = ("x", "y", "z")
_STILL = 0.05  # of the usual range of a point: less is jitter
_FEWEST_MOVING = 2  # points, before another is judged to be still
_MOST_MISSING_POINTS = 0.5  # of a point


class _Point(NamedTuple):
    name: str
    sure: int  # the place of the column that says how sure the tracker is
    axes: tuple[int, ...]
    threshold: float


class KnownPoint(NamedTuple):
    """A point whose coordinates are channels of a model, and the column that says how sure a tracker is of it."""

    column: str
    threshold: float
    axes: tuple[int, ...]  # their places among the channels


def points_of(channels: Sequence[str]) -> tuple[KnownPoint, ...]:
    """The points of a model by the names of its channels; a column that is a channel itself says nothing of others.

    >>> points_of(["nose.x", "nose.y", "speed"])[0]
    KnownPoint(column='nose.likelihood', threshold=0.6, axes=(0, 1))
    """
    place_of = {name: place for place, name in enumerate(channels)}
    points = dict.fromkeys(name.rpartition(".")[0] for name in channels)
    axes_of = {
        point: tuple(place_of[f"{point}.{axis}"] for axis in _AXES if f"{point}.{axis}" in place_of) for point in points
    }
    return tuple(
        KnownPoint(f"{point}.{word}", threshold, axes)
        for point, axes in axes_of.items()
        for word, threshold in _THRESHOLDS.items()
        if len(axes) > 1 and f"{point}.{word}" not in place_of
    )


def is_doubtful(sure: Values, threshold: float) -> NDArray[np.bool_]:
    """Where a tracker is not sure enough; what is missing or below 0 says nothing."""
    with np.errstate(invalid="ignore"):
        return (sure >= 0) & (sure < threshold)


def without_likelihoods(recording: Recording, kept: Set[str] = frozenset()) -> Recording:
    """The recording with doubtful points missing, without likelihoods and without points that stand still.

    `kept` are columns that are channels: their points stay, and likelihoods that are kept mask nothing.
    """
    points = [point for point in _points(recording) if recording.channels[point.sure] not in kept]
    if not points:
        return recording
    values = recording.values.copy()
    for point in points:
        values[np.ix_(is_doubtful(values[:, point.sure], point.threshold), np.array(point.axes))] = np.nan
    open_to_doubt = [point for point in points if not any(recording.channels[axis] in kept for axis in point.axes)]
    rarely = [point for point in open_to_doubt if np.isnan(values[:, point.axes]).mean() > _MOST_MISSING_POINTS]
    rarely = [] if len(rarely) == len(points) else rarely
    still = _still(values, [point for point in points if point not in rarely])
    still = [point for point in still if point in open_to_doubt]
    masked = int(sum(np.isnan(values[:, point.axes]).any(axis=1).sum() for point in points if point not in rarely))
    notes = [
        f"{listed([recording.channels[point.sure] for point in points], 3)}: how sure the tracker is, and no channel"
    ]
    notes[0] += f"; {masked:,} points below {points[0].threshold:g} are missing"
    notes += [f"point '{point.name}' left out: it is seen in less than half of the rows" for point in rarely]
    notes += [f"point '{point.name}' left out: it never moves" for point in still]
    dropped = {point.sure for point in points} | {axis for point in (*rarely, *still) for axis in point.axes}
    whole = recording.with_values(values)
    back = f"; --keep-column {recording.channels[points[0].sure]!r} keeps a column as it is"
    return whole.without(sorted(dropped)).noted(notes[0] + back, *notes[1:])


def _points(recording: Recording) -> list[_Point]:
    """Columns of one point each: coordinates and a number from 0 to 1 that says how sure the tracker is."""
    place_of = {name: place for place, name in enumerate(recording.channels)}
    found = []
    for name, place in place_of.items():
        point, _, word = name.rpartition(".")
        axes = tuple(place_of[f"{point}.{axis}"] for axis in _AXES if f"{point}.{axis}" in place_of)
        if word not in _THRESHOLDS or len(axes) < 2:
            continue
        given = recording.values[:, place][~np.isnan(recording.values[:, place])]
        if given.size and given.min() >= 0 and given.max() <= 1.001:
            found.append(_Point(point, place, axes, _THRESHOLDS[word]))
    return found


def _still(values: np.ndarray, points: list[_Point]) -> list[_Point]:
    """Points whose coordinates stay within a fraction of the range that the others have."""
    ranges = []
    for point in points:
        given = values[:, point.axes][~np.isnan(values[:, point.axes]).any(axis=1)]
        low, high = np.percentile(given, (5, 95), axis=0) if len(given) else (np.zeros(1), np.zeros(1))
        ranges.append(float((high - low).max()))
    widest = max(ranges, default=0.0)
    still = [point for point, own in zip(points, ranges, strict=True) if own < _STILL * widest]
    return still if len(points) - len(still) >= _FEWEST_MOVING else []


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
