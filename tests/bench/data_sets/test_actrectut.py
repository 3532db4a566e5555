"""ActRecTut: sensors that run by themselves, put on one clock; keys that become classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
import scipy.io

from rondo.errors import AnnotationError, RecordingError
from tests.bench.data_sets.published import blank_file, written


def sensor(folder: Path, name: str, times: list[float], slope: float = 1.0) -> Path:
    """Six readings that grow with time, so that what lies between two rows is known."""
    rows = [[f"{time:.12f}", name[1:], 7, *(slope * time + column for column in range(6))] for time in times]
    return blank_file(folder / f"{name}.dat", rows, end=" \n")  # the published lines end in a blank


def recorded(folder: Path, keys: list[tuple[float, int]], sensors: tuple[str, ...] = ("S131", "S125", "S112")) -> Path:
    sensor(folder, "S111", [10.0, 10.5, 11.0])
    for name in sensors:
        sensor(folder, name, [9.75, 10.25, 11.25], slope=2.0)
    blank_file(folder / "labels.dat", [[f"{time:.12f}", key] for time, key in keys], end=" \n")
    return folder


def test_other_sensors_are_interpolated_onto_the_clock(tmp_path: Path) -> None:
    recording = actrectut.read_recording(recorded(tmp_path / "subject1_walk", [(9.0, 0)]))
    assert (recording.id, recording.rate, recording.channels) == ("subject1_walk", 32, actrectut.CHANNELS)
    column = dict(zip(recording.channels, recording.values.T.tolist(), strict=True))
    assert column["S111_acc_x"] == [10, 10.5, 11]
    assert column["S111_gyr_z"] == [15, 15.5, 16]
    assert column["S131_acc_x"] == column["S112_acc_x"] == [20, 21, 22]
    assert column["S125_gyr_y"] == [24, 25, 26]


def test_a_sensor_that_was_not_worn_is_zero(tmp_path: Path) -> None:
    recording = actrectut.read_recording(recorded(tmp_path / "subject1_gesture", [(9.0, 0)], ("S131", "S125")))
    assert recording.n_channels == 24
    assert not recording.values[:, 18:].any()
    assert recording.values[:, :18].all()


def test_the_key_held_last_is_the_class(tmp_path: Path) -> None:
    walk = actrectut.read_annotation(recorded(tmp_path / "subject2_walk", [(10.4, 49), (10.9, 53)]))
    assert [walk.names[number] for number in walk.classes] == ["NULL", "sitting", "walk up"]
    gesture = actrectut.read_annotation(
        recorded(tmp_path / "subject2_gesture", [(10.0, 49), (10.5, 39), (10.9, 16_777_220)])
    )
    assert [gesture.names[number] for number in gesture.classes] == ["Open window", "Smash", "NULL"]


def test_matlab_files_are_read_where_the_sensors_are_missing(tmp_path: Path) -> None:
    folder = tmp_path / "subject1_gesture"
    folder.mkdir()
    scipy.io.savemat(folder / "data.mat", {"data": np.ones((3, 15)), "labels": np.array([[1], [2], [12]], np.uint8)})
    recording, annotation = actrectut.read_recording(folder), actrectut.read_annotation(folder)
    assert recording.values.shape == (3, 15)
    assert "data.mat" in recording.notes[0]
    assert [annotation.names[number] for number in annotation.classes] == ["NULL", "Open window", "Smash"]
    scipy.io.savemat(folder / "data.mat", {"data": np.ones((1, 15)), "labels": np.array([[13]])})
    with pytest.raises(AnnotationError, match="labels from 13 to 13"):
        actrectut.read_annotation(folder)


def test_folders_are_found_in_the_repository(tmp_path: Path) -> None:
    assert actrectut.find_files(tmp_path) == []
    for name in ("subject2_gesture", "subject1_walk"):
        recorded(tmp_path / "Data" / name, [(9.0, 0)])
    (tmp_path / "Data" / "subject2_walk").mkdir()
    assert [path.name for path in actrectut.find_files(tmp_path)] == ["subject1_walk", "subject2_gesture"]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match="ends in _walk or _gesture"):
        actrectut.read_annotation(recorded(tmp_path / "subject1_run", [(9.0, 0)]))
    folder = tmp_path / "subject1_walk"
    with pytest.raises(RecordingError, match=r"data.mat: there is no such file"):
        actrectut.read_recording(folder)
    written(folder / "data.mat", "no MATLAB file")
    with pytest.raises(RecordingError, match="damaged, or no MATLAB file"):
        actrectut.read_recording(folder)
    scipy.io.savemat(folder / "data.mat", {"other": np.ones(3)})
    with pytest.raises(RecordingError, match="no variable 'data'"):
        actrectut.read_recording(folder)
    npt.assert_equal(len(actrectut.CLASSES), 17)
