"""Text tables: however they are written, what is noted, and which line is at fault."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import RecordingError
from tests.formats.reading import VALUES, read_in_blocks, read_one, refusal, write


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "x,y\n1.5,-2\n,0.25\n3,1e6\n"),
        ("a.csv", "x;y\n1.5;-2\nnan;0.25\n3;1e6"),
        ("a.tsv", "x\ty\n1.5\t-2\nNA\t0.25\n3\t1E+6\n"),
        ("a.txt", "  x   y\n 1.5  -2.0\n null\t0.25  \n3 1000000\n"),
        ("a.csv", "\ufeffx,y\r\n1.5,-2\r\nNULL,.25\r\n3,1e6\r\n"),
        ("a.csv", '"x","y"\n"1.5","-2"\n"",0.25\n3.,+1e6\n'),
        ("a.csv", "x, y\n1.5, -2\nNa , 0.25\n 3,1e6 \n\n\n"),
        ("A.CSV", "\n\nx,y\n1.5,-2\nNaN,0.25\n3,1e6\n"),
    ],
)
def test_text_tables_however_they_are_written(tmp_path: Path, name: str, text: str) -> None:
    recording = read_one(write(tmp_path, name, text))
    npt.assert_array_equal(recording.values, VALUES)
    assert recording.channels == ("x", "y")
    assert recording.id == Path(name).stem
    assert recording.rate is None
    assert recording.notes == ()


def test_without_a_header_the_channels_are_numbered_and_noted(tmp_path: Path) -> None:
    recording = read_one(write(tmp_path, "a.csv", "\ufeff1.5,-2\n,0.25\n3,1e6\n"), rate=50)
    npt.assert_array_equal(recording.values, VALUES)
    assert recording.channels == ("ch0", "ch1")
    assert ["named ch0 to ch1" in note for note in recording.notes] == [True]
    first_missing = read_one(write(tmp_path, "b.csv", ",2\n3,4\n"))
    npt.assert_array_equal(first_missing.values, [[np.nan, 2], [3, 4]])


def test_one_column_and_blank_lines(tmp_path: Path) -> None:
    one = read_one(write(tmp_path, "a.csv", "acc x\n1\n\n3\n\n"))
    npt.assert_array_equal(one.values, [[1], [np.nan], [3]])
    assert one.channels == ("acc x",)
    two = read_one(write(tmp_path, "b.csv", "x,y\n1,2\n\n3,4\n"))
    npt.assert_array_equal(two.values, [[1, 2], [3, 4]])
    assert two.notes == ("1 blank line skipped",)


@pytest.mark.parametrize(
    ("header", "cells", "seconds", "note"),
    [
        ("time", ["0", "0.5", "1.0"], [0, 0.5, 1], None),
        ("Timestamp", ["10", "20", "30"], [10, 20, 30], None),
        ("TIME_S", ["0.1", "0.2", "0.4"], [0.1, 0.2, 0.4], None),
        (
            "t",
            ["1700000000000", "1700000000020", "1700000000040"],
            [1.7e9, 1.7e9 + 0.02, 1.7e9 + 0.04],
            "milli",
        ),
        ("timestamps", ["1700000000000000", "1700000000500000"], [1.7e9, 1.7e9 + 0.5], "micro"),
        ("time", ["1700000000000000000", "1700000001000000000"], [1.7e9, 1.7e9 + 1], "nano"),
        (
            "time",
            ["1970-01-01T00:00:01", "1970-01-01T00:00:01.25", "1970-01-01 00:00:02Z"],
            [1, 1.25, 2],
            None,
        ),
    ],
)
def test_the_clock_of_a_text_table(
    tmp_path: Path, header: str, cells: list[str], seconds: list[float], note: str | None
) -> None:
    rows = "".join(f"{value},{cell},walk\n" for value, cell in enumerate(cells))
    path = write(tmp_path, "a.csv", f"x,{header},activity\n{rows}")
    recording = read_one(path, leave_out=["activity"])
    npt.assert_array_equal(recording.values.ravel(), range(len(cells)))
    assert recording.channels == ("x",)
    npt.assert_allclose(recording.timestamps_s, seconds, rtol=1e-15)
    assert (f"read as {note}seconds since 1970" in " ".join(recording.notes)) if note else not recording.notes
    rated = read_one(path, rate=25, leave_out=["activity"])
    assert (rated.timestamps_s, rated.rate) == (None, 25.0)
    assert [f"column '{header}' left out" in note for note in rated.notes] == [True]


def test_a_clock_is_read_in_double_precision(tmp_path: Path) -> None:
    rows = "".join(f"{1.7e9 + i / 100:.2f},{i}\n" for i in range(5000))
    recording = read_one(write(tmp_path, "a.csv", "time,x\n" + rows))
    npt.assert_allclose(recording.rate, 100, rtol=1e-6)


def test_quoted_labels_may_hold_separators(tmp_path: Path) -> None:
    text = 'x,label,y\n1,"open, then close",2\n3,"say ""hi"", wait",4\n'
    recording = read_one(write(tmp_path, "a.csv", text), leave_out=["label"])
    npt.assert_array_equal(recording.values, [[1, 2], [3, 4]])


BAD_TEXT = [
    ("", "the file is empty"),
    ("\n\n\n", "it has no rows"),
    ("x,y\n", "a header (2 columns) but no rows"),
    ("x,y\n1,2\n3,abc\n", "line 3, column 'y': 'abc' is not a number"),
    ("x;y\n1.5;2\n1,5;2\n", "'1,5' is not a number (a decimal comma? write a point)"),
    ("x,y\n1,2\n3,walk\n", "--label-column 'y'"),
    ("x,y\n1,2\n3,1_0\n", "line 3, column 'y': '1_0' is not a number"),
    ("x,y\n1,2\n3\n4,5\n", "line 3: expected 2 cells, got 1; correct the line or delete it"),
    ("x,y\n1,2\n3,4,5\n", "line 3: expected 2 cells, got 3"),
    ("x,y\n1,2\n\n3\n4,5,6\n", "line 4: expected 2 cells, got 1"),  # a short and a long row together have enough cells
    ('x,y\n1,2\n"3,4\n5",6\n', "line 3: cannot be cut into cells"),
    ('label,x\n"a,b",1\n5\n', "line 3: expected 2 cells, got 1"),
    ("x,y\n1,inf\n", "frame 0, channel 'y'"),
    ("x,y\n1,2\n1e39,2\n", "frame 1, channel 'x'"),
    ("x,y\nnan,NA\n,\n", "all 4 values are NaN or missing"),
    ("x,x\n1,2\n", "columns 1 and 2 are both named 'x'"),
    (",x\n0,2\n", "column 1 has no name"),
    ("time\n1\n2\n", "no channel is left"),
    ("time,x\n1,1\n1,2\n", "the clock 'time' reads '1' in every row"),
    ("time,x\n2,1\n1,2\n", "frame 1 (1.000000 s) is earlier"),
    ("time,x\n1,1\n,2\n", "the timestamp of frame 1 is missing"),
    ("time,x\n2024-01-01,1\nyesterday,2\n", "line 3, column 'time': 'yesterday' is not a date like 2024"),
    ("time,x\n2024-01-01,1\n,2\n", "the timestamp of frame 1 is missing"),
    ("x,y\n1,2\n".encode("utf-16")[:-3] + b"\xd8\x00\x00", "does not continue as such"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not"),
    (bytes(range(256)) * 40, "not a text table"),
    (b"x,y\n1,2\n1,\x002\n", "line 3: binary data"),
    (b"x,y\r1,2\r3,4\r", "bare carriage return"),
]


@pytest.mark.parametrize(("content", "says"), BAD_TEXT, ids=[str(i) for i in range(len(BAD_TEXT))])
def test_bad_text_is_refused_by_line_and_column(tmp_path: Path, content: bytes | str, says: str) -> None:
    path = write(tmp_path, "bad.csv", content)
    keep = {"leave_out": ["label"]} if str(content).startswith("label") else {}
    assert says in refusal(lambda: read_one(path, **keep), naming=path)


def test_the_line_at_fault_is_named_whatever_the_block(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "x,y\n" + "1,2\n" * 500 + "\n1,oops\n" + "1,2\n" * 500)
    for block_bytes in (1, 7, 64, 1 << 20):
        with pytest.raises(RecordingError, match="line 503, column 'y'"):
            read_in_blocks(path, block_bytes)


def test_columns_that_hold_labels_by_name_never_become_channels(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "x,Label,y\n1,7,2\n3,8,4\n")
    recording = read_one(path)
    assert recording.channels == ("x", "y")
    assert any("'Label' left out" in note for note in recording.notes)
    assert read_one(path, leave_out=["Label"]).notes == ()
