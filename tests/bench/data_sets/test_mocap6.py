"""MoCap6 as bnpy stores it: all captures in one file of arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import AnnotationError, RecordingError
from rondo_bench.data_sets.read import find_copy, read_data_set
from tests.bench.data_sets.published import MOCAP6_STARTS, mocap6_arrays, mocap6_clone


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return mocap6_clone(tmp_path / "bnpy")


def rewritten(clone: Path, **changed: object) -> Path:
    """The file with other arrays; None leaves one out. The path of its second capture."""
    arrays = {name: own for name, own in (mocap6_arrays() | changed).items() if own is not None}
    path = clone / "bnpy" / "datasets" / "mocap6" / "dataset.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path / "13_30"


def test_captures_and_exercises(clone: Path) -> None:
    data_set, arrays = read_data_set("mocap6", clone), mocap6_arrays()
    assert [own.id for own in data_set.recordings] == list(mocap6.IDS)
    npt.assert_allclose(np.concatenate([own.values for own in data_set.recordings]), arrays["X"], rtol=1e-6)
    tracks = [data_set.annotations[own.id] for own in data_set.recordings]
    npt.assert_array_equal(np.concatenate([own.classes for own in tracks]), arrays["TrueZ"])
    assert [own.n_frames for own in data_set.recordings] == np.diff(MOCAP6_STARTS).tolist()
    assert data_set.recordings[0].channels == ("root.ty", "lfoot.rx")
    assert {own.rate for own in data_set.recordings} == {10.0}
    assert tracks[0].names == ("none", "JumpJack", "Jog")


def test_the_clone_or_its_folder_will_do(clone: Path) -> None:
    there = clone / "bnpy" / "datasets"
    assert find_copy("mocap6", clone).ids == find_copy("mocap6", clone.parent).ids == find_copy("mocap6", there).ids


@pytest.mark.parametrize("bounds", [[0, 30, 20, 60, 80, 100, 120], [0, 20, 40], [0, 20, 40, 60, 80, 100, 119]])
def test_captures_that_do_not_fill_the_rows_are_refused(clone: Path, bounds: list[int]) -> None:
    path = rewritten(clone, doc_range=np.array(bounds))
    with pytest.raises(RecordingError, match=r"dataset.npz: 'doc_range' is \[0, .*expected 7 rising numbers"):
        mocap6.read_recording(path)


def test_what_is_not_there_or_pickled_is_refused(clone: Path) -> None:
    with pytest.raises(RecordingError, match="it has no array 'column_names'"):
        mocap6.read_recording(rewritten(clone, column_names=None))
    with pytest.raises(RecordingError, match="'X' cannot be read"):
        mocap6.read_recording(rewritten(clone, X=np.array([{"a": 1}], dtype=object)))
    with pytest.raises(AnnotationError, match="'TrueZ' of 13_30 must be numbers from 0 to 2"):
        mocap6.read_annotation(rewritten(clone, TrueZ=np.full(120, 3)))
    path = clone / "bnpy" / "datasets" / "mocap6" / "dataset.npz"
    path.write_bytes(b"PK and no more")
    with pytest.raises(RecordingError, match="cannot be read"):
        mocap6.read_recording(path / "13_29")
