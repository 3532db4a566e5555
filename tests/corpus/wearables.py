"""Sensors that people wear, and what their own programs export."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.corpus.case import BEGAN_S, Case, Table, at, java_number, rows, signal, text


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
    """Counts of three axes, steps, light, and four postures in seconds of each epoch; no header line."""
    axes = np.round(np.abs(signal(n)) * 400)
    values = np.column_stack(
        [axes, np.round(axes[:, 0] / 90), np.zeros((n, 2)), *np.eye(2)[np.arange(n) // 40 % 2].T * 5]
    )
    text(path, *_COUNTS_HEAD, *rows(values), end="\r\n")
    return values


def _actigraph_resaved(path: Path, n: int) -> Table:
    """A spreadsheet fills up the lines above the table with separators."""
    values = _actigraph_counts(path, n)
    text(path, *(line + "," * 7 for line in _COUNTS_HEAD), *rows(values))
    return values


_COUNTS_HEAD = (
    "------------ Data File Created By ActiGraph wGT3XBT ActiLife v6.13.3 Firmware v1.8.0 date format M/d/yyyy "
    "Filter Normal -----------",
    "Serial Number: MOS2D15110103",
    "Start Time 11:00:00",
    "Start Date 11/15/2026",
    "Epoch Period (hh:mm:ss) 00:00:05",
    "Download Time 16:26:59",
    "Download Date 11/16/2026",
    "Current Memory Address: 0",
    "Current Battery Voltage: 4.03     Mode = 61",
    "-" * 50,
)


def _actiware(path: Path, n: int) -> Table:
    """Sections, each table with a legend of its columns; every line of a table ends in a separator, but the last."""
    values = np.round(np.abs(signal(n, 2)) * 100)
    head = ['"Actiware Export File  (Version 05.00 )"', '"Filename:",""', '"Analysis Name:",""', "", ""]
    head += ['"-------------------- Subject Properties--------------------"', "", '"Identity:","P07"', '"Gender:","*"']
    head += [
        "",
        "",
        '"----------------- Actiwatch Data Properties ----------------"',
        "",
        '"Actiwatch Type:","Actiwatch 2"',
    ]
    head += ['"Epoch Length:","30","seconds",""', f'"Number of Data Samples:","{n}","samples"', "", ""]
    head += ['"------------------------ Statistics ------------------------"', ""]
    head += ['"Interval Type","Interval#","Start Date","Start Time","End Date","End Time","Duration","%Wake",']
    head += ['"","","","","","","(minutes)","(%)",', ""]
    head += [
        f'"ACTIVE","{day}","{day:02d}/11/2026","08:00:00","{day:02d}/11/2026","23:00:00","960.00","91.75",'
        for day in range(1, 29)
    ]
    head += ['"Active Summary","n","NaN","NaN","NaN","NaN","28","28",', "", ""]
    head += [
        '"--------------------- Marker/Score List --------------------"',
        "",
        *_LEGEND[:5],
        '"Marker:","Marker!"',
        "",
    ]
    head += ['"Line","Date","Time","Marker","Interval Status",', "", '"1","04/11/2026","21:00:00","Marker!","ACTIVE",']
    head += ["", "", '"-------------------- Epoch-by-Epoch Data -------------------"', "", *_LEGEND, ""]
    names = '"Line","Date","Time","Activity","Marker","White Light","Sleep/Wake","Interval Status",'
    when = [at(30 * row, 1.0) for row in range(n)]
    cells = [
        f'"{row + 1}","{when[row]:%d/%m/%Y}","{when[row]:%H:%M:%S}","{line[0]:g}","0","{line[1]:.2f}","1","ACTIVE",'
        for row, line in enumerate(values)
    ]
    cells[-1] = cells[-1].removesuffix(",")
    text(path, *head, names, "", *cells, end="\r\n", encoding="utf-8-sig")
    return values


_LEGEND = (
    '"Column Title","Notes"',
    '"------------------","---------"',
    '"Line:","Line Number"',
    '"Date:","Date (start of epoch)"',
    '"Time:","Time (start of epoch)"',
    '"Activity:","Activity (counts)"',
    '"Marker:","1 means Event Marker button was pressed"',
    '"White Light:","White Light"',
    '"Sleep/Wake:","Sleep/Wake Score (0=Sleep; 1=Wake)"',
    '"Interval Status:","Interval Status: Active; Rest; Sleep; or Excluded"',
)


def _axivity(path: Path, n: int) -> Table:
    values = signal(n)
    text(path, *rows(values, lambda row: f"{at(row, 100):%Y-%m-%d %H:%M:%S}.{row * 10 % 1000:03d},"))
    return values


def _geneactiv(path: Path, n: int) -> Table:
    """A hundred lines of settings, some of them blank."""
    values = np.column_stack([signal(n), np.round(np.abs(signal(n, 1)) * 90), 20 + np.abs(signal(n, 1, 1))])
    head = dict.fromkeys(range(1, 101), "")
    head |= {1: "Device Type,GENEActiv           ", 2: "Device Model,1.1", 3: "Device Unique Serial Code,12967"}
    head |= {4: "Device Firmware Version,Ver1.30 date 05Aug11", 5: "Calibration Date,2026-01-01 00:00:00:000"}
    head |= {11: "Measurement Frequency,50 Hz", 12: "Start Time,2026-11-15 20:31:05:000", 15: "Time Zone,GMT +00"}
    head |= {22: "Date of Birth,01/01/1900", 36: "Config Time,2026-01-01 00:00:00:000:", 37: "Config Notes,Notes"}
    for sensor in range(6):
        first = 51 + 5 * sensor
        lines = ("Sensor type,MEMS accelerometer x-axis", "Range,-8 to 8             ", "Resolution,0.0039")
        head |= dict(enumerate((*lines, "Units,g                   ", "Additional information, "), first))
    cells = [
        f"{at(row, 50):%Y-%m-%d %H:%M:%S}:{row * 20 % 1000:03d},"
        + ",".join(f"{cell:.4f}" for cell in line[:3])
        + f",{line[3]:g},0,{line[4]:.1f}"
        for row, line in enumerate(values)
    ]
    text(path, *head.values(), *cells)
    return np.column_stack([values[:, :4], np.zeros(n), values[:, 4:]])


def _shimmer(path: Path, n: int) -> Table:
    """Lines end in a separator, but the last does not."""
    values = signal(n)
    names = [f"Shimmer_5B_{name}_CAL" for name in ("Timestamp_Unix", "Accel_LN_X", "Accel_LN_Y", "Accel_LN_Z")]
    cells = rows(values, lambda row: f"{java_number(BEGAN_S * 1000 + row * 20)}\t", "\t", "\t")
    cells[-1] = cells[-1].removesuffix("\t")
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


def _xsens_dot(path: Path, n: int) -> Table:
    """The lines above the table have more cells than the table."""
    values = signal(n, 6)
    head = ["DeviceTag:,Left wrist", "FirmwareVersion:,3.0.0", "AppVersion:,2023.6.0", "SyncStatus:,Synced"]
    head += ["OutputRate:,60Hz", "FilterProfile:,General", "Measurement Mode:,Extended (Euler)"]
    head += ["StartTime:,2026-11-15 20:31:05.000 +0000", "Movella Technologies B. V. 2005-2026,,"]
    names = "PacketCounter,SampleTimeFine,Euler_X,Euler_Y,Euler_Z,FreeAcc_X,FreeAcc_Y,FreeAcc_Z,Status"
    ticks = (np.arange(n) * 16667 + 3_212_345_678).tolist()
    cells = rows(values, lambda row: f"{row + 1},{ticks[row]},", after=",0")
    text(path, "sep=,", *(line + "," * 17 for line in head), "", names, *cells)
    return np.column_stack([values, np.zeros(n)])


E4 = "lines 1 and 2 read as an Empatica E4 writes them"
NO_HEADER = "no header line"

CASES = (
    Case(
        file="empatica_ACC.csv",
        program="Empatica E4",
        made="bytes",
        write=_empatica,
        source="hpi-dhc/devicely `tests/Empatica_test_data/test_data_read/ACC.csv`",
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
        source="hpi-dhc/devicely `tests/Empatica_test_data/test_data_read/EDA.csv`",
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
        source="actigraph/pygt3x `tests/resources/neo.csv`",
        channels=tuple(f"Accelerometer {axis}" for axis in "XYZ"),
        rate=30.0,
        notes=("lines 1 to 10 skipped", "rate of 30 Hz taken from the lines above"),
    ),
    Case(
        file="actigraph_counts.csv",
        program="ActiGraph, counts",
        made="bytes",
        write=_actigraph_counts,
        source="wadpac/GGIRread `inst/testfiles/ActiGraph61.csv`, which a spreadsheet saved",
        channels=tuple(f"ch{place}" for place in range(8)),
        rate=0.2,
        notes=("lines 1 to 10 skipped", NO_HEADER, "rate of 0.2 Hz taken from the lines above"),
    ),
    Case(
        file="actigraph_resaved.csv",
        program="ActiGraph, counts, saved by a spreadsheet",
        made="bytes",
        write=_actigraph_resaved,
        source="wadpac/GGIRread `inst/testfiles/ActiGraph61.csv`",
        channels=tuple(f"ch{place}" for place in range(8)),
        rate=0.2,
        notes=("lines 1 to 10 skipped", NO_HEADER, "rate of 0.2 Hz taken from the lines above"),
    ),
    Case(
        file="actiware.csv",
        program="Philips Actiware",
        made="bytes",
        write=_actiware,
        source="ghammad/pyActigraphy `pyActigraphy/tests/data/test_sample_rpx_eng.csv`",
        channels=("Activity", "White Light"),
        rate=1 / 30,
        began_s=BEGAN_S,
        notes=(
            "skipped: the table begins below them",
            "column 'Marker' left out: it was scored",
            "column 'Sleep/Wake' left out: it was scored",
            "column 'Interval Status' left out: it was scored",
            "column 'Activity' kept: by its name it holds labels, but its",
            "columns 'Date' and 'Time' together are the clock",
            "column 'Line' left out: it only counts the rows",
            "1 blank line skipped",
        ),
    ),
    Case(
        file="axivity.csv",
        program="Axivity OmGui",
        made="bytes",
        write=_axivity,
        source="openmovementproject/openmovement `Software/AX3/omconvert/calc-csv.c`",
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
        source="openmovementproject/openmovement `Software/AX3/omconvert/calc-csv.c`, which writes such files too",
        channels=("ch1", "ch2", "ch3", "ch4", "ch5", "ch6"),
        rate=50.0,
        began_s=BEGAN_S,
        notes=(
            "lines 1 to 80 skipped: no part of the table, as they have fewer",
            "no header line: the channels are named ch0 to ch6",
            "column 'ch0' is the clock, because it holds dates",
        ),
    ),
    Case(
        file="shimmer.csv",
        program="Shimmer Consensys",
        made="bytes",
        write=_shimmer,
        source="seemoo-lab/pyshimmer `test/reader/resources/pair_consensys.csv`, `triaxcal_calibrated.csv.gz`",
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
        source="Plantucha/Tepna `capture-host/writers.py`, which writes such files too",
        channels=("X [mg]", "Y [mg]", "Z [mg]"),
        rate=50.0,
        began_s=BEGAN_S,
        notes=(
            "column 'Phone timestamp' is the clock, because it holds dates",
            "column 'sensor timestamp [ns]' left out: 'Phone timestamp' is",
        ),
    ),
    Case(
        file="xsens_dot.csv",
        program="Xsens DOT",
        made="bytes",
        write=_xsens_dot,
        source="class `XsensDotLogger` of the SDK for Android",
        channels=(*(f"{name}_{axis}" for name in ("Euler", "FreeAcc") for axis in "XYZ"), "Status"),
        rate=60.0,
        notes=(
            "lines 1 to 10 skipped: no part of the table, as they have fewer",
            "column 'PacketCounter' left out: it only counts the rows",
            "clock 'SampleTimeFine' read as 1,000,000 ticks of an Xsens",
        ),
    ),
)
