"""Label Studio JSON: tasks with regions of <TimeSeriesLabels>, on the axis that the project shows.

Where the labelling configuration names no `timeColumn`, Label Studio numbers the rows of a csv, so that frames fit
every file, whatever its clock: tasks are written for that, with `"rondo_axis": "frames"` in their data, which Label
Studio hands back. Regions of any other task are readings of the time column. Both ends of a region are samples, so the
last one belongs to it; one sample alone is what Label Studio calls an instant.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree as Xml

from rondo.annotations.formats import AnnotationFormat, Export, ExportedSegment
from rondo.annotations.tracks import Axis, NamedSpan, Track
from rondo.errors import AnnotationError
from rondo.store.reading import MOST_BYTES, read_json

KIND = "timeserieslabels"
AXIS_KEY = "rondo_axis"
RECORDING_KEY = "rondo_recording"
SERIES = "ts"


def read_label_studio(path: Path) -> list[Track]:
    """The newest annotation of each task, or its prediction where nobody has annotated it, per control tag."""
    try:
        tasks = read_json(path, MOST_BYTES)
    except (OSError, ValueError) as error:
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
    spans: dict[str, list[NamedSpan]] = {}
    for region in given[-1]["result"] if given else []:
        if region.get("type") == KIND:
            spans.setdefault(str(region["from_name"]), []).append(_span(region["value"], path))
    files = [value for value in data.values() if isinstance(value, str) and PurePosixPath(value).suffix]
    recording = PurePosixPath(files[0]).stem if len(files) == 1 else ""  # the only file that the task names
    recording = str(data.get(RECORDING_KEY, recording))  # the id that `rondo export` wrote
    return [Track(tuple(found), tag, recording, axis, stop_is_inside=True) for tag, found in spans.items()]


def _span(value: dict[str, Any], path: Path) -> NamedSpan:
    start, stop = value["start"], value["end"]
    if isinstance(start, str) or isinstance(stop, str):
        raise AnnotationError(
            f"'{path}': a region begins at '{start}', a date; export it from a project whose time column holds seconds"
        )
    return NamedSpan(float(start), float(stop), str(value[KIND][0]))


def as_label_studio(export: Export) -> dict[str, bytes]:
    """The tasks, whose `csv` is to be set to where Label Studio finds the file, and the labelling configuration."""
    tasks = []
    for recording in export.recordings:
        data = {"csv": recording.source_name, RECORDING_KEY: recording.id, AXIS_KEY: "frames"}
        if recording.rate is not None:
            data["rondo_rate"] = f"{recording.rate:.12g}"
        regions = [_region(number, segment) for number, segment in enumerate(recording.segments)]
        tasks.append({"data": data, "predictions": [{"model_version": export.made_by, "result": regions}]})
    text = json.dumps(tasks, indent=1, allow_nan=False, ensure_ascii=False)
    return {"": text.encode("utf-8"), ".config.xml": _configuration(export)}


def _configuration(export: Export) -> bytes:
    """<View> with one set of labels per level, and the channels of the first recording."""
    view = Xml.Element("View")
    for level in export.levels:
        labels = Xml.SubElement(view, "TimeSeriesLabels", name=level, toName=SERIES)
        for label in export.labels_of(level):
            hint = {"hint": label.description} if label.description else {}
            Xml.SubElement(labels, "Label", hint, value=label.text, background=label.colour)
    series = Xml.SubElement(view, "TimeSeries", name=SERIES, valueType="url", value="$csv", sep=",")
    for channel in export.recordings[0].channels:
        Xml.SubElement(series, "Channel", column=channel)
    Xml.indent(view)
    return f"{Xml.tostring(view, encoding='unicode')}\n".encode()


def _region(number: int, segment: ExportedSegment) -> dict[str, Any]:
    first, last = segment.start, segment.stop - 1
    value = {"start": first, "end": last, "instant": first == last, KIND: [segment.label]}
    region = {
        "id": f"{segment.level}{number}",
        "from_name": segment.level,
        "to_name": SERIES,
        "type": KIND,
        "value": value,
    }
    return region if segment.score is None else region | {"score": segment.score}


FORMAT = AnnotationFormat(
    name="label-studio",
    program="Label Studio",
    suffixes=(".json",),
    read=read_label_studio,
    write=as_label_studio,
    order=4,
)
