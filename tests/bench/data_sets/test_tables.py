"""Published tables of numbers: the same by either reading, every fault named; spans painted onto frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.errors import RecordingError
from rondo_bench.data_sets import tables
from rondo_bench.data_sets.tables import painted, read_numbers, timed_recording

numbers = st.floats(-1e6, 1e6, width=32) | st.just(float("nan"))


def written(path: Path, rows: list[list[str]], blank: str = " ", end: str = "\n") -> Path:
    path.write_text("".join(blank.join(row) + end for row in rows))
    return path


@given(rows=st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=5))
def test_both_readings_say_what_was_written(tmp_path_factory: pytest.TempPathFactory, rows: list[list[float]]) -> None:
    cells = [["NaN" if value != value else repr(value) for value in row] for row in rows]
    path = written(tmp_path_factory.mktemp("table") / "x.dat", cells)
    for read in (tables._read_by_polars, tables._read_by_numpy):
        npt.assert_array_equal(read(path, 3, [2, 0]), np.array(rows)[:, [2, 0]])


@pytest.mark.parametrize(("blank", "end"), [("  ", "\n"), ("\t", "\n"), (" ", " \n"), (" ", "\r\n")])
def test_any_blanks_will_do(tmp_path: Path, blank: str, end: str) -> None:
    path = written(tmp_path / "x.dat", [["1", "NaN", "3"], ["4", "5", "6"]], blank, end)
    npt.assert_array_equal(read_numbers(path, 3, [1, 2], "it"), [[np.nan, 3], [5, 6]])


@pytest.mark.parametrize("text", ["1 2\n", "", "1 2 3\n4 5\n", "1 2 3\n4 5 6 7\n", "1 2 3\n4 five 6\n"])
def test_anything_else_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.dat").write_text(text)
    for columns in ([0, 1, 2], [0]):  # also where the fault lies in a column that nobody asked for
        with pytest.raises(RecordingError) as refused:
            read_numbers(tmp_path / "x.dat", 3, columns, "it")
        assert "expected 3 numbers" in str(refused.value) and str(tmp_path / "x.dat") in str(refused.value)
        assert "\n" not in str(refused.value)


def test_times_that_do_not_increase_are_left_out_with_a_note() -> None:
    values, path = np.zeros((4, 1)), Path("x.dat")
    good = timed_recording(path, values, np.array([0.0, 0.02, 0.04, 0.06]), 30, ["a"])
    assert (good.rate, good.notes) == (50.0, ())
    for times in ([0.0, 0.02, 0.02, 0.04], [0.0, np.nan, 0.04, 0.06]):
        recording = timed_recording(path, values, np.array(times), 30, ["a"])
        assert (recording.rate, recording.timestamps_s) == (30, None)
        (note,) = recording.notes
        assert "times" in note and "30 Hz" in note


SPANS = st.lists(st.tuples(st.integers(-3, 15), st.integers(-3, 15), st.integers(1, 4)), max_size=5)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=12), st.booleans(), SPANS)
def test_painting_is_the_loop_over_frames(
    positions: list[int], in_order: bool, spans: list[tuple[int, int, int]]
) -> None:
    positions = sorted(positions) if in_order else positions
    naive = [next((n for start, stop, n in reversed(spans) if start <= at < stop), 0) for at in positions]
    starts, stops, classes = ([span[i] for span in spans] for i in range(3))
    npt.assert_array_equal(painted(positions, starts, stops, classes), naive)
