"""Which columns of a table are channels, which one is the clock, and which are neither.

Every format and every data frame uses the same table of rules (`RULES`), twice: when the columns of a table are chosen
by their names and first cells (`choose_columns`), and when a recording has been read (`signals_of`). A new rule is one
function and one row of the table. What a user might not expect becomes a note in `Recording.notes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording, Values
from rondo.data.signal import shortened
from rondo.errors import RecordingError
from rondo.files.reading import Reading, listed
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
"""Columns that identify a person, device or session, and measure nothing."""

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


# ----------------------------------------------------------------
# The rules: what a column is, by its name, its first cells, or all of its values. The first rule that applies wins.


@dataclass(frozen=True)
class Column:
    """A column to be judged, with what is known of it so far."""

    name: str
    kind: Kind | None = None  # what its first cells show
    moves: bool = False  # whether its first cells move as a signal does
    is_known: bool = False  # whether it is a channel of the model, all of which are there
    values: Values | None = None  # once it is read
    word: str = "column"  # "channel" in formats that have no columns


Role = Literal["channel", "suspect", "code", "counter", "text", "no signal", "left out"]
"""A counter or a code stays where no other channel is left, "no signal" where nothing else is."""


class Verdict(NamedTuple):
    """What a column is, and the note on it; `if_kept`: the note where it stays because nothing else is left."""

    role: Role = "channel"
    note: str = ""
    if_kept: str = ""


Rule = Callable[[Column, Reading], Verdict | None]


def asked_by_user(column: Column, reading: Reading) -> Verdict | None:
    """Columns that the user or the model names; text stays out even so."""
    if column.name in reading.leave_out:
        return Verdict("left out")
    is_kept = column.is_known or reading.keeps(column.name)
    return Verdict() if is_kept and column.kind != "text" else None


def empty(column: Column, reading: Reading) -> Verdict | None:
    """Columns without a name or a value."""
    return Verdict("left out") if column.kind == "empty" else None


def filler(column: Column, reading: Reading) -> Verdict | None:
    """Columns that share a name and never change."""
    note = f"the columns named '{column.name}' left out: they share the name, and none changes"
    return Verdict("left out", note) if column.kind == "filler" else None


def label_by_name(column: Column, reading: Reading) -> Verdict | None:
    """Columns that have the name of labels or ids; in tables, unless their values move."""
    name, last = column.name, column.name.rpartition(".")[2]
    is_label = is_label_name(name) or (column.word == "channel" and is_label_name(last))
    is_id = column.word == "column" and plain_name(name)[0] in ID_NAMES
    if column.values is not None or not (is_label or is_id) or column.is_known or reading.keeps(name):
        return None
    what = "by its name it holds labels" if is_label else "it looks like an id"
    if column.moves:
        return Verdict(
            "channel", f"column '{name}' kept: {what}, but its values move; --label-column {name!r} leaves it out"
        )
    return Verdict("no signal", f"{column.word} '{name}' left out: {what}; --keep-column {name!r} keeps it")


def text(column: Column, reading: Reading) -> Verdict | None:
    """Columns of text."""
    return Verdict("text", f"column '{column.name}' left out: it holds text") if column.kind == "text" else None


def counter(column: Column, reading: Reading) -> Verdict | None:
    """Columns that count the rows."""
    return Verdict("counter") if column.kind == "counter" else None


def no_signal_by_values(column: Column, reading: Reading) -> Verdict | None:
    """Columns that are labels, ids, counters or flags by their name and by what they hold."""
    reason = "" if column.values is None else _reason(column.name, column.values)
    why = f"by its name and its values it {reason}; --keep-column {column.name!r} keeps it"
    return Verdict("no signal", f"column '{column.name}' left out: {why}") if reason else None


def class_codes(column: Column, reading: Reading) -> Verdict | None:
    """Columns of few whole numbers in long runs: left out where they have no name and jump as codes do."""
    runs = None if column.values is None else _runs(column.values)
    if runs is None:
        return None
    suspected = _suspected(column.name, runs)
    if _jumps(runs) and _is_unnamed(column.name):
        return Verdict("code", _left_out_as_codes(column.name, runs), suspected)
    return Verdict("suspect", suspected)


RULES: tuple[Rule, ...] = (
    asked_by_user,
    empty,
    filler,
    label_by_name,
    text,
    counter,
    no_signal_by_values,
    class_codes,
)


def settled(columns: Sequence[Column], reading: Reading, rules: Sequence[Rule] = RULES) -> list[Verdict]:
    """What each column is; what would leave no channel is taken back.

    >>> [verdict.role for verdict in settled([Column("x"), Column("label"), Column("note", "text")], Reading())]
    ['channel', 'no signal', 'text']
    """
    verdicts = [next(filter(None, (rule(column, reading) for rule in rules)), Verdict()) for column in columns]
    roles = {verdict.role for verdict in verdicts}
    if roles == {"no signal"} and all(column.values is not None for column in columns):
        return [Verdict() for _ in columns]
    if "channel" not in roles:
        return [Verdict("suspect", each.if_kept) if each.role == "code" else each for each in verdicts]
    return verdicts


def signals_of(recording: Recording, reading: Reading | None = None, rules: Sequence[Rule] = RULES) -> Recording:
    """The recording without columns that are no signal by what they hold, and with a note on each that is suspect."""
    columns = [Column(name, values=recording.values[:, place]) for place, name in enumerate(recording.channels)]
    verdicts = settled(columns, reading or Reading(), rules)
    left_out = [place for place, each in enumerate(verdicts) if each.role not in ("channel", "suspect")]
    order = ("no signal", "code", "suspect")
    notes = [each.note for role in order for each in verdicts if each.role == role and each.note]
    found = recording.without(left_out) if left_out else recording
    return found.noted(*notes) if notes else found


def kept_channels(names: Sequence[str], reading: Reading) -> tuple[list[int], tuple[str, ...]]:
    """Positions of the channels to read in a format that has no columns, and notes on the others.

    >>> kept_channels(["EEG", "label", "T"], Reading(leave_out=["T"]))
    ([0], ("channel 'label' left out: by its name it holds labels; --keep-column 'label' keeps it",))
    """
    reading.refuse_unknown(names, "channel")
    verdicts = settled([Column(name, word="channel") for name in names], reading)
    kept = [place for place, verdict in enumerate(verdicts) if verdict.role == "channel"]
    if not kept:
        raise RecordingError(f"no channel is left among {listed(names)}; expected at least one")
    return kept, tuple(verdict.note for verdict in verdicts if verdict.note)


def choose_columns(
    names: Sequence[str],
    reading: Reading,
    *,
    kinds: Mapping[int, Kind] | None = None,
    wanted: Sequence[str] = (),
    rises: Mapping[int, bool] | None = None,
    signals: Set[int] = frozenset(),
) -> Columns:
    """Split the columns of a table into channels, clock, and those left out.

    `kinds` says what is known of the cells of a column; where no column has a clock's name, one that holds dates or
    counts from 1970 is the clock. A rate that the user gives wins over any clock. `wanted` are the channels that a
    model knows: where the table has them all, they and no others are channels. `rises` says of columns that tell the
    time whether the first readings rise from row to row (True) or some repeat (False): of two clocks the finer one is
    taken. `signals` are columns whose values move as a signal does.

    >>> choose_columns(["time", "x", "y", "activity"], Reading(leave_out=["activity"]))
    Columns(channels=('x', 'y'), positions=(1, 2), clock=0, notes=(), day=None, is_finer=False)
    """
    reading.refuse_unknown(names)
    known = _known(names, wanted, kinds or {})
    kept = known | {place for place, name in enumerate(names) if reading.keeps(name)}
    kinds = {
        place: kind
        for place, kind in (kinds or {}).items()
        if place not in kept or (kind == "text" and place not in known)
    }
    columns = [Column(name, kinds.get(place), place in signals, place in known) for place, name in enumerate(names)]
    verdicts = settled(columns, reading)
    left = [place for place, each in enumerate(verdicts) if each.role not in ("left out", "no signal")]
    notes = list(dict.fromkeys(each.note for each in verdicts if each.note and each.role == "left out"))
    notes += [each.note for each in verdicts if each.note and each.role in ("channel", "no signal")]
    candidates = [place for place in left if place not in kept and verdicts[place].role != "text"]
    if rises is not None:
        candidates = _without_temperature(candidates, names, kinds, rises)
    clocks, day, clock_notes = _clocks(candidates, names, kinds)
    finer = _finer(clocks, day, names, kinds, rises or {})
    clocks, day, clock_notes = (clocks, day, clock_notes) if finer is None else finer
    left = [place for place in left if place not in clocks and place != day]
    if reading.rate is not None:
        rate = f"the given rate of {reading.rate:g} Hz is the clock"
        clock_notes = [f"column '{names[clock]}' left out: {rate}" for clock in clocks]
    notes += clock_notes
    if known:
        others = [names[place] or f"column {place + 1}" for place in left if place not in known]
        channels, notes = sorted(known), notes + ([unknown_to_model(others)] if others else [])
    else:
        counters = [place for place in left if verdicts[place].role == "counter"]
        channels = [place for place in left if verdicts[place].role == "channel"]
        notes += [verdicts[place].note for place in left if verdicts[place].role == "text"]
        for place in counters if channels else ():
            name = f"'{names[place]}'" if names[place] else f"{place + 1}, which has no name,"
            notes.append(f"column {name} left out: it only counts the rows")
        channels = channels or counters
    _refuse_bad_names([(place, names[place]) for place in channels])
    if not channels:
        why = "no column holds numbers" if "text" in kinds.values() else "no channel is left"
        suspect = next((names[place] for place, each in enumerate(verdicts) if each.role == "no signal"), None)
        way_back = "" if suspect is None else f" (--keep-column {suspect!r} keeps what was left out by its name)"
        raise RecordingError(
            f"{why} among the columns {listed(names)}; expected at least one column of numbers, "
            f"with no units in its cells{way_back}"
        )
    clock = clocks[0] if clocks and reading.rate is None else None
    return Columns(
        tuple(names[place] for place in channels),
        tuple(channels),
        clock,
        tuple(notes),
        None if clock is None else day,
        finer is not None,
    )


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


def _known(names: Sequence[str], wanted: Sequence[str], kinds: Mapping[int, Kind]) -> set[int]:
    """The columns of the wanted channels, if they are all there; of two with one name, that which is nothing else."""
    if not set(wanted) <= set(names):
        return set()
    found = [place for place, name in enumerate(names) if name in wanted]
    return {place for place in found if names.count(names[place]) == 1 or place not in kinds}


def unknown_to_model(extra: Sequence[str]) -> str:
    """The note on channels that are left out because a model does not have them."""
    return f"{counted(len(extra), 'channel')} left out that the model does not know: {shortened(extra)}"


def _refuse_bad_names(columns: Sequence[tuple[int, str]]) -> None:
    seen: dict[str, int] = {}
    for position, name in columns:
        if not name:
            raise RecordingError(
                f"column {position + 1} has no name (an index, or a separator too many?); "
                "name it, or leave it out with --label-column ''"
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
        f"column '{column}' holds {dtype}, not numbers; leave it out with --label-column {column!r}, or convert it"
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


def _left_out_as_codes(name: str, runs: _Runs) -> str:
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
        return "is an id" if n_runs == n_values and n_runs <= _MOST_RUNS_OF_IDS * given.size else ""
    if n_values > _MOST_VALUES or n_runs > _MOST_RUNS_OF_LABELS * given.size:
        return ""
    return "holds labels" if plain in _LABELS else "is a flag" if n_values <= 2 else ""
