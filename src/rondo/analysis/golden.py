"""The golden occurrence of an entry, and how far another occurrence is from it, channel by channel.

An occurrence is read in `N_COLUMNS` columns of equal length: of each channel the mean (its level) and the mean change
from frame to frame (its movement). The golden occurrence has the median of all occurrences and, as spread, the width
that holds 80 % of them, in deviations of a normal distribution. With z = (value - median) / spread,

    D = sqrt(mean of z² over columns)             of each channel, for level and movement
    R = D / (95 % quantile of D over the entry's own occurrences, at least 1)
    score = max R / (1.3 · 95 % quantile of max R over the entry's own occurrences)

so that 1 and more is farther than the entry's own occurrences go, in however many channels. For the quantiles each half
of the occurrences (every second one) is compared with the other, as a new one is. What is compared with all stretches
of a recording, whatever they are, is compared in the same way (`rondo.analysis.rare`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.analysis.claims import ChannelClaim
from rondo.analysis.shape import FrameSums, by_recording
from rondo.arrays import Floats
from rondo.run.clock import spread_over
from rondo.run.segments import segments_in

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.data import RunData

N_COLUMNS = 8  # a fault that fills an eighth of an occurrence fills a column; chosen by hand
FEWEST = 8  # occurrences; fewer have no 95 % quantile worth the name; chosen by hand
QUANTILE = 0.95  # of the entry's own occurrences
FARTHER, LONGER = 1.3, 1.5  # than that; 1 % of held-out planted occurrences are then false alarms, 0.2 % at 2
_LEAST_SPREAD = 0.1  # of the spread of all stretches: less is rounding; chosen by hand
_MOST_FITTED = 256  # occurrences; more would not move a quantile
_MOST_VALUES = 1 << 24  # of profiles that are held: 64 MB
_MOST_NAMED = 3  # channels
_OF_NORMAL = 2.5631  # deviations between the 10 % and the 90 % quantile

Profiles = NDArray[np.float32]
"""(n, N_COLUMNS, 2, n_channels): level and movement."""


class Deviation(NamedTuple):
    """How far an occurrence is from a golden one: 1 and more deviates; and in which channels, the farthest first."""

    score: float
    channels: tuple[ChannelClaim, ...]


@dataclass(frozen=True, eq=False)
class Golden:
    """What is typical of an entry; arrays as in `Profiles`."""

    channels: tuple[str, ...]
    middle: Floats  # (N_COLUMNS, 2, n_channels)
    spread: Floats
    usual: Floats  # (2, n_channels): the 95 % quantile of D, at least 1
    limit: float  # of the largest R
    longest_frames: float

    @classmethod
    def of(cls, channels: Sequence[str], profiles: Profiles, lengths: Floats, least: Floats) -> Golden | None:
        """Of these occurrences, None of fewer than FEWEST; `least`: the smallest spread (2, n_channels) that counts."""
        if len(profiles) < FEWEST:
            return None
        place = np.unique(np.linspace(0, len(profiles) - 1, min(len(profiles), _MOST_FITTED)).astype(np.int64))
        own = profiles[place]
        middle, spread = _typical(own, least)
        distances = np.zeros((len(own), *own.shape[2:]))
        for half in (0, 1):  # each compared with what the other half says
            distances[half::2] = _distances(own[half::2], *_typical(own[1 - half :: 2], least))
        usual = np.maximum(np.quantile(distances, QUANTILE, axis=0), 1.0)
        limit = FARTHER * float(np.quantile((distances / usual).max(axis=(1, 2)), QUANTILE))
        longest = LONGER * float(np.quantile(lengths, QUANTILE))
        return cls(tuple(channels), middle, spread, usual, max(limit, FARTHER), longest)

    def scores(self, profiles: Profiles) -> Floats:
        """The score of each occurrence."""
        return np.asarray((_distances(profiles, self.middle, self.spread) / self.usual).max(axis=(1, 2)) / self.limit)

    def deviation(self, profile: Profiles) -> Deviation:
        """The score of one occurrence (1, …), and the channels that deviate; where none does, the farthest."""
        ratios = (_distances(profile, self.middle, self.spread) / self.usual)[0] / self.limit
        kinds, largest = ratios.argmax(axis=0), ratios.max(axis=0)
        order = np.argsort(-largest, kind="stable")
        named = [c for c in order[:_MOST_NAMED] if largest[c] >= min(1.0, largest.max())]
        with np.errstate(invalid="ignore"):
            z = np.nan_to_num((profile[0] - self.middle) / self.spread).mean(axis=0)
        claims = [ChannelClaim(self.channels[c], ("level", "movement")[kinds[c]], float(z[kinds[c], c])) for c in named]
        return Deviation(float(largest.max()), tuple(claims))


def _typical(profiles: Profiles, least: Floats) -> tuple[Floats, Floats]:
    unknown = np.isnan(profiles)
    nowhere = unknown.all(axis=0)  # known in no occurrence: NaN, without a warning of numpy's
    quantile = np.nanquantile if unknown.any() else np.quantile
    low, middle, high = quantile(np.where(nowhere, 0.0, profiles), (0.1, 0.5, 0.9), axis=0).astype(np.float64)
    middle[nowhere] = np.nan
    return middle, np.maximum((high - low) / _OF_NORMAL, least)


def _distances(profiles: Profiles, middle: Floats, spread: Floats) -> Floats:
    """D of each occurrence, for level and movement, in each channel (n, 2, n_channels); 0 where nothing is known."""
    z = np.nan_to_num((profiles - middle) / spread)
    return np.asarray(np.sqrt((z**2).mean(axis=1)))


def profiles_of(values: NDArray[np.floating], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Profiles:
    """The profiles of stretches of frames (n_frames, n_channels) that do not overlap."""
    found = np.full((len(starts), N_COLUMNS, 2, values.shape[1]), np.nan, np.float32)
    edges = starts[:, None] + (stops - starts)[:, None] * np.linspace(0.0, 1.0, N_COLUMNS + 1)
    for channel in range(values.shape[1]):
        level = values[:, [channel]].astype(np.float64)
        known = np.isfinite(level)
        offset = float(level[known].mean()) if known.any() else 0.0  # long sums of large values lose digits
        movement = np.abs(np.diff(level, axis=0, prepend=level[:1]))
        movement[starts[starts < len(movement)]] = 0.0  # how it came there is not part of an occurrence
        for kind, (frames, shift) in enumerate(((level - offset, offset), (movement, 0.0))):
            between = np.append(FrameSums.of(frames).means_between(edges.ravel())[:, 0], np.nan)
            found[:, :, kind, channel] = between.reshape(edges.shape)[:, :N_COLUMNS] + shift
    return found


class LevelProfiles(NamedTuple):
    """The occurrences of one level that were read: their rows in the table of segments, and their profiles."""

    rows: pl.DataFrame
    profiles: Profiles

    @property
    def lengths(self) -> Floats:
        return np.asarray((self.rows["end_frame"] - self.rows["start_frame"]).to_numpy(), np.float64)

    def of_entries(self) -> dict[int, NDArray[np.int64]]:
        """The places of the occurrences of each entry."""
        ids = self.rows["id"].to_numpy()
        return {int(id): np.flatnonzero(ids == id) for id in np.unique(ids)}


class ProfiledRun(NamedTuple):
    """Channels, the least spread that counts (2, n_channels), and what was read of each level."""

    channels: tuple[str, ...]
    least: Floats
    levels: dict[str, LevelProfiles]

    def goldens(self) -> dict[tuple[str, int], Golden]:
        """The golden occurrence of each entry that has one."""
        return {
            (level, id): golden
            for level, read in self.levels.items()
            for id, at in read.of_entries().items()
            if (golden := self.golden(level, at)) is not None
        }

    def golden(self, level: str, at: NDArray[np.int64]) -> Golden | None:
        read = self.levels[level]
        return Golden.of(self.channels, read.profiles[at], read.lengths[at], self.least)


def deviation_rows(run: RunData) -> list[tuple[Any, ...]]:
    """Recording, level, id, frames, score and channels of every occurrence of an entry with a golden one, in order."""
    read = profiled(run, [one.id for one in spread_over(run.summary.recordings)])
    rows: list[tuple[Any, ...]] = []
    if read is None:
        return rows
    for (level, id), golden in read.goldens().items():
        own = read.levels[level]
        at = own.of_entries()[id]
        for place, score in zip(at.tolist(), golden.scores(own.profiles[at]).tolist(), strict=True):
            named = golden.deviation(own.profiles[[place]]).channels if score >= 1 else ()
            row = own.rows.row(place, named=True)
            spans = (row["recording"], level, id, row["start_frame"], row["end_frame"])
            rows.append((*spans, round(score, 4), ", ".join(one.in_words() for one in named)))
    return rows


def profiled(run: RunData, ids: Sequence[str], names: Sequence[str] | None = None) -> ProfiledRun | None:
    """Units, and phrases of the labels, in the recordings `ids` that have the channels of the first; None of none.

    `names`: the channels to read; recordings that lack one are left out. Movement is not known where the run keeps no
    single frames. Of very many occurrences some are read, evenly spread.
    """
    import polars as pl

    segments, _ = segments_in(run, ids)
    phrases = [one.id for one in run.summary.shown_motifs if one.kind == "phrase"]
    wanted = (pl.col("id") >= 0) & ((pl.col("level") == "unit") | pl.col("id").is_in(phrases))
    parts, channels, n_entries = by_recording(segments.filter(wanted)), tuple[str, ...](), 0
    n_entries = len(run.summary.units) + len(phrases)
    read: dict[str, list[tuple[pl.DataFrame, Profiles]]] = {}
    moments: dict[str, tuple[Floats, Floats]] = {}
    for id in ids:
        overview = run.overviews[id] if id in parts else None
        if overview is not None and names is not None:
            if not set(names) <= set(overview.channels):
                continue
            overview = overview.only([overview.channels.index(name) for name in names])
        if overview is None or not overview.codes.size or (channels and overview.channels != channels):
            continue
        channels = overview.channels
        most = max(FEWEST, _MOST_VALUES // (2 * N_COLUMNS * len(channels) * max(1, n_entries) * len(ids)))
        values, bucket = overview.values().mean(axis=2), overview.bucket_frames
        for (level,), rows in parts[id].partition_by("level", as_dict=True).items():
            place, n = pl.int_range(pl.len()).over("id"), pl.len().over("id")
            rows = rows.filter((n <= most) | ((place * most) // n != ((place - 1) * most) // n) | (place == 0))
            starts, stops = (rows[name].to_numpy() // bucket for name in ("start_frame", "end_frame"))
            own = profiles_of(values, starts, np.maximum(stops, starts + 1))
            if bucket > 1:
                own[:, :, 1] = np.nan
            read.setdefault(str(level), []).append((rows, own))
            moments[id] = _moments(values)
    if not read:
        return None
    _share_scale(read, moments)
    levels = {
        level: LevelProfiles(pl.concat([rows for rows, _ in own]), np.concatenate([found for _, found in own]))
        for level, own in read.items()
    }
    every = levels[min(levels, key=lambda level: level != "unit")].profiles.astype(np.float64)
    known = np.where(np.isfinite(every), every, 0.0)
    tiny = 1e-6 * np.abs(known).max(axis=(0, 1)) + 1e-12  # of a channel that never changes
    return ProfiledRun(channels, np.maximum(_LEAST_SPREAD * known.std(axis=(0, 1)), tiny), levels)


def _moments(values: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Mean and deviation of each channel; 0 where it has no value."""
    known = np.isfinite(values)
    n = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0.0).sum(axis=0, dtype=np.float64) / n
    square = (np.where(known, values - mean, 0.0) ** 2).sum(axis=0, dtype=np.float64) / n
    return mean, np.sqrt(square)


def _share_scale(
    read: dict[str, list[tuple[pl.DataFrame, Profiles]]], moments: dict[str, tuple[Floats, Floats]]
) -> None:
    """Bring several recordings to their mean level and typical deviation: sensors sit differently each time.

    A model reads them so by default; one recording stays as it is.
    """
    if len(moments) < 2:
        return
    means, deviations = (np.stack(own) for own in zip(*moments.values(), strict=True))
    level, scale = means.mean(axis=0), np.sqrt((deviations**2).mean(axis=0))
    for own in read.values():
        for rows, profiles in own:
            mean, deviation = moments[rows["recording"][0]]
            factor = np.divide(scale, deviation, out=np.ones_like(scale), where=deviation > 0)
            profiles[:, :, 0] = (profiles[:, :, 0] - mean) * factor + level
            profiles[:, :, 1] *= factor
