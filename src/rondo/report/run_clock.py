"""The clock of a recording of a run, from what the run folder keeps: no timestamps, but the times of all segments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rondo.data.frame_clock import FrameClock
from rondo.report.run_folder import RecordingSummary, read_run_summary, read_segments

if TYPE_CHECKING:
    import polars as pl


def clock_in_run(run_dir: Path, recording_id: str) -> FrameClock | None:
    """The clock of one recording of a run folder; None where there is no run, or it does not know a rate."""
    import polars as pl

    from rondo.report.stream_page import is_stream, stream_clock

    if is_stream(run_dir):
        return stream_clock(run_dir)
    if not (run_dir / "summary.json").is_file():
        return None
    summary = read_run_summary(run_dir)
    about = next((recording for recording in summary.recordings if recording.id == recording_id), None)
    path = run_dir / "segments.parquet"
    read_segments(path, summary)  # checks it
    return None if about is None else run_clock(about, pl.read_parquet(path))


def run_clock(recording: RecordingSummary, segments: pl.DataFrame) -> FrameClock | None:
    """The clock through both ends of every segment; None where the run knows no rate.

    No segment crosses a gap, so a gap lies between two of them. What the clock shows at the first frame is known where
    a segment begins there, or where one ends with the recording, whose duration is kept; else the rate tells it.
    """
    import polars as pl

    if recording.rate is None:
        return None
    own = segments.filter(pl.col("recording") == recording.id)
    ends_at = None if recording.duration_s is None else (recording.n_frames, recording.duration_s)
    return clock_through(own, recording.rate, ends_at)


def clock_through(spans: pl.DataFrame, rate: float, ends_at: tuple[int, float] | None = None) -> FrameClock:
    """The clock through both ends of spans of one recording, some of which may have no times.

    `ends_at` holds its number of frames and its duration, where these are known.
    """
    own = spans.filter(spans["start_s"].is_not_null())
    if own.is_empty():
        return FrameClock.from_rate(rate)
    frames = np.concatenate([own["start_frame"].to_numpy(), own["end_frame"].to_numpy()]).astype(np.float64)
    seconds = np.concatenate([own["start_s"].to_numpy(), own["end_s"].to_numpy()]).astype(np.float64)
    order = np.lexsort([seconds, frames])
    frames, seconds = frames[order], seconds[order]
    if frames[0] > 0 and ends_at is not None and frames[-1] == ends_at[0]:
        start_s = float(seconds[-1]) - ends_at[1]
    else:
        start_s = float(seconds[0] - frames[0] / rate)
    return FrameClock(np.append(start_s, seconds), np.append(0.0, frames), rate, start_s)
