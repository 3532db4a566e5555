"""Cycle times: which entries come back at regular intervals, and how long those are.

An interval lies between the starts of two occurrences that follow each other in one recording, with no break between.
An entry is *periodic* where

    it has at least `LEAST_INTERVALS` intervals, over all recordings,
    their coefficient of variation (standard deviation / mean, without the longest tenth, which may span an occurrence
    that was missed) is at most `LARGEST_VARIATION`, and
    it is smaller than in each of `N_ORDERS` random orders of the same segments.

The last condition keeps out entries that seem regular only because segments last about equally long. It is not asked
of a motif most of whose occurrences follow on each other at once: their length is the cycle, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.summary import RecordingSummary

LEAST_INTERVALS = 8
LARGEST_VARIATION = 0.25
N_ORDERS = 99
Figures = NDArray[np.float64]


class Cycle(NamedTuple):
    """An entry that is periodic; durations in seconds where every recording has a rate, else in frames."""

    level: str
    id: int
    vocabulary: str
    n_intervals: int
    median: float
    low: float  # 10 % of the intervals are shorter
    high: float
    in_seconds: bool


class Stretch(NamedTuple):
    """Segments of one level without a break, in order: which entry, and how long."""

    ids: NDArray[np.int64]
    lengths: Figures


def cycles_in(
    table: pl.DataFrame, recordings: Sequence[RecordingSummary], *, own_vocabularies: bool = False
) -> list[Cycle]:
    """Every periodic entry of a table of segments, by level and id."""
    in_seconds = all(one.rate is not None for one in recordings)
    found, parts = [], table.sort("start_frame").partition_by("recording", "level", as_dict=True)
    for level in ("unit", "motif"):
        own_rows = {one.id: parts.get((one.id, level), table.clear()) for one in recordings}
        stretches = {one.id: _stretches(own_rows[one.id], one, in_seconds=in_seconds) for one in recordings}
        for vocabulary in sorted(stretches) if own_vocabularies else [""]:
            own = [it for id in sorted(stretches) if vocabulary in ("", id) for it in stretches[id]]
            ids = sorted({int(id) for it in own for id in it.ids if id >= 0})
            for id in ids:
                intervals = periodic(own, id)
                if intervals is not None:
                    low, median, high = np.quantile(intervals, [0.1, 0.5, 0.9]).tolist()
                    found.append(Cycle(level, id, vocabulary, intervals.size, median, low, high, in_seconds))
    return found


def _stretches(own: pl.DataFrame, recording: RecordingSummary, *, in_seconds: bool) -> list[Stretch]:
    """The segments of one level of a recording, in order, cut at its breaks."""
    starts = own["start_frame"].to_numpy()
    lengths = (own["end_frame"].to_numpy() - starts) / ((recording.rate or 1.0) if in_seconds else 1.0)
    cuts = np.searchsorted(starts, recording.breaks)
    ids = own["id"].to_numpy().astype(np.int64)
    return [Stretch(*parts) for parts in zip(np.split(ids, cuts), np.split(lengths, cuts), strict=True)]


def periodic(stretches: Sequence[Stretch], id: int) -> Figures | None:
    """The intervals of an entry, if it is periodic."""
    own = [it for it in stretches if np.count_nonzero(it.ids == id) > 1]
    n_touching = sum(int(((it.ids[1:] == id) & (it.ids[:-1] == id)).sum()) for it in own)
    found = _intervals(own, id, joins=n_touching == 0)
    if found.size < LEAST_INTERVALS or variation(found) > LARGEST_VARIATION:
        return None
    if 2 * n_touching > found.size:
        return found
    rng = np.random.default_rng(0)
    for _ in range(N_ORDERS):
        orders = [rng.permutation(it.ids.size) for it in own]
        dealt = [Stretch(it.ids[order], it.lengths[order]) for it, order in zip(own, orders, strict=True)]
        if variation(_intervals(dealt, id, joins=n_touching == 0)) <= variation(found):
            return None
    return found


def _intervals(stretches: Sequence[Stretch], id: int, *, joins: bool) -> Figures:
    """Between starts; `joins`: occurrences that touch are one, as those of units always are."""
    found = [np.zeros(0)]
    for it in stretches:
        is_own = it.ids == id
        begins = is_own & ~np.append(False, is_own[:-1]) if joins else is_own
        starts = np.cumsum(it.lengths) - it.lengths
        found.append(np.diff(starts[begins]))
    return np.concatenate(found)


def variation(intervals: Figures) -> float:
    """The coefficient of variation without the longest tenth; infinite where there is none.

    >>> variation(np.array([4.0, 4, 4, 4, 4, 4, 4, 4, 4, 8])), variation(np.zeros(0))
    (0.0, inf)
    """
    kept = np.sort(intervals)[: intervals.size - intervals.size // 10]
    return float(kept.std() / kept.mean()) if kept.size and kept.mean() > 0 else np.inf
