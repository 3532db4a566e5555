"""Missing cells: numbers that stand for "no value", and points of a pose of which the tracker is not sure.

In the channels of a model both are settled cell by cell (`MissingCells`), so that a row means the same in a stored file
and in a stream; in other channels codes are found by looking at the whole column. Columns that the user keeps are taken
as they are.

A code (-200, -999, 9999 and the like) is the lowest or the highest value of its channel, stands there several times to
the last digit, and nothing lies between it and the rest. A sensor at the end of its range is no such case: its other
values come near to that end. Neither is a switch or a pulse: only numbers that programs are known to write are taken,
or those a thousand times farther away than the rest is wide.

Trackers of poses say how sure they are of a point: `nose.x, nose.y, nose.likelihood` (DeepLabCut; `score` in SLEAP,
`Nose_x, Nose_y, Nose_p` in SimBA).
Below the threshold that the program itself uses by default (0.6 of DeepLabCut's p-cutoff, 0.2 of SLEAP's peaks) both
coordinates are missing. Points that never move are left out: jitter of a corner of the arena is no behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.body import BodyPoint
from rondo.data.known_channels import BEYOND_ALL, CODES, FAR, KnownChannel
from rondo.data.precision import less
from rondo.data.recording import Recording, Values
from rondo.files.reading import Reading, listed
from rondo.wording import counted, noun

_FEWEST = 3  # times that a code stands there
_FEWEST_OTHERS = 10  # different values beside it: fewer are levels, of which one may be far
_NEAR_END = 5.0  # times as wide as the nearest twentieth of the rest: there the rest has ended
_MOST_MISSING = 0.5  # of a channel or a point; with more it would make most rows gaps
_SURE = {  # how coordinates and certainty are named, with the threshold
    ".": {"likelihood": 0.6, "score": 0.2},
    "_": {"p": 0.6, "likelihood": 0.6, "score": 0.2},  # SimBA: Nose_x, Nose_y, Nose_p
}
_STILL = 0.05  # of the usual range of a point: less is jitter
_SMOOTHED = 0.2  # beyond 0 and 1: SimBA smooths certainties as it does coordinates, up to 1.12 in its samples
_FEWEST_MOVING = 2  # points, before another is judged to be still


class MissingCode(NamedTuple):
    """A number that stands for no value, how often, and what the other values lie between."""

    code: float
    n_rows: int
    low: float
    high: float


def with_codes_missing(recording: Recording, reading: Reading) -> Recording:
    """The recording with codes of missing values made missing, and a note on each channel that has some.

    In the channels of a model the numbers are missing that the model knows, and no others.
    """
    recording = _with_known_codes_missing(recording, reading)
    settled = {channel.name for channel in reading.known if channel.missing is not None}
    if recording.is_unnamed and len(settled) == recording.n_channels:  # they go by position
        return recording
    codes_of = {
        place: codes
        for place, name in enumerate(recording.channels)
        if name not in reading.keep and name not in settled and (codes := missing_codes(recording.values[:, place]))
    }
    if not codes_of:
        return recording
    values, dropped, notes = recording.values.copy(), [], []
    for place, codes in codes_of.items():
        column, name = values[:, place], recording.channels[place]
        column[np.isin(column.astype(np.float32), [code.code for code in codes])] = np.nan
        is_rare = np.isnan(column).mean() > _MOST_MISSING
        is_useless = is_rare and len(codes_of) < recording.n_channels and not reading.keeps(name)
        dropped += [place] if is_useless else []
        notes += [_code_note(name, code, recording.n_frames, is_useless) for code in codes]
    found = [(recording.channels[place], code.code) for place, codes in codes_of.items() for code in codes]
    repaired = recording.with_values(values, found)
    return (repaired.without(dropped) if dropped else repaired).noted(*notes)


def _with_known_codes_missing(recording: Recording, reading: Reading) -> Recording:
    """The numbers missing that the model knows as such; columns without names go by position."""
    names = recording.channels
    if recording.is_unnamed and set(names) != set(reading.known_names) and len(names) == len(reading.known):
        names = reading.known_names
    known = [
        channel
        for channel in reading.known
        if channel.missing is not None and channel.name not in reading.keep and channel.name in names
    ]
    places = [names.index(channel.name) for channel in known]
    values, counts = MissingCells.of(known).read(recording.values[:, places])
    notes = []
    for place, channel, column, n_missing in zip(places, known, values.T, counts.tolist(), strict=True):
        before, name = recording.values[:, place], recording.channels[place]
        if n_missing:
            numbers = np.unique(before[np.isnan(column) & ~np.isnan(before)])[:4]
            notes.append(
                f"{counted(n_missing, 'value')} of {', '.join(f'{number:g}' for number in numbers)} in '{name}' read "
                f"as missing, by what the model was fitted on; --keep-column {name!r} takes them as they are"
            )
        notes += [
            f"{counted(code.n_rows, 'value')} of {code.code:g} in '{channel.name}' may stand for no value (the rest is "
            f"{code.low:g} to {code.high:g}), but not by what the model was fitted on: taken as they are"
            for code in missing_codes(column)
        ]
    if not counts.any():
        return recording.noted(*notes) if notes else recording
    repaired = recording.values.copy()
    repaired[:, places] = values
    return recording.with_values(repaired).noted(*notes)


def missing_codes(column: Values) -> list[MissingCode]:
    """The codes of a channel: the lowest value, the highest, or both.

    >>> column = np.array([0.5, 1.25, 2, -200, 3, 2.5, -200, 1, 0.75, 1.5, -200, 3.5, 2.25], np.float32)
    >>> missing_codes(column)
    [MissingCode(code=-200.0, n_rows=3, low=0.5, high=3.5)]
    """
    given = column[np.isfinite(column)].astype(np.float32)
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


class Point(NamedTuple):
    """A point of a pose, the column that says how sure a tracker is of it, and the places of its coordinates."""

    name: str
    column: str
    threshold: float
    axes: tuple[int, ...]

    def is_doubtful(self, sure: Values) -> NDArray[np.bool_]:
        """Where the tracker is not sure enough; what is missing or below 0 says nothing."""
        with np.errstate(invalid="ignore"):
            return (sure >= 0) & (sure < self.threshold)


def points_of(channels: Sequence[str]) -> list[Point]:
    """The points that channels are coordinates of, by their names, whether or not their columns are there.

    >>> points_of(["nose.x", "nose.y", "speed"])[0]
    Point(name='nose', column='nose.likelihood', threshold=0.6, axes=(0, 1))
    """
    place_of = {name: place for place, name in enumerate(channels)}
    points = []
    for stem in dict.fromkeys(name[:-1] for name in channels if name[-2:-1] in _SURE and name[-1] in "xyz"):
        axes = tuple(place_of[f"{stem}{axis}"] for axis in "xyz" if f"{stem}{axis}" in place_of)
        if len(axes) > 1 and stem[:-1]:
            words = _SURE[stem[-1]].items()
            points += [Point(stem[:-1], f"{stem}{word}", least, axes) for word, least in words]
    return points


def with_doubtful_points_missing(recording: Recording, reading: Reading) -> Recording:
    """The recording with doubtful points missing, without likelihoods and without points that stand still.

    Points of a model or of columns that the user keeps stay; likelihoods that are kept mask nothing.
    """
    recording = _with_known_doubts_missing(recording, reading)
    sure_of = dict(zip(recording.channels, recording.values.T, strict=True))
    points = []
    for point in points_of(recording.channels):
        sure = sure_of.get(point.column, np.empty(0))
        sure = sure[~np.isnan(sure)]
        if _is_certainty(sure) and not reading.keeps(point.column):
            points.append(point)
    if not points:
        return recording
    values = recording.values.copy()
    for point in points:
        values[np.ix_(point.is_doubtful(sure_of[point.column]), np.array(point.axes))] = np.nan
    may_go = [point for point in points if not any(reading.keeps(recording.channels[axis]) for axis in point.axes)]
    rare = [point for point in may_go if np.isnan(values[:, point.axes]).mean() > _MOST_MISSING]
    rare = [] if len(rare) == len(points) else rare
    seen = [point for point in points if point not in rare]
    still = [seen[place] for place in still_points(values, [point.axes for point in seen]) if seen[place] in may_go]
    masked = int(sum(np.isnan(values[:, point.axes]).any(axis=1).sum() for point in points if point not in rare))
    columns = [point.column for point in points]
    notes = [_likelihood_note(columns, masked, points[0].threshold)]
    notes += _left_out([point.name for point in rare], "seen in less than half of the rows")
    notes += _left_out([point.name for point in still], "never moving")
    dropped = {recording.channels.index(column) for column in columns}
    dropped |= {axis for point in (*rare, *still) for axis in point.axes}
    left = [point for point in points if point not in rare and point not in still]
    found = tuple(BodyPoint(point.name, tuple(recording.channels[axis] for axis in point.axes)) for point in left)
    return replace(recording.with_values(values).without(sorted(dropped)).noted(*notes), points=found)


def _is_certainty(sure: Values) -> bool:
    """Whether numbers go from 0 to 1; smoothed ones may reach a little farther."""
    if not sure.size or sure.min() < -_SMOOTHED or sure.max() > 1 + _SMOOTHED:
        return False
    return bool(np.quantile(sure, 0.05) >= 0 and np.median(sure) <= 1.001)


def _left_out(names: Sequence[str], why: str) -> list[str]:
    return (
        [f"{noun(len(names), 'point', 'points')} {listed([repr(name) for name in names])} left out: {why}"]
        if names
        else []
    )


def _with_known_doubts_missing(recording: Recording, reading: Reading) -> Recording:
    """The points of a model missing where the tracker is not sure, and without its likelihoods."""
    place_of = {name: place for place, name in enumerate(recording.channels)}
    known = [KnownChannel(name) for name in reading.known_names if name in place_of]
    cells = MissingCells.of(known, frozenset(reading.keep))
    cells = replace(cells, points=tuple(point for point in cells.points if point.column in place_of))
    if not cells.points:
        return recording
    places, beside = [place_of[name] for name in cells.channels], [place_of[name] for name in cells.beside]
    repaired = recording.values.copy()
    repaired[:, places], _ = cells.read(recording.values[:, places], recording.values[:, beside])
    doubts = [point.is_doubtful(recording.values[:, place_of[point.column]]) for point in cells.points]
    note = _likelihood_note(cells.beside, int(np.sum(doubts)), cells.points[0].threshold)
    return recording.with_values(repaired).without(beside).noted(note)


def _likelihood_note(columns: Sequence[str], n_masked: int, threshold: float) -> str:
    return (
        f"{listed(columns, 3)}: how sure the tracker is, and no channel; {n_masked:,} points below {threshold:g} are "
        f"missing; --keep-column {columns[0]!r} keeps a column as it is"
    )


def still_points(values: Values, points: Sequence[tuple[int, ...]]) -> list[int]:
    """Which points, by the columns of each, stay within a fraction of the range that the others have."""
    ranges = []
    for axes in points:
        given = values[:, axes][~np.isnan(values[:, axes]).any(axis=1)]
        low, high = np.percentile(given, (5, 95), axis=0) if len(given) else (np.zeros(1), np.zeros(1))
        ranges.append(float((high - low).max()))
    widest = max(ranges, default=0.0)
    still = [place for place, width in enumerate(ranges) if width < _STILL * widest]
    return still if len(points) - len(still) >= _FEWEST_MOVING else []


@dataclass(frozen=True)
class MissingCells:
    """The numbers that are missing in each channel, and the points whose columns say how sure a tracker is."""

    channels: tuple[str, ...]
    numbers: tuple[tuple[float, ...], ...]
    points: tuple[Point, ...] = ()

    @classmethod
    def of(cls, known: Sequence[KnownChannel], kept: Set[str] = frozenset()) -> MissingCells:
        """For the channels of a model, but for columns that are taken as they are."""
        channels = tuple(channel.name for channel in known)
        numbers = tuple(() if channel.name in kept else channel.missing or () for channel in known)
        points = (point for point in points_of(channels) if point.column not in {*channels, *kept})
        return cls(channels, numbers, tuple(points))

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns that are read beside the channels, where they are there."""
        return tuple(point.column for point in self.points)

    def read(self, values: Values, beside: NDArray[np.float32] | None = None) -> tuple[Values, NDArray[np.int64]]:
        """Rows with NaN in missing cells, and how many those are in each channel; NaN that was there does not count.

        `beside` has the columns of that name, NaN where there is none.
        """
        missing = np.zeros(values.shape, np.bool_)
        every = np.array(sorted({number for numbers in self.numbers for number in numbers}), np.float32)
        single = less(values, ())
        suspects = np.flatnonzero(np.isin(single, every).any(axis=0)).tolist() if every.size else []
        for place in suspects:
            missing[:, place] = np.isin(single[:, place], np.array(self.numbers[place], np.float32))
        if beside is not None:
            for sure, point in zip(beside.T, self.points, strict=True):
                missing[np.ix_(point.is_doubtful(sure), np.array(point.axes))] = True
        missing &= ~np.isnan(values)
        if not missing.any():
            return values, np.zeros(len(self.channels), np.int64)
        repaired = values.copy()
        repaired[missing] = np.nan
        return repaired, missing.sum(axis=0)
