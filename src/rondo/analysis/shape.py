"""Which channels set an entry apart from everything else, by level or by movement (change from frame to frame).

Both are measured as a standardised difference of the frames of the entry to all other frames,

    d = (mean_in - mean_rest) / sqrt((var_in + var_rest) / 2)

so that 0.8 and more can be seen by eye. It describes; it proves nothing. Every recording is taken in deviations from
its own mean, as models read it by default: sensors sit differently each time.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats
from rondo.data.labels import OTHER, from_runs
from rondo.run.overview import Overview
from rondo.wording import duration_in_words, is_date

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.summary import RecordingSummary


FRAMES_COMPARED = 200_000
"""Means of two hundred thousand frames are as good as those of a million, and quicker."""

_WORTH_NAMING = 0.2  # d below which nothing is seen
_LARGEST = 99.9  # d of two constants that differ is infinite
_DIRECTIONS = (("lower", "higher"), ("moves less", "moves more"))


def standardised(overview: Overview, most: int = FRAMES_COMPARED) -> Overview:
    """The same codes, read as deviations from the mean of each channel in standard deviations."""
    every = max(1, len(overview.codes) // most)
    values = overview._replace(codes=overview.codes[::every]).values().mean(axis=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a channel without any value: its mean is none
        mean, deviation = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    unit = np.where(deviation > 0, deviation, 1.0)
    return overview._replace(low=(overview.low - mean) / unit, high=(overview.high - mean) / unit)


@dataclass
class Sums:
    """Count, sum and sum of squares of level and movement: (n_ids + 1, 2, n_channels), the last id being OTHER."""

    n: Floats
    total: Floats
    squares: Floats

    @classmethod
    def empty(cls, n_ids: int, n_channels: int) -> Sums:
        return cls(*(np.zeros((n_ids + 1, 2, n_channels)) for _ in range(3)))

    def add(self, overview: Overview, track: NDArray[np.int32], most: int = FRAMES_COMPARED) -> None:
        """Add the frames of one recording, or about so many of them; `track` gives the id of each."""
        n_buckets, bucket = overview.codes.shape[0], overview.bucket_frames
        places = np.arange(0, n_buckets, max(1, n_buckets // most))
        now, before = (
            overview._replace(codes=overview.codes[at]).values() for at in (places, np.maximum(places - 1, 0))
        )
        level = now.mean(axis=2)
        change = np.abs(level - before[..., 0]) if bucket == 1 else np.ptp(now, axis=2)
        middle = np.minimum(places * bucket + bucket // 2, overview.n_frames - 1)
        ids = np.where(track[middle] == OTHER, self.n.shape[0] - 1, track[middle])
        for kind, feature in enumerate((level, change)):
            for channel in range(feature.shape[1]):
                known = np.isfinite(feature[:, channel])
                own, x = ids[known], feature[known, channel].astype(np.float64)
                for sums, weights in ((self.n, None), (self.total, x), (self.squares, x * x)):
                    sums[:, kind, channel] += np.bincount(own, weights, minlength=sums.shape[0])

    def differences(self) -> Floats:
        """d of every id, for level and movement, in every channel; 0 where there is nothing to compare."""
        inside = (self.n, self.total, self.squares)
        rest = tuple(part.sum(axis=0) - part for part in inside)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean, rest_mean = (total / n for n, total, _ in (inside, rest))
            variance = np.maximum(self.squares / self.n - mean**2, 0)
            rest_variance = np.maximum(rest[2] / rest[0] - rest_mean**2, 0)
            d = (mean - rest_mean) / np.sqrt((variance + rest_variance) / 2)
        shown: Floats = np.clip(np.nan_to_num(d, nan=0.0), -_LARGEST, _LARGEST)
        return shown[:-1]


class Compared(NamedTuple):
    """The channels of the first recording with any, the recordings that have the same, and the sums of each table."""

    channels: tuple[str, ...]
    alike: list[str]
    sums: list[Sums]


RECORDINGS_COMPARED = 20
"""With all of their frames; of more recordings each gives fewer."""


def frames_compared(n_recordings: int) -> int:
    """How many frames each of so many recordings gives."""
    return FRAMES_COMPARED * min(RECORDINGS_COMPARED, n_recordings) // max(1, n_recordings)


def compared(
    tables: Sequence[pl.DataFrame], overviews: Mapping[str, Overview], n_ids: int = 0, of: int = 1
) -> Compared:
    """Level and movement of the entries of each table, whose segments do not overlap; `n_ids`: at least so many.

    `of`: one in so many of the frames that can be compared is enough.
    """
    most = frames_compared(len(overviews)) // of
    sizes = [max(n_ids, 1 + int(it["id"].max() or 0)) for it in tables]  # type: ignore[arg-type]
    found = Compared((), [], [Sums.empty(size, 0) for size in sizes])
    parts = [by_recording(table) for table in tables]
    for id in overviews:
        overview = overviews[id]  # read once: of many recordings not all fit into memory
        if not found.alike and overview.codes.size:
            channels = overview.channels
            found = Compared(channels, [], [Sums.empty(size, len(channels)) for size in sizes])
        if not overview.codes.size or overview.channels != found.channels:
            continue
        plain = standardised(overview, most)
        for table, part, sums in zip(tables, parts, found.sums, strict=True):
            own = part.get(id, table.clear())
            sums.add(plain, from_runs(own["start_frame"], own["end_frame"], own["id"], overview.n_frames), most)
        found.alike.append(id)
    return found


def by_recording(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """One pass: to filter a table for each of a thousand recordings takes a minute."""
    return {str(id): rows for (id,), rows in table.partition_by("recording", as_dict=True).items()}


def in_words(channel: str, d: Floats) -> dict[str, Any] | None:
    """How a channel (d of level and movement) sets an entry apart; None where it does not."""
    kind = int(np.argmax(np.abs(d)))
    if abs(d[kind]) < _WORTH_NAMING:
        return None
    return {"channel": channel, "words": _DIRECTIONS[kind][int(d[kind] > 0)], "d": round(float(d[kind]), 1)}


# Occurrences of an entry over each other: their mean and the band that holds 80 % of them, in each channel.
#
# An occurrence is read in columns. Column c is the mean of the signal between two moments,
#
#     from the start    [c, c + 1) · width / n_columns    frames after it begins, as long as it lasts
#     stretched         [c, c + 1) · length / n_columns   so that all begin and end together
#
# A frame that lies in several columns counts in each by the part of it that lies there.

MAX_COLUMNS = 64
LEAST_SHARE = 0.25
"""Of the occurrences, that last long enough to be in a column from the start; with fewer it shows only the longest."""


class FrameSums(NamedTuple):
    """Frames (n_frames, n_channels), each constant in itself, summed up from the first; NaN are left out."""

    total: Floats  # (n_frames + 1, n_channels)
    known: Floats | None  # how many of them are no NaN; None where all are

    @classmethod
    def of(cls, values: NDArray[np.floating]) -> FrameSums:
        known = np.isfinite(values)
        if known.all():
            return cls(_summed(values), None)
        return cls(_summed(np.where(known, values, 0.0)), _summed(known))

    def means_between(self, edges: Floats) -> Floats:
        """Mean between neighbouring edges, which are frames or parts of them, (n_edges - 1, n_channels).

        NaN where no frame that is known lies between them.
        """
        n_frames = len(self.total) - 1
        at = np.clip(edges, 0, n_frames)
        whole = np.minimum(at.astype(np.int64), max(0, n_frames - 1))
        after, part = np.minimum(whole + 1, n_frames), (at - whole)[:, None]
        total, weight = (
            np.diff(at[:, None] if sums is None else sums[whole] + part * (sums[after] - sums[whole]), axis=0)
            for sums in (self.total, self.known)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(weight > 1e-9, total / weight, np.nan)


def _summed(frames: NDArray[np.floating] | NDArray[np.bool_]) -> Floats:
    sums = np.zeros((len(frames) + 1, frames.shape[1]))
    np.cumsum(frames, axis=0, dtype=np.float64, out=sums[1:])
    return sums


def occurrence_columns(
    overview: Overview, start: int, end: int, cuts: Sequence[tuple[int | None, int]], rows: NDArray[np.int64]
) -> list[Floats]:
    """One occurrence in some channels, (n_rows, n_columns) for each cut into (width, n_columns).

    The width is so many frames from its start, or None for stretched. From the start, columns whose middle lies behind
    its end are NaN.
    """
    bucket = overview.bucket_frames
    first = start // bucket
    span = overview._replace(codes=overview.codes[first : max(first + 1, -(-end // bucket))]).only([*rows])
    sums, columns = FrameSums.of(span.values().mean(axis=2)), []
    for width, n_columns in cuts:
        edges = np.linspace(0, end - start if width is None else width, n_columns + 1)
        middles = (edges[1:] + edges[:-1]) / 2
        found = sums.means_between((np.minimum(edges, end - start) + start) / bucket - first)
        found[middles >= end - start] = np.nan
        columns.append(found.T)
    return columns


def mean_and_band(stack: Floats) -> Floats:
    """10 % quantile, mean and 90 % quantile over occurrences (n, n_rows, n_columns): (n_rows, 3, n_columns).

    A column that fewer than `LEAST_SHARE` of the occurrences reach is NaN.
    """
    ordered = np.sort(stack, axis=0)  # NaN go last
    n = np.isfinite(ordered).sum(axis=0)
    last = np.maximum(n - 1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(stack, axis=0) / n
    quantiles = []
    for share in (0.1, 0.9):  # of the first n, with straight lines between neighbours
        low = np.floor(share * last).astype(np.int64)
        ends = (low, np.minimum(low + 1, last))
        below, above = (np.take_along_axis(ordered, place[None], axis=0)[0] for place in ends)
        quantiles.append(below + (share * last - low) * (above - below))
    bands = np.stack([quantiles[0], mean, quantiles[1]], axis=1)
    enough = n >= max(1.0, LEAST_SHARE * len(stack))
    return np.where(enough[:, None], bands, np.nan)


# How long the occurrences of an entry last, and when they come: counts and shares for small pictures.
#
# When: by the hour of the day where the clock has dates and the recordings cover at least `LEAST_HOURS` different
# hours; else by the place in the recording, from its start to its end. Both are the share of the recorded time that
# the entry takes, so that a full bar means "always", however long was recorded.

MOST_BINS, N_PLACES = 16, 48
FEWEST_DRAWN = 4
"""Durations from which on more than one bin says something."""

LEAST_HOURS = 6
_LOGARITHMIC_FROM = 12  # longest over shortest from which bins grow by a factor
Spans = Mapping[str, tuple[Floats, Floats]]
"""Starts and ends of the occurrences of an entry, in frames, in order, by recording."""


def duration_bins(lengths: Sequence[float] | Floats, *, in_seconds: bool) -> dict[str, Any]:
    """Counts of durations in bins, words for both ends, and the place of the median between them (0 to 1)."""
    own = np.asarray(lengths, dtype=np.float64)
    low, high = float(own.min()), float(own.max())
    middle = float(np.median(own))
    is_log = high > _LOGARITHMIC_FROM * low > 0
    n_bins = 1 if high == low or own.size < FEWEST_DRAWN else int(np.clip(np.ceil(np.sqrt(own.size)), 2, MOST_BINS))
    scaled = np.log([*own, low, high, middle]) if is_log else np.array([*own, low, high, middle])
    first, last = scaled[-3], scaled[-2]
    counts = np.histogram(scaled[:-3], bins=n_bins, range=(first, last) if last > first else None)[0]
    at = 0.5 if last == first else (scaled[-1] - first) / (last - first)
    words = [duration_in_words(x) if in_seconds else f"{x:.0f} frames" for x in (low, high, middle)]
    return {
        "counts": counts.tolist(),
        "ends": words[:2],
        "median": words[2],
        "median_at": round(float(at), 4),
        "logarithmic": is_log,
    }


def occurrence_spans(table: pl.DataFrame) -> dict[int, Spans]:
    """Starts and ends of all occurrences in a table of segments of one level, by id and recording."""
    rows, spans = table.sort("id", "recording", "start_frame"), dict[int, dict[str, tuple[Floats, Floats]]]()
    for (id, recording), part in rows.partition_by("id", "recording", as_dict=True, maintain_order=True).items():
        starts, ends = (part[name].to_numpy().astype(np.float64) for name in ("start_frame", "end_frame"))
        spans.setdefault(int(id), {})[str(recording)] = (starts, ends)
    return {**spans}


_NOTHING = (np.zeros(0), np.zeros(0))


def frames_before(starts: Floats, ends: Floats, at: Floats) -> Floats:
    """How many frames before each place lie inside the spans, which are in order and apart."""
    if not starts.size:
        return np.zeros_like(at)
    knots = np.stack([starts, ends], axis=1).ravel()
    inside = np.stack([np.zeros_like(starts), ends - starts], axis=1).ravel()
    return np.asarray(np.interp(at, knots, np.cumsum(inside)))


class Hours(NamedTuple):
    """By hour of the day: frames of an entry, frames recorded; and on how many days the entry begins."""

    taken: Floats
    there: Floats
    n_days: int


def hours_of_day(spans: Spans, recordings: Sequence[RecordingSummary]) -> Hours | None:
    """None where not all clocks have dates, or the recordings cover fewer than `LEAST_HOURS` hours of the day."""
    taken, there, days = np.zeros(24), np.zeros(24), set[int]()
    for one in recordings:
        if one.clock is None or not is_date(one.clock.seconds[0]):
            return None
        first, last = one.clock.seconds[0], one.clock.seconds[-1]
        edges = np.arange(np.floor(first / 3600), np.ceil(last / 3600) + 1)
        frames = np.interp(edges * 3600, one.clock.seconds, one.clock.frames)
        hour = edges[:-1].astype(np.int64) % 24
        starts, ends = spans.get(one.id, _NOTHING)
        np.add.at(taken, hour, np.diff(frames_before(starts, ends, frames)))
        np.add.at(there, hour, np.diff(frames))
        days |= set((np.interp(starts, one.clock.frames, one.clock.seconds) // 86_400).astype(np.int64).tolist())
    return Hours(taken, there, len(days)) if np.count_nonzero(there) >= LEAST_HOURS else None


def when(spans: Spans, recordings: Sequence[RecordingSummary]) -> dict[str, Any]:
    """The share of recorded time by hour of the day or by place; None in `shares` where nothing was recorded."""
    hours = hours_of_day(spans, recordings)
    if hours is not None:
        by, ends, taken, there = "hour", ["0 h", "24 h"], hours.taken, hours.there
    else:
        by, ends = "place", ["start", "end"]
        if len(recordings) == 1 and recordings[0].duration_s is not None:
            ends = ["0", duration_in_words(recordings[0].duration_s)]
        taken, there = np.zeros(N_PLACES), np.zeros(N_PLACES)
        for one in recordings:
            edges = np.linspace(0, one.n_frames, N_PLACES + 1)
            taken += np.diff(frames_before(*spans.get(one.id, _NOTHING), edges))
            there += np.diff(edges)
    shares = [round(float(a / b), 4) if b > 0 else None for a, b in zip(taken, there, strict=True)]
    return {"by": by, "shares": shares, "ends": ends, "n_recordings": len(recordings)}
