"""What was given as recordings -> Recordings with ids that differ and rates that agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rondo.data.recording import Recording
from rondo.errors import RecordingError

RATE_TOLERANCE = 0.01  # recordings whose rates differ by less share one vocabulary


def as_recordings(
    data: Any,
    *,
    rate: float | None = None,
    key: str | None = None,
    label_columns: Sequence[str] = (),
    split_by: str | None = None,
    session: bool = False,
) -> list[Recording]:
    """One or many paths, folders, arrays, tables or Recordings as a list of Recordings with ids that differ.

    `rate` is for what has no clock; `key`, `label_columns` and `session` are for files, as in `rondo.read`, `split_by`
    for files and tables.
    """
    given = list(data) if are_several(data) else [data]
    if not given:
        raise RecordingError("no recording was given; expected at least one")
    several: list[Recording] = []
    for place, item in enumerate(given):
        if isinstance(item, str | Path):
            from rondo.formats.reading import Reading, read_files  # brings the readers of all formats

            several += read_files([item], Reading(rate, key, label_columns, split_by, session))
        elif split_by is not None:
            id = "recording" if len(given) == 1 else f"recording{place}"
            several += _parts_of(item, split_by, id, rate, label_columns)
        else:
            several.append(_as_recording(item, rate, label_columns))
    named = [
        r if r.id != "recording" or len(several) == 1 else r.renamed(f"recording{i}") for i, r in enumerate(several)
    ]
    ids = [recording.id for recording in named]
    twice = next((id for id in ids if ids.count(id) > 1), None)
    if twice is not None:
        raise RecordingError(f"two recordings have the id '{twice}'; ids must differ (files: the name without suffix)")
    return named


def as_chunks(rows: Any) -> Iterable[Any]:
    """Rows of a stream as they come: what is one recording already is one chunk."""
    is_whole = isinstance(rows, str | Path | Recording | np.ndarray) or hasattr(rows, "columns")
    return as_recordings(rows) if is_whole else rows


def are_several(data: Any) -> bool:
    """Whether a list was given."""
    return isinstance(data, Sequence) and not isinstance(data, str)


def _as_recording(given: Any, rate: float | None, label_columns: Sequence[str]) -> Recording:
    if isinstance(given, Recording):
        return _with_rate(given, rate)
    if isinstance(given, np.ndarray):
        return Recording(given, rate)
    if isinstance(given, Sequence):
        raise RecordingError(
            "expected a recording, an array or a table, got a list within the list; give recordings in one flat list, "
            "values as an array (n_frames, n_channels)"
        )
    return Recording.from_frame(given, rate=rate, label_columns=label_columns)


def _parts_of(given: Any, split_by: str, id: str, rate: float | None, label_columns: Sequence[str]) -> list[Recording]:
    if isinstance(given, Recording | np.ndarray | Sequence):
        raise RecordingError(f"there is no column '{split_by}' in an array or a Recording; give a table or a file")
    from rondo.formats.files import parts_of_frame

    return parts_of_frame(given, split_by, rate=rate, id=id, label_columns=label_columns)


def _with_rate(recording: Recording, rate: float | None) -> Recording:
    if rate is None or same_rate(recording.rate, rate):
        return recording
    if recording.rate is not None:
        raise RecordingError(
            f"recording '{recording.id}' has {in_hertz(recording.rate)}, but the rate was given as {in_hertz(rate)}; "
            "leave the rate out, or resample the recording (Recording.resampled)"
        )
    return replace(recording, rate=rate)


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
    return abs(some / other - 1) <= RATE_TOLERANCE


def in_hertz(rate: float | None) -> str:
    """A rate for people."""
    return "no sampling rate" if rate is None else f"{rate:g} Hz"
