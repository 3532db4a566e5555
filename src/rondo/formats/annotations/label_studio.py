"""Label Studio JSON: tasks with regions of <TimeSeriesLabels>, on the axis that the project shows.

Where the labelling configuration names no `timeColumn`, Label Studio numbers the rows: `rondo export` writes tasks
for that, with `"rondo_axis": "frames"` in their data, which Label Studio hands back. Regions of any other task are
readings of the time column. Both ends of a region are samples, so the last one belongs to it.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

from rondo.errors import AnnotationError
from rondo.formats.annotations.tracks import Axis, Span, Track

KIND = "timeserieslabels"
AXIS_KEY = "rondo_axis"
RECORDING_KEY = "rondo_recording"


def read_label_studio(path: Path) -> list[Track]:
    """The newest annotation of each task, or its prediction where nobody has annotated it, per control tag."""
    try:
        tasks = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise AnnotationError(f"'{path}': not a readable .json ({error})") from error
    tasks = tasks if isinstance(tasks, list) else [tasks]
    if any(isinstance(task, dict) and "data" not in task for task in tasks):
        raise AnnotationError(
            f"'{path}': its tasks have no 'data', as in Label Studio's JSON-MIN; export the project as JSON"
        )
    try:
        return [track for task in tasks for track in _tracks(task, path)]
    except (AttributeError, TypeError, KeyError, ValueError, IndexError) as error:
        raise AnnotationError(f"'{path}': not what Label Studio exports as JSON (at {error})") from error


def _tracks(task: dict[str, Any], path: Path) -> list[Track]:
    data = task["data"]
    given = [a for a in task.get("annotations", []) if not a.get("was_cancelled")] or task.get("predictions", [])
    axis: Axis = "frames" if data.get(AXIS_KEY) == "frames" else "clock"
    spans: dict[str, list[Span]] = {}
    for region in given[-1]["result"] if given else []:
        if region.get("type") == KIND:
            spans.setdefault(str(region["from_name"]), []).append(_span(region["value"], path))
    recording = _recording(data)
    return [Track(tuple(found), tag, recording, axis, stop_is_inside=True) for tag, found in spans.items()]


def _span(value: dict[str, Any], path: Path) -> Span:
    start, stop = value["start"], value["end"]
    if isinstance(start, str) or isinstance(stop, str):
        raise AnnotationError(
            f"'{path}': a region begins at '{start}', a date; export it from a project whose time column holds seconds"
        )
    return Span(float(start), float(stop), str(value[KIND][0]))


def _recording(data: dict[str, Any]) -> str:
    """The id that `rondo export` wrote; else the stem of the only file that the task names."""
    if RECORDING_KEY in data:
        return str(data[RECORDING_KEY])
    files = [value for value in data.values() if isinstance(value, str) and PurePosixPath(value).suffix]
    return PurePosixPath(files[0]).stem if len(files) == 1 else ""
