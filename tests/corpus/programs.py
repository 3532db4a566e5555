"""Machines, meters, tracked animals, and tables, arrays and tracks that a library stores."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io

from tests.corpus.case import BEGAN_S, XYZ, Table, Writer, at, early, frame, rows, seconds, signal, table, text

_SKAB = ("Accelerometer1RMS", "Accelerometer2RMS", "Current", "Pressure", "Temperature", "Thermocouple", "Voltage",
         "Volume Flow RateRMS")  # fmt: skip
_HOUSEHOLD = ("Date", "Time", "Global_active_power", "Global_reactive_power", "Voltage", "Global_intensity",
              "Sub_metering_1", "Sub_metering_2", "Sub_metering_3")  # fmt: skip
_POINTS = ("nose", "tail")


def _seconds_of_day(row: int) -> str:
    return f"{early(row, 1 / 60):%Y-%m-%d %H:%M:%S},"


# ------------------------------------------------------------ machines


def _turbofan(path: Path, n: int) -> list[Table]:
    """Two engines of 26 columns each: unit number, cycle, 3 settings, 21 sensors; two blanks at the end of lines."""
    values, first = _engine(n), 3 * n // 5
    cells = rows(values, lambda row: f"{1 + (row >= first)} {row + 1 - (first if row >= first else 0)} ", " ", "  ")
    text(path, *cells)
    return [values[:first], values[first:]]


def _engine(n: int) -> Table:
    return np.abs(signal(n, 24, 4)) + 100.0


def _turbofan_in_one(path: Path, n: int) -> Table:
    """One engine, as each of the 100 files that people cut it into."""
    text(path, *rows(_engine(n), lambda row: f"1 {row + 1} ", " ", "  "))
    return np.column_stack([np.ones(n), _engine(n)])


def _skab(path: Path, n: int) -> Table:
    flags = (np.arange(n) // 60 % 3 == 1).astype(float)
    made = frame(n, _SKAB).assign(anomaly=flags, changepoint=np.abs(np.diff(flags, prepend=0))).drop(columns="time")
    made.insert(0, "datetime", [_seconds_of_day(row)[:-1] for row in range(n)])
    made.to_csv(path, sep=";", index=False, lineterminator="\r\n")
    return signal(n, 8)


def _mill(path: Path, n: int) -> Table:
    made = frame(n, ["X1_ActualPosition", "X1_ActualVelocity", "S1_OutputPower"]).drop(columns="time")
    steps = ["Prep"] * (n // 2) + ["Layer 1 Up"] * (n - n // 2)
    made.assign(M1_CURRENT_PROGRAM_NUMBER=1, Machining_Process=steps).to_csv(path, index=False)
    return np.column_stack([signal(n), np.ones(n)])


def _labview(x_columns: str, point: str, cells: Callable[[Table], list[str]]) -> Writer:
    """Two headers, and the names; where each channel has its own times, an empty cell follows each of its cells."""

    def write(path: Path, n: int) -> Table:
        between, apart, n_tabs = ("\t\t", "\tX_Value\t", 6) if x_columns == "Multi" else ("\t", "\t", 3)
        began = "Date\t2026/02/03", "Time\t00:00:00.1010842323303222656"
        head = ["LabVIEW Measurement\t", "Writer_Version\t2", "Reader_Version\t2", "Separator\tTab"]
        head += [f"Decimal_Separator\t{point}", "Multi_Headings\tNo", f"X_Columns\t{x_columns}", "Time_Pref\tAbsolute"]
        head += ["Operator\tlab", *began, "***End_of_Header***\t", "\t", "Channels\t3" + "\t" * n_tabs]
        said = dict(line.split("\t") for line in (f"Samples\t{n}", *began, "Y_Unit_Label\tN", "X_Dimension\tTime"))
        said |= {"X0": "0.0000000000000000E+0", "Delta_X": "2.000000E-2"}
        head += [f"{key}\t{between.join([cell.replace('.', point)] * 3)}\t" for key, cell in said.items()]
        head += ["***End_of_Header***\t\t\t\t", f"X_Value\t{apart.join(['Force', 'Torque', 'Speed'])}\tComment"]
        text(path, *head, *cells(signal(n)), end="\r\n")
        return signal(n)

    return write


def _each_x(values: Table) -> list[str]:
    return ["\t".join(f"{row / 50:.6f}\t{cell:.6f}" for cell in line) for row, line in enumerate(values)]


def _in_two(head: str, before: Callable[[int, int], str]) -> Writer:
    """The clock of the second half begins where that of the first began."""

    def write(path: Path, n: int) -> list[Table]:
        values, half = signal(n), n // 2
        text(path, head, *rows(values, lambda row: before(row // half, row % half)))
        return [values[:half], values[half:]]

    return write


def _historian(path: Path, n: int) -> Table:
    """One row per reading, as historians and databases export them."""
    tags = ("TI-101", "PI-102", "FI-103")
    cells = (
        f"{_seconds_of_day(row)}{tag},{cell:g}"
        for row, line in enumerate(signal(n))
        for tag, cell in zip(tags, line, strict=True)
    )
    text(path, "timestamp,tag,value", *cells)
    return signal(n)[:, [2, 1, 0]]


# ------------------------------------------------------------ meters


def _household(path: Path, n: int) -> Table:
    values = np.abs(signal(n, 7)) + 0.1
    when = [f"{datetime(2006, 12, 16, 17, 24) + timedelta(minutes=row):%d/%m/%Y;%H:%M:%S};" for row in range(n)]
    cells = rows(values, when.__getitem__, ";")
    cells[100:104] = [f"{clock}?;?;?;?;?;?;" for clock in when[100:104]]
    text(path, ";".join(_HOUSEHOLD), *cells)
    values[100:104] = np.nan
    return values


def _air_quality(path: Path, n: int) -> Table:
    """UCI: decimal commas, hours with dots, -200 for no value, two separators at the end, blank rows below."""
    values = np.abs(signal(n, 3, 1)) + 5
    values[30:50, 0] = -200
    cells = rows(values, lambda row: f"{early(row, 60):%d/%m/%Y;%H.%M.%S};", ";", ";;")
    cells = [cell.replace(".", ",").replace(",", ".", 2) for cell in cells]
    text(path, "Date;Time;CO(GT);PT08.S1(CO);NMHC(GT);;", *cells, *[";" * 6] * 5, end="\r\n")
    return np.where(values == -200, np.nan, values)


def _phasors(path: Path, n: int) -> Table:
    """A phasor unit that writes -999 while it has lost its satellites."""
    values = signal(n, 2) + 60
    values[80:90] = -999
    times = [f"{early(row, 0.02 / 60):%Y-%m-%dT%H:%M:%S.%f}Z" for row in range(n)]
    pl.DataFrame({"UTC": times, "freq": values[:, 0], "V_mag": values[:, 1]}).write_csv(path)
    return np.where(values == -999, np.nan, values)


def _electricity(path: Path, n: int) -> Table:
    values = np.abs(signal(n)) * 100
    cells = rows(values, lambda row: f'"{early(row, 15):%Y-%m-%d %H:%M:%S}";', ";")
    text(path, '"";"MT_001";"MT_002";"MT_003"', *(cell.replace(".", ",") for cell in cells))
    return values


def _server(path: Path, n: int) -> Table:
    times = [f"{early(row, 5):%Y-%m-%d %H:%M:%S}" for row in range(n)]
    pd.DataFrame({"timestamp": times, "value": np.abs(signal(n, 1))[:, 0]}).to_csv(path, index=False)
    return np.abs(signal(n, 1))


# ------------------------------------------------------------ animals


def _pose(n: int, threshold: float) -> tuple[Table, Table, Table]:
    """Two points that wander, how sure the tracker is (not at all in ten frames of one), and what must be read."""
    xy, sure = np.round(320 + 80 * signal(n, 4), 2), np.full((n, 2), 0.99)
    sure[40:50, 0] = 0.1
    return xy, sure, np.where(np.repeat(sure, 2, axis=1) < threshold, np.nan, xy)


def _deeplabcut(store: Callable[[pd.DataFrame, Path], None]) -> Writer:
    def write(path: Path, n: int) -> Table:
        xy, sure, expected = _pose(n, 0.6)
        columns = pd.MultiIndex.from_product(
            [["DLC_resnet50_mouse"], _POINTS, ["x", "y", "likelihood"]], names=["scorer", "bodyparts", "coords"]
        )
        store(pd.DataFrame(np.column_stack([xy[:, :2], sure[:, 0], xy[:, 2:], sure[:, 1]]), columns=columns), path)
        return expected

    return write


def _sleap_csv(path: Path, n: int) -> Table:
    xy, sure, expected = _pose(n, 0.2)
    made = pd.DataFrame({"track": "mouse", "frame_idx": np.arange(n), "instance.score": 0.9})
    for place, point in enumerate(_POINTS):
        made[f"{point}.x"], made[f"{point}.y"] = xy[:, 2 * place], xy[:, 2 * place + 1]
        made[f"{point}.score"] = sure[:, place]
    made.to_csv(path, index=False)
    return expected


def _sleap_h5(path: Path, n: int) -> Table:
    """An analysis file: tracks is (tracks, xy, nodes, frames), as MATLAB would have it."""
    xy, _, _ = _pose(n, 0)
    with h5py.File(path, "w") as file:
        packed = {"compression": "gzip", "compression_opts": 9}
        file.create_dataset("tracks", data=xy.reshape(n, 2, 2).transpose(2, 1, 0)[None], **packed)
        file.create_dataset("track_occupancy", data=np.ones((n, 1), np.uint8), **packed)
        file["edge_names"], file["edge_inds"] = np.array([[b"nose", b"tail"]]), np.array([[0, 1]], np.int32)
        file["instance_scores"], file["tracking_scores"] = np.full((1, n), 0.9), np.full((1, n), np.nan)
        file["labels_path"], file["video_path"], file["video_ind"] = "mouse.slp", "mouse.mp4", 0
        file["provenance"], file["point_scores"] = "{}", np.full((1, 2, n), 0.9)
        file["node_names"], file["track_names"] = np.array([b"nose", b"tail"]), np.array([b"mouse"])
    return xy


def _ethovision(path: Path, n: int) -> Table:
    values = np.round(signal(n) * 10, 3)
    head = ['"Number of header lines:";"10"', '"Experiment";"Open field"', '"Trial name";"Trial     1"']
    head += ['"Arena";"Arena 1"', '"Subject";"Subject 1"', '"Video start time";"15/11/2026 20:31:05.000"']
    head += ['"Reference duration";"  0:10:00"', '""']
    head += ['"Trial time";"Recording time";"X center";"Y center";"Area";', '"s";"s";"cm";"cm";"cm²";']
    cells = rows(values, lambda row: f"{row / 25:.3f};{row / 25:.3f};", ";", ";")
    cells[60] = ";".join([*cells[60].split(";")[:2], '"-"', '"-"', '"-"', ""])
    text(path, *head, *cells, end="\r\n", encoding="utf-16")
    return np.where(np.arange(n)[:, None] == 60, np.nan, values)


def _movebank(path: Path, n: int) -> list[Table]:
    """Two animals, each with a row at every moment."""
    cells = rows(
        signal(n),
        lambda row: f"{row},true,{early(row // 2):%Y-%m-%d %H:%M:%S}.000,",
        after=',"gps","Grus grus","{0}","{0}","Cranes"',
    )
    names = "event-id,visible,timestamp,location-long,location-lat,height-above-ellipsoid,sensor-type,"
    names += "individual-taxon-canonical-name,tag-local-identifier,individual-local-identifier,study-name"
    text(path, names, *(cell.format("Oskar" if row % 2 else "Lena") for row, cell in enumerate(cells)))
    return [signal(n)[0::2], signal(n)[1::2]]


# ------------------------------------------------------------ libraries


def _stored(store: Callable[[Path, Table], object]) -> Writer:
    """By a library that is given the signal."""

    def write(path: Path, n: int) -> Table:
        store(path, signal(n))
        return signal(n)

    return write


def _openpyxl(path: Path, values: Table) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    times = (datetime(2026, 11, 15, 20, 31, 5) + timedelta(seconds=row) for row in range(len(values)))
    cells = [[when, *line] for when, line in zip(times, values.tolist(), strict=True)]
    for line in (["Measured in hall 3"], [], ["Time", *XYZ], *cells):
        sheet.append(line)
    book.create_sheet("Notes")["A1"] = "none"
    book.save(path)


def _xlsxwriter(path: Path, values: Table) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(path, {"in_memory": True}) as book:
        sheet = book.add_worksheet("run")
        sheet.write_row(0, 0, ["t [s]", *XYZ])
        for row, line in enumerate(values):
            sheet.write_row(row + 1, 0, [row / 50, *line.tolist()])


def _pandas_parquet(path: Path, values: Table) -> None:
    """Dates in the index, which has no name."""
    index = pd.date_range(at(0, 1), periods=len(values), freq="20ms")
    pd.DataFrame(values, columns=list(XYZ), index=index).to_parquet(path)


def _arrow(path: Path, values: Table) -> None:
    times = pa.array([1000 * BEGAN_S + 20 * row for row in range(len(values))], pa.timestamp("ms", "Europe/Berlin"))
    pq.write_table(pa.table({"ts": times} | dict(zip(XYZ, values.T, strict=True))), path)


def _polars(path: Path, values: Table) -> None:
    times = [timedelta(milliseconds=20 * row) for row in range(len(values))]
    pl.DataFrame({"elapsed": times} | dict(zip(XYZ, values.T, strict=True))).write_parquet(path)


def _one_array(path: Path, values: Table) -> None:
    with h5py.File(path, "w") as file:
        file["imu/samples"] = values
        file["imu"].attrs["fs"] = 50.0


def _two_arrays(path: Path, values: Table) -> None:
    with h5py.File(path, "w") as file:
        file["left"], file["right"] = values, -values


def _bearings(path: Path, n: int) -> Table:
    values = signal(n, 2)
    scipy.io.savemat(path, {"X097_DE_time": values[:, :1], "X097_FE_time": values[:, 1:], "X097RPM": 1796})
    return values[:, :1]


def _jsonl(path: Path, values: Table) -> None:
    lines = ({"ts": BEGAN_S + row / 50} | dict(zip(XYZ, line, strict=True)) for row, line in enumerate(values.tolist()))
    text(path, *map(json.dumps, lines))


def _gpx(path: Path, n: int) -> Table:
    from gpxpy.gpx import GPX, GPXTrack, GPXTrackPoint, GPXTrackSegment

    values = np.column_stack([47 + 0.001 * signal(n, 1), 8 + 0.001 * signal(n, 1), 400 + signal(n, 1)])
    points = [GPXTrackPoint(*line, time=at(row, 1)) for row, line in enumerate(values.tolist())]
    track, document = GPXTrack(), GPX()
    track.segments.append(GPXTrackSegment(points))
    document.tracks.append(track)
    path.write_text(document.to_xml())
    return values


def _fit(path: Path, n: int) -> Table:
    from fit_tool.fit_file_builder import FitFileBuilder
    from fit_tool.profile.messages.file_id_message import FileIdMessage
    from fit_tool.profile.messages.record_message import RecordMessage
    from fit_tool.profile.profile_type import FileType, Manufacturer

    values = np.column_stack([np.round(120 + 10 * signal(n, 1)), np.round(200 + 30 * signal(n, 1))])
    builder, about = FitFileBuilder(auto_define=True), FileIdMessage()
    about.type, about.manufacturer = FileType.ACTIVITY, Manufacturer.DEVELOPMENT.value
    about.time_created = BEGAN_S * 1000
    builder.add(about)
    for row, (heart_rate, power) in enumerate(values.tolist()):
        record = RecordMessage()
        record.timestamp, record.heart_rate, record.power = (BEGAN_S + row) * 1000, int(heart_rate), int(power)
        builder.add(record)
    builder.build().to_file(str(path))
    return values


def _edf(path: Path, n: int) -> Table:
    import pyedflib

    n -= n % 50
    values = np.round(signal(n))
    shared = {"dimension": "g", "sample_frequency": 50, "transducer": "", "prefilter": ""}
    shared |= {f"{kind}_{end}": value for kind in ("physical", "digital") for end, value in _INT16.items()}
    with pyedflib.EdfWriter(str(path), 3) as file:
        for place, name in enumerate(XYZ):
            file.setSignalHeader(place, {"label": name} | shared)
        file.writeSamples([np.ascontiguousarray(column) for column in values.T])
    return values


_INT16 = {"max": 32767, "min": -32768}

WRITERS: dict[str, Writer] = {
    "FD001.txt": lambda path, n: np.concatenate(_turbofan(path, n)),
    "FD001_engines.txt": _turbofan,
    "FD001_engine1.txt": _turbofan_in_one,
    "skab.csv": _skab,
    "cnc_mill.csv": _mill,
    # the name is the moment; its last part looks like a suffix
    "2003.10.22.12.06.24": table(separator="\t", values=lambda n: signal(n, 8)),
    "labview.lvm": _labview("One", ".", lambda values: rows(values, lambda row: f"{row / 50:.6f}\t", "\t")),
    # the step between rows stands above the table alone, and the cells for their times are empty
    "labview_without_x.lvm": _labview(
        "No", ",", lambda values: [line.replace(".", ",") for line in rows(values, lambda row: "\t", "\t")]
    ),
    "labview_each_x.lvm": _labview("Multi", ".", _each_x),
    "two_machines.csv": _in_two("machine,time,x,y,z", lambda half, row: f"{'AB'[half]},{_seconds_of_day(row)}"),
    "restarts.csv": _in_two("time,x,y,z", lambda half, row: seconds(row)),
    "historian.csv": _historian,
    "household_power.txt": _household,
    "AirQualityUCI.csv": _air_quality,
    "pmu.csv": _phasors,
    "weather.csv": table("Datetime,x,y,z", before=lambda row: f"{early(row, 60):%d %m %Y %H:%M},"),
    "LD2011_2014.txt": _electricity,
    "nab.csv": _server,
    "mouseDLC_resnet50.csv": _deeplabcut(lambda made, path: made.to_csv(path)),
    "mouseDLC_resnet50.h5": _deeplabcut(
        lambda made, path: made.to_hdf(path, key="df_with_missing", format="table", mode="w")
    ),
    "sleap.csv": _sleap_csv,
    "sleap_analysis.h5": _sleap_h5,
    "ethovision.txt": _ethovision,
    "movebank.csv": _movebank,
    "packed.csv.gz": _stored(lambda path, values: path.write_bytes(gzip.compress(_csv(values, ",")))),
    "packed_too.tsv.bz2": _stored(lambda path, values: path.write_bytes(bz2.compress(_csv(values, "\t")))),
    "hall3.xlsx": _stored(_openpyxl),
    "run.xlsx": _stored(_xlsxwriter),
    "pandas.parquet": _stored(_pandas_parquet),
    "arrow.parquet": _stored(_arrow),
    "polars.parquet": _stored(_polars),
    "one_array.h5": _stored(_one_array),
    "two_arrays.h5": _stored(_two_arrays),
    "matlab.mat": _stored(lambda path, values: scipy.io.savemat(path, {"data": values.T, "fs": 50.0, "who": "P07"})),
    "97.mat": _bearings,
    "emg.npz": _stored(lambda path, values: np.savez(path, emg=values, fs=1000)),
    "bare.npy": _stored(np.save),
    "log.jsonl": _stored(_jsonl),
    "walk.gpx": _gpx,
    "ride.fit": _fit,
    "wrist.edf": _edf,
}


def _csv(values: Table, separator: str) -> bytes:
    text_of_table: str = frame(len(values)).to_csv(index=False, sep=separator)
    return text_of_table.encode()


def _as_csv(path: Path) -> Path:
    pd.read_hdf(path).to_csv(path.with_suffix(".csv"))
    return path.with_suffix(".csv")


MENDS: dict[str, Callable[[Path], Path | None]] = {"mouseDLC_resnet50.h5": _as_csv}
