"""Annotations -> the class of every frame of the recordings of a run. For evaluation only: no learner may import it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rondo.data.frame_clock import FrameClock
from rondo.errors import AnnotationError
from rondo.formats import annotations as annotation_files
from rondo.formats.annotations.annotation import Annotation, read_annotation, track_files
from rondo.formats.annotations.tracks import Track, choose_track, on_frames

ClockOf = Callable[[str], FrameClock | None]


def truth_of(
    path: Path, n_frames: Mapping[str, int], key: str | None, clock_of: ClockOf, *, goes_on: bool = False
) -> dict[str, Annotation]:
    """The annotation of each recording, by its id; `n_frames` says how long they are, `clock_of` by which clock.

    A folder holds a file for each recording, matched by file stem; a file is about the only recording, or holds spans
    that tell recordings apart. Of a stream that `goes_on`, what was annotated of the frames that have come.
    """
    if not path.exists():
        raise AnnotationError(f"'{path}': no such file or folder; give annotations as for `rondo evaluate`")
    is_only = len(n_frames) == 1 or path.is_dir()
    if path.is_dir():
        files = _files_in(path, list(n_frames))
    elif is_only or annotation_files.holds_spans(path):
        files = dict.fromkeys(n_frames, path)
    else:
        raise AnnotationError(
            f"'{path}': one file for {len(n_frames)} recordings; give two files or two folders, one recording, or "
            "annotations that name the recordings"
        )
    return {id: _annotation(file, id, n_frames[id], key, clock_of(id), is_only, goes_on) for id, file in files.items()}


def _files_in(folder: Path, ids: list[str]) -> dict[str, Path]:
    files = track_files(folder, ids)
    missing = [id for id in ids if id not in files]
    if missing:
        raise AnnotationError(
            f"'{folder}': no file there is called '{missing[0]}', as the recording is; files are matched by stem"
        )
    return {id: files[id] for id in ids}


def _annotation(
    file: Path, id: str, n_frames: int, key: str | None, clock: FrameClock | None, is_only: bool, goes_on: bool
) -> Annotation:
    if annotation_files.holds_spans(file):
        track = choose_track(annotation_files.read_tracks(file), key, id, file, is_only=is_only)
        reach = max(n_frames, _reach(track, clock)) if goes_on else n_frames
        return Annotation(on_frames(track, reach, clock, file)[:n_frames], id=id)
    found = read_annotation(file, key)
    if found.n_frames < n_frames or (found.n_frames > n_frames and not goes_on):
        raise AnnotationError(
            f"'{file}' has {found.n_frames} frames, but the recording '{id}' has {n_frames}; give one class per frame"
        )
    return Annotation(found.classes[:n_frames], found.names, id)


def _reach(track: Track, clock: FrameClock | None) -> int:
    """Frames up to the end of the last annotation, wherever the stream is: nothing of it lies outside then."""
    last = max((span.stop for span in track.spans), default=0.0)
    if track.axis == "frames" or clock is None:
        return int(last) + 1
    return int(clock.frames_at(last + (clock.start_s if track.axis == "seconds" else 0.0))) + 1
