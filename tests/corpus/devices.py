"""Sensors that people wear, phones, and what their own programs export."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from tests.corpus.case import BEGAN_S, Case, Table, rows, signal, text

_BEGAN = datetime.fromtimestamp(BEGAN_S, UTC)

_TO_SUMMER = timedelta(days=120)


def at(row: int, rate: float) -> datetime:
    return _BEGAN + timedelta(seconds=row / rate)


def _empatica(path: Path, n: int) -> Table:
    values = np.round(signal(n) * 30)
    began, rate = (", ".join([cell] * 3) for cell in (f"{BEGAN_S}.000000", "32.000000"))
    text(path, began, rate, *rows(values))
    return values


def _empatica_eda(path: Path, n: int) -> Table:
    values = np.abs(signal(n, 1)) + 0.1
    text(path, f"{BEGAN_S}.000000", "4.000000", *rows(values))
    return values


def _actigraph(path: Path, n: int) -> Table:
    values = signal(n)
    head = """\
------------ Data File Created By ActiGraph GT3X+ ActiLife v6.13.3 Firmware v2.5.0 date format M/d/yyyy at 30 Hz  Filter Normal -----------
Serial Number: NEO1C15110103
Start Time 11:00:00
Start Date 11/15/2026
Epoch Period (hh:mm:ss) 00:00:00
Download Time 16:26:59
Download Date 11/16/2026
Current Memory Address: 0
Current Battery Voltage: 4.02     Mode = 12
--------------------------------------------------"""  # noqa: E501
    text(path, *head.split("\n"), "Accelerometer X,Accelerometer Y,Accelerometer Z", *rows(values), end="\r\n")
    return values


def _actigraph_counts(path: Path, n: int) -> Table:
    values = np.round(np.abs(signal(n)) * 400)
    head = """\
------------ Data Table File Created By ActiGraph GT3X+ ActiLife v6.13.3 Firmware v2.5.0 date format M/d/yyyy at 30 Hz  Filter Normal -----------
Serial Number: NEO1C15110103
Start Time 11:00:00
Start Date 11/15/2026
Epoch Period (hh:mm:ss) 00:00:10
Download Time 16:26:59
Download Date 11/16/2026
Current Memory Address: 0
Current Battery Voltage: 4.02     Mode = 12
--------------------------------------------------"""  # noqa: E501
    text(path, *head.split("\n"), "Axis1,Axis2,Axis3", *rows(values), end="\r\n")
    return values


def _actiware(path: Path, n: int) -> Table:
    values = np.round(np.abs(signal(n, 2)) * 100)
    head = [
        '"-------------------- Subject Properties --------------------"',
        "",
        '"Identity:","P07",',
        '"Gender:","F",',
    ]
    head += ['"-------------------- Statistics --------------------"', ""]
    head += ['"Interval Type","Interval#","Start Date","Start Time","Duration","Total AC","Avg AC/min",']
    head += [f'"ACTIVE","{day}","{day}/11/2026","08:00:00","960.00","210000","218.75",' for day in range(1, 40)]
    head += ['"-------------------- Epoch-by-Epoch Data -------------------"', ""]
    names = '"Line","Date","Time","Activity","White Light","Sleep/Wake","Interval Status",'
    cells = [
        f'"{row + 1}","{when:%d/%m/%Y}","{when:%H:%M:%S}","{line[0]:g}","{line[1]:g}","1","ACTIVE",'
        for row, (when, line) in enumerate(zip((at(30 * row, 1.0) for row in range(n)), values, strict=True))
    ]
    text(path, *head, names, *cells, end="\r\n")
    return np.column_stack([values, np.ones(n)])


def _openbci(path: Path, n: int) -> Table:
    values = signal(n, 4) * 20 - 4000
    head = ["%OpenBCI Raw EXG Data", "%Number of channels = 4", "%Sample Rate = 200 Hz"]
    head += ["%Board = OpenBCI_GUI$BoardGanglionBLE"]
    names = "Sample Index, " + ", ".join(f"EXG Channel {i}" for i in range(4)) + ", Timestamp, Timestamp (Formatted)"
    cells = [
        f"{row % 201}, " + ", ".join(f"{cell:.6f}" for cell in line) + f", {BEGAN_S + row / 200:.6f}, "
        f"{at(row, 200):%Y-%m-%d %H:%M:%S}.{row * 5 % 1000:03d}"
        for row, line in enumerate(values)
    ]
    text(path, *head, names, *cells)
    return values


def _openbci_rate_only(path: Path, n: int) -> Table:
    """As the older program wrote it, without a clock."""
    values = signal(n, 4) * 20 - 4000
    head = [
        "%OpenBCI Raw EEG Data",
        "%Number of channels = 4",
        "%Sample Rate = 250.0 Hz",
        "%First Column = SampleIndex",
    ]
    text(
        path, *head, *(f"{row % 256}, " + ", ".join(f"{cell:.2f}" for cell in line) for row, line in enumerate(values))
    )
    return np.round(values, 2)


def _sensorlog(path: Path, n: int) -> Table:
    values = signal(n)
    frame = pd.DataFrame(values, columns=[f"accelerometerAcceleration{axis}(G)" for axis in "XYZ"])
    frame.insert(0, "Timestamp", [f"{BEGAN_S + row / 50:.6f}" for row in range(n)])
    frame.insert(0, "Date", [f"{at(row, 50):%Y-%m-%d %H:%M:%S} +0000" for row in range(n)])
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
    values = signal(n)
    lines = [f"{row / 50:.3f};" + ";".join(f"{cell:.4f}" for cell in line) for row, line in enumerate(values)]
    text(path, "time;gFx;gFy;gFz", *(line.replace(".", ",") for line in lines))
    return values


def _sensor_logger(path: Path, n: int) -> Table:
    values = signal(n)
    cells = rows(values, lambda row: f"{(BEGAN_S * 100 + row) * 10_000_000},{row / 100:.6f},")
    text(path, "time,seconds_elapsed,z,y,x", *cells)
    return values


def _axivity(path: Path, n: int) -> Table:
    values = signal(n)
    text(path, *rows(values, lambda row: f"{at(row, 100):%Y-%m-%d %H:%M:%S}.{row * 10 % 1000:03d},"))
    return values


def _geneactiv(path: Path, n: int) -> Table:
    values = np.column_stack([signal(n), np.round(np.abs(signal(n, 1)) * 90), 20 + np.abs(signal(n, 1, 1))])
    head = [
        "Device Type,GENEActiv",
        "Device Model,1.1",
        "Device Unique Serial Code,012967",
        "Measurement Frequency,50.0 Hz",
    ]
    head += ["Measurement Period,168 Hours", "Start Time,2026-11-15 20:31:05:000", "Time Zone,GMT +01:00"]
    head += [","] * (99 - len(head))
    cells = [
        f"{at(row, 50):%Y-%m-%d %H:%M:%S}:{row * 20 % 1000:03d},"
        + ",".join(f"{cell:g}" for cell in line[:4])
        + f",0,{line[4]:g}"
        for row, line in enumerate(values)
    ]
    text(path, *head, *cells)
    return np.column_stack([values[:, :4], np.zeros(n), values[:, 4:]])


def _unix(path: Path, n: int, per_second: int) -> Table:
    values = signal(n)
    cells = rows(values, lambda row: f"{BEGAN_S * per_second + row * per_second // 50},")
    text(path, "unixtime,Acc X (G),Acc Y (G),Acc Z (G)", *cells)
    return values


def _shimmer(path: Path, n: int) -> Table:
    values = signal(n)
    names = [f"Shimmer_5B_{name}_CAL" for name in ("Timestamp_Unix", "Accel_LN_X", "Accel_LN_Y", "Accel_LN_Z")]
    cells = rows(values, lambda row: f"{BEGAN_S * 1000 + row * 20}.0\t", "\t", "\t")
    text(path, '"sep=\t"', "\t".join(names) + "\t", "\t".join(["ms", *["m/(s^2)"] * 3]) + "\t", *cells, end="\r\n")
    return values


def _polar(path: Path, n: int) -> Table:
    values = np.round(signal(n) * 1000)
    cells = rows(
        values,
        lambda row: (
            f"{at(row, 50):%Y-%m-%dT%H:%M:%S}.{row * 20 % 1000:03d};{848_090_000_000_000_000 + row * 20_000_000};"
        ),
        ";",
    )
    text(path, "Phone timestamp;sensor timestamp [ns];X [mg];Y [mg];Z [mg]", *cells)
    return values


def _mind_monitor(path: Path, n: int) -> Table:
    """An event, such as a blink, has a row of its own, without values."""
    values = signal(n, 4)
    cells = rows(values, lambda row: f"{at(row, 10):%Y-%m-%d %H:%M:%S}.{row % 10}00,", after=",")
    blink = f"{at(20, 10):%Y-%m-%d %H:%M:%S}.050,,,,,/muse/elements/blink"
    text(path, "TimeStamp,RAW_TP9,RAW_AF7,RAW_AF8,RAW_TP10,Elements", *cells[:21], blink, *cells[21:])
    return np.insert(values, 21, np.nan, axis=0)


def _java_zone(path: Path, n: int) -> Table:
    values = signal(n)
    london = ZoneInfo("Europe/London")
    cells = rows(
        values,
        lambda row: f"{(at(row * 60, 1.0) - _TO_SUMMER).astimezone(london):%Y-%m-%dT%H:%M:%S%z} [Europe/London],",
    )
    text(path, "timestamp,x,y,z", *cells)
    return values


def _xsens_dot(path: Path, n: int) -> Table:
    values = signal(n)
    head = ["DeviceTag:,Left wrist", "FirmwareVersion:,2.0.0", "OutputRate:,60", ""]
    ticks = (np.arange(n) * 16667 + 3_212_345_678).tolist()
    cells = rows(values, lambda row: f"{row + 1},{ticks[row]},")
    text(path, *head, "PacketCounter,SampleTimeFine,FreeAcc_X,FreeAcc_Y,FreeAcc_Z", *cells)
    return values


E4 = "lines 1 and 2 read as an Empatica E4 writes them"
UNIX = ("Acc X (G)", "Acc Y (G)", "Acc Z (G)")
NO_HEADER = "no header line"

CASES = (
    Case(
        file="empatica_ACC.csv",
        program="Empatica E4",
        made="bytes",
        write=_empatica,
        channels=("ch0", "ch1", "ch2"),
        rate=32.0,
        began_s=BEGAN_S,
        notes=(E4,),
    ),
    Case(
        file="empatica_EDA.csv",
        program="Empatica E4, one channel",
        made="bytes",
        write=_empatica_eda,
        channels=("ch0",),
        rate=4.0,
        began_s=BEGAN_S,
        notes=(E4,),
    ),
    Case(
        file="actigraph_RAW.csv",
        program="ActiGraph, raw",
        made="bytes",
        write=_actigraph,
        channels=tuple(f"Accelerometer {axis}" for axis in "XYZ"),
        rate=30.0,
        notes=("lines 1 to 10 skipped", "rate of 30 Hz taken from the lines above"),
    ),
    Case(
        file="actigraph_counts.csv",
        program="ActiGraph, counts",
        made="bytes",
        write=_actigraph_counts,
        channels=("Axis1", "Axis2", "Axis3"),
        rate=0.1,
        notes=("lines 1 to 10 skipped", "rate of 0.1 Hz taken from the lines above"),
    ),
    Case(
        file="actiware.csv",
        program="Philips Actiware",
        made="bytes",
        write=_actiware,
        channels=("Activity", "White Light", "Sleep/Wake"),
        rate=1 / 30,
        began_s=BEGAN_S,
        notes=(
            "lines 1 to 48 skipped: the table begins below them",
            "column 'Activity' kept: by its name it holds labels, but its",
            "columns 'Date' and 'Time' together are the clock",
            "column 'Interval Status' left out: it holds text",
            "column 'Line' left out: it only counts the rows",
        ),
    ),
    Case(
        file="openbci.txt",
        program="OpenBCI GUI",
        made="bytes",
        write=_openbci,
        channels=tuple(f"EXG Channel {i}" for i in range(4)),
        rate=200.0,
        began_s=BEGAN_S,
        notes=(
            "lines 1 to 4 skipped: remarks",
            "column 'Timestamp (Formatted)' left out: 'Timestamp' is the",
            "column 'Sample Index' left out: it only counts the rows",
        ),
    ),
    Case(
        file="openbci_old.txt",
        program="OpenBCI GUI before 2020",
        made="bytes",
        write=_openbci_rate_only,
        channels=("ch1", "ch2", "ch3", "ch4"),
        rate=250.0,
        notes=(
            "lines 1 to 4 skipped: remarks",
            "no header line: the channels are named ch0 to ch4",
            "column 'ch0' left out: it only counts the rows",
            "rate of 250 Hz taken from the lines above the table",
        ),
    ),
    Case(
        file="sensorlog.csv",
        program="SensorLog (iOS)",
        made="pandas",
        write=_sensorlog,
        channels=tuple(f"accelerometerAcceleration{axis}(G)" for axis in "XYZ"),
        rate=50.0,
        began_s=BEGAN_S,
        notes=(
            "'Timestamp' is the clock: it rises in each row, and 'Date'",
            "column 'Date' left out: 'Timestamp' is the clock, and it tells",
        ),
    ),
    Case(
        file="phyphox.csv",
        program="phyphox",
        made="csv",
        write=_phyphox,
        channels=tuple(f"Acceleration {axis} (m/s^2)" for axis in "xyz"),
        rate=100.0,
    ),
    Case(
        file="physics_toolbox.csv",
        program="Physics Toolbox",
        made="bytes",
        write=_physics_toolbox,
        channels=("gFx", "gFy", "gFz"),
        rate=50.0,
    ),
    Case(
        file="sensor_logger.csv",
        program="Sensor Logger, nanoseconds",
        made="bytes",
        write=_sensor_logger,
        channels=("z", "y", "x"),
        rate=100.0,
        began_s=BEGAN_S,
        notes=(
            "column 'seconds_elapsed' left out: 'time' is the clock, and it",
            "clock 'time' read as nanoseconds since 1970, from its size",
        ),
    ),
    Case(
        file="axivity.csv",
        program="Axivity OmGui",
        made="bytes",
        write=_axivity,
        channels=("ch1", "ch2", "ch3"),
        rate=100.0,
        began_s=BEGAN_S,
        notes=(NO_HEADER, "is the clock"),
    ),
    Case(
        file="geneactiv.csv",
        program="GENEActiv",
        made="bytes",
        write=_geneactiv,
        channels=("ch1", "ch2", "ch3", "ch4", "ch5", "ch6"),
        rate=50.0,
        began_s=BEGAN_S,
        notes=(
            "lines 1 to 99 skipped: the table begins below them",
            "no header line: the channels are named ch0 to ch6",
            "column 'ch0' is the clock, because it holds dates",
        ),
    ),
    Case(
        file="unix_ms.csv",
        program="a phone, milliseconds",
        made="bytes",
        write=lambda path, n: _unix(path, n, 1000),
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
        channels=UNIX,
        rate=50.0,
        began_s=BEGAN_S,
        notes=("nanoseconds since 1970",),
    ),
    Case(
        file="shimmer.csv",
        program="Shimmer Consensys",
        made="bytes",
        write=_shimmer,
        channels=tuple(f"Shimmer_5B_Accel_LN_{axis}_CAL" for axis in "XYZ"),
        rate=50.0,
        began_s=BEGAN_S,
        notes=(
            "line 1 skipped: no part of the table, as it has fewer cells",
            "line 3 skipped: it holds no numbers, but units: ms, m/(s^2),",
            "column 'Shimmer_5B_Timestamp_Unix_CAL' is the clock, because",
            "clock 'Shimmer_5B_Timestamp_Unix_CAL' read as milliseconds,",
        ),
    ),
    Case(
        file="polar.txt",
        program="Polar Sensor Logger",
        made="bytes",
        write=_polar,
        channels=("X [mg]", "Y [mg]", "Z [mg]"),
        rate=50.0,
        began_s=BEGAN_S,
        notes=(
            "column 'Phone timestamp' is the clock, because it holds dates",
            "column 'sensor timestamp [ns]' left out: 'Phone timestamp' is",
        ),
    ),
    Case(
        file="mind_monitor.csv",
        program="Mind Monitor (Muse)",
        made="bytes",
        write=_mind_monitor,
        channels=("RAW_TP9", "RAW_AF7", "RAW_AF8", "RAW_TP10"),
        rate=10.0,
        began_s=BEGAN_S,
        notes=("column 'Elements' left out: it holds text",),
    ),
    Case(
        file="java_zone.csv",
        program="Java, `+0100 [Europe/London]`",
        made="bytes",
        write=_java_zone,
        rate=1 / 60,
        began_s=BEGAN_S - _TO_SUMMER.total_seconds(),
        notes=("clock 'timestamp' names a zone ('2026-07-18T21:31:05+0100",),
    ),
    Case(
        file="xsens_dot.csv",
        program="Xsens DOT",
        made="bytes",
        write=_xsens_dot,
        channels=("FreeAcc_X", "FreeAcc_Y", "FreeAcc_Z"),
        rate=60.0,
        notes=(
            "lines 1 to 3 skipped: no part of the table, as they have fewer",
            "column 'PacketCounter' left out: it only counts the rows",
            "clock 'SampleTimeFine' read as 1,000,000 ticks of an Xsens",
        ),
    ),
)
