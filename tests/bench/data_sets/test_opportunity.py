"""OPPORTUNITY in its published form: which column is which, and labels apart from what is learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import AnnotationError, RecordingError


def written(path: Path, classes: list[int], step_ms: tuple[int, ...] = (33, 34, 33)) -> Path:
    """Rows as in the published files: milliseconds, 242 channels that say their column, seven tracks of labels."""
    times = np.concatenate([[0], np.cumsum(np.resize(step_ms, len(classes) - 1))])
    rows = []
    for i, (time, locomotion) in enumerate(zip(times, classes, strict=True)):
        channels = ["NaN" if i == 1 and column < 38 else str(column) for column in range(2, 244)]
        rows.append(" ".join([str(time), *channels, str(locomotion), "101", "201", "301", "401", "501", "406516"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n")
    return path


def test_columns_are_those_of_the_documentation(tmp_path: Path) -> None:
    recording = opportunity.read_recording(written(tmp_path / "S1-ADL1.dat", [0] * 31))
    assert (recording.id, recording.values.shape) == ("S1-ADL1", (31, 242))
    assert recording.rate == pytest.approx(30, rel=0.01)
    column = dict(zip(recording.channels, recording.values[0].tolist(), strict=True))
    expected = {
        "Accelerometer RKN^ accX": 2,
        "Accelerometer LUA^ accX": 8,
        "Accelerometer RKN_ accY": 21,
        "Accelerometer RH accZ": 37,
        "InertialMeasurementUnit BACK accX": 38,
        "InertialMeasurementUnit BACK Quaternion1": 47,
        "InertialMeasurementUnit RLA accX": 64,
        "InertialMeasurementUnit LLA Quaternion4": 102,
        "InertialMeasurementUnit L-SHOE EuX": 103,
        "InertialMeasurementUnit L-SHOE Nav_Ax": 106,
        "InertialMeasurementUnit L-SHOE AngVelBodyFrameX": 112,
        "InertialMeasurementUnit R-SHOE Compass": 134,
        "Accelerometer CUP accX": 135,
        "Accelerometer MILK accX": 165,
        "Accelerometer GLASS gyroY": 194,
        "REED SWITCH DISHWASHER S1": 195,
        "REED SWITCH UPPERDRAWER": 204,
        "REED SWITCH DISHWASHER S2": 207,
        "Accelerometer DOOR1 accX": 208,
        "Accelerometer UPPERDRAWER accX": 220,
        "Accelerometer FRIDGE accZ": 231,
        "LOCATION TAG1 X": 232,
        "LOCATION TAG4 Z": 243,
    }
    assert {name: column[name] for name in expected} == expected
    npt.assert_array_equal(np.isnan(recording.values[1]), np.arange(242) < 36)


def test_the_rate_is_that_of_the_times(tmp_path: Path) -> None:
    recording = opportunity.read_recording(written(tmp_path / "S1-ADL1.dat", [0] * 31, (33,)))
    assert recording.rate == pytest.approx(1000 / 33)


def test_classes_are_those_of_the_track_locomotion(tmp_path: Path) -> None:
    path = written(tmp_path / "S4-Drill.dat", [0, 1, 2, 4, 5])
    annotation = opportunity.read_annotation(path)
    assert (annotation.id, annotation.classes.tolist()) == ("S4-Drill", [0, 1, 2, 4, 5])
    assert [annotation.names[number] for number in annotation.classes] == ["other", "stand", "walk", "sit", "lie"]
    assert set(opportunity.read_annotation(path, "ML_Both_Arms").classes.tolist()) == {406516}
    with pytest.raises(AnnotationError, match="no track 'Gestures'"):
        opportunity.read_annotation(path, "Gestures")
    with pytest.raises(AnnotationError, match="row 3 has locomotion 3"):
        opportunity.read_annotation(written(path, [0, 1, 3]))


@pytest.mark.parametrize("place", ["", "dataset", "OpportunityUCIDataset/dataset"])
def test_runs_are_found_where_the_archive_has_them(tmp_path: Path, place: str) -> None:
    assert opportunity.find_files(tmp_path) == []
    for name in ("S1-Drill", "S2-ADL1", "S1-ADL5", "S5-ADL1"):
        written(tmp_path / place / f"{name}.dat", [0])
    assert [path.stem for path in opportunity.find_files(tmp_path)] == ["S1-ADL5", "S1-Drill", "S2-ADL1"]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "S1-ADL1.dat", [0, 1])
    with pytest.raises(RecordingError, match="no channel 'accX'"):
        opportunity.read_recording(path, ["accX"])
    path.write_text("1 2 3\n")
    with pytest.raises(RecordingError, match="expected 250 numbers in a row, as in OPPORTUNITY, got 3"):
        opportunity.read_recording(path)
