"""SynSeg in the form of Time2State's repository: four channels and a state between commas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import AnnotationError, RecordingError
from rondo_bench.data_sets import synseg
from rondo_bench.data_sets.read import find_copy, read_data_set
from tests.bench.data_sets.published import written


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for number in (10, 2):
        rows = "".join(f"{0.5 * row},{-row},1e-3,{number},{row // 5}\n" for row in range(20))
        written(tmp_path / "Time2State" / "data" / "synthetic_data_for_segmentation" / f"test{number}.csv", rows)
    return tmp_path / "Time2State"


def test_series_and_states_in_the_order_of_their_numbers(clone: Path) -> None:
    data_set = read_data_set("synseg", clone)
    assert [own.id for own in data_set.recordings] == ["test2", "test10"]
    assert find_copy("synseg", clone.parent).ids == ("test2", "test10")
    rows = np.arange(20)
    for own, number in zip(data_set.recordings, (2, 10), strict=True):
        expected = np.stack([0.5 * rows, -rows, np.full(20, 1e-3), np.full(20, number)], axis=1)
        npt.assert_allclose(own.values, expected)
        npt.assert_array_equal(data_set.annotations[own.id].classes, rows // 5)


def test_other_files_are_no_series(clone: Path) -> None:
    folder = clone / "data" / "synthetic_data_for_segmentation"
    written(folder / "test_old.csv", "1\n")
    written(folder / "list", "test2.csv\n")
    assert [path.stem for path in synseg.find_files(folder)] == ["test2", "test10"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,3,4\n", "between commas in a row, as in SynSeg, got 4"),
        ("1,2,3,x,0\n", "expected 5 numbers"),
        ("", "expected 5"),
    ],
)
def test_what_is_no_series_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RecordingError, match=rf"test0.csv: .*{message}"):
        synseg.read_recording(written(tmp_path / "test0.csv", text))


def test_a_state_that_is_no_whole_number_is_named(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match=r"row 2 has 0.5 where the number of a state is expected"):
        synseg.read_annotation(written(tmp_path / "test0.csv", "1,2,3,4,0\n1,2,3,4,0.5\n"))
