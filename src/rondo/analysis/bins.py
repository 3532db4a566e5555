"""How much each entry is used in each bin of time: every ten minutes, every day, or every hour of the day.

Bins lie on the clock: where it shows dates they begin at full hours and at midnight (UTC), else at the first frame. The
share is that of the time recorded in the bin, so that a gap counts for nothing; a bin without a frame is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.grid import FrameClock
from rondo.data.labels import OTHER
from rondo.errors import RecordingError, SettingError
from rondo.run.clock import clock_of
from rondo.wording import duration_in_words, is_date

if TYPE_CHECKING:
    from rondo.result import Result
    from rondo.run.summary import RecordingSummary

_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(ms|s|min|h|d)", re.ASCII)
_UNIT_S = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_MOST_ROWS = 2_000_000  # bins times entries: more is no table that anyone reads


class Bins(NamedTuple):
    """The length of a bin in seconds, and whether bins of the same hour of the day are one."""

    length_s: float
    by_hour: bool = False
    needs_dates: bool = False


@dataclass(frozen=True)
class BinUsage:
    """One entry in one bin of a recording; `start_s` and `end_s` are None for hours of the day."""

    recording: str
    bin: str
    start_s: float | None
    end_s: float | None
    recorded_frames: int
    recorded_s: float
    level: str
    id: int
    name: str  # what people call it
    n_occurrences: int  # that begin in the bin
    share: float  # of the time recorded in the bin


def parse_bins(text: str) -> Bins:
    """
    >>> parse_bins("10min"), parse_bins("hour")
    (Bins(length_s=600.0, by_hour=False, needs_dates=False), Bins(length_s=3600.0, by_hour=True, needs_dates=True))
    """
    if text in ("day", "hour"):
        return Bins(86_400.0, needs_dates=True) if text == "day" else Bins(3600.0, by_hour=True, needs_dates=True)
    found = _LENGTH.fullmatch(text.strip()) if isinstance(text, str) else None
    length_s = 0.0 if found is None else float(found[1]) * _UNIT_S[found[2]]
    if not length_s:
        raise SettingError(f"bins: expected a length of time (30s, 10min, 2h, 1d), 'day' or 'hour', got {text!r}")
    return Bins(length_s)


def bin_usage(result: Result, bins: Bins) -> list[BinUsage]:
    """Every entry in every bin of every recording, also where it does not occur."""
    import polars as pl

    segments = result.run.tables["segments"].filter(pl.col("id") != OTHER)
    entries = sorted(set(segments.select("level", "id").iter_rows()))
    names = {(level, entry.id): entry.name for level, entry in result.entries}
    rows: list[BinUsage] = []
    for recording in result.recordings:
        edges, times = _edges(recording, _clock(result, recording, bins), bins, len(entries))
        if edges.size < 2:
            continue
        own = segments.filter(pl.col("recording") == recording.id)
        counted = np.empty((len(entries), 2, edges.size - 1))
        for place, (level, id) in enumerate(entries):
            spans = own.filter((pl.col("level") == level) & (pl.col("id") == id)).sort("start_frame")
            counted[place] = _in_bins(spans["start_frame"].to_numpy(), spans["end_frame"].to_numpy(), edges)
        for frames, span, per_entry in _folded(np.diff(edges), times, counted, bins):
            if frames:
                start_s, end_s = (None, None) if bins.by_hour else span
                rows += [
                    BinUsage(
                        recording=recording.id,
                        bin=_title(span, bins),
                        start_s=start_s,
                        end_s=end_s,
                        recorded_frames=frames,
                        recorded_s=frames / (recording.rate or 1.0),
                        level=level,
                        id=int(id),
                        name=names.get((level, id), ""),
                        n_occurrences=int(n),
                        share=float(used / frames),
                    )
                    for (level, id), (used, n) in zip(entries, per_entry, strict=True)
                ]
    return rows


def _clock(result: Result, recording: RecordingSummary, bins: Bins) -> FrameClock:
    """Seconds at frames, from the first to the end of the last."""
    clock, about, rate = clock_of(result, recording.id), recording.clock, recording.rate
    if about is not None and rate is not None:  # it also knows gaps beside which there is no segment
        seconds, frames = np.array(about.seconds, np.float64), np.array(about.frames, np.float64)
        clock = FrameClock(seconds, frames, rate, float(seconds[0]))
    if clock is None:
        raise RecordingError(f"recording '{recording.id}' has no clock to count bins by; run again with --rate HZ")
    if bins.needs_dates and not is_date(clock.start_s):
        raise RecordingError(
            f"recording '{recording.id}' has a clock without dates, so days and hours of the day are not known; give "
            "a length such as 1h"
        )
    return clock


def _edges(
    recording: RecordingSummary, clock: FrameClock, bins: Bins, n_entries: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Frames at which bins begin, and the last one's end; and what the clock shows there."""
    if not recording.n_frames:
        return np.zeros(0, np.int64), np.zeros(0)
    first, last = clock.start_s, float(clock.seconds_at([recording.n_frames])[0])
    origin = 0.0 if is_date(first) else first
    low, high = np.floor((first - origin) / bins.length_s), np.ceil((last - origin) / bins.length_s - 1e-9)
    if (high - low) * max(1, n_entries) > _MOST_ROWS:
        length = duration_in_words(bins.length_s)
        raise SettingError(f"bins of {length} are {high - low:,.0f} in recording '{recording.id}'; give longer ones")
    times = origin + bins.length_s * np.arange(low, max(high, low + 1) + 1)
    known, shown = np.append(clock.frames, recording.n_frames), np.append(clock.seconds, last)
    frames = np.ceil(np.interp(times, shown, known) - 1e-3).astype(np.int64)  # that begin before each time
    frames[0], frames[-1] = 0, recording.n_frames
    return np.maximum.accumulate(frames), times


def _in_bins(starts: NDArray[Any], stops: NDArray[Any], edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Frames that spans cover in each bin, and how many begin in it (2, n_bins); spans are in order and apart."""
    ends = np.stack([starts, stops], axis=1).ravel().astype(np.float64)
    before = np.repeat(np.cumsum(np.append(0, stops - starts)), 2)[1:-1].astype(np.float64)
    covered = np.interp(edges, ends, before) if ends.size else np.zeros(edges.size)
    return np.stack([np.diff(covered), np.diff(np.searchsorted(starts, edges))])


def _folded(
    frames: NDArray[np.int64], times: NDArray[np.float64], counted: NDArray[np.float64], bins: Bins
) -> Iterator[tuple[int, tuple[float, float], NDArray[np.float64]]]:
    """Each bin, or each hour of the day: its frames, its span, and (frames, occurrences) of each entry."""
    if not bins.by_hour:
        for place, n in enumerate(frames.tolist()):
            yield n, (float(times[place]), float(times[place + 1])), counted[:, :, place]
        return
    hours = (times[:-1] // 3600).astype(np.int64) % 24
    for hour in range(24):
        inside = hours == hour
        yield int(frames[inside].sum()), (3600.0 * hour, 3600.0 * (hour + 1)), counted[:, :, inside].sum(axis=2)


def _title(span: tuple[float, float], bins: Bins) -> str:
    """When a bin begins: an hour of the day, a date, or seconds since the clock began."""
    if bins.by_hour:
        return f"{span[0] / 3600:02.0f} h"
    if not is_date(span[0]):
        return f"{span[0]:.10g} s"
    when = datetime.fromtimestamp(span[0], UTC)
    return when.strftime("%Y-%m-%d" if bins.length_s % 86_400 == 0 else "%Y-%m-%d %H:%M:%S")
