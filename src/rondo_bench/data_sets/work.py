"""Sets of people at work and in a car: LARa, OpenPack, Drive&Act.

LARa, version 3 (Niemann et al., Sensors 2020; zenodo.org/records/8189341, Creative Commons): picking and packing in a
warehouse, the five MbientLab IMUs of subjects 7 to 14. Per recording two csv with a header, one row for each hundredth
of a second in both:

    S07/L01_S07_R01.csv          Time (a date), then for left arm, left leg, neck, right arm, right leg (LA LL N RA RL)
                                 AccelerometerX Y Z (g), GyroscopeX Y Z (degrees per second): the paper's 30 channels
    S07/L01_S07_R01_labels.csv   Class, then 19 attributes of 0 and 1 (I-A_GaitCycle ... VI-A_Error)

Scripts that read the files also expect `class`, and last lines with more or fewer cells than the header has. Such lines
are cut, with those at their place in the other file.

The paper counts 193 recordings with 2,224,452 rows and all 8 classes. Layout and names are those that the authors' own
tools read; no file of version 3 was at hand, so let `rondo datasets verify lara` speak.

OpenPack (Yoshimura et al., PerCom 2024; zenodo.org/records/8145223, CC BY-NC-SA 4.0; a sample lies in
github.com/open-pack/openpack-toolkit): packing in a warehouse. Not in the paper. Under `openpack/v1.0.0/U0209/`:

    atr/atr01/S0500.csv to atr04          unixtime (ms), acc_x y z (g), gyro_x y z (degrees per second), quat_w x y z
    annotation/openpack-operations/…      id, operation, start, end (dates with a zone) ...

The wrists and upper arms carry the four IMUs; those of atr02 to 04 are interpolated onto the times of atr01 (30 Hz by
the documentation, 30 ms apart in the files). Classes are ten operations (100, 200 ... 1000) and none. The ready-made
`preprocessed/imuWithOperationLabel/U0209-S0500.csv` is read as well: unixtime, operation, atr01/acc_x ... in one file.

Drive&Act (Martin et al., ICCV 2019; driveandact.com, for academic use: iccv_openpose_3d.zip, iccv_activities_3s.zip):
what people do in an automated car, as 3D poses. Fifteen drivers made two runs each, of which 29 have a pose, at 30 Hz:

    openpose_3d/vp1/run1b_2018-05-29-14-02-47.ids_1.openpose.3d.csv
        frame_id, timestamp (s), then x, y, z and a score for each of 26 joints: the paper's 104 channels
    activities_3s/inner_mirror/tasklevel.chunks_90.csv
        participant_id, file_id (vp1/run1b_2018-05-29-14-02-47.ids_1), annotation_id, frame_start, frame_end, activity,
        chunk_id: pieces of about three seconds, [start, end): a piece begins at the number with which another ends

Every camera counts its own frames and has a table of its own, in which file_id ends in its number (ids_1 inner_mirror,
2 a_column_co_driver, 3 ceiling, 4 steering_wheel, 5 a_column_driver). The poses are numbered by the frames of ids_1, so
only pieces with that file_id are theirs. The paper's 13 classes are the 12 of the task level and none. A row of poses
gets the class of its frame_id, none where no piece covers it. The tables were seen; the layout of the poses is that of
scripts that read them, so let `rondo datasets verify drive_act` speak.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, RecordingError
from rondo.files.text.spelling import date_seconds
from rondo.wording import counted
from rondo_bench.data_sets.tables import (
    Reader,
    numbered,
    painted,
    read_columns,
    read_header,
    read_rows,
    timed_recording,
    whole_number,
    whole_rows,
)

LARA_RATE = 100.0
LARA_SUBJECTS = range(7, 15)
LARA_CHANNELS = tuple(
    f"{place}_{sensor}{axis}"
    for place in ("LA", "LL", "N", "RA", "RL")
    for sensor in ("Accelerometer", "Gyroscope")
    for axis in "XYZ"
)
LARA_CLASSES = {
    0: "standing", 1: "walking", 2: "cart", 3: "handling upwards", 4: "handling centred", 5: "handling downwards",
    6: "synchronization", 7: "none",
}  # fmt: skip
_LARA = "LARa"
_LARA_NAME = re.compile(r"L\d\d_S(\d\d)_R\d\d")


def find_lara(folder: Path) -> list[Path]:
    """The annotated recordings of subjects 7 to 14, wherever in the folder the archive puts them."""
    found: dict[str, Path] = {}
    for labels in sorted(folder.rglob("L*_labels.csv")):
        stem = labels.stem.removesuffix("_labels")
        match, path = _LARA_NAME.fullmatch(stem), labels.with_name(f"{stem}.csv")
        if match and int(match[1]) in LARA_SUBJECTS and path.is_file():
            found.setdefault(stem, path)
    return [found[stem] for stem in sorted(found)]


def read_lara(path: Path) -> Recording:
    n_cut, n_rows = _cut_rows(path)
    notes = (f"{counted(n_cut, 'row')} cut at the end, whose lines are torn",) if n_cut else ()
    values = read_columns(path, LARA_CHANNELS, _LARA, n_rows=n_rows)
    return Recording(values, LARA_RATE, LARA_CHANNELS, path.stem, notes=notes)


def lara_annotation(path: Path) -> Annotation:
    labels = _lara_labels(path)
    named = next((name for name in ("Class", "class") if name in read_header(labels, _LARA)), "Class")
    classes = read_columns(labels, [named], _LARA, n_rows=_cut_rows(path)[1])[:, 0]
    return numbered(classes, LARA_CLASSES, path.stem, labels, _LARA)


def _lara_labels(path: Path) -> Path:
    return path.with_name(f"{path.stem}_labels.csv")


def _cut_rows(path: Path) -> tuple[int, int | None]:
    """How many rows at the end of a recording are torn, in its file or that of its labels, and how many are left.

    None are left out of files with another number of lines: those are no pair, which is refused elsewhere.
    """
    sizes = [whole_rows(file, _LARA) for file in (path, _lara_labels(path)) if file.is_file()]
    n_lines, n_whole = max(n_lines for n_lines, _ in sizes), min(n_whole for _, n_whole in sizes)
    is_torn = n_whole < n_lines and len({n_lines for n_lines, _ in sizes}) == 1
    return (n_lines - n_whole, n_whole) if is_torn else (0, None)


OPENPACK_RATE = 30.0
DEVICES = ("atr01", "atr02", "atr03", "atr04")
_READINGS = tuple(f"{kind}_{axis}" for kind in ("acc", "gyro") for axis in "xyz")
OPENPACK_CHANNELS = tuple(f"{device}_{reading}" for device in DEVICES for reading in _READINGS)
OPERATIONS = {
    0: "none", 100: "Picking", 200: "Relocate Item Label", 300: "Assemble Box", 400: "Insert Items", 500: "Close Box",
    600: "Attach Box Label", 700: "Scan Label", 800: "Attach Shipping Label", 900: "Put on Back Table",
    1000: "Fill out Order",
}  # fmt: skip
_OPENPACK, _NULL = "OpenPack", 8100  # their number for what is no operation
_IN_ONE_FILE = re.compile(r"U\d{4}-S\d{4}")


def find_openpack(folder: Path) -> list[Path]:
    """The file of the first IMU of every session, or the ready-made files where there are none."""
    for place in (folder, folder / "v1.0.0", folder / "openpack", folder / "openpack" / "v1.0.0"):
        found = sorted(place.glob("U[0-9]*/atr/atr01/S[0-9]*.csv"))
        if found:
            return found
    return sorted(path for path in folder.rglob("U*-S*.csv") if _IN_ONE_FILE.fullmatch(path.stem))


def openpack_id(path: Path) -> str:
    """`U0209-S0500` for v1.0.0/U0209/atr/atr01/S0500.csv."""
    return path.stem if _IN_ONE_FILE.fullmatch(path.stem) else f"{path.parents[2].name}-{path.stem}"


def read_openpack(path: Path) -> Recording:
    if _IN_ONE_FILE.fullmatch(path.stem):
        names = [f"{device}/{reading}" for device in DEVICES for reading in _READINGS]
        return Recording(read_columns(path, names, _OPENPACK), OPENPACK_RATE, OPENPACK_CHANNELS, openpack_id(path))
    clock = _times(path)
    values = np.empty((clock.size, len(OPENPACK_CHANNELS)), dtype=np.float32)
    for i, device in enumerate(DEVICES):
        rows = read_columns(path.parents[1] / device / path.name, ["unixtime", *_READINGS], _OPENPACK)
        for j in range(len(_READINGS)):
            values[:, i * len(_READINGS) + j] = np.interp(clock, rows[:, 0], rows[:, 1 + j])
    return Recording(values, OPENPACK_RATE, OPENPACK_CHANNELS, openpack_id(path))


def openpack_annotation(path: Path) -> Annotation:
    """The operation of each frame; classes are numbered 0, 1, ... in the order of their ids."""
    if _IN_ONE_FILE.fullmatch(path.stem):
        ids = read_columns(path, ["operation"], _OPENPACK)[:, 0].astype(np.int64)
    else:
        table = path.parents[2] / "annotation" / "openpack-operations" / path.name
        rows = read_rows(table, ["id", "start", "end"], _OPENPACK)
        starts, ends = ([date_seconds(row[column]) * 1000 for row in rows] for column in (1, 2))
        if not np.isfinite([*starts, *ends]).all():
            raise AnnotationError(f"{table}: a start or end is no date; get the file again")
        ids = painted(_times(path), starts, ends, [whole_number(row[0], table, "id") for row in rows])
    ids = np.where(ids == _NULL, 0, ids)
    known = list(OPERATIONS)
    unknown = ids[~np.isin(ids, known)]
    if unknown.size:
        raise AnnotationError(f"{path}: class {unknown[0]} is none of {_OPENPACK}, which has {known}")
    return Annotation(np.searchsorted(known, ids), tuple(OPERATIONS.values()), id=openpack_id(path))


def _times(path: Path) -> NDArray[np.float64]:
    return read_columns(path, ["unixtime"], _OPENPACK)[:, 0]


DRIVE_ACT_RATE = 30.0
N_CHANNELS = 104
TASKS = (
    "eat_drink", "fasten_seat_belt", "final_task", "hand_over", "put_on_jacket", "put_on_sunglasses",
    "read_write_magazine", "read_write_newspaper", "take_off_jacket", "take_off_sunglasses", "watch_video", "work",
)  # fmt: skip
_DRIVE_ACT_COLUMNS = ("file_id", "frame_start", "frame_end", "activity")
_DRIVE_ACT, _SUFFIX, _CLOCKS = "Drive&Act", ".openpose.3d.csv", ("frame_id", "timestamp")
_TABLE = "tasklevel.chunks_90.csv"
_VIEWS = ("inner_mirror", "*", "")  # the camera of the poses first


def find_drive_act(folder: Path) -> list[Path]:
    def order(path: Path) -> tuple[int, str]:
        number = re.sub(r"\D", "", path.parent.name)
        return (int(number) if number else 0, path.name)

    return sorted(folder.rglob(f"*{_SUFFIX}"), key=order)


def drive_act_id(path: Path) -> str:
    """`vp1_run2_2018-05-29-14-33-44` for vp1/run2_2018-05-29-14-33-44.ids_1.openpose.3d.csv."""
    return f"{path.parent.name}_{path.name.removesuffix(_SUFFIX).split('.ids_')[0]}"


def read_drive_act(path: Path) -> Recording:
    header = read_header(path, _DRIVE_ACT)
    channels = [name for name in header if name not in _CLOCKS]
    if header[:2] != list(_CLOCKS) or len(channels) != N_CHANNELS:
        found = f"{len(channels)} columns beside {', '.join(_CLOCKS)}"
        raise RecordingError(f"{path}: expected {N_CHANNELS} as in the 3D poses of {_DRIVE_ACT}, got {found}")
    numbers = read_columns(path, ["timestamp", *channels], _DRIVE_ACT)
    return timed_recording(path, numbers[:, 1:], numbers[:, 0], DRIVE_ACT_RATE, channels).renamed(drive_act_id(path))


def drive_act_annotation(path: Path) -> Annotation:
    table, rows = _pieces(path)
    unknown = next((row[3] for row in rows if row[3] not in TASKS), None)
    if unknown is not None:
        raise AnnotationError(f"{table}: '{unknown}' is no task of {_DRIVE_ACT}, which has {', '.join(TASKS)}")
    starts, stops = ([whole_number(row[i], table, _DRIVE_ACT_COLUMNS[i]) for row in rows] for i in (1, 2))
    frames = read_columns(path, ["frame_id"], _DRIVE_ACT)[:, 0]
    classes = painted(frames, starts, stops, [1 + TASKS.index(row[3]) for row in rows])
    return Annotation(classes, ("none", *TASKS), id=drive_act_id(path))


def _pieces(path: Path) -> tuple[Path, list[tuple[str, ...]]]:
    """The first table with pieces of this run in the frames of its poses, and those rows."""
    run, _, camera = path.name.removesuffix(_SUFFIX).partition(".ids_")
    tables = _tables(path)
    others: set[str] = set()
    for table in tables:
        rows = read_rows(table, _DRIVE_ACT_COLUMNS, _DRIVE_ACT)
        of_run = [row for row in rows if row[0].rsplit("/", 1)[-1].split(".ids_")[0] == run]
        own = [row for row in of_run if row[0].rpartition(".ids_")[2] == camera]
        if own:
            return table, own
        others |= {row[0].rpartition(".")[2] for row in of_run}
    found = f", only of {', '.join(sorted(others))}" if others else ""
    raise AnnotationError(
        f"{tables[0]}: no activities of {drive_act_id(path)} in frames of ids_{camera}{found}; "
        f"give activities_3s/{_VIEWS[0]}/{_TABLE} of the same release"
    )


def _tables(path: Path) -> list[Path]:
    """The tables of tasks, one for each camera: in a folder activities_3s beside the poses or above them."""
    found = [
        table
        for view in _VIEWS
        for parent in list(path.parents)[:5]
        for folder in ("activities_3s", "iccv_activities_3s", "iccv_activities_3s/activities_3s")
        for table in sorted((parent / folder).glob(f"{view}/{_TABLE}" if view else _TABLE))
    ]
    if not found:
        raise AnnotationError(
            f"{path}: no activities_3s/{_VIEWS[0]}/{_TABLE} beside it; unpack iccv_activities_3s.zip there"
        )
    return list(dict.fromkeys(found))


READERS = {
    "lara": Reader(find_lara, read_lara, lara_annotation),
    "openpack": Reader(find_openpack, read_openpack, openpack_annotation, openpack_id),
    "drive_act": Reader(find_drive_act, read_drive_act, drive_act_annotation, drive_act_id),
}
