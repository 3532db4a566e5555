"""LARa: a csv of IMUs and a csv of labels for each recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rondo.errors import AnnotationError, RecordingError
from rondo_bench.data_sets.read import find_copy
from tests.bench.data_sets.published import csv_file

ATTRIBUTES = ("I-A_GaitCycle", "I-B_Step", "VI-A_Error")


def recorded(folder: Path, name: str, classes: list[int], n_rows: int | None = None) -> Path:
    """Both files as published; every cell tells its column."""
    rows = [
        [f"2019-07-01 10:00:00.{10 * i:06d}", *(column + i / 10 for column in range(30))]
        for i in range(len(classes) if n_rows is None else n_rows)
    ]
    csv_file(folder / f"{name}_labels.csv", ("Class", *ATTRIBUTES), [[number, 0, 1, 0] for number in classes])
    return csv_file(folder / f"{name}.csv", ("Time", *lara.CHANNELS), rows)


def test_channels_and_classes(tmp_path: Path) -> None:
    path = recorded(tmp_path, "L01_S07_R01", [6, 0, 7])
    recording, annotation = lara.read_recording(path), lara.read_annotation(path)
    assert (recording.id, recording.rate, recording.values.shape) == ("L01_S07_R01", 100, (3, 30))
    np.testing.assert_allclose(recording.values[1], np.arange(30) + 0.1, rtol=1e-6)
    assert recording.channels[:4] == ("LA_AccelerometerX", "LA_AccelerometerY", "LA_AccelerometerZ", "LA_GyroscopeX")
    assert [annotation.names[number] for number in annotation.classes] == ["synchronization", "standing", "none"]


def test_annotated_recordings_of_the_imus_are_found_wherever_they_lie(tmp_path: Path) -> None:
    assert lara.find_files(tmp_path) == []
    recorded(tmp_path / "IMU data" / "S14", "L03_S14_R30", [0])
    recorded(tmp_path / "IMU data" / "S07", "L01_S07_R02", [0])
    recorded(tmp_path / "OMoCap data" / "S01", "L01_S01_R01", [0])  # of motion capture: another subject, other names
    recorded(tmp_path / "OMoCap data" / "S07", "L01_S07_R01_A03_N02", [0])
    recorded(tmp_path / "S08", "L01_S08_R01", [0]).with_name("L01_S08_R01_labels.csv").unlink()
    assert [path.stem for path in lara.find_files(tmp_path)] == ["L01_S07_R02", "L03_S14_R30"]


def test_a_leading_column_of_some_files_does_not_matter(tmp_path: Path) -> None:
    path = recorded(tmp_path, "L01_S07_R01", [1])
    lines = path.read_text().splitlines()
    path.write_text("\n".join([f"IMU,{lines[0]}", f"LA,{lines[1]}"]) + "\n")
    np.testing.assert_array_equal(lara.read_recording(path).values[0], np.arange(30))


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = recorded(tmp_path / "lara", "L01_S07_R01", [0, 8])
    with pytest.raises(AnnotationError, match=r"L01_S07_R01_labels.csv: row 2 has class 8"):
        lara.read_annotation(path)
    recorded(tmp_path / "lara", "L01_S07_R01", [0, 1], n_rows=3)
    with pytest.raises(AnnotationError, match="has 3 frames, but its annotation 2"):
        find_copy("LARa", tmp_path).read(path)
    path.write_text(path.read_text().replace("N_GyroscopeY", "N_Gyro"))
    with pytest.raises(RecordingError, match="no column 'N_GyroscopeY', as LARa has it"):
        lara.read_recording(path)
    csv_file(path, ("Time", *lara.CHANNELS), [])
    with pytest.raises(RecordingError, match="a header but no rows"):
        lara.read_recording(path)
