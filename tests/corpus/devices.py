"""Sensors that people wear, boards that record EEG, and phones: what their own programs write."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from tests.corpus.case import BEGAN_S, Table, Writer, at, frame, java_number, rows, signal, table, text

ACTIGRAPH = """\
------------ Data File Created By ActiGraph GT3X+ ActiLife v6.13.3 Firmware v2.5.0 date format M/d/yyyy at 30 Hz  Filter Normal -----------
Serial Number: NEO1C15110103
Start Time 11:00:00
Start Date 11/15/2026
Epoch Period (hh:mm:ss) 00:00:00
Download Time 16:26:59
Download Date 11/16/2026
Current Memory Address: 0
Current Battery Voltage: 4.02     Mode = 12
--------------------------------------------------
Accelerometer X,Accelerometer Y,Accelerometer Z""".splitlines()  # noqa: E501
_COUNTS = """\
------------ Data File Created By ActiGraph wGT3XBT ActiLife v6.13.3 Firmware v1.8.0 date format M/d/yyyy Filter Normal -----------
Serial Number: MOS2D15110103
Start Time 11:00:00
Start Date 11/15/2026
Epoch Period (hh:mm:ss) 00:00:05
Download Time 16:26:59
Download Date 11/16/2026
Current Memory Address: 0
Current Battery Voltage: 4.03     Mode = 61
--------------------------------------------------""".splitlines()  # noqa: E501
_ACTIWARE_LEGEND = """\
"Column Title","Notes"
"------------------","---------"
"Line:","Line Number"
"Date:","Date (start of epoch)"
"Time:","Time (start of epoch)"
"Activity:","Activity (counts)"
"Marker:","1 means Event Marker button was pressed"
"White Light:","White Light"
"Sleep/Wake:","Sleep/Wake Score (0=Sleep; 1=Wake)"
"Interval Status:","Interval Status: Active; Rest; Sleep; or Excluded\"""".splitlines()
_ACTIWARE = """\
"Actiware Export File  (Version 05.00 )"
"Filename:",""
"Analysis Name:",""


"-------------------- Subject Properties--------------------"

"Identity:","P07"
"Gender:","*"


"----------------- Actiwatch Data Properties ----------------"

"Actiwatch Type:","Actiwatch 2"
"Epoch Length:","30","seconds",""
"Number of Data Samples:","{n}","samples"


"------------------------ Statistics ------------------------"

"Interval Type","Interval#","Start Date","Start Time","End Date","End Time","Duration","%Wake",
"","","","","","","(minutes)","(%)",

{statistics}
"Active Summary","n","NaN","NaN","NaN","NaN","28","28",


"--------------------- Marker/Score List --------------------"

{short_legend}
"Marker:","Marker!"

"Line","Date","Time","Marker","Interval Status",

"1","04/11/2026","21:00:00","Marker!","ACTIVE",


"-------------------- Epoch-by-Epoch Data -------------------"

{legend}

"Line","Date","Time","Activity","Marker","White Light","Sleep/Wake","Interval Status",
"""


def _counts(n: int) -> Table:
    """Counts of three axes, steps, light, and four postures in seconds of each epoch; no header line."""
    axes = np.round(np.abs(signal(n)) * 400)
    postures = np.eye(2)[np.arange(n) // 40 % 2].T * 5
    return np.column_stack([axes, np.round(axes[:, 0] / 90), np.zeros((n, 2)), *postures])


def _actiware(path: Path, n: int) -> Table:
    """Sections, each table with a legend of its columns; every line of a table ends in a separator, but the last."""
    values = np.round(np.abs(signal(n, 2)) * 100)
    days = [f'"ACTIVE","{day}","{day:02d}/11/2026","08:00:00","{day:02d}/11/2026","23:00:00","960.00","91.75",'
            for day in range(1, 29)]  # fmt: skip
    legends = {"legend": "\n".join(_ACTIWARE_LEGEND), "short_legend": "\n".join(_ACTIWARE_LEGEND[:5])}
    head = _ACTIWARE.format(n=n, statistics="\n".join(days), **legends).split("\n")
    cells = [
        f'"{row + 1}","{at(30 * row, 1):%d/%m/%Y","%H:%M:%S}","{line[0]:g}","0","{line[1]:.2f}","1","ACTIVE",'
        for row, line in enumerate(values)
    ]
    cells[-1] = cells[-1].removesuffix(",")
    text(path, *head, *cells, end="\r\n", encoding="utf-8-sig")
    return values


def _geneactiv(path: Path, n: int) -> Table:
    """A hundred lines of settings, some of them blank."""
    values = np.column_stack([signal(n), np.round(np.abs(signal(n, 1)) * 90), 20 + np.abs(signal(n, 1, 1))])
    head = dict.fromkeys(range(1, 101), "")
    head |= {1: "Device Type,GENEActiv           ", 2: "Device Model,1.1", 3: "Device Unique Serial Code,12967"}
    head |= {4: "Device Firmware Version,Ver1.30 date 05Aug11", 5: "Calibration Date,2026-01-01 00:00:00:000"}
    head |= {11: "Measurement Frequency,50 Hz", 12: "Start Time,2026-11-15 20:31:05:000", 15: "Time Zone,GMT +00"}
    head |= {22: "Date of Birth,01/01/1900", 36: "Config Time,2026-01-01 00:00:00:000:", 37: "Config Notes,Notes"}
    sensor = ("Sensor type,MEMS accelerometer x-axis", "Range,-8 to 8             ", "Resolution,0.0039")
    sensor += ("Units,g                   ", "Additional information, ")
    head |= dict(enumerate(sensor * 6, 51))
    cells = [
        f"{at(row, 50):%Y-%m-%d %H:%M:%S}:{row * 20 % 1000:03d},"
        f"{line[0]:.4f},{line[1]:.4f},{line[2]:.4f},{line[3]:g},0,{line[4]:.1f}"
        for row, line in enumerate(values)
    ]
    text(path, *head.values(), *cells)
    return np.column_stack([values[:, :4], np.zeros(n), values[:, 4:]])


def _shimmer(path: Path, n: int) -> Table:
    """Lines end in a separator, but the last does not."""
    names = [f"Shimmer_5B_{name}_CAL" for name in ("Timestamp_Unix", "Accel_LN_X", "Accel_LN_Y", "Accel_LN_Z")]
    cells = rows(signal(n), lambda row: f"{java_number(BEGAN_S * 1000 + row * 20)}\t", "\t", "\t")
    cells[-1] = cells[-1].removesuffix("\t")
    text(path, '"sep=\t"', "\t".join(names) + "\t", "\t".join(["ms", *["m/(s^2)"] * 3]) + "\t", *cells, end="\r\n")
    return signal(n)


def _xsens_dot(path: Path, n: int) -> Table:
    """The lines above the table have more cells than the table."""
    head = ["DeviceTag:,Left wrist", "FirmwareVersion:,3.0.0", "AppVersion:,2023.6.0", "SyncStatus:,Synced"]
    head += ["OutputRate:,60Hz", "FilterProfile:,General", "Measurement Mode:,Extended (Euler)"]
    head += ["StartTime:,2026-11-15 20:31:05.000 +0000", "Movella Technologies B. V. 2005-2026,,"]
    names = "PacketCounter,SampleTimeFine,Euler_X,Euler_Y,Euler_Z,FreeAcc_X,FreeAcc_Y,FreeAcc_Z,Status"
    cells = rows(signal(n, 6), lambda row: f"{row + 1},{row * 16667 + 3_212_345_678},", after=",0")
    text(path, "sep=,", *(line + "," * 17 for line in head), "", names, *cells)
    return np.column_stack([signal(n, 6), np.zeros(n)])


def _openbci(path: Path, n: int) -> Table:
    """A Ganglion: what the board does not send is 0 in columns that are all named Other."""
    values = np.column_stack([signal(n, 4) * 20 - 4000, signal(n, 3)])
    head = ["%OpenBCI Raw EXG Data", "%Number of channels = 4", "%Sample Rate = 200 Hz"]
    head += ["%Board = OpenBCI_GUI$BoardGanglionBLE"]
    names = ["Sample Index", *(f"EXG Channel {i}" for i in range(4)), *(f"Accel Channel {i}" for i in range(3))]
    names += [*["Other"] * 5, "Timestamp", "Other", "Timestamp (Formatted)"]
    cells = [
        ", ".join(java_number(cell) for cell in (row % 201, *line, *[0.0] * 5, BEGAN_S + row / 200, 0.0))
        + f", {at(row, 200):%Y-%m-%d %H:%M:%S}.{row * 5 % 1000:03d}"
        for row, line in enumerate(values)
    ]
    text(path, *head, ", ".join(names), *cells)
    return values


def _openbci_2018(path: Path, n: int) -> Table:
    values = np.column_stack([np.round(signal(n, 4) * 20 - 4000, 2), signal(n, 3)])
    head = ["%OpenBCI Raw EEG Data", "%Number of channels = 4", "%Sample Rate = 200.0 Hz"]
    head += ["%First Column = SampleIndex", "%Last Column = Timestamp "]
    head += ["%Other Columns = EEG data in microvolts followed by Accel Data (in G) interleaved with Aux Data"]
    cells = [
        ", ".join([str(row % 201), *(f"{cell:.2f}" for cell in line[:4]), *(f"{cell:.3f}" for cell in line[4:])])
        + f", {at(row, 200):%H:%M:%S}.{row * 5 % 1000:03d}, {BEGAN_S * 1000 + row * 5}"
        for row, line in enumerate(values)
    ]
    text(path, *head, *cells)
    return values


def _openbci_rate_only(path: Path, n: int) -> Table:
    """As the first program wrote it, without a clock."""
    values = signal(n, 4) * 20 - 4000
    head = ["%OpenBCI Raw EEG Data", "%", "%Sample Rate = 250.0 Hz", "%First Column = SampleIndex"]
    head += ["%Other Columns = EEG data in microvolts"]
    text(
        path, *head, *(f"{row % 256}, " + ", ".join(f"{cell:.2f}" for cell in line) for row, line in enumerate(values))
    )
    return np.round(values, 2)


def _mind_monitor(path: Path, n: int) -> Table:
    """Rows have no cell for the events; an event has a row of its own, without values, and comes a little early."""
    values = np.column_stack([signal(n, 31), np.ones((n, 5)), np.full(n, 100.0)])
    places = ("TP9", "AF7", "AF8", "TP10")
    names = [f"{band}_{place}" for band in ("Delta", "Theta", "Alpha", "Beta", "Gamma", "RAW") for place in places]
    names += ["AUX_RIGHT", *(f"{sensor}_{axis}" for sensor in ("Accelerometer", "Gyro") for axis in "XYZ")]
    names += ["HeadBandOn", *(f"HSI_{place}" for place in places), "Battery"]
    cells = rows(values, lambda row: f"{at(row, 10):%Y-%m-%d %H:%M:%S}.{row % 10}00,")
    blink = f"{at(21, 10):%Y-%m-%d %H:%M:%S}.106," + "," * 37 + "/muse/elements/blink"
    text(path, ",".join(["TimeStamp", *names, "Elements"]), *cells[:21], blink, *cells[21:])
    return values[:, :-1]


def _sensorlog(path: Path, n: int) -> Table:
    made = frame(n, [f"accelerometerAcceleration{axis}(G)" for axis in "XYZ"]).drop(columns="time")
    made.insert(0, "accelerometerTimestamp_sinceReboot(s)", [f"{62_608 + row / 50:.6f}" for row in range(n)])
    made.insert(0, "loggingSample(N)", range(1, n + 1))
    made.insert(0, "loggingTime(txt)", [f"{at(row, 50).isoformat('T', 'milliseconds')}" for row in range(n)])
    made.to_csv(path, index=False)
    return signal(n)


def _phyphox(path: Path, n: int) -> Table:
    names = ["Time (s)", *(f"Acceleration {axis} (m/s^2)" for axis in "xyz")]
    cells = [",".join(f"{cell:.9E}" for cell in (row / 100, *line)) for row, line in enumerate(signal(n))]
    head = ",".join(f'"{name}"' for name in names)
    text(path, f"{head}\r", *(line.replace("E+0", "E").replace("E-0", "E-") for line in cells))
    return signal(n)


def _physics_toolbox(path: Path, n: int) -> Table:
    """In a language with decimal commas it writes U+2212 for minus."""
    values = np.column_stack([signal(n), np.abs(signal(n, 1)) + 1])
    lines = [f"{row / 50:.3f};" + ";".join(f"{cell:.4f}" for cell in line) for row, line in enumerate(values)]
    text(path, "time;gFx;gFy;gFz;TgF", *(line.replace(".", ",").replace("-", "\u2212") for line in lines))
    return values


def _unix(per_second: int) -> Writer:
    return table(
        "unixtime,Acc X (G),Acc Y (G),Acc Z (G)",
        before=lambda row: f"{BEGAN_S * per_second + row * per_second // 50},",
    )


def _london(row: int) -> datetime:
    return (at(row * 60, 1.0) - timedelta(days=120)).astimezone(ZoneInfo("Europe/London"))


WRITERS: dict[str, Writer] = {
    "empatica_ACC.csv": table(
        ", ".join([f"{BEGAN_S}.000000"] * 3), ", ".join(["32.000000"] * 3), values=lambda n: np.round(signal(n) * 30)
    ),
    "empatica_EDA.csv": table(f"{BEGAN_S}.000000", "4.000000", values=lambda n: np.abs(signal(n, 1)) + 0.1),
    "actigraph_RAW.csv": table(*ACTIGRAPH, end="\r\n"),
    "actigraph_counts.csv": table(*_COUNTS, values=_counts, end="\r\n"),
    # a spreadsheet fills up the lines above the table with separators
    "actigraph_resaved.csv": table(*(line + "," * 7 for line in _COUNTS), values=_counts),
    "actiware.csv": _actiware,
    "axivity.csv": table(before=lambda row: f"{at(row, 100):%Y-%m-%d %H:%M:%S}.{row * 10 % 1000:03d},"),
    "geneactiv.csv": _geneactiv,
    "shimmer.csv": _shimmer,
    "polar.txt": table(
        "Phone timestamp;sensor timestamp [ns];X [mg];Y [mg];Z [mg]",
        before=lambda row: (
            f"{at(row, 50):%Y-%m-%dT%H:%M:%S}.{row * 20 % 1000:03d};{848_090_000_000_000_000 + row * 20_000_000};"
        ),
        values=lambda n: np.round(signal(n) * 1000),
        separator=";",
    ),
    "xsens_dot.csv": _xsens_dot,
    "openbci.txt": _openbci,
    "openbci_2018.txt": _openbci_2018,
    "openbci_old.txt": _openbci_rate_only,
    "mind_monitor.csv": _mind_monitor,
    "sensorlog.csv": _sensorlog,
    "phyphox.csv": _phyphox,
    "physics_toolbox.csv": _physics_toolbox,
    "sensor_logger.csv": table(
        "time,seconds_elapsed,z,y,x",
        before=lambda row: f"{(BEGAN_S * 100 + row) * 10_000_000},{row / 100:.6f},",
    ),
    "unix_ms.csv": _unix(1000),
    "unix_us.csv": _unix(10**6),
    "unix_ns.csv": _unix(10**9),
    "java_zone.csv": table(
        "timestamp,x,y,z", before=lambda row: f"{_london(row):%Y-%m-%dT%H:%M:%S%z} [Europe/London],"
    ),
}
