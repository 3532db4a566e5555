"""BORIS: a project with an observation per recording; every label is a state event, every level a category.

A project is what BORIS opens, and what it imports observations from (its other import is a spreadsheet in .xlsx or
.ods; it reads no csv). Times have three decimals, which is all that BORIS keeps. A state begins and ends with an event
of the same code, so a code has an even number of events. BORIS reads a project in the encoding of its machine, so the
file is plain ASCII with escapes; and it refuses to save codes with a pipe, which parts modifiers.
"""

from __future__ import annotations

import json
from operator import itemgetter
from typing import Any

from rondo.report.colours import colour_of
from rondo.report.export.chosen import Export, ExportedRecording, millisecond_spans, refuse_without_seconds

PROJECT_FORMAT = "7.0"


def as_boris(export: Export) -> bytes:
    refuse_without_seconds(export, "BORIS")
    made_at = export.made_at.replace(tzinfo=None).isoformat()
    behaviors = [
        _behavior(level, id, label) for level in export.levels for label, id in export.labels_of(level).items()
    ]
    project = {
        "time_format": "hh:mm:ss",
        "project_date": made_at,
        "project_name": "Rondo",
        "project_description": f"Segments found by {export.made_by}",
        "project_format_version": PROJECT_FORMAT,
        "subjects_conf": {},
        "behaviors_conf": {str(number): behavior for number, behavior in enumerate(behaviors)},
        "observations": {one.id: _observation(one, export.levels, made_at) for one in export.recordings},
        "behavioral_categories": list(export.levels),
        "behavioral_categories_config": {
            str(number): {"name": level, "color": ""} for number, level in enumerate(export.levels)
        },
        "independent_variables": {},
        "coding_map": {},
        "behaviors_coding_map": [],
        "converters": {},
    }
    return json.dumps(project, indent=1, allow_nan=False).encode("ascii")


def _code(label: str) -> str:
    return label.replace("|", "¦")


def _behavior(level: str, id: int, label: str) -> dict[str, Any]:
    return {
        "type": "State event",
        "key": "",
        "code": _code(label),
        "description": "",
        "color": colour_of(level, id),
        "category": level,
        "modifiers": {},
        "excluded": "",
        "coding map": "",
    }


def _observation(recording: ExportedRecording, levels: tuple[str, ...], made_at: str) -> dict[str, Any]:
    spans = [span for level in levels for span in millisecond_spans(recording, level, "BORIS")]
    events = sorted(((time, label) for start, stop, label in spans for time in (start, stop)), key=itemgetter(0))
    return {
        "file": {},
        "type": "LIVE",
        "date": made_at,
        "description": recording.source_name,
        "time offset": 0.0,
        "events": [[time / 1000, "", _code(label), "", ""] for time, label in events],
        "observation time interval": [0, 0],
        "independent_variables": {},
        "visualize_spectrogram": False,
        "visualize_waveform": False,
        "close_behaviors_between_videos": False,
        "scan_sampling_time": 0,
        "start_from_current_time": False,
    }
