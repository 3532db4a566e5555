"""What people have annotated as a lane of the page; shown beside what was found, and never learned from."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rondo.data.frame_clock import FrameClock
from rondo.data.labels import OTHER, runs_of
from rondo.data.recording import checked_rate
from rondo.errors import AnnotationError, OutputError
from rondo.formats import annotations as annotation_files
from rondo.formats.annotations.annotation import Annotation, read_annotated, read_annotation
from rondo.formats.annotations.tracks import NO_CLASS, Track, choose_track, on_frames
from rondo.report.colours import Look, look_of
from rondo.report.contents import TruthFile
from rondo.report.run_clock import clock_in_run

if TYPE_CHECKING:
    from rondo.report.run_folder import RecordingSummary


def annotation_lanes(run_dir: Path, recordings: Sequence[RecordingSummary], truth: TruthFile) -> dict[str, Any]:
    """The lane of each recording of the run by its id, as `rondo.report.summarize.lane_of` gives those of segments."""
    ids = [recording.id for recording in recordings]
    labels = run_dir / "labels"
    given = _given(truth.path, ids[0] if len(ids) == 1 else None)
    if not labels.is_dir():
        raise OutputError(f"{run_dir}: it has no folder labels/ to lay annotations on; run `rondo discover` again")
    where = labels if len(ids) > 1 or given.is_dir() else labels / f"{ids[0]}.npy"
    rate = checked_rate(truth.rate)

    def clock_of(file: Path) -> FrameClock | None:
        return clock_in_run(run_dir, file.stem) if rate is None else FrameClock.from_rate(rate)

    pairs = read_annotated(given, where, truth.key, clock_of)
    if len(ids) == 1:
        pairs = {ids[0]: next(iter(pairs.values()))}  # one of each: their names need not agree
    return _lanes({id: _named_runs(annotation) for id, (annotation, _) in pairs.items()})


class StreamSoFar(NamedTuple):
    """The frames of a stream that annotations are laid on; one that has not ended may have more of them any moment."""

    id: str
    n_frames: int
    clock: FrameClock | None
    has_ended: bool


def stream_annotation_lane(stream: StreamSoFar, truth: TruthFile) -> dict[str, Any]:
    """The lane of a stream: of one that goes on, what was annotated of the frames that have come."""
    rate = checked_rate(truth.rate)
    clock = stream.clock if rate is None else FrameClock.from_rate(rate)
    runs = _named_runs(_of_stream(stream, _given(truth.path, stream.id), truth.key, clock))
    shown = [run._replace(stop=min(run.stop, stream.n_frames)) for run in runs if run.start < stream.n_frames]
    return _lanes({stream.id: shown})[stream.id]


def _of_stream(stream: StreamSoFar, path: Path, key: str | None, clock: FrameClock | None) -> Annotation:
    if path.is_dir():
        raise AnnotationError(f"'{path}': no file there is called '{stream.id}', as the stream is; name it")
    if annotation_files.holds_spans(path):
        track = choose_track(annotation_files.read_tracks(path), key, stream.id, path, is_only=True)
        ahead = 0 if stream.has_ended else _reach(track, clock)
        return Annotation(on_frames(track, max(stream.n_frames, ahead), clock, path), id=stream.id)
    annotation = read_annotation(path, key)
    if annotation.n_frames < stream.n_frames or (stream.has_ended and annotation.n_frames > stream.n_frames):
        raise AnnotationError(
            f"'{path}' has {annotation.n_frames} frames, but the stream '{stream.id}' has {stream.n_frames}; "
            "give one class per frame"
        )
    return annotation


def _reach(track: Track, clock: FrameClock | None) -> int:
    """Frames up to the end of the last annotation, wherever the stream is: nothing of it lies outside then."""
    last = max((span.stop for span in track.spans), default=0.0)
    if track.axis == "frames" or clock is None:
        return int(last) + 1
    return int(clock.frames_at(last + (clock.start_s if track.axis == "seconds" else 0.0))) + 1


def _given(path: Path, only: str | None) -> Path:
    """What was given or, of a folder that holds it, the file of the only recording there is."""
    if not path.exists():
        raise AnnotationError(f"'{path}': no such file or folder; give annotations as for `rondo evaluate`")
    files = [file for file in path.iterdir() if file.stem == only] if path.is_dir() else []
    return files[0] if len(files) == 1 else path


class _Run(NamedTuple):
    start: int
    stop: int
    name: str


def _named_runs(annotation: Annotation) -> list[_Run]:
    """Runs of one class by its name, or its number where it has none; what nobody annotated is left out."""
    runs = runs_of(annotation.classes)
    names = [annotation.names[number] if annotation.names else str(number) for number in runs.ids.tolist()]
    every = map(_Run, runs.starts.tolist(), runs.stops.tolist(), names)
    return [run for run in every if run.name not in (NO_CLASS, str(OTHER))]


def _lanes(named: Mapping[str, Sequence[_Run]]) -> dict[str, dict[str, Any]]:
    """Runs of classes as lanes; a class looks the same in all of them."""
    classes = sorted({run.name for runs in named.values() for run in runs}, key=_numbers_first)
    looks = {name: look_of("true unit", place) for place, name in enumerate(classes)}
    return {id: _lane(runs, looks) for id, runs in named.items()}


def _numbers_first(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdecimal() else (sys.maxsize, name)


def _lane(runs: Sequence[_Run], looks: Mapping[str, Look]) -> dict[str, Any]:
    return {
        "kind": "annotation",
        "names": [run.name for run in runs],
        "colours": [looks[run.name].colour for run in runs],
        "patterns": [looks[run.name].pattern for run in runs],
        "start_frames": [run.start for run in runs],
        "end_frames": [run.stop for run in runs],
        "scores": [None] * len(runs),
        "units": [""] * len(runs),
    }
