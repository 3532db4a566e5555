"""HuGaDB: comments, a line of names, rows between tabs."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.errors import AnnotationError, RecordingError
from tests.bench.data_sets.published import written


def recorded(path: Path, activities: list[int]) -> Path:
    """A file as published; every cell tells its column."""
    names = "\t".join((*hugadb.CHANNELS, "act"))
    rows = ["\t".join(map(str, [*range(38), activity])) for activity in activities]
    comments = ["#Activity\tsitting standing_up ", "#ActivityID\t5 7 ", "#Date 10-26-17-47"]
    return written(path, "\n".join([*comments, names, *rows]) + "\n")


def test_columns_and_activities(tmp_path: Path) -> None:
    path = recorded(tmp_path / "HuGaDB_v2_various_01_00.txt", [5, 5, 7])
    recording, annotation = hugadb.read_recording(path), hugadb.read_annotation(path)
    assert (recording.id, recording.rate, recording.values.shape) == ("various_01_00", 60, (3, 38))
    column = dict(zip(recording.channels, recording.values[0].tolist(), strict=True))
    places = {
        "acc_rf_x": 0,
        "gyro_rf_z": 5,
        "acc_rs_x": 6,
        "acc_rt_x": 12,
        "acc_lf_x": 18,
        "gyro_lt_z": 35,
        "EMG_r": 36,
    }
    assert {name: column[name] for name in places} == places
    assert [annotation.names[number] for number in annotation.classes] == ["sitting", "sitting", "standing up"]


def test_the_later_version_of_a_recording_is_taken(tmp_path: Path) -> None:
    assert hugadb.find_files(tmp_path) == []
    for name in ("v1/HuGaDB_v1_walking_02_00", "v2/HuGaDB_v2_various_01_00", "v1/HuGaDB_v1_various_01_00", "v1/README"):
        recorded(tmp_path / f"{name}.txt", [1])
    assert [path.stem for path in hugadb.find_files(tmp_path)] == ["HuGaDB_v2_various_01_00", "HuGaDB_v1_walking_02_00"]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = recorded(tmp_path / "HuGaDB_v2_various_01_00.txt", [5, 13])
    with pytest.raises(AnnotationError, match="row 2 has class 13"):
        hugadb.read_annotation(path)
    with pytest.raises(RecordingError, match="no column 'acc_rf_x', as HuGaDB has it"):
        hugadb.read_recording(written(path, path.read_text().replace("acc_rf_x", "acc_x")))
    with pytest.raises(RecordingError, match="not those of HuGaDB"):
        hugadb.read_recording(written(path, recorded(path, [5]).read_text() + "no\tnumbers\n"))
