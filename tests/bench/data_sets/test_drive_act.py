"""Drive&Act: poses by frame number, activities as pieces of at most 90 frames."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import AnnotationError, RecordingError
from rondo_bench.data_sets.fetch import offers
from tests.bench.data_sets.published import csv_file

JOINTS = [f"joint{i}" for i in range(25)] + ["background"]
CHANNELS = [f"{joint}_{part}" for joint in JOINTS for part in "xyzp"]
RUN = "run1b_2018-05-29-14-02-47"
COLUMNS = ("participant_id", "file_id", "annotation_id", "frame_start", "frame_end", "activity", "chunk_id")


def poses(folder: Path, frames: list[int], driver: str = "vp1", run: str = RUN) -> Path:
    rows = [[frame, 1527595367 + frame / 30, *(frame + column / 1000 for column in range(104))] for frame in frames]
    path = folder / "openpose_3d" / driver / f"{run}.ids_1.openpose.3d.csv"
    return csv_file(path, ("frame_id", "timestamp", *CHANNELS), rows)


def activities(
    folder: Path, pieces: list[tuple[str, int, int, str]], track: str = "tasklevel", view: str = "inner_mirror"
) -> Path:
    camera = {"inner_mirror": "ids_1", "a_column_driver": "ids_5"}[view]
    rows = [[1, f"vp1/{run}.{camera}", i, start, end, name, 0] for i, (run, start, end, name) in enumerate(pieces)]
    return csv_file(folder / "activities_3s" / view / f"{track}.chunks_90.csv", COLUMNS, rows)


def test_poses(tmp_path: Path) -> None:
    recording = drive_act.read_recording(poses(tmp_path, [0, 1, 2]))
    assert recording.id == f"vp1_{RUN}"
    assert (recording.values.shape, recording.channels) == ((3, 104), tuple(CHANNELS))
    npt.assert_allclose(recording.values[2], 2 + np.arange(104) / 1000, rtol=1e-6)
    assert recording.rate == pytest.approx(30, rel=1e-4)


def test_a_row_gets_the_activity_of_its_frame(tmp_path: Path) -> None:
    path = poses(tmp_path, [0, 89, 90, 95, 180, 181])  # frames without a skeleton are no rows
    pieces = [(RUN, 0, 90, "work"), (RUN, 90, 95, "work"), (RUN, 180, 181, "eat_drink")]
    activities(tmp_path, [*pieces, ("run2_2018-05-29-14-33-44", 0, 999, "hand_over")])
    annotation = drive_act.read_annotation(path)
    names = [annotation.names[number] for number in annotation.classes]
    assert names == ["work", "work", "work", "none", "eat_drink", "none"]
    assert len(annotation.names) == 13


def test_pieces_are_those_of_the_camera_of_the_poses(tmp_path: Path) -> None:
    path = poses(tmp_path, [0, 1, 2])
    activities(tmp_path, [(RUN, 0, 3, "work")], view="a_column_driver")  # its frames are others
    with pytest.raises(
        AnnotationError, match=f"no activities of vp1_{RUN} in frames of ids_1.*only of ids_5.*inner_mi"
    ):
        drive_act.read_annotation(path)
    activities(tmp_path, [(RUN, 1, 3, "work")])
    assert drive_act.read_annotation(path).classes.tolist() == [0, 12, 12]
    kept = offers()["drive_act"].keep
    assert any(fnmatch("activities_3s/inner_mirror/tasklevel.chunks_90.csv", pattern) for pattern in kept)


def test_other_tracks_lie_beside_it(tmp_path: Path) -> None:
    path = poses(tmp_path, [0, 1])
    activities(tmp_path, [(RUN, 1, 2, "writing"), ("run2", 0, 1, "drinking")], "midlevel")
    annotation = drive_act.read_annotation(path, "midlevel")
    assert (annotation.classes.tolist(), annotation.names) == ([0, 2], ("none", "drinking", "writing"))


def test_runs_are_found_by_driver(tmp_path: Path) -> None:
    assert drive_act.find_files(tmp_path) == []
    for driver, run in (("vp10", "run1_a"), ("vp2", "run2_b"), ("vp2", "run1_c")):
        poses(tmp_path, [0], driver, run)
    found = [drive_act.recording_id(path) for path in drive_act.find_files(tmp_path)]
    assert found == ["vp2_run1_c", "vp2_run2_b", "vp10_run1_a"]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = poses(tmp_path, [0])
    with pytest.raises(AnnotationError, match=r"no activities_3s/inner_mirror/tasklevel.chunks_90.csv beside it"):
        drive_act.read_annotation(path)
    activities(tmp_path, [(RUN, 0, 90, "juggling")])
    with pytest.raises(AnnotationError, match="'juggling' is no task of Drive&Act"):
        drive_act.read_annotation(path)
    activities(tmp_path, [("run2", 0, 90, "work")])
    with pytest.raises(AnnotationError, match=f"no activities of vp1_{RUN}"):
        drive_act.read_annotation(path)
    activities(tmp_path, [(RUN, 0, 90, "work")]).write_text("file_id,start\n")
    with pytest.raises(RecordingError, match="no column 'frame_start'"):
        drive_act.read_annotation(path)
    csv_file(path, ("frame_id", "timestamp", *CHANNELS[4:]), [[0, 0, *range(100)]])
    with pytest.raises(RecordingError, match="expected 104 as in the 3D poses of Drive&Act, got 100 columns"):
        drive_act.read_recording(path)


@pytest.mark.data
def test_real_tracks_come_back_from_their_published_form(tmp_path: Path, data_dir: Path) -> None:
    """The label tracks at hand, cut into pieces of 90 frames as the tables have them."""
    file = next((data_dir / "DriveAct_labels").glob("vp11_run2_*.npz"))
    track = np.load(file)["y"].astype(np.int64)
    edges = np.flatnonzero(np.diff(track)) + 1
    pieces = [
        (RUN, int(at), int(min(at + 90, stop)), f"activity {track[start]:02d}")
        for start, stop in zip([0, *edges], [*edges, track.size], strict=True)
        if track[start]
        for at in range(start, stop, 90)
    ]
    activities(tmp_path, pieces, "midlevel")
    path = tmp_path / "openpose_3d" / "vp1" / f"{RUN}.ids_1.openpose.3d.csv"
    csv_file(path, ("frame_id", "timestamp"), [[frame, frame / 30] for frame in range(track.size)])
    annotation = drive_act.read_annotation(path, "midlevel")
    numbers = np.array([0, *(int(name.split()[1]) for name in annotation.names[1:])])
    npt.assert_array_equal(numbers[annotation.classes], track)
