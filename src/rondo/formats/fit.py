"""FIT, as sports watches and bike computers write it (Garmin's Flexible and Interoperable Data Transfer protocol).

Read with fitdecode (extra `io`): the messages `record`, one for each moment, with every field that holds a number.
Positions, which FIT counts in parts of a half circle, become degrees. A field that has an `enhanced_` twin of more
digits is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rondo.data.recording import Recording
from rondo.formats.io_extra import optional_library, refuse_another_format
from rondo.formats.recording_format import RecordingFormat
from rondo.formats.track_points import TrackPoint, recording_of_points

_DEGREES = 180 / 2**31
_TWIN = "enhanced_"


def read_fit(path: Path, *, rate: float | None, label_columns: Sequence[str] = ()) -> Recording:
    """The records of an activity."""
    with path.open("rb") as file:
        head = file.read(12)
    refuse_another_format(head, head[8:12] == b".FIT", "FIT file")
    library = optional_library("fitdecode", "Reading .fit")
    points = list(_points(path, library))
    twins = {name.removeprefix(_TWIN) for point in points for name in point.values if name.startswith(_TWIN)}
    kept = [
        TrackPoint(point.time_s, {name: value for name, value in point.values.items() if name not in twins})
        for point in points
    ]
    return recording_of_points(kept, path.stem, rate, label_columns)


def _points(path: Path, library: Any) -> Iterator[TrackPoint]:
    with library.FitReader(str(path), check_crc=library.CrcCheck.RAISE) as reader:
        for frame in reader:
            if isinstance(frame, library.FitDataMessage) and frame.name == "record":
                moment, values = None, {}
                for field in frame.fields:
                    if field.name == "timestamp":
                        moment = field.value
                    elif isinstance(field.value, int | float) and not field.name.startswith("unknown"):
                        values[field.name] = field.value * (_DEGREES if field.units == "semicircles" else 1.0)
                yield TrackPoint(_seconds(moment), values)


def _seconds(moment: object) -> float | None:
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return float(moment) if isinstance(moment, int | float) else None


FORMAT = RecordingFormat(
    name="fit",
    suffixes=(".fit",),
    read=read_fit,
    extra="io",
    help="sports watches: the records of an activity",
    order=8,
)
