"""Machines, meters and stations, as their public data sets are published."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from tests.corpus.case import NO_PROGRAM, UNVERIFIED, Case, Table, rows, signal, text

_FROM = datetime(2026, 2, 3, tzinfo=UTC)  # may be 3 February or 2 March
FROM_S = _FROM.timestamp()


def _minute(row: int, minutes: float = 1) -> datetime:
    return _FROM + timedelta(minutes=minutes * row)


def _turbofan(path: Path, n: int) -> list[Table]:
    """Two engines of 26 columns each: unit number, cycle, 3 settings, 21 sensors; two blanks at the end of lines."""
    values = np.abs(signal(n, 24, 4)) + 100.0
    first = 3 * n // 5
    cells = rows(values, lambda row: f"{1 + (row >= first)} {row + 1 - (first if row >= first else 0)} ", " ", "  ")
    text(path, *cells)
    return [values[:first], values[first:]]


def _turbofan_whole(path: Path, n: int) -> Table:
    return np.concatenate(_turbofan(path, n))


def _turbofan_in_one(path: Path, n: int) -> Table:
    """One engine, as each of the 100 files that people cut it into."""
    values = np.abs(signal(n, 24, 4)) + 100.0
    text(path, *rows(values, lambda row: f"1 {row + 1} ", " ", "  "))
    return np.column_stack([np.ones(n), values])


def _skab(path: Path, n: int) -> Table:
    values = signal(n, 8)
    flags = (np.arange(n) // 60 % 3 == 1).astype(float)
    frame = pd.DataFrame(values, columns=list(_SKAB))
    frame["anomaly"], frame["changepoint"] = flags, np.abs(np.diff(flags, prepend=0))
    frame.insert(0, "datetime", [f"{_FROM + timedelta(seconds=row):%Y-%m-%d %H:%M:%S}" for row in range(n)])
    frame.to_csv(path, sep=";", index=False, lineterminator="\r\n")
    return values


_SKAB = (
    "Accelerometer1RMS",
    "Accelerometer2RMS",
    "Current",
    "Pressure",
    "Temperature",
    "Thermocouple",
    "Voltage",
    "Volume Flow RateRMS",
)


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
    cells = rows(values, lambda row: f"{_minute(row, 60):%d/%m/%Y;%H.%M.%S};", ";", ";;")
    cells = [cell.replace(".", ",").replace(",", ".", 2) for cell in cells]
    text(path, "Date;Time;CO(GT);PT08.S1(CO);NMHC(GT);;", *cells, *[";" * 6] * 5, end="\r\n")
    return np.where(values == -200, np.nan, values)


def _grid(path: Path, n: int) -> Table:
    """A phasor unit that writes -999 while it has lost its satellites."""
    values = signal(n, 2) + 60
    values[80:90] = -999
    times = [f"{_FROM + timedelta(milliseconds=20 * row):%Y-%m-%dT%H:%M:%S.%f}Z" for row in range(n)]
    pl.DataFrame({"UTC": times, "freq": values[:, 0], "V_mag": values[:, 1]}).write_csv(path)
    return np.where(values == -999, np.nan, values)


def _mill(path: Path, n: int) -> Table:
    values = signal(n)
    frame = pd.DataFrame(values, columns=["X1_ActualPosition", "X1_ActualVelocity", "S1_OutputPower"])
    frame["M1_CURRENT_PROGRAM_NUMBER"] = 1
    frame["Machining_Process"] = (
        ["Starting", "Prep", "Layer 1 Up"][0] if n < 2 else ["Prep"] * (n // 2) + ["Layer 1 Up"] * (n - n // 2)
    )
    frame.to_csv(path, index=False)
    return np.column_stack([values, np.ones(n)])


def _bearing(path: Path, n: int) -> Table:
    """The name is the moment; its last part looks like a suffix."""
    values = signal(n, 8)
    text(path, *rows(values, separator="\t"))
    return values


def _blanks_in_dates(path: Path, n: int) -> Table:
    values = signal(n)
    text(path, "Datetime,x,y,z", *rows(values, lambda row: f"{_minute(row, 60):%d %m %Y %H:%M},"))
    return values


def _electricity(path: Path, n: int) -> Table:
    values = np.abs(signal(n)) * 100
    cells = rows(values, lambda row: f'"{_minute(row, 15):%Y-%m-%d %H:%M:%S}";', ";")
    text(path, '"";"MT_001";"MT_002";"MT_003"', *(cell.replace(".", ",") for cell in cells))
    return values


def _server(path: Path, n: int) -> Table:
    values = np.abs(signal(n, 1))
    pd.DataFrame(
        {"timestamp": [f"{_minute(row, 5):%Y-%m-%d %H:%M:%S}" for row in range(n)], "value": values[:, 0]}
    ).to_csv(path, index=False)
    return values


def _labview(path: Path, n: int) -> Table:
    values = signal(n)
    head = _labview_head(n, "One", ".")
    text(path, *head, *rows(values, lambda row: f"{row / 50:.6f}\t", "\t"), end="\r\n")
    return values


def _labview_without_x(path: Path, n: int) -> Table:
    """The step between rows stands above the table alone, and the cells for their times are empty."""
    values = signal(n)
    cells = [row.replace(".", ",") for row in rows(values, lambda row: "\t", "\t")]
    text(path, *_labview_head(n, "No", ","), *cells, end="\r\n")
    return values


def _labview_each_x(path: Path, n: int) -> Table:
    values = signal(n)
    cells = ["\t".join(f"{row / 50:.6f}\t{cell:.6f}" for cell in line) for row, line in enumerate(values)]
    text(path, *_labview_head(n, "Multi", "."), *cells, end="\r\n")
    return values


def _labview_head(n: int, x_columns: str, point: str) -> list[str]:
    """Two headers, and the names; where each channel has its own times, an empty cell follows each of its cells."""
    head = ["LabVIEW Measurement\t", "Writer_Version\t2", "Reader_Version\t2", "Separator\tTab"]
    head += [f"Decimal_Separator\t{point}", "Multi_Headings\tNo", f"X_Columns\t{x_columns}", "Time_Pref\tAbsolute"]
    head += ["Operator\tlab", "Date\t2026/02/03", "Time\t00:00:00.1010842323303222656", "***End_of_Header***\t", "\t"]
    between = "\t\t" if x_columns == "Multi" else "\t"
    said = {"Samples": str(n), "Date": "2026/02/03", "Time": "00:00:00.1010842323303222656", "Y_Unit_Label": "N"}
    said |= {"X_Dimension": "Time", "X0": "0.0000000000000000E+0", "Delta_X": "2.000000E-2"}
    head += ["Channels\t3" + "\t" * (6 if x_columns == "Multi" else 3)]
    head += [f"{key}\t{between.join([cell.replace('.', point)] * 3)}\t" for key, cell in said.items()]
    apart = "\tX_Value\t" if x_columns == "Multi" else "\t"
    return [*head, "***End_of_Header***\t\t\t\t", f"X_Value\t{apart.join(_LABVIEW)}\tComment"]


_LABVIEW = ("Force", "Torque", "Speed")


def _two_machines(path: Path, n: int) -> list[Table]:
    """The second machine's rows begin where the clock began."""
    values = signal(n)
    half = n // 2
    cells = rows(values, lambda row: f"{'AB'[row >= half]},{_FROM + timedelta(seconds=row % half):%Y-%m-%d %H:%M:%S},")
    text(path, "machine,time,x,y,z", *cells)
    return [values[:half], values[half:]]


def _interleaved(path: Path, n: int) -> list[Table]:
    """Two animals, each with a row at every moment."""
    values = signal(n)
    cells = rows(
        values,
        lambda row: f"{row},true,{_minute(row // 2):%Y-%m-%d %H:%M:%S}.000,",
        after=',"gps","Grus grus","{0}","{0}","Cranes"',
    )
    cells = [cell.format("Lena" if row % 2 == 0 else "Oskar") for row, cell in enumerate(cells)]
    names = "event-id,visible,timestamp,location-long,location-lat,height-above-ellipsoid,sensor-type,"
    names += "individual-taxon-canonical-name,tag-local-identifier,individual-local-identifier,study-name"
    text(path, names, *cells)
    return [values[0::2], values[1::2]]


def _restarts(path: Path, n: int) -> list[Table]:
    values = signal(n)
    half = n // 2
    text(path, "time,x,y,z", *rows(values, lambda row: f"{row % half / 50:.2f},"))
    return [values[:half], values[half:]]


def _by_tag(path: Path) -> None:
    pd.read_csv(path).pivot(index="timestamp", columns="tag", values="value").to_csv(path)


def _historian(path: Path, n: int) -> Table:
    """One row per reading, as historians and databases export them."""
    values = signal(n)
    cells = [
        f"{_FROM + timedelta(seconds=row):%Y-%m-%d %H:%M:%S},{tag},{cell:g}"
        for row, line in enumerate(values)
        for tag, cell in zip(("TI-101", "PI-102", "FI-103"), line, strict=True)
    ]
    text(path, "timestamp,tag,value", *cells)
    return values[:, [2, 1, 0]]


_CMAPSS = "blopax3/cmapss_anomaly_detection `CMAPSSData/train_FD001.txt`"
TURBOFAN = tuple(f"ch{place}" for place in range(2, 26))

CASES = (
    Case(
        file="FD001.txt",
        program="C-MAPSS turbofan",
        made="bytes",
        write=_turbofan_whole,
        source=_CMAPSS,
        channels=TURBOFAN,
        notes=(
            "no header line: the channels are named ch0 to ch25",
            "column 'ch1' left out: it only counts the rows",
            "column 'ch0' left out: it changes where the counter 'ch1'",
        ),
    ),
    Case(
        file="FD001_engines.txt",
        program="C-MAPSS turbofan, by engine",
        made="bytes",
        write=_turbofan,
        source=_CMAPSS,
        channels=TURBOFAN,
        options={"split_by": "ch0"},
        notes=(
            "no header line: the channels are named ch0 to ch25",
            "column 'ch1' left out: it only counts the rows",
            "one of 2 recordings in the file, told apart by column 'ch0'",
        ),
    ),
    Case(
        file="FD001_engine1.txt",
        program="C-MAPSS turbofan, one engine",
        made="bytes",
        write=_turbofan_in_one,
        source=_CMAPSS,
        channels=("ch0", *TURBOFAN),
        notes=("no header line: the channels are named ch0 to ch25", "column 'ch1' left out: it only counts the rows"),
    ),
    Case(
        file="skab.csv",
        program="SKAB",
        made="pandas",
        write=_skab,
        source="waico/SKAB `data/valve1/0.csv`",
        channels=_SKAB,
        rate=1.0,
        began_s=FROM_S,
        notes=(
            "column 'anomaly' left out: by its name and its values it holds",
            "column 'changepoint' left out: by its name and its values it",
        ),
    ),
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
        began_s=FROM_S,
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
        began_s=FROM_S,
        notes=("10 values of -999 in 'freq' read as missing", "10 values of -999 in 'V_mag' read as missing"),
    ),
    Case(
        file="cnc_mill.csv",
        program="CNC mill (Kaggle)",
        made="pandas",
        write=_mill,
        source="ejhusom/cnc_milling_tool_wear `data/experiment_01.csv`, some of its columns",
        channels=("X1_ActualPosition", "X1_ActualVelocity", "S1_OutputPower", "M1_CURRENT_PROGRAM_NUMBER"),
        notes=("column 'Machining_Process' left out: it holds text",),
    ),
    Case(
        file="2003.10.22.12.06.24",
        program="NASA bearings",
        made="bytes",
        write=_bearing,
        source=UNVERIFIED,
        channels=tuple(f"ch{place}" for place in range(8)),
        refused="unknown suffix '.24'",
        rename=".txt",
        notes=("no header line: the channels are named ch0 to ch7",),
    ),
    Case(
        file="weather.csv",
        program="a weather station, `03 02 2026 00:00`",
        made="bytes",
        write=_blanks_in_dates,
        source=NO_PROGRAM,
        rate=1 / 3600,
        began_s=FROM_S,
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
        began_s=FROM_S,
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
        began_s=FROM_S,
    ),
    Case(
        file="labview.lvm",
        program="LabVIEW",
        made="bytes",
        write=_labview,
        source="ladisk/lvm_read `data/with_comments.lvm`, `data/with_empty_fields.lvm`",
        channels=_LABVIEW,
        rate=50.0,
        refused="unknown suffix '.lvm'",
        rename=".txt",
        notes=("lines 1 to 22 skipped: the header of LabVIEW",),
    ),
    Case(
        file="labview_without_x.lvm",
        program="LabVIEW, `X_Columns` is `No`",
        made="bytes",
        write=_labview_without_x,
        source="ladisk/lvm_read `data/short.lvm`",
        channels=_LABVIEW,
        rate=50.0,
        refused="unknown suffix '.lvm'",
        rename=".txt",
        notes=("lines 1 to 22 skipped: the header of LabVIEW", "rate of 50 Hz taken from the lines above the table"),
    ),
    Case(
        file="labview_each_x.lvm",
        program="LabVIEW, `X_Columns` is `Multi`",
        made="bytes",
        write=_labview_each_x,
        source="ladisk/lvm_read `data/multi_time_column.lvm`",
        channels=_LABVIEW,
        rate=50.0,
        refused="unknown suffix '.lvm'",
        rename=".txt",
        notes=(
            "lines 1 to 22 skipped: the header of LabVIEW",
            *["column 'time (s)' left out: 'time (s)' is the clock"] * 2,
        ),
    ),
    Case(
        file="two_machines.csv",
        program="a database, several machines",
        made="bytes",
        write=_two_machines,
        source=NO_PROGRAM,
        rate=1.0,
        refused="--split-by 'machine' takes",
        options={"split_by": "machine"},
        notes=("one of 2 recordings in the file, told apart by column 'machine'",),
    ),
    Case(
        file="movebank.csv",
        program="Movebank, several animals",
        made="bytes",
        write=_interleaved,
        source="cran/move2 `tests/testthat/test-mt_read.R`",
        channels=("location-long", "location-lat", "height-above-ellipsoid"),
        rate=1 / 60,
        refused="--split-by 'individual-local-identifier' takes",
        options={"split_by": "individual-local-identifier"},
        notes=(
            "column 'visible' left out: it holds text",
            "column 'sensor-type' left out: it holds text",
            "column 'individual-taxon-canonical-name' left out: it holds text",
            "column 'tag-local-identifier' left out: it holds text",
            "column 'study-name' left out: it holds text",
            "one of 2 recordings in the file, told apart by column",
            "column 'event-id' left out: by its name and its values it",
        ),
    ),
    Case(
        file="restarts.csv",
        program="a logger that was restarted",
        made="bytes",
        write=_restarts,
        source=NO_PROGRAM,
        rate=50.0,
        refused="--split-by 'time' cuts",
        options={"split_by": "time"},
        notes=("one of 2 recordings in the file, cut where the clock 'time'",),
    ),
    Case(
        file="historian.csv",
        program="a historian, one row per reading",
        made="bytes",
        write=_historian,
        source=NO_PROGRAM,
        channels=("FI-103", "PI-102", "TI-101"),
        rate=1.0,
        began_s=FROM_S,
        refused="table.pivot(index='timestamp', columns='tag', values='value')",
        mend=_by_tag,
    ),
)
