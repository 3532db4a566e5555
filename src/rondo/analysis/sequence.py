"""What follows what: how often an occurrence of one entry is followed by one of another, by recording and by group.

One occurrence follows another where it begins at the frame at which the other ends: not over OTHER, not over a break
of the recording, and never from one recording to the next. The probability of a -> b in a recording is the share of
those occurrences of a that are followed by anything which are followed by b. A group is the mean over its recordings
in which a is followed by anything, each with equal weight. A unit that goes on is one occurrence, so units do not
follow themselves; a phrase that is repeated without a pause does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.analysis.usage import MOST_COMPARED, gaps_between, groups_for, holm, mean_interval
from rondo.arrays import Floats
from rondo.data.labels import OTHER
from rondo.run.labelling import row_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from rondo.result import Result
    from rondo.run.summary import RecordingSummary


_TESTED_FROM = 0.05
"""Mean probability over all recordings from which on a transition is compared; groups are not looked at to choose."""


@dataclass(frozen=True)
class Transition:
    """From one entry to another in one recording; also where it is 0, if it occurs in another of the vocabulary."""

    recording: str
    group: str
    level: str
    id: int
    next_id: int
    name: str  # what people call them
    next_name: str
    n: int
    n_followed: int  # occurrences of `id` that are followed by anything
    probability: float


@dataclass(frozen=True)
class GroupTransition:
    """From one entry to another in one group: the mean over recordings, its 95 % interval, None where there is none."""

    group: str
    level: str
    id: int
    next_id: int
    name: str
    next_name: str
    n: int
    n_recordings: int  # those in which `id` is followed by anything
    probability: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class TransitionDifference:
    """How far a probability differs between two groups; `p` is corrected for all that were compared in its level."""

    level: str
    id: int
    next_id: int
    groups: tuple[str, str]
    difference: float  # of mean probabilities, the first minus the second
    p: float


def transitions_of(result: Result, groups: Mapping[str, str] | None = None) -> list[Transition]:
    """Every transition that occurs in a vocabulary, in every recording in which its first entry is followed at all."""
    names: dict[tuple[str, int], str] = {(level, entry.id): entry.name for level, entry in result.entries}
    return transitions_in(result.run.tables["segments"], result.recordings, names, groups)


def transition_table(result: Result, group_by: str | Mapping[str, str] | None, per: str) -> pd.DataFrame:
    rows = transitions_of(result, groups_for(result, group_by, per))
    if per == "recording":
        return row_table(Transition, rows)
    return row_table(GroupTransition, group_transitions(rows))


def transitions_in(
    table: pl.DataFrame,
    recordings: Sequence[RecordingSummary],
    names: Mapping[tuple[str, int], str],
    groups: Mapping[str, str] | None = None,
) -> list[Transition]:
    """The same of a table of segments of some recordings; `names` by level and id."""
    import polars as pl

    table = table.filter(pl.col("id") != OTHER).sort("recording", "level", "start_frame")
    same = (pl.col("recording") == pl.col("recording").shift(-1)) & (pl.col("level") == pl.col("level").shift(-1))
    found = table.with_columns(pl.col("id").shift(-1).alias("next_id"), pl.col("start_frame").shift(-1).alias("next"))
    found = found.filter(same & (pl.col("end_frame") == pl.col("next")))
    breaks = [(one.id, frame) for one in recordings for frame in one.breaks]
    cuts = pl.DataFrame(breaks, schema={"recording": pl.String, "next": found.schema["next"]}, orient="row")
    found = found.join(cuts, on=["recording", "next"], how="anti")
    counted = found.group_by("recording", "level", "id", "next_id").len()
    counts: dict[tuple[str, str, int, int], int] = {row[:4]: row[4] for row in counted.iter_rows()}
    followed: dict[tuple[str, str, int], int] = {}
    known: dict[tuple[str, int], set[int]] = {}
    for (recording, level, id, next_id), n in counts.items():
        followed[recording, level, id] = followed.get((recording, level, id), 0) + n
        known.setdefault((level, id), set()).add(next_id)
    rows = []
    places = {one.id: place for place, one in enumerate(recordings)}
    for (recording, level, id), total in sorted(followed.items(), key=lambda it: (places[it[0][0]], *it[0][1:])):
        for next_id in sorted(known[level, id]):
            n = counts.get((recording, level, id, next_id), 0)
            called = (names.get((level, id), ""), names.get((level, next_id), ""))
            group = "" if groups is None else groups[recording]
            rows.append(Transition(recording, group, level, id, next_id, *called, n, total, n / total))
    return rows


def group_transitions(rows: Sequence[Transition]) -> list[GroupTransition]:
    """Means over the recordings of each group, for every transition that occurs in it."""
    cells: dict[tuple[str, str, int, int], list[Transition]] = {}
    for row in rows:
        cells.setdefault((row.level, row.group, row.id, row.next_id), []).append(row)
    means = []
    for (level, group, id, next_id), recordings in sorted(cells.items()):
        n = sum(row.n for row in recordings)
        if n:
            mean, low, high = mean_interval([row.probability for row in recordings], most=1.0)
            names = (recordings[0].name, recordings[0].next_name)
            means.append(GroupTransition(group, level, id, next_id, *names, n, len(recordings), mean, low, high))
    return means


def transition_differences(rows: Sequence[Transition]) -> list[TransitionDifference]:
    """Every pair of groups, every transition of at least 5 % (mean over all recordings): the difference and its p.

    The recordings in which the first entry is followed by anything are dealt to the groups. p is corrected over all
    transitions and pairs of a level. Empty if there are more than `MOST_COMPARED` groups.
    """
    groups = sorted({row.group for row in rows})
    if len(groups) > MOST_COMPARED:
        return []
    differences: list[TransitionDifference] = []
    for level in sorted({row.level for row in rows}):
        by_first: dict[int, list[Transition]] = {}
        for row in rows:
            if row.level == level:
                by_first.setdefault(row.id, []).append(row)
        raw = [it for first in by_first.values() for pair in combinations(groups, 2) for it in _pair(first, pair)]
        corrected = holm([it.p for it in raw])
        differences += [replace(it, p=p) for it, p in zip(raw, corrected, strict=True)]
    return differences


def _pair(rows: Sequence[Transition], pair: tuple[str, str]) -> list[TransitionDifference]:
    """Two groups compared in the transitions of one first entry; empty if one of them has no recording with it."""
    probabilities: dict[int, list[float]] = {}
    for row in rows:
        probabilities.setdefault(row.next_id, []).append(row.probability)
    common = [next_id for next_id in sorted(probabilities) if np.mean(probabilities[next_id]) >= _TESTED_FROM]
    column_of = {next_id: column for column, next_id in enumerate(common)}
    in_pair = [row for row in rows if row.group in pair]
    row_of = {id: index for index, id in enumerate(sorted({row.recording for row in in_pair}))}
    values, is_first = np.zeros((len(row_of), len(common))), np.zeros(len(row_of), dtype=np.bool_)
    for row in in_pair:
        is_first[row_of[row.recording]] = row.group == pair[0]
        if row.next_id in column_of:
            values[row_of[row.recording], column_of[row.next_id]] = row.probability
    if is_first.all() or not is_first.any():
        return []
    gap, p = gaps_between(values, is_first)
    level, first = rows[0].level, rows[0].id
    return [TransitionDifference(level, first, id, pair, float(gap[i]), float(p[i])) for id, i in column_of.items()]


# Which entries come back at regular intervals, and how long those are.
#
# An interval lies between the starts of two occurrences that follow each other in one recording, with no break
# between. An entry is *periodic* if
#
#     it has at least `LEAST_INTERVALS` intervals, over all recordings,
#     their coefficient of variation (standard deviation / mean, without the longest tenth, which may span an occurrence
#     that was missed) is at most `LARGEST_VARIATION`, and
#     it is smaller than in each of `N_ORDERS` random orders of the same segments.
#
# The last condition excludes entries that seem regular only because segments last about equally long. Occurrences that
# never touch do not touch in those orders either: each takes one of the slots between the other segments. The condition
# is left out if order cannot tell: for a motif most of whose occurrences follow each other at once, whose length is the
# cycle, and for an entry that takes nearly all slots, as one of two that alternate does.

LEAST_INTERVALS = 8
LARGEST_VARIATION = 0.25
N_ORDERS = 99
_NEARLY_ALL = 0.8


class RegularReturns(NamedTuple):
    """An entry that is periodic; durations in seconds where every recording has a rate, else in frames."""

    level: str
    id: int
    n_intervals: int
    median: float
    low: float  # 10 % of the intervals are shorter
    high: float
    in_seconds: bool


class Unbroken(NamedTuple):
    """Segments of one level without a break, in order: which entry, and how long."""

    ids: NDArray[np.int64]
    lengths: Floats


def cycles_in(table: pl.DataFrame, recordings: Sequence[RecordingSummary]) -> list[RegularReturns]:
    """Every periodic entry of a table of segments, by level and id."""
    in_seconds = all(recording.rate is not None for recording in recordings)
    cycles, parts = [], table.sort("start_frame").partition_by("recording", "level", as_dict=True)
    for level in ("unit", "motif"):
        stretches: list[Unbroken] = []
        for recording in sorted(recordings, key=lambda recording: recording.id):
            rows = parts.get((recording.id, level), table.clear())
            starts, ids = rows["start_frame"].to_numpy(), rows["id"].to_numpy().astype(np.int64)
            lengths = (rows["end_frame"].to_numpy() - starts) / ((recording.rate or 1.0) if in_seconds else 1.0)
            cuts = np.searchsorted(starts, recording.breaks)
            stretches += map(Unbroken, np.split(ids, cuts), np.split(lengths, cuts))
        for id in sorted({int(id) for stretch in stretches for id in stretch.ids if id >= 0}):
            intervals = periodic(stretches, id)
            if intervals is not None:
                low, median, high = np.quantile(intervals, [0.1, 0.5, 0.9]).tolist()
                cycles.append(RegularReturns(level, id, intervals.size, median, low, high, in_seconds))
    return cycles


def periodic(stretches: Sequence[Unbroken], id: int) -> Floats | None:
    """The intervals of an entry, if it is periodic."""
    stretches = [it for it in stretches if np.count_nonzero(it.ids == id) > 1]
    intervals = _intervals(stretches, id)
    if intervals.size < LEAST_INTERVALS or variation(intervals) > LARGEST_VARIATION:
        return None
    n_touching = sum(int(((it.ids[1:] == id) & (it.ids[:-1] == id)).sum()) for it in stretches)
    n_occurrences = sum(int((it.ids == id).sum()) for it in stretches)
    n_slots = sum(int((it.ids != id).sum()) + 1 for it in stretches)
    if 2 * n_touching > intervals.size or n_occurrences >= _NEARLY_ALL * n_slots:
        return intervals
    rng = np.random.default_rng(0)
    for _ in range(N_ORDERS):
        shuffled = [_shuffled(it, id, rng, may_touch=n_touching > 0) for it in stretches]
        if variation(_intervals(shuffled, id)) <= variation(intervals):
            return None
    return intervals


def _shuffled(stretch: Unbroken, id: int, rng: np.random.Generator, *, may_touch: bool) -> Unbroken:
    """A random order, every one with the same probability; of those in which occurrences do not touch, if asked."""
    if may_touch:
        order = rng.permutation(stretch.ids.size)
    else:
        entry, others = (rng.permutation(np.flatnonzero(which)) for which in (stretch.ids == id, stretch.ids != id))
        slots = rng.choice(others.size + 1, entry.size, replace=False)  # before the first other, …, after the last
        order = np.insert(others, np.sort(slots), entry)
    return Unbroken(stretch.ids[order], stretch.lengths[order])


def _intervals(stretches: Sequence[Unbroken], id: int) -> Floats:
    """Between the starts of occurrences that follow each other in a stretch."""
    starts = [(np.cumsum(it.lengths) - it.lengths)[it.ids == id] for it in stretches]
    return np.concatenate([np.zeros(0), *(np.diff(it) for it in starts)])


def variation(intervals: Floats) -> float:
    """The coefficient of variation without the longest tenth; infinite where there is none."""
    kept = np.sort(intervals)[: intervals.size - intervals.size // 10]
    return float(kept.std() / kept.mean()) if kept.size and kept.mean() > 0 else np.inf
