"""Programs that write one session as a folder of tables, a sensor each: how their folders are known, and what is left.

A folder is taken for a session only where names and contents say so. Layouts as the programs publish them: Empatica E4
(info.txt of every export), phyphox (phyphox.org, data export), Sensor Logger (its README).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from rondo.arrays import Floats
from rondo.formats.clock_column import is_clock_name
from rondo.formats.known_programs import opening_of

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
            lines = [line.decode("utf-8-sig", "replace") for line in islice(_short_lines(file), n_rows)]
        separator = next((one for one in (";", "\t", ",") if lines and one in lines[0]), ",")
        return [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator) if row]
    except (OSError, csv.Error):
        return []


def _short_lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_MOST_LINE_BYTES):
        yield line


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
