"""Annotations that people made in other programs, and segments for those programs: one file per format, both ways.

For evaluation only: no learner may import it. `read_tracks` reads every format; `rondo.formats.annotations.tracks`
chooses a track and lays it on frames; `rondo.report.export` writes a run.
"""

from __future__ import annotations

from pathlib import Path

from rondo.errors import AnnotationError
from rondo.formats.annotations.annotation_format import ANNOTATION_FORMATS, AnnotationFormat
from rondo.formats.annotations.tracks import Track

__all__ = ["ANNOTATION_FORMATS", "AnnotationFormat", "format_of", "holds_spans", "read_tracks", "suffixes_of_spans"]


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
    """Whether the file holds spans, not one label per frame; a .csv is told by its header."""
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
