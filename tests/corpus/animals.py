"""Tracked animals: poses from videos and positions from tags, as trackers store them."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pandas as pd

from tests.corpus.case import Case, Table, minute, rows, signal, text

_POINTS = ("nose", "tail")


def _pose(n: int) -> tuple[Table, Table]:
    """Coordinates of two points that wander, and how sure the tracker is: not at all in ten frames of one."""
    xy = np.round(320 + 80 * signal(n, 4), 2)
    sure = np.full((n, 2), 0.99)
    sure[40:50, 0] = 0.1
    return xy, sure


def _missing(xy: Table, sure: Table, threshold: float) -> Table:
    return np.where(np.repeat(sure, 2, axis=1) < threshold, np.nan, xy)


def _deeplabcut_frame(n: int) -> tuple[pd.DataFrame, Table]:
    xy, sure = _pose(n)
    columns = pd.MultiIndex.from_product(
        [["DLC_resnet50_mouse"], _POINTS, ["x", "y", "likelihood"]], names=["scorer", "bodyparts", "coords"]
    )
    cells = np.column_stack([xy[:, :2], sure[:, 0], xy[:, 2:], sure[:, 1]])
    return pd.DataFrame(cells, columns=columns), _missing(xy, sure, 0.6)


def _deeplabcut_csv(path: Path, n: int) -> Table:
    frame, expected = _deeplabcut_frame(n)
    frame.to_csv(path)
    return expected


def _deeplabcut_h5(path: Path, n: int) -> Table:
    frame, expected = _deeplabcut_frame(n)
    frame.to_hdf(path, key="df_with_missing", format="table", mode="w")
    return expected


def _as_csv(path: Path) -> Path:
    pd.read_hdf(path).to_csv(path.with_suffix(".csv"))
    return path.with_suffix(".csv")


def _sleap_csv(path: Path, n: int) -> Table:
    xy, sure = _pose(n)
    frame = pd.DataFrame({"track": "mouse", "frame_idx": np.arange(n), "instance.score": 0.9})
    for place, point in enumerate(_POINTS):
        frame[f"{point}.x"], frame[f"{point}.y"] = xy[:, 2 * place], xy[:, 2 * place + 1]
        frame[f"{point}.score"] = sure[:, place]
    frame.to_csv(path, index=False)
    return np.column_stack([np.full(n, 0.9), _missing(xy, sure, 0.2)])


def _sleap_h5(path: Path, n: int) -> Table:
    """An analysis file: tracks is (tracks, xy, nodes, frames), as MATLAB would have it."""
    xy, _ = _pose(n)
    with h5py.File(path, "w") as file:
        packed = {"compression": "gzip", "compression_opts": 9}
        file.create_dataset("tracks", data=xy.reshape(n, 2, 2).transpose(2, 1, 0)[None], **packed)
        file.create_dataset("track_occupancy", data=np.ones((n, 1), np.uint8), **packed)
        file["edge_names"], file["edge_inds"] = np.array([[b"nose", b"tail"]]), np.array([[0, 1]], np.int32)
        file["instance_scores"], file["tracking_scores"] = np.full((1, n), 0.9), np.full((1, n), np.nan)
        file["labels_path"], file["video_path"], file["video_ind"] = "mouse.slp", "mouse.mp4", 0
        file["provenance"] = "{}"
        file["node_names"] = np.array([point.encode() for point in _POINTS])
        file["track_names"] = np.array([b"mouse"])
        file["point_scores"] = np.full((1, 2, n), 0.9)
    return xy


def _ethovision(path: Path, n: int) -> Table:
    values = np.round(signal(n) * 10, 3)
    head = [
        '"Number of header lines:";"10"',
        '"Experiment";"Open field"',
        '"Trial name";"Trial     1"',
        '"Arena";"Arena 1"',
    ]
    head += [
        '"Subject";"Subject 1"',
        '"Video start time";"15/11/2026 20:31:05.000"',
        '"Reference duration";"  0:10:00"',
        '""',
    ]
    names = ["Trial time", "Recording time", "X center", "Y center", "Area"]
    names_and_units = [";".join(f'"{name}"' for name in each) for each in (names, ["s", "s", "cm", "cm", "cm²"])]
    names_and_units = [line + ";" for line in names_and_units]
    cells = [
        ";".join([f"{row / 25:.3f}", f"{row / 25:.3f}", *(f"{cell:g}" for cell in line), ""])
        for row, line in enumerate(values)
    ]
    cells[60] = ";".join([*cells[60].split(";")[:2], '"-"', '"-"', '"-"', ""])
    text(path, *head, *names_and_units, *cells, end="\r\n", encoding="utf-16")
    return np.where(np.arange(n)[:, None] == 60, np.nan, values)


_XY = tuple(f"{point}.{axis}" for point in _POINTS for axis in "xy")
_DLC = "DeepLabCut/DeepLabCut `deeplabcut/utils/auxiliaryfunctions.py`"
_SLEAP = "talmolab/sleap `sleap/info/write_tracking_h5.py`"
_SURE = "how sure the tracker is"


def _interleaved(path: Path, n: int) -> list[Table]:
    """Two animals, each with a row at every moment."""
    values = signal(n)
    cells = rows(
        values,
        lambda row: f"{row},true,{minute(row // 2):%Y-%m-%d %H:%M:%S}.000,",
        after=',"gps","Grus grus","{0}","{0}","Cranes"',
    )
    cells = [cell.format("Lena" if row % 2 == 0 else "Oskar") for row, cell in enumerate(cells)]
    names = "event-id,visible,timestamp,location-long,location-lat,height-above-ellipsoid,sensor-type,"
    names += "individual-taxon-canonical-name,tag-local-identifier,individual-local-identifier,study-name"
    text(path, names, *cells)
    return [values[0::2], values[1::2]]


CASES = (
    Case(
        file="mouseDLC_resnet50.csv",
        program="DeepLabCut",
        made="pandas",
        write=_deeplabcut_csv,
        source=_DLC,
        channels=_XY,
        notes=("lines 1 to 3 read as DeepLabCut writes them", "only counts the rows", _SURE),
    ),
    Case(
        file="mouseDLC_resnet50.h5",
        program="DeepLabCut",
        made="pandas, PyTables",
        write=_deeplabcut_h5,
        source=_DLC,
        channels=_XY,
        notes=("lines 1 to 3 read as DeepLabCut writes them", "only counts the rows", _SURE),
        needs=("tables",),
        refused="pandas.read_hdf(…).to_csv(…)",
        mend=_as_csv,
    ),
    Case(
        file="sleap.csv",
        program="SLEAP",
        made="pandas",
        write=_sleap_csv,
        source=_SLEAP,
        channels=("instance.score", *_XY),
        notes=(_SURE, "column 'track' left out: it holds text", "column 'frame_idx' left out: it only counts the rows"),
    ),
    Case(
        file="sleap_analysis.h5",
        program="SLEAP, analysis file",
        made="h5py",
        write=_sleap_h5,
        source=_SLEAP,
        channels=_XY,
        notes=("read as an analysis file of SLEAP: its tracks",),
    ),
    Case(
        file="ethovision.txt",
        program="EthoVision XT",
        made="bytes",
        write=_ethovision,
        source="cthsu86/CynthiSeize `readSingleWellData.m`, which reads such files",
        channels=("X center", "Y center", "Area"),
        rate=25.0,
        notes=(
            "lines 1 to 8 skipped: no part of the table, as they have fewer",
            "line 10 skipped: it holds no numbers, but units: s, s, cm, cm, …",
            "column 'Recording time' left out: 'Trial time' is the clock,",
        ),
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
)
