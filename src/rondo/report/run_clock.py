"""The clock of a recording of a run, from what the run keeps: no timestamps, but the times of all segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rondo.data.frame_clock import FrameClock

if TYPE_CHECKING:
    import polars as pl

    from rondo.result import Result
    from rondo.run.summary import RecordingSummary


def clock_of(result: Result, recording_id: str) -> FrameClock | None:
    """The clock of one recording of a result; None where it has no such recording, or knows no rate."""
    about = result.summary.recording(recording_id)
    return None if about is None else run_clock(about, result.table)


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
