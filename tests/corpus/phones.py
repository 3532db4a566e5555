"""Phones, and what their programs write of their sensors."""

from __future__ import annotations

import csv
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from tests.corpus.case import BEGAN_S, NO_PROGRAM, UNVERIFIED, Case, Table, at, rows, signal, text

_TO_SUMMER = timedelta(days=120)


def _sensorlog(path: Path, n: int) -> Table:
    values = signal(n)
    frame = pd.DataFrame(values, columns=[f"accelerometerAcceleration{axis}(G)" for axis in "XYZ"])
    frame.insert(0, "accelerometerTimestamp_sinceReboot(s)", [f"{62_608 + row / 50:.6f}" for row in range(n)])
    frame.insert(0, "loggingSample(N)", range(1, n + 1))
    frame.insert(0, "loggingTime(txt)", [f"{at(row, 50).isoformat('T', 'milliseconds')}" for row in range(n)])
    frame.to_csv(path, index=False)
    return values


def _phyphox(path: Path, n: int) -> Table:
    values = signal(n)
    names = ["Time (s)", *(f"Acceleration {axis} (m/s^2)" for axis in "xyz")]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_STRINGS if hasattr(csv, "QUOTE_STRINGS") else csv.QUOTE_NONNUMERIC)
        writer.writerow(names)
        file.writelines(
            ",".join(f"{cell:.9E}".replace("E+0", "E").replace("E-0", "E-") for cell in (row / 100, *line)) + "\n"
            for row, line in enumerate(values)
        )
    return values


def _physics_toolbox(path: Path, n: int) -> Table:
    """In a language with decimal commas it writes U+2212 for minus."""
    values = np.column_stack([signal(n), np.abs(signal(n, 1)) + 1])
    lines = [f"{row / 50:.3f};" + ";".join(f"{cell:.4f}" for cell in line) for row, line in enumerate(values)]
    text(path, "time;gFx;gFy;gFz;TgF", *(line.replace(".", ",").replace("-", "\u2212") for line in lines))
    return values


def _sensor_logger(path: Path, n: int) -> Table:
    values = signal(n)
    cells = rows(values, lambda row: f"{(BEGAN_S * 100 + row) * 10_000_000},{row / 100:.6f},")
    text(path, "time,seconds_elapsed,z,y,x", *cells)
    return values


def _unix(path: Path, n: int, per_second: int) -> Table:
    values = signal(n)
    cells = rows(values, lambda row: f"{BEGAN_S * per_second + row * per_second // 50},")
    text(path, "unixtime,Acc X (G),Acc Y (G),Acc Z (G)", *cells)
    return values


def _java_zone(path: Path, n: int) -> Table:
    values = signal(n)
    london = ZoneInfo("Europe/London")
    cells = rows(
        values,
        lambda row: f"{(at(row * 60, 1.0) - _TO_SUMMER).astimezone(london):%Y-%m-%dT%H:%M:%S%z} [Europe/London],",
    )
    text(path, "timestamp,x,y,z", *cells)
    return values


UNIX = ("Acc X (G)", "Acc Y (G)", "Acc Z (G)")

CASES = (
    Case(
        file="sensorlog.csv",
        program="SensorLog (iOS)",
        made="pandas",
        write=_sensorlog,
        source="jhuwit/actiread `tests/testthat/test-sensorlog.R`",
        channels=tuple(f"accelerometerAcceleration{axis}(G)" for axis in "XYZ"),
        rate=50.0,
        began_s=BEGAN_S,
        notes=(
            "column 'loggingTime(txt)' is the clock, because it holds dates",
            "column 'accelerometerTimestamp_sinceReboot(s)' left out: 'loggingTime(txt)' is",
            "column 'loggingSample(N)' left out: it only counts the rows",
        ),
    ),
    Case(
        file="phyphox.csv",
        program="phyphox",
        made="csv",
        write=_phyphox,
        source="phyphox/phyphox-android `app/src/main/java/de/rwth_aachen/phyphox/DataExport.java`",
        channels=tuple(f"Acceleration {axis} (m/s^2)" for axis in "xyz"),
        rate=100.0,
    ),
    Case(
        file="physics_toolbox.csv",
        program="Physics Toolbox",
        made="bytes",
        write=_physics_toolbox,
        source=UNVERIFIED,
        channels=("gFx", "gFy", "gFz", "TgF"),
        rate=50.0,
    ),
    Case(
        file="sensor_logger.csv",
        program="Sensor Logger, nanoseconds",
        made="bytes",
        write=_sensor_logger,
        source="tszheichoi/awesome-sensor-logger `README.md`",
        channels=("z", "y", "x"),
        rate=100.0,
        began_s=BEGAN_S,
        notes=(
            "column 'seconds_elapsed' left out: 'time' is the clock, and it",
            "clock 'time' read as nanoseconds since 1970, from its size",
        ),
    ),
    Case(
        file="unix_ms.csv",
        program="a phone, milliseconds",
        made="bytes",
        write=lambda path, n: _unix(path, n, 1000),
        source=NO_PROGRAM,
        channels=UNIX,
        rate=50.0,
        began_s=BEGAN_S,
        notes=("milliseconds since 1970",),
    ),
    Case(
        file="unix_us.csv",
        program="a phone, microseconds",
        made="bytes",
        write=lambda path, n: _unix(path, n, 10**6),
        source=NO_PROGRAM,
        channels=UNIX,
        rate=50.0,
        began_s=BEGAN_S,
        notes=("microseconds since 1970",),
    ),
    Case(
        file="unix_ns.csv",
        program="Android, nanoseconds",
        made="bytes",
        write=lambda path, n: _unix(path, n, 10**9),
        source=NO_PROGRAM,
        channels=UNIX,
        rate=50.0,
        began_s=BEGAN_S,
        notes=("nanoseconds since 1970",),
    ),
    Case(
        file="java_zone.csv",
        program="Java, `+0100 [Europe/London]`",
        made="bytes",
        write=_java_zone,
        source=NO_PROGRAM,
        rate=1 / 60,
        began_s=BEGAN_S - _TO_SUMMER.total_seconds(),
        notes=("clock 'timestamp' names a zone ('2026-07-18T21:31:05+0100",),
    ),
)
