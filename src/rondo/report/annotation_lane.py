"""What people have annotated as a lane of the page; shown beside what was found, and never learned from."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rondo.data.frame_clock import FrameClock
from rondo.data.labels import OTHER, runs_of
from rondo.data.recording_checks import checked_rate
from rondo.formats.annotations.annotation import Annotation
from rondo.formats.annotations.tracks import NO_CLASS
from rondo.formats.annotations.truth import truth_of
from rondo.report.colours import Look, look_of
from rondo.report.contents import TruthFile
from rondo.run.wall_clock import clock_of

if TYPE_CHECKING:
    from rondo.result import Result


def annotation_lanes(result: Result, truth: TruthFile) -> dict[str, Any]:
    """The lane of each recording by its id, as `rondo.report.summarize.lane_of` gives those of segments."""
    annotations = read_truth(result, truth)
    return _lanes({id: _named_runs(annotation) for id, annotation in annotations.items()})


def read_truth(result: Result, truth: TruthFile) -> dict[str, Annotation]:
    """The annotation of each recording; of a stream that goes on, of the frames that have come."""
    rate, stream = checked_rate(truth.rate), result.summary.stream
    return truth_of(
        truth.path,
        {one.id: one.n_frames for one in result.recordings},
        truth.key,
        lambda id: clock_of(result, id) if rate is None else FrameClock.from_rate(rate),
        goes_on=stream is not None and not stream.finished,
    )


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
