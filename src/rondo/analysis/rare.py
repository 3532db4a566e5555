"""What a run holds only once, or unlike the rest: stretches with their dates and the channels that deviate.

    occurs once, twice   an entry with so many episodes and little of the time; an episode outlasts absences that are
                         shorter than 1 % of what was recorded
    seldom               a stretch of an entry with too few occurrences to have a golden one, unlike most stretches
    deviates             an occurrence that is far from the golden one of its entry
    too long             an occurrence far longer than those of its entry are
    missing step         a unit that directly follows another, where all but always a third one comes between

`score` is 1 where a stretch is just worth a look. The list is of what is there: whether it is a fault, a repair or a
holiday, the data do not tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.analysis.golden import FEWEST, QUANTILE, Deviation, Golden, LevelProfiles, ProfiledRun, profiled
from rondo.analysis.sequence import transitions_in
from rondo.run.clock import spread_over
from rondo.run.summary import RareStretch
from rondo.wording import is_date, number_in_words

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from rondo.run.data import RunData
    from rondo.run.summary import EntrySummary, RecordingSummary, RunSummary

MOST_LISTED = 20
RARE_COLUMNS = [
    "start_time", "end_time", "recording", "level", "id", "name", "why", "channels", "score", "start_s", "end_s",
    "start_frame", "end_frame",
]  # fmt: skip
FEW_EPISODES, LITTLE_TIME = 2, 0.05  # of an entry that is rare: number, and share of the time; chosen by hand
_MOST_RARE = 0.25  # of the time, for all rare entries together: with more there is no rest; chosen by hand
_APART = 0.01  # of all frames, between two episodes; chosen by hand
_COMMONEST = 0.5  # of what follows a step, for the one after it; chosen by hand
_SAME = 0.5  # of the shorter of two stretches, from which on they are one
_HIGHEST = 1e6  # score; of a channel that never changed before it is only a bound


def rare_in(run: RunData) -> tuple[RareStretch, ...]:
    """The stretches of a run that are unlike the rest, the farthest first; of those that overlap, the farthest."""
    ids = [one.id for one in spread_over(run.summary.recordings)]
    read = profiled(run, ids)
    if read is None or "unit" not in read.levels:
        return ()
    entries = {("unit", one.id): one for one in run.summary.units}
    entries |= {("motif", one.id): one for one in run.summary.shown_motifs}
    apart = int(_APART * sum(one.n_frames for one in run.summary.recordings))
    few = _few_episodes(read.levels["unit"], entries, apart)
    found = [one for level in read.levels for one in _of_level(level, read, entries, few if level == "unit" else {})]
    found += _skipping(read.levels["unit"].rows, [one for one in run.summary.recordings if one.id in ids])
    kept: list[RareStretch] = []
    for one in sorted(found, key=lambda it: (-it.score, it.recording, it.start_frame, it.level)):
        if len(kept) < MOST_LISTED and not any(_are_one(one, other) for other in kept):
            kept.append(one)
    return tuple(kept)


def rare_table(summary: RunSummary) -> pd.DataFrame:
    """The list as a table, dates first; NaT where the clock has none."""
    import pandas as pd

    names = {
        (level, one.id): one.name for level, own in (("unit", summary.units), ("motif", summary.motifs)) for one in own
    }
    rows = [
        {
            **{f"{end}_time": _date(getattr(one, f"{end}_s")) for end in ("start", "end")},
            **one.model_dump(include={"recording", "level", "id"}),
            "name": names.get((one.level, one.id), ""),
            "why": one.why,
            "channels": ", ".join(one.channels),
            **one.model_dump(include={"score", "start_s", "end_s", "start_frame", "end_frame"}),
        }
        for one in summary.rare
    ]
    return pd.DataFrame(rows, columns=RARE_COLUMNS).astype(dict.fromkeys(("start_time", "end_time"), "datetime64[us]"))


def _date(seconds: float | None) -> datetime | None:
    if seconds is None or not is_date(seconds):
        return None
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def _are_one(one: RareStretch, other: RareStretch) -> bool:
    shared = min(one.end_frame, other.end_frame) - max(one.start_frame, other.start_frame)
    shorter = min(one.end_frame - one.start_frame, other.end_frame - other.start_frame)
    return one.recording == other.recording and shared >= _SAME * shorter


def _few_episodes(
    own: LevelProfiles, entries: Mapping[tuple[str, int], EntrySummary], apart: int
) -> dict[int, list[list[int]]]:
    """The episodes of each rare unit; of none where they are no exception."""
    few = {
        id: episodes
        for id, at in own.of_entries().items()
        if (entry := entries.get(("unit", id))) is not None and entry.share <= LITTLE_TIME
        if len(episodes := _episodes(own, at, apart)) <= FEW_EPISODES
    }
    return few if sum(entries["unit", id].share for id in few) <= _MOST_RARE else {}


def _of_level(
    level: str,
    read: ProfiledRun,
    entries: Mapping[tuple[str, int], EntrySummary],
    few: Mapping[int, list[list[int]]],
) -> Iterator[RareStretch]:
    own = read.levels[level]
    every = read.golden(level, np.arange(own.rows.height)) if level == "unit" else None
    for id, at in own.of_entries().items():
        if (entry := entries.get((level, id))) is None:
            continue
        is_little = entry.share <= LITTLE_TIME
        if episodes := few.get(id):
            why = f"occurs {number_in_words(len(episodes))}"
            yield from (_episode(own, places, why, every) for places in episodes)
        elif (golden := read.golden(level, at)) is None and is_little and every is not None:
            yield from _far(every, own, at.tolist(), "seldom")
        elif golden is not None:
            yield from _far(golden, own, at.tolist(), "deviates")
            for place in at[own.lengths[at] > golden.longest_frames].tolist():
                row, longer = own.rows.row(place, named=True), float(own.lengths[place]) / golden.longest_frames
                yield _listed(row, row, "too long", Deviation(longer, ()))


def _episodes(own: LevelProfiles, at: NDArray[np.int64], apart: int) -> list[list[int]]:
    """The occurrences of one entry, in order, those of an episode together."""
    rows = own.rows[at.tolist()]
    begins = (rows["recording"] != rows["recording"].shift(1)) | (
        rows["start_frame"] - rows["end_frame"].shift(1) >= max(1, apart)
    )
    parts = np.split(at, np.flatnonzero(begins.fill_null(True).to_numpy()))
    return [part.tolist() for part in parts if part.size]


def _episode(own: LevelProfiles, places: Sequence[int], why: str, every: Golden | None) -> RareStretch:
    """From its first occurrence to its last; it deviates as its longest does."""
    longest = max(places, key=lambda place: own.lengths[place])
    first, last = (own.rows.row(places[end], named=True) for end in (0, -1))
    deviation = Deviation(0.0, ()) if every is None else every.deviation(own.profiles[[longest]])
    return _listed(first, last, why, deviation)


def _far(golden: Golden, own: LevelProfiles, places: Sequence[int], why: str) -> Iterator[RareStretch]:
    scores = golden.scores(own.profiles[places])
    for place in (place for place, score in zip(places, scores, strict=True) if score >= 1):
        row = own.rows.row(place, named=True)
        yield _listed(row, row, why, golden.deviation(own.profiles[[place]]))


def _listed(first: Mapping[str, Any], last: Mapping[str, Any], why: str, deviation: Deviation) -> RareStretch:
    """From the beginning of one segment to the end of another."""
    score, channels = min(deviation.score, _HIGHEST), [claim.in_words() for claim in deviation.channels]
    about = {name: first[name] for name in ("recording", "level", "id", "start_frame", "start_s")}
    ends = {name: last[name] for name in ("end_frame", "end_s")}
    return RareStretch(**about, **ends, why=why, score=round(score, 3), channels=tuple(channels))


class Step(NamedTuple):
    """`unit` all but always comes after `before`, and `after` mostly follows it."""

    before: int
    unit: int
    after: int


def steps_in(units: pl.DataFrame, recordings: Sequence[RecordingSummary]) -> list[Step]:
    """The steps that can be missing, from the segments of units."""
    counts: dict[int, dict[int, int]] = {}
    for row in transitions_in(units, recordings, {}):
        own = counts.setdefault(row.id, {})
        own[row.next_id] = own.get(row.next_id, 0) + row.n
    best = {id: max(own, key=lambda unit: (own[unit], -unit)) for id, own in counts.items()}
    share = {id: own[best[id]] / sum(own.values()) for id, own in counts.items()}
    return [
        Step(before, unit, best[unit])
        for before, unit in sorted(best.items())
        if sum(counts[before].values()) >= FEWEST and share[before] >= QUANTILE
        if unit in best and share[unit] >= _COMMONEST and best[unit] not in (before, unit)
    ]


def _skipping(units: pl.DataFrame, recordings: Sequence[RecordingSummary]) -> list[RareStretch]:
    """Where a unit directly follows the one before the step between them."""
    steps = {(step.before, step.after): step.unit for step in steps_in(units, recordings)}
    breaks = {(one.id, frame) for one in recordings for frame in one.breaks}
    rows = list(units.sort("recording", "start_frame").iter_rows(named=True)) if steps else []
    found = []
    for one, other in pairwise(rows):
        missing = steps.get((one["id"], other["id"]))
        follows = one["recording"] == other["recording"] and one["end_frame"] == other["start_frame"]
        if missing is not None and follows and (other["recording"], other["start_frame"]) not in breaks:
            found.append(_listed(one, other, f"missing step u{missing}", Deviation(1.0, ())))
    return found
