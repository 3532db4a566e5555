"""Annotations that people made in other programs, one file per format. For evaluation only: no learner may import it.

    .eaf                 ELAN                 one track per tier
    .txt                 Audacity             one label track
    .json                Label Studio         one track per control tag (`from_name`) of each task
    .boris .csv .tsv     BORIS                a project, or one of the event tables that BORIS exports
    .csv .parquet        segments of a run    one track per recording and level

`read_tracks` reads them all; `rondo.formats.annotations.tracks` chooses a track and lays it on frames.
"""

from __future__ import annotations

from pathlib import Path

from rondo.errors import AnnotationError
from rondo.formats.annotations.audacity import read_audacity
from rondo.formats.annotations.boris import is_boris_table, read_boris_project, read_boris_table
from rondo.formats.annotations.elan import read_eaf
from rondo.formats.annotations.label_studio import read_label_studio
from rondo.formats.annotations.segments import is_segment_table, read_segment_table
from rondo.formats.annotations.tracks import Track

SUFFIXES = (".eaf", ".txt", ".json", ".boris", ".tsv", ".parquet")
"""Those that hold spans and nothing else; a .csv may also hold one label per frame."""

__all__ = ["SUFFIXES", "holds_spans", "read_tracks"]


def holds_spans(path: Path) -> bool:
    """Whether the file holds spans, not one label per frame; a .csv is told by its header."""
    suffix = path.suffix.lower()
    return suffix in SUFFIXES or (suffix == ".csv" and (is_segment_table(path) or is_boris_table(path)))


def read_tracks(path: Path) -> list[Track]:
    """Every track of a file of spans."""
    match path.suffix.lower():
        case ".eaf":
            tracks = read_eaf(path)
        case ".txt":
            tracks = read_audacity(path)
        case ".json":
            tracks = read_label_studio(path)
        case ".boris":
            tracks = read_boris_project(path)
        case ".parquet":
            tracks = read_segment_table(path)
        case _:
            tracks = read_segment_table(path) if is_segment_table(path) else read_boris_table(path)
    if not tracks:
        raise AnnotationError(f"'{path}': it holds no annotation with a beginning and an end; annotate some stretches")
    return tracks
