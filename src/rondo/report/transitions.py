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
from typing import TYPE_CHECKING

import numpy as np

from rondo.data.labels import OTHER
from rondo.report.between_groups import MOST_COMPARED, gaps_between, holm, mean_interval
from rondo.report.usage import entry_names, groups_for
from rondo.run.tables import row_table

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
    return transitions_in(result.tables["segments"], result.recordings, entry_names(result), groups)


def transition_table(result: Result, group_by: str | Mapping[str, str] | None, per: str) -> pd.DataFrame:
    """What `Result.transitions` gives."""
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
    """The same of a table of segments of some recordings; `names` as `entry_names` gives them."""
    counts = transition_counts(table, recordings)
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


def transition_counts(
    table: pl.DataFrame, recordings: Sequence[RecordingSummary]
) -> dict[tuple[str, str, int, int], int]:
    """How often each transition occurs, by recording, level and the two ids."""
    import polars as pl

    table = table.filter(pl.col("id") != OTHER).sort("recording", "level", "start_frame")
    recording, level = pl.col("recording"), pl.col("level")
    same = (recording == recording.shift(-1)) & (level == level.shift(-1))
    found = table.with_columns(pl.col("id").shift(-1).alias("next_id"), pl.col("start_frame").shift(-1).alias("next"))
    found = found.filter(same & (pl.col("end_frame") == pl.col("next")))
    breaks = [(one.id, frame) for one in recordings for frame in one.breaks]
    cuts = pl.DataFrame(breaks, schema={"recording": pl.String, "next": found.schema["next"]}, orient="row")
    found = found.join(cuts, on=["recording", "next"], how="anti")
    counted = found.group_by("recording", "level", "id", "next_id").len()
    return {(row[0], row[1], int(row[2]), int(row[3])): int(row[4]) for row in counted.iter_rows()}


def group_transitions(rows: Sequence[Transition]) -> list[GroupTransition]:
    """Means over the recordings of each group, for every transition that occurs in it."""
    cells: dict[tuple[str, str, int, int], list[Transition]] = {}
    for row in rows:
        cells.setdefault((row.level, row.group, row.id, row.next_id), []).append(row)
    found = []
    for (level, group, id, next_id), own in sorted(cells.items()):
        n = sum(row.n for row in own)
        if n:
            mean, low, high = mean_interval([row.probability for row in own], most=1.0)
            called = (own[0].name, own[0].next_name)
            found.append(GroupTransition(group, level, id, next_id, *called, n, len(own), mean, low, high))
    return found


def transition_differences(rows: Sequence[Transition]) -> list[TransitionDifference]:
    """Every pair of groups, every transition of at least 5 % (mean over all recordings): the difference and its p.

    Dealt are the recordings in which the first entry is followed by anything. p is corrected over all transitions and
    pairs of a level. Nothing where there are more than `MOST_COMPARED` groups.
    """
    names = sorted({row.group for row in rows})
    if len(names) > MOST_COMPARED:
        return []
    found: list[TransitionDifference] = []
    for level in sorted({row.level for row in rows}):
        by_first: dict[int, list[Transition]] = {}
        for row in rows:
            if row.level == level:
                by_first.setdefault(row.id, []).append(row)
        raw = [one for own in by_first.values() for pair in combinations(names, 2) for one in _pair(own, pair)]
        corrected = holm([one.p for one in raw])
        found += [replace(one, p=p) for one, p in zip(raw, corrected, strict=True)]
    return found


def _pair(rows: Sequence[Transition], pair: tuple[str, str]) -> list[TransitionDifference]:
    """Of one first entry, two groups compared; nothing where one of them has no recording with it."""
    common = {
        next_id: np.mean([row.probability for row in rows if row.next_id == next_id])
        for next_id in sorted({row.next_id for row in rows})
    }
    columns = {id: place for place, id in enumerate(id for id, mean in common.items() if mean >= _TESTED_FROM)}
    own = [row for row in rows if row.group in pair]
    places = {id: place for place, id in enumerate(sorted({row.recording for row in own}))}
    values, is_first = np.zeros((len(places), len(columns))), np.zeros(len(places), dtype=np.bool_)
    for row in own:
        is_first[places[row.recording]] = row.group == pair[0]
        if row.next_id in columns:
            values[places[row.recording], columns[row.next_id]] = row.probability
    if is_first.all() or not is_first.any():
        return []
    gap, p = gaps_between(values, is_first)
    level, first = rows[0].level, rows[0].id
    return [TransitionDifference(level, first, id, pair, float(gap[i]), float(p[i])) for id, i in columns.items()]
