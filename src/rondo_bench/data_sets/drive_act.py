"""Drive&Act (Martin et al., ICCV 2019): what people do in an automated car, as 3D poses. For academic use.

driveandact.com: iccv_openpose_3d.zip and iccv_activities_3s.zip. Fifteen drivers (vp1 to vp15) made two runs each, of
which 29 have a pose; 30 frames a second:

    openpose_3d/vp1/run1b_2018-05-29-14-02-47.ids_1.openpose.3d.csv
        frame_id, timestamp (s), then x, y, z and a score for each of 26 joints: the paper's 104 channels (OpenPose's
        25 and one called background)
    activities_3s/inner_mirror/tasklevel.chunks_90.csv
        participant_id, file_id (vp1/run1b_2018-05-29-14-02-47.ids_1), annotation_id, frame_start, frame_end, activity,
        chunk_id: pieces of about three seconds, [start, end)

frame_end is exclusive: in the published tables a piece begins at the number with which the one before it ends, within
an activity and between two (130,156,entering_car then 156,174,closing_door_inside); read inclusively, such frames would
have two activities. The readings differ in one frame for each piece that nothing follows.

Every camera counts its own frames and has a table of its own, in which file_id ends in its number (by scripts that read
the set: ids_1 inner_mirror, 2 a_column_co_driver, 3 ceiling, 4 steering_wheel, 5 a_column_driver). The poses are
numbered by the frames of ids_1, so only pieces with that file_id are theirs.

The paper's 13 classes are the 12 of the task level and none; a midlevel table (34 fine activities) and others lie
beside it. A row of poses gets the class of its frame_id, none where no piece covers it. What OpenPose did not see is
kept as it is stored. The tables were seen; the layout of the poses is that of scripts that read them (none was at
hand), so let `rondo datasets verify drive_act` speak, among others by what a constant prediction must score.
"""

from __future__ import annotations

import re
from pathlib import Path

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, RecordingError
from rondo_bench.data_sets.header_table import read_columns, read_header, read_rows, whole_number
from rondo_bench.data_sets.number_table import timed_recording
from rondo_bench.data_sets.spans import painted

Rows = list[tuple[str, ...]]
RATE = 30.0
N_CHANNELS = 104
TASKS = (
    "eat_drink", "fasten_seat_belt", "final_task", "hand_over", "put_on_jacket", "put_on_sunglasses",
    "read_write_magazine", "read_write_newspaper", "take_off_jacket", "take_off_sunglasses", "watch_video", "work",
)  # fmt: skip
_COLUMNS = ("file_id", "frame_start", "frame_end", "activity")
_WHAT, _SUFFIX, _CLOCKS = "Drive&Act", ".openpose.3d.csv", ("frame_id", "timestamp")
_VIEWS = ("inner_mirror", "*", "")  # the camera of the poses first


def find_files(folder: Path) -> list[Path]:
    """The poses of all runs, by driver and run."""

    def order(path: Path) -> tuple[int, str]:
        number = re.sub(r"\D", "", path.parent.name)
        return (int(number) if number else 0, path.name)

    return sorted(folder.rglob(f"*{_SUFFIX}"), key=order)


def recording_id(path: Path) -> str:
    """Driver and run.

    >>> recording_id(Path("openpose_3d/vp1/run2_2018-05-29-14-33-44.ids_1.openpose.3d.csv"))
    'vp1_run2_2018-05-29-14-33-44'
    """
    return f"{path.parent.name}_{_run(path)}"


def read_recording(path: Path) -> Recording:
    """One run, without its activities."""
    header = read_header(path, _WHAT)
    channels = [name for name in header if name not in _CLOCKS]
    if header[:2] != list(_CLOCKS) or len(channels) != N_CHANNELS:
        found = f"{len(channels)} columns beside {', '.join(_CLOCKS)}"
        raise RecordingError(f"{path}: expected {N_CHANNELS} as in the 3D poses of {_WHAT}, got {found}")
    numbers = read_columns(path, ["timestamp", *channels], _WHAT)
    return timed_recording(path, numbers[:, 1:], numbers[:, 0], RATE, channels).renamed(recording_id(path))


def read_annotation(path: Path, track: str = "tasklevel") -> Annotation:
    """The activity of each row of that run, in the table `<track>.chunks_90.csv`."""
    table, every, rows = _pieces(path, track)
    if track == "tasklevel":
        unknown = next((row[3] for row in rows if row[3] not in TASKS), None)
        if unknown is not None:
            raise AnnotationError(f"{table}: '{unknown}' is no task of {_WHAT}, which has {', '.join(TASKS)}")
    names = ("none", *(TASKS if track == "tasklevel" else sorted({row[3] for row in every})))
    starts, stops = ([whole_number(row[i], table, _COLUMNS[i]) for row in rows] for i in (1, 2))
    frames = read_columns(path, ["frame_id"], _WHAT)[:, 0]
    classes = painted(frames, starts, stops, [names.index(row[3]) for row in rows])
    return Annotation(classes, names, id=recording_id(path))


def _pieces(path: Path, track: str) -> tuple[Path, Rows, Rows]:
    """The first table with pieces in the frames of the poses: where it is, all of its rows, and those of this run."""
    run, _, camera = path.name.removesuffix(_SUFFIX).partition(".ids_")
    tables = _tables(path, track)
    others: set[str] = set()
    for table in tables:
        every = read_rows(table, _COLUMNS, _WHAT)
        of_run = [row for row in every if _run_of_id(row[0]) == run]
        own = [row for row in of_run if row[0].rpartition(".ids_")[2] == camera]
        if own:
            return table, every, own
        others |= {row[0].rpartition(".")[2] for row in of_run}
    found = f", only of {', '.join(sorted(others))}" if others else ""
    raise AnnotationError(
        f"{tables[0]}: no activities of {recording_id(path)} in frames of ids_{camera}{found}; "
        f"give activities_3s/{_VIEWS[0]}/{tables[0].name} of the same release"
    )


def _tables(path: Path, track: str) -> list[Path]:
    """The tables of a label track, one for each camera: in a folder activities_3s beside the poses or above them."""
    name = f"{track}.chunks_90.csv"
    found = [
        table
        for view in _VIEWS
        for parent in list(path.parents)[:5]
        for folder in ("activities_3s", "iccv_activities_3s", "iccv_activities_3s/activities_3s")
        for table in sorted((parent / folder).glob(f"{view}/{name}" if view else name))
    ]
    if not found:
        raise AnnotationError(
            f"{path}: no activities_3s/{_VIEWS[0]}/{name} beside it; unpack iccv_activities_3s.zip there"
        )
    return list(dict.fromkeys(found))


def _run(path: Path) -> str:
    return path.name.removesuffix(_SUFFIX).split(".ids_")[0]


def _run_of_id(file_id: str) -> str:
    return file_id.rsplit("/", 1)[-1].split(".ids_")[0]
