"""PAMAP2 in its published form: which column is which, and activities apart from what is learned."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import AnnotationError, RecordingError


def written(path: Path, classes: list[int]) -> Path:
    """Rows as in the published files; every cell says its column, NaN where a wireless sensor was silent."""
    rows = []
    for i, activity in enumerate(classes):
        cells = [f"{8.38 + i / 100:.2f}", str(activity), "NaN" if i % 10 else "104"]
        rows.append(" ".join(cells + [f"{column + i / 1000:g}" for column in range(4, 55)]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n")
    return path


def test_columns_are_those_of_the_documentation(tmp_path: Path) -> None:
    recording = pamap2.read_recording(written(tmp_path / "subject101.dat", [0, 0, 1]))
    assert (recording.id, recording.rate, recording.values.shape) == ("subject101", 100, (3, 40))
    column = dict(zip(recording.channels, recording.values[0].tolist(), strict=True))
    expected = {"heart_rate": 104, "hand_temp": 4, "hand_acc16x": 5, "hand_acc6z": 10, "hand_magz": 16}
    expected |= {"chest_temp": 21, "chest_gyrx": 28, "ankle_temp": 38, "ankle_acc16x": 39, "ankle_magz": 50}
    assert {name: column[name] for name in expected} == expected
    assert not set(recording.values[0].tolist()) & {17, 20, 34, 37, 51, 54}  # orientations
    npt.assert_array_equal(np.isnan(recording.values).sum(axis=0), [2] + [0] * 39)
    assert recording.timestamps_s is not None
    npt.assert_allclose(recording.timestamps_s, [8.38, 8.39, 8.40])


def test_the_paper_takes_nine_accelerations(tmp_path: Path) -> None:
    recording = pamap2.read_recording(written(tmp_path / "subject101.dat", [1]), pamap2.ACCELERATION)
    assert recording.values.tolist() == [[5, 6, 7, 22, 23, 24, 39, 40, 41]]


def test_activities_are_apart_under_their_numbers(tmp_path: Path) -> None:
    annotation = pamap2.read_annotation(written(tmp_path / "subject105.dat", [0, 24, 4]))
    assert (annotation.id, annotation.classes.tolist()) == ("subject105", [0, 24, 4])
    assert [annotation.names[number] for number in (0, 24, 4)] == ["other", "rope jumping", "walking"]


@pytest.mark.parametrize("place", ["", "Protocol", "PAMAP2_Dataset/Protocol"])
def test_files_are_found_where_the_archive_has_them(tmp_path: Path, place: str) -> None:
    assert pamap2.find_files(tmp_path) == []
    for number in (102, 101, 109):  # of whom the last is no subject of the paper
        written(tmp_path / place / f"subject{number}.dat", [0])
    assert [path.stem for path in pamap2.find_files(tmp_path)] == ["subject101", "subject102"]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "subject101.dat", [1, 8])
    with pytest.raises(AnnotationError, match="row 2 has activity 8, which PAMAP2 does not know"):
        pamap2.read_annotation(path)
    with pytest.raises(RecordingError, match="no channel 'hand_acc'"):
        pamap2.read_recording(path, ["hand_acc"])
    path.write_text(path.read_text()[:-40])
    with pytest.raises(RecordingError, match="expected 54 numbers in a row, as in PAMAP2"):
        pamap2.read_recording(path)


@pytest.mark.data
def test_the_first_rows_of_the_published_files(data_dir: Path) -> None:
    folder = data_dir / "PAMAP2_sample"
    (path,) = folder.glob("*.dat")
    recording, annotation = pamap2.read_recording(path), pamap2.read_annotation(path)
    stored, meta = np.load(path.with_suffix(".npz")), json.loads((folder / "meta.json").read_text())
    assert list(recording.channels) == meta["channels"]
    assert recording.rate == meta["rate_hz"]
    npt.assert_array_equal(recording.values, stored["X"])
    npt.assert_array_equal(annotation.classes, stored["y"])
    assert {annotation.names[number] for number in set(annotation.classes.tolist())} == {"other", "lying"}
