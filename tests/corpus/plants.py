"""What historians, meters and laboratories export: long tables, values written on change, clocks that step back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from tests.corpus.case import Table, Writer, at, frame, rows, signal, text

TAGS = ("FI-103", "PI-102", "XV-7")
_SUNDAY = datetime(2026, 1, 4, tzinfo=UTC)
Reading = tuple[int, str, float]


def _reported(n: int) -> tuple[Table, list[Reading]]:
    """A flow that changes in nearly each second, a pressure now and then, a valve rarely; and what is written."""
    flow, pressure, _ = signal(n).T
    held = np.cumsum(np.isin(np.arange(n) % 20, (0, 3, 4, 6, 7)))
    values = np.stack([flow, pressure[held], (np.arange(n) // 60 % 2).astype(float)], axis=1)
    changes = np.vstack([np.ones(3, bool), np.diff(values, axis=0) != 0])
    return values, [(row, TAGS[c], values[row, c]) for row, c in np.argwhere(changes).tolist()]


def _second(row: int) -> str:
    return f"{at(row, 1):%Y-%m-%d %H:%M:%S}"


def _historian(path: Path, n: int) -> Table:
    """Newest reading first, with a quality; words where a tag could not be read."""
    values, found = _reported(n)
    lines = [f"{_second(row)},{tag},{cell:g},Good" for row, tag, cell in found]
    values[30:40, 1] = np.nan
    lines += [f"{_second(30)},PI-102,I/O Timeout,Bad"]
    text(path, "timestamp,tag,value,quality", *reversed(lines))
    return values


def _many_tags(path: Path, n: int) -> Table:
    """More tags than the first lines of a file hold."""
    values = signal(n, 80)
    lines = (f"{_second(row)};S{100 + tag};{values[row, tag]:g}" for row in range(n) for tag in range(80))
    text(path, "Time;SensorID;Reading", *lines)
    return values


def _annotated(path: Path, n: int) -> Table:
    """Annotated csv of a time series database: one block per field."""
    values, before = signal(n, 2), f",,0,{at(0, 1):%Y-%m-%dT%H:%M:%SZ},{at(n, 1):%Y-%m-%dT%H:%M:%SZ},"
    lines = [
        f"{before}{at(row, 1):%Y-%m-%dT%H:%M:%SZ},{values[row, c]:g},{field},pump,h1"
        for c, field in enumerate(("flow", "pressure"))
        for row in range(n)
    ]
    text(path, ",result,table,_start,_stop,_time,_value,_field,_measurement,host", *lines)
    return values


def _states(path: Path, n: int) -> Table:
    """A history of a home: states of words are no channels."""
    values = signal(n, 2)
    lines: list[str] = []
    for row in range(n):
        when = f"{at(60 * row, 1):%Y-%m-%dT%H:%M:%S}.000Z"
        lines += [f"sensor.{name},{values[row, c]:g},{when}" for c, name in enumerate(("hall", "lab"))]
        lines += [f"light.hall,{'on' if row % 40 < 20 else 'off'},{when}"] if row % 20 == 0 else []
    text(path, "entity_id,state,last_changed", *lines)
    return values


def _wide_on_change(path: Path, n: int) -> Table:
    """One column per tag, cells empty where nothing changed."""
    values, found = _reported(n)
    cells = {(row, tag): f"{cell:g}" for row, tag, cell in found}
    times = (_second(row) for row in range(n))
    text(path, "time," + ",".join(TAGS), *(
        ",".join([when, *(cells.get((row, tag), "") for tag in TAGS)]) for row, when in enumerate(times)
    ))  # fmt: skip
    return values


def _rows_on_change(path: Path, n: int) -> Table:
    """No row where nothing changed."""
    steps = np.where(np.arange(n) % 5 == 4, 1 + np.arange(n) % 4, 1)
    values = signal(n, 1)
    minutes = np.cumsum(steps) - steps
    text(path, "time,p", *rows(values, lambda row: f"{at(60 * int(minutes[row]), 1):%Y-%m-%d %H:%M:%S},"))
    return np.repeat(values, np.append(steps[:-1], 1), axis=0)


def _clock(name: str, moment: Callable[[int], str]) -> Writer:
    def write(path: Path, n: int) -> Table:
        text(path, f"{name},x,y,z", *rows(signal(n), lambda row: moment(row) + ","))
        return signal(n)

    return write


def _quarter_hour(row: int) -> str:
    """Midnight has the date of the day that it ends."""
    when = at(0, 1).replace(hour=0, minute=15, second=0) + timedelta(minutes=15 * row)
    day = when - timedelta(days=1) if when.hour == when.minute == 0 else when
    return f"{day:%d/%m/%Y} {when:%H:%M}"


def _doubled_hour(path: Path, n: int) -> Table:
    """Two rows of an hour before stand in a long record of five minutes."""
    minutes = 5 * np.arange(n)
    minutes[100:102] = minutes[98:100]
    moments = [_SUNDAY + timedelta(days=2, minutes=int(minute)) for minute in minutes]
    text(path, "timestamp,x,y,z", *rows(signal(n), lambda row: f"{moments[row]:%Y-%m-%d %H:%M:%S},"))
    return signal(n)


def _attacked(path: Path, n: int) -> Table:
    """Hours alone, blanks behind commas, and a flag of -999 and 1."""
    values = signal(n)
    moments = (datetime(2026, 7, 4, tzinfo=UTC) + timedelta(hours=row) for row in range(n))
    cells = rows(values, separator=", ")
    text(path, "DATETIME, L_T1, F_PU1, P_J280, ATT_FLAG", *(
        f"{when:%d/%m/%y %H}, {line}, {1 if 60 <= row < 90 else -999}"
        for row, (when, line) in enumerate(zip(moments, cells, strict=True))
    ))  # fmt: skip
    return values


def _nearables(path: Path, n: int) -> Table:
    """What a wearable writes beside what it measures."""
    made, row = frame(n), np.arange(n)
    made["rssi"] = -60 - row * 7 % 23
    made["packetCounter"] = row // 2 % 200
    made["currentStateDuration"] = row % 37
    made["Battery level"] = 100 - row // 50
    made["NSM"] = 72_000 + row // 50
    made.to_csv(path, index=False)
    return signal(n)


def _taking_turns(n: int, names: str) -> Iterator[tuple[int, str]]:
    return ((row, name) for row in range(n) for name in names)


def _machines(path: Path, n: int) -> list[Table]:
    """Three machines that report in turn, each at times of its own."""
    values = {name: signal(n) + place for place, name in enumerate("ABC")}
    text(path, "time,machine,x,y,z", *(
        f"{row + 'ABC'.index(name) / 4:.2f},{name},{','.join(f'{cell:g}' for cell in values[name][row])}"
        for row, name in _taking_turns(n, "ABC")
    ))  # fmt: skip
    return list(values.values())


def _vitals(path: Path, n: int) -> list[Table]:
    """One reading of each patient at each time: a channel each, or a recording each."""
    values = {name: signal(n, 1) + place for place, name in enumerate("AB")}
    text(path, "time,patientid,heart_rate", *(
        f"{row},{name},{values[name][row, 0]:g}" for row, name in _taking_turns(n, "AB")
    ))  # fmt: skip
    return list(values.values())


def _spreadsheet(path: Path, n: int) -> Table:
    """An actigraph's list that a spreadsheet filled up with commas, under five lines of names."""
    values = np.round(np.abs(signal(n, 2)) * 100)
    settings = ["Actical List Export File", "Age:,,years", "Start Time:,00:00", "--- Epoch-by-Epoch Data ---"]
    names = ["Epoch#,Date,Time,Activity,Steps", ",,,Counts,", ",,,(0=none),", ",,,,(per epoch)"]
    filled = [line + "," * (4 - line.count(",")) for line in settings + names]
    cells = rows(values, lambda row: f"{row},{at(60 * row, 1):%d-%b-%y},{at(60 * row, 1):%H:%M},")
    text(path, *filled, *cells)
    return values


def _ethovision_book(path: Path, n: int) -> Table:
    """A sheet with a header, and units below some of its names."""
    made = frame(n, ["X center", "Y center", "Area", "Elongation"], rate=25)
    behaviour = (np.arange(n) // 50 % 2).astype(float)
    above = [["Number of header lines:", "6"], ["Experiment", "open field"], ["Trial name", "Trial 1"], []]
    head = [["Trial time", *made.columns[1:], "Rearing(Mutually exclusive)"], ["s", "cm", "cm"]]
    cells = [*above, *head, *np.column_stack([made, behaviour]).tolist()]
    pd.DataFrame(cells).to_excel(path, header=False, index=False)
    return signal(n, 4)


WRITERS: dict[str, Writer] = {
    "historian_on_change.csv": _historian,
    "many_tags.csv": _many_tags,
    "influx.csv": _annotated,
    "home.csv": _states,
    "wide_on_change.csv": _wide_on_change,
    "rows_on_change.csv": _rows_on_change,
    "midnight_of_the_day_before.csv": _clock("date", _quarter_hour),
    "doubled_hour.csv": _doubled_hour,
    "attack_flag.csv": _attacked,
    "bookkeeping.csv": _nearables,
    "machines_in_turn.csv": _machines,
    "vitals.csv": _vitals,
    "actical.csv": _spreadsheet,
    "ethovision.xlsx": _ethovision_book,
}
