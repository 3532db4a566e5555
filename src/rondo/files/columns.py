"""Which columns of a table are channels, which one is the clock, and which are neither.

Every file format and every data frame asks the same questions, so they are answered once, here. The answers
that a user might not expect are returned as notes, which end up in `Recording.notes`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording, Values
from rondo.data.signal import shortened
from rondo.errors import RecordingError
from rondo.files.reading import left_out_and_kept
from rondo.files.reading import listed as listed
from rondo.files.text.clock import is_clock_name, mentions_time_stamps, plain_name, size_of_epoch
from rondo.wording import counted

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
"""Columns that say whose a row is, and measure nothing."""

Kind = Literal["text", "dates", "day", "time of day", "epoch", "counter", "rising", "empty", "filler"]
"""What the cells of a column show, where that is more than numbers."""

_CLOCK_KINDS = ("dates", "epoch", "stamps", "day", "time of day", "rising")  # in the order of trust
_WHY_CLOCK = {
    "stamps": "its name speaks of time stamps",
    "time of day": "it holds times of day",
    "dates": "it holds dates",
    "day": "it holds dates",
    "epoch": "its numbers count from 1970",
    "rising": "it has no name and rises from row to row",
}
_NO_NAME = re.compile(r"(unnamed: ?\d+(_level_\d+)?|__index_level_\d+__)?", re.IGNORECASE)  # pandas' words for it
_ROWS_OF_A_COUNTER = 32  # before a column with a name of its own is taken for one


@dataclass(frozen=True)
class Columns:
    """The columns to read: `positions` of the `channels` in the table, the position of the `clock`, notes.

    `day`: the position of a column that holds the dates to which the clock has the times of day. `is_finer`: whether
    the clock was taken because another one, which comes before it, repeats its readings.
    """

    channels: tuple[str, ...]
    positions: tuple[int, ...]
    clock: int | None = None
    notes: tuple[str, ...] = ()
    day: int | None = None
    is_finer: bool = False

    @property
    def last(self) -> int:
        """The position of the last column that is read: a line may end after it."""
        return max(place for place in (*self.positions, self.clock, self.day) if place is not None)


def is_label_name(name: str) -> bool:
    """Whether a column of this name holds labels.

    >>> [is_label_name(name) for name in ("Label", "activity_id", "ground truth", "y")]
    [True, True, True, False]
    """
    return plain_name(name)[0] in LABEL_NAMES


def names_no_signal(name: str) -> bool:
    """Whether it is the name of labels or ids."""
    return is_label_name(name) or plain_name(name)[0] in ID_NAMES


def _about_suspect(name: str, is_signal: bool) -> str:
    what = "holds labels" if is_label_name(name) else "says whose a row is"
    if is_signal:
        return (
            f"column '{name}' kept: by its name it {what}, but its values move; --label-column {name!r} leaves it out"
        )
    return f"column '{name}' left out: by its name it {what}; --keep-column {name!r} keeps it"


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

    >>> [kind_of_numbers(np.array([0.0, 1, 2]), is_unnamed=is_unnamed) for is_unnamed in (True, False)]
    ['counter', None]
    >>> kind_of_numbers(np.array([1.7e12, 1.7e12 + 20]), is_unnamed=False)
    'epoch'
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
    """Whether the first readings of a clock rise in each row (True) or some repeat (False); None where they do neither.

    >>> [rises_or_repeats(np.array(readings)) for readings in ([1.0, 2, 3], [1.0, 1, 2], [2.0, 1, 3], [1.0, 1, 1])]
    [True, False, None, False]
    """
    steps = np.diff(readings)
    if not steps.size or not np.isfinite(readings).all() or (steps < 0).any():
        return None
    return not (steps == 0).any()


def choose_columns(
    names: Sequence[str],
    *,
    rate: float | None,
    label_columns: Sequence[str] = (),
    kinds: Mapping[int, Kind] | None = None,
    wanted: Sequence[str] = (),
    rises: Mapping[int, bool] | None = None,
    signals: Set[int] = frozenset(),
) -> Columns:
    """Split the columns of a table into channels, clock, and those left out.

    `kinds` says what is known of the cells of a column: text and row counters are left out, and where no column has a
    clock's name, one that holds dates or counts from 1970 is the clock. A given rate wins over any clock. `wanted` are
    the channels that a model knows: where the table has them all, they and no others are channels, whatever they look
    like. `rises` says of columns that tell the time whether the first readings rise from row to row (True) or some
    repeat (False): of two clocks the finer one is taken. `signals` are columns whose values move as a signal does: they
    are channels even where they have the name of labels. `label_columns` may say which columns to keep
    (`kept_columns.with_kept`).

    >>> choose_columns(["time", "x", "y", "activity"], rate=None, label_columns=["activity"])
    Columns(channels=('x', 'y'), positions=(1, 2), clock=0, notes=(), day=None, is_finer=False)
    """
    kinds = kinds or {}
    known = _known(names, wanted, kinds)
    kinds = {position: kind for position, kind in kinds.items() if position not in known}
    left_out, keep = left_out_and_kept(label_columns, names)
    known_as_such = known | {place for place, name in enumerate(names) if name in keep}
    kinds = {place: kind for place, kind in kinds.items() if place not in known_as_such or kind == "text"}
    may_be_kept = [place for place, name in enumerate(names) if name not in left_out and kinds.get(place) != "empty"]
    kept = [place for place in may_be_kept if kinds.get(place) != "filler"]
    fillers = dict.fromkeys(names[place] for place in may_be_kept if kinds.get(place) == "filler")
    suspects = [place for place in kept if place not in known_as_such and names_no_signal(names[place])]
    notes = [f"the columns named '{name}' left out: they share the name, and none changes" for name in fillers]
    notes += [_about_suspect(names[place], place in signals) for place in suspects]
    kept = [place for place in kept if place not in suspects or place in signals]
    may_be_clocks = [place for place in kept if place not in known_as_such and kinds.get(place) != "text"]
    if rises is not None:
        may_be_clocks = _without_temperature(may_be_clocks, names, kinds, rises)
    clocks, day, said = _clocks(may_be_clocks, names, kinds)
    finer = _finer(clocks, day, names, kinds, rises or {})
    clocks, day, said = (clocks, day, said) if finer is None else finer
    kept = [position for position in kept if position not in clocks and position != day]
    if rate is not None:
        said = [f"column '{names[clock]}' left out: the given rate of {rate:g} Hz is the clock" for clock in clocks]
    kept, others = _known_only(kept, names, known) if known else _numbers_only(kept, names, kinds)
    _refuse_bad_names([(position, names[position]) for position in kept])
    if not kept:
        why = "no column holds numbers" if "text" in kinds.values() else "no channel is left"
        raise RecordingError(
            f"{why} among the columns {listed(names)}; expected at least one column of numbers, "
            "with no units in its cells" + _way_back(suspects, names)
        )
    clock = clocks[0] if clocks and rate is None else None
    channels = tuple(names[position] for position in kept)
    said_all = (*notes, *said, *others)
    return Columns(channels, tuple(kept), clock, said_all, None if clock is None else day, finer is not None)


def _way_back(suspects: Sequence[int], names: Sequence[str]) -> str:
    return f" (--keep-column {names[suspects[0]]!r} keeps what was left out by its name)" if suspects else ""


def _clocks(
    kept: Sequence[int], names: Sequence[str], kinds: Mapping[int, Kind]
) -> tuple[list[int], int | None, list[str]]:
    """The columns that tell the time, the one that is used first; the column of its dates, if apart; what to say."""
    named = [position for position in kept if is_clock_name(names[position])]
    also = [position for position in kept if position not in named and _tells_time(position, names, kinds)]
    day = next((position for position in kept if kinds.get(position) == "day"), None)
    timed = next((position for position in kept if kinds.get(position) == "time of day"), None)
    if day is not None and timed is not None and (not named or {day, timed} & set(named)):
        others = [position for position in (*named, *also) if position not in (day, timed)]
        said = [f"columns '{names[day]}' and '{names[timed]}' together are the clock"]
        return [timed, *others], day, said + _left_out(others, timed, names)
    if named:
        first = min(named, key=lambda position: (kinds.get(position) == "day", position))
        others = [position for position in (*named, *also) if position != first]
        return [first, *others], None, _left_out(others, first, names)
    for kind in _CLOCK_KINDS:
        if kind == "stamps":
            found = [position for position in kept if mentions_time_stamps(names[position])]
        else:
            found = [position for position in kept if kinds.get(position) == kind]
        if found:
            name = f"'{names[found[0]]}'" if names[found[0]] else str(found[0] + 1)
            said = [f"column {name} is the clock, because {_WHY_CLOCK[kind]}"]
            others = [*found[1:], *(position for position in also if position not in found)]
            return [found[0], *others], None, said + _left_out(others, found[0], names)
    return [], None, []


def _without_temperature(
    kept: Sequence[int], names: Sequence[str], kinds: Mapping[int, Kind], rises: Mapping[int, bool]
) -> list[int]:
    """Without a column `T` that goes up and down, where another one tells the time: it is a temperature."""
    others = [place for place in kept if is_clock_name(names[place]) and plain_name(names[place])[0] != "t"]
    is_short = {place for place in kept if plain_name(names[place])[0] == "t" and place not in (rises.keys() | kinds)}
    return [place for place in kept if not others or place not in is_short]


def _finer(
    clocks: Sequence[int], day: int | None, names: Sequence[str], kinds: Mapping[int, Kind], rises: Mapping[int, bool]
) -> tuple[list[int], None, list[str]] | None:
    """The clocks with one first that rises in each row, where the one that was first repeats its readings."""
    if not clocks or rises.get(clocks[0]) is not False:
        return None
    better = next((clock for clock in clocks[1:] if rises.get(clock)), None)
    if better is None:
        return None
    others = [clock for clock in (day, *clocks) if clock is not None and clock != better]
    coarse = " and ".join(f"'{names[other]}'" for other in (day, clocks[0]) if other is not None)
    said = [f"'{names[better]}' is the clock: it rises in each row, and {coarse} repeats times"]
    return [better, *others], None, said + _left_out(others, better, names)


def _tells_time(position: int, names: Sequence[str], kinds: Mapping[int, Kind]) -> bool:
    """Whether a column that has no clock's name tells the time all the same."""
    return kinds.get(position) in ("dates", "day", "time of day") or mentions_time_stamps(names[position])


def _left_out(others: Sequence[int], clock: int, names: Sequence[str]) -> list[str]:
    return [
        f"column '{names[other]}' left out: '{names[clock]}' is the clock, and it tells the time too; "
        "rename it if it is a channel"
        for other in others
    ]


def _numbers_only(kept: Sequence[int], names: Sequence[str], kinds: Mapping[int, Kind]) -> tuple[list[int], list[str]]:
    """Without text and row counters; a counter that is all there is stays."""
    text = [position for position in kept if kinds.get(position) == "text"]
    counters = [position for position in kept if kinds.get(position) == "counter"]
    numbers = [position for position in kept if position not in text and position not in counters]
    if not numbers:
        return counters, [f"column '{names[position]}' left out: it holds text" for position in text]
    notes = [f"column '{names[position]}' left out: it holds text" for position in text]
    for position in counters:
        name = f"'{names[position]}'" if names[position] else f"{position + 1}, which has no name,"
        notes.append(f"column {name} left out: it only counts the rows")
    return numbers, notes


def _known(names: Sequence[str], wanted: Sequence[str], kinds: Mapping[int, Kind]) -> set[int]:
    """The columns of the wanted channels, if they are all there; of two with one name, that which is nothing else."""
    if not set(wanted) <= set(names):
        return set()
    found = [place for place, name in enumerate(names) if name in wanted]
    return {place for place in found if names.count(names[place]) == 1 or place not in kinds}


def _known_only(kept: Sequence[int], names: Sequence[str], known: Set[int]) -> tuple[list[int], list[str]]:
    """The channels that a model knows, and a note on the others."""
    extra = [names[position] or f"column {position + 1}" for position in kept if position not in known]
    return sorted(known), [unknown_to_model(extra)] if extra else []


def unknown_to_model(extra: Sequence[str]) -> str:
    """The note on channels that are left out because a model does not have them."""
    return f"{counted(len(extra), 'channel')} left out that the model does not know: {shortened(extra)}"


def _refuse_bad_names(columns: Sequence[tuple[int, str]]) -> None:
    seen: dict[str, int] = {}
    for position, name in columns:
        if not name:
            raise RecordingError(
                f"column {position + 1} has no name (an index, or a separator too many?); "
                "name it, or leave it out with label_columns=[''] (--label-column '')"
            )
        if name in seen:
            raise RecordingError(
                f"columns {seen[name] + 1} and {position + 1} are both named '{name}'; rename one of them"
            )
        seen[name] = position


def without_empty(
    values: NDArray[np.float32], channels: Sequence[str]
) -> tuple[NDArray[np.float32], tuple[str, ...], tuple[str, ...]]:
    """Without channels that have no value at all, and a note on them; all of them where none has any."""
    suspects = np.flatnonzero(np.isnan(values[:1]).all(axis=0)).tolist()
    empty = [place for place in suspects if np.isnan(values[:, place]).all()]
    if not empty or len(empty) == len(channels):
        return values, tuple(channels), ()
    kept = [place for place in range(len(channels)) if place not in empty]
    notes = tuple(f"column '{channels[place]}' left out: it has no values" for place in empty)
    return np.ascontiguousarray(values[:, kept]), tuple(channels[place] for place in kept), notes


def not_numeric(column: str, dtype: object) -> RecordingError:
    return RecordingError(
        f"column '{column}' holds {dtype}, not numbers; leave it out with label_columns=['{column}'] "
        f"(--label-column {column}), or convert it"
    )


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
class _Runs:
    """A column as stretches of one value each: the different values, the place of each run's value among them."""

    values: Values
    ranks: NDArray[np.intp]
    lengths: NDArray[np.intp]  # rows

    @property
    def are_whole(self) -> bool:
        return bool((self.values == np.rint(self.values)).all())


def without_codes(recording: Recording, keep: Set[str] = frozenset()) -> Recording:
    """The recording without columns that have no name and jump as codes do, and with a note on each that is suspect.

    Where nothing else would be left, all are kept; so are those that the user says are channels.
    """
    found = {
        place: runs
        for place, runs in enumerate(map(_runs, recording.values.T))
        if runs is not None and recording.channels[place] not in keep
    }
    unnamed = [place for place, runs in found.items() if _jumps(runs) and _is_unnamed(recording.channels[place])]
    left_out = unnamed if len(found) < recording.n_channels else []
    if not found:
        return recording
    notes = [_code_note(recording.channels[place], found[place]) for place in left_out]
    notes += [_suspected(recording.channels[place], found[place]) for place in found if place not in left_out]
    return (recording.without(left_out) if left_out else recording).noted(*notes)


def _is_unnamed(channel: str) -> bool:
    return _NAMED_BY_POSITION.fullmatch(channel) is not None


def _runs(column: Values) -> _Runs | None:
    """The runs of a column that holds a few whole numbers in long runs, labels perhaps; None for any other."""
    beginning = _labelled(column[:_ROWS_LOOKED_AT])
    if np.count_nonzero(beginning[1:] != beginning[:-1]) > 2 * _ROWS_LOOKED_AT / _ROWS_OF_A_CODE:
        return None  # as of nearly all channels
    column = _labelled(column)
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    if not 1 < starts.size <= column.size / _ROWS_OF_A_CODE:
        return None
    values, ranks = np.unique(column[starts], return_inverse=True)
    runs = _Runs(values, ranks, np.diff(starts, append=column.size))
    if not runs.are_whole or values.size > _MOST_CODES:
        return None
    is_few = values.size <= _FEW_VALUES and starts.size <= column.size / _LONG_RUN - 1
    return runs if is_few or _jumps(runs) else None


def _labelled(column: Values) -> Values:
    """Without missing values: a row without a label ends no run."""
    return column[~np.isnan(column)]


def _jumps(runs: _Runs) -> bool:
    """Whether the values follow each other as codes do, and not as readings of something that moves.

    With r_i the rank of the value of run i: some |r_{i+1} - r_i| skip values, and their mean is not small against the
    mean of |r_i - r_j| over all pairs of runs that differ, which is what a shuffled order would have.

    >>> def jumps(order: list[int]) -> bool:
    ...     values, ranks = np.unique(np.array(order, np.float32), return_inverse=True)
    ...     return _jumps(_Runs(values, ranks, np.full(len(order), 100)))
    >>> jumps([0, 3, 1, 3, 0, 7]), jumps([1, 2, 3, 4, 3, 2, 3, 4]), jumps([0, 1, 0, 1])
    (True, False, False)
    """
    if runs.values.size < 3 or np.percentile(runs.lengths, 25) < _SHORT_RUN:
        return False
    steps = np.abs(np.diff(runs.ranks))
    counts = np.bincount(runs.ranks).astype(np.float64)
    apart = np.abs(np.subtract.outer(np.arange(counts.size), np.arange(counts.size)))
    pairs = np.outer(counts, counts) * (apart > 0)
    shuffled = (pairs * apart).sum() / pairs.sum()
    return bool((steps > 1).mean() >= _LEAST_SKIPPING and steps.mean() >= _LEAST_JUMP * shuffled)


def _code_note(name: str, runs: _Runs) -> str:
    return (
        f"column '{name}' left out: it has no name, and jumps between {runs.values.size} whole numbers "
        f"({_in_short(runs)}) as labels do; give the columns names if it is a channel"
    )


def _suspected(name: str, runs: _Runs) -> str:
    return (
        f"column '{name}' holds a few whole numbers in long runs ({_in_short(runs)}): "
        f"if these are labels, leave it out with --label-column {name!r}"
    )


def _in_short(runs: _Runs) -> str:
    return listed([f"{value:g}" for value in runs.values], 4)


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
