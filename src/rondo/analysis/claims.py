"""What an entry is, as claims: values that can be computed again from the signal and the labels, and their words.

    channels        |d| of level or movement, as in `rondo.analysis.shape`: 'F_PU6 high, F_PU7 low'
    motion          the share of channels that move less, or more, than elsewhere: 'still'
    rhythm          the frequency with most power over its occurrences: 'wrist swings at 0.9 Hz'
    hours           the fewest hours of the day in a row that hold most of its time: '22-06 h'
    duration        the median of its occurrences: '8.7 h'
    predecessor     the entry that most of its occurrences follow directly: 'after u3'

A claim is made only where it is large; a sentence joins those that are. No claim says that an entry recurs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.analysis.sequence import transitions_in
from rondo.analysis.shape import Compared, Spans, compared, hours_of_day, occurrence_spans
from rondo.arrays import Floats, Lazy
from rondo.run.clock import spread_over
from rondo.run.overview import Overview
from rondo.run.segments import segments_in
from rondo.wording import duration_in_words

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.data import RunData
    from rondo.run.summary import EntrySummary, RecordingSummary

# What is worth a word; chosen by hand, and checked for truth, not for use.
_LARGE = 0.8  # d that can be seen by eye (Cohen 1988 calls it large)
_ALL_LARGE, _MOST_CHANNELS = 0.5, 2 / 3  # of movement, and the share of channels that must have it for 'still'
_CHANNELS_NAMED, _CHANNELS_SEARCHED = 2, 4
_OF_ITS_TIME, _MOST_HOURS, _OF_ALL_TIME, _FEWEST_DAYS = 0.9, 12, 0.6, 3
_OF_POWER, _BAND, _FEWEST_PERIODS, _FEWEST_FRAMES_A_PERIOD = 0.5, 1.25, 3.0, 4.0
_OCCURRENCES_READ, _FRAMES_READ, _FEWEST_FRAMES = 12, 1024, 16
_ONE_OF = 4  # frames: 50,000 of a recording tell whether d is large
_OF_OCCURRENCES, _FEWEST_FOLLOWING, _FEWEST_ENTRIES = 2 / 3, 3, 3


@dataclass(frozen=True)
class ChannelClaim:
    """How far a channel differs from the rest of the time; `kind` is 'level' or 'movement'."""

    channel: str
    kind: str
    d: float

    def in_words(self) -> str:
        """
        >>> ChannelClaim("F_PU6", "level", 2.0).in_words(), ChannelClaim("wrist", "movement", -1.1).in_words()
        ('F_PU6 high', 'wrist moves less')
        """
        words = {"level": ("low", "high"), "movement": ("moves less", "moves more")}[self.kind]
        return f"{self.channel} {words[self.d > 0]}"


@dataclass(frozen=True)
class MotionClaim:
    """The share of channels that move less (`is_more` False) or more than in the rest of the time."""

    is_more: bool
    share: float

    def in_words(self) -> str:
        return "moving" if self.is_more else "still"


@dataclass(frozen=True)
class RhythmClaim:
    """A frequency, and the share of the power of its channel near it."""

    channel: str
    hertz: float
    share: float

    def in_words(self) -> str:
        """
        >>> RhythmClaim("left wrist", 0.9, 0.8).in_words(), RhythmClaim("level", 1 / 7200, 0.8).in_words()
        ('left wrist swings at 0.9 Hz', 'level swings every 2 h')
        """
        seldom = self.hertz < 0.05  # a period of 20 s
        often = f"every {duration_in_words(1 / self.hertz)}" if seldom else f"at {self.hertz:.2g} Hz"
        return f"{self.channel} swings {often}"


@dataclass(frozen=True)
class HoursClaim:
    """Hours of the day, from `first` until `end`, and the share of its time in them."""

    first: int
    end: int
    share: float

    def in_words(self) -> str:
        return f"{self.first:02d}-{self.end:02d} h"


@dataclass(frozen=True)
class DurationClaim:
    """The median duration; in seconds, or in frames where no clock is known."""

    median: float
    in_seconds: bool

    def in_words(self) -> str:
        return duration_in_words(self.median) if self.in_seconds else f"{self.median:.0f} frames"


@dataclass(frozen=True)
class FollowsClaim:
    """The entry that it follows, and in which share of the occurrences that follow anything."""

    entry: str
    share: float

    def in_words(self) -> str:
        return f"after {self.entry}"


Claim = ChannelClaim | MotionClaim | RhythmClaim | HoursClaim | DurationClaim | FollowsClaim
_OF_SIGNAL = (ChannelClaim, MotionClaim, RhythmClaim)


def in_a_sentence(claims: Sequence[Claim]) -> str:
    """What the signal does; then when, how long and after what.

    >>> in_a_sentence([ChannelClaim("a", "level", 2.0), HoursClaim(22, 6, 0.9), DurationClaim(31_000.0, True)])
    'a high; 22-06 h, 8 h 37 min'
    """
    signal = ", ".join(claim.in_words() for claim in claims if isinstance(claim, _OF_SIGNAL))
    other = ", ".join(claim.in_words() for claim in claims if not isinstance(claim, _OF_SIGNAL))
    return "; ".join(part for part in (signal, other) if part)


def claims_of(run: RunData) -> dict[tuple[str, int], tuple[Claim, ...]]:
    """The claims about every entry of a run, by level and id.

    Durations are of all occurrences; signals, and what follows what, of at most `MOST_SPREAD` recordings.
    """
    summary = run.summary
    recordings = spread_over(summary.recordings)
    overviews = Lazy([one.id for one in recordings], run.overviews.__getitem__, lambda one: one.codes.nbytes)
    groups = [group for group in _groups(run, [*overviews]) if group.entries]
    n_ids = 1 + max((entry.id for group in groups for entry in group.entries), default=0)
    signals = compared([group.segments for group in groups], overviews, n_ids, _ONE_OF)
    spans = [occurrence_spans(group.segments) for group in groups]
    d = [sums.differences() for sums in signals.sums]
    wanted = [(place, one.id) for place, group in enumerate(groups) for one in group.entries]
    rhythms = _rhythms(
        {key: (spans[key[0]].get(key[1], {}), d[key[0]][key[1]]) for key in wanted}, signals, overviews, recordings
    )
    found: dict[tuple[str, int], tuple[Claim, ...]] = {}
    for place, (level, entries, segments) in enumerate(groups):
        before = _predecessors(segments, recordings) if len(entries) >= _FEWEST_ENTRIES else {}
        for entry in entries:
            rhythm = rhythms.get((place, entry.id))
            claims: list[Claim] = [*_of_channels(signals.channels, d[place][entry.id], rhythm)]
            hours = _hours(spans[place].get(entry.id, {}), recordings)
            claims += [claim for claim in (rhythm, hours) if claim is not None]
            found[level, entry.id] = (*claims, _duration(entry), *before.get(entry.id, ()))
    return found


class _Group(NamedTuple):
    """Entries with their segments, which do not overlap."""

    level: str
    entries: Sequence[EntrySummary]
    segments: pl.DataFrame


def _groups(run: RunData, ids: Sequence[str]) -> list[_Group]:
    """Units, motifs of the labels, and the motifs that labels do not show, in some recordings."""
    import polars as pl

    summary = run.summary
    segments, unshown = segments_in(run, ids)
    parts = [
        ("unit", summary.units, segments),
        ("motif", summary.shown_motifs, segments),
        ("motif", summary.unshown_motifs, unshown),
    ]
    return [
        _Group(level, own, table.filter((pl.col("level") == level) & (pl.col("id") >= 0)))
        for level, own, table in parts
    ]


def _of_channels(channels: Sequence[str], d: Floats, rhythm: RhythmClaim | None) -> list[ChannelClaim | MotionClaim]:
    """`d`: of level and movement (2, n_channels)."""
    claims: list[ChannelClaim | MotionClaim] = []
    kinds = np.abs(d).argmax(axis=0) if d.size else np.zeros(0, np.int64)
    if len(channels) > 1:
        for is_more in (False, True):
            share = float(((d[1] >= _ALL_LARGE) if is_more else (d[1] <= -_ALL_LARGE)).mean())
            claims += [MotionClaim(is_more, share)] * (share >= _MOST_CHANNELS)
    if claims:
        kinds = np.zeros_like(kinds)  # what is left to say of single channels is their level
    largest = d[kinds, np.arange(len(channels))] if d.size else np.zeros(0)
    named = [place for place in np.argsort(-np.abs(largest), kind="stable") if abs(largest[place]) >= _LARGE]
    swinging = "" if rhythm is None else rhythm.channel
    found = [ChannelClaim(channels[c], ("level", "movement")[kinds[c]], float(largest[c])) for c in named]
    return claims + [one for one in found if one.kind == "level" or one.channel != swinging][:_CHANNELS_NAMED]


def _duration(entry: EntrySummary) -> DurationClaim:
    if entry.median_duration_s is None:
        return DurationClaim(entry.median_duration_frames, in_seconds=False)
    return DurationClaim(entry.median_duration_s, in_seconds=True)


def _predecessors(table: pl.DataFrame, recordings: Sequence[RecordingSummary]) -> dict[int, tuple[FollowsClaim, ...]]:
    """What each entry follows, where that is mostly one other entry."""
    counts: dict[int, dict[int, int]] = {}
    for row in transitions_in(table, recordings, {}):
        own = counts.setdefault(row.next_id, {})
        own[row.id] = own.get(row.id, 0) + row.n
    level = str(table["level"][0]) if table.height else ""
    found: dict[int, tuple[FollowsClaim, ...]] = {}
    for id, own in counts.items():
        n, best = sum(own.values()), max(own, key=lambda before: (own[before], -before))
        if best != id and n >= _FEWEST_FOLLOWING and own[best] >= _OF_OCCURRENCES * n:
            found[id] = (FollowsClaim(f"{level[0]}{best}", own[best] / n),)
    return found


def _hours(spans: Spans, recordings: Sequence[RecordingSummary]) -> HoursClaim | None:
    """The fewest hours in a row that hold most of its time, on several days; None where they say little."""
    hours = hours_of_day(spans, recordings)
    if hours is None or hours.n_days < _FEWEST_DAYS or not hours.taken.sum():
        return None
    taken, there = hours.taken / hours.taken.sum(), hours.there / hours.there.sum()
    for n in range(1, _MOST_HOURS + 1):
        inside = [float(np.roll(taken, -first)[:n].sum()) for first in range(24)]
        first = int(np.argmax(inside))
        if inside[first] >= _OF_ITS_TIME:
            is_telling = np.roll(there, -first)[:n].sum() <= _OF_ALL_TIME
            return HoursClaim(first, (first + n) % 24, inside[first]) if is_telling else None
    return None


_Keyed = Mapping[tuple[int, int], tuple[Spans, Floats]]


def _rhythms(
    entries: _Keyed, signals: Compared, overviews: Mapping[str, Overview], recordings: Sequence[RecordingSummary]
) -> dict[tuple[int, int], RhythmClaim]:
    """The clearest rhythm of each entry among the channels that set it apart most; where every frame is known."""
    rates = {one.rate for one in recordings}
    rate = rates.pop() if len(rates) == 1 else None
    if rate is None or not signals.channels:
        return {}
    rows = {
        key: np.argsort(-np.abs(d).max(axis=0), kind="stable")[:_CHANNELS_SEARCHED] for key, (_, d) in entries.items()
    }
    places: dict[str, list[tuple[tuple[int, int], int, int]]] = {}
    for key, (spans, _) in entries.items():
        own = [(id, int(a), int(b)) for id in signals.alike for a, b in zip(*spans.get(id, ((), ())), strict=True)]
        own = [place for place in own if place[2] - place[1] >= _FEWEST_FRAMES]
        chosen = np.linspace(0, len(own) - 1, min(_OCCURRENCES_READ, len(own))).astype(np.int64)
        for id, start, end in (own[place] for place in np.unique(chosen)):
            places.setdefault(id, []).append((key, start, min(end, start + _FRAMES_READ)))
    parts: dict[tuple[int, int], list[NDArray[np.float64]]] = {}
    for id, wanted in places.items():
        if (overview := overviews[id]).bucket_frames == 1:
            for key, start, end in wanted:
                span = overview._replace(codes=overview.codes[start:end]).only([*rows[key]])
                parts.setdefault(key, []).append(span.values()[..., 0].astype(np.float64))
    found = {key: _clearest(own, rate) for key, own in parts.items()}
    return {
        key: RhythmClaim(signals.channels[rows[key][row]], hertz, share)
        for key, (row, hertz, share) in found.items()
        if share
    }


def _clearest(parts: Sequence[NDArray[np.float64]], rate: float) -> tuple[int, float, float]:
    """The channel with the clearest rhythm, its frequency and share of power; a share of 0 where none is clear."""
    longest_s = float(np.median([len(part) for part in parts])) / rate
    clear = [
        (share, -row, hertz)
        for row, (hertz, share) in enumerate(_peaks(parts, rate))
        if share >= _OF_POWER and _FEWEST_PERIODS / longest_s <= hertz <= rate / _FEWEST_FRAMES_A_PERIOD
    ]
    share, row, hertz = max(clear, default=(0.0, 0, 0.0))
    return -row, hertz, share


def _peaks(parts: Sequence[NDArray[np.float64]], rate: float) -> list[tuple[float, float]]:
    """Of each channel the frequency with most power over all parts (n, n_channels), and the share of power near it.

    A part counts by its length; its mean is taken away, and it is tapered (Hann), so that its ends make no power.
    """
    power = np.zeros((_FRAMES_READ + 1, parts[0].shape[1]))
    for part in parts:
        if not np.isfinite(part).all():
            continue
        spectrum = np.fft.rfft((part - part.mean(axis=0)) * np.hanning(len(part))[:, None], 2 * _FRAMES_READ, axis=0)
        own = np.abs(spectrum) ** 2
        total = own.sum(axis=0)
        power += len(part) * np.divide(own, total, out=np.zeros_like(own), where=total > 0)
    hertz = np.arange(len(power)) * rate / (2 * _FRAMES_READ)
    found = []
    for column in power.T:
        peak = hertz[int(column.argmax())]
        near = column[(hertz >= peak / _BAND) & (hertz <= peak * _BAND)].sum()
        found.append((float(peak), float(near / column.sum()) if column.any() else 0.0))
    return found
