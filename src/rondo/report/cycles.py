"""RegularReturns times: which entries come back at regular intervals, and how long those are.

An interval lies between the starts of two occurrences that follow each other in one recording, with no break between.
An entry is *periodic* where

    it has at least `LEAST_INTERVALS` intervals, over all recordings,
    their coefficient of variation (standard deviation / mean, without the longest tenth, which may span an occurrence
    that was missed) is at most `LARGEST_VARIATION`, and
    it is smaller than in each of `N_ORDERS` random orders of the same segments.

The last condition keeps out entries that seem regular only because segments last about equally long. Occurrences that
never touch do not touch in those orders either: each takes one of the places between the other segments. The condition
is not asked where order cannot tell: of a motif most of whose occurrences follow on each other at once, whose length is
the cycle, and of an entry that takes nearly all places, as one of two that take turns does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.summary import RecordingSummary

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
    in_seconds = all(one.rate is not None for one in recordings)
    found, parts = [], table.sort("start_frame").partition_by("recording", "level", as_dict=True)
    for level in ("unit", "motif"):
        own_rows = {one.id: parts.get((one.id, level), table.clear()) for one in recordings}
        stretches = {one.id: _stretches(own_rows[one.id], one, in_seconds=in_seconds) for one in recordings}
        own = [it for id in sorted(stretches) for it in stretches[id]]
        for id in sorted({int(id) for it in own for id in it.ids if id >= 0}):
            intervals = periodic(own, id)
            if intervals is not None:
                low, median, high = np.quantile(intervals, [0.1, 0.5, 0.9]).tolist()
                found.append(RegularReturns(level, id, intervals.size, median, low, high, in_seconds))
    return found


def _stretches(own: pl.DataFrame, recording: RecordingSummary, *, in_seconds: bool) -> list[Unbroken]:
    """The segments of one level of a recording, in order, cut at its breaks."""
    starts = own["start_frame"].to_numpy()
    lengths = (own["end_frame"].to_numpy() - starts) / ((recording.rate or 1.0) if in_seconds else 1.0)
    cuts = np.searchsorted(starts, recording.breaks)
    ids = own["id"].to_numpy().astype(np.int64)
    return [Unbroken(*parts) for parts in zip(np.split(ids, cuts), np.split(lengths, cuts), strict=True)]


def periodic(stretches: Sequence[Unbroken], id: int) -> Floats | None:
    """The intervals of an entry, if it is periodic."""
    own = [it for it in stretches if np.count_nonzero(it.ids == id) > 1]
    found = _intervals(own, id)
    if found.size < LEAST_INTERVALS or variation(found) > LARGEST_VARIATION:
        return None
    n_touching = sum(int(((it.ids[1:] == id) & (it.ids[:-1] == id)).sum()) for it in own)
    n_own = sum(int((it.ids == id).sum()) for it in own)
    n_places = sum(int((it.ids != id).sum()) + 1 for it in own)
    if 2 * n_touching > found.size or n_own >= _NEARLY_ALL * n_places:
        return found
    rng, deal = np.random.default_rng(0), _any_order if n_touching else _apart
    for _ in range(N_ORDERS):
        if variation(_intervals([deal(it, id, rng) for it in own], id)) <= variation(found):
            return None
    return found


def _any_order(stretch: Unbroken, id: int, rng: np.random.Generator) -> Unbroken:
    order = rng.permutation(stretch.ids.size)
    return Unbroken(stretch.ids[order], stretch.lengths[order])


def _apart(stretch: Unbroken, id: int, rng: np.random.Generator) -> Unbroken:
    """A random order in which occurrences of the entry do not touch, every such order with the same probability."""
    own, others = (rng.permutation(np.flatnonzero(which)) for which in (stretch.ids == id, stretch.ids != id))
    places = rng.choice(others.size + 1, own.size, replace=False)  # before the first of the others, …, after the last
    order = np.insert(others, np.sort(places), own)
    return Unbroken(stretch.ids[order], stretch.lengths[order])


def _intervals(stretches: Sequence[Unbroken], id: int) -> Floats:
    """Between the starts of occurrences that follow each other in a stretch."""
    starts = [(np.cumsum(it.lengths) - it.lengths)[it.ids == id] for it in stretches]
    return np.concatenate([np.zeros(0), *(np.diff(it) for it in starts)])


def variation(intervals: Floats) -> float:
    """The coefficient of variation without the longest tenth; infinite where there is none.

    >>> variation(np.array([4.0, 4, 4, 4, 4, 4, 4, 4, 4, 8])), variation(np.zeros(0))
    (0.0, inf)
    """
    kept = np.sort(intervals)[: intervals.size - intervals.size // 10]
    return float(kept.std() / kept.mean()) if kept.size and kept.mean() > 0 else np.inf
