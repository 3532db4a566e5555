"""One recording as data that the page draws: the signal above, lanes of segments below, all on one axis of frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from rondo.report.colours import ink_on
from rondo.run.overview import base64_of

_LONGEST_SEQUENCE = 60
_LANE_TITLES = {
    "unit": "units",
    "motif": "motifs",
    "true unit": "true units",
    "true motif": "true motifs",
    "annotation": "annotation",
}


def timeline(recording: dict[str, Any], *, motif_lane: bool = True) -> dict[str, Any]:
    """What the script of the page needs of one element of `summarize(...)["recordings"]`, as JSON takes it."""
    return {
        "id": recording["id"],
        "n_frames": recording["n_frames"],
        "frame_s": None if recording["rate"] is None else 1.0 / recording["rate"],
        "clock": recording.get("clock"),
        "signal": recording["signal"],
        "scores": recording["scores"],
        "lanes": [_lane(lane) for lane in recording["lanes"] if motif_lane or lane["kind"] != "motif"],
        "journal": recording.get("journal", []),
    }


def _lane(lane: dict[str, Any]) -> dict[str, Any]:
    """Segments as columns of numbers; names, colours and unit sequences once each, however often they occur."""
    seen = [*zip(lane["names"], lane["colours"], lane["patterns"], strict=True)]
    looks = list(dict.fromkeys(seen))
    sequences = list(dict.fromkeys(lane["units"]))
    place_of_look = {look: place for place, look in enumerate(looks)}
    place_of_sequence = {sequence: place for place, sequence in enumerate(sequences)}
    scores = np.array([np.nan if score is None else score for score in lane["scores"]], dtype=np.float32)
    return {
        "kind": lane["kind"],
        "title": lane.get("title", _LANE_TITLES[lane["kind"]]),
        "run": lane.get("run", ""),
        "entries": [
            {"name": name, "colour": colour, "pattern": pattern, "ink": ink_on(colour)}
            for name, colour, pattern in looks
        ],
        "sequences": [_cut_short(sequence) for sequence in sequences],
        "starts": base64_of(np.array(lane["start_frames"], dtype=np.int32)),
        "ends": base64_of(np.array(lane["end_frames"], dtype=np.int32)),
        "entry": base64_of(np.array([place_of_look[look] for look in seen], dtype=np.int32)),
        "sequence": base64_of(np.array([place_of_sequence[units] for units in lane["units"]], dtype=np.int32)),
        "scores": base64_of(scores),
    }


def _cut_short(units: str) -> str:
    """A unit sequence that fits a tooltip; segments.csv holds it whole."""
    return units if len(units) <= _LONGEST_SEQUENCE else f"{units[:_LONGEST_SEQUENCE].rsplit(' ', 1)[0]} …"
