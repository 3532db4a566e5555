"""USC-HAD: trials of one activity each, put one after the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from rondo.errors import RecordingError
from tests.bench.data_sets.published import written


def trial(folder: Path, activity: int, number: int, n_frames: int, n_columns: int = 6) -> None:
    """A file as published, with the other variables it has; every reading tells trial and activity."""
    folder.mkdir(parents=True, exist_ok=True)
    readings = np.full((n_frames, n_columns), 100.0 * number + activity)
    described = {"title": "USC Human Motion Database", "activity_number": str(activity), "sensor_readings": readings}
    scipy.io.savemat(folder / f"a{activity}t{number}.mat", described)


def test_trials_follow_each_other_by_number_then_activity(tmp_path: Path) -> None:
    folder = tmp_path / "Subject3"
    for activity, number, n_frames in ((10, 1, 2), (2, 1, 1), (1, 2, 3)):
        trial(folder, activity, number, n_frames)
    recording, annotation = usc_had.read_recording(folder), usc_had.read_annotation(folder)
    assert recording.values[:, 0].tolist() == [102, 110, 110, 201, 201, 201]
    assert (recording.id, recording.rate, recording.channels) == ("subject03", 100, usc_had.CHANNELS)
    assert annotation.id == "subject03"
    assert [annotation.names[number] for number in annotation.classes[[0, 1, 3]]] == [
        "walk left",
        "sleep",
        "walk forward",
    ]


@pytest.mark.parametrize("place", ["", "USC-HAD"])
def test_subjects_are_found_in_order(tmp_path: Path, place: str) -> None:
    assert usc_had.find_files(tmp_path) == []
    for number in (10, 2):
        trial(tmp_path / place / f"Subject{number}", 1, 1, 1)
    assert [usc_had.recording_id(path) for path in usc_had.find_files(tmp_path)] == ["subject02", "subject10"]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    empty = tmp_path / "Subject1"
    empty.mkdir()
    with pytest.raises(RecordingError, match=r"no trials in it; expected files like a1t1.mat"):
        usc_had.read_recording(empty)
    trial(tmp_path / "Subject2", 13, 1, 1)
    with pytest.raises(RecordingError, match="a trial of activity 13; USC-HAD has activities 1 to 12"):
        usc_had.read_annotation(tmp_path / "Subject2")
    trial(tmp_path / "Subject3", 1, 1, 2, n_columns=5)
    with pytest.raises(RecordingError, match=r"readings of shape \(2, 5\), expected \(n, 6\)"):
        usc_had.read_recording(tmp_path / "Subject3")
    written(tmp_path / "Subject4" / "a1t1.mat", "nothing of MATLAB")
    with pytest.raises(RecordingError, match=r"a1t1.mat: it is damaged, or no MATLAB file"):
        usc_had.read_annotation(tmp_path / "Subject4")
