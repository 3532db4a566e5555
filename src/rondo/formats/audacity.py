"""Audacity label track: one line per label, `start<TAB>end<TAB>text`, in seconds since the first frame."""

from __future__ import annotations

from pathlib import Path

from rondo.annotations.formats import AnnotationFormat, Export
from rondo.annotations.tracks import NamedSpan, Track, left_out
from rondo.errors import AnnotationError
from rondo.store.reading import read_regular


def read_audacity(path: Path) -> list[Track]:
    """The labels of one track. Lines that begin with a backslash hold frequencies of the label above, not times."""
    try:
        lines = read_regular(path).decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except (OSError, UnicodeError) as error:
        raise AnnotationError(f"'{path}': not a readable text file in UTF-8 ({error})") from error
    spans, n_points = [], 0
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("\\"):
            continue
        cells = line.split("\t", 2)
        try:
            start, stop = float(cells[0]), float(cells[1])
        except (ValueError, IndexError) as error:
            raise AnnotationError(
                f"'{path}', line {number}: expected start, end and label with tabs between, as Audacity exports them, "
                f"got {line[:40]!r}"
            ) from error
        if start == stop:
            n_points += 1
        else:
            spans.append(NamedSpan(start, stop, cells[2].strip() if len(cells) > 2 else ""))
    left_out(n_points, "point labels", path)
    return [Track(tuple(spans))] if spans else []


def as_audacity(export: Export) -> dict[str, bytes]:
    """One track for each recording and level, named so; six decimals, as Audacity writes them."""
    tracks = {}
    for recording in export.recordings:
        for level in export.levels:
            lines = [f"{s.start_s:.6f}\t{s.stop_s:.6f}\t{s.label}\n" for s in recording.of_level(level)]
            name = recording.id if len(export.levels) == 1 else f"{recording.id}.{level}"
            tracks[name] = "".join(lines).encode("utf-8")
    return tracks


FORMAT = AnnotationFormat(
    name="audacity",
    program="Audacity",
    suffixes=(".txt",),
    read=read_audacity,
    write=as_audacity,
    one_per_recording=True,
    needs_seconds=True,
    order=3,
)
