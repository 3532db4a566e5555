"""What people have annotated as a lane of the page; shown beside what was found, and never learned from."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rondo.data.annotation import Annotation, read_annotated
from rondo.data.annotation_files.tracks import NO_CLASS
from rondo.data.frame_clock import FrameClock
from rondo.data.labels import OTHER, runs_of
from rondo.data.recording import checked_rate
from rondo.errors import AnnotationError, OutputError
from rondo.report.colours import Look, look_of
from rondo.report.contents import TruthFile
from rondo.report.run_clock import clock_in_run

if TYPE_CHECKING:
    from rondo.report.run_folder import RecordingSummary


def annotation_lanes(run_dir: Path, recordings: Sequence[RecordingSummary], truth: TruthFile) -> dict[str, Any]:
    """The lane of each recording of the run by its id, as `rondo.report.summarize.lane_of` gives those of segments."""
    ids = [recording.id for recording in recordings]
    labels = run_dir / "labels"
    if not truth.path.exists():
        raise AnnotationError(f"'{truth.path}': no such file or folder; give annotations as for `rondo evaluate`")
    if not labels.is_dir():
        raise OutputError(f"{run_dir}: it has no folder labels/ to lay annotations on; run `rondo discover` again")
    given, where = truth.path, labels
    if len(ids) == 1:
        files = [file for file in given.iterdir() if file.stem == ids[0]] if given.is_dir() else []
        given = files[0] if len(files) == 1 else given
        where = labels if given.is_dir() else labels / f"{ids[0]}.npy"
    rate = checked_rate(truth.rate)

    def clock_of(file: Path) -> FrameClock | None:
        return clock_in_run(run_dir, file.stem) if rate is None else FrameClock.from_rate(rate)

    pairs = read_annotated(given, where, truth.key, clock_of)
    if len(ids) == 1:
        pairs = {ids[0]: next(iter(pairs.values()))}  # one of each: their names need not agree
    named = {id: _named_runs(annotation) for id, (annotation, _) in pairs.items()}
    classes = sorted({run.name for runs in named.values() for run in runs}, key=_numbers_first)
    looks = {name: look_of("true unit", place) for place, name in enumerate(classes)}
    return {id: _lane(runs, looks) for id, runs in named.items()}


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
