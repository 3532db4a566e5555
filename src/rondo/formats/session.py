"""A folder that is one session: several sensors, a table each, become one recording, called by the folder.

Known programs (`session_programs`) are recognised; any other folder is one session where the user says so. Channels are
named by table and column (`ACC.x`). Events, annotations and what is about the others never become channels. How sensors
of several rates meet is in `rondo.data.one_clock`; a note lists what became of every table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rondo.data.one_clock import clock_rate, even_times, is_too_slow, laid_on, n_even_times
from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.formats.expected_memory import refuse_large_array
from rondo.formats.file_names import id_of
from rondo.formats.kept_columns import KeptColumn, KnownColumn, as_names, listed
from rondo.formats.session_programs import SessionProgram, first_rows, program_of
from rondo.wording import counted, notes_by_recording

TableReader = Callable[..., Recording]
_WAY_OUT = "leave the table out with --label-column {!r}"


def read_session(
    folder: Path,
    tables: Sequence[Path],
    read: TableReader,
    *,
    rate: float | None = None,
    label_columns: Sequence[str] = (),
) -> Recording:
    """The recording in these tables of a folder, each read by `read(path, label_columns=…)`.

    `rate` is the one that the recording is to have. `label_columns` name tables (`HR`) or columns (`ACC.x`, `x`) to
    leave out; one that is kept is read although it is slow.
    """
    chosen = _Chosen.of(label_columns)
    program = program_of(folder)
    session = _Session(folder, program)
    for path in tables:
        session.look_at(path, read, chosen)
    chosen.refuse_unknown(session)
    if not session.sensors:
        raise RecordingError(f"none of its tables holds a sensor; left out: {session.left_out_in_words()}")
    return _merged(session, rate, chosen)


@dataclass
class _Chosen:
    """What the user, or a model, says about tables and columns."""

    left_out: frozenset[str]
    kept: frozenset[str]  # by the user
    known: frozenset[str]  # to a model
    seen: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, label_columns: Sequence[str]) -> _Chosen:
        names = as_names(label_columns)
        known = frozenset(str(name) for name in names if isinstance(name, KnownColumn))
        kept = frozenset(str(name) for name in names if isinstance(name, KeptColumn)) - known
        return cls(frozenset(str(name) for name in names if not isinstance(name, KeptColumn)), kept, known)

    def columns_of(self, table: str) -> tuple[KnownColumn, ...]:
        """The columns of a table that are to be kept where they are there."""
        return tuple(KnownColumn(name.removeprefix(f"{table}.")) for name in sorted(self.kept | self.known))

    def leaves_out(self, *names: str) -> bool:
        """Whether a table or column is to be left out, by any of its names."""
        self.seen.update(names)
        return not self.left_out.isdisjoint(names)

    def keeps(self, table: str) -> bool:
        """Whether a table is read however slow it is: the user or the model names it, or a column of it."""
        return any(name == table or name.startswith(f"{table}.") for name in self.kept | self.known)

    def refuse_unknown(self, session: _Session) -> None:
        """Each name that was given must be that of something."""
        unknown = sorted((self.left_out | self.kept) - self.seen)
        if unknown:
            to_do = "leave out" if unknown[0] in self.left_out else "keep"
            there = [name for one in session.sensors for name in one.channels]
            raise RecordingError(
                f"there is no table or column '{unknown[0]}' to {to_do}; the channels are: {listed(there)}"
            )


class _Session:
    """The sensors of a folder, as they were read, and what was left out of it."""

    def __init__(self, folder: Path, program: SessionProgram | None) -> None:
        self.folder, self.program = folder, program
        self.sensors: list[Recording] = []  # called by their tables, channels by table and column
        self.left_out: dict[str, str] = {}  # why, by the table
        self._system_time = None if program is None else program.to_system_time(folder)

    def look_at(self, path: Path, read: TableReader, chosen: _Chosen) -> None:
        """Read one table, or say why not."""
        table = id_of(path)
        if chosen.leaves_out(table):
            self.left_out[table] = "as asked"
            return
        if why := self._why_no_sensor(path, table):
            self.left_out[table] = why
            return
        with _named_table(path):
            found = read(path, label_columns=(*chosen.columns_of(table), *self._signals()))
            if found.timestamps_s is None:
                raise RecordingError("it has no clock, so that it cannot be merged with the others")
        if found.rate is None:
            self.left_out[table] = "it has a single row"
            return
        self._add(table, found, chosen)

    def _signals(self) -> Iterator[KnownColumn]:
        """Columns without a header that hold signals for sure, whatever their values look like."""
        axes = () if self.program is None else self.program.axes
        return (KnownColumn(f"ch{place}") for place in range(len(axes)))

    def _why_no_sensor(self, path: Path, table: str) -> str:
        if self.program is None:
            return ""
        if table in self.program.no_signals:
            return self.program.no_signals[table]
        if path.suffix.lower() != ".csv":
            return f"no table of {self.program.name}"
        rows = first_rows(path)
        if self.program.is_sensor(rows):
            return ""
        return "it has no rows" if len(rows) < 3 else f"no sensor of {self.program.name}"

    def _add(self, table: str, found: Recording, chosen: _Chosen) -> None:
        names = self._names(found)
        gone = [
            place for place, name in enumerate(names) if chosen.leaves_out(name if name else table, _full(table, name))
        ]
        if len(gone) == found.n_channels:
            self.left_out[table] = "as asked"
            return
        channels = [_full(table, name) for place, name in enumerate(names) if place not in gone]
        own = found.without(gone) if gone else found
        times = own.timestamps_s
        if self._system_time is not None and times is not None:
            times = self._system_time(times)
        self.sensors.append(Recording(own.values, None, channels, table, times, own.notes))

    def _names(self, found: Recording) -> tuple[str, ...]:
        """Of the columns; "" where the table has one without a name."""
        if not found.is_unnamed:
            return found.channels
        axes = () if self.program is None else self.program.axes
        return ("",) if found.n_channels == 1 else axes if len(axes) == found.n_channels else found.channels

    def left_out_in_words(self) -> str:
        return "; ".join(f"{table} ({why})" for table, why in self.left_out.items()) or "nothing"


def _full(table: str, column: str) -> str:
    return f"{table}.{column}" if column else table


def _merged(session: _Session, rate: float | None, chosen: _Chosen) -> Recording:
    rates = {one.id: one.rate or 1.0 for one in session.sensors}
    clock = clock_rate(list(rates.values())) if rate is None else rate
    slow = [table for table, own in rates.items() if is_too_slow(own, clock) and not chosen.keeps(table)]
    for table in slow:
        slower = f"{clock / rates[table]:.3g} times slower than the clock"
        session.left_out[table] = f"{rates[table]:.4g} Hz, {slower}; --keep-column {table!r} interpolates it"
    sensors = [one for one in session.sensors if one.id not in slow]
    if not sensors:
        raise RecordingError(f"all of its tables are far slower than the rate of {clock:g} Hz; give a lower --rate")
    _refuse_apart(sensors)
    base = next((one for one in sensors if one.rate == clock), None) if rate is None else None
    channels = [name for one in sensors for name in one.channels]
    refuse_large_array(n_even_times(sensors, clock) if base is None else base.n_frames, len(channels))
    times = even_times(sensors, clock) if base is None or base.timestamps_s is None else base.timestamps_s
    values = np.concatenate([laid_on(one, times, clock) for one in sensors], axis=1)
    if base is None and (is_blank := np.isnan(values).all(axis=1)).any():  # no sensor ran: a jump in time
        values, times = values[~is_blank], times[~is_blank]
    notes = _notes(session, sensors, clock, base)
    if len(session.sensors) == 1:  # its own names, as of the table alone
        channels = [name.removeprefix(f"{sensors[0].id}.") for name in channels]
    return Recording(values, None if rate is None else clock, channels, id_of(session.folder), times, notes)


def _refuse_apart(sensors: Sequence[Recording]) -> None:
    """Sensors that did not run at the same time are no session."""
    clocks = {one.id: one.timestamps_s for one in sensors}
    spans = {table: (float(times[0]), float(times[-1])) for table, times in clocks.items() if times is not None}
    last = max(spans, key=lambda table: spans[table][0])
    first = min(spans, key=lambda table: spans[table][1])
    if spans[last][0] > spans[first][1]:
        raise RecordingError(
            f"'{first}' ends ({spans[first][1]:.3f} s) before '{last}' begins ({spans[last][0]:.3f} s), so that "
            f"they are no session of one time; {_WAY_OUT.format(last)}"
        )


def _notes(session: _Session, sensors: Sequence[Recording], clock: float, base: Recording | None) -> list[str]:
    """What became of each table, and what was noted on reading it."""
    program = "" if session.program is None else f"{session.program.name}: "
    became = "; ".join(f"{one.id} ({one.rate:.4g} Hz) as {_channels(one)}" for one in sensors)
    merged = f"{program}{counted(len(sensors), 'table')} of one session: {became}"
    if len(sensors) > 1:
        on = f"the clock of {base.id}" if base is not None else "an even clock"
        slower = [one.id for one in sensors if (one.rate or 0.0) < 0.99 * clock]
        faster = [one.id for one in sensors if (one.rate or 0.0) > 1.5 * clock]
        merged += f"; on {on}, {clock:.4g} Hz"
        merged += f", slower ones interpolated between their values: {', '.join(slower)}" if slower else ""
        merged += f", faster ones averaged: {', '.join(faster)}" if faster else ""
    notes = [merged]
    if session.left_out:
        notes.append(f"left out of the session: {session.left_out_in_words()}")
    said = program or "\n"  # that a table is written as its program writes tables need not be said of each
    return notes + notes_by_recording(
        (one.id, [note for note in one.notes if said.removesuffix(": ") not in note]) for one in sensors
    )


def _channels(one: Recording) -> str:
    short = [name.removeprefix(f"{one.id}.") for name in one.channels]
    return listed(one.channels[:1] + tuple(short[1:]), 8)


@contextmanager
def _named_table(path: Path) -> Iterator[None]:
    try:
        yield
    except RecordingError as error:
        what = str(error).removeprefix(f"{path}: ")
        raise RecordingError(f"{path.name}: {what}; or {_WAY_OUT.format(id_of(path))}") from error
