"""MoCap as Time2State keeps it: four angles in a row, and a table of segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import AnnotationError, RecordingError
from tests.bench.data_sets.published import blank_file, written


def test_the_table_has_the_segments_and_frames_of_the_paper() -> None:
    assert sum(segments[-1][0] for segments in mocap.SEGMENTS.values()) == 65_611
    assert sum(len(segments) for segments in mocap.SEGMENTS.values()) == 74
    assert {number for segments in mocap.SEGMENTS.values() for _, number in segments} == set(range(9))


def test_angles_and_segments(tmp_path: Path) -> None:
    path = blank_file(tmp_path / "amc_86_01.4d", [[-26.3015, -34.8715, -29.1974, -28.3157], [1, 2, 3, 4]])
    recording = mocap.read_recording(path)
    npt.assert_allclose(recording.values[0], [-26.3015, -34.8715, -29.1974, -28.3157], rtol=1e-6)
    assert (recording.id, recording.rate, recording.channels) == ("amc_86_01", None, mocap.CHANNELS)
    classes = mocap.read_annotation(path).classes
    assert classes.size == 4579
    assert classes[[0, 587, 588, 1199, 1200, 4578]].tolist() == [0, 0, 1, 1, 0, 2]


@pytest.mark.parametrize("place", ["", "4d", "data/MoCap/4d"])
def test_only_annotated_recordings_are_found(tmp_path: Path, place: str) -> None:
    assert mocap.find_files(tmp_path) == []
    for name in ("amc_86_02", "amc_86_01", "amc_86_04"):
        blank_file(tmp_path / place / f"{name}.4d", [[1, 2, 3, 4]])
    assert [path.stem for path in mocap.find_files(tmp_path)] == ["amc_86_01", "amc_86_02"]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match="no annotation of 'amc_86_04'"):
        mocap.read_annotation(tmp_path / "amc_86_04.4d")
    with pytest.raises(RecordingError, match="expected 4 numbers in a row, as in MoCap, got 3"):
        mocap.read_recording(written(tmp_path / "amc_86_01.4d", "1 2 3\n"))


@pytest.mark.data
def test_the_table_is_that_of_the_stored_recordings(data_dir: Path) -> None:
    for name in mocap.SEGMENTS:
        stored = np.load(data_dir / "MoCap" / f"{name}.npz")["y"]
        npt.assert_array_equal(mocap.read_annotation(Path(f"{name}.4d")).classes, stored)
