"""Which columns of a table are channels, which one is the clock, and which are neither.

Every format and every data frame uses the same table of rules (`RULES`), twice: when the columns of a table are chosen
by their names and first cells (`choose_columns`), and when a recording has been read (`signals_of`). A new rule is one
function and one row of the table. What a user might not expect becomes a note in `Recording.notes`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording, Values
from rondo.data.signal import shortened
from rondo.errors import RecordingError
from rondo.files.column_values import (
    ID_NAMES,
    Kind,
    is_label_name,
    is_named_by_position,
    jumps,
    plateaus_of,
    runs_of,
    why_bookkeeping,
    why_no_signal,
)
from rondo.files.reading import Reading, listed
from rondo.files.text.clock import is_clock_name, mentions_time_stamps, plain_name
from rondo.wording import counted, noun

_WHY_CLOCK = {  # what columns without a clock's name may show, in the order of trust
    "dates": "it holds dates",
    "epoch": "its numbers count from 1970",
    "stamps": "its name speaks of time stamps",
    "day": "it holds dates",
    "time of day": "it holds times of day",
    "rising": "it has no name and rises from row to row",
}


_MOST_BOOKKEEPING = 2.0  # times as many columns as others, before they are what was measured


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


@dataclass(frozen=True)
class Column:
    """A column to be judged, with what is known of it so far."""

    name: str
    kind: Kind | None = None  # what its first cells show
    moves: bool = False  # whether its cells move as a signal does, although it has the name of labels or ids
    rises: bool | None = True  # whether its first readings rise in each row (True), repeat (False), or do neither
    is_known: bool = False  # whether it is a channel of the model, all of which are there
    values: Values | None = None  # once it is read
    word: str = "column"  # "channel" in formats that have no columns

    @property
    def is_clock(self) -> bool:
        return is_clock_name(self.name)

    @property
    def tells_time(self) -> bool:
        """Whether it tells the time without a clock's name."""
        return not self.is_clock and (self.kind in ("dates", "day", "time of day") or mentions_time_stamps(self.name))


Role = Literal["channel", "suspect", "code", "counter", "text", "bookkeeping", "no signal", "left out"]
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


def truth(column: Column, reading: Reading) -> Verdict | None:
    """Columns of true and false, which mark rows."""
    note = f"column '{column.name}' left out: it holds true and false; --keep-column {column.name!r} keeps it"
    return Verdict("no signal", note) if column.kind == "truth" else None


def counter(column: Column, reading: Reading) -> Verdict | None:
    """Columns that count the rows."""
    return Verdict("counter") if column.kind == "counter" else None


def no_signal_by_values(column: Column, reading: Reading) -> Verdict | None:
    """Columns that are labels, ids, counters or flags by their name and by what they hold."""
    reason = "" if column.values is None else why_no_signal(column.name, column.values)
    why = f"by its name and its values it {reason}; --keep-column {column.name!r} keeps it"
    return Verdict("no signal", f"column '{column.name}' left out: {why}") if reason else None


def bookkeeping(column: Column, reading: Reading) -> Verdict | None:
    """Columns about the recording or its clock: signal strength, battery, counters, timers, seconds of the day."""
    reason = "" if column.values is None else why_bookkeeping(column.name, column.values)
    return Verdict("bookkeeping", reason) if reason else None


def class_codes(column: Column, reading: Reading) -> Verdict | None:
    """Columns of few whole numbers in long runs: left out where they have no name and jump as codes do."""
    if column.values is None:
        return None
    codes = runs_of(column.values)
    runs = codes or plateaus_of(column.values)
    if runs is None:
        return None
    few = f"column '{column.name}' holds a few {runs.kind} in long runs ({runs.in_short()}): if these are labels, "
    suspect = f"{few}leave it out with --label-column {column.name!r}"
    are_codes = codes is not None and codes.kind == "whole numbers" and jumps(codes)
    if not (are_codes and is_named_by_position(column.name)):
        return Verdict("suspect", suspect)
    why = f"it has no name, and jumps between {runs.values.size} whole numbers ({runs.in_short()}) as labels do"
    return Verdict(
        "code", f"column '{column.name}' left out: {why}; give the columns names if it is a channel", suspect
    )


RULES: tuple[Rule, ...] = (
    asked_by_user,
    empty,
    filler,
    label_by_name,
    text,
    truth,
    counter,
    no_signal_by_values,
    bookkeeping,
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
    books = {recording.channels[place]: each.note for place, each in enumerate(verdicts) if each.role == "bookkeeping"}
    if len(books) > _MOST_BOOKKEEPING * (len(verdicts) - len(books)):  # as where positions follow from radios
        return signals_of(recording, reading, [rule for rule in rules if rule is not bookkeeping])
    left_out = [place for place, each in enumerate(verdicts) if each.role not in ("channel", "suspect")]
    order = ("no signal", "code", "suspect")
    notes = [each.note for role in order for each in verdicts if each.role == role and each.note]
    notes += [_bookkeeping_note(books)] if books else []
    found = recording.without(left_out) if left_out else recording
    return found.noted(*notes) if notes else found


def _bookkeeping_note(books: Mapping[str, str]) -> str:
    """One line for all, from which the options that keep them can be copied.

    >>> _bookkeeping_note({"state time": "a timer"})
    "bookkeeping left out: 'state time' (a timer); to keep it: --keep-column 'state time'"
    """
    what = ", ".join(f"'{name}' ({reason})" for name, reason in books.items())
    options = " ".join(f"--keep-column {shlex.quote(name)}" for name in books)
    return f"bookkeeping left out: {what}; to keep {noun(len(books), 'it', 'them')}: {options}"


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


def choose_columns(columns: Sequence[Column], reading: Reading, wanted: Sequence[str] = ()) -> Columns:
    """Split the columns of a table into channels, clock, and those left out.

    Where no column has a clock's name, one that holds dates or counts from 1970 is the clock; of two clocks the one
    that rises in each row is taken. A rate that the user gives wins over any clock. `wanted` are the channels that a
    model knows: where the table has them all, they and no others are channels.

    >>> choose_columns([Column("time"), Column("x"), Column("activity")], Reading(leave_out=["activity"]))
    Columns(channels=('x',), positions=(1,), clock=0, notes=(), day=None, is_finer=False)
    """
    names = [column.name for column in columns]
    reading.refuse_unknown(names)
    known: set[int] = set()
    if set(wanted) <= set(names):  # of two with one name, that which is nothing else
        known = {i for i, column in enumerate(columns)
                 if column.name in wanted and (names.count(column.name) == 1 or column.kind is None)}  # fmt: skip
    kept = known | {i for i, name in enumerate(names) if reading.keeps(name)}
    has_text = any(column.kind == "text" for i, column in enumerate(columns) if i not in known)
    columns = [
        replace(column, is_known=i in known, kind=column.kind if column.kind == "text" and i not in known else None)
        if i in kept
        else column
        for i, column in enumerate(columns)
    ]
    verdicts = settled(columns, reading)
    left = [i for i, verdict in enumerate(verdicts) if verdict.role not in ("left out", "no signal")]
    notes = list(dict.fromkeys(verdict.note for verdict in verdicts if verdict.note and verdict.role == "left out"))
    notes += [verdict.note for verdict in verdicts if verdict.note and verdict.role in ("channel", "no signal")]
    candidates = {i: columns[i] for i in left if i not in kept and verdicts[i].role != "text"}
    clocks, day, clock_notes, is_finer = _clocks(candidates)
    left = [i for i in left if i not in clocks and i != day]
    if reading.rate is not None:
        rate = f"the given rate of {reading.rate:g} Hz is the clock"
        clock_notes = [f"column '{names[clock]}' left out: {rate}" for clock in clocks]
    notes += clock_notes
    if known:
        others = [names[i] or f"column {i + 1}" for i in left if i not in known]
        channels, notes = sorted(known), notes + ([unknown_to_model(others)] if others else [])
    else:
        counters = [i for i in left if verdicts[i].role == "counter"]
        channels = [i for i in left if verdicts[i].role == "channel"]
        notes += [verdicts[i].note for i in left if verdicts[i].role == "text"]
        for i in counters if channels else ():
            name = f"'{names[i]}'" if names[i] else f"{i + 1}, which has no name,"
            notes.append(f"column {name} left out: it only counts the rows")
        channels = channels or counters
    _refuse_bad_names([(i, names[i]) for i in channels])
    if not channels:
        why = "no column holds numbers" if has_text else "no channel is left"
        suspect = next((names[i] for i, verdict in enumerate(verdicts) if verdict.role == "no signal"), None)
        way_back = "" if suspect is None else f" (--keep-column {suspect!r} keeps what was left out by its name)"
        raise RecordingError(
            f"{why} among the columns {listed(names)}; expected at least one column of numbers, "
            f"with no units in its cells{way_back}"
        )
    clock = clocks[0] if clocks and reading.rate is None else None
    channel_names = tuple(names[i] for i in channels)
    return Columns(channel_names, tuple(channels), clock, tuple(notes), None if clock is None else day, is_finer)


def _clocks(columns: Mapping[int, Column]) -> tuple[list[int], int | None, list[str], bool]:
    """Columns that tell the time, the clock first; the column of its dates, if apart; notes; whether it is finer."""
    if any(column.is_clock and plain_name(column.name)[0] != "t" for column in columns.values()):
        columns = {  # a column `T` that goes up and down is a temperature
            i: column
            for i, column in columns.items()
            if plain_name(column.name)[0] != "t" or column.rises is not None or column.kind is not None
        }
    clocks, day, notes = _by_name_or_kind(columns)
    if clocks and columns[clocks[0]].rises is False:
        better = next((clock for clock in clocks[1:] if columns[clock].rises), None)
        if better is not None:
            others = [clock for clock in (day, *clocks) if clock is not None and clock != better]
            coarse = " and ".join(f"'{columns[i].name}'" for i in (day, clocks[0]) if i is not None)
            note = f"'{columns[better].name}' is the clock: it rises in each row, and {coarse} repeats times"
            return [better, *others], None, [note, *_left_out(others, better, columns)], True
    return clocks, day, notes, False


def _by_name_or_kind(columns: Mapping[int, Column]) -> tuple[list[int], int | None, list[str]]:
    named = [i for i, column in columns.items() if column.is_clock]
    also = [i for i, column in columns.items() if column.tells_time]
    day = next((i for i, column in columns.items() if column.kind == "day"), None)
    timed = next((i for i, column in columns.items() if column.kind == "time of day"), None)
    if day is not None and timed is not None and (not named or {day, timed} & set(named)):
        others = [i for i in (*named, *also) if i not in (day, timed)]
        note = f"columns '{columns[day].name}' and '{columns[timed].name}' together are the clock"
        return [timed, *others], day, [note, *_left_out(others, timed, columns)]
    if named:
        first = min(named, key=lambda i: (columns[i].kind == "day", i))
        others = [i for i in (*named, *also) if i != first]
        return [first, *others], None, _left_out(others, first, columns)
    for kind, why in _WHY_CLOCK.items():
        same = [
            i
            for i, column in columns.items()
            if (mentions_time_stamps(column.name) if kind == "stamps" else column.kind == kind)
        ]
        if same:
            name = f"'{columns[same[0]].name}'" if columns[same[0]].name else str(same[0] + 1)
            others = [*same[1:], *(i for i in also if i not in same)]
            note = f"column {name} is the clock, because {why}"
            return [same[0], *others], None, [note, *_left_out(others, same[0], columns)]
    return [], None, []


def _left_out(others: Sequence[int], clock: int, columns: Mapping[int, Column]) -> list[str]:
    return [
        f"column '{columns[other].name}' left out: '{columns[clock].name}' is the clock, and it tells the time too; "
        "rename it if it is a channel"
        for other in others
    ]


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
    notes = tuple(has_no_values(channels[place]) for place in empty)
    return np.ascontiguousarray(values[:, kept]), tuple(channels[place] for place in kept), notes


def has_no_values(column: str) -> str:
    """The note on a column that is left out for that."""
    return f"column '{column}' left out: it has no values"


def not_numeric(column: str, dtype: object) -> RecordingError:
    return RecordingError(
        f"column '{column}' holds {dtype}, not numbers; leave it out with --label-column {column!r}, or convert it"
    )
