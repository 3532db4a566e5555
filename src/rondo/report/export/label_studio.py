"""Label Studio: a task per recording with a prediction, and the labelling configuration that the project needs.

Regions are numbered in frames: without a `timeColumn` Label Studio numbers the rows of a csv, so they fit every file,
whatever its clock. Both ends of a region are samples; one sample alone is what Label Studio calls an instant.
"""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as Xml

from rondo.report.colours import colour_of
from rondo.report.export.chosen import Export, ExportedRecording, Segment

SERIES = "ts"


def as_label_studio(export: Export) -> bytes:
    """The tasks; `csv` in their data is to be set to where Label Studio finds the file."""
    tasks = [_task(recording, export) for recording in export.recordings]
    return json.dumps(tasks, indent=1, allow_nan=False, ensure_ascii=False).encode("utf-8")


def label_studio_config(export: Export) -> bytes:
    """<View> with one set of labels per level, and the channels of the first recording."""
    view = Xml.Element("View")
    for level in export.levels:
        labels = Xml.SubElement(view, "TimeSeriesLabels", name=level, toName=SERIES)
        for label, id in export.labels_of(level).items():
            Xml.SubElement(labels, "Label", value=label, background=colour_of(level, id))
    series = Xml.SubElement(view, "TimeSeries", name=SERIES, valueType="url", value="$csv", sep=",")
    for channel in export.recordings[0].about.channels:
        Xml.SubElement(series, "Channel", column=channel)
    Xml.indent(view)
    return f"{Xml.tostring(view, encoding='unicode')}\n".encode()


def _task(recording: ExportedRecording, export: Export) -> dict[str, Any]:
    data = {"csv": recording.source_name, "rondo_recording": recording.id, "rondo_axis": "frames"}
    if recording.about.rate is not None:
        data["rondo_rate"] = f"{recording.about.rate:.12g}"
    regions = [_region(number, segment) for number, segment in enumerate(recording.segments)]
    return {"data": data, "predictions": [{"model_version": export.made_by, "result": regions}]}


def _region(number: int, segment: Segment) -> dict[str, Any]:
    first, last = segment.start, segment.stop - 1
    value = {"start": first, "end": last, "instant": first == last, "timeserieslabels": [segment.label]}
    region = {
        "id": f"{segment.level}{number}",
        "from_name": segment.level,
        "to_name": SERIES,
        "type": "timeserieslabels",
        "value": value,
    }
    return region if segment.score is None else region | {"score": segment.score}
