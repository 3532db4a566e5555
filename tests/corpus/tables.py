"""Spreadsheets, data frames, arrays and tracks, each stored by a library of its own."""

from __future__ import annotations

import bz2
import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io

from tests.corpus.case import BEGAN_S, XYZ, Case, Table, signal, text

_BEGAN = datetime.fromtimestamp(BEGAN_S, UTC)


def _frame(n: int) -> tuple[pd.DataFrame, Table]:
    values = signal(n)
    frame = pd.DataFrame(values, columns=list(XYZ))
    frame.insert(0, "time", np.arange(n) / 50)
    return frame, values


def _gzip(path: Path, n: int) -> Table:
    frame, values = _frame(n)
    with gzip.open(path, "wt") as file:
        frame.to_csv(file, index=False)
    return values


def _bz2(path: Path, n: int) -> Table:
    frame, values = _frame(n)
    path.write_bytes(bz2.compress(frame.to_csv(index=False, sep="\t").encode()))
    return values


def _openpyxl(path: Path, n: int) -> Table:
    from openpyxl import Workbook

    values = signal(n)
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Measured in hall 3"])
    sheet.append([])
    sheet.append(["Time", *XYZ])
    for row, line in enumerate(values):
        sheet.append([datetime(2026, 11, 15, 20, 31, 5) + timedelta(seconds=row), *line.tolist()])
    book.create_sheet("Notes")["A1"] = "none"
    book.save(path)
    return values


def _xlsxwriter(path: Path, n: int) -> Table:
    import xlsxwriter

    values = signal(n)
    with xlsxwriter.Workbook(path, {"in_memory": True}) as book:
        sheet = book.add_worksheet("run")
        sheet.write_row(0, 0, ["t [s]", *XYZ])
        for row, line in enumerate(values):
            sheet.write_row(row + 1, 0, [row / 50, *line.tolist()])
    return values


def _pandas_parquet(path: Path, n: int) -> Table:
    """Dates in the index, which has no name."""
    frame, values = _frame(n)
    frame = frame.drop(columns="time").set_index(pd.date_range(_BEGAN, periods=n, freq="20ms"))
    frame.to_parquet(path)
    return values


def _arrow(path: Path, n: int) -> Table:
    values = signal(n)
    times = pa.array([1000 * BEGAN_S + 20 * row for row in range(n)], pa.timestamp("ms", "Europe/Berlin"))
    pq.write_table(pa.table({"ts": times} | dict(zip(XYZ, values.T, strict=True))), path)
    return values


def _polars(path: Path, n: int) -> Table:
    values = signal(n)
    times = [timedelta(milliseconds=20 * row) for row in range(n)]
    pl.DataFrame({"elapsed": times} | dict(zip(XYZ, values.T, strict=True))).write_parquet(path)
    return values


def _one_array(path: Path, n: int) -> Table:
    values = signal(n)
    with h5py.File(path, "w") as file:
        file["imu/samples"] = values
        file["imu"].attrs["fs"] = 50.0
    return values


def _two_arrays(path: Path, n: int) -> Table:
    values = signal(n)
    with h5py.File(path, "w") as file:
        file["left"], file["right"] = values, -values
    return values


def _mat(path: Path, n: int) -> Table:
    values = signal(n)
    scipy.io.savemat(path, {"data": values.T, "fs": 50.0, "subject": "P07"})
    return values


def _bearings(path: Path, n: int) -> Table:
    values = signal(n, 2)
    scipy.io.savemat(path, {"X097_DE_time": values[:, :1], "X097_FE_time": values[:, 1:], "X097RPM": 1796})
    return values[:, :1]


def _npz(path: Path, n: int) -> Table:
    values = signal(n)
    np.savez(path, emg=values, fs=1000)
    return values


def _npy(path: Path, n: int) -> Table:
    values = signal(n)
    np.save(path, values)
    return values


def _jsonl(path: Path, n: int) -> Table:
    values = signal(n)
    text(
        path,
        *(
            json.dumps({"ts": BEGAN_S + row / 50} | dict(zip(XYZ, line.tolist(), strict=True)))
            for row, line in enumerate(values)
        ),
    )
    return values


def _gpx(path: Path, n: int) -> Table:
    import gpxpy.gpx

    values = np.column_stack([47 + 0.001 * signal(n, 1), 8 + 0.001 * signal(n, 1), 400 + signal(n, 1)])
    segment = gpxpy.gpx.GPXTrackSegment(
        [
            gpxpy.gpx.GPXTrackPoint(*line, time=_BEGAN + timedelta(seconds=row))
            for row, line in enumerate(values.tolist())
        ]
    )
    track = gpxpy.gpx.GPXTrack()
    track.segments.append(segment)
    document = gpxpy.gpx.GPX()
    document.tracks.append(track)
    path.write_text(document.to_xml())
    return values


def _fit(path: Path, n: int) -> Table:
    from fit_tool.fit_file_builder import FitFileBuilder
    from fit_tool.profile.messages.file_id_message import FileIdMessage
    from fit_tool.profile.messages.record_message import RecordMessage
    from fit_tool.profile.profile_type import FileType, Manufacturer

    values = np.column_stack([np.round(120 + 10 * signal(n, 1)), np.round(200 + 30 * signal(n, 1))])
    builder = FitFileBuilder(auto_define=True)
    about = FileIdMessage()
    about.type, about.manufacturer, about.time_created = (
        FileType.ACTIVITY,
        Manufacturer.DEVELOPMENT.value,
        BEGAN_S * 1000,
    )
    builder.add(about)
    for row, (heart_rate, power) in enumerate(values.tolist()):
        record = RecordMessage()
        record.timestamp, record.heart_rate, record.power = (BEGAN_S + row) * 1000, int(heart_rate), int(power)
        builder.add(record)
    builder.build().to_file(str(path))
    return values


def _edf(path: Path, n: int) -> Table:
    import pyedflib

    values = np.round(signal(n))
    n -= n % 50
    with pyedflib.EdfWriter(str(path), 3) as file:
        for place, name in enumerate(XYZ):
            file.setSignalHeader(
                place,
                {
                    "label": name,
                    "dimension": "g",
                    "sample_frequency": 50,
                    "physical_max": 32767,
                    "physical_min": -32768,
                    "digital_max": 32767,
                    "digital_min": -32768,
                    "transducer": "",
                    "prefilter": "",
                },
            )
        file.writeSamples([np.ascontiguousarray(column) for column in values[:n].T])
    return values[:n]


CASES = (
    Case(file="packed.csv.gz", program="a table packed with gzip", made="pandas", write=_gzip, rate=50.0),
    Case(file="packed_too.tsv.bz2", program="a table packed with bzip2", made="pandas", write=_bz2, rate=50.0),
    Case(
        file="hall3.xlsx",
        program="Excel, with remarks",
        made="openpyxl",
        write=_openpyxl,
        rate=1.0,
        began_s=BEGAN_S,
        needs=("openpyxl", "python_calamine"),
        notes=("line 1 skipped: no part of the table, as it has fewer cells",),
    ),
    Case(
        file="run.xlsx",
        program="Excel",
        made="xlsxwriter",
        write=_xlsxwriter,
        rate=50.0,
        needs=("xlsxwriter", "python_calamine"),
    ),
    Case(
        file="pandas.parquet",
        program="pandas, dates in the index",
        made="pandas",
        write=_pandas_parquet,
        rate=50.0,
        began_s=BEGAN_S,
        notes=("column '__index_level_0__' is the clock, because it holds dates",),
    ),
    Case(
        file="arrow.parquet",
        program="Arrow, dates with a zone",
        made="pyarrow",
        write=_arrow,
        rate=50.0,
        began_s=BEGAN_S,
    ),
    Case(file="polars.parquet", program="polars, durations", made="polars", write=_polars, rate=50.0),
    Case(
        file="one_array.h5",
        program="HDF5, one array",
        made="h5py",
        write=_one_array,
        channels=("ch0", "ch1", "ch2"),
        rate=50.0,
    ),
    Case(
        file="two_arrays.h5",
        program="HDF5, several arrays",
        made="h5py",
        write=_two_arrays,
        channels=("ch0", "ch1", "ch2"),
        refused="left",
        options={"key": "left"},
    ),
    Case(
        file="matlab.mat",
        program="MATLAB",
        made="scipy",
        write=_mat,
        channels=("ch0", "ch1", "ch2"),
        rate=50.0,
        notes=("array 'data' is 3 x 240: its longer side is taken for frames",),
    ),
    Case(
        file="97.mat",
        program="CWRU bearings",
        made="scipy",
        write=_bearings,
        channels=("ch0",),
        refused="X097_DE_time",
        options={"key": "X097_DE_time"},
    ),
    Case(file="emg.npz", program="NumPy", made="numpy", write=_npz, channels=("ch0", "ch1", "ch2"), rate=1000.0),
    Case(file="bare.npy", program="NumPy, one array", made="numpy", write=_npy, channels=("ch0", "ch1", "ch2")),
    Case(file="log.jsonl", program="JSON lines", made="json", write=_jsonl, rate=50.0, began_s=BEGAN_S),
    Case(
        file="walk.gpx",
        program="GPX",
        made="gpxpy",
        write=_gpx,
        channels=("lat", "lon", "ele"),
        rate=1.0,
        began_s=BEGAN_S,
        needs=("gpxpy",),
    ),
    Case(
        file="ride.fit",
        program="FIT",
        made="fit-tool",
        write=_fit,
        channels=("heart_rate", "power"),
        rate=1.0,
        began_s=BEGAN_S,
        needs=("fit_tool", "fitdecode"),
    ),
    Case(file="wrist.edf", program="EDF", made="pyedflib", write=_edf, rate=50.0, needs=("pyedflib",)),
)
