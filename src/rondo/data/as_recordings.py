"""What was given as recordings -> Recordings with ids that differ and rates that agree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rondo.data.recording import Recording
from rondo.errors import RecordingError

_RATE_TOLERANCE = 0.01  # recordings whose rates differ by less share one vocabulary


def as_recordings(recordings: Any) -> list[Recording]:
    """One or many recordings, arrays or tables, as a list of Recordings with ids that differ."""
    if not are_several(recordings):
        return [_as_recording(recordings)]
    if not recordings:
        raise RecordingError("no recording was given; expected at least one")
    several = [_as_recording(item) for item in recordings]
    named = [
        r if r.id != "recording" or len(several) == 1 else r.renamed(f"recording{i}") for i, r in enumerate(several)
    ]
    ids = [recording.id for recording in named]
    twice = next((id for id in ids if ids.count(id) > 1), None)
    if twice is not None:
        raise RecordingError(f"two recordings have the id '{twice}'; ids must differ (files: the name without suffix)")
    return named


def are_several(recordings: Any) -> bool:
    """Whether a list was given, and lists are to be given back."""
    return isinstance(recordings, Sequence) and not isinstance(recordings, str)


def _as_recording(given: Any) -> Recording:
    if isinstance(given, Recording):
        return given
    if isinstance(given, np.ndarray):
        return Recording(given)
    if isinstance(given, str | Path):
        raise RecordingError(f"expected a recording, an array or a table, got '{given}'; use Recording.from_file")
    if isinstance(given, Sequence):
        raise RecordingError(
            "expected a recording, an array or a table, got a list within the list; give recordings in one flat list, "
            "values as an array (n_frames, n_channels)"
        )
    return Recording.from_frame(given)


def common_rate(
    recordings: Sequence[Recording],
    expected: float | None = None,
    advice: str = "resample it (Recording.resampled), or give one --rate for all",
) -> float | None:
    """The rate that all recordings have, or `expected`; another is refused with the advice."""
    rate = expected if expected is not None else recordings[0].rate
    for recording in recordings:
        if not same_rate(recording.rate, rate):
            raise RecordingError(
                f"recording '{recording.id}' has {in_hertz(recording.rate)}, expected {in_hertz(rate)}; {advice}"
            )
    return rate


def same_rate(some: float | None, other: float | None) -> bool:
    """Whether two rates can share one vocabulary; none is like none only."""
    if some is None or other is None:
        return some is other
    return abs(some / other - 1) <= _RATE_TOLERANCE


def in_hertz(rate: float | None) -> str:
    """A rate for people."""
    return "no sampling rate" if rate is None else f"{rate:g} Hz"
