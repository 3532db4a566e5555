"""What the cases from outside have found, each reduced to a few lines."""

import numpy as np
import polars as pl
import pytest

from rondo.data.admission import RowAdmission
from rondo.files.inputs import read


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_a_numpy_file_is_read(tmp_path, version):
    values = np.arange(20.0).reshape(10, 2)
    with (tmp_path / "a.npy").open("wb") as opened:
        np.lib.format.write_array(opened, values, version=version)
    np.testing.assert_array_equal(read(tmp_path / "a.npy", rate=10).values, values)


def test_text_with_codes_and_columns_without_a_value_are_left_out_of_a_parquet_file(tmp_path):
    columns = {"x": [1.0, 2.0, 4.0], "who": pl.Series(["a", "b", "a"], dtype=pl.Categorical), "nothing": [None] * 3}
    pl.DataFrame(columns).write_parquet(tmp_path / "a.parquet")
    recording = read(tmp_path / "a.parquet", rate=10)
    assert recording.channels == ("x",)
    assert all(any(name in note for note in recording.notes) for name in ("who", "nothing"))


@pytest.mark.parametrize("time", [1e308, -1e308, 9e18, np.inf])
def test_a_time_too_large_to_count_frames_by_is_a_missing_one(time):
    admission = RowAdmission(1, 50.0, 25)
    times = np.append(np.arange(20) / 50, time)
    rows = np.zeros((21, 1), np.float32)
    taken = [*admission.push(rows, times, 0), *admission.flush()]
    assert sum(len(part.values) for part in taken) == 20
    assert admission.n_skipped == 1
