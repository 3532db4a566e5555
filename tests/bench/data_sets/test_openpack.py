"""OpenPack: four IMUs on one clock, operations and actions that name spans of time."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.errors import AnnotationError, RecordingError
from tests.bench.data_sets.published import csv_file

START_MS = 1_648_531_521_000  # 2022-03-29 14:25:21 in Japan
READINGS = ("unixtime", "acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z", "quat_w", "quat_x", "quat_y", "quat_z")


def session(folder: Path, n_rows: int = 4) -> Path:
    """The files of one session as published: IMU k reads 10 k + column, growing by 1 every 30 ms."""
    user = folder / "U0209"
    for k in range(1, 5):
        late = 15 if k == 2 else 0  # its clock runs 15 ms behind
        rows = [[START_MS + late + 30 * i, *(10 * k + column + i for column in range(10))] for i in range(n_rows)]
        csv_file(user / "atr" / f"atr0{k}" / "S0500.csv", READINGS, rows)
    spans = [("100", "Picking", 30, 60), ("1000", "Fill out Order", 60, 90)]
    date = "2022-03-29 14:25:21.{:03d}000+09:00".format
    csv_file(
        user / "annotation" / "openpack-operations" / "S0500.csv",
        ("uuid", "user", "session", "box", "id", "operation", "start", "end", "actions"),
        [
            ["op:1", "U0209", "S0500", 1, id, name, date(start), date(end), "act:1;act:2"]
            for id, name, start, end in spans
        ],
    )
    csv_file(
        user / "annotation" / "openpack-actions" / "S0500.csv",
        ("uuid", "user", "session", "box", "id", "operation", "action", "start", "end", "box_size"),
        [["act:1", "U0209", "S0500", 1, "108", "Picking", "Walk to Work Bench", date(30), date(89), ""]],
    )
    return user / "atr" / "atr01" / "S0500.csv"


def test_the_imus_share_the_clock_of_the_first(tmp_path: Path) -> None:
    recording = openpack.read_recording(session(tmp_path))
    assert (recording.id, recording.channels) == ("U0209-S0500", openpack.CHANNELS)
    column = dict(zip(recording.channels, recording.values.T.tolist(), strict=True))
    assert column["atr01_acc_x"] == [10, 11, 12, 13]
    assert column["atr04_gyro_z"] == [45, 46, 47, 48]
    assert column["atr02_acc_x"] == [20, 20.5, 21.5, 22.5]


def test_spans_become_classes_of_frames(tmp_path: Path) -> None:
    path = session(tmp_path)
    operations = openpack.read_annotation(path)
    assert [operations.names[number] for number in operations.classes] == ["none", "Picking", "Fill out Order", "none"]
    assert len(operations.names) == 11
    actions = openpack.read_annotation(path, "actions")
    assert actions.classes.tolist() == [0, 1, 1, 0]
    assert actions.names == ("none", "Walk to Work Bench")


def test_the_ready_made_file(tmp_path: Path) -> None:
    header = ("unixtime", "operation", *(f"{device}/{name}" for device in openpack.DEVICES for name in READINGS[1:]))
    path = csv_file(
        tmp_path / "imuWithOperationLabel" / "U0101-S0100.csv",
        header,
        [[START_MS, 8100, *range(40)], [START_MS + 30, 300, *range(40)]],
    )
    assert openpack.find_files(tmp_path) == [path]
    recording, annotation = openpack.read_recording(path), openpack.read_annotation(path)
    assert recording.id == annotation.id == "U0101-S0100"
    assert recording.values[0].tolist() == [10 * device + column for device in range(4) for column in range(6)]
    assert [annotation.names[number] for number in annotation.classes] == ["none", "Assemble Box"]
    with pytest.raises(AnnotationError, match="hold operations only"):
        openpack.read_annotation(path, "actions")


@pytest.mark.parametrize("place", ["", "v1.0.0", "openpack/v1.0.0"])
def test_sessions_are_found_where_the_archive_has_them(tmp_path: Path, place: str) -> None:
    assert openpack.find_files(tmp_path) == []
    path = session(tmp_path / place)
    assert openpack.find_files(tmp_path) == [path]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = session(tmp_path)
    with pytest.raises(AnnotationError, match="no track 'boxes'; choose among operations, actions"):
        openpack.read_annotation(path, "boxes")
    table = tmp_path / "U0209" / "annotation" / "openpack-operations" / "S0500.csv"
    table.write_text(table.read_text().replace(",100,", ",150,"))
    with pytest.raises(AnnotationError, match="class 150 is none of OpenPack"):
        openpack.read_annotation(path)
    table.write_text(table.read_text().replace("2022-03-29", "yesterday"))
    with pytest.raises(AnnotationError, match="a start or end is no date"):
        openpack.read_annotation(path)
    table.unlink()
    with pytest.raises(RecordingError, match=r"S0500.csv: cannot be read"):
        openpack.read_annotation(path)
    (tmp_path / "U0209" / "atr" / "atr03" / "S0500.csv").unlink()
    with pytest.raises(RecordingError, match=r"atr03.S0500.csv: cannot be read"):
        openpack.read_recording(path)
