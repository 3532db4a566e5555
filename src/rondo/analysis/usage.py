"""How much each entry is used: share of time, occurrences per hour, mean duration, by recording and by group.

Recordings are the unit of comparison, never frames: neighbouring frames are no independent evidence. A group is the
mean over its recordings, each with equal weight. A difference between groups is compared with what the same recordings
give when they are dealt to the groups at random (permutation test, Holm's correction over the entries of a level and
the pairs of groups). Recordings are taken to be independent; several of one person or machine are not, and intervals
over them are too narrow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.groups import groups_of
from rondo.data.labels import OTHER
from rondo.errors import SettingError
from rondo.run.labelling import row_table
from rondo.wording import quoted

if TYPE_CHECKING:
    import pandas as pd

    from rondo.result import Result


N_DEALS = 99_999
"""Random deals at most, where there are too many to try all."""
MOST_COMPARED = 12
"""Groups that are compared in pairs; with more, the correction for so many pairs leaves nothing to find."""
_ALL_TRIED = 9999  # so many deals are tried one by one
_CELLS = 2**22  # recordings x deals held at once: 32 MB
_MOST_CELLS = 2**24  # and in all: a fraction of a second
_CLEARLY_CHANCE = 100  # deals with a larger gap after which no more are tried
_SEED = 0


class Estimate(NamedTuple):
    """The mean over recordings, and its 95 % interval; None where there is none, see `mean_interval`."""

    mean: float
    low: float | None
    high: float | None


def mean_interval(values: Sequence[float], most: float = np.inf) -> Estimate:
    """The mean of one value per recording and its 95 % interval by Student's t, cut to [0, most].

        mean ± t(0.975, n - 1) · sd / sqrt(n)

    There is none for one recording, nor where all values are equal (often all 0): such a sample has no spread to
    measure. Student's t was chosen for few recordings: for 3 to 5 of them it covers the true mean in 92 to 95 of 100
    samples of moderately skewed shares and rates, where the bootstrap over recordings (percentile) covers it in 74 to
    83. Where a few recordings have most of an entry, t falls to 83 to 88 in 100 with up to ten recordings.

    >>> mean_interval([0.25, 0.75], most=1.0)
    Estimate(mean=0.5, low=0.0, high=1.0)
    >>> mean_interval([0.25])
    Estimate(mean=0.25, low=None, high=None)
    """
    from scipy.special import stdtrit

    own = np.asarray(values, dtype=np.float64)
    mean = float(own.mean())
    if own.size < 2 or np.ptp(own) == 0:
        return Estimate(mean, None, None)
    reach = float(stdtrit(own.size - 1, 0.975) * own.std(ddof=1) / np.sqrt(own.size))
    return Estimate(mean, max(0.0, mean - reach), min(most, mean + reach))


def gaps_between(
    values: NDArray[np.float64], is_first: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean of the first group minus that of the second, for each column of `values` (n_recordings, n), and its p.

    p is the share of all ways to deal the recordings to groups of these sizes that give a gap at least as large: of
    all of them, of random ones with the true one among them, or, for two groups of 100 recordings or more, of the
    normal distribution that the gap then follows, where no recording has more than 4 % of the column's variance.
    """
    gap, n, n_first = _gap(values, is_first[None])[0], is_first.size, int(is_first.sum())
    if comb(n, n_first) <= _ALL_TRIED:
        chosen = np.array(list(combinations(range(n), n_first)))
        deals = np.zeros((chosen.shape[0], n), dtype=np.bool_)
        np.put_along_axis(deals, chosen, True, axis=1)
        return gap, (np.abs(_gap(values, deals)) >= np.abs(gap) - 1e-12).mean(axis=0)
    p, by_deals = _normal_p(values, is_first, gap)
    if by_deals.any():
        p[by_deals] = _dealt_p(values[:, by_deals], is_first, gap[by_deals])
    return gap, p


def smallest_p(n_first: int, n_second: int) -> float:
    """The smallest p, before correction, that so many recordings on each side can give."""
    return max((2 if n_first == n_second else 1) / comb(n_first + n_second, n_first), 1 / (N_DEALS + 1))


def _gap(values: NDArray[np.float64], is_first: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The gap under each deal (n_deals, n)."""
    first = is_first.astype(np.float64)
    n_first = first.sum(axis=1, keepdims=True)
    sums = first @ values
    return np.asarray(sums / n_first - (values.sum(axis=0) - sums) / (first.shape[1] - n_first))


def _normal_p(
    values: NDArray[np.float64], is_first: NDArray[np.bool_], gap: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """p by the normal distribution of the gap over deals, and the columns for which that is no good.

    The variance of the gap over all deals is exactly S² (1/n_first + 1/n_second), with S² that of all recordings.
    """
    from scipy.special import ndtr

    n, n_first = is_first.size, int(is_first.sum())
    squares = (values - values.mean(axis=0)) ** 2
    total = squares.sum(axis=0)
    is_spread = (squares.max(axis=0) <= 0.04 * total) & (total > 0)
    spread = np.sqrt(np.where(is_spread, total, 1.0) / (n - 1) * (1 / n_first + 1 / (n - n_first)))
    return 2 * ndtr(-np.abs(gap) / spread), ~is_spread | (min(n_first, n - n_first) < 100)


def _dealt_p(values: NDArray[np.float64], is_first: NDArray[np.bool_], gap: NDArray[np.float64]) -> NDArray[np.float64]:
    """p by random deals; columns whose gap many deals reach are left out of further ones (Besag & Clifford 1991)."""
    rng = np.random.default_rng(_SEED)
    n = is_first.size
    n_deals = min(N_DEALS, max(999, _MOST_CELLS // n))
    reached = np.ones(gap.size)  # the true deal reaches its own gap
    tried = np.ones(gap.size)
    going, done = np.arange(gap.size), 0
    while going.size and done < n_deals:
        size = min(999 if not done else max(1, _CELLS // n), n_deals - done)
        deals = rng.permuted(np.tile(is_first, (size, 1)), axis=1)
        reached[going] += (np.abs(_gap(values[:, going], deals)) >= np.abs(gap[going]) - 1e-12).sum(axis=0)
        done += size
        tried[going] = 1 + done
        going = going[reached[going] < _CLEARLY_CHANCE]
    return reached / tried


def holm(p: Sequence[float]) -> list[float]:
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * np.arange(raw.size, 0, -1))
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in corrected]


@dataclass(frozen=True)
class Usage:
    """One entry in one recording; `per_hour` and `mean_duration_s` are None where the rate is unknown."""

    recording: str
    group: str
    level: str
    id: int
    name: str  # what people call it
    n_occurrences: int
    share: float
    per_hour: float | None
    mean_duration_frames: float | None
    mean_duration_s: float | None


@dataclass(frozen=True)
class GroupUsage:
    """One entry in one group: means over its recordings with 95 % intervals, which are None where there are none."""

    group: str
    level: str
    id: int
    n_recordings: int
    n_recordings_with: int
    mean_share: float
    sd_share: float | None
    mean_per_hour: float | None
    mean_duration_s: float | None
    share_low: float | None = None
    share_high: float | None = None
    per_hour_low: float | None = None
    per_hour_high: float | None = None
    name: str = ""  # what people call it


@dataclass(frozen=True)
class Difference:
    """How far the mean share of an entry differs between two groups; `p` is corrected for all entries of its level."""

    level: str
    id: int
    groups: tuple[str, str]
    difference: float  # of mean shares, the first minus the second
    p: float


def usage_of(result: Result, groups: Mapping[str, str] | None = None) -> list[Usage]:
    """Every entry in every recording, also where it does not occur; `groups` by recording id."""
    import polars as pl

    segments = result.run.tables["segments"].filter(pl.col("id") != OTHER)
    frames = (pl.col("end_frame") - pl.col("start_frame")).sum()
    counts = segments.group_by("recording", "level", "id").agg(pl.len(), frames)
    cells = {(recording, level, id): (n, n_frames) for recording, level, id, n, n_frames in counts.iter_rows()}
    entries = sorted({(level, id) for _, level, id in cells})
    names, rows = {(level, entry.id): entry.name for level, entry in result.entries}, []
    for recording in result.recordings:
        rate = recording.rate
        for level, id in entries:
            n, n_frames = cells.get((recording.id, level, id), (0, 0))
            mean = n_frames / n if n else None
            rows.append(
                Usage(
                    recording=recording.id,
                    group="" if groups is None else groups[recording.id],
                    level=level,
                    id=int(id),
                    name=names.get((level, id), ""),
                    n_occurrences=int(n),
                    share=n_frames / recording.n_frames,
                    per_hour=None if rate is None else n / (recording.n_frames / rate / 3600),
                    mean_duration_frames=mean,
                    mean_duration_s=None if mean is None or rate is None else mean / rate,
                )
            )
    return rows


def usage_table(result: Result, group_by: str | Mapping[str, str] | None, per: str) -> pd.DataFrame:
    rows = usage_of(result, groups_for(result, group_by, per))
    return row_table(Usage, rows) if per == "recording" else row_table(GroupUsage, group_usage(rows))


def groups_of_run(result: Result, by: str | Mapping[str, str] | None = None) -> dict[str, str] | None:
    """The group of each recording by `by` (`rondo.data.groups`), else those that the run was made with, if any."""
    if by is None:
        known = {recording.id: recording.group or recording.id for recording in result.recordings}
        return known if any(recording.group for recording in result.recordings) else None
    return groups_of([one.id for one in result.recordings], by, {one.id: one.source for one in result.recordings})


def groups_for(result: Result, by: str | Mapping[str, str] | None, per: str) -> dict[str, str] | None:
    """The groups of a table per recording or per group; without any, all recordings are one group."""
    if per not in ("recording", "group"):
        raise SettingError(f"per is recording or group, got '{per}'")
    found = groups_of_run(result, by)
    if found is None and per == "group":
        return groups_of_run(result, {one.id: "all" for one in result.recordings})
    return found


def unit_of_comparison(result: Result, groups: Mapping[str, str]) -> list[str]:
    """Sentences: what is counted as one observation, and where that is not independent of the next."""
    sentences = [
        "The unit of comparison is the recording: means, 95 % intervals and p are over recordings of equal weight."
    ]
    sizes = Counter(groups.values())
    alone = sorted(group for group, n in sizes.items() if n == 1)
    if alone:
        sentences.append(f"No interval for {quoted(alone, 3)}: one recording has no spread.")
    known = [(groups[one.id], one.group) for one in result.recordings if one.group and one.id in groups]
    repeated = sorted(pair for pair, n in Counter(known).items() if n > 1 and pair[0] != pair[1])
    if repeated and len({group for group, _ in known}) > 1:
        group, owner = repeated[0]
        sentences.append(
            f"'{group}' holds several recordings of '{owner}': they are not independent, so intervals are too narrow "
            "and p is too small."
        )
    return sentences


def group_usage(rows: Sequence[Usage]) -> list[GroupUsage]:
    """Means over the recordings of each group, each with equal weight; durations over those in which it occurs."""
    cells: dict[tuple[str, int, str], list[Usage]] = {}
    for row in rows:
        cells.setdefault((row.level, row.id, row.group), []).append(row)
    means = []
    for (level, id, group), recordings in sorted(cells.items()):
        shares, rates = [row.share for row in recordings], _known([row.per_hour for row in recordings])
        durations = _known([row.mean_duration_s for row in recordings if row.n_occurrences])
        share = mean_interval(shares, most=1.0)
        rate = None if rates is None else mean_interval(rates)
        means.append(
            GroupUsage(
                group=group,
                level=level,
                id=id,
                n_recordings=len(recordings),
                n_recordings_with=sum(row.n_occurrences > 0 for row in recordings),
                mean_share=share.mean,
                sd_share=float(np.std(shares, ddof=1)) if len(recordings) > 1 else None,
                mean_per_hour=None if rate is None else rate.mean,
                mean_duration_s=None if durations is None else float(np.mean(durations)),
                share_low=share.low,
                share_high=share.high,
                per_hour_low=None if rate is None else rate.low,
                per_hour_high=None if rate is None else rate.high,
                name=recordings[0].name,
            )
        )
    return means


def _known(values: Sequence[float | None]) -> list[float] | None:
    """The values, if there are any and all are known."""
    known = [value for value in values if value is not None]
    return known if known and len(known) == len(values) else None


def differences(rows: Sequence[Usage]) -> list[Difference]:
    """Every pair of groups, every entry: the difference of mean shares, and its p, corrected over pairs and entries.

    Empty if there are more than `MOST_COMPARED` groups.
    """
    groups = sorted({row.group for row in rows})
    if len(groups) > MOST_COMPARED:
        return []
    corrected: list[Difference] = []
    for level in sorted({row.level for row in rows}):
        cells = {(row.recording, row.id): row.share for row in rows if row.level == level}
        recordings, ids = sorted({id for id, _ in cells}), sorted({id for _, id in cells})
        shares = np.array([[cells.get((recording, id), 0.0) for id in ids] for recording in recordings])
        group_of = {row.recording: row.group for row in rows}
        group = np.array([group_of[recording] for recording in recordings])
        raw = []
        for pair in combinations(groups, 2):
            in_pair = (group == pair[0]) | (group == pair[1])
            gap, p = gaps_between(shares[in_pair], group[in_pair] == pair[0])
            raw += [Difference(level, *it) for it in zip(ids, [pair] * len(ids), gap.tolist(), p.tolist(), strict=True)]
        corrected += [replace(it, p=p) for it, p in zip(raw, holm([it.p for it in raw]), strict=True)]
    return corrected
