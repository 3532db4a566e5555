"""Annotations that people made in other programs, and segments for those programs: one file per format, both ways.

For evaluation only: no learner may import it. `read_tracks` reads every format; `rondo.annotations.tracks` chooses a
track and lays it on frames; `rondo.report.export` writes a run as an `Export`, plain values wherever they came from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rondo.annotations.tracks import Track
from rondo.errors import AnnotationError, RondoWarning
from rondo.registry import Registry
from rondo.wording import counted

if TYPE_CHECKING:
    import polars as pl


class ExportedSegment(NamedTuple):
    """One occurrence; `start` and `stop` are frames."""

    level: str
    id: int
    label: str
    start: int
    stop: int
    start_s: float | None  # since the first frame; None where the recording has neither a rate nor a clock
    stop_s: float | None
    score: float | None


class ExportedLabel(NamedTuple):
    """One label of a level, the colour (#rrggbb) that it has everywhere, and what it is in words, if that is known."""

    level: str
    text: str
    colour: str
    description: str = ""


@dataclass(frozen=True)
class ExportedRecording:
    """One recording with its segments in the order of level and time; `source_name` is the file it was read from."""

    id: str
    source_name: str
    rate: float | None
    channels: tuple[str, ...]
    segments: tuple[ExportedSegment, ...]

    def of_level(self, level: str) -> list[ExportedSegment]:
        return [segment for segment in self.segments if segment.level == level]


@dataclass(frozen=True, eq=False)
class Export:
    """Segments of some recordings and levels.

    `table` holds the same segments with the recordings' own clocks, for formats that are tables.
    """

    recordings: tuple[ExportedRecording, ...]
    levels: tuple[str, ...]
    labels: tuple[ExportedLabel, ...]
    table: pl.DataFrame
    made_at: datetime
    made_by: str

    def labels_of(self, level: str) -> list[ExportedLabel]:
        return [label for label in self.labels if label.level == level]


def millisecond_spans(recording: ExportedRecording, level: str, what: str) -> list[tuple[int, int, str]]:
    """Start, stop and label of each segment, in whole milliseconds since the first frame, for formats with no finer.

    Up to 1000 Hz the nearest frame is found again; segments that are shorter than a millisecond are left out, and said.
    """
    found = [(s.start_s, s.stop_s, s.label) for s in recording.of_level(level)]
    whole = [(round(1000 * a), round(1000 * b), label) for a, b, label in found if a is not None and b is not None]
    spans = [span for span in whole if span[0] < span[1]]
    if len(spans) < len(whole):
        lost = counted(len(whole) - len(spans), f"{level} segment")
        said = f"{lost} left out, shorter than a millisecond, the least in {what}"
        warnings.warn(f"recording '{recording.id}': {said}", RondoWarning, stacklevel=2)
    return spans


@dataclass(frozen=True, kw_only=True)
class AnnotationFormat:
    """How the files of one program are read and written.

    Parameters
    ----------
    name
        As in `rondo export --format NAME`.
    program
        What the files are for, as its makers write it.
    suffixes
        Of the files; the first one for those that are written.
    read
        Every track of a file. None: such files are only written.
    recognises
        Whether a file with one of the suffixes is of this format, where others have the suffix too.
    write
        The contents of the files. By the recording (and what else tells them apart) where `one_per_recording`;
        otherwise by what takes the place of the suffix, "" for the file itself. None: such files are only read.
    needs_seconds
        Whether it knows nothing but time, so that recordings without a rate cannot be written.
    order
        Its place in lists, and among formats that share a suffix.
    """

    name: str
    program: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], list[Track]] | None = None
    recognises: Callable[[Path], bool] = lambda path: True
    write: Callable[[Export], Mapping[str, bytes]] | None = None
    one_per_recording: bool = False
    needs_seconds: bool = False
    order: int = 100


ANNOTATION_FORMATS: Registry[AnnotationFormat] = Registry(
    AnnotationFormat, ("rondo.annotations", "rondo.formats"), "rondo.annotation_formats"
)


def suffixes_of_spans() -> tuple[str, ...]:
    """Of the files that can be read; some of them may also hold one label per frame."""
    found = (suffix for each in ANNOTATION_FORMATS.values() if each.read is not None for suffix in each.suffixes)
    return tuple(dict.fromkeys(found))


def format_of(path: Path) -> AnnotationFormat | None:
    """The format that a file of spans has; None where it may hold one label per frame."""
    suffix = path.suffix.lower()
    fitting = (each for each in ANNOTATION_FORMATS.values() if each.read is not None and suffix in each.suffixes)
    return next((each for each in fitting if each.recognises(path)), None)


def holds_spans(path: Path) -> bool:
    """Whether the file holds spans, not one label per frame; the header of a .csv decides."""
    return format_of(path) is not None


def read_tracks(path: Path) -> list[Track]:
    """Every track of a file of spans."""
    found = format_of(path)
    if found is None or found.read is None:
        raise AnnotationError(f"'{path}': no annotations that can be read; give {' '.join(suffixes_of_spans())}")
    tracks = found.read(path)
    if not tracks:
        raise AnnotationError(f"'{path}': it holds no annotation with a beginning and an end; annotate some stretches")
    return tracks
