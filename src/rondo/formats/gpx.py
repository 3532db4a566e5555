"""GPX 1.0 and 1.1: the points of tracks, with position, height, and what devices add (heart rate, cadence, power).

A point is `<trkpt lat lon>` with `<ele>`, `<time>` and other numbers of the schema (topografix.com/GPX/1/1), and
numbers in `<extensions>`, whatever their namespace: `hr`, `cad`, `atemp` … of Garmin's TrackPointExtension, `power`.
Points of all tracks and segments are one recording; time between them is a gap. Segments that are not stored in the
order of time are put in it. Routes and waypoints are no recordings. A document with a DOCTYPE is refused: no GPX has
one, and its entities could grow without end or name other files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.parsers import expat

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.formats.recording_format import RecordingFormat
from rondo.formats.track_points import TrackPoint, recording_of_points

_SEPARATOR = " "
_WORDS = frozenset({"name", "cmt", "desc", "src", "sym", "type", "text", "fix", "dgpsid"})  # no numbers, even if digits


def read_gpx(path: Path, *, rate: float | None, label_columns: Sequence[str] = ()) -> Recording:
    """The points of all tracks, in their order."""
    document = _Document()
    try:
        with path.open("rb") as file:
            document.parser.ParseFile(file)
    except expat.ExpatError as error:
        raise RecordingError(f"it is damaged, or no GPX file ({error})") from error
    if document.root != "gpx":
        raise RecordingError(f"it is no GPX file: its root is <{document.root}>; expected <gpx>")
    segments = [segment for segment in document.segments if segment]
    if not segments:
        raise RecordingError("it holds no track points (<trkpt>); routes and waypoints are no recordings")
    ordered = sorted(segments, key=_first_time)
    points = [point for segment in ordered for point in segment]
    recording = recording_of_points(points, path.stem, rate, label_columns)
    return recording.noted("its tracks were put in the order of time") if ordered != segments else recording


def _first_time(segment: Sequence[TrackPoint]) -> float:
    """When it begins; one without times stays at the beginning."""
    return next((point.time_s for point in segment if point.time_s is not None), -math.inf)


class _Document:
    """Track points, gathered as their elements end."""

    def __init__(self) -> None:
        self.root = ""
        self.segments: list[list[TrackPoint]] = [[]]
        self._values: dict[str, float] | None = None  # of the point that is open
        self._time_s: float | None = None
        self._text = ""
        self.parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.buffer_text = True

    def _refuse(self, *_: object) -> None:
        raise RecordingError("it has a DOCTYPE, which no GPX file needs; delete it")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        own = name.rpartition(_SEPARATOR)[2]
        self.root = self.root or own
        self._text = ""
        if own == "trkseg":
            self.segments.append([])
        if own == "trkpt":
            self._values = {said: float(attributes[said]) for said in ("lat", "lon")}
            self._time_s = None

    def _characters(self, text: str) -> None:
        if self._values is not None:
            self._text += text

    def _end(self, name: str) -> None:
        own, text = name.rpartition(_SEPARATOR)[2], self._text.strip()
        self._text = ""
        if self._values is None:
            return
        if own == "trkpt":
            self.segments[-1].append(TrackPoint(self._time_s, self._values))
            self._values = None
        elif own == "time" and text:
            moment = datetime.fromisoformat(text)
            self._time_s = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        elif text and own not in _WORDS:
            try:
                self._values[own] = float(text)
            except ValueError:  # a name, a remark
                return


FORMAT = RecordingFormat(
    name="gpx", suffixes=(".gpx",), read=read_gpx, help="track points: position, height, heart rate …", order=3
)
