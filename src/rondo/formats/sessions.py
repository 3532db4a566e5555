"""A folder that is one session: several sensors, a table each, become one recording, called by the folder.

Known programs (`session_programs`) are recognised; any other folder is one session where the user says so. Channels are
named by table and column (`ACC.x`). Events, annotations and what is about the others never become channels. How sensors
of several rates meet is in `rondo.formats.sessions`; a note lists what became of every table.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats
from rondo.data.known_channels import KnownChannel
from rondo.data.recording import Recording, Values
from rondo.errors import RecordingError
from rondo.files.reading import Reading, RecordingFormat, id_of, listed
from rondo.files.text.clock import is_clock_name
from rondo.files.text.programs import opening_of
from rondo.memory import refuse_large_array
from rondo.wording import counted, notes_by_recording

# ----------------------------------------------------------------
# Programs that write one session as a folder of tables, a sensor each: how their folders are known, and what is left.
#
# A folder is taken for a session only where names and contents say so. Layouts as the programs publish them: Empatica
# E4 (info.txt of every export), phyphox (phyphox.org, data export), Sensor Logger (its README).

SystemTime = Callable[[Floats], Floats]
_MOST_LINE_BYTES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class SessionProgram:
    """What is known of the folders of one program.

    Parameters
    ----------
    name
        As its makers write it.
    knows
        Whether a folder is one of its sessions.
    is_sensor
        Whether a table in such a folder holds a sensor, by its first rows.
    no_signals
        Tables that hold none though they look like it, and why, by their names without the suffix.
    axes
        Names of the columns of a table that has so many and no header.
    to_system_time
        What turns the clock of the tables into seconds since 1970, if the folder says how.
    """

    name: str
    knows: Callable[[Path], bool]
    is_sensor: Callable[[list[list[str]]], bool]
    no_signals: Mapping[str, str] = field(default_factory=dict)
    axes: tuple[str, ...] = ()
    to_system_time: Callable[[Path], SystemTime | None] = lambda _: None


def program_of(folder: Path) -> SessionProgram | None:
    """The program that wrote this folder as one session, if it is one that we know."""
    return next((program for program in PROGRAMS if program.knows(folder)), None)


def first_rows(path: Path, n_rows: int = 3) -> list[list[str]]:
    """The cells of the first lines of a text; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            short = iter(lambda: file.readline(_MOST_LINE_BYTES), b"")
            lines = [line.decode("utf-8-sig", "replace") for line in islice(short, n_rows)]
        separator = next((one for one in (";", "\t", ",") if lines and one in lines[0]), ",")
        return [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator) if row]
    except (OSError, csv.Error):
        return []


# ---------------------------------------------------------------- Empatica E4

_E4_SENSORS = ("ACC", "BVP", "EDA", "HR", "TEMP")


def _is_e4_table(rows: list[list[str]]) -> bool:
    """When it was begun in the first line, its rate in the second."""
    opening = opening_of(rows) if rows else None
    return opening is not None and opening.began_s is not None


def _is_e4(folder: Path) -> bool:
    there = [first_rows(folder / f"{name}.csv") for name in _E4_SENSORS]
    filled = [rows for rows in there if len(rows) > 2]  # one that was not worn long enough has no heart rate
    return len(filled) > 1 and all(map(_is_e4_table, filled))


E4 = SessionProgram(
    name="Empatica E4",
    knows=_is_e4,
    is_sensor=_is_e4_table,
    no_signals={
        "IBI": "intervals between beats come with the beats",
        "tags": "marks of the button are labels",
        "info": "it is about the others",
    },
    axes=("x", "y", "z"),
)


# ---------------------------------------------------------------- phyphox


def _is_phyphox_table(rows: list[list[str]]) -> bool:
    """Its first column is a time, as not in a spectrum."""
    return len(rows) > 2 and is_clock_name(rows[0][0])


def _is_phyphox(folder: Path) -> bool:
    events, device = first_rows(folder / "meta" / "time.csv", 1), first_rows(folder / "meta" / "device.csv", 1)
    is_told = events[:1] == [["event", "experiment time", "system time", "system time text"]]
    if not (is_told or (not events and device[:1] == [["property", "value"]])):
        return False
    return any(_is_phyphox_table(first_rows(path)) for path in folder.glob("*.csv"))


def _system_time(folder: Path) -> SystemTime | None:
    """Pauses are no part of the time of an experiment: from each start on, it counts from that of the phone."""
    rows = first_rows(folder / "meta" / "time.csv", 10_000)[1:]
    try:
        starts = [[float(cell.replace(",", ".")) for cell in row[1:3]] for row in rows if row[0] == "START"]
    except (ValueError, IndexError):
        return None
    if not starts or any(len(start) != 2 for start in starts):
        return None
    experiment, system = (np.array(column) for column in zip(*starts, strict=True))

    def seconds(times: Floats) -> Floats:
        at = np.clip(np.searchsorted(experiment, times, side="right") - 1, 0, None)
        return np.asarray(times - experiment[at] + system[at])

    return seconds


PHYPHOX = SessionProgram(name="phyphox", knows=_is_phyphox, is_sensor=_is_phyphox_table, to_system_time=_system_time)


# ---------------------------------------------------------------- Sensor Logger


def _is_logger_table(rows: list[list[str]]) -> bool:
    return len(rows) > 2 and rows[0][:2] == ["time", "seconds_elapsed"]


def _is_sensor_logger(folder: Path) -> bool:
    about = first_rows(folder / "Metadata.csv", 1)
    if not about or not {"device name", "recording time", "platform"} <= set(about[0]):
        return False
    return any(_is_logger_table(first_rows(path)) for path in folder.glob("*.csv"))


SENSOR_LOGGER = SessionProgram(
    name="Sensor Logger",
    knows=_is_sensor_logger,
    is_sensor=_is_logger_table,
    no_signals={
        "Annotation": "annotations are labels",
        "Activity": "what the phone takes for an activity is a label",
        "Metadata": "it is about the others",
    },
)

PROGRAMS = (E4, PHYPHOX, SENSOR_LOGGER)


# ----------------------------------------------------------------
# Sensors that ran at the same time, each with a clock and a rate of its own, on one clock.
#
# The clock is that of the fastest sensor, row by row, or an even one where a rate is asked for. A slower sensor is
# interpolated between its values, never across a gap of its own; a faster one is averaged over each row. A sensor that
# is so much slower than the clock that nearly every row of it would be interpolated is for the caller to leave out
# (`is_too_slow`).

MOST_TIMES_SLOWER = 20
"""Than the clock: beyond it nearly every row would be interpolated, as `rondo.data.resample` has it."""

FASTEST_CLOCK = 1000.0
"""Hz: what is faster, as sound is, does not set the clock of slower sensors."""

_MOST_STEPS_BRIDGED = 2.0  # as between two values of a slow sensor within one file
_AVERAGED_FROM = 1.5  # times faster than the clock; up to there interpolation loses little


def clock_rate(rates: Sequence[float]) -> float:
    """The rate of the sensor whose clock all others are laid on.

    >>> clock_rate([32.0, 64.0, 1.0]), clock_rate([100.0, 44100.0]), clock_rate([44100.0])
    (64.0, 100.0, 44100.0)
    """
    usual = [rate for rate in rates if rate <= FASTEST_CLOCK]
    return max(usual or rates)


def is_too_slow(rate: float, clock: float) -> bool:
    """Whether a sensor would be nearly all interpolation.

    >>> is_too_slow(1.0, 64.0), is_too_slow(4.0, 64.0)
    (True, False)
    """
    return clock > MOST_TIMES_SLOWER * rate


def laid_on(sensor: Recording, times: Floats, rate: float) -> Values:
    """The values of a sensor at these times (n_times, n_channels); NaN where it has none."""
    sensor_times = sensor.timestamps_s
    assert sensor_times is not None and sensor.rate is not None, sensor.id
    if sensor_times is times or np.array_equal(sensor_times, times):
        return sensor.values
    if sensor.rate > _AVERAGED_FROM * rate:
        return _averaged(sensor.values, sensor_times, times, 1 / rate)
    found = np.empty((len(times), sensor.n_channels), np.float32)
    for channel in range(sensor.n_channels):
        found[:, channel] = _interpolated(sensor.values[:, channel], sensor_times, times)
    return found


def _interpolated(column: NDArray[np.float32], sensor_times: Floats, times: Floats) -> Floats:
    """On straight lines between values that are not too far apart; at both ends a value stands for one step."""
    there = ~np.isnan(column)
    knots, values = sensor_times[there], column[there].astype(np.float64)
    if knots.size < 2:
        return np.full(len(times), np.nan)
    step = float(np.median(np.diff(knots)))
    after = np.clip(np.searchsorted(knots, times), 1, knots.size - 1)
    apart = knots[after] - knots[after - 1]
    is_bridged = (apart <= _MOST_STEPS_BRIDGED * step * (1 + 1e-9)) | np.isin(times, knots)
    is_within = (times >= knots[0] - step) & (times <= knots[-1] + step)
    return np.where(is_bridged & is_within, np.interp(times, knots, values), np.nan)


def _averaged(values: Values, sensor_times: Floats, times: Floats, step: float) -> Values:
    """The mean of all values that lie nearest to each row, and no further than half a step."""
    row = (
        np.clip(np.searchsorted(times, sensor_times), 1, len(times) - 1)
        if len(times) > 1
        else np.zeros(len(sensor_times), np.int64)
    )
    if len(times) > 1:
        row = np.where(sensor_times - times[row - 1] < times[row] - sensor_times, row - 1, row)
    is_near = np.abs(sensor_times - times[row]) <= step / 2 * (1 + 1e-9)
    found = np.full((len(times), values.shape[1]), np.nan, np.float32)
    for channel in range(values.shape[1]):
        column = values[:, channel]
        used = is_near & ~np.isnan(column)
        n_values = np.bincount(row[used], minlength=len(times))
        sums = np.bincount(row[used], weights=column[used].astype(np.float64), minlength=len(times))
        found[n_values > 0, channel] = (sums[n_values > 0] / n_values[n_values > 0]).astype(np.float32)
    return found


TableReader = Callable[[Path, Reading], Recording]
_WAY_OUT = "leave the table out with --label-column {!r}"


def read_session(folder: Path, reading: Reading, tables: Sequence[Path], read: TableReader) -> Recording:
    """The recording in these tables of a folder, each read by `read(path, reading)`.

    `reading` names tables (`HR`) or columns (`ACC.x`, `x`) to leave out; one that is kept is read although it is slow.
    """
    chosen = _Chosen(frozenset(reading.leave_out), frozenset(reading.keep), frozenset(reading.known_names))
    program = program_of(folder)
    session = _Session(folder, program)
    for path in tables:
        session.look_at(path, read, chosen)
    chosen.refuse_unknown(session)
    if not session.sensors:
        raise RecordingError(f"none of its tables holds a sensor; left out: {session.left_out_in_words()}")
    return _merged(session, reading.rate, chosen)


@dataclass
class _Chosen:
    """What the user, or a model, says about tables and columns."""

    left_out: frozenset[str]
    kept: frozenset[str]  # by the user
    known: frozenset[str]  # to a model
    seen: set[str] = field(default_factory=set)

    def columns_of(self, table: str) -> tuple[str, ...]:
        """The columns of a table that are to be kept where they are there."""
        return tuple(name.removeprefix(f"{table}.") for name in sorted(self.kept | self.known))

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
            axes = () if self.program is None else self.program.axes
            signals = (f"ch{place}" for place in range(len(axes)))  # for sure, whatever their values look like
            names = (*chosen.columns_of(table), *signals)
            found = read(path, Reading(known=[KnownChannel(name) for name in names]))
            if found.timestamps_s is None:
                raise RecordingError("it has no clock, so that it cannot be merged with the others")
        if found.rate is None:
            self.left_out[table] = "it has a single row"
            return
        self._add(table, found, chosen)

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
        sensor = found.without(gone) if gone else found
        times = sensor.timestamps_s
        if self._system_time is not None and times is not None:
            times = self._system_time(times)
        self.sensors.append(Recording(sensor.values, None, channels, table, times, sensor.notes))

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
    slow = [table for table, hertz in rates.items() if is_too_slow(hertz, clock) and not chosen.keeps(table)]
    for table in slow:
        slower = f"{clock / rates[table]:.3g} times slower than the clock"
        session.left_out[table] = f"{rates[table]:.4g} Hz, {slower}; --keep-column {table!r} interpolates it"
    sensors = [one for one in session.sensors if one.id not in slow]
    if not sensors:
        raise RecordingError(f"all of its tables are far slower than the rate of {clock:g} Hz; give a lower --rate")
    _refuse_apart(sensors)
    base = next((one for one in sensors if one.rate == clock), None) if rate is None else None
    channels = [name for one in sensors for name in one.channels]
    if base is None or base.timestamps_s is None:  # an even clock over the time of all sensors
        every = [own for one in sensors if (own := one.timestamps_s) is not None]
        start, stop = float(min(own[0] for own in every)), float(max(own[-1] for own in every))
        n_times = int((stop - start) * clock + 1e-6) + 1
        refuse_large_array(n_times, len(channels))
        times: Floats = start + np.arange(n_times) / clock
    else:
        refuse_large_array(base.n_frames, len(channels))
        times = base.timestamps_s
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


FORMAT = RecordingFormat(
    name="session",
    suffixes=(),
    read=read_session,
    knows_folder=lambda folder: program_of(folder) is not None,
    help="a folder of Empatica E4, phyphox or Sensor Logger, or any folder with `--session`: one table per sensor",
    order=1000,
)
