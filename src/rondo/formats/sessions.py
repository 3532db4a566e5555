"""A folder that is one session: several sensors, a table each, become one recording, called by the folder.

Folders of known programs are recognised, by names and contents as the programs publish them: Empatica E4 (info.txt of
every export), phyphox (phyphox.org, data export), Sensor Logger (its README); any other folder is one session where the
user says so. Channels are named by table and column (`ACC.x`). Events, annotations and what is about the others never
become channels.

The clock is that of the fastest sensor, row by row, or an even one where a rate is asked for. A slower sensor is
interpolated between its values, never across a gap of its own; a faster one is averaged over each row; one that is so
slow that nearly every row would be interpolated is left out. A note lists what became of every table.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats
from rondo.data.known_channels import KnownChannel
from rondo.data.notes import gathered
from rondo.data.recording import Recording, Values
from rondo.errors import RecordingError
from rondo.files.reading import Reading, RecordingFormat, id_of, listed
from rondo.files.text.clock import is_clock_name
from rondo.files.text.programs import opening_of
from rondo.memory import refuse_large_array
from rondo.store.reading import open_regular
from rondo.wording import counted

SystemTime = Callable[[Floats], Floats]
TableReader = Callable[[Path, Reading], Recording]
Rows = list[list[str]]

_MOST_LINE_BYTES = 1 << 16
_E4_SENSORS = ("ACC", "BVP", "EDA", "HR", "TEMP")
_MOST_TIMES_SLOWER = 20  # than the clock, as `rondo.data.resample` has it
_FASTEST_CLOCK = 1000.0  # Hz: what is faster, as sound is, does not set the clock of slower sensors
_MOST_STEPS_BRIDGED = 2.0  # as between two values of a slow sensor within one file
_AVERAGED_FROM = 1.5  # times faster than the clock; up to there interpolation loses little
_WAY_OUT = "leave the table out with --label-column {!r}"


@dataclass(frozen=True, kw_only=True)
class SessionProgram:
    """What is known of the folders of one program."""

    name: str  # as its makers write it
    knows: Callable[[Path], bool]  # whether a folder is one of its sessions
    is_sensor: Callable[[Rows], bool]  # whether a table holds a sensor, by its first rows
    no_signals: Mapping[str, str] = field(default_factory=dict)  # tables that only look like it, and why
    axes: tuple[str, ...] = ()  # names of the columns of a table that has so many and no header
    to_system_time: Callable[[Path], SystemTime | None] = lambda _: None  # the tables' clock in seconds since 1970


def program_of(folder: Path) -> SessionProgram | None:
    """The program that wrote this folder as one session, if it is one that we know."""
    return next((program for program in PROGRAMS if program.knows(folder)), None)


def first_rows(path: Path, n_rows: int = 3) -> Rows:
    """The cells of the first lines of a text; none where it cannot be read."""
    try:
        with open_regular(path) as file:
            short = iter(lambda: file.readline(_MOST_LINE_BYTES), b"")
            lines = [line.decode("utf-8-sig", "replace") for line in islice(short, n_rows)]
        separator = next((sign for sign in (";", "\t", ",") if lines and sign in lines[0]), ",")
        return [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator) if row]
    except (OSError, csv.Error):
        return []


def _is_e4_table(rows: Rows) -> bool:
    """When it was begun in the first line, its rate in the second."""
    opening = opening_of(rows) if rows else None
    return opening is not None and opening.began_s is not None


def _is_e4(folder: Path) -> bool:
    tables = [first_rows(folder / f"{name}.csv") for name in _E4_SENSORS]
    filled = [rows for rows in tables if len(rows) > 2]  # one that was not worn long enough has no heart rate
    return len(filled) > 1 and all(map(_is_e4_table, filled))


def _is_phyphox_table(rows: Rows) -> bool:
    """Its first column is a time, as not in a spectrum."""
    return len(rows) > 2 and is_clock_name(rows[0][0])


def _is_phyphox(folder: Path) -> bool:
    events, device = first_rows(folder / "meta" / "time.csv", 1), first_rows(folder / "meta" / "device.csv", 1)
    has_events = events[:1] == [["event", "experiment time", "system time", "system time text"]]
    if not (has_events or (not events and device[:1] == [["property", "value"]])):
        return False
    return any(_is_phyphox_table(first_rows(path)) for path in folder.glob("*.csv"))


def _phyphox_system_time(folder: Path) -> SystemTime | None:
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


def _is_logger_table(rows: Rows) -> bool:
    return len(rows) > 2 and rows[0][:2] == ["time", "seconds_elapsed"]


def _is_sensor_logger(folder: Path) -> bool:
    about = first_rows(folder / "Metadata.csv", 1)
    if not about or not {"device name", "recording time", "platform"} <= set(about[0]):
        return False
    return any(_is_logger_table(first_rows(path)) for path in folder.glob("*.csv"))


PROGRAMS = (
    SessionProgram(
        name="Empatica E4",
        knows=_is_e4,
        is_sensor=_is_e4_table,
        no_signals={
            "IBI": "intervals between beats come with the beats",
            "tags": "marks of the button are labels",
            "info": "it is about the others",
        },
        axes=("x", "y", "z"),
    ),
    SessionProgram(name="phyphox", knows=_is_phyphox, is_sensor=_is_phyphox_table, to_system_time=_phyphox_system_time),
    SessionProgram(
        name="Sensor Logger",
        knows=_is_sensor_logger,
        is_sensor=_is_logger_table,
        no_signals={
            "Annotation": "annotations are labels",
            "Activity": "what the phone takes for an activity is a label",
            "Metadata": "it is about the others",
        },
    ),
)


def read_session(folder: Path, reading: Reading, tables: Sequence[Path], read: TableReader) -> Recording:
    """The recording in these tables of a folder, each read by `read(path, reading)`.

    `reading` names tables (`HR`) or columns (`ACC.x`, `x`) to leave out; one that is kept is read although it is slow.
    """
    session = _Session(folder, reading)
    for path in tables:
        session.add(path, read)
    unknown = sorted({*reading.leave_out, *reading.keep} - session.seen)
    if unknown:
        to_do = "leave out" if unknown[0] in reading.leave_out else "keep"
        channels = [name for sensor in session.sensors for name in sensor.channels]
        raise RecordingError(
            f"there is no table or column '{unknown[0]}' to {to_do}; the channels are: {listed(channels)}"
        )
    if not session.sensors:
        raise RecordingError(f"none of its tables holds a sensor; left out: {session.left_out_in_words()}")
    return session.merged()


class _Session:
    """The sensors of a folder, as they were read, and what was left out of it."""

    def __init__(self, folder: Path, reading: Reading) -> None:
        self.folder, self.reading = folder, reading
        self.kept = {*reading.keep, *reading.known_names}
        self.program = program_of(folder)
        self.axes = () if self.program is None else self.program.axes
        self.sensors: list[Recording] = []  # called by their tables, channels by table and column
        self.left_out: dict[str, str] = {}  # why, by the table
        self.seen: set[str] = set()  # names of tables and columns
        self._system_time = None if self.program is None else self.program.to_system_time(folder)

    def add(self, path: Path, read: TableReader) -> None:
        """Read one table, or note why not."""
        table = id_of(path)
        why = "as asked" if self._leaves_out(table) else self._why_no_sensor(path, table)
        if why:
            self.left_out[table] = why
            return
        kept = [name.removeprefix(f"{table}.") for name in sorted(self.kept)]
        signals = [f"ch{index}" for index in range(len(self.axes))]  # for sure, whatever their values look like
        try:
            recording = read(path, Reading(known=[KnownChannel(name) for name in (*kept, *signals)]))
            if recording.timestamps_s is None:
                raise RecordingError("it has no clock, so that it cannot be merged with the others")
        except RecordingError as error:
            what = str(error).removeprefix(f"{path}: ")
            raise RecordingError(f"{path.name}: {what}; or {_WAY_OUT.format(table)}") from error
        names = [f"{table}.{name}" if name else table for name in self._columns_of(recording)]
        gone = [i for i, name in enumerate(names) if self._leaves_out(name.removeprefix(f"{table}."), name)]
        if recording.rate is None or len(gone) == recording.n_channels:
            self.left_out[table] = "it has a single row" if recording.rate is None else "as asked"
            return
        sensor, times = recording.without(gone) if gone else recording, recording.timestamps_s
        times = times if self._system_time is None else self._system_time(times)
        channels = [name for i, name in enumerate(names) if i not in gone]
        self.sensors.append(Recording(sensor.values, None, channels, table, times, sensor.notes))

    def _leaves_out(self, *names: str) -> bool:
        """Whether the user leaves out a table or column, by any of its names."""
        self.seen.update(names)
        return not set(self.reading.leave_out).isdisjoint(names)

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

    def _columns_of(self, recording: Recording) -> tuple[str, ...]:
        """The names of the columns; "" where the table has one without a name."""
        if not recording.is_unnamed:
            return recording.channels
        if recording.n_channels == 1:
            return ("",)
        return self.axes if len(self.axes) == recording.n_channels else recording.channels

    def left_out_in_words(self) -> str:
        return "; ".join(f"{table} ({why})" for table, why in self.left_out.items()) or "nothing"

    def merged(self) -> Recording:
        """The sensors on one clock."""
        rate = self.reading.rate
        rates = {sensor.id: sensor.rate or 1.0 for sensor in self.sensors}
        usual = [hertz for hertz in rates.values() if hertz <= _FASTEST_CLOCK]
        clock = max(usual or rates.values()) if rate is None else rate
        for table, hertz in rates.items():
            is_kept = any(name == table or name.startswith(f"{table}.") for name in self.kept)
            if clock > _MOST_TIMES_SLOWER * hertz and not is_kept:
                slower = f"{clock / hertz:.3g} times slower than the clock"
                self.left_out[table] = f"{hertz:.4g} Hz, {slower}; --keep-column {table!r} interpolates it"
        sensors = [sensor for sensor in self.sensors if sensor.id not in self.left_out]
        if not sensors:
            raise RecordingError(f"all of its tables are far slower than the rate of {clock:g} Hz; give a lower --rate")
        clocks = {sensor.id: times for sensor in sensors if (times := sensor.timestamps_s) is not None}
        _refuse_apart({table: (float(times[0]), float(times[-1])) for table, times in clocks.items()})
        base = next((sensor for sensor in sensors if sensor.rate == clock), None) if rate is None else None
        channels = [name for sensor in sensors for name in sensor.channels]
        if base is None:  # an even clock over the time of all sensors
            start = float(min(times[0] for times in clocks.values()))
            stop = float(max(times[-1] for times in clocks.values()))
            n_times = int((stop - start) * clock + 1e-6) + 1
            refuse_large_array(n_times, len(channels))
            shared: Floats = start + np.arange(n_times) / clock
        else:
            refuse_large_array(base.n_frames, len(channels))
            shared = clocks[base.id]
        values = np.concatenate([laid_on(sensor, shared, clock) for sensor in sensors], axis=1)
        if base is None and (is_blank := np.isnan(values).all(axis=1)).any():  # no sensor ran: a jump in time
            values, shared = values[~is_blank], shared[~is_blank]
        notes = self._notes(sensors, clock, base)
        if len(self.sensors) == 1:  # its own names, as of the table alone
            channels = [name.removeprefix(f"{sensors[0].id}.") for name in channels]
        return Recording(values, None if rate is None else clock, channels, id_of(self.folder), shared, notes)

    def _notes(self, sensors: Sequence[Recording], clock: float, base: Recording | None) -> list[str]:
        """What became of each table, and what was noted on reading it."""
        program = "" if self.program is None else f"{self.program.name}: "
        became = "; ".join(f"{sensor.id} ({sensor.rate:.4g} Hz) as {_channels(sensor)}" for sensor in sensors)
        merged = f"{program}{counted(len(sensors), 'table')} of one session: {became}"
        if len(sensors) > 1:
            on = f"the clock of {base.id}" if base is not None else "an even clock"
            slower = [sensor.id for sensor in sensors if (sensor.rate or 0.0) < 0.99 * clock]
            faster = [sensor.id for sensor in sensors if (sensor.rate or 0.0) > _AVERAGED_FROM * clock]
            merged += f"; on {on}, {clock:.4g} Hz"
            merged += f", slower ones interpolated between their values: {', '.join(slower)}" if slower else ""
            merged += f", faster ones averaged: {', '.join(faster)}" if faster else ""
        notes = [merged]
        if self.left_out:
            notes.append(f"left out of the session: {self.left_out_in_words()}")
        known = program.removesuffix(": ") or "\n"  # that a table is written as its program does need not be noted
        each = gathered((sensor.id, [note for note in sensor.notes if known not in note]) for sensor in sensors)
        return [*notes, *map(str, each)]


def _channels(sensor: Recording) -> str:
    short = [name.removeprefix(f"{sensor.id}.") for name in sensor.channels]
    return listed(sensor.channels[:1] + tuple(short[1:]), 8)


def _refuse_apart(spans: Mapping[str, tuple[float, float]]) -> None:
    """Sensors that did not run at the same time are no session."""
    last = max(spans, key=lambda table: spans[table][0])
    first = min(spans, key=lambda table: spans[table][1])
    if spans[last][0] > spans[first][1]:
        raise RecordingError(
            f"'{first}' ends ({spans[first][1]:.3f} s) before '{last}' begins ({spans[last][0]:.3f} s), so that "
            f"they are no session of one time; {_WAY_OUT.format(last)}"
        )


def laid_on(sensor: Recording, times: Floats, rate: float) -> Values:
    """The values of a sensor at these times (n_times, n_channels); NaN where it has none."""
    sensor_times = sensor.timestamps_s
    assert sensor_times is not None and sensor.rate is not None, sensor.id
    if sensor_times is times or np.array_equal(sensor_times, times):
        return sensor.values
    if sensor.rate > _AVERAGED_FROM * rate:
        return _averaged(sensor.values, sensor_times, times, 1 / rate)
    columns = [_interpolated(column, sensor_times, times) for column in sensor.values.T]
    return np.stack(columns, axis=1)


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
    row = np.zeros(len(sensor_times), np.int64)
    if len(times) > 1:
        after = np.clip(np.searchsorted(times, sensor_times), 1, len(times) - 1)
        row = np.where(sensor_times - times[after - 1] < times[after] - sensor_times, after - 1, after)
    is_near = np.abs(sensor_times - times[row]) <= step / 2 * (1 + 1e-9)
    found = np.full((len(times), values.shape[1]), np.nan)
    for channel in range(values.shape[1]):
        column = values[:, channel]
        used = is_near & ~np.isnan(column)
        n_values = np.bincount(row[used], minlength=len(times))
        sums = np.bincount(row[used], weights=column[used].astype(np.float64), minlength=len(times))
        found[n_values > 0, channel] = sums[n_values > 0] / n_values[n_values > 0]
    return found


FORMAT = RecordingFormat(
    name="session",
    suffixes=(),
    read=read_session,
    knows_folder=lambda folder: program_of(folder) is not None,
    help="a folder of Empatica E4, phyphox or Sensor Logger, or any folder with `--session`: one table per sensor",
    order=1000,
)
