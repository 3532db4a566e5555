"""Tables in long form: one reading per row, the sensor's name in a column, as historians and databases export them.

    timestamp,tag,value,quality
    2026-11-15 20:31:05,FI-103,12.5,Good
    2026-11-15 20:31:09,PI-102,3.1,Good

Each tag becomes a channel. Where all tags report together, each time is a frame. Where they report on change, or at
rates of their own, frames lie on an even grid as coarse as the reports of the busiest tag, or of `reading.rate`; a tag
keeps its last value until it reports again. Readings of bad quality, and words such as `I/O Timeout`, are missing until
the next good one. A silence of all tags that is far longer than any usual one stays a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints
from rondo.errors import RecordingError
from rondo.files.clock_repair import MOST_MISPLACED, RowName, frame_name, rising
from rondo.files.column_values import ID_NAMES, QUALITY_NAMES, TAG_GROUP_NAMES, TAG_NAMES, VALUE_NAMES
from rondo.files.reading import Reading, listed
from rondo.files.text.clock import over_midnight, plain_name, spread
from rondo.memory import refuse_large_array
from rondo.wording import counted, every_in_words, noun

_BAD_WORDS = ("bad", "uncertain", "invalid", "0x80", "comm fail", "timeout", "no data")
_GOOD_OPC, _BAD_OPC = 192.0, 64.0
_LEAST_FILLED = 0.9  # of the cells: tags that report together leave out a few readings
_MOST_TWICE = 0.01  # of the rows: more readings of a tag at one time are those of a coarse clock
_MOST_WORDS = 0.5  # of a tag's readings: with more of them it is no channel
_MOST_TAGS = 5_000
_SILENT_STEPS, _SILENT_TIMES = 100, 20  # frames, and usual steps between two reports: what lasts longer is a gap
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800)


@dataclass
class Reports:
    """The rows of a long table: when, of which tag, the numbers (n, n_columns), and which cells hold words instead."""

    times: Floats
    tags: Sequence[str]
    values: Floats
    words: NDArray[np.bool_]
    columns: tuple[str, ...]
    qualities: Sequence[str] | None = None
    name_of: RowName = frame_name
    is_time_of_day: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Wide:
    """One column for each tag; `rate` where frames lie on a grid."""

    values: Floats
    times: Floats
    channels: tuple[str, ...]
    notes: tuple[str, ...]


def long_form_columns(
    names: Sequence[str], channels: Sequence[str], clock: str, still: Sequence[str] = ()
) -> tuple[str, str] | None:
    """The columns of tags and of values, where the names of a table say that it is in long form.

    `still`: columns that never change in the first rows, which are no values where others are.

    >>> long_form_columns(["timestamp", "tag", "value", "quality"], ["value"], "timestamp")
    ('tag', 'value')
    >>> long_form_columns(["time", "tag", "x", "y"], ["x", "y"], "time") is None
    True
    """
    signals = [name for name in channels if plain_name(name)[0] not in QUALITY_NAMES | TAG_NAMES]
    signals = [name for name in signals if name not in still] or signals
    tags = [name for name in names if plain_name(name)[0] in TAG_NAMES and name not in (clock, *signals)]
    tags = [name for name in tags if name not in still] or tags
    tags = [name for name in tags if plain_name(name)[0] not in TAG_GROUP_NAMES] or tags
    is_long = len(tags) == 1 and len(signals) == 1 and plain_name(signals[0])[0] in VALUE_NAMES
    return (tags[0], signals[0]) if is_long else None


def is_quality(name: str) -> bool:
    """Whether a column says how good the reading beside it is."""
    return plain_name(name)[0] in QUALITY_NAMES


def ways_apart(name: str) -> str:
    """What to do about a column that names a sensor, or a person, in each row."""
    pivot, split = f"--pivot {name!r} makes each one a channel", f"--split-by {name!r} makes each one a recording"
    return f"{split}, {pivot}" if plain_name(name)[0] in ID_NAMES else f"{pivot}, {split}"


def no_clock_to_pivot(tag: str) -> RecordingError:
    """The refusal of a table without a clock."""
    return RecordingError(f"--pivot {tag!r} needs a clock; name the column of times 'time' or 'timestamp'")


def pivoted(reports: Reports, tag: str, reading: Reading) -> Wide:
    """One column for each tag, by its time."""
    names, codes = np.unique(np.asarray(reports.tags, dtype=np.str_), return_inverse=True)
    if len(names) > _MOST_TAGS:
        raise RecordingError(
            f"column '{tag}' has {len(names):,} different names; name one that holds the names of sensors"
        )
    n_bad = _without_bad(reports)
    found = list(_by_tag(reports, [str(name) for name in names], codes))
    notes = list(dict.fromkeys(reports.notes))
    if n_bad:
        notes.append(f"{counted(n_bad, 'reading')} of bad quality missing")
    if not found:
        raise RecordingError(f"no tag of column '{tag}' has numbers; expected one column of numbers beside it")
    times = np.unique(np.concatenate([own.times for own in found]))
    is_full = sum(own.times.size for own in found) >= _LEAST_FILLED * times.size * len(found)
    how = "at the times of its rows"
    if (not is_full or reading.rate is not None) and times.size > 1:
        step = 1 / reading.rate if reading.rate is not None else _grid_step(max(found, key=_n_reports))
        times = _grid(times, step)
        how = f"every {every_in_words(step)}, the last value held (--rate HZ for another grid)"
    refuse_large_array(times.size, len(found))
    values = np.stack([_held(own, times) for own in found], axis=1)
    n_frames, n_tags = counted(times.size, "frame"), counted(len(names), "tag")
    said = f"long form, pivoted by column '{tag}': {len(codes):,} readings of {n_tags} are {n_frames} {how}"
    return Wide(values, times, tuple(own.name for own in found), (said, *notes))


@dataclass
class _Tag:
    name: str
    times: Floats
    values: Floats


def _n_reports(tag: _Tag) -> int:
    return tag.times.size


def _without_bad(reports: Reports) -> int:
    """Make readings of bad quality missing."""
    if reports.qualities is None:
        return 0
    codes = np.array([_number(cell) for cell in reports.qualities])
    is_opc = bool((codes >= _GOOD_OPC).any())
    words = {cell: cell.casefold().startswith(_BAD_WORDS) for cell in set(reports.qualities)}
    bad = np.array([words[cell] for cell in reports.qualities], np.bool_) | (is_opc & (codes < _BAD_OPC))
    n_bad = int((bad & ~np.isnan(reports.values).all(axis=1)).sum())
    reports.values[bad] = np.nan
    return n_bad


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def _by_tag(reports: Reports, names: Sequence[str], codes: Ints) -> Iterator[_Tag]:
    """The readings of each tag and column, by their times; tags of words and those without a value are left out."""
    order = np.argsort(codes, kind="stable")
    worded, empty, n_words, n_twice = [], [], 0, 0
    for name, rows in zip(names, np.split(order, np.cumsum(np.bincount(codes))[:-1]), strict=True):
        times, rows, n_double = _in_time(reports, name, rows)
        n_twice += n_double
        for place, column in enumerate(reports.columns):
            channel = f"{name}.{column}" if reports.columns[1:] else name or "(blank)"
            values, words = reports.values[rows, place], reports.words[rows, place]
            if words.mean() > _MOST_WORDS:
                worded.append(channel)
            elif np.isnan(values).all():
                empty.append(channel)
            else:
                n_words += int(words.sum())
                yield _Tag(channel, times, values)
    for left_out, why in ((worded, "text"), (empty, "no values")):
        if left_out:
            which, have = noun(len(left_out), "tag"), noun(len(left_out), "it has", "they have")
            reports.notes.append(f"{which} left out, as {have} {why}: {listed(left_out)}")
    if n_words:
        reports.notes.append(f"{counted(n_words, 'reading')} that {noun(n_words, 'is', 'are')} no number missing")
    if n_twice:
        reports.notes.append(f"{counted(n_twice, 'reading')} left out: the same tag has a later row for that time")


def _in_time(reports: Reports, name: str, rows: Ints) -> tuple[Floats, Ints, int]:
    """The readings of one tag by time: its times, its rows, and how many were superseded."""
    times = reports.times[rows]
    if reports.is_time_of_day:
        times = over_midnight(times)
    steps = np.diff(times)
    if (steps < 0).mean() <= MOST_MISPLACED if steps.size else False:
        times, notes = rising(times, f"clock of {name}", lambda row: reports.name_of(int(rows[row])))
        reports.notes += notes
    order = np.argsort(times, kind="stable")
    times, rows = times[order], rows[order]
    is_last = np.append(np.diff(times) > 0, True)
    if is_last.all():
        return times, rows, 0
    if (~is_last).mean() > _MOST_TWICE and is_last[:-1].any():
        times, notes = spread(times, f"clock of {name}")
        reports.notes += notes[:1] if not any("spread evenly" in note for note in reports.notes) else ()
        return times, rows, 0
    return times[is_last], rows[is_last], int((~is_last).sum())


def _grid_step(busiest: _Tag) -> float:
    """A round step, no longer than the mean one of the busiest tag."""
    steps = np.diff(busiest.times)
    mean = float(steps[steps <= _SILENT_TIMES * np.median(steps)].mean()) if steps.size else 1.0
    if mean >= 1:
        return float(max(step for step in _STEPS_S if step <= 1.05 * mean))
    power = 10.0 ** np.floor(np.log10(max(mean, 1e-9)))
    return float(max(part * power for part in (1, 2, 5) if part * power <= 1.05 * mean))


def _grid(times: Floats, step: float) -> Floats:
    """Even times from the first report to the last, without those within a silence of all tags."""
    first = np.ceil(times[0] / step - 1e-9) * step
    n_frames = int(max(1, np.floor((times[-1] - first) / step + 1e-6) + 1))
    refuse_large_array(n_frames, 1)
    grid = first + step * np.arange(n_frames)
    usual = float(np.quantile(np.diff(times), 0.99))
    since = grid - times[np.searchsorted(times, grid + 1e-9 * step, side="right") - 1]
    return np.asarray(grid[since <= max(_SILENT_STEPS * step, _SILENT_TIMES * usual)])


def _held(tag: _Tag, times: Floats) -> Floats:
    """The last value of a tag at each time; before its first report, that one."""
    at = np.searchsorted(tag.times, times + 1e-6 * np.abs(np.diff(times[:2])).sum(), side="right") - 1
    return np.asarray(tag.values[np.clip(at, 0, None)])
