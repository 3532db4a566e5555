"""How much each entry is used: share of time, occurrences per hour, mean duration, by recording and by group.

Recordings are the unit of comparison, never frames: a group is the mean over its recordings, each with equal weight,
and a difference between groups is held against what the same recordings give when they are dealt to the groups at
random (permutation test, Holm's correction over the entries of a level). Two recordings a side prove nothing, and that
is said.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.errors import InputError, SettingError

if TYPE_CHECKING:
    import polars as pl

    from rondo.result import Result
    from rondo.run.summary import RunSummary

_DEALS = 9999  # random deals where not all can be tried
_SEED = 0


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
    """One entry in one group: means over its recordings; `sd_share` is None for a single one."""

    group: str
    level: str
    id: int
    n_recordings: int
    n_recordings_with: int
    mean_share: float
    sd_share: float | None
    mean_per_hour: float | None
    mean_duration_s: float | None


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

    summary = result.summary
    segments = result.table.filter(pl.col("id") != OTHER).with_columns(
        frames=pl.col("end_frame") - pl.col("start_frame")
    )
    names: dict[tuple[str, str, int], str] = {
        (entry.recording, level, entry.id): entry.name for level, entry in result.entries
    }
    counted = segments.group_by("recording", "level", "id").agg(pl.len().alias("n"), pl.col("frames").sum())
    cells = {(row[0], row[1], row[2]): (int(row[3]), int(row[4])) for row in counted.iter_rows()}
    rows = []
    for recording in summary.recordings:
        hours = None if recording.rate is None else recording.n_frames / recording.rate / 3600
        for level, id in _vocabulary(summary, segments, recording.id):
            n, frames = cells.get((recording.id, level, id), (0, 0))
            mean = frames / n if n else None
            rows.append(
                Usage(
                    recording.id,
                    "" if groups is None else groups[recording.id],
                    level,
                    id,
                    names.get((recording.id, level, id)) or names.get(("", level, id), ""),
                    n,
                    frames / recording.n_frames,
                    None if hours is None else n / hours,
                    mean,
                    None if mean is None or recording.rate is None else mean / recording.rate,
                )
            )
    return rows


def _vocabulary(summary: RunSummary, segments: pl.DataFrame, recording: str) -> list[tuple[str, int]]:
    """The entries that could occur in a recording: those of its own vocabulary, or those of all."""
    import polars as pl

    own = segments.filter(pl.col("recording") == recording) if summary.own_vocabularies else segments
    return [(level, int(id)) for level, id in own.select("level", "id").unique().sort("level", "id").iter_rows()]


# ---------------------------------------------------------------- groups


def groups_of(result: Result, by: str) -> dict[str, str]:
    """The group of each recording: by a table (csv: recording, group), or by what a pattern finds in its id.

    A pattern is a regular expression; its first bracket is the group, or all of it where there is none.
    """
    if result.summary.own_vocabularies and len(result) > 1:
        where = "" if result.folder is None else f"{result.folder}: "
        raise SettingError(
            f"{where}every recording has a vocabulary of its own, so the same id means nothing in two of them and "
            "groups cannot be compared; run `rondo discover` without --per-recording"
        )
    ids = [recording.id for recording in result.recordings]
    path = Path(by)
    if path.suffix.lower() in (".csv", ".tsv"):
        return _groups_of_table(path, ids)
    try:
        pattern = re.compile(by)
    except re.error as error:
        raise SettingError(f"--group-by '{by}' is no regular expression ({error}); try 'subject[0-9]+'") from None
    found = {id: pattern.search(id) for id in ids}
    lost = [id for id, match in found.items() if match is None]
    if lost:
        raise SettingError(
            f"--group-by '{by}' finds nothing in the recording '{lost[0]}' ({len(lost)} of {len(ids)} recordings); "
            "give a pattern that all ids hold, or a .csv with the columns recording and group"
        )
    return {id: match[1] or "" if pattern.groups else match[0] for id, match in found.items() if match is not None}


def _groups_of_table(path: Path, ids: Sequence[str]) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise InputError(
            f"{path}: cannot be read ({reason}); give a .csv with the columns recording and group"
        ) from None
    reader = csv.DictReader(text.splitlines(), delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    columns = [name.strip() for name in reader.fieldnames or []]
    if not {"recording", "group"} <= set(columns):
        raise InputError(f"{path}: expected the columns recording and group, found {', '.join(columns) or 'none'}")
    reader.fieldnames = columns
    groups = {str(row["recording"]).strip(): str(row["group"] or "").strip() for row in reader}
    lost = [id for id in ids if not groups.get(id)]
    if lost:
        raise InputError(f"{path}: no group for the recording '{lost[0]}' ({len(lost)} of {len(ids)}); add a row")
    return {id: groups[id] for id in ids}


def group_usage(rows: Sequence[Usage]) -> list[GroupUsage]:
    """Means over the recordings of each group, each with equal weight; durations over those in which it occurs."""
    cells: dict[tuple[str, str, int], list[Usage]] = {}
    for row in rows:
        cells.setdefault((row.level, row.group, row.id), []).append(row)
    return [
        GroupUsage(
            group,
            level,
            id,
            len(own),
            sum(row.n_occurrences > 0 for row in own),
            float(np.mean([row.share for row in own])),
            float(np.std([row.share for row in own], ddof=1)) if len(own) > 1 else None,
            _mean([row.per_hour for row in own]),
            _mean([row.mean_duration_s for row in own if row.n_occurrences]),
        )
        for (level, group, id), own in sorted(cells.items(), key=lambda cell: (cell[0][0], cell[0][2], cell[0][1]))
    ]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def differences(rows: Sequence[Usage]) -> list[Difference]:
    """Every pair of groups, every entry: the difference of mean shares, and its p, corrected over pairs and entries."""
    found: list[Difference] = []
    for level in sorted({row.level for row in rows}):
        raw = [one for pair in combinations(sorted({row.group for row in rows}), 2) for one in _pair(rows, level, pair)]
        corrected = _holm(np.array([one.p for one in raw]))
        found += [
            Difference(one.level, one.id, one.groups, one.difference, p) for one, p in zip(raw, corrected, strict=True)
        ]
    return found


def smallest_p(rows: Sequence[Usage], pair: tuple[str, str]) -> float:
    """The smallest p, before correction, that so many recordings on each side can give."""
    sizes = [len({row.recording for row in rows if row.group == group}) for group in pair]
    deals = comb(sum(sizes), sizes[0])
    return max((2 if sizes[0] == sizes[1] else 1) / deals, 1 / (_DEALS + 1))


def _pair(rows: Sequence[Usage], level: str, pair: tuple[str, str]) -> list[Difference]:
    own = [row for row in rows if row.level == level and row.group in pair]
    recordings = sorted({row.recording for row in own})
    ids = sorted({row.id for row in own})
    shares = np.zeros((len(recordings), len(ids)))
    is_first = np.zeros(len(recordings), dtype=np.bool_)
    for row in own:
        place = recordings.index(row.recording)
        shares[place, ids.index(row.id)] = row.share
        is_first[place] = row.group == pair[0]
    deals = _deals(is_first)
    gaps = np.abs(_gap(shares, deals))
    gap = _gap(shares, is_first[None])[0]
    p = (gaps >= np.abs(gap) - 1e-12).mean(axis=0)
    return [Difference(level, id, pair, float(gap[i]), float(p[i])) for i, id in enumerate(ids)]


def _gap(shares: NDArray[np.float64], is_first: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mean share of the first group minus that of the second, for each deal (n_deals, n_entries)."""
    first = is_first.astype(np.float64)
    n_first = first.sum(axis=1, keepdims=True)
    return np.asarray(first @ shares / n_first - (1 - first) @ shares / (first.shape[1] - n_first))


def _deals(is_first: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """All ways to deal the recordings to two groups of these sizes, or many of them with the true one among them."""
    n, n_first = is_first.size, int(is_first.sum())
    if comb(n, n_first) <= _DEALS:
        chosen = np.array(list(combinations(range(n), n_first)))
        deals = np.zeros((chosen.shape[0], n), dtype=np.bool_)
        np.put_along_axis(deals, chosen, True, axis=1)
        return deals
    rng = np.random.default_rng(_SEED)
    dealt = rng.permuted(np.tile(is_first, (_DEALS, 1)), axis=1)
    return np.concatenate([is_first[None], dealt])


def _holm(p: NDArray[np.float64]) -> list[float]:
    """Holm's step-down correction.

    >>> [round(value, 3) for value in _holm(np.array([0.01, 0.04, 0.03]))]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in corrected]
