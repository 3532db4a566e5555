"""What the clock of a recording shows: kept in summary.json as straight lines between a few knots.

Rows may come unevenly and with gaps, so that frames / rate is not the time that the file gives. Readings since 1970 are
shown as times of day. A run keeps no timestamps; its clock is read from the times of all segments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.grid import FrameClock
from rondo.wording import day_and_time, is_date

if TYPE_CHECKING:
    import polars as pl

    from rondo.result import Result
    from rondo.run.summary import RecordingSummary

_NEAR_FRAMES, _NEAR_S = 2.0, 0.05  # what straight lines may be off: more than clocks jitter, less than one sees
_MOST_KNOTS = 1000


MOST_SPREAD = 200
"""Recordings that are read to describe a run."""


def spread_over(recordings: Sequence[RecordingSummary]) -> list[RecordingSummary]:
    """At most `MOST_SPREAD` of them, spread over all."""
    places = np.linspace(0, len(recordings) - 1, min(MOST_SPREAD, len(recordings)))
    return [recordings[place] for place in np.unique(places.astype(np.int64))]


def clock_knots(times_s: NDArray[np.float64] | None, rate: float | None) -> dict[str, list[int] | list[float]] | None:
    """Frames and the seconds at them, between which the clock runs straight; None where there are no timestamps.

    Douglas and Peucker: the reading that is farthest from the line becomes a knot, until none is far.

    >>> clock_knots(np.array([5.0, 6, 7, 20, 21, 22]), 1.0)
    {'frames': [0, 2, 3, 5], 'seconds': [5.0, 7.0, 20.0, 22.0]}
    """
    if times_s is None or times_s.size < 2:
        return None
    return knots_through(np.arange(times_s.size), times_s, rate)


def knots_through(
    frames: NDArray[np.integer], times_s: NDArray[np.float64], rate: float | None
) -> dict[str, list[int] | list[float]]:
    """The same of readings at some frames, in order."""
    near = max(_NEAR_S, _NEAR_FRAMES / (rate or 1.0))
    while len(knots := _knots(frames, times_s, near)) > _MOST_KNOTS:
        near *= 2
    return {"frames": [int(frames[knot]) for knot in knots], "seconds": [float(times_s[knot]) for knot in knots]}


def _knots(frames: NDArray[np.integer], times: NDArray[np.float64], near: float) -> list[int]:
    found, open_spans = {0, times.size - 1}, [(0, times.size - 1)]
    while open_spans and len(found) <= _MOST_KNOTS:
        first, last = open_spans.pop()
        ends = [first, last]
        line = np.interp(frames[first : last + 1], frames[ends], times[ends])
        off = np.abs(times[first : last + 1] - line)
        farthest = first + int(off.argmax())
        if off.max() > near:
            found.add(farthest)
            open_spans += [(first, farthest), (farthest, last)]
    return sorted(found)


def seconds_at(recording: RecordingSummary, frame: int) -> float:
    """What the clock of a recording with a rate shows at a frame."""
    if recording.clock is None:
        return frame / (recording.rate or 1.0)
    return float(np.interp(frame, recording.clock.frames, recording.clock.seconds))


def page_clock(knots: Mapping[str, Sequence[float]] | None) -> dict[str, Any] | None:
    """The clock as the script of the page draws it: seconds since midnight of the first day where there are dates."""
    if knots is None:
        return None
    first = knots["seconds"][0]
    midnight = first - first % 86_400 if is_date(first) else 0.0
    return {
        "frames": list(knots["frames"]),
        "seconds": [round(second - midnight, 6) for second in knots["seconds"]],
        "date": day_and_time(first)[:10] if is_date(first) else None,
        "epoch": midnight,
    }


def has_jumps(clock: Mapping[str, Any] | None, rate: float | None) -> bool:
    """Whether the axis of a page breaks somewhere: the clock goes on by five frames or more from one to the next.

    >>> has_jumps(page_clock(clock_knots(np.array([5.0, 6, 7, 20, 21, 22]), 1.0)), 1.0)
    True
    """
    if clock is None or rate is None:
        return False
    frames, seconds = np.diff(clock["frames"]), np.diff(clock["seconds"])
    return bool(((frames <= 2) & (seconds > 5 * frames / rate)).any())


def clock_of(result: Result, recording_id: str) -> FrameClock | None:
    """The clock of one recording of a result; None where it has no such recording, or knows no rate."""
    about = result.summary.recording(recording_id)
    return None if about is None else run_clock(about, result.run.tables["segments"])


def run_clock(recording: RecordingSummary, segments: pl.DataFrame) -> FrameClock | None:
    """The clock through both ends of every segment; None where the run knows no rate.

    No segment crosses a gap, so a gap lies between two of them. What the clock shows at the first frame is known where
    a segment begins there, or where one ends with the recording, whose duration is kept; else the rate tells it.
    """
    import polars as pl

    if recording.rate is None:
        return None
    own = segments.filter((pl.col("recording") == recording.id) & pl.col("start_s").is_not_null())
    if own.is_empty():
        return FrameClock.from_rate(recording.rate)
    frames = np.concatenate([own["start_frame"].to_numpy(), own["end_frame"].to_numpy()]).astype(np.float64)
    seconds = np.concatenate([own["start_s"].to_numpy(), own["end_s"].to_numpy()]).astype(np.float64)
    order = np.lexsort([seconds, frames])
    frames, seconds = frames[order], seconds[order]
    if frames[0] > 0 and recording.duration_s is not None and frames[-1] == recording.n_frames:
        start_s = float(seconds[-1]) - recording.duration_s
    else:
        start_s = float(seconds[0] - frames[0] / recording.rate)
    return FrameClock(np.append(start_s, seconds), np.append(0.0, frames), recording.rate, start_s)
