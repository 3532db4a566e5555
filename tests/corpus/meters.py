"""Meters and stations of power, air, weather and servers, as their public data sets are published."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from tests.corpus.case import EARLY, EARLY_S, NO_PROGRAM, UNVERIFIED, Case, Table, minute, rows, signal, text


def _household(path: Path, n: int) -> Table:
    values = np.abs(signal(n, 7)) + 0.1
    when = [datetime(2006, 12, 16, 17, 24) + timedelta(minutes=row) for row in range(n)]
    cells = rows(values, lambda row: f"{when[row]:%d/%m/%Y;%H:%M:%S};", ";")
    blank = range(100, 104)
    for row in blank:
        cells[row] = f"{when[row]:%d/%m/%Y;%H:%M:%S};?;?;?;?;?;?;"
    text(path, ";".join(["Date", "Time", *_HOUSEHOLD]), *cells)
    values[blank.start : blank.stop] = np.nan
    return values


_HOUSEHOLD = (
    "Global_active_power",
    "Global_reactive_power",
    "Voltage",
    "Global_intensity",
    "Sub_metering_1",
    "Sub_metering_2",
    "Sub_metering_3",
)


def _air_quality(path: Path, n: int) -> Table:
    """UCI: decimal commas, hours with dots, -200 for no value, two separators at the end, blank rows below."""
    values = np.abs(signal(n, 3, 1)) + 5
    values[30:50, 0] = -200
    cells = rows(values, lambda row: f"{minute(row, 60):%d/%m/%Y;%H.%M.%S};", ";", ";;")
    cells = [cell.replace(".", ",").replace(",", ".", 2) for cell in cells]
    text(path, "Date;Time;CO(GT);PT08.S1(CO);NMHC(GT);;", *cells, *[";" * 6] * 5, end="\r\n")
    return np.where(values == -200, np.nan, values)


def _grid(path: Path, n: int) -> Table:
    """A phasor unit that writes -999 while it has lost its satellites."""
    values = signal(n, 2) + 60
    values[80:90] = -999
    times = [f"{EARLY + timedelta(milliseconds=20 * row):%Y-%m-%dT%H:%M:%S.%f}Z" for row in range(n)]
    pl.DataFrame({"UTC": times, "freq": values[:, 0], "V_mag": values[:, 1]}).write_csv(path)
    return np.where(values == -999, np.nan, values)


def _blanks_in_dates(path: Path, n: int) -> Table:
    values = signal(n)
    text(path, "Datetime,x,y,z", *rows(values, lambda row: f"{minute(row, 60):%d %m %Y %H:%M},"))
    return values


def _electricity(path: Path, n: int) -> Table:
    values = np.abs(signal(n)) * 100
    cells = rows(values, lambda row: f'"{minute(row, 15):%Y-%m-%d %H:%M:%S}";', ";")
    text(path, '"";"MT_001";"MT_002";"MT_003"', *(cell.replace(".", ",") for cell in cells))
    return values


def _server(path: Path, n: int) -> Table:
    values = np.abs(signal(n, 1))
    pd.DataFrame(
        {"timestamp": [f"{minute(row, 5):%Y-%m-%d %H:%M:%S}" for row in range(n)], "value": values[:, 0]}
    ).to_csv(path, index=False)
    return values


CASES = (
    Case(
        file="household_power.txt",
        program="UCI household power",
        made="bytes",
        write=_household,
        source="crawles/ds_tools `data/household_power_consumption.txt`",
        channels=_HOUSEHOLD,
        rate=1 / 60,
        began_s=datetime(2006, 12, 16, 17, 24, tzinfo=UTC).timestamp(),
        notes=("columns 'Date' and 'Time' together are the clock",),
    ),
    Case(
        file="AirQualityUCI.csv",
        program="UCI air quality",
        made="bytes",
        write=_air_quality,
        source=UNVERIFIED,
        channels=("CO(GT)", "PT08.S1(CO)", "NMHC(GT)"),
        rate=1 / 3600,
        began_s=EARLY_S,
        notes=(
            "columns 'Date' and 'Time' together are the clock",
            "dates such as '03/02/2026' read as day, month, year, as the",
            "5 rows without a value at its end left out",
            "20 values of -200 in 'CO(GT)' read as missing",
        ),
    ),
    Case(
        file="pmu.csv",
        program="a phasor unit",
        made="polars",
        write=_grid,
        source=NO_PROGRAM,
        channels=("freq", "V_mag"),
        rate=50.0,
        began_s=EARLY_S,
        notes=("10 values of -999 in 'freq' read as missing", "10 values of -999 in 'V_mag' read as missing"),
    ),
    Case(
        file="weather.csv",
        program="a weather station, `03 02 2026 00:00`",
        made="bytes",
        write=_blanks_in_dates,
        source=NO_PROGRAM,
        rate=1 / 3600,
        began_s=EARLY_S,
        notes=("dates such as '03 02 2026 00:00' read as day, month, year, as",),
    ),
    Case(
        file="LD2011_2014.txt",
        program="UCI electricity",
        made="bytes",
        write=_electricity,
        source=UNVERIFIED,
        channels=("MT_001", "MT_002", "MT_003"),
        rate=1 / 900,
        began_s=EARLY_S,
        notes=("column 1 is the clock, because it holds dates",),
    ),
    Case(
        file="nab.csv",
        program="Numenta NAB",
        made="pandas",
        write=_server,
        source="numenta/NAB `data/artificialWithAnomaly/art_daily_nojump.csv`, of which older versions have labels too",
        channels=("value",),
        rate=1 / 300,
        began_s=EARLY_S,
    ),
)
