"""Tracks of sports watches and bike computers: FIT and GPX.

FIT (Garmin's Flexible and Interoperable Data Transfer protocol) is read with fitdecode (extra `io`): the messages
`record`, one for each moment, with every field that holds a number. Positions, which FIT counts in parts of a half
circle, become degrees. A field that has an `enhanced_` twin of more digits is left out.

GPX 1.0 and 1.1: a point is `<trkpt lat lon>` with `<ele>`, `<time>` and other numbers of the schema
(topografix.com/GPX/1/1), and numbers in `<extensions>`, whatever their namespace: `hr`, `cad`, `atemp` … of Garmin's
TrackPointExtension, `power`. Points of all tracks and segments are one recording; time between them is a gap. Segments
that are not stored in the order of time are put in it. Routes and waypoints are no recordings. A document with a
DOCTYPE is refused: no GPX has one, and its entities could grow without end or name other files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

import numpy as np

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.columns import kept_channels
from rondo.files.extras import clocked, marked_head, optional_library
from rondo.files.reading import Reading, RecordingFormat
from rondo.store.reading import open_regular
from rondo.wording import counted

_DEGREES = 180 / 2**31
_TWIN = "enhanced_"
_SEPARATOR = " "
_WORDS = frozenset({"name", "cmt", "desc", "src", "sym", "type", "text", "fix", "dgpsid"})  # no numbers, even if digits


class TrackPoint(NamedTuple):
    """Seconds since 1970, if it has a time, and its values by name."""

    time_s: float | None
    values: Mapping[str, float]


def recording_of_points(points: Sequence[TrackPoint], id: str, reading: Reading) -> Recording:
    """One frame per point, NaN where a point lacks a value; points without a time have no place where others have."""
    timed = [point for point in points if point.time_s is not None]
    used = timed if timed and reading.rate is None else list(points)
    names = list(dict.fromkeys(name for point in used for name in point.values))
    if not used or not names:
        raise RecordingError("it holds no points with values; expected one for each moment of a track")
    kept, notes = kept_channels(names, reading)
    values = np.array([[point.values.get(names[index], np.nan) for index in kept] for point in used])
    n_without = len(points) - len(used)
    notes += (f"{counted(n_without, 'point')} without a time left out",) if n_without else ()
    channels = [names[index] for index in kept]
    if not timed:
        return Recording(values, reading.rate, channels, id, notes=notes)
    times = np.array([point.time_s for point in used], dtype=np.float64)
    return clocked(values, times, channels, id, reading, notes, "time")


def read_fit(path: Path, reading: Reading) -> Recording:
    """The records of an activity."""
    marked_head(path, 12, lambda head: head[8:12] == b".FIT", "FIT file")
    library = optional_library("fitdecode", "Reading .fit")
    points: list[TrackPoint] = []
    with library.FitReader(str(path), check_crc=library.CrcCheck.RAISE) as reader:
        for frame in reader:
            if isinstance(frame, library.FitDataMessage) and frame.name == "record":
                moment, values = None, {}
                for field in frame.fields:
                    if field.name == "timestamp":
                        moment = field.value
                    elif isinstance(field.value, int | float) and not field.name.startswith("unknown"):
                        values[field.name] = field.value * (_DEGREES if field.units == "semicircles" else 1.0)
                points.append(TrackPoint(_seconds(moment), values))
    twins = {name.removeprefix(_TWIN) for point in points for name in point.values if name.startswith(_TWIN)}
    kept = [
        TrackPoint(point.time_s, {name: value for name, value in point.values.items() if name not in twins})
        for point in points
    ]
    return recording_of_points(kept, path.stem, reading)


def _seconds(moment: object) -> float | None:
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return float(moment) if isinstance(moment, int | float) else None


FIT = RecordingFormat(
    name="fit",
    suffixes=(".fit",),
    read=read_fit,
    extra="io",
    help="sports watches: the records of an activity",
    order=8,
)


def read_gpx(path: Path, reading: Reading) -> Recording:
    """The points of all tracks, in their order."""
    document = _Document()
    try:
        with open_regular(path) as file:
            document.parser.ParseFile(file)
    except expat.ExpatError as error:
        raise RecordingError(f"it is damaged, or no GPX file ({error})") from error
    if document.root != "gpx":
        raise RecordingError(f"it is no GPX file: its root is <{document.root}>; expected <gpx>")
    segments = [segment for segment in document.segments if segment]
    if not segments:
        raise RecordingError("it holds no track points (<trkpt>); routes and waypoints are no recordings")
    times = ([point.time_s for point in segment if point.time_s is not None] for segment in segments)
    begins = [found[0] if found else -math.inf for found in times]  # one without times stays at the beginning
    ordered = [segments[place] for place in sorted(range(len(segments)), key=begins.__getitem__)]
    points = [point for segment in ordered for point in segment]
    recording = recording_of_points(points, path.stem, reading)
    return recording.noted("its tracks were put in the order of time") if ordered != segments else recording


class _Document:
    """Track points, gathered as their elements end."""

    def __init__(self) -> None:
        self.root = ""
        self.segments: list[list[TrackPoint]] = [[]]
        self._values: dict[str, float] | None = None  # of the point that is open
        self._time_s: float | None = None
        self._text = ""
        self.parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.buffer_text = True

    def _refuse_doctype(self, *_: object) -> None:
        raise RecordingError("it has a DOCTYPE, which no GPX file needs; delete it")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(_SEPARATOR)[2]
        self.root = self.root or tag
        self._text = ""
        if tag == "trkseg":
            self.segments.append([])
        if tag == "trkpt":
            self._values = {said: float(attributes[said]) for said in ("lat", "lon")}
            self._time_s = None

    def _characters(self, text: str) -> None:
        if self._values is not None:
            self._text += text

    def _end(self, name: str) -> None:
        tag, text = name.rpartition(_SEPARATOR)[2], self._text.strip()
        self._text = ""
        if self._values is None:
            return
        if tag == "trkpt":
            self.segments[-1].append(TrackPoint(self._time_s, self._values))
            self._values = None
        elif tag == "time" and text:
            self._time_s = _seconds(datetime.fromisoformat(text))
        elif text and tag not in _WORDS:
            try:
                self._values[tag] = float(text)
            except ValueError:  # a name, a remark
                return


GPX = RecordingFormat(
    name="gpx", suffixes=(".gpx",), read=read_gpx, help="track points: position, height, heart rate …", order=3
)
