"""Spans that people mark with names, to teach: tables, and files of annotation programs -> frames of each recording.

A table has a column `name` and the columns of segments.csv: start_frame and end_frame, or start_s and end_s, or
start_time and end_time (dates); `recording` where there are several. Unlike a truth, marks must lie in the recording.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from rondo.annotations.formats import holds_spans, read_tracks
from rondo.annotations.tracks import Axis, NamedSpan, Track, choose_track, frame_spans
from rondo.data.grid import FrameClock
from rondo.errors import AnnotationError
from rondo.store.reading import regular
from rondo.wording import is_date, quoted

_ENDS: dict[tuple[str, str], Axis] = {
    ("start_frame", "end_frame"): "frames",
    ("start_s", "end_s"): "clock",
    ("start_time", "end_time"): "clock",
}
_MOST_NAMES = 200  # the time that teaching takes grows with them; ours, not measured
Row = Mapping[str, Any]


def marks_of(
    spans: Any, n_frames: Mapping[str, int], clock_of: Callable[[str], FrameClock | None], key: str | None = None
) -> dict[str, list[tuple[int, int, str]]]:
    """The marked frames [start, stop) and their name, by the id of the recording.

    `spans`: a path, a pandas or polars table, or a list of mappings; `key`: the track of a file of annotations.
    """
    where, is_path = str(spans) if isinstance(spans, str | Path) else "spans", isinstance(spans, str | Path)
    if is_path and not Path(spans).is_file():
        is_there = Path(spans).exists()
        raise AnnotationError(f"'{where}': {'not a regular file' if is_there else 'no such file of spans'}")
    if is_path and not _is_table(Path(spans)):
        found = read_tracks(Path(spans))
        about = [id for id in n_frames if len(n_frames) == 1 or any(track.recording == id for track in found)]
        tracks = {id: choose_track(found, key, id, Path(where), is_only=len(n_frames) == 1) for id in about}
    else:
        tracks = _tracks(_rows(_read(Path(spans)) if is_path else spans), list(n_frames), where)
    if not any(track.spans for track in tracks.values()):
        raise AnnotationError(f"'{where}': no marked span; expected a name, a start and an end in each row")
    n_names = len({span.name for track in tracks.values() for span in track.spans})
    if n_names > _MOST_NAMES:
        raise AnnotationError(f"'{where}': {n_names:,} names; expected at most {_MOST_NAMES}, of what comes back")
    return {id: _on_frames(track, n_frames[id], clock_of(id), where, id) for id, track in tracks.items()}


def _is_table(path: Path) -> bool:
    """Whether a file has a column of names, or is no file of another program; BORIS writes .csv files too."""
    return path.suffix.lower() in (".csv", ".parquet") and ("name" in _read(path).columns or not holds_spans(path))


def _read(path: Path) -> Any:
    import polars as pl

    try:
        if path.suffix.lower() == ".parquet":
            return pl.read_parquet(regular(path), glob=False)
        return pl.read_csv(regular(path), infer_schema=False, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise AnnotationError(f"'{path}': not a readable table of spans ({str(error)[:120]!r})") from None


def _rows(spans: Any) -> list[Row]:
    import narwhals as nw

    if isinstance(spans, Sequence) and all(isinstance(row, Mapping) for row in spans):
        return list(spans)
    try:
        return list(nw.from_native(spans, eager_only=True).rows(named=True))
    except TypeError:
        expected = "expected a path, a table or a list of mappings"
        raise AnnotationError(f"spans: {expected}, got {type(spans).__name__}") from None


def _tracks(rows: Sequence[Row], ids: Sequence[str], where: str) -> dict[str, Track]:
    """One track for each recording that is marked."""
    spans: dict[tuple[str, Axis], list[NamedSpan]] = {}
    for number, row in enumerate(rows, start=1):
        at = f"'{where}', row {number}"
        if "name" not in row:
            raise AnnotationError(f"{at}: no column 'name'; expected name, start_s and end_s (or frames, or dates)")
        name = " ".join(str(row["name"] if row["name"] is not None else "").split())
        if not name:
            raise AnnotationError(f"{at}: the name is empty; name the span, or leave the row out")
        recording = str(row.get("recording") or (ids[0] if len(ids) == 1 else ""))
        if recording not in ids:
            has = f"the run has {quoted(ids[:8])}"
            what = f"no recording '{recording}' in the run" if recording else "which recording? There is none named"
            raise AnnotationError(f"{at}: {what}; {has}")
        given = [(ends, axis) for ends, axis in _ENDS.items() if all(_is_given(row.get(end)) for end in ends)]
        if not given:
            raise AnnotationError(
                f"{at}: no start and end; expected start_s and end_s, or start_frame and end_frame, or dates in "
                "start_time and end_time"
            )
        ends, axis = given[0]
        start, stop = (_number(row[end], f"{at}: {end}") for end in ends)
        if not stop > start:
            raise AnnotationError(f"{at}: '{name}' ends at {row[ends[1]]}, and begins at {row[ends[0]]}; correct it")
        spans.setdefault((recording, axis), []).append(NamedSpan(start, stop, name))
    if len({recording for recording, _ in spans}) < len(spans):
        raise AnnotationError(f"'{where}': frames in some rows, times in others; give one of them throughout")
    return {recording: Track(tuple(own), recording=recording, axis=axis) for (recording, axis), own in spans.items()}


def _is_given(value: Any) -> bool:
    return value is not None and value == value and str(value).strip() != ""


def _number(value: Any, where: str) -> float:
    """A frame, a second, or the seconds of a date; a date without a zone is read as segments.csv shows it, as UTC."""
    try:
        return float(value)
    except (TypeError, ValueError):
        pass
    try:
        date = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        raise AnnotationError(f"{where}: expected a number or a date (2026-01-31 12:00:00), got {value!r}") from None


def _on_frames(
    track: Track, n_frames: int, clock: FrameClock | None, where: str, recording: str
) -> list[tuple[int, int, str]]:
    """Frames and name of each span, in order; what lies outside and what contradicts another span is refused."""
    has_dates = clock is not None and is_date(clock.start_s)
    if track.axis == "clock" and has_dates and not any(is_date(span.start) for span in track.spans):
        track = Track(track.spans, track.name, track.recording, "seconds")
    starts, stops = (edges.tolist() for edges in frame_spans(track, clock, Path(where)))
    marks = sorted(zip(starts, stops, (span.name for span in track.spans), strict=True))
    for start, stop, name in marks:
        if start < -1 or stop > n_frames + 1 or start >= n_frames or stop <= 0:
            raise AnnotationError(
                f"'{where}': '{name}' covers frames {start} to {stop}, outside '{recording}', which has {n_frames}"
            )
    marks = [(max(0, start), min(max(stop, start + 1), n_frames), name) for start, stop, name in marks]
    for (_, before, first), (start, _, second) in pairwise(marks):
        if before > start + int(track.axis != "frames") and first != second:
            raise AnnotationError(
                f"'{where}': '{second}' begins at frame {start} of '{recording}', inside '{first}'; "
                "a frame has one name"
            )
    return marks
