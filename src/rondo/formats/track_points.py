"""Points of a sports recording, each with the values it has, as a recording: what `fit` and `gpx` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.formats.clock_column import spread
from rondo.formats.io_extra import kept_channels
from rondo.wording import counted


class TrackPoint(NamedTuple):
    """Seconds since 1970, if it has a time, and its values by name."""

    time_s: float | None
    values: Mapping[str, float]


def recording_of_points(
    points: Sequence[TrackPoint], id: str, rate: float | None, label_columns: Sequence[str]
) -> Recording:
    """One frame per point, NaN where a point lacks a value; points without a time have no place where others have."""
    timed = [point for point in points if point.time_s is not None]
    own = timed if timed and rate is None else list(points)
    names = list(dict.fromkeys(name for point in own for name in point.values))
    if not own or not names:
        raise RecordingError("it holds no points with values; expected one for each moment of a track")
    kept, notes = kept_channels(names, label_columns)
    values = np.array([[point.values.get(names[place], np.nan) for place in kept] for point in own], dtype=np.float32)
    notes += (f"{counted(len(points) - len(own), 'point')} without a time left out",) if len(own) < len(points) else ()
    channels = [names[place] for place in kept]
    if rate is not None or not timed:
        return Recording(values, rate, channels, id, notes=notes)
    times, apart = spread(np.array([point.time_s for point in own], dtype=np.float64), "time")
    return Recording(values, None, channels, id, times, notes + apart)
