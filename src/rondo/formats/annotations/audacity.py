"""Audacity label track: one line per label, `start<TAB>end<TAB>text`, in seconds."""

from __future__ import annotations

from pathlib import Path

from rondo.errors import AnnotationError
from rondo.formats.annotations.tracks import Span, Track, left_out


def read_audacity(path: Path) -> list[Track]:
    """The labels of one track. Lines that begin with a backslash hold frequencies of the label above, not times."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
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
            spans.append(Span(start, stop, cells[2].strip() if len(cells) > 2 else ""))
    left_out(n_points, "point labels", path)
    return [Track(tuple(spans))] if spans else []
