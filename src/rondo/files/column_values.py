"""What the name and the values of a column show: labels, ids, counters, clocks, codes of classes.

`rondo.files.columns` decides by it what a column is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Values
from rondo.files.reading import listed
from rondo.files.text.clock import plain_name, size_of_epoch

LABEL_NAMES = frozenset({
    "activity", "activities", "activityid", "activitylabel", "activityname", "annotation", "annotations", "behavior",
    "behaviour", "class", "classid", "classlabel", "groundtruth", "gt", "label", "labels", "labelid", "labelname",
    "target",
})  # fmt: skip
"""Columns that are left out unless they move as a signal: ground truth must not reach a learner by accident."""

ID_NAMES = frozenset({
    "id", "uid", "uuid", "subject", "subjectid", "participant", "participantid", "person", "personid", "patientid",
    "user", "userid", "device", "deviceid", "sensorid", "session", "sessionid", "trial", "trialid", "recordid",
})  # fmt: skip
"""Columns that identify a person, device or session, and measure nothing."""

TAG_NAMES = frozenset({
    "tag", "tags", "tagname", "tagid", "sensor", "sensorname", "sensorid", "signal", "signalname", "variable",
    "variablename", "parameter", "parametername", "metric", "metricname", "measurement", "measure", "point",
    "pointname", "pointid", "channel", "channelname", "item", "itemid", "itemname", "series", "seriesid", "seriesname",
    "attribute", "field", "key", "name", "externalid", "nodeid", "quantity", "feature", "entityid", "statisticid",
    "topic",
})  # fmt: skip
TAG_GROUP_NAMES = frozenset({"measurement", "topic", "series", "key"})  # a level above, where two columns name the tag
VALUE_NAMES = frozenset({
    "value", "values", "val", "reading", "readings", "data", "v", "result", "average", "avg", "mean", "state",
    "tagvalue", "numericvalue", "doublevalue", "floatvalue", "valuenum", "valuenumeric", "number",
})  # fmt: skip
QUALITY_NAMES = frozenset({"quality", "qualitycode", "qual", "opcquality", "statuscode", "questionable"})
"""Of tables with one reading per row: columns that name the sensor, hold its value, and say how good that is."""

Kind = Literal["text", "dates", "day", "time of day", "epoch", "counter", "rising", "empty", "filler", "truth"]
"""What the cells of a column show, where that is more than numbers."""

_NO_NAME = re.compile(r"(unnamed: ?\d+(_level_\d+)?|__index_level_\d+__)?", re.IGNORECASE)  # pandas' words for it
_ROWS_OF_A_COUNTER = 32  # before a column with a name of its own is taken for one


def is_label_name(name: str) -> bool:
    """Whether a column of this name (`Label`, `activity_id`, `ground truth`) holds labels."""
    return plain_name(name)[0] in LABEL_NAMES


def names_no_signal(name: str) -> bool:
    """Whether it is the name of labels or ids."""
    return is_label_name(name) or plain_name(name)[0] in ID_NAMES


def moves_as_a_signal(name: str, numbers: NDArray[np.float64]) -> bool:
    """Whether a column with the name of labels or ids holds something else: it moves up and down in most rows.

    Ids may be any whole numbers, so those must have fractions too.

    >>> counts = np.array([0, 12, 40, 3, 0, 25, 7, 31, 18, 2, 55, 9, 14, 28, 6, 33] * 2, float)
    >>> moves_as_a_signal("activity", counts), moves_as_a_signal("id", counts), moves_as_a_signal("id", counts / 7)
    (True, False, True)
    """
    given = numbers[np.isfinite(numbers)]
    if not names_no_signal(name) or given.size < _ROWS_OF_A_COUNTER:
        return False
    steps = np.diff(given)
    moves = (steps != 0).mean() > 0.5 and (steps > 0).any() and (steps < 0).any() and np.unique(given).size >= 12
    return bool(moves and (is_label_name(name) or (given != np.rint(given)).any()))


def has_no_name(name: str) -> bool:
    """Whether it is a name that pandas gives to an index that has none, or none at all."""
    return _NO_NAME.fullmatch(name.strip()) is not None


def kind_of_numbers(numbers: NDArray[np.float64], *, is_unnamed: bool) -> Kind | None:
    """What the first numbers of a column show: that it counts rows, counts from 1970, or rises evenly as a clock does.

    A column with a name of its own needs more rows to be taken for a counter, and is never taken for a clock because
    it rises: a joint may turn for that long.
    """
    if len(numbers) < 2 or not np.isfinite(numbers).all():
        return None
    steps = np.diff(numbers)
    if (steps == 1).all() and (numbers == np.rint(numbers)).all():
        return "counter" if is_unnamed or len(numbers) >= _ROWS_OF_A_COUNTER else None
    if steps.min() < 0 or steps.max() == 0:
        return None
    if all(map(size_of_epoch, numbers.tolist())):
        return "epoch"
    usual = np.median(steps)
    is_even = steps.min() > 0.5 * usual and steps.max() < 1.5 * usual
    return "rising" if is_unnamed and is_even and len(numbers) >= _ROWS_OF_A_COUNTER else None


def rises_or_repeats(readings: NDArray[np.float64]) -> bool | None:
    """Whether the first readings of a clock rise in each row (True) or some repeat (False); None: neither."""
    steps = np.diff(readings)
    if not steps.size or not np.isfinite(readings).all() or (steps < 0).any():
        return None
    return not (steps == 0).any()


# ----------------------------------------------------------------
# Columns of numbers that look like codes of classes: labels that no name gives away.
#
# A sensor that is read so often that it stays on one whole number for many rows passes through the numbers between on
# its way to another. Codes have no between: they jump. So of the columns with few whole numbers in long runs, those
# that jump are left out where they have no name of their own, and all others are kept with a warning: a switch, a gear
# or a battery looks the same, and may well be wanted. `docs/limits.md` says what this catches and what it costs.

_FEW_VALUES, _LONG_RUN = 25, 50  # of what is suspected
_MOST_CODES, _ROWS_OF_A_CODE = 64, 25  # Drive&Act has up to 36 in one recording; runs of OpenPack's actions are 47 rows
_SHORT_RUN = 5  # rows; where a quarter of the runs are shorter, these are counts of rare events
_LEAST_SKIPPING, _LEAST_JUMP = 0.05, 0.3  # USC-HAD has 0.07 and 0.39, heart rates have jumps of 0.2 or less
_ROWS_LOOKED_AT = 1 << 14  # before the whole column is
_NAMED_BY_POSITION = re.compile(r"(ch|var|v|column ?|unnamed: ?)?\d+", re.IGNORECASE)  # by us, MATLAB, R, pandas


@dataclass(frozen=True)
class Runs:
    """A column as stretches of one value each: the different values, the place of each run's value among them."""

    values: Values
    ranks: NDArray[np.intp]
    lengths: NDArray[np.intp]  # rows

    @property
    def kind(self) -> str:
        return "values" if (self.values != np.rint(self.values)).any() else "whole numbers"

    def in_short(self) -> str:
        return listed([f"{value:g}" for value in self.values], 4)


def is_named_by_position(channel: str) -> bool:
    return _NAMED_BY_POSITION.fullmatch(channel) is not None


def runs_of(column: Values) -> Runs | None:
    """The runs of a column that holds a few whole numbers in long runs, labels perhaps; None for any other."""
    beginning = column[:_ROWS_LOOKED_AT]
    beginning = beginning[~np.isnan(beginning)]  # a row without a label ends no run
    if np.count_nonzero(beginning[1:] != beginning[:-1]) > 2 * _ROWS_LOOKED_AT / _ROWS_OF_A_CODE:
        return None  # as of nearly all channels
    column = column[~np.isnan(column)]
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    if not 1 < starts.size <= column.size / _ROWS_OF_A_CODE:
        return None
    values, ranks = np.unique(column[starts], return_inverse=True)
    runs = Runs(values, ranks, np.diff(starts, append=column.size))
    if values.size > _MOST_CODES:
        return None
    if runs.kind == "values":  # a sensor of coarse steps passes through those between
        return runs if values.size == 2 or jumps(runs) else None
    is_few = values.size <= _FEW_VALUES and starts.size <= column.size / _LONG_RUN - 1
    return runs if is_few or jumps(runs) else None


def plateaus_of(column: Values) -> Runs | None:
    """The long runs of a column that stays on few whole numbers and moves between them, as smoothed labels do."""
    beginning = column[:_ROWS_LOOKED_AT]
    if 2 * np.count_nonzero(beginning[1:] != beginning[:-1]) > beginning.size:
        return None  # as of nearly all channels
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    lengths = np.diff(starts, append=column.size)
    is_long = lengths >= _LONG_RUN
    found = Runs(*np.unique(column[starts[is_long]], return_inverse=True), lengths[is_long])
    is_few = 1 < found.values.size <= min(_FEW_VALUES, is_long.sum() - 1) and found.kind == "whole numbers"
    is_moving = (~is_long).sum() > is_long.sum()
    return found if is_moving and is_few and 2 * found.lengths.sum() >= column.size else None


def jumps(runs: Runs) -> bool:
    """Whether the values follow each other as codes do, and not as readings of something that moves.

    With r_i the rank of the value of run i: some |r_{i+1} - r_i| skip values, and their mean is not small against the
    mean of |r_i - r_j| over all pairs of runs that differ, which is what a shuffled order would have.
    """
    if runs.values.size < 3 or np.percentile(runs.lengths, 25) < _SHORT_RUN:
        return False
    steps = np.abs(np.diff(runs.ranks))
    counts = np.bincount(runs.ranks).astype(np.float64)
    apart = np.abs(np.subtract.outer(np.arange(counts.size), np.arange(counts.size)))
    pairs = np.outer(counts, counts) * (apart > 0)
    shuffled = (pairs * apart).sum() / pairs.sum()
    return bool((steps > 1).mean() >= _LEAST_SKIPPING and steps.mean() >= _LEAST_JUMP * shuffled)


# ----------------------------------------------------------------
# Columns that are labels, ids, counters or flags by their name and by what they hold; neither alone is enough.
#
# `anomaly` and `changepoint` (0 and 1), `unit number` (one engine after the other), `sample index` (a row counter that
# wraps) measure nothing, and would be what recurs. A column `fault` in volts, or actigraphy in a column `activity`,
# moves as a signal does and stays. `columns` leaves out the plainest names before a file is read; this is for the
# others, which need the whole column. What is left out is noted, with the option that takes it back.

_LABELS = frozenset({
    "anomaly", "anomalies", "isanomaly", "changepoint", "changepoints", "ischangepoint", "outlier",
    "isoutlier", "fault", "faults", "isfault", "faulty", "failure", "isfailure", "machinefailure", "attack",
    "isattack", "normalattack", "event", "eventid", "cluster", "clusterid", "prediction", "predicted",
    "segment", "segmentid", "annotationid", "stateid", "behaviorid", "behaviourid", "gesture", "gestureid",
    "action", "actionid", "phaseid",
})  # fmt: skip
_FLAGS = frozenset({"flag", "flags", "valid", "isvalid", "invalid", "isinvalid", "selected"})
_FLAG_WORDS = frozenset({  # in a longer name, as `ATT_FLAG`, of a column of two values
    "flag", "flags", "attack", "attacks", "anomaly", "anomalies", "event", "events", "outlier", "outliers",
    "exclusive",  # behaviours that EthoVision scored
})  # fmt: skip
_IDS = frozenset({
    "unit", "unitid", "unitnumber", "unitnr", "unitno", "engine", "engineid", "enginenumber", "engineno",
    "machine", "machineid", "machinenumber", "asset", "assetid", "runid", "runnumber", "file", "fileid",
    "group", "groupid", "batch", "batchid", "experiment", "experimentid", "cell", "cellid", "node", "nodeid",
    "tagid", "partid", "subjectnumber", "subjectno", "participantnumber", "animal", "animalid", "mouse",
    "mouseid", "individual", "individualid",
})  # fmt: skip
TELLER_NAMES = ID_NAMES | _IDS | frozenset({
    "track", "trackid", "tracks", "instance", "object", "objectid", "fish", "fly", "rat",
    "player", "playerid", "vehicle", "vehicleid", "carid", "station", "stationid", "household", "householdid",
    "turbine", "turbineid", "meter", "meterid", "customer", "customerid", "pump", "pumpid", "building", "buildingid",
    "room", "equipment", "equipmentid", "robot", "robotid", "line", "lineid", "mac", "macaddress", "serial",
    "serialnumber",
})  # fmt: skip
"""Columns that may tell recordings apart."""
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


def why_no_signal(name: str, column: Values) -> str:
    """What a column is that is no signal, or "".

    >>> flag = np.repeat(np.array([0, 1, 0], np.float32), 50)
    >>> why_no_signal("anomaly", flag), why_no_signal("pump", flag), why_no_signal("fault", flag + np.float32(0.5))
    ('holds labels', '', '')
    """
    plain, is_flag = plain_name(name)[0], not _FLAG_WORDS.isdisjoint(words_of(name))
    if plain not in _LABELS | _FLAGS | _IDS | _COUNTERS and not is_flag:
        return ""
    given = column[~np.isnan(column)]
    if given.size < 2 or (given != np.rint(given)).any():
        return ""
    steps = np.diff(given)
    n_runs, n_values = np.count_nonzero(steps) + 1, np.unique(given).size
    if is_flag and plain not in _LABELS:
        return "is a flag" if n_values <= 2 else ""
    if plain in _COUNTERS:
        return "counts rows" if (steps == 1).mean() >= _LEAST_COUNTING else ""
    if (steps > 0).all() and given.size > _MOST_VALUES:
        return "counts rows"
    if plain in _IDS:  # each in one piece: a switch comes back to where it was
        return "is an id" if n_runs == n_values and n_runs <= _MOST_RUNS_OF_IDS * given.size else ""
    if n_values > _MOST_VALUES or n_runs > _MOST_RUNS_OF_LABELS * given.size:
        return ""
    return "holds labels" if plain in _LABELS else "is a flag" if n_values <= 2 else ""


# ----------------------------------------------------------------
# Bookkeeping: columns that say how the recording was made, or repeat the clock. They measure nothing that was recorded,
# but they move, and would be what recurs: of gym sessions with 70 columns the ARI is 26 with them and 62 without.

_STRENGTH_WORDS = frozenset({"rssi", "lqi", "rsrp", "rsrq"})  # of the radio
_BATTERY_WORDS = frozenset({"battery", "batt", "vbat", "vbatt"})
_BATTERY_PARTS = frozenset({"level", "percent", "percentage", "pct", "status", "charge", "frequency", "remaining"})
_COUNTER_WORDS = frozenset({"packet", "packets", "counter", "count", "cnt", "seq", "sequence", "sample", "frame"})
_TIMER_WORDS = frozenset({
    "timer", "time", "elapsed", "uptime", "duration", "dwell", "since", "age", "seconds", "sec", "secs", "minutes",
    "ms", "millis", "clock", "ticks", "nsm",
})  # fmt: skip
_STRONG_TIMER_WORDS = frozenset({"timer", "duration", "dwell", "uptime"})  # may stand still
_CALENDAR = {  # names, and the largest number that they hold
    **dict.fromkeys(("nsm", "secondssincemidnight", "secondofday", "secondsofday"), 86_400),
    **dict.fromkeys(("minuteofday", "minutesofday", "minutessincemidnight"), 1440),
    **dict.fromkeys(("hour", "hours", "hourofday", "hr"), 24),
    **dict.fromkeys(("minute", "second"), 60),
    **dict.fromkeys(("dayofweek", "weekday", "dow"), 7),
    **dict.fromkeys(("day", "dayofmonth"), 31),
    **dict.fromkeys(("dayofyear", "doy"), 366),
    **dict.fromkeys(("week", "weekofyear", "weeknumber"), 53),
    **dict.fromkeys(("month", "monthofyear"), 12),
    **dict.fromkeys(("year",), 2200),
}
_MOST_WRAPS = 0.2  # of rows: seven days of a week, each a row
_LEAST_EVEN = 0.9  # of the steps up: a timer loses rows as its recording does
_MOST_CHANGES = 0.1  # of rows: the charge of a battery is written again and again


def words_of(name: str) -> frozenset[str]:
    """The words of a name, in small letters.

    >>> sorted(words_of("ATT_FLAG") | words_of("packetCounter2"))
    ['2', 'att', 'counter', 'flag', 'packet']
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+", name)
    return frozenset(part.casefold() for part in parts)


def why_bookkeeping(name: str, column: Values) -> str:
    """What a column tells about the recording or its clock, or "".

    >>> timer = np.tile(np.arange(40, dtype=np.float32), 5)
    >>> why_bookkeeping("state_timer", timer), why_bookkeeping("torque", timer), why_bookkeeping("RSSI", timer)
    ('a timer', '', 'signal strength')
    """
    words, most = words_of(name), _CALENDAR.get(plain_name(name)[0])
    if words & _STRENGTH_WORDS:
        return "signal strength"
    is_suspect = words & (_BATTERY_WORDS | _COUNTER_WORDS | _TIMER_WORDS)
    if most is None and not is_suspect:
        return ""
    given = column[~np.isnan(column)].astype(np.float64)
    if given.size < _ROWS_OF_A_COUNTER:
        return ""
    steps = np.diff(given)
    if words & _BATTERY_WORDS:
        is_slow = (steps != 0).mean() <= _MOST_CHANGES or (steps <= 0).all()
        return "battery" if is_slow or words & _BATTERY_PARTS else ""
    falls = (steps < 0).mean()
    if most is not None and falls <= _MOST_WRAPS and given.min() >= 0 and given.max() <= most:
        return "calendar" if (given == np.rint(given)).all() else ""
    ahead = steps[steps > 0]
    if not is_suspect or falls > _MOST_WRAPS:
        return ""
    if words & _STRONG_TIMER_WORDS and (steps != 0).mean() <= _MOST_CHANGES and (given == np.rint(given)).all():
        return "a timer"
    if ahead.size < _ROWS_OF_A_COUNTER:
        return ""
    usual = float(np.median(ahead))
    is_even = (np.abs(ahead - usual) <= 0.5 * usual).mean() >= _LEAST_EVEN
    comes_back = given[1:][steps < 0] <= given.min() + 0.1 * np.ptp(given)
    if not is_even or (comes_back.size and comes_back.mean() < _LEAST_EVEN):
        return ""
    return "a timer" if words & _TIMER_WORDS else "a counter"
