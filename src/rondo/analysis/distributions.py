"""How long the occurrences of an entry last, and when they come: counts and shares for small pictures.

When: by the hour of the day where the clock has dates and the recordings cover at least `LEAST_HOURS` different hours;
else by the place in the recording, from its start to its end. Both are the share of the recorded time that the entry
takes, so that a full bar means "always", however long was recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.arrays import Floats
from rondo.times import duration_in_words, is_date

if TYPE_CHECKING:
    from rondo.run.summary import RecordingSummary

MOST_BINS, N_PLACES = 16, 48
FEWEST_DRAWN = 4
"""Durations from which on more than one bin says something."""

LEAST_HOURS = 6
_LOGARITHMIC_FROM = 12  # longest over shortest from which bins grow by a factor
Spans = Mapping[str, tuple[Floats, Floats]]
"""Starts and ends of the occurrences of an entry, in frames, in order, by recording."""


def duration_bins(lengths: Sequence[float] | Floats, *, in_seconds: bool) -> dict[str, Any]:
    """Counts of durations in bins, words for both ends, and the place of the median between them (0 to 1).

    >>> found = duration_bins([2.0, 2.0, 3.0, 4.0], in_seconds=True)
    >>> found["counts"], found["ends"], found["median"], found["median_at"]
    ([2, 2], ['2 s', '4 s'], '2.5 s', 0.25)
    """
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


def frames_before(starts: Floats, ends: Floats, at: Floats) -> Floats:
    """How many frames before each place lie inside the spans, which are in order and apart.

    >>> frames_before(np.array([2.0, 6.0]), np.array([4.0, 7.0]), np.array([0.0, 3.0, 5.0, 9.0])).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    if not starts.size:
        return np.zeros_like(at)
    knots = np.stack([starts, ends], axis=1).ravel()
    inside = np.stack([np.zeros_like(starts), ends - starts], axis=1).ravel()
    return np.asarray(np.interp(at, knots, np.cumsum(inside)))


def when(spans: Spans, recordings: Sequence[RecordingSummary]) -> dict[str, Any]:
    """The share of recorded time by hour of the day or by place; None in `shares` where nothing was recorded."""
    hours = _by_hour(spans, recordings)
    if hours is not None:
        return hours
    taken, there = np.zeros(N_PLACES), np.zeros(N_PLACES)
    for one in recordings:
        edges = np.linspace(0, one.n_frames, N_PLACES + 1)
        taken += np.diff(frames_before(*spans.get(one.id, _NOTHING), edges))
        there += np.diff(edges)
    ends = ["start", "end"]
    if len(recordings) == 1 and recordings[0].duration_s is not None:
        ends = ["0", duration_in_words(recordings[0].duration_s)]
    return {"by": "place", "shares": _shares(taken, there), "ends": ends, "n_recordings": len(recordings)}


_NOTHING = (np.zeros(0), np.zeros(0))


def _by_hour(spans: Spans, recordings: Sequence[RecordingSummary]) -> dict[str, Any] | None:
    """None where a recording has no dates, or where all of them together cover too few hours of the day."""
    taken, there = np.zeros(24), np.zeros(24)
    for one in recordings:
        if one.clock is None or not is_date(one.clock.seconds[0]):
            return None
        first, last = one.clock.seconds[0], one.clock.seconds[-1]
        edges = np.arange(np.floor(first / 3600), np.ceil(last / 3600) + 1)
        frames = np.interp(edges * 3600, one.clock.seconds, one.clock.frames)
        hour = edges[:-1].astype(np.int64) % 24
        np.add.at(taken, hour, np.diff(frames_before(*spans.get(one.id, _NOTHING), frames)))
        np.add.at(there, hour, np.diff(frames))
    if np.count_nonzero(there) < LEAST_HOURS:
        return None
    return {"by": "hour", "shares": _shares(taken, there), "ends": ["0 h", "24 h"], "n_recordings": len(recordings)}


def _shares(taken: Floats, there: Floats) -> list[float | None]:
    return [round(float(a / b), 4) if b > 0 else None for a, b in zip(taken, there, strict=True)]
