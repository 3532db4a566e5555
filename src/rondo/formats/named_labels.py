"""Columns that are labels, ids, counters or flags by their name and by what they hold; neither alone is enough.

`anomaly` and `changepoint` (0 and 1), `unit number` (one engine after the other), `sample index` (a row counter that
wraps) measure nothing, and would be what recurs. A column `fault` in volts, or actigraphy in a column `activity`, moves
as a signal does and stays. `columns` leaves out the plainest names before a file is read; this is for the others, which
need the whole column. What is left out is noted, with the option that takes it back.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from rondo.data.recording import Recording, Values
from rondo.formats.clock_column import plain_name

_LABELS = frozenset({
    "anomaly", "anomalies", "isanomaly", "changepoint", "changepoints", "ischangepoint", "outlier",
    "isoutlier", "fault", "faults", "isfault", "faulty", "failure", "isfailure", "machinefailure", "attack",
    "isattack", "normalattack", "event", "eventid", "cluster", "clusterid", "prediction", "predicted",
    "segment", "segmentid", "annotationid", "stateid", "behaviorid", "behaviourid", "gesture", "gestureid",
    "action", "actionid", "phaseid",
})  # fmt: skip
_FLAGS = frozenset({"flag", "flags", "valid", "isvalid", "invalid", "isinvalid", "selected"})
_IDS = frozenset({
    "unit", "unitid", "unitnumber", "unitnr", "unitno", "engine", "engineid", "enginenumber", "engineno",
    "machine", "machineid", "machinenumber", "asset", "assetid", "runid", "runnumber", "file", "fileid",
    "group", "groupid", "batch", "batchid", "experiment", "experimentid", "cell", "cellid", "node", "nodeid",
    "tagid", "partid", "subjectnumber", "subjectno", "participantnumber", "animal", "animalid", "mouse",
    "mouseid",
})  # fmt: skip
_COUNTERS = frozenset({
    "index", "idx", "row", "rows", "rowid", "rowno", "rownumber", "sample", "sampleid", "sampleindex",
    "sampleno", "samplenumber", "frame", "frameid", "frameidx", "frameindex", "frameno", "framenumber",
    "counter", "packet", "packetcounter", "packetnumber", "seq", "seqno", "sequence", "sequencenumber", "no",
    "nr", "cycle", "cycles", "timecycles", "timeincycles", "timestep",
})  # fmt: skip
_MOST_VALUES = 64  # of labels, as in `class_codes`
_MOST_RUNS_OF_LABELS = 0.25  # per row: single rows marked as anomalies make two runs each
_MOST_RUNS_OF_IDS = 0.05
_LEAST_COUNTING = 0.9  # of rows: those after lost packets and wraps do not rise by one


def without_named(recording: Recording, kept: Set[str] = frozenset()) -> Recording:
    """The recording without columns that are no signal by name and by values; all stay where nothing would be left."""
    why = {}
    for place, name in enumerate(recording.channels):
        if name not in kept and (reason := _reason(name, recording.values[:, place])):
            why[place] = reason
    if not why or len(why) == recording.n_channels:
        return recording
    notes = tuple(
        f"column '{recording.channels[place]}' left out: by its name and its values it {reason}; "
        f"--keep-column {recording.channels[place]!r} keeps it"
        for place, reason in why.items()
    )
    return recording.without(tuple(why)).noted(*notes)


def _reason(name: str, column: Values) -> str:
    """What a column is that is no signal, or "".

    >>> flag = np.repeat(np.array([0, 1, 0], np.float32), 50)
    >>> _reason("anomaly", flag), _reason("pump", flag), _reason("fault", flag + np.float32(0.5))
    ('holds labels', '', '')
    """
    plain = plain_name(name)[0]
    if plain not in _LABELS | _FLAGS | _IDS | _COUNTERS:
        return ""
    given = column[~np.isnan(column)]
    if given.size < 2 or (given != np.rint(given)).any():
        return ""
    steps = np.diff(given)
    n_runs, n_values = np.count_nonzero(steps) + 1, np.unique(given).size
    if plain in _COUNTERS:
        return "counts rows" if (steps == 1).mean() >= _LEAST_COUNTING else ""
    if (steps > 0).all() and given.size > _MOST_VALUES:
        return "counts rows"
    if plain in _IDS:  # each in one piece: a switch comes back to where it was
        return "says whose a row is" if n_runs == n_values and n_runs <= _MOST_RUNS_OF_IDS * given.size else ""
    if n_values > _MOST_VALUES or n_runs > _MOST_RUNS_OF_LABELS * given.size:
        return ""
    return "holds labels" if plain in _LABELS else "is a flag" if n_values <= 2 else ""
