"""OpenPack (Yoshimura et al., PerCom 2024): packing in a warehouse, with two levels of labels. CC BY-NC-SA 4.0.

zenodo.org/records/8145223; a session for trying out lies in github.com/open-pack/openpack-toolkit. Not in the paper.
Per subject and session, under `openpack/v1.0.0/U0209/`, csv with a header:

    atr/atr01/S0500.csv to atr04          unixtime (ms), acc_x y z (g), gyro_x y z (degrees per second), quat_w x y z
    annotation/openpack-operations/…      id, operation, start, end (dates with a zone) ...
    annotation/openpack-actions/…         id, operation, action, start, end ...

The wrists and upper arms carry the four IMUs; those of atr02 to 04 are interpolated onto the times of atr01 (30 Hz by
the documentation, 30 ms apart in the files). Classes are ten operations (100, 200 ... 1000) and none; actions are the
units within them. The ready-made `preprocessed/imuWithOperationLabel/U0209-S0500.csv` is read as well: unixtime,
operation, atr01/acc_x ... in one file, operations only.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError
from rondo.files.text.spelling import date_seconds
from rondo_bench.data_sets.header_table import read_columns, read_rows, whole_number
from rondo_bench.data_sets.spans import painted

RATE = 30.0
DEVICES = ("atr01", "atr02", "atr03", "atr04")
_READINGS = tuple(f"{kind}_{axis}" for kind in ("acc", "gyro") for axis in "xyz")
CHANNELS = tuple(f"{device}_{reading}" for device in DEVICES for reading in _READINGS)
OPERATIONS = {
    0: "none", 100: "Picking", 200: "Relocate Item Label", 300: "Assemble Box", 400: "Insert Items", 500: "Close Box",
    600: "Attach Box Label", 700: "Scan Label", 800: "Attach Shipping Label", 900: "Put on Back Table",
    1000: "Fill out Order",
}  # fmt: skip
TRACKS = ("operations", "actions")
_WHAT, _NULL = "OpenPack", 8100  # their number for what is no operation
_IN_ONE_FILE = re.compile(r"U\d{4}-S\d{4}")


def find_files(folder: Path) -> list[Path]:
    """The file of the first IMU of every session, or the ready-made files where there are none."""
    for place in (folder, folder / "v1.0.0", folder / "openpack", folder / "openpack" / "v1.0.0"):
        found = sorted(place.glob("U[0-9]*/atr/atr01/S[0-9]*.csv"))
        if found:
            return found
    return sorted(path for path in folder.rglob("U*-S*.csv") if _IN_ONE_FILE.fullmatch(path.stem))


def recording_id(path: Path) -> str:
    """Subject and session.

    >>> recording_id(Path("v1.0.0/U0209/atr/atr01/S0500.csv"))
    'U0209-S0500'
    """
    return path.stem if _IN_ONE_FILE.fullmatch(path.stem) else f"{path.parents[2].name}-{path.stem}"


def read_recording(path: Path) -> Recording:
    """The four IMUs of a session, without annotations."""
    if _IN_ONE_FILE.fullmatch(path.stem):
        names = [f"{device}/{reading}" for device in DEVICES for reading in _READINGS]
        return Recording(read_columns(path, names, _WHAT), RATE, CHANNELS, recording_id(path))
    clock = _times(path)
    values = np.empty((clock.size, len(CHANNELS)), dtype=np.float32)
    for i, device in enumerate(DEVICES):
        rows = read_columns(path.parents[1] / device / path.name, ["unixtime", *_READINGS], _WHAT)
        for j in range(len(_READINGS)):
            values[:, i * len(_READINGS) + j] = np.interp(clock, rows[:, 0], rows[:, 1 + j])
    return Recording(values, RATE, CHANNELS, recording_id(path))


def read_annotation(path: Path, track: str = "operations") -> Annotation:
    """The operation (or action) of each frame; classes are numbered 0, 1, ... in the order of their ids."""
    if track not in TRACKS:
        raise AnnotationError(f"OpenPack has no track '{track}'; choose among {', '.join(TRACKS)}")
    if _IN_ONE_FILE.fullmatch(path.stem):
        if track != "operations":
            raise AnnotationError(f"{path}: the ready-made files hold operations only; get the archive of the subject")
        return _named(read_columns(path, ["operation"], _WHAT)[:, 0].astype(np.int64), OPERATIONS, path)
    table = path.parents[2] / "annotation" / f"openpack-{track}" / path.name
    rows = read_rows(table, ["id", track.removesuffix("s"), "start", "end"], _WHAT)
    ids = [whole_number(id, table, "id") for id, *_ in rows]
    starts, ends = ([date_seconds(row[column]) * 1000 for row in rows] for column in (2, 3))
    if not np.isfinite([*starts, *ends]).all():
        raise AnnotationError(f"{table}: a start or end is no date; get the file again")
    names = (
        OPERATIONS if track == "operations" else {0: "none"} | {id: row[1] for id, row in zip(ids, rows, strict=True)}
    )
    return _named(painted(_times(path), starts, ends, ids), names, path)


def _times(path: Path) -> NDArray[np.float64]:
    return read_columns(path, ["unixtime"], _WHAT)[:, 0]


def _named(ids: NDArray[np.int64], names: dict[int, str], path: Path) -> Annotation:
    known = np.array(sorted(names))
    ids = np.where(ids == _NULL, 0, ids)
    unknown = ids[~np.isin(ids, known)]
    if unknown.size:
        raise AnnotationError(f"{path}: class {unknown[0]} is none of {_WHAT}, which has {known.tolist()}")
    return Annotation(np.searchsorted(known, ids), tuple(names[int(i)] for i in known), id=recording_id(path))
